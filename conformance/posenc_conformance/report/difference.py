"""Compare two reports: which checks got better, and which got worse."""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import fastjsonschema

from posenc_conformance.door import LARGEST_DOCUMENT, read_json
from posenc_conformance.errors import UserError, in_line, printable
from posenc_conformance.report.document import FORMAT, VERDICTS
from posenc_conformance.report.layout import CheckEntry, Report

HINT = "write one with --posenc-report"
BAD = ("failed", "blocked", "silent")
MUCH = 2.0
"""Factor of change in the worst error; smaller ones are noise from drawn sizes or libraries."""

Checks = Mapping[str, CheckEntry]


@dataclass(frozen=True)
class Difference:
    """Lines on changes: for the better, for the worse, and others.

    The later report is worse than the earlier one if any change is for the worse.
    """

    better: tuple[str, ...]
    worse: tuple[str, ...]
    other: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """Yield the lines under headings, changes for the worse first."""
        for title, changes in (
            ("worse", self.worse),
            ("better", self.better),
            ("changed", self.other),
        ):
            if changes:
                yield f"{title}: {len(changes)}"
                yield from (f"  {line}" for line in changes)
        if not (self.better or self.worse or self.other):
            yield "no difference"


def read_report(path: Path) -> Report:
    """Read a report, compressed or not.

    From an entry of a scoreboard, returns the run's own report. Raises UserError if the file is not
    a report.
    """
    report = read_json(path, LARGEST_DOCUMENT, HINT, "is not a report", packed=True)
    if isinstance(report, dict) and "posenc-scoreboard" in report:
        report = report.get("report")
    require_complete(report, str(path))
    return cast(Report, _shown(report))


def _shown(part: Any) -> Any:
    """Return a part of a report with its texts made printable, since anyone may have written it."""
    if isinstance(part, str):
        return printable(part, len(part))
    if isinstance(part, dict):
        return {printable(name, len(name)): _shown(value) for name, value in part.items()}
    if isinstance(part, list):
        return [_shown(value) for value in part]
    return part


def require_complete(report: object, where: str) -> None:
    """Raise UserError unless ``report`` is a complete report of this format."""
    if not isinstance(report, dict) or report.get("posenc-report") != FORMAT:
        raise UserError(f"{where} is not a report of format {FORMAT}", HINT)
    try:
        _validator()(report)
    except fastjsonschema.JsonSchemaValueException as error:
        field = in_line(".".join(map(str, error.path[1:]))) or "the whole"
        words = in_line(error.message.partition(" ")[2].partition("\n")[0])
        raise UserError(f"{where} is no whole report: {field} {words}", HINT) from None
    _require_counts(cast(Report, report), where)


def _require_counts(report: Report, where: str) -> None:
    """Raise UserError if the summary counts other checks than the report has."""
    found = Counter(check["verdict"] for check in report["checks"])
    summary = cast(Mapping[str, int], report["summary"])
    for name in VERDICTS:
        if summary[name] != found[name]:
            words = f"its summary has {summary[name]} {name} checks, and {found[name]} are in it"
            raise UserError(f"{where} was changed: {words}", HINT)


@lru_cache(maxsize=1)
def _validator() -> Callable[[object], object]:
    schema = Path(__file__).with_name("report.schema.json").read_text(encoding="utf-8")
    validate: Callable[[object], object] = fastjsonschema.compile(json.loads(schema))
    return validate


def difference(before: Report, after: Report) -> Difference:
    """Compare two reports, check by check and row by row of the scorecard.

    A check that passes now is better if it failed, was blocked or let bad input pass before; the
    reverse is worse, and so is a passed check that is no longer claimed or selected. A later run
    that did not finish is worse.
    """
    changes: dict[str, list[str]] = {"better": [], "worse": [], "other": []}
    for kind, which, report in (("other", "earlier", before), ("worse", "later", after)):
        if reason := report.get("interrupted"):
            changes[kind].append(f"the {which} run did not finish: {in_line(reason)}")
    old, new = _by_id(before), _by_id(after)
    for id in dict.fromkeys([*old, *new]):
        kind, line = _check(id, old.get(id), new.get(id))
        if kind:
            changes[kind].append(line)
    for kind, line in _horizons(before, after):
        changes[kind].append(line)
    return Difference(tuple(changes["better"]), tuple(changes["worse"]), tuple(changes["other"]))


def _by_id(report: Report) -> Checks:
    return {check["id"]: check for check in report["checks"]}


def _check(id: str, old: CheckEntry | None, new: CheckEntry | None) -> tuple[str, str]:
    was, now = (entry["verdict"] if entry else "absent" for entry in (old, new))
    if was != now:
        return _change(was, now), f"{in_line(id)}: {was}, now {now}{_why(new)}"
    if old is None or new is None or was != "passed":
        return "", ""
    before, after = (_worst(entry) for entry in (old, new))
    ratio = after / before if before and before != after else 1
    if ratio > MUCH or (0 < ratio < 1 / MUCH):
        kind = "worse" if ratio > 1 else "better"
        return kind, f"{in_line(id)}: worst error {before:.2g} of its bound, now {after:.2g}"
    return "", ""


def _worst(check: CheckEntry) -> float:
    """Return the worst error of a check; infinite for a number too large, in an edited report."""
    try:
        return float(check["worst"] or 0) if check["worst"] != "infinite" else math.inf
    except OverflowError:
        return math.inf


def _change(was: str, now: str) -> str:
    if now == "passed":
        return "better"
    if now in BAD or (was == "passed" and now == "absent"):
        return "worse"
    return "better" if was in BAD else "other"


def _why(check: CheckEntry | None) -> str:
    if check is None or not check["explanations"]:
        return ""
    deviation, words = check["explanations"][0]
    return f" ({in_line(words)} [{in_line(deviation)}])"


def _horizons(before: Report, after: Report) -> Iterator[tuple[str, str]]:
    def reach(report: Report) -> dict[str, int]:
        return {
            in_line(f"{row['scheme']} {row['call']} {row['combination']} {row['dtype']}"): int(
                row["horizon"]
            )
            for row in report["rows"]
            if row["horizon"] is not None
        }

    old, new = reach(before), reach(after)
    for row in old:
        if row in new and old[row] != new[row]:
            kind = "better" if new[row] > old[row] else "worse"
            yield kind, f"{row}: precision horizon {in_line(old[row])}, now {in_line(new[row])}"
