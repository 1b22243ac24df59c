"""What got better and what got worse between two reports."""

import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import fastjsonschema

from posenc_conformance.errors import UserError
from posenc_conformance.report.document import FORMAT

HINT = "write one with --posenc-report"
BAD = ("failed", "blocked", "silent")
GZIP = b"\x1f\x8b"
MUCH = 2.0
"""A change of the worst error by less than this factor is noise of sizes drawn and libraries."""

Checks = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Difference:
    """Lines that tell of changes; worse if any of them is for the worse."""

    better: tuple[str, ...]
    worse: tuple[str, ...]
    other: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """The worst first."""
        for title, some in (
            ("worse", self.worse),
            ("better", self.better),
            ("changed", self.other),
        ):
            if some:
                yield f"{title}: {len(some)}"
                yield from (f"  {line}" for line in some)
        if not (self.better or self.worse or self.other):
            yield "no difference"


def read_report(path: Path) -> Mapping[str, Any]:
    """A report, compressed or not; of one that a scoreboard keeps, what the run wrote.

    Raises UserError if the file is not a report.
    """
    try:
        packed = path.read_bytes()
        text = gzip.decompress(packed) if packed[:2] == GZIP else packed
        report = json.loads(text.decode("utf-8"))
    except RecursionError:
        raise UserError(f"{path} is no report: it is nested too deeply", HINT) from None
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise UserError(f"{path} is no report: {error}", HINT) from None
    if isinstance(report, dict) and "posenc-scoreboard" in report:
        report = report.get("report")
    demand_whole(report, str(path))
    found: Mapping[str, Any] = report
    return found


def demand_whole(report: object, where: str) -> None:
    """Raises UserError for what is no report of this format, or only a part of one."""
    if not isinstance(report, dict) or report.get("posenc-report") != FORMAT:
        raise UserError(f"{where} is no report of format {FORMAT}", HINT)
    try:
        _validator()(report)
    except fastjsonschema.JsonSchemaValueException as error:
        field = ".".join(map(str, error.path[1:])) or "the whole"
        words = error.message.partition(" ")[2].partition("\n")[0]
        raise UserError(f"{where} is no whole report: {field} {words[:200]}", HINT) from None


@lru_cache(maxsize=1)
def _validator() -> Callable[[Any], Any]:
    schema = Path(__file__).with_name("report.schema.json").read_text(encoding="utf-8")
    validate: Callable[[Any], Any] = fastjsonschema.compile(json.loads(schema))
    return validate


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> Difference:
    """Compare two reports, check by check and row by row of the scorecard.

    A check that failed, was blocked or let bad input pass, and passes now, is better; the reverse
    is worse, and so is one that passed and is not claimed or selected any more.
    """
    found: dict[str, list[str]] = {"better": [], "worse": [], "other": []}
    old, new = _by_id(before), _by_id(after)
    for id in dict.fromkeys([*old, *new]):
        kind, line = _check(id, old.get(id), new.get(id))
        if kind:
            found[kind].append(line)
    for kind, line in _horizons(before, after):
        found[kind].append(line)
    return Difference(tuple(found["better"]), tuple(found["worse"]), tuple(found["other"]))


def _by_id(report: Mapping[str, Any]) -> Checks:
    return {check["id"]: check for check in report["checks"]}


def _check(
    id: str, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None
) -> tuple[str, str]:
    was, now = (found["verdict"] if found else "absent" for found in (old, new))
    if was != now:
        return _change(was, now), f"{id}: {was}, now {now}{_why(new)}"
    if old is None or new is None or was != "passed":
        return "", ""
    # A check that passed has no infinite error; the schema alone would allow one.
    before, after = (float(str(found["worst"] or 0)) for found in (old, new))
    ratio = after / before if before else 1
    if ratio > MUCH or (0 < ratio < 1 / MUCH):
        kind = "worse" if ratio > 1 else "better"
        return kind, f"{id}: worst error {before:.2g} of its bound, now {after:.2g}"
    return "", ""


def _change(was: str, now: str) -> str:
    if now == "passed":
        return "better"
    if now in BAD or (was == "passed" and now == "absent"):
        return "worse"
    return "better" if was in BAD else "other"


def _why(check: Mapping[str, Any] | None) -> str:
    if check is None or not check["explanations"]:
        return ""
    deviation, words = check["explanations"][0]
    return f" ({words} [{deviation}])"


def _horizons(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    def reach(report: Mapping[str, Any]) -> dict[str, int]:
        names = ("scheme", "call", "combination", "dtype")
        rows = [row for row in report["rows"] if row["horizon"] is not None]
        return {" ".join(row[name] for name in names): row["horizon"] for row in rows}

    old, new = reach(before), reach(after)
    for row in old:
        if row in new and old[row] != new[row]:
            kind = "better" if new[row] > old[row] else "worse"
            yield kind, f"{row}: precision horizon {old[row]}, now {new[row]}"
