"""The scorecard: a report as text for the terminal."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import log10
from textwrap import shorten, wrap
from typing import cast

from posenc_conformance.judge.verdict import TOO_LARGE
from posenc_conformance.report.document import VERDICTS
from posenc_conformance.report.layout import (
    CheckEntry,
    DiagnosisEntry,
    Report,
    RowEntry,
    SummaryEntry,
)

WIDTH = 100
SCREEN = 40
"""Above this number of calls, the table has one row per scheme."""
LONG = 24
"""Lists of names with more characters than this are replaced by their number."""
FEW = 3
"""The number of reasons shown under each heading."""
HEADINGS = ("diagnosis", "known failures", "blocked", "robustness", "not asked")
NUMBERS = (*VERDICTS, "worst")
LEGEND = {
    "worst": "worst: largest error in units of what the error model allows; up to 1 passes; "
    "inf means an error where none is allowed",
    "angles": "angles: exact, or as good as float32 can form them",
    "horizon": "horizon: position up to which errors of angles stay below bfloat16 resolution; "
    "+ means that the claim ends there",
}

Row = dict[str, str]


def lines(report: Report, *, detailed: bool = False, brief: bool = False) -> Iterator[str]:
    """Yield the table, diagnoses, known failures, unclaimed conventions, and the counts.

    ``detailed`` gives a row for each convention and dtype, and every reason in full. ``brief``
    leaves out the legend and the unclaimed conventions and models.
    """
    rows = list(_each(report) if detailed else _together(report))
    yield from _table(rows)
    if not brief:
        yield from ("", *(LEGEND[name] for name in LEGEND if any(row.get(name) for row in rows)))
    sections = (
        [line for _, line in causes(report)],
        _reasons(report, "known", lambda check: check["scheme"]),
        _reasons(report, "blocked", lambda check: f"{check['call']} {check['combination']}"),
        _silent(report),
        _not_asked(report),
    )
    for heading, entries in zip(HEADINGS, sections, strict=True):
        if entries and (detailed or heading == "diagnosis"):
            yield from ("", heading, *(f"  {line}" for line in entries))
        elif entries:
            shown = [shorten(line, WIDTH - 2, placeholder=" …") for line in entries[:FEW]]
            yield from ("", heading, *(f"  {line}" for line in shown))
            if len(entries) > FEW:
                yield f"  and {len(entries) - FEW} more: -v shows them"
    if not brief and report["combinations_not_claimed"]:
        yield from ("", *_not_claimed(report, detailed=detailed))
    if not brief and report.get("models_not_claimed"):
        missing = report["models_not_claimed"]
        listed = ", ".join(missing) if detailed else "-v lists them"
        yield from wrap(
            f"models not claimed: {len(missing)} of {len(report['models'])}; {listed}",
            width=WIDTH,
            subsequent_indent="    ",
            break_on_hyphens=False,
        )
    yield from ("", _count(report["summary"]))


def markup_of(line: str, summary: SummaryEntry) -> dict[str, bool]:
    """Return how pytest writes a line of the scorecard where it has colours."""
    if line != _count(summary):
        return {"bold": line in HEADINGS}
    failed, passed = summary["failed"] > 0, summary["passed"] > 0
    return {"bold": True, "red": failed, "green": passed and not failed}


def _count(summary: SummaryEntry) -> str:
    words = {
        "passed": "passed",
        "failed": "failed",
        "known": "known to fail",
        "blocked": "blocked",
        "silent": "not robust",
        "not_selected": "not selected",
        "not_claimed": "not claimed",
    }
    counts = cast(Mapping[str, int], summary)
    shown = [
        f"{counts[name]:,} {word}"
        for name, word in words.items()
        if counts[name] or name in ("passed", "failed")
    ]
    return f"{summary['checks']:,} checks: {', '.join(shown)}"


def curves(report: Report) -> Iterator[str]:
    """Yield the error by position of every claim that has positions, in units of the scale."""
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
    yield "errors are relative to the scale: 1 for an encoding, the pair's length for a rotation"


def _log_steps(error: float) -> int:
    """Return the length of an error's bar: three signs for every power of ten above 1e-9."""
    return max(0, round(3 * (log10(error) + 9))) if error > 0 else 0


