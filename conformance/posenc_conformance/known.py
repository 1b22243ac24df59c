"""Known failures: checks that an implementation is known to fail, each with its reason.

Strict in both directions: what is not in the file fails the run, and so does what no longer fails.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from posenc_conformance import difference
from posenc_conformance.errors import UserError

MARK = "posenc-known-failures"
FORMAT = 1
HINT = "an entry is {id: ..., reason: ..., link: ...}, the link optional; ids are those of a run"
UNSAID = "say why: "
"""Begins a drafted reason that somebody has to replace."""


@dataclass(frozen=True)
class Known:
    """Why a check is known to fail, and where that is discussed."""

    reason: str
    link: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.link})" if self.link else self.reason


def load(path: Path, claimed: Iterable[str]) -> dict[str, Known]:
    """Known failures by id.

    Raises UserError for a file that cannot be read, an entry without a reason, an id given twice,
    and an id that no claim of the implementation calls for.
    """
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UserError(f"{path} cannot be read: {error}", HINT) from None
    if not isinstance(raw, dict) or raw.get(MARK) != FORMAT:
        raise UserError(f"{path} does not begin with '{MARK}: {FORMAT}'", HINT)
    entries = raw.get("failures")
    if not isinstance(entries, list):
        raise UserError(f"{path}: failures is no list", HINT)
    known: dict[str, Known] = {}
    ids = set(claimed)
    for place, entry in enumerate(entries):
        id, found = _entry(f"{path}: failures.{place}", entry)
        if id in known:
            raise UserError(f"{path}: failures.{place}: {id} is given twice", "drop one of them")
        if id not in ids:
            raise UserError(
                f"{path}: failures.{place}: {id} is no check that the implementation claims",
                "correct the id, or drop the entry",
            )
        known[id] = found
    return known


def _entry(where: str, entry: Any) -> tuple[str, Known]:
    if not isinstance(entry, Mapping) or not set(entry) <= {"id", "reason", "link"}:
        raise UserError(f"{where} is not an entry", HINT)
    id, reason, link = (entry.get(key, "") for key in ("id", "reason", "link"))
    if not all(isinstance(text, str) for text in (id, reason, link)) or not (id and reason):
        raise UserError(f"{where} has no id or no reason", HINT)
    return id, Known(reason, link)


def write(report: Path, path: Path) -> tuple[int, int]:
    """Write the failures of a report as known failures; numbers of failures and of entries.

    Failures of one cause share an entry. A known deviation is reason enough; where there is none,
    the drafted reason has to be replaced before the file can be used.

    Raises UserError if the report cannot be read, or the file exists or cannot be written.
    """
    ids: dict[str, list[str]] = {}
    for check in difference.load(report)["checks"]:
        if check["verdict"] == "failed":
            ids.setdefault(_reason(check), []).append(check["id"])
    entries: list[dict[str, Any]] = [
        {"id": some[0], "reason": reason} if len(some) == 1 else {"ids": some, "reason": reason}
        for reason, some in ids.items()
    ]
    text = yaml.safe_dump(
        {MARK: FORMAT, "failures": entries}, sort_keys=False, width=100, allow_unicode=True
    )
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UserError(f"{path} exists", "give another name, or move it out of the way") from None
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error}", "give another name") from None
    return sum(map(len, ids.values())), len(ids)


def _reason(check: Mapping[str, Any]) -> str:
    """The deviation that explains a failure; else what was seen, to be explained by somebody."""
    if check["explanations"]:
        deviation, words = check["explanations"][0]
        return f"{words} [{deviation}]"
    first, *others = str(check["message"]).splitlines() or [""]
    patterns = (line for line in others if line.startswith("pattern "))
    looks = next(patterns, "").removeprefix("pattern ").strip()
    return UNSAID + (looks or first.partition(": ")[2] or "values are wrong")
