"""Recorded results of the benchmarks were measured with the current miniatures."""

import ast
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from posenc_conformance.registry import load_all
from posenc_lab import inputs as record_inputs
from posenc_lab import records, results, today
from posenc_lab.dependencies import Source, closure, digest_of_spec, files, shape, source
from posenc_lab.first_failure import without_diagnosis
from posenc_lab.inputs import LEFT_OUT, inputs, older, own_modules, stale
from posenc_lab.matrix import home, with_sums
from posenc_lab.miniatures import right, wrong
from posenc_lab.miniatures.base import WRONG
from posenc_lab.miniatures.styles import RIGHT
from posenc_lab.records import by_name, by_row, of_matrix
from posenc_lab.results import keep, path_of, read_record
from tests.running import files_that_run

assert right.__path__, wrong.__path__  # importing them fills the lists

ROWS = "right miniatures"
"""Key of the rows that ``calibrate`` records."""
SUMS = ("all", "classes", "right", "schemes")


def recorded(name: str) -> dict[str, Any]:
    return read_record(path_of(name))


def wrong_of_each_scheme() -> dict[str, int]:
    return dict(Counter(home(miniature.call) for miniature in WRONG))


def test_the_matrix_has_every_miniature() -> None:
    data = recorded("matrix")
    counts = {scheme: group["wrong"] for scheme, group in data["schemes"].items()}
    assert counts == wrong_of_each_scheme(), "run make records"
    assert sum(data["right"].values()) == len(RIGHT), "run make records"


def test_the_comparison_has_every_miniature() -> None:
    data = recorded("today")
    counts = {scheme: ways["the kit"]["asked"] for scheme, ways in data["wrong"].items()}
    assert counts == wrong_of_each_scheme(), "run make records"


def test_the_sums_of_the_matrix_are_those_of_its_schemes() -> None:
    data = recorded("matrix")
    assert with_sums(data["schemes"]) == {name: data[name] for name in SUMS}


@pytest.mark.parametrize("path", sorted(results.DATA.iterdir()), ids=lambda path: path.stem)
def test_a_record_is_written_as_it_is_read_with_a_line_for_each_scheme(
    path: Path, tmp_path: Path
) -> None:
    again = tmp_path / path.name
    keep(again, read_record(path))
    assert read_record(again) == read_record(path)
    assert again.read_text("utf-8") == path.read_text("utf-8"), "write it with results.keep"


def test_new_results_replace_old_ones() -> None:
    row = {"scheme": "rope", "worst": 1}
    rows = by_row("rows")(
        {"rows": [row, {"scheme": "alibi"}]}, {"rows": [row | {"worst": 2}]}, "rope"
    )
    assert rows["rows"] == [{"scheme": "alibi"}, row | {"worst": 2}]
    named = by_name("wrong")({"wrong": {"rope": 1, "alibi": 2}}, {"wrong": {"rope": 3}}, "rope")
    assert named["wrong"] == {"rope": 3, "alibi": 2}
    data = recorded("matrix")
    assert of_matrix(data, {"schemes": {"rope": data["schemes"]["rope"]}}, "rope") == {
        name: data[name] for name in SUMS
    }


@pytest.mark.always
@pytest.mark.parametrize("name", ["calibrate", "matrix", "sensitivity", "today"])
def test_records_of_a_scheme_match_its_current_files(name: str) -> None:
    """Results without a digest predate digests, and ``records --check`` lists them."""
    data = recorded(name)
    outdated = [id for id in stale(data, load_all()) if data["inputs"].get(id, {}).get("own")]
    assert not outdated, f"run make records SCHEME='{' '.join(outdated)}'"


def test_a_scheme_is_stale_when_one_of_its_files_has_changed() -> None:
    schemes = load_all()
    now = {scheme.id: inputs("matrix", scheme) for scheme in schemes}
    assert stale({"inputs": now}, schemes) == older("matrix", {"inputs": now}, schemes) == []
    own = {"inputs": {**now, "rope": {"own": "other", "all": "other"}}}
    assert stale(own, schemes) == older("matrix", own, schemes) == ["rope"]
    shared = {"inputs": {**now, "rope": {**now["rope"], "all": None}}}
    assert stale(shared, schemes) == []
    assert older("matrix", shared, schemes) == ["rope"]
    assert len(stale({}, schemes)) == len(older("matrix", {}, schemes)) == len(schemes)


