"""Known failures: checks that an implementation is known to fail, each with its reason.

Strict in both directions: what is not in the file fails the run, and so does what no longer fails.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from posenc_conformance.errors import UserError

MARK = "posenc-known-failures"
FORMAT = 1
HINT = "an entry is {id: ..., reason: ..., link: ...}, the link optional; ids are those of a run"


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


def write(report: Path, path: Path) -> int:
    """Write the failures of a report as known failures; their number.

    The first line of each explanation stands for the reason, to be replaced by a better one.

    Raises UserError if the report cannot be read or the file exists.
    """
    try:
        checks = json.loads(report.read_text(encoding="utf-8"))["checks"]
        failed = [check for check in checks if check["verdict"] == "failed"]
        entries = [{"id": check["id"], "reason": _reason(check)} for check in failed]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{report} is no report: {error}", "write one with --posenc-report"
        ) from None
    if path.exists():
        raise UserError(f"{path} exists", "give another name, or move it out of the way")
    draft = path.with_name(path.name + ".part")
    text = yaml.safe_dump({MARK: FORMAT, "failures": entries}, sort_keys=False, width=100)
    draft.write_text(text, encoding="utf-8")
    os.replace(draft, path)
    return len(entries)


def _reason(check: Mapping[str, Any]) -> str:
    explanations: Sequence[Sequence[str]] = check["explanations"]
    if explanations:
        return explanations[0][1]
    return str(check["message"]).splitlines()[0]
