"""The scorecard of a report: the contents of its columns."""

import re
from itertools import takewhile
from typing import Any

import pytest

from posenc_conformance.report import scorecard
from tests.reporting import NOTHING, row


def card(*rows: dict[str, Any], detailed: bool = False, **more: Any) -> list[str]:
    report: Any = {**NOTHING, "rows": rows, **more}
    return list(scorecard.lines(report, detailed=detailed))


def cells(*rows: dict[str, Any], detailed: bool = False) -> list[dict[str, str]]:
    """Return the rows of the table, by the names of its columns; no cell is empty."""
    table = takewhile(bool, card(*rows, detailed=detailed))
    heads, *body = (re.split(" {2,}", line.strip()) for line in table)
    return [dict(zip(heads, fields, strict=True)) for fields in body]


def sweep(horizon: int, *, is_claim: bool = False, **found: Any) -> dict[str, Any]:
    return row(horizon=horizon, horizon_is_claim=is_claim, passed=1, **found)


def test_the_horizon_of_a_call_is_that_of_its_shortest() -> None:
    (shown,) = cells(sweep(2**16, dtype="float64"), sweep(2**10), sweep(2**14, combination="other"))
    assert shown["horizon"] == "2^10"


@pytest.mark.parametrize(
    ("shortest", "other", "said"),
    [
        (True, True, "2^10+"),
        (True, False, "2^10"),
        (False, True, "2^10"),
    ],
)
def test_the_claim_ends_the_horizon_only_if_it_does_so_everywhere(
    shortest: bool, other: bool, said: str
) -> None:
    far = sweep(2**20, is_claim=True, dtype="float64")
    (shown,) = cells(
        sweep(2**10, is_claim=shortest), far, sweep(2**10, is_claim=other, combination="other")
    )
    assert shown["horizon"] == said


def test_a_claim_that_ends_farther_out_says_nothing_of_the_horizon() -> None:
    (shown,) = cells(sweep(2**10), sweep(2**20, is_claim=True, dtype="float64"))
    assert shown["horizon"] == "2^10"
    (shown,) = cells(sweep(2**10, is_claim=True), sweep(2**20, dtype="float64"))
    assert shown["horizon"] == "2^10+"


def test_a_horizon_of_0_is_shown_and_without_sweeps_there_is_no_column() -> None:
    (shown,) = cells(sweep(0), sweep(2**10, dtype="float64"))
    assert shown["horizon"] == "0"
    assert "horizon" not in cells(row(passed=1))[0]
    (shown,) = cells(sweep(1))
    assert shown["horizon"] == "2^0"


def test_counts_are_added_and_the_worst_error_is_the_largest() -> None:
    (shown,) = cells(
        row(passed=3, failed=1, worst=0.25),
        row(passed=2, worst=0.5, combination="other"),
        row(passed=1, worst=None, dtype=None),
    )
    assert (shown["passed"], shown["failed"], shown["worst"]) == ("6", "1", "0.5")
    assert shown["dtypes"] == "float32"
    (shown,) = cells(row(worst=0.5), row(worst="infinite"))
    assert shown["worst"] == "inf"


def test_details_have_a_row_for_each_dtype_with_the_precision_of_angles() -> None:
    exact = sweep(2**10, exact_angles=True, dtype="float64")
    shown = cells(exact, sweep(2**12, exact_angles=False), detailed=True)
    assert [line["angles"] for line in shown] == ["exact", "float32"]
    assert [line["horizon"] for line in shown] == ["2^10", "2^12"]
    assert [line["dtypes"] for line in shown] == ["float64", "float32"]


def test_a_run_in_which_nothing_was_claimed_has_a_count_and_no_table() -> None:
    (line,) = filter(None, card())
    assert line.startswith("0 checks")


def test_verdicts_that_do_not_occur_have_no_column() -> None:
    (shown,) = cells(row(passed=1, blocked=2))
    assert shown["blocked"] == "2"
    assert shown["failed"] == "0"
    assert "known" not in shown
    assert "silent" not in shown


def test_many_calls_are_one_line_per_scheme() -> None:
    few = [row(call=f"call_{n}") for n in range(40)]
    assert len(cells(*few)) == 40
    many = card(*few, row(call="one_more"))
    assert many[1].split()[0] == "rope"
    assert many[2] == ""


