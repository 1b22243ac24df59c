"""Known failures: checks that an implementation is known to fail, each with its reason.

Strict in both directions: an unlisted failure fails the run, and so does a listed check that no
longer fails.
"""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from posenc_conformance.door import read_text
from posenc_conformance.errors import UserError, in_line, printable
from posenc_conformance.files import Writer, shown
from posenc_conformance.report import difference
from posenc_conformance.report.layout import Report
from posenc_conformance.report.machine import applies
from posenc_conformance.scheme_file.strict_yaml import load_yaml

MARK = "posenc-known-failures"
FORMAT = 1
HINT = (
    "write an entry as {id: …, reason: …}, or use ids: […] for several; * in an id stands "
    "for any text; link and when are optional; copy ids from the output of a run"
)
UNSAID = "say why: "
"""The beginning of a drafted reason, which has to be replaced."""
DRAFTED = "draft: "
"""The beginning of a drafted reason that may stay, once somebody has read and accepted it."""


@dataclass(frozen=True)
class KnownFailure:
    """Why a check is known to fail, and where that is discussed."""

    reason: str
    link: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.link})" if self.link else self.reason


@dataclass(frozen=True)
class Entry:
    """One entry of the file: which checks, why, and on which machines."""

    patterns: tuple[str, ...]
    known: KnownFailure
    applies: bool


def read_known(path: Path, ids_of: Callable[[str], Sequence[str]]) -> dict[str, KnownFailure]:
    """Read the known failures that apply on this machine, by check id.

    ``ids_of`` returns the ids of a scheme file's claimed checks. Raises UserError for a file that
    cannot be read, an entry without a reason, an id given twice, and an id that no claim calls for.
    """
    failures: dict[str, KnownFailure] = {}
    seen: set[str] = set()
    all_ids = cache(lambda name: dict.fromkeys(ids_of(name)))
    for place, raw in enumerate(_entries(path)):
        where = f"{path}: failures.{place}"
        entry = _entry(where, raw)
        for pattern in entry.patterns:
            ids = _matching(pattern, all_ids(pattern.partition("::")[0]))
            if not ids:
                raise UserError(
                    f"{where}: {in_line(pattern)} matches no check of what the "
                    "implementation claims",
                    "correct the id, or drop the entry",
                )
            if twice := seen & {*ids}:
                raise UserError(
                    f"{where}: {in_line(min(twice))} is given twice", "drop one of them"
                )
            seen |= {*ids}
            failures |= dict.fromkeys(ids, entry.known) if entry.applies else {}
    return failures


def _entries(path: Path) -> list[object]:
    if not os.path.lexists(path):
        raise UserError(
            f"the file of known failures {shown(path)} does not exist",
            f"write it with 'posenc known REPORT {shown(path)}', from what --posenc-report wrote; "
            "or leave out --posenc-known, or known in [tool.posenc]",
        )
    raw = load_yaml(path, read_text(path, HINT), HINT)
    if not isinstance(raw, dict) or raw.get(MARK) is True or raw.get(MARK) != FORMAT:
        raise UserError(f"{path} does not begin with '{MARK}: {FORMAT}'", HINT)
    entries = raw.get("failures")
    if not isinstance(entries, list):
        raise UserError(f"{path}: failures is no list", HINT)
    return entries


def _matching(pattern: str, ids: Collection[str]) -> list[str]:
    """Return the ids that match a pattern, in which * matches any text."""
    if "*" not in pattern:
        return [pattern] if pattern in ids else []
    return [id for id in ids if _matches(pattern, id)]


def _matches(pattern: str, id: str) -> bool:
    """Return whether an id matches a pattern, without backtracking however many stars it has."""
    first, *inner, last = pattern.split("*")
    if not id.startswith(first):
        return False
    place = len(first)
    for part in inner:
        place = id.find(part, place)
        if place < 0:
            return False
        place += len(part)
    return id.endswith(last) and len(id) - len(last) >= place


