"""The scorecard: a report, for the terminal."""

from collections.abc import Iterator
from math import log10
from textwrap import wrap
from typing import Any

from posenc_conformance.report import VERDICTS

WIDTH = 100
COLUMNS = ("scheme", "convention", "dtype", *VERDICTS, "worst", "angles", "horizon")


def lines(report: dict[str, Any]) -> Iterator[str]:
    """A table by scheme, convention and dtype; diagnoses; what is not claimed; the count."""
    yield from _table([_cells(report, row) for row in report["rows"]])
    yield ""
    yield "worst: largest error in units of what the error model allows; at most 1 passes"
    yield "angles: exact, or as good as float32 can form them"
    yield "horizon: up to where angles cost less than bfloat16 resolution; + where the claim ends"
    for heading, found in (
        ("diagnosis", list(_diagnoses(report))),
        ("known failures", _known(report)),
        ("answered instead of refused", _silent(report)),
    ):
        if found:
            yield from ("", heading, *(f"  {line}" for line in found))
    yield from _not_claimed(report)
    summary = report["summary"]
    yield ""
    yield (
        f"{summary['checks']} checks: {summary['passed']} passed, {summary['failed']} failed, "
        f"{summary['known']} known failures, "
        f"{summary['blocked']} blocked, {summary['silent']} silent on bad input, "
        f"{summary['not_selected']} not selected, {summary['not_claimed']} not claimed"
    )


def curves(report: dict[str, Any]) -> Iterator[str]:
    """How the error of every claim with positions grows, in units of the scale."""
    shown = [check for check in report["checks"] if check["curve"]]
    if not shown:
        yield "no claim that was checked has positions"
    for check in shown:
        yield f"{check['scheme']}  {check['call']} {check['combination']}  {check['dtype']}"
        yield f"  {'position':>20}  {'error':>8}  {'allowed':>8}"
        for position, error, allowed in check["curve"]:
            bar = "#" * _log_steps(error)
            yield f"  {int(position):>20,}  {error:8.1e}  {allowed:8.1e}  {bar}".rstrip()
        yield ""
    yield "errors are parts of the scale: 1 for an encoding, the length of the pair for a rotation"


def _log_steps(error: float) -> int:
    """Three signs for every power of ten above 1e-9."""
    return max(0, round(3 * (log10(error) + 9))) if error > 0 else 0


def _cells(report: dict[str, Any], row: dict[str, Any]) -> list[str]:
    several = {r["call"] for r in report["rows"] if r["scheme"] == row["scheme"]}
    convention = row["combination"]
    if len(several) > 1:
        convention = f"{row['call']} {convention}"
    worst = row["worst"]
    return [
        row["scheme"],
        convention,
        row["dtype"] or "all",
        *(str(row[name]) for name in VERDICTS),
        "" if worst is None else worst if isinstance(worst, str) else f"{worst:.2g}",
        {True: "exact", False: "float32", None: ""}[row["exact_angles"]],
        _power(row),
    ]


def _power(row: dict[str, Any]) -> str:
    horizon = row["horizon"]
    if horizon is None:
        return ""
    end = "+" if row["horizon_is_claim"] else ""
    return f"2^{horizon.bit_length() - 1}{end}" if horizon else "0"


def _not_claimed(report: dict[str, Any]) -> Iterator[str]:
    """Combinations left out of schemes of which others are claimed; then the other schemes."""
    claimed = {row["scheme"] for row in report["rows"]}
    missing = report["combinations_not_claimed"]
    if not missing:
        return
    lines = [f"{scheme}: {', '.join(missing[scheme])}" for scheme in missing if scheme in claimed]
    others = [scheme for scheme in missing if scheme not in claimed]
    if others:
        lines.append(f"{'other schemes' if claimed else 'schemes'}: {', '.join(others)}")
    yield from ("", "not claimed")
    for line in lines:
        yield from wrap(
            line,
            width=WIDTH,
            initial_indent="  ",
            subsequent_indent="    ",
            break_on_hyphens=False,
        )


def _table(rows: list[list[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(COLUMNS, *rows, strict=True)]
    for row in [list(COLUMNS), *rows]:
        cells = [
            cell.rjust(width) if name in (*VERDICTS, "worst") else cell.ljust(width)
            for name, cell, width in zip(COLUMNS, row, widths, strict=True)
        ]
        yield "  ".join(cells).rstrip()


def _known(report: dict[str, Any]) -> list[str]:
    """Reasons of known failures, each with the number of checks that it excuses."""
    reasons = [
        f"{check['scheme']}: {check['message'].splitlines()[0]}"
        for check in report["checks"]
        if check["verdict"] == "known"
    ]
    return [f"{reason}, {reasons.count(reason)} checks" for reason in dict.fromkeys(reasons)]


def _silent(report: dict[str, Any]) -> list[str]:
    """Bad inputs that were answered, each with the combinations that did."""
    found: dict[tuple[str, str], list[str]] = {}
    for check in report["checks"]:
        if check["verdict"] == "silent":
            found.setdefault((check["scheme"], check["message"]), []).append(check["combination"])
    return [f"{scheme} ({', '.join(names)}): {why}" for (scheme, why), names in found.items()]


def _diagnoses(report: dict[str, Any]) -> Iterator[str]:
    """What explains the failures, and how many of them."""
    for found in report["diagnoses"]:
        failed = found["failed"]
        lines = [
            f"{each['explanation']} [{each['deviation']}], {each['failures']} of {failed} failures"
            for each in found["explained_by"]
        ]
        left = failed - sum(each["failures"] for each in found["explained_by"])
        if left:
            lines.append(f"no known deviation, {left} of {failed} failures")
        for line in lines:
            yield f"{found['scheme']} {found['combination']}: {line}"
