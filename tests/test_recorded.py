"""What the site shows of the benchmarks was measured with the miniatures that there are now."""

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
from posenc_lab.field import BUGS, Bug
from posenc_lab.field.__main__ import SETS, count_outcomes, of_set
from posenc_lab.first_failure import without_diagnosis
from posenc_lab.inputs import LEFT_OUT, inputs, older, own_modules, stale
from posenc_lab.matrix import home, with_sums
from posenc_lab.miniatures import right, wrong
from posenc_lab.miniatures.mistakes import WRONG
from posenc_lab.miniatures.styles import RIGHT
from posenc_lab.mutants import parsed
from posenc_lab.records import by_name, by_row, of_matrix
from posenc_lab.results import keep, path_of, read_record
from tests.running import files_that_run

assert right.__path__, wrong.__path__  # importing them fills the lists

LISTS = ("allowed", "equivalent", "holes")
SUMS = ("all", "classes", "right", "schemes")


def recorded(name: str) -> dict[str, Any]:
    return read_record(path_of(name))


def wrong_of_each_scheme() -> dict[str, int]:
    return dict(Counter(home(each.call) for each in WRONG))


def test_the_matrix_has_every_miniature() -> None:
    data = recorded("matrix")
    counts = {scheme: group["wrong"] for scheme, group in data["schemes"].items()}
    assert counts == wrong_of_each_scheme(), "run make records"
    assert sum(data["right"].values()) == len(RIGHT), "run make records"


def test_the_independent_bench_has_every_bug() -> None:
    data = recorded("field")
    names = [each.name for each in BUGS]
    assert len(set(names)) == len(names)
    for tried in ("first", "now"):
        some = data[tried]["bugs"]
        assert [each["bug"] for each in some] == names, "run python -m posenc_lab.field --write"
        assert data[tried]["counts"] == {name: count_outcomes(of_set(some, name)) for name in SETS}


def test_the_independent_bench_is_of_many_threads() -> None:
    threads = [each.thread for each in BUGS if each.thread]
    assert len(set(threads)) == len(threads) > 0


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_right_names_of_the_independent_bench_are_those_of_the_spec(bug: Bug) -> None:
    known = {
        deviation.id
        for scheme in load_all()
        for deviation in scheme.deviations
        if bug.call in deviation.calls
    }
    assert {part for name in bug.right for part in name.split("+")} <= known
    assert bug.meaning.endswith(".")


def test_the_comparison_has_every_miniature() -> None:
    data = recorded("today")
    counts = {scheme: ways["the kit"]["asked"] for scheme, ways in data["wrong"].items()}
    assert counts == wrong_of_each_scheme(), "run make records"


def test_the_mutants_are_those_of_the_reference() -> None:
    modules = recorded("mutants")["modules"]
    assert modules
    for name, kinds in modules.items():
        assert sum(kinds.values()) == len(parsed(name)[1]), f"{name}: run make records"


def test_the_sums_of_the_matrix_are_those_of_its_schemes() -> None:
    data = recorded("matrix")
    assert with_sums(data["schemes"]) == {name: data[name] for name in SUMS}


@pytest.mark.parametrize("path", sorted(results.DATA.iterdir()), ids=lambda path: path.stem)
def test_a_record_is_written_as_it_is_read_with_a_line_for_a_scheme(
    path: Path, tmp_path: Path
) -> None:
    again = tmp_path / path.name
    keep(again, read_record(path))
    assert read_record(again) == read_record(path)
    assert again.read_text("utf-8") == path.read_text("utf-8"), "write it with results.keep"


def test_what_is_measured_takes_the_place_of_what_was() -> None:
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


