"""A base that is fitted to the angles of all pairs, where no single pair tells it exactly."""

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from posenc_conformance.diagnose.predictors import rounded_base
from posenc_conformance.families.rotary import read_channels, written_channels
from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Floats
from posenc_conformance.judge.case import Case

Complex = npt.NDArray[np.complex128]
LOGARITHMS = np.log(10.0), np.log(1e10)
"""Least and largest base that is looked for, as logarithms."""
FEW_DIGITS = 3
"""Digits that most numbers have which people write."""
STEP = 8
"""Factor by which rows lie farther apart, and the base is known better, from step to step."""


def fitted_base(
    case: Case, got: Floats, places: Floats, frequencies: Callable[[Case], Floats]
) -> float | None:
    """Fit a base to the turns of rows; return it as a person may have written it.

    ``places`` are the positions of rows, [n, 1]. Returns None if there are no such rows.
    """
    base = nearest_base(case, got, places, frequencies)
    return None if base is None else _as_written(case, places, frequencies, base)


def nearest_base(
    case: Case, got: Floats, places: Floats, frequencies: Callable[[Case], Floats]
) -> float | None:
    """Fit a base to the angles between rows, first of near ones, then of farther ones.

    A near row tells the base roughly, whatever it is; a far one exactly, if it is known roughly.
    ``places`` are the positions of rows, [n, 1]. Returns None if there are no such rows.
    """
    steps = places - places[:1]
    farthest = float(np.abs(steps).max(initial=0))
    if got.shape != case.arguments["x"].shape or not np.isfinite(got).all() or farthest < 1:
        return None
    turns = _turns(case, got)
    between = turns * np.conj(turns[:1])
    center, width = sum(LOGARITHMS) / 2, (LOGARITHMS[1] - LOGARITHMS[0]) / 2
    for reach in _reaches(farthest):
        near = (np.abs(steps) <= reach).ravel()
        if not steps[near].any():  # no rows are that near: they would fit any base
            continue
        center = _best(case, (steps[near], between[near]), frequencies, center, width)
        width /= STEP
    for _ in range(5):  # by how far all rows are from position 0
        center = _best(case, (places, turns), frequencies, center, width)
        width /= STEP
    return float(np.exp(center))


def _as_written(
    case: Case, places: Floats, frequencies: Callable[[Case], Floats], base: float
) -> float | None:
    """Return the number of fewest digits that a fitted base may be.

    Its angles differ from those of the fitted one by no more than a rounding of the dtype, on
    average over rows and pairs.
    """
    fitted = frequencies(case.with_arguments(base=base))
    for digits in range(1, FEW_DIGITS + 1):
        short = float(f"{base:.{digits}g}")
        off = places * (frequencies(case.with_arguments(base=short)) - fitted)
        if np.sqrt(np.mean(off**2)) <= UNIT_ROUNDOFF[case.dtype]:
            return short
    return rounded_base(base)


def _best(
    case: Case,
    rows: tuple[Floats, Complex],
    frequencies: Callable[[Case], Floats],
    center: float,
    width: float,
) -> float:
    """Return the logarithm of the base, near ``center``, that fits the turns of rows best."""
    steps, turns = rows
    grid = center + width * np.linspace(-1, 1, 4 * STEP + 1)
    others = (frequencies(case.with_arguments(base=float(np.exp(each)))) for each in grid)
    fits = [np.real(turns * np.exp(-1j * steps * omega)).sum() for omega in others]
    return float(grid[int(np.argmax(fits))])


def _turns(case: Case, got: Floats) -> Complex:
    """Return how each pair of each row is turned, as numbers of the complex plane: [n, pairs]."""
    first, second = read_channels(case)
    before = case.arguments["x"][..., first] + 1j * case.arguments["x"][..., second]
    first, second = written_channels(case)
    after = got[..., first] + 1j * got[..., second]
    turns = (after * np.conj(before)).reshape(-1, *after.shape[-2:])
    return np.asarray(turns.sum(axis=0), np.complex128)


def _reaches(farthest: float) -> Iterator[float]:
    """Yield distances of rows up to which one after the other is looked at."""
    reach = 2.0
    while reach < farthest:
        yield reach
        reach *= STEP / 2
    for _ in range(2):  # the base is known no better than a part of a turn of the fastest pair
        yield farthest