def _entry(where: str, entry: object) -> Entry:
    allowed = {"id", "ids", "reason", "link", "when"}
    if not isinstance(entry, Mapping) or not set(entry) <= allowed:
        raise UserError(f"{where} is not an entry", HINT)
    patterns = entry.get("ids", [entry["id"]] if "id" in entry else [])
    if not isinstance(patterns, list) or ("id" in entry and "ids" in entry):
        raise UserError(f"{where} needs either one id, or ids as a list", HINT)
    reason, link = (entry.get(key, "") for key in ("reason", "link"))
    texts = [*patterns, reason, link]
    if not all(isinstance(text, str) for text in texts) or not all([patterns, *patterns, reason]):
        raise UserError(f"{where} needs an id and a reason, each as text", HINT)
    if not reason.removeprefix(DRAFTED.strip()).strip() or _is_unsaid(reason):
        raise UserError(
            f"{where} has no reason yet: {in_line(repr(reason))}", "say why this is accepted"
        )
    failure = KnownFailure(printable(" ".join(reason.split())), in_line(link))
    return Entry(tuple(patterns), failure, applies(where, entry.get("when", {})))


@dataclass(frozen=True)
class Written:
    """The counts for a file of known failures that was written."""

    failures: int
    entries: int
    unsaid: int
    """The number of entries whose reason has to be replaced."""
    drafted: int
    """The number of entries whose reason names a mistake, and has to be read."""

    def words(self) -> Iterator[str]:
        """Yield the counts, and lines on what is left to do."""
        failures = f"{self.failures} failure{'s' * (self.failures != 1)}"
        yield f"{failures} in {self.entries} {'entry' if self.entries == 1 else 'entries'}"
        if self.unsaid:
            yield f"replace every reason that begins with {UNSAID!r} with your own"
        if self.drafted:
            yield (
                f"read every reason that begins with {DRAFTED!r}, and take the word away if you "
                "accept it; until then every run says that no one has"
            )


def write(report: Path, path: Path, *, force: bool = False) -> Written:
    """Write the failures of a report as known failures.

    Failures of one cause share an entry. A known deviation becomes the draft of its reason, of
    which every run tells until somebody accepts it; any other drafted reason has to be replaced
    before the file can be used.

    Raises UserError if the report cannot be read, the file cannot be written, or it exists, unless
    ``force`` is given.
    """
    ids: dict[str, list[str]] = {}
    for check in difference.read_report(report)["checks"]:
        if check["verdict"] == "failed":
            ids.setdefault(_reason(check), []).append(check["id"])
    entries: list[dict[str, Any]] = [
        {"id": group[0], "reason": reason} if len(group) == 1 else {"ids": group, "reason": reason}
        for reason, group in ids.items()
    ]
    text = yaml.safe_dump(
        {MARK: FORMAT, "failures": entries}, sort_keys=False, width=100, allow_unicode=True
    )
    Writer(force=force).write({path: text})
    unsaid, drafted = (sum(map(beginning, ids)) for beginning in (_is_unsaid, _is_drafted))
    return Written(sum(map(len, ids.values())), len(ids), unsaid, drafted)


def drafts(report: Report) -> Iterator[str]:
    """Yield a line on the drafted reasons for which a report takes failures as known."""
    known = [check["message"] for check in report["checks"] if check["verdict"] == "known"]
    drafted = [message for message in known if _is_drafted(message)]
    if drafted:
        many = f"{len(drafted)} of {len(known)} known failures"
        yield (
            f"known only by drafts: {many}; no one has accepted the reasons that posenc known "
            f"wrote. Read each, and take {DRAFTED.strip()!r} away from it or write your own"
        )


def _is_unsaid(reason: str) -> bool:
    return reason.startswith(UNSAID)


def _is_drafted(reason: str) -> bool:
    return reason.startswith(DRAFTED)


def _reason(check: Mapping[str, Any]) -> str:
    """Return the deviation that explains a failure, or else a draft with the symptom."""
    if check["explanations"]:
        deviation, words = check["explanations"][0]
        return f"{DRAFTED}{words} [{deviation}]"
    first, *others = str(check["message"]).splitlines() or [""]
    patterns = (line for line in others if line.startswith("pattern "))
    looks = next(patterns, "").removeprefix("pattern ").strip()
    return UNSAID + (looks or first.partition(": ")[2] or "values are wrong")
