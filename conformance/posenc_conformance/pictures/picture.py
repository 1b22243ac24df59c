"""The data of a picture: a map of cells, or lines. It travels with a failure, as plain JSON."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import inf, isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

MOST = 64
"""Most rows and most columns of a map."""
MOST_POINTS = 256
"""Most points of a line."""
LEVELS = "123456789abcdefghijklmnopqrstuvwxyz"
"""Characters for the level of a cell, lowest first."""
RIGHT, HIDDEN = ".", " "
"""Characters for a cell within its bound, and for one without a judged value."""
BOUND, VALUE = "bound", "value"
"""What levels measure: the error, or the value itself."""


@dataclass(frozen=True)
class Map:
    """Cells by row and column; a cell that covers several values has the largest of them."""

    title: str
    down: str
    across: str
    rows: tuple[str, ...]
    """One character for each cell: a level, RIGHT or HIDDEN."""
    ends_down: tuple[str, str]
    """Labels of the first and the last row."""
    ends_across: tuple[str, str]
    shape: tuple[int, int]
    """Numbers of rows and of columns before they were put together."""
    measure: str = BOUND
    """With BOUND, level n is an error of up to 2^(low + n) bounds, and the last one any larger."""
    low: float = 0.0
    high: float = 0.0
    """With VALUE, the values of the first and of the last level; with BOUND, low is whole."""
    group: str = ""
    """Name of the groups into which the rows fall; empty if there is only one."""
    groups: int = 1

    @property
    def note(self) -> str:
        """Say that a cell covers several values; empty if each covers one."""
        drawn = len(self.rows), len(self.rows[0])
        if drawn == self.shape:
            return ""
        return f"{self.shape[0]} × {self.shape[1]} values, each cell the largest of several"


@dataclass(frozen=True)
class Series:
    """A line or a row of points."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Lines:
    """Numbers over numbers."""

    title: str
    across: str
    up: str
    series: tuple[Series, ...]
    """The expected numbers first."""
    logarithmic: str = ""
    """The axes that are logarithmic: any of the letters x and y."""


Picture = Map | Lines


def to_plain(picture: Picture) -> dict[str, Any]:
    """Return a picture as plain data."""
    return asdict(picture)


def from_plain(plain: Mapping[str, Any]) -> Picture:
    """Make a picture from plain data that has the form of :func:`to_plain`."""
    fields = dict(plain)
    if "rows" in fields:
        width = max(map(len, fields["rows"]))  # somebody may have edited a report
        fields["rows"] = tuple(row.ljust(width) for row in fields["rows"])
        fields["low"], fields["high"] = to_number(fields["low"]), to_number(fields["high"])
        for name in ("ends_down", "ends_across", "shape"):
            fields[name] = (fields[name][0], fields[name][1])
        return Map(**fields)
    fields["series"] = tuple(
        Series(each["name"], tuple((to_number(x), to_number(y)) for x, y in each["points"]))
        for each in plain["series"]
    )
    return Lines(**fields)


def error_levels(ratio: Floats) -> tuple[npt.NDArray[np.int64], int]:
    """Return the level of each error, given in units of its bound: 0 for a right value.

    The second value is ``low``: level n is an error of up to 2^(low + n) bounds. It is the smallest
    number with which the last level holds the largest finite error; in float64 nearly all mistakes
    lie beyond 2^35 bounds.
    """
    exponent = np.ceil(np.log2(np.where(ratio > 1, ratio, 1.0)))
    low = max(int(np.max(exponent, initial=0, where=np.isfinite(exponent))) - len(LEVELS), 0)
    level = np.clip(exponent - low, 1, len(LEVELS))
    return np.where(ratio > 1, level, 0).astype(np.int64), low


def map_errors(
    title: str,
    ratio: Floats,
    judged: Flags,
    axes: tuple[str, str],
    labels: tuple[Sequence[Any], Sequence[Any]],
    group: str = "",
) -> Map:
    """Draw errors in units of their bound, [groups, rows, columns], as a map.

    A cell is right only if each judged value in it is right.
    """
    cells, known = _reduced(np.where(judged, ratio, 0.0), judged)
    levels, low = error_levels(cells)
    rows = _texts(np.where(levels == 0, -1, levels - 1), known)
    shape, groups = (ratio.shape[0] * ratio.shape[1], ratio.shape[2]), ratio.shape[0]
    ends = _ends(labels[0]), _ends(labels[1])
    return Map(title, *axes, rows, *ends, shape, BOUND, low, group=group, groups=_fitting(groups))


def map_values(
    title: str,
    values: Floats,
    axes: tuple[str, str],
    labels: tuple[Sequence[Any], Sequence[Any]],
    limits: tuple[float, float] | None = None,
) -> Map:
    """Draw values [rows, columns] as a map, from ``limits`` or the least to the largest."""
    known = np.isfinite(values)
    low, high = limits or limits_of(values)
    cells, shown = _reduced(np.where(known, values, -np.inf)[None], known[None])
    share = (np.where(shown, cells, low) - low) / ((high - low) or 1.0)
    levels = np.clip(np.round(share * (len(LEVELS) - 1)), 0, len(LEVELS) - 1)
    ends = _ends(labels[0]), _ends(labels[1])
    rows = _texts(levels.astype(np.int64), shown)
    shape = (values.shape[0], values.shape[1])
    return Map(title, *axes, rows, *ends, shape, VALUE, low, high)


def limits_of(*arrays: Floats) -> tuple[float, float]:
    """Return the least and the largest finite value; 0 and 0 if there is none."""
    finite = [array[np.isfinite(array)] for array in arrays]
    joined = np.concatenate(finite) if finite else np.zeros(0)
    return (float(joined.min()), float(joined.max())) if joined.size else (0.0, 0.0)


def line(name: str, across: Iterable[Any], up: Iterable[Any]) -> Series:
    """Make a line of the finite points, of at most MOST_POINTS of them."""
    both = [(to_number(x), to_number(y)) for x, y in zip(across, up, strict=True)]
    points = [(x, y) for x, y in both if isfinite(x) and isfinite(y)]
    step = -(-len(points) // MOST_POINTS) or 1
    return Series(name, tuple(points[::step]))


def to_number(value: Any) -> float:
    """Return a number as a float; infinite for one too large for that, in an edited report."""
    try:
        return float(value)
    except OverflowError:
        return inf


def _fitting(groups: int) -> int:
    """Return how many groups are drawn apart."""
    return min(groups, MOST)


def _reduced(values: Floats, known: Flags) -> tuple[Floats, Flags]:
    """Reduce [groups, rows, columns] to at most MOST rows and MOST columns, by the largest."""
    drawn = _fitting(values.shape[0])
    for axis, most in ((0, MOST), (1, max(1, MOST // drawn)), (2, MOST)):
        size = values.shape[axis]
        edges = np.arange(min(size, most)) * size // min(size, most)
        values = np.maximum.reduceat(values, edges, axis=axis)
        known = np.logical_or.reduceat(known, edges, axis=axis)
    return values.reshape(-1, values.shape[-1]), known.reshape(-1, known.shape[-1])


def _texts(levels: npt.NDArray[np.int64], known: Flags) -> tuple[str, ...]:
    letters = np.array([*LEVELS, RIGHT])[levels]  # level -1 is the last: right
    return tuple("".join(row) for row in np.where(known, letters, HIDDEN).tolist())


def _ends(labels: Sequence[Any]) -> tuple[str, str]:
    return (str(labels[0]), str(labels[-1])) if len(labels) else ("", "")
