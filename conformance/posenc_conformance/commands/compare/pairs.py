"""The same projection in both files, and the words for orders of rows."""

from dataclasses import dataclass

import numpy as np

from posenc_conformance.commands.compare.findings import Finding
from posenc_conformance.commands.compare.projections import Heads
from posenc_conformance.commands.compare.row_order import (
    AS_WAS,
    BACK_TWICE,
    EXCHANGED,
    HALVES,
    NEIGHBOURS,
    REVERSED,
    TWICE,
    Fit,
    orders,
    whole,
)
from posenc_conformance.commands.compare.stored import UNRELATED
from posenc_conformance.judge.arrays import Floats, Ints

SAID = {
    AS_WAS: "in the order that they had",
    NEIGHBOURS: "permuted, halves to neighbours",
    HALVES: "permuted, neighbours to halves",
    TWICE: "permuted twice, halves to neighbours",
    BACK_TWICE: "permuted twice, neighbours to halves",
    EXCHANGED: "with the two halves of each head exchanged",
    REVERSED: "with the channels of each head reversed",
}
"""Orders of rows, for people."""
ROUNDED = 1e-6
"""Numbers that are closer than this differ by the last bits of float32."""


@dataclass(frozen=True)
class Pair:
    """The same projection of the same layer in both files."""

    role: str
    number: int
    original: Heads
    converted: Heads
    needed: str
    """The order of rows that the converted file's code needs."""

    @property
    def bound(self) -> float:
        """The largest residual that rounding explains."""
        both = self.original.stored.bound + self.converted.stored.bound
        return min(UNRELATED, both + ROUNDED)

    @property
    def kind(self) -> str:
        """How the numbers of the coarser file are stored."""
        both = (self.original.stored, self.converted.stored)
        return max(both, key=lambda stored: stored.bound).kind

    @property
    def order(self) -> Ints:
        """The right row for each row of the converted file."""
        heads = self.original
        known = orders(heads.size, heads.offset, heads.rotated)
        return whole(known.get(self.needed, known[AS_WAS]), len(heads.rows) // heads.size)

    def finding(self, id: str, text: str, measured: Fit | None = None) -> Finding:
        """Make a finding about this projection."""
        residual = measured.residual if measured else None
        bound = self.bound if measured else None
        kinds = (self.kind,) if measured else ()
        return Finding(id, "rows", (self.role,), text, (self.number,), residual, bound, kinds)


def column(heads: Heads) -> Floats:
    """Read all numbers of a vector, also of one that is stored by heads."""
    return np.ravel(heads.stored.read())[:, None]


def are_finite(*parts: Floats) -> bool:
    """Return whether no number is NaN or infinite."""
    return all(bool(np.all(np.isfinite(part))) for part in parts)
