"""Orders of rows that converters make, and which of them a projection has."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from posenc_conformance.commands.compare.projections import Heads
from posenc_conformance.judge.arrays import Floats, Ints

AS_WAS = "as they were"
NEIGHBOURS = "halves to neighbours"
HALVES = "neighbours to halves"
TWICE = "halves to neighbours, twice"
BACK_TWICE = "neighbours to halves, twice"
EXCHANGED = "the two halves exchanged"
REVERSED = "reversed"
FIRST = 64
"""Rows that are tried before all others are."""
LEAST = 1e-3
"""Least length of a row, as a share of the usual one, that its error is compared with."""


def expected_order(before: str, after: str) -> str:
    """Return the order that brings rows from one layout to another."""
    if before == after:
        return AS_WAS
    return NEIGHBOURS if after == "interleaved" else HALVES


def orders(size: int, offset: int, turned: int) -> dict[str, Ints]:
    """Return the orders of a head's rows by name: row i of the result is row ``order[i]``."""
    same = np.arange(size)
    made = {AS_WAS: same}
    for name, inner in _of_rotated(turned).items():
        order = same.copy()
        order[offset : offset + turned] = offset + inner
        made[name] = order
    if turned < size and not size % 2:
        for name, inner in _of_rotated(size).items():
            made[f"{name}, in whole heads of {size}"] = inner
    return made


def _of_rotated(count: int) -> dict[str, Ints]:
    if count < 2 or count % 2:
        return {}
    channels = np.arange(count)
    to_neighbours = channels.reshape(2, -1).T.ravel()
    to_halves = channels.reshape(-1, 2).T.ravel()
    return {
        NEIGHBOURS: to_neighbours,
        HALVES: to_halves,
        TWICE: to_neighbours[to_neighbours],
        BACK_TWICE: to_halves[to_halves],
        EXCHANGED: np.roll(channels, count // 2),
        REVERSED: channels[::-1].copy(),
    }


def whole(order: Ints, count: int) -> Ints:
    """Return the order of all rows of ``count`` heads that have this order each."""
    return (np.arange(count)[:, None] * len(order) + order).ravel()


@dataclass(frozen=True)
class Fit:
    """How far rows are from what they should be, row by row and together."""

    rows: Floats
    residual: float

    def within(self, bound: float) -> bool:
        """Return whether rounding explains all differences."""
        return bool(np.all(self.rows <= bound))


def fit(right: Floats, got: Floats) -> Fit:
    """Compare rows; errors are relative to the length of the right row.

    A row far shorter than usual is compared with the usual length, as is a single number.
    """
    lengths = np.linalg.norm(right, axis=1)
    usual = float(np.sqrt(np.mean(lengths**2)))
    least = usual * (1.0 if right.shape[1] == 1 else LEAST)
    distances = np.linalg.norm(got - right, axis=1)
    scale = np.maximum(lengths, least)
    rows = np.divide(distances, scale, out=np.where(distances > 0, np.inf, 0.0), where=scale > 0)
    together = float(np.linalg.norm(distances))
    return Fit(rows, together / (usual * np.sqrt(len(right))) if usual else float(rows.max()))


def fits(right: Floats, got: Floats, order: Ints, bound: float) -> bool:
    """Return whether rows have an order; most that do not are known by the first rows."""
    first = slice(FIRST)
    if not fit(right[order[first]], got[first]).within(bound):
        return False
    return fit(right[order], got).within(bound)


def order_of_heads(right: Floats, got: Floats, heads: Heads, bound: float) -> list[str | None]:
    """Name the order of each head's rows; None for a head that has no known one."""
    known = orders(heads.size, heads.offset, heads.rotated)
    names: list[str | None] = []
    for head in range(len(right) // heads.size):
        part = slice(head * heads.size, (head + 1) * heads.size)
        best = _closest(right[part], got[part], known, bound)
        names.append(best)
    return names


def _closest(right: Floats, got: Floats, known: Mapping[str, Ints], bound: float) -> str | None:
    fits = {name: fit(right[order], got) for name, order in known.items()}
    name = min(fits, key=lambda name: fits[name].residual)
    return name if fits[name].within(bound) else None


def other_head_counts(rows: int, own: int) -> Iterator[tuple[str, int, Ints]]:
    """Yield the order of rows that results from another number of heads, with that number."""
    for count in range(1, rows // 2 + 1):
        if count != own and rows % (2 * count) == 0:
            for name, order in _of_rotated(rows // count).items():
                if name in (NEIGHBOURS, HALVES):
                    yield name, count, whole(order, count)


def partners(candidates: Floats, got: Floats, bound: float) -> Ints | None:
    """Return for each row the candidate that it is; None if some row is none of them."""
    if len(got) > FIRST and partners(candidates, got[:FIRST], bound) is None:
        return None
    squares = np.sum(candidates**2, axis=1)
    distances = squares[None] - 2 * got @ candidates.T + np.sum(got**2, axis=1)[:, None]
    nearest = np.argmin(distances, axis=1)
    is_same = fit(candidates[nearest], got).within(max(bound, LEAST))
    return np.asarray(nearest, dtype=np.int64) if is_same else None
