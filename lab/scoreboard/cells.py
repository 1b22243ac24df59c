"""The cells of the board: counts by scheme and dtype, and findings."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from posenc_conformance.errors import UserError
from scoreboard.kept import Kept
from scoreboard.table import FOLDER

ALL = "all"
SEVERITIES = {
    "numbers": "wrong numbers",
    "state": "wrong after other calls",
    "dtype": "wrong in a short dtype",
    "refuses": "refuses valid input",
    "answers": "accepts invalid input",
}
"""Severities of findings, the worst first."""
FIELDS = {
    "id": str,
    "adapters": list,
    "title": str,
    "severity": str,
    "checks": list,
    "means": str,
    "since": str,
    "reproduce": str,
    "expected": str,
    "got": str,
    "reference": str,
}
OPTIONAL = "disputed"
HINT = "the comment at its top says what a finding holds"


@dataclass(frozen=True)
class Finding:
    """A mistake in a library, and how to reproduce it without this kit."""

    id: str
    adapters: tuple[str, ...]
    title: str
    severity: str
    checks: tuple[str, ...]
    """Patterns of the ids of checks that show it; * matches anything."""
    means: str
    """Its effect on a model."""
    since: str
    """The releases with and without it."""
    reproduce: str
    """Python code that needs only that library."""
    expected: str
    got: str
    reference: str
    disputed: str = ""
    """Who disputes it and where, while the dispute is open."""

    def shown_by(self, check: Mapping[str, Any]) -> bool:
        """Return whether a check failed because of this finding."""
        wrong = check["verdict"] in ("failed", "known")
        id = check["id"].replace("[", "(").replace("]", ")")  # fnmatch reads brackets as patterns
        patterns = (listed.replace("[", "(").replace("]", ")") for listed in self.checks)
        return wrong and any(fnmatchcase(id, pattern) for pattern in patterns)


@dataclass(frozen=True)
class Counts:
    """A cell: the counts of a scheme, in one dtype or in all."""

    passed: int
    failed: int
    """Failures that neither a finding nor the file of known failures explains."""
    known: int
    horizon: int | None
    """The last position with accurate angles, the smallest over the scheme's claims."""


@cache
def findings(path: Path = FOLDER / "findings.yaml") -> tuple[Finding, ...]:
    """Read all findings, the worst first.

    Raises UserError for an incomplete finding.
    """
    raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    listed = [_finding(f"{path}: findings.{n}", entry) for n, entry in enumerate(raw["findings"])]
    return tuple(sorted(listed, key=lambda entry: list(SEVERITIES).index(entry.severity)))


def _finding(where: str, raw: Any) -> Finding:
    present = set(raw) if isinstance(raw, Mapping) else set()
    if present - {OPTIONAL} != set(FIELDS):
        wrong = sorted((present - {OPTIONAL}) ^ set(FIELDS))
        raise UserError(f"{where} must have exactly its fields; see {', '.join(wrong)}", HINT)
    required = {**FIELDS, **({OPTIONAL: str} if OPTIONAL in present else {})}
    for field, kind in required.items():
        if not isinstance(raw[field], kind) or not raw[field]:
            raise UserError(f"{where}.{field} is {raw[field]!r}", HINT)
    if raw["severity"] not in SEVERITIES:
        severities = ", ".join(SEVERITIES)
        raise UserError(f"{where}.severity is {raw['severity']!r}", f"it is one of {severities}")
    texts = {field: raw[field] for field, kind in required.items() if kind is str}
    return Finding(adapters=tuple(raw["adapters"]), checks=tuple(raw["checks"]), **texts)


def cells(kept: Kept, found: Sequence[Finding]) -> dict[str, dict[str, Counts]]:
    """Count checks by scheme and dtype; ``all`` includes checks about several dtypes.

    Schemes without a verdict have no cell.
    """
    mine = [finding for finding in found if kept.adapter.name in finding.adapters]
    grouped: dict[str, dict[str, list[Mapping[str, Any]]]] = {}
    for check in kept.report["checks"]:
        by_dtype = grouped.setdefault(check["scheme"], {})
        for name in dict.fromkeys([ALL, check["dtype"] or ALL]):
            by_dtype.setdefault(name, []).append(check)
    return {
        scheme: {dtype: _counts(checks, mine) for dtype, checks in by_dtype.items()}
        for scheme, by_dtype in grouped.items()
        if any(check["verdict"] in ("passed", "failed", "known") for check in by_dtype[ALL])
    }


def _counts(checks: Iterable[Mapping[str, Any]], mine: Sequence[Finding]) -> Counts:
    numbers = {"passed": 0, "failed": 0, "known": 0}
    reaches = []
    for check in checks:
        verdict = check["verdict"]
        if verdict == "failed" and any(finding.shown_by(check) for finding in mine):
            verdict = "known"
        if verdict in numbers:
            numbers[verdict] += 1
        if check["horizon"] is not None:
            reaches.append(check["horizon"])
    return Counts(**numbers, horizon=min(reaches, default=None))
