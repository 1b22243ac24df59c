"""What a GGUF file means to its loader, also if tables that divide frequencies are wrong."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from posenc_conformance.errors import UserError
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.models.configuration import Configuration
from posenc_conformance.models.derive import meaning
from posenc_conformance.models.gguf import Said, read_gguf, understood
from posenc_conformance.models.keys.of_gguf import FREQUENCIES, LONG, SHORT
from posenc_conformance.models.loader import KEY_LENGTH, TYPE, WIDTH, divided
from posenc_conformance.models.meaning import Meaning
from posenc_conformance.models.metadata import ORIGINAL

LIST_MISSING = "list-missing"
WITHOUT_ORIGINAL = ("none", "linear")
"""Types of scaling for which the loader does not read the original context length."""
Flaw = tuple[str, str]
"""The id of a difference, and its text."""


@dataclass(frozen=True)
class Loaded:
    """A GGUF file as its loader reads it."""

    config: Configuration
    meaning: Meaning
    divisors: Floats | None = None
    """A table that divides frequencies and belongs to no known scaling."""
    flaws: tuple[Flaw, ...] = ()
    """What is wrong with tables; ones are in the place of such a table in ``meaning``."""
    own: Mapping[str, object] = field(default_factory=dict)
    """The keys of its architecture, without that prefix."""


def load(path: Path) -> Loaded:
    """Derive what a file means.

    Raises UserError for a file that is not understood.
    """
    said = read_gguf(path)
    pairs = _pairs(said)
    flaws = (*_flaws(said.tables, pairs),)
    sound = replace(said, tables=_with_ones(said.tables, pairs))
    first: UserError | None = None
    for attempt, divisors in _attempts(sound):
        try:
            config = understood(attempt, str(path))
            return Loaded(config, meaning(config), divisors, flaws, _own(said))
        except UserError as error:
            first = first or error
    assert first is not None
    raise first


def _attempts(said: Said) -> Iterator[tuple[Said, Floats | None]]:
    """Yield what a file may say, first all of it.

    Then without what its loader does not read; and without a table that belongs to no known
    scaling, which is compared number by number.
    """
    bare = replace(said, metadata=_without_idle(said.metadata))
    yield said, None
    yield bare, None
    if FREQUENCIES in said.tables:
        others = {name: table for name, table in said.tables.items() if name != FREQUENCIES}
        yield replace(bare, tables=others), np.array(said.tables[FREQUENCIES])


def _without_idle(metadata: Mapping[str, object]) -> dict[str, object]:
    """Return metadata without an original context length that is left over from other scaling."""
    prefix = metadata.get("general.architecture")
    kind = metadata.get(f"{prefix}.{TYPE}", "none")
    left = f"{prefix}.{ORIGINAL}" if kind in WITHOUT_ORIGINAL else None
    return {key: value for key, value in metadata.items() if key != left}


def _own(said: Said) -> dict[str, object]:
    prefix = f"{said.metadata.get('general.architecture')}."
    return {key.removeprefix(prefix): value for key, value in said.metadata.items()}


def _pairs(said: Said) -> int | None:
    """Return the number of pairs that turn; None if the file does not say it."""
    own = _own(said)
    width = own.get(WIDTH, own.get(KEY_LENGTH, divided(own)))
    return width // 2 if type(width) is int else None


def _flaws(tables: Mapping[str, Sequence[float]], pairs: int | None) -> Iterator[Flaw]:
    for name, table in tables.items():
        if flaw := _flaw(name, table, pairs):
            yield flaw
    if (LONG in tables) != (SHORT in tables):
        lost, span = (LONG, "long") if SHORT in tables else (SHORT, "short")
        yield LIST_MISSING, f"{lost} is missing: {span} texts are turned as if nothing were scaled"


def _flaw(name: str, table: Sequence[float], pairs: int | None) -> Flaw | None:
    """Describe a table that divides nothing sensibly."""
    if pairs is not None and len(table) != pairs:
        return "divisors-of-another-count", f"{name} has {len(table)} numbers for {pairs} pairs"
    for pair, number in enumerate(table):
        if not math.isfinite(number):
            return "divisors-not-finite", f"{name} has {number} for pair {pair}"
        if number <= 0:
            return "divisors-not-positive", f"{name} has {number:g} for pair {pair}"
    return None


def _with_ones(tables: Mapping[str, list[float]], pairs: int | None) -> Mapping[str, list[float]]:
    """Return tables with ones in the place of wrong ones, and of a list that is missing."""
    made = {
        name: [1.0] * (pairs or len(table)) if _flaw(name, table, pairs) else table
        for name, table in tables.items()
    }
    for name, other in ((LONG, SHORT), (SHORT, LONG)):
        if name in tables and other not in tables:
            made[other] = [1.0] * len(made[name])
    return {name: made[name] for name in (FREQUENCIES, LONG, SHORT) if name in made}
