"""Comparison of two reports: better, worse and otherwise changed checks."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from posenc_conformance.errors import UserError
from posenc_conformance.report.difference import Difference, difference, read_report
from tests.reporting import NOTHING, row

Report = Any


def check(id: str, verdict: str, worst: Any = None, **more: Any) -> dict[str, Any]:
    return {"id": id, "verdict": verdict, "worst": worst, "explanations": [], **more}


def report(*checks: dict[str, Any], rows: Any = ()) -> Report:
    return {"checks": checks, "rows": rows}


def kinds(found: Difference) -> tuple[int, int, int]:
    return len(found.better), len(found.worse), len(found.other)


BETTER, WORSE, OTHER, NONE = (1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 0)


@pytest.mark.parametrize(
    ("was", "now", "kind"),
    [
        *((bad, "passed", BETTER) for bad in ("failed", "blocked", "silent", "known")),
        *(("passed", bad, WORSE) for bad in ("failed", "blocked", "silent")),
        ("passed", "known", OTHER),
        ("known", "failed", WORSE),
        ("failed", "blocked", WORSE),
        *((bad, "known", BETTER) for bad in ("failed", "blocked", "silent")),
        ("passed", "passed", NONE),
        ("failed", "failed", NONE),
    ],
)
def test_verdicts_that_change(was: str, now: str, kind: tuple[int, int, int]) -> None:
    assert kinds(difference(report(check("a", was)), report(check("a", now)))) == kind


def test_an_unfinished_run_is_reported() -> None:
    whole, part = report(check("a", "passed")), report(check("a", "passed"))
    part["interrupted"] = "KeyboardInterrupt"
    assert kinds(difference(whole, part)) == WORSE
    assert kinds(difference(part, whole)) == OTHER


@pytest.mark.parametrize(
    ("verdict", "came", "went"),
    [("passed", BETTER, WORSE), ("failed", WORSE, BETTER), ("known", OTHER, OTHER)],
)
def test_added_and_removed_checks(
    verdict: str, came: tuple[int, int, int], went: tuple[int, int, int]
) -> None:
    added = report(check("a", verdict))
    assert kinds(difference(report(), added)) == came
    assert kinds(difference(added, report())) == went


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (0.25, 0.5, NONE),
        (0.25, 0.51, WORSE),
        (0.5, 0.25, NONE),
        (0.51, 0.25, BETTER),
        (0.25, None, NONE),
        (None, 0.5, NONE),
        (0.0, 0.5, NONE),
        (0.5, 0.0, NONE),
    ],
)
def test_worst_errors_that_change_much(
    before: float | None, after: float | None, kind: tuple[int, int, int]
) -> None:
    result = difference(report(check("a", "passed", before)), report(check("a", "passed", after)))
    assert kinds(result) == kind
    failing = (report(check("a", "failed", error)) for error in (before, after))
    assert kinds(difference(*failing)) == NONE


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [(1024, 2048, BETTER), (2048, 1024, WORSE), (1024, 1024, NONE), (None, 1024, NONE)],
)
def test_horizons(before: int | None, after: int | None, kind: tuple[int, int, int]) -> None:
    first, other = (report(rows=[row(horizon=horizon)]) for horizon in (before, after))
    assert kinds(difference(first, other)) == kind


def test_the_reason_for_a_worse_check_is_shown() -> None:
    failed = check("a", "failed", explanations=[["degrees", "in degrees"], ["other", "x"]])
    (line,) = difference(report(check("a", "passed")), report(failed)).worse
    assert "in degrees [degrees]" in line


def test_worse_checks_come_first_and_no_difference_is_one_line() -> None:
    before = report(check("a", "passed"), check("b", "failed"), check("c", "passed"))
    after = report(check("a", "failed"), check("b", "passed"), check("c", "known"))
    heads = [line for line in difference(before, after).lines() if not line.startswith(" ")]
    assert heads == ["worse: 1", "better: 1", "changed: 1"]
    assert len(list(difference(before, before).lines())) == 1


def whole() -> Report:
    return {
        "posenc-report": 1,
        "kit": "0",
        "implementation": {"name": "mine", "versions": {}},
        "schemes": ["rope"],
        **NOTHING,
        "rows": [row()],
        "not_claimed": [],
    }


def test_a_report_is_read_from_every_kind_of_file(tmp_path: Path) -> None:
    text = json.dumps(whole())
    plain, packed, board = (tmp_path / name for name in ("a.json", "b.json.gz", "c.json"))
    plain.write_text(text, encoding="utf-8")
    packed.write_bytes(gzip.compress(text.encode()))
    board.write_text(json.dumps({"posenc-scoreboard": 1, "report": whole()}), encoding="utf-8")
    for path in (plain, packed, board):
        assert read_report(path) == whole()


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\x1f\x8bno", b"[]", b'{"posenc-scoreboard": 1}', b"\xff\xfe"]
)
def test_an_invalid_report_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"a\.json is not a report"):
        read_report(path)