def _each(report: Report) -> Iterator[Row]:
    """Yield a row per call, convention and dtype."""
    for row in report["rows"]:
        yield {
            "scheme": row["scheme"],
            "call": row["call"],
            "conventions": row["combination"],
            "dtypes": row["dtype"] or "all",
            **_numbers([row]),
            "angles": {True: "exact", False: "float32", None: ""}[row["exact_angles"]],
            "horizon": _horizon([row]),
        }


def _together(report: Report) -> Iterator[Row]:
    """Yield a row per call, or per scheme if there are more than SCREEN calls."""
    calls = {(row["scheme"], row["call"]) for row in report["rows"]}
    by_scheme = len(calls) > SCREEN
    grouped: dict[tuple[str, str], list[RowEntry]] = {}
    for row in report["rows"]:
        call = "" if by_scheme else row["call"]
        grouped.setdefault((row["scheme"], call), []).append(row)
    for (scheme, call), rows in grouped.items():
        yield {
            "scheme": scheme,
            "call": call or _several([row["call"] for row in rows], "calls"),
            "conventions": _several([row["combination"] for row in rows], "conventions"),
            "dtypes": _several([row["dtype"] for row in rows if row["dtype"]], "dtypes"),
            **_numbers(rows),
            "horizon": _horizon(rows),
        }


def _several(names: Sequence[str], word: str) -> str:
    different = dict.fromkeys(names)
    shown = ", ".join(different)
    return shown if len(shown) <= LONG else f"{len(different)} {word}"


def _numbers(rows: Sequence[RowEntry]) -> Row:
    worst = [_worst(row["worst"]) for row in rows if row["worst"] is not None]
    entries = [cast(Mapping[str, int], row) for row in rows]
    counts = {name: str(sum(row[name] for row in entries)) for name in VERDICTS}
    return {**counts, "worst": f"{max(worst):.2g}" if worst else ""}


def _worst(value: float | str) -> float:
    return float("inf") if isinstance(value, str) else value


def _horizon(rows: Sequence[RowEntry]) -> str:
    """Return the shortest horizon of all rows.

    The plus means that the claim ends there in every row with that horizon.
    """
    horizons = [
        (row["horizon"], row["horizon_is_claim"]) for row in rows if row["horizon"] is not None
    ]
    if not horizons:
        return ""
    horizon, is_claim = min(horizons)
    end = "+" if is_claim else ""
    return f"2^{horizon.bit_length() - 1}{end}" if horizon else "0"


def _not_claimed(report: Report, *, detailed: bool) -> Iterator[str]:
    """Yield the unclaimed combinations of claimed schemes, then the other schemes."""
    claimed = {row["scheme"] for row in report["rows"]}
    missing = report["combinations_not_claimed"]
    within = {scheme: names for scheme, names in missing.items() if scheme in claimed}
    others = [scheme for scheme in missing if scheme not in claimed]
    if not detailed:
        parts = [f"{sum(map(len, within.values()))} conventions of these schemes"] * bool(within)
        parts += [f"{len(others)} other schemes"] * bool(others)
        yield f"not claimed: {' and '.join(parts)}; -v lists them"
        return
    yield "not claimed"
    listed = [f"{scheme}: {', '.join(names)}" for scheme, names in within.items()]
    if others:
        listed.append(f"{'other schemes' if claimed else 'schemes'}: {', '.join(others)}")
    for line in listed:
        yield from wrap(
            line,
            width=WIDTH,
            initial_indent="  ",
            subsequent_indent="    ",
            break_on_hyphens=False,
        )


