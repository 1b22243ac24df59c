"""The report of a run's results."""

import json
from pathlib import Path
from typing import Any

import pytest

from posenc_conformance.checks import LEVELS
from posenc_conformance.errors import UserError
from posenc_conformance.judge.verdict import Outcome
from posenc_conformance.report import document, layout
from posenc_conformance.report.document import explained
from posenc_conformance.report.result import Place, Result
from posenc_lab.judging import schemes


def result(
    id: str,
    verdict: str = "passed",
    *,
    dtype: str | None = "float32",
    level: str = "golden",
    combination: str = "half",
    message: str = "",
    **outcome: Any,
) -> Result:
    place = Place(level, "rope", "rope", combination, dtype)
    return Result(id, verdict, place, Outcome(**outcome), message)


def built(*results: Result, everything: Any = None, claimed: Any = None) -> Any:
    ids = [entry.id for entry in results]
    rope = next(entry for entry in schemes() if entry.id == "rope")
    frame = document.Frame(
        name="mine",
        versions={"numpy": "2"},
        schemes=["rope"],
        models=[],
        everything={"rope": ids if everything is None else everything},
        claimed={"rope": ids if claimed is None else claimed},
        missing={"rope": document.not_claimed_of(rope, [])},
    )
    return document.build(frame, results)


def test_verdicts_are_counted_and_checks_that_did_not_run_listed() -> None:
    content = built(
        result("a"),
        result("b", "failed"),
        result("c", "not_claimed", message="nothing of it"),
        result("d", "known"),
        everything=["a", "b", "c", "d", "e", "f"],
        claimed=["a", "b", "c", "d", "e"],
    )
    summary = content["summary"]
    counts = {name: count for name, count in summary.items() if count}
    assert counts == {
        "checks": 6,
        "passed": 1,
        "failed": 1,
        "known": 1,
        "not_selected": 1,
        "not_claimed": 2,
    }
    assert content["not_claimed"] == ["c", "f"]
    assert content["not_asked"] == {"c": "nothing of it"}
    assert [check["id"] for check in content["checks"]] == ["a", "b", "d"]
    assert set(content["combinations_not_claimed"]) == {"rope"}
    assert "models" not in content
    assert "interrupted" not in content


def test_the_order_of_the_run_does_not_matter() -> None:
    results = [
        result("a", dtype=None),
        result("b", "failed", message="wrong"),
        result("c", "not_claimed", message="nothing of it"),
        result("d", "known", combination="interleaved"),
        result("e", "not_claimed", message="nor of it"),
    ]
    ids = [entry.id for entry in results]
    texts = [
        json.dumps(built(*order, everything=ids, claimed=ids))
        for order in (results, results[::-1], results[2:] + results[:2])
    ]
    assert len(set(texts)) == 1


def test_a_row_holds_the_worst_and_the_horizon_of_its_sweep() -> None:
    content = built(
        result("a", worst=0.25),
        result("b", worst=0.75),
        result("c"),
        result("d", horizon=64, horizon_is_claim=True, exact_angles=True, worst=0.5),
        result("e", dtype=None, level=LEVELS[3]),
        result("f", "failed", combination="interleaved", worst=float("inf")),
    )
    first, behaviour, other = content["rows"]
    assert (first["worst"], first["horizon"]) == (0.75, 64)
    assert (first["horizon_is_claim"], first["exact_angles"]) == (True, True)
    assert (first["passed"], first["failed"]) == (4, 0)
    assert (behaviour["dtype"], behaviour["worst"], behaviour["horizon"]) == (None, None, None)
    assert (other["combination"], other["failed"]) == ("interleaved", 1)
    assert other["worst"] == "infinite"
    assert content["checks"][-1]["worst"] == "infinite"
    assert built(result("a", worst=float("nan")))["rows"][0]["worst"] == "infinite"


def test_failures_are_explained_by_the_fewest_mistakes() -> None:
    one, two, three = ("a", "is a"), ("b", "is b"), ("c", "is c")
    assert explained([(one, two), (two,), (two, three), (three,), ()]) == [
        ("b", "is b", 3),
        ("c", "is c", 1),
    ]
    assert explained([(one, two), (one, two)]) == [("a", "is a", 2)]
    assert explained([(), ()]) == []