def test_few_reasons_are_shown_and_the_rest_is_counted() -> None:
    def silent(number: int) -> dict[str, Any]:
        return {
            "verdict": "silent",
            "scheme": "rope",
            "call": "rope",
            "combination": "half",
            "message": f"{number} was answered",
            "left_out": "",
        }

    def shown(count: int, *, detailed: bool = False) -> list[str]:
        checks = [silent(number) for number in range(count)]
        return card(row(silent=count), checks=checks, detailed=detailed)

    answered = [line for line in shown(3) if "was answered" in line]
    assert len(answered) == 3
    assert not any("more" in line for line in shown(3))
    assert len([line for line in shown(5) if "was answered" in line]) == 3
    assert any("2 more" in line for line in shown(5))
    assert len([line for line in shown(5, detailed=True) if "was answered" in line]) == 5


def test_failures_with_and_without_a_name_are_counted() -> None:
    place = {"scheme": "rope", "call": "rope", "combination": "half"}
    diagnosis = {
        **place,
        "failed": 5,
        "explained_by": [{"deviation": "degrees", "explanation": "in degrees", "failures": 3}],
        "recovered": "",
    }
    lines = card(row(failed=5), diagnoses=[diagnosis])
    (named,) = (line for line in lines if "[degrees]" in line)
    (unnamed,) = (line for line in lines if "no known deviation" in line)
    assert "3 of 5" in named
    assert "2 of 5" in unnamed
    whole = {**diagnosis, "failed": 3}
    assert not any("no known" in line for line in card(row(failed=3), diagnoses=[whole]))
    check = {**place, "verdict": "failed", "explanations": [], "left_out": ""}
    raising = [
        {
            **check,
            "message": "golden a: rope() raised ValueError: of a shape\nrope() raised KeyError",
        },
        {**check, "message": "golden b: rope() raised ValueError: of another shape"},
        {**check, "message": "the second line:\nrope() raised ValueError"},
        {**check, "call": "rope_vjp", "message": "golden c: rope_vjp() raised ValueError"},
    ]
    lines = card(row(failed=5), diagnoses=[diagnosis], checks=raising)
    assert any("rope() raised ValueError, 2 of 5 failures" in line for line in lines)
    assert not any("no known deviation" in line for line in lines)
    lines = card(row(failed=5), diagnoses=[diagnosis], checks=raising[1:])
    assert any("no known deviation, 1 of 5 failures" in line for line in lines)


def test_a_curve_has_a_bar_as_long_as_the_logarithm_of_the_error() -> None:
    curve = [[1, 1e-9, 1e-6], [2, 1e-8, 1e-6], [4, 1e-5, 1e-6], [8, 0.0, 1e-6], [16, 1e-12, 1.0]]
    check = {
        "scheme": "rope",
        "call": "rope",
        "combination": "half",
        "dtype": "float32",
        "curve": curve,
    }
    report: Any = {"checks": [check, {**check, "curve": []}]}
    lines = list(scorecard.curves(report))
    bars = [line.count("#") for line in lines if line.strip()[:1].isdigit()]
    assert bars == [0, 3, 12, 0, 0]
    report["checks"] = []
    assert list(scorecard.curves(report)) != []


@pytest.mark.parametrize(
    ("passed", "failed", "colour"), [(3, 0, "green"), (3, 1, "red"), (0, 1, "red"), (0, 0, "")]
)
def test_the_counts_have_the_colour_of_the_verdict(passed: int, failed: int, colour: str) -> None:
    summary: Any = {**NOTHING["summary"], "passed": passed, "failed": failed}
    *_, counts = card(summary=summary)
    marks = scorecard.markup_of(counts, summary)
    assert {name for name in ("red", "green") if marks[name]} == ({colour} if colour else set())
    assert scorecard.markup_of("diagnosis", summary) == {"bold": True}
    assert scorecard.markup_of("rope  half", summary) == {"bold": False}


@pytest.mark.slow
def test_colours_are_those_of_pytest(pytester: pytest.Pytester) -> None:
    run = ["--impl=reference", "alibi.yaml", "-m", "smoke"]
    coloured = pytester.runpytest_subprocess(*run, "--color=yes").stdout.str()
    assert re.search(r"(\x1b\[(1|32)m){2}[\d,]+ checks: ", coloured)
    assert "\x1b" not in pytester.runpytest_subprocess(*run, "--color=no").stdout.str()