def _table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield rows under their headings, without empty columns."""
    if not rows:
        return
    always = {"scheme", "conventions", "dtypes", "passed", "failed"}
    nothing = {name: "0" if name in VERDICTS else "" for name in rows[0]}
    told = [
        name
        for name in rows[0]
        if name in always or any(row[name] != nothing[name] for row in rows)
    ]
    if all(row["call"] == row["scheme"].replace("-", "_") for row in rows):
        told.remove("call")
    cells = [{name: name for name in told}, *rows]
    widths = {name: max(len(row[name]) for row in cells) for name in told}
    for row in cells:
        yield "  ".join(
            row[name].rjust(widths[name]) if name in NUMBERS else row[name].ljust(widths[name])
            for name in told
        ).rstrip()


def _reasons(report: Report, verdict: str, place: Callable[[CheckEntry], str]) -> list[str]:
    """List the reasons and places of checks with this verdict, each with the number of checks."""
    reasons = [
        f"{place(check)}: {check['message'].splitlines()[0]}"
        for check in report["checks"]
        if check["verdict"] == verdict
    ]
    return [f"{_checks(reasons.count(reason))} of {reason}" for reason in dict.fromkeys(reasons)]


def _not_asked(report: Report) -> list[str]:
    """List checks that turned out not to be claimed, and the calls that other checks left out."""
    large = [*report["not_asked"].values()].count(TOO_LARGE)
    fewer = sum(check["left_out"].endswith(TOO_LARGE) for check in report["checks"])
    told = [f"--posenc-largest left out {_checks(large)}, and calls of {_checks(fewer)} more"]
    reasons = [f"{id.partition('::')[0]}: {why}" for id, why in report["not_asked"].items()]
    reasons += [
        f"{check['call']} {check['combination']}: {check['left_out']}"
        for check in report["checks"]
        if check["left_out"]
    ]
    lines = [f"{_checks(reasons.count(reason))} of {reason}" for reason in dict.fromkeys(reasons)]
    return [*told * bool(large or fewer), *lines]


def _checks(count: int) -> str:
    return f"{count:,} check{'s' * (count != 1)}"


def _silent(report: Report) -> list[str]:
    """List bad inputs that got an answer and empty ones that got none, with their combinations."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for check in report["checks"]:
        if check["verdict"] == "silent":
            grouped.setdefault((check["scheme"], check["message"]), []).append(check["combination"])
    return [f"{scheme} ({', '.join(names)}): {why}" for (scheme, why), names in grouped.items()]


def causes(report: Report) -> Iterator[tuple[int, str]]:
    """Yield the number of failures that each explanation explains, and a line on both."""
    for diagnosis in report["diagnoses"]:
        explained = [
            (item["failures"], f"{item['explanation']} [{item['deviation']}]")
            for item in diagnosis["explained_by"]
        ]
        raised = _raised(report, diagnosis)
        explained += [
            (raised.count(name), f"{diagnosis['call']}() raised {name}")
            for name in dict.fromkeys(raised)
        ]
        failed = diagnosis["failed"]
        left = failed - len(raised) - sum(item["failures"] for item in diagnosis["explained_by"])
        if left:
            words = f"no known deviation: {diagnosis['recovered']}" * bool(diagnosis["recovered"])
            explained.append((left, words or "no known deviation"))
        where = f"{diagnosis['scheme']} {diagnosis['combination']}"
        for count, words in explained:
            yield count, f"{where}: {words}, {count} of {failed} failures"


def _raised(report: Report, diagnosis: DiagnosisEntry) -> list[str]:
    """Return the names of exceptions that are failures of a call and combination.

    They are no wrong results, which a deviation might explain.
    """
    raised = re.compile(rf"\b{diagnosis['call']}\(\) raised (\w+)")
    names = [
        raised.search(check["message"].partition("\n")[0])
        for check in report["checks"]
        if check["verdict"] in ("failed", "known")
        and all(check[field] == diagnosis[field] for field in ("scheme", "call", "combination"))
        and not check["explanations"]
    ]
    return [name[1] for name in names if name]
