"""Mistakes of engines, each confirmed in the engine's own code."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from posenc_conformance.errors import UserError
from scoreboard.deployed.engines import FOLDER
from scoreboard.deployed.kept import REFUSED, WRONG, Cell, Mistake

HINT = "the comment at its top says what a finding holds"
LISTS = ("engines", "cells", "mistakes")
TEXTS = ("id", "title", "means", "source", "since", "probe", "reproduce", "expected", "got")


@dataclass(frozen=True)
class Finding:
    """A mistake of an engine, and how to reproduce it with only the engine and a probe."""

    id: str
    engines: tuple[str, ...]
    cells: tuple[str, ...]
    """Patterns of model/spelling for the cells that show it; * matches anything. Empty if no cell
    of the table does."""
    mistakes: tuple[str, ...]
    """The kit's names for it; empty if the engine refuses the model."""
    title: str
    means: str
    """Its effect on a model."""
    source: str
    """File and lines of the installed engine."""
    since: str
    """The releases that show it."""
    probe: str
    """The probe that the reproduction needs, as arguments of posenc probe."""
    reproduce: str
    """Python for the engine's environment."""
    expected: str
    got: str

    def explains(self, engine: str, cell: Cell, mistake: Mistake) -> bool:
        """Return whether this finding explains a mistake in a cell."""
        return mistake.id in self.mistakes and self.shown_by(engine, cell)

    def shown_by(self, engine: str, cell: Cell) -> bool:
        """Return whether a cell shows this finding."""
        name = f"{cell.model}/{cell.spelling}"
        wrong = cell.verdict in (WRONG, REFUSED)
        return wrong and engine in self.engines and any(fnmatchcase(name, p) for p in self.cells)


@cache
def findings(path: Path = FOLDER / "findings.yaml") -> tuple[Finding, ...]:
    """Read all findings.

    Raises UserError for an incomplete finding.
    """
    raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    return tuple(
        _finding(f"{path.name}: findings.{n}", entry) for n, entry in enumerate(raw["findings"])
    )


def unexplained(engine: str, cell: Cell, found: Sequence[Finding]) -> list[Mistake]:
    """Return the mistakes of a cell that no finding explains."""
    return [
        mistake
        for mistake in cell.mistakes
        if not any(finding.explains(engine, cell, mistake) for finding in found)
    ]


def _finding(where: str, raw: Any) -> Finding:
    if not isinstance(raw, Mapping) or set(raw) != {*LISTS, *TEXTS}:
        present = set(raw) if isinstance(raw, Mapping) else set()
        wrong = ", ".join(sorted(present ^ {*LISTS, *TEXTS}))
        raise UserError(f"{where} must have exactly its fields; see {wrong}", HINT)
    for field, kind in [*((name, list) for name in LISTS), *((name, str) for name in TEXTS)]:
        if not isinstance(raw[field], kind) or not (raw[field] or kind is list):
            raise UserError(f"{where}.{field} is {raw[field]!r}", HINT)
    return Finding(**{**raw, **{field: tuple(raw[field]) for field in LISTS}})
