"""The pattern of an error: which elements are wrong, and how the error grows."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from posenc_conformance.judge.arrays import Flags, Floats
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import error_ratio

FEW = 4
"""Maximum number of indices that are listed; also fewest values that allow a conclusion."""
COUNTED = {"position": "positions", "distance": "relative_position"}
"""Arguments that label the indices of an axis, by the axis's name."""
SPREAD = 8.0
"""Largest factor by which the error of a row may differ from the growth that is reported."""
STEADY = 0.15
"""Largest difference of a fitted exponent of growth from 0 or 1 that is reported as such."""


def pattern(case: Case, output: Floats, names: Sequence[str]) -> str:
    """Say in words where a result is wrong, and how; empty if nothing is wrong.

    ``names`` are those of the last axes.
    """
    judged = case.judged
    truth = np.broadcast_to(np.where(judged, case.truth, 0.0), case.shape)
    error = np.where(judged, output - truth, 0.0)
    wrong = error_ratio(np.abs(error), case.bound) > 1
    if not wrong.any():
        return ""
    parts = [*_leading(wrong, judged, len(names))]
    parts += [
        _places(
            _word(case, name), _labels(case, name, wrong.shape[axis]), *_along(axis, wrong, judged)
        )
        for axis, name in zip(range(-len(names), 0), names, strict=True)
        if -axis <= wrong.ndim
    ]
    parts += _sameness(truth[wrong], error[wrong])
    if "position" in names:
        scale = np.broadcast_to(case.terms.scale, case.shape)
        # A call without positions has one row per position, from 0 on.
        positions = case.arguments.get("positions", np.arange(wrong.shape[-2]))
        parts += _growth(positions, np.where(wrong, np.abs(error), 0.0), scale)
    return "; ".join(part for part in parts if part)


def _leading(wrong: Flags, judged: Flags, named: int) -> Iterator[str]:
    """Yield words for the axes before the named ones, such as heads, unless everything is wrong."""
    count = wrong.ndim - named
    for axis in range(count):
        places = _along(axis - wrong.ndim, wrong, judged)
        if not np.array_equal(*places):
            name = "leading index" if count == 1 else f"index of leading axis {axis}"
            yield _places(name, np.arange(wrong.shape[axis]), *places)


def _along(axis: int, wrong: Flags, judged: Flags) -> tuple[Flags, Flags]:
    """Return for each index of an axis whether any element is wrong, and whether any is judged."""
    others = tuple(i for i in range(wrong.ndim) if i != wrong.ndim + axis)
    looked_at = np.broadcast_to(judged, wrong.shape)
    return np.asarray(wrong.any(axis=others)), np.asarray(looked_at.any(axis=others))


def _word(case: Case, name: str) -> str:
    """Return the name of an axis: in a matrix, distances are labelled by column."""
    return "column" if name == "distance" and len(case.shape) > 1 else name


def _labels(case: Case, name: str, count: int) -> npt.NDArray[Any]:
    """Return the labels of an axis: positions or distances from the arguments, else indices."""
    labels = case.arguments.get(COUNTED.get(name, ""))
    if labels is not None and labels.shape == (count,):
        return np.asarray(labels)
    return np.arange(count)


def _places(name: str, labels: npt.NDArray[Any], wrong: Flags, judged: Flags) -> str:
    """Say which indices of an axis have wrong elements."""
    if np.array_equal(wrong, judged):
        return f"every {name}" if judged.sum() > 1 else ""
    where, right = labels[wrong], labels[judged & ~wrong]
    if len(where) <= FEW:
        return f"{name} {', '.join(map(str, where))} only"
    if where.min() > right.max():
        return f"{name} {where.min()} and later only"
    if where.max() < right.min():
        return f"{name} {where.max()} and earlier only"
    for remainder, word in ((0, "even"), (1, "odd")):
        if np.array_equal(wrong, judged & (labels % 2 == remainder)):
            return f"{word} {name}s only"
    return f"{len(where)} of {int(judged.sum())} {name}s, from {where.min()} to {where.max()}"


def _sameness(truth: Floats, error: Floats) -> Iterator[str]:
    """Yield words for a factor or a difference that all wrong values share.

    The factor is estimated from the values that are not small.
    """
    if len(error) < FEW or not np.isfinite(error).all():
        return
    if not (truth + error).any():
        yield "got 0"
        return
    away = np.abs(truth) > np.abs(truth).max() / 8
    factors = 1 + error[away] / truth[away]
    alike = len(factors) >= FEW and np.ptp(factors) < 1e-3 * np.abs(factors).max()
    # A factor that prints as 1 explains nothing.
    if alike and (factor := f"{factors.mean():.6g}") != "1":
        yield f"values are {factor} times what they should be"
    elif np.ptp(error) < 1e-3 * np.abs(error).max():
        yield f"values are off by {error.mean():.6g}"


def _growth(positions: npt.NDArray[Any], error: Floats, scale: Floats) -> Iterator[str]:
    """Yield words for how the error of wrong values grows with position.

    Rows are looked at whose error is below half the scale; the words must hold for each of them.
    """
    if positions.ndim > 1:
        return
    share = np.divide(error, scale, out=np.zeros_like(error), where=scale > 0)
    rows = share.reshape(-1, *share.shape[-2:]).max(axis=(0, 2))
    seen = (positions > 0) & (rows > 0) & (rows < 0.5)
    place, size = np.abs(positions[seen]).astype(np.float64), rows[seen]
    if len(place) < FEW or place.max() < 16 * place.min():
        return
    slope, start = np.polyfit(np.log(place), np.log(size), 1)
    if np.abs(np.log(size) - slope * np.log(place) - start).max() > np.log(SPREAD):
        return
    if abs(slope) < STEADY:
        yield "about as large at all positions"
    elif abs(slope - 1) < STEADY:
        yield "growing in proportion to the position"
    elif slope > 0:
        yield f"growing like position^{slope:.2g}"