def test_failures_are_diagnosed_for_each_combination() -> None:
    degrees = (("degrees", "in degrees"),)
    diagnoses = built(
        result("a", "failed", explanations=degrees),
        result("b", "known", recovered="turns at 2"),
        result("c", "failed", combination="interleaved"),
        result("d"),
    )["diagnoses"]
    assert [(diagnosis["combination"], diagnosis["failed"]) for diagnosis in diagnoses] == [
        ("half", 2),
        ("interleaved", 1),
    ]
    (named,) = diagnoses[0]["explained_by"]
    assert (named["deviation"], named["failures"]) == ("degrees", 1)
    assert diagnoses[0]["recovered"] == "turns at 2"
    assert diagnoses[1]["recovered"] == ""


def test_a_repeated_call_that_changes_is_the_diagnosis_of_what_nothing_explains() -> None:
    again = "the same call again gave another result: 96 of 96 values differ"
    repeated = result(
        "rope.yaml::behaviour::second-call[rope-half]", "failed", message=f"{again}\nmore"
    )
    wrong = [result(id, "failed", recovered="rows stand at 7") for id in "ab"]
    assert built(*wrong, repeated)["diagnoses"][0]["recovered"] == again
    assert built(*wrong)["diagnoses"][0]["recovered"] == "rows stand at 7"


def test_a_result_survives_sending() -> None:
    whole = result("a", "failed", worst=0.5, curve=((1, 0.5, 1.0),), explanations=(("x", "y"),))
    back = Result.received(whole.sent)
    assert back.sent == whole.sent
    assert back.place == whole.place
    assert whole.sent["curve"] == [[1, 0.5, 1.0]]


@pytest.mark.parametrize("name", ["", "mine.txt/r.json", ".", "mine.txt"])
def test_a_report_replaces_nothing_else(
    name: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UserError, match="--posenc-report"):
        document.place(name)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="only Linux has a folder without files")
def test_a_folder_that_takes_no_files_is_refused_before_the_run() -> None:
    """The folder is refused even to root, whom its permissions allow to write."""
    with pytest.raises(UserError, match="--posenc-report=/proc/r") as refused:
        document.place("/proc/r.json")
    assert refused.value.hint


def test_a_failed_write_gives_a_hint(tmp_path: Any) -> None:
    (tmp_path / "file").touch()
    assert "hint: " in document.write({}, tmp_path / "file" / "r.json")


def test_a_report_may_replace_another_or_an_empty_file(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.json").write_text('{\n "posenc-report": 1,')
    (tmp_path / "empty.json").touch()
    for name in ("old.json", "empty.json", "new.json"):
        assert document.place(name) == tmp_path / name
        assert len(list(tmp_path.iterdir())) == 2  # the trial file is gone
    assert document.write({"posenc-report": 1}, tmp_path / "new.json") == ""
    assert '"posenc-report": 1' in (tmp_path / "new.json").read_text()
    assert document.write({}, tmp_path / "old.json" / "new.json")


def test_types_of_a_report_have_the_fields_of_the_schema() -> None:
    path = Path(document.__file__).with_name("report.schema.json")
    whole = json.loads(path.read_text(encoding="utf-8"))
    parts = whole["properties"]
    diagnosis = parts["diagnoses"]["items"]
    for entry, node in (
        (layout.Report, whole),
        (layout.ImplementationEntry, parts["implementation"]),
        (layout.SummaryEntry, parts["summary"]),
        (layout.RowEntry, parts["rows"]["items"]),
        (layout.DiagnosisEntry, diagnosis),
        (layout.ExplanationEntry, diagnosis["properties"]["explained_by"]["items"]),
        (layout.CheckEntry, parts["checks"]["items"]),
    ):
        typed: Any = entry
        assert typed.__required_keys__ == set(node["required"]), entry
        assert typed.__optional_keys__ == node["properties"].keys() - set(node["required"]), entry