@pytest.mark.parametrize("name", ["calibrate", "matrix", "sensitivity", "today"])
def test_what_is_recorded_of_a_scheme_is_of_its_files_as_they_are(name: str) -> None:
    """What has no digest was measured before there were any, and ``records --check`` lists it."""
    data = recorded(name)
    found = [id for id in stale(data, load_all()) if data["inputs"].get(id, {}).get("own")]
    assert not found, f"run make records SCHEME='{' '.join(found)}'"


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
        ("posenc_lab.miniatures.wrong.rope", True, set(LEFT_OUT)),
        ("posenc.schemes.rope", True, set(LEFT_OUT)),
        ("posenc_conformance.families.rotary", False, set(LEFT_OUT)),
        ("posenc_conformance.judge.error_model", False, set(LEFT_OUT)),
        ("posenc_conformance.checks.behaviour", False, set(LEFT_OUT)),
        ("posenc_conformance.diagnose.recover", False, {"matrix"}),
        ("posenc_lab.today", False, {"today"}),
        ("posenc_conformance.schemes.alibi", False, set()),
        ("posenc_lab.miniatures.wrong.alibi", False, set()),
    ],
)
def test_what_a_record_hangs_on(
    module: str, own: bool, hanging: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert module in files()
    rope = next(scheme for scheme in load_all() if scheme.id == "rope")
    before = {name: inputs(name, rope) for name in LEFT_OUT}

    def changed(name: str) -> Source:
        there = source(name)
        return replace(there, digest=there.digest + "!" * (name == module))

    monkeypatch.setattr(record_inputs, "source", changed)
    monkeypatch.setattr(record_inputs, "own", record_inputs.own.__wrapped__)
    monkeypatch.setattr(record_inputs, "everything", record_inputs.everything.__wrapped__)
    after = {name: inputs(name, rope) for name in LEFT_OUT}
    assert {name for name in LEFT_OUT if after[name]["all"] != before[name]["all"]} == hanging
    assert all((after[name]["own"] != before[name]["own"]) is own for name in LEFT_OUT)


def test_nothing_runs_that_a_record_does_not_hang_on() -> None:
    schemes = load_all()
    rope = next(scheme for scheme in schemes if scheme.id == "rope")
    wrong_one = next(each for each in WRONG if each.call == "rope")
    with without_diagnosis():
        ran = files_that_run(lambda: today.verdicts(wrong_one, schemes))
    known = closure(["posenc_lab.today", *own_modules(rope)])
    assert ran <= {files()[module] for module in known}


@pytest.mark.parametrize(
    "change", ["x = 1  # why", '"""Said."""\nx = 1', 'x = 1\n"""Of x."""', "x  =  1"]
)
def test_words_change_no_digest(change: str) -> None:
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


def test_the_check_lists_what_is_out_of_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


@pytest.mark.parametrize(
    "name", ["calibrate", "length", "matrix", "mutants", "sensitivity", "today"]
)
def test_results_name_the_versions_that_gave_them(name: str) -> None:
    assert {"python", "numpy", "posenc"} <= set(recorded(name)["versions"])


def test_one_scheme_after_the_other_is_brought_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was measured before stays, and so does what is known of the files that it came from."""
    schemes = load_all()[:3]
    row = {"module": "m", "line": 1, "change": "c"}

    def one(name: str, scheme: str | None) -> dict[str, Any]:
        found = {"modules": {f"posenc.{scheme}": {"golden": 1}}, "versions": {}}
        return found | {part: [{**row, "module": scheme}] for part in LISTS}

    empty: dict[str, Any] = {"modules": {}, "versions": {}, **{part: [] for part in LISTS}}
    (tmp_path / "mutants.json").write_text(json.dumps(empty), encoding="utf-8")
    monkeypatch.setattr(results, "DATA", tmp_path)
    monkeypatch.setattr(records, "measure", one)
    records.update("mutants", schemes, [schemes[0].id])
    records.update("mutants", schemes)
    data = json.loads((tmp_path / "mutants.json").read_text(encoding="utf-8"))
    assert set(data["modules"]) == {f"posenc.{scheme.id}" for scheme in schemes}
    assert all(len(data[part]) == len(schemes) for part in LISTS)
    assert stale(data, schemes) == []


@pytest.mark.parametrize("name", ["matrix", "today", "sensitivity", "calibrate"])
def test_bringing_a_scheme_up_to_date_forgets_no_other(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schemes, before = load_all(), recorded(name)
    known = {scheme.id: inputs(name, scheme) for scheme in schemes}
    changed = {**known, "rope": {"own": None, "all": None}}
    old = json.dumps({**before, "inputs": changed})
    (tmp_path / f"{name}.json").write_text(old, encoding="utf-8")
    monkeypatch.setattr(results, "DATA", tmp_path)
    monkeypatch.setattr(records, "measure", lambda *_: before)
    records.update(name, schemes)
    data = json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))
    assert data.keys() == before.keys()
    assert data["inputs"] == known


def test_a_record_that_no_longer_holds_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schemes = load_all()[:2]
    row = {"module": "m", "line": 1, "change": "c", "share of the bound": 0.8}
    old = {"modules": {"m": {"golden": 1}}, **{part: [row] for part in LISTS}, "inputs": {}}
    monkeypatch.setattr(results, "DATA", tmp_path)
    keep(path_of("mutants"), old)

    def found(now: dict[str, Any], seconds: float = 60.0) -> set[tuple[str, bool]]:
        monkeypatch.setattr(records, "measure", lambda *_: {**old, **now, "versions": {}})
        return set(records.differing(["mutants"], schemes, seconds, "today"))

    lines = [f"mutants: {scheme.id}" for scheme in schemes]
    assert found({}) == {(line, False) for line in lines}
    assert found({"holes": [{**row, "share of the bound": 0.83}]}) == found({})
    assert found({"holes": [{**row, "share of the bound": 1.3}]}) == {
        (line, True) for line in lines
    }
    assert found({"modules": {"m": {"golden": 2}}}) == {(line, True) for line in lines}
    assert found({"holes": []}) == {(line, True) for line in lines}
    assert found({}, seconds=-1.0) == set()
    assert read_record(path_of("mutants")) == old, "nothing is written"