@pytest.mark.parametrize(
    ("module", "own", "hanging"),
    [
        ("posenc_lab.miniatures.wrong.rotary.rope", True, set(LEFT_OUT)),
        ("posenc.schemes.rotary.rope", True, set(LEFT_OUT)),
        ("posenc_conformance.families.rotary", False, set(LEFT_OUT)),
        ("posenc_conformance.judge.error_model", False, set(LEFT_OUT)),
        ("posenc_conformance.checks.behaviour", False, set(LEFT_OUT)),
        ("posenc_conformance.diagnose.recover", False, {"matrix"}),
        ("posenc_lab.today", False, {"today"}),
        ("posenc_conformance.schemes.bias.alibi", False, set()),
        ("posenc_lab.miniatures.wrong.bias.alibi", False, set()),
    ],
)
def test_dependencies_of_a_record(
    module: str, own: bool, hanging: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert module in files()
    rope = next(scheme for scheme in load_all() if scheme.id == "rope")
    before = {name: inputs(name, rope) for name in LEFT_OUT}

    def changed(name: str) -> Source:
        original = source(name)
        return replace(original, digest=original.digest + "!" * (name == module))

    monkeypatch.setattr(record_inputs, "source", changed)
    monkeypatch.setattr(record_inputs, "own", record_inputs.own.__wrapped__)
    monkeypatch.setattr(record_inputs, "everything", record_inputs.everything.__wrapped__)
    after = {name: inputs(name, rope) for name in LEFT_OUT}
    assert {name for name in LEFT_OUT if after[name]["all"] != before[name]["all"]} == hanging
    assert all((after[name]["own"] != before[name]["own"]) is own for name in LEFT_OUT)


def test_a_record_depends_on_all_code_that_runs() -> None:
    schemes = load_all()
    rope = next(scheme for scheme in schemes if scheme.id == "rope")
    wrong_one = next(candidate for candidate in WRONG if candidate.call == "rope")
    with without_diagnosis():
        ran = files_that_run(lambda: today.verdicts(wrong_one, schemes))
    modules = closure(["posenc_lab.today", *own_modules(rope)])
    assert ran <= {files()[module] for module in modules}


@pytest.mark.parametrize(
    "change", ["x = 1  # why", '"""Said."""\nx = 1', 'x = 1\n"""Of x."""', "x  =  1"]
)
def test_prose_changes_no_digest(change: str) -> None:
    def told(text: str) -> list[str]:
        return list(shape(ast.parse(text)))

    assert told(change) == told("x = 1")
    assert told("x = 2") != told("x = 1") != told("y = 1")


def test_layout_changes_no_digest_of_a_scheme_file(tmp_path: Path) -> None:
    def told(text: str) -> str:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.yaml"
        path.write_text(text, encoding="utf-8")
        return digest_of_spec(path)

    before = told("goldens:\n  - id: a\n    values:\n      - 1.0\n")
    assert told("# why\ngoldens: [{values: [1.00], id: a}]\n") == before
    assert told("goldens: [{values: [1], id: a}]\n") != before
    assert told("goldens: [{values: [1.0], id: b}]\n") != before


def test_the_check_lists_outdated_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "DATA", tmp_path)
    schemes = load_all()[:3]
    now = {scheme.id: inputs("matrix", scheme) for scheme in schemes}
    keep(path_of("matrix"), {"inputs": now})
    assert records.outdated(["matrix"], schemes) == []
    first, second, _ = now
    now[first], now[second] = {"own": None, "all": None}, {**now[second], "all": None}
    keep(path_of("matrix"), {"inputs": now})
    assert records.outdated(["matrix"], schemes) == [
        f"matrix, own files changed: {first}",
        f"matrix, shared code changed: {second}",
    ]


@pytest.mark.parametrize("name", ["calibrate", "length", "matrix", "sensitivity", "today"])
def test_results_name_the_versions_that_made_them(name: str) -> None:
    assert {"python", "numpy", "posenc"} <= set(recorded(name)["versions"])


def test_schemes_are_updated_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Earlier results stay, and so do the digests of their inputs."""
    schemes = load_all()[:3]

    def one(name: str, scheme: str | None) -> dict[str, Any]:
        return {ROWS: [{"scheme": scheme, "worst": 1.0}], "versions": {}}

    (tmp_path / "calibrate.json").write_text(json.dumps({ROWS: [], "versions": {}}), "utf-8")
    monkeypatch.setattr(results, "DATA", tmp_path)
    monkeypatch.setattr(records, "measure", one)
    records.update("calibrate", schemes, [schemes[0].id])
    records.update("calibrate", schemes)
    data = recorded("calibrate")
    assert [row["scheme"] for row in data[ROWS]] == sorted(scheme.id for scheme in schemes)
    assert stale(data, schemes) == []


@pytest.mark.parametrize("name", ["matrix", "today", "sensitivity", "calibrate"])
def test_updating_a_scheme_keeps_the_others(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schemes, before = load_all(), recorded(name)
    current = {scheme.id: inputs(name, scheme) for scheme in schemes}
    changed = {**current, "rope": {"own": None, "all": None}}
    old = json.dumps({**before, "inputs": changed})
    (tmp_path / f"{name}.json").write_text(old, encoding="utf-8")
    monkeypatch.setattr(results, "DATA", tmp_path)
    monkeypatch.setattr(records, "measure", lambda *_: before)
    records.update(name, schemes)
    data = json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))
    assert data.keys() == before.keys()
    assert data["inputs"] == current


def test_a_record_that_no_longer_holds_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (scheme,) = schemes = load_all()[:1]
    row = {"scheme": scheme.id, "checks": 1, "worst": 0.8}
    old = {ROWS: [row], "inputs": {}}
    monkeypatch.setattr(results, "DATA", tmp_path)
    keep(path_of("calibrate"), old)

    def found(now: list[dict[str, Any]], seconds: float = 60.0) -> list[tuple[str, bool]]:
        monkeypatch.setattr(records, "measure", lambda *_: {ROWS: now, "versions": {}})
        return list(records.differing(["calibrate"], schemes, seconds, "today"))

    line = f"calibrate: {scheme.id}"
    assert found([row]) == [(line, False)]
    assert found([{**row, "worst": 0.83}]) == [(line, False)]
    assert found([{**row, "worst": 1.3}]) == [(line, True)]
    assert found([{**row, "checks": 2}]) == [(line, True)]
    assert found([]) == [(line, True)]
    assert found([row], seconds=-1.0) == []
    assert read_record(path_of("calibrate")) == old, "nothing is written"
