"""The error model, and the comparison of a result with the truth under it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc_conformance.judge.arrays import Array, Flags, Floats
from posenc_conformance.judge.case import Case


@dataclass(frozen=True)
class Comparison:
    """The errors of a result, compared with the truth."""

    worst: float
    """Largest error in units of its bound; at most 1 if the result is right."""
    index: tuple[int, ...]
    got: float
    expected: float
    bound: float
    wrong: int
    judged: int

    @property
    def passes(self) -> bool:
        """Whether every error is within its bound."""
        return self.wrong == 0


def agrees(case: Case, output: Array, where: Any = ...) -> bool:
    """Return whether a result of the right shape is right; :func:`compare` gives the errors.

    ``where`` is the index of the elements that are looked at, by default all.
    """
    with np.errstate(invalid="ignore"):  # hidden elements may be infinite on both sides
        error = np.abs(output[where].astype(np.float64, copy=False) - case.truth[where])
    return bool(((error <= case.bound[where]) | ~case.judged[where]).all())


def right_rows(output: Floats, truth: Floats, bound: Floats) -> Flags:
    """Return flags [..., n] for the rows of a result that are right in all channels."""
    return np.asarray((np.abs(output - truth) <= bound).all(axis=-1))


def compare(case: Case, output: Array) -> Comparison:
    """Compare a result of the right shape with the truth, over the elements that are judged."""
    got = output.astype(np.float64, copy=False)
    error = _errors(case, got)
    ratio = error_ratio(error, case.bound, out=error)
    if ratio.size == 0:
        return Comparison(0.0, (), np.nan, np.nan, np.nan, 0, 0)
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(ratio)), ratio.shape))
    worst = float(ratio[index])
    return Comparison(
        worst=worst,
        index=index,
        got=float(got[index]),
        expected=float(case.truth[index]),
        bound=float(case.bound[index]),
        wrong=int(np.count_nonzero(ratio > 1)) if worst > 1 else 0,
        judged=ratio.size if case.judged.all() else _count(case.judged, ratio.shape),
    )


def _count(judged: Flags, shape: tuple[int, ...]) -> int:
    return int(np.count_nonzero(np.broadcast_to(judged, shape)))


def exact_angles(case: Case, output: Array) -> bool:
    """Return whether rounding of the result alone explains all errors of a right result."""
    error = _errors(case, output.astype(np.float64, copy=False))
    ratio = error_ratio(error, case.bounds(angles=False))
    return bool(ratio.max(initial=0) <= 1)


def _errors(case: Case, got: Floats) -> Floats:
    if case.judged.all():
        error = np.asarray(got - case.truth)
        return np.abs(error, out=error)
    truth = np.where(case.judged, case.truth, 0.0)
    return np.where(case.judged, np.abs(got - truth), 0.0)


def error_ratio(error: Floats, bound: Floats, out: Floats | None = None) -> Floats:
    """Divide each error by its bound; a nonzero error with bound 0 has an infinite ratio.

    So has a NaN error. The result is written to ``out``, which may be ``error`` itself, unless some
    bound is 0.
    """
    with np.errstate(over="ignore"):  # the ratio may be infinite
        if bound.min(initial=1) > 0:
            ratio: Any = np.divide(error, bound, out=out)
        else:
            ratio = np.where(error == 0, 0.0, np.inf)
            np.divide(error, bound, out=ratio, where=bound > 0)
    if np.isnan(np.max(ratio, initial=0.0)):
        ratio = np.where(np.isnan(ratio), np.inf, ratio)
    return np.asarray(ratio)
