"""The error model, and comparing a result with the truth under it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Array, Floats
from posenc_conformance.judge.case import Case, ErrorTerms


@dataclass(frozen=True)
class Comparison:
    """How far a result is from the truth."""

    worst: float
    """Largest error in units of its bound; at most 1 if the result is right."""
    index: tuple[int, ...]
    got: float
    expected: float
    bound: float
    wrong: int
    judged: int

    @property
    def right(self) -> bool:
        """Whether every error is within its bound."""
        return self.wrong == 0


def bounds(case: Case, terms: ErrorTerms, *, angles: bool = True) -> Floats:
    """Largest error that an honest implementation makes, element by element.

    ``s * (A * v + B * u * |theta| * (1 + |ln w|))``: v is the unit roundoff of the result's dtype,
    u that of the angles, float32 unless the result is float64. Printing adds the case's grain.
    """
    accuracy = case.scheme.accuracy
    v = UNIT_ROUNDOFF[case.dtype]
    u = UNIT_ROUNDOFF["float64" if case.dtype == "float64" else "float32"]
    allowed = terms.scale * accuracy.rounding * v + case.grain
    if angles:
        allowed = allowed + terms.scale * accuracy.angle * u * terms.angle
    return allowed if allowed.shape == case.shape else np.broadcast_to(allowed, case.shape)


def informative(case: Case, terms: ErrorTerms, bound: Floats) -> npt.NDArray[np.bool_]:
    """Elements that a wrong result could fail: they are shown, and the bound is below s."""
    return np.asarray(case.shown & ((bound < terms.scale) | (bound == 0)))


def compare(case: Case, output: Array, terms: ErrorTerms) -> Comparison:
    """Judge a result of the right shape, element by element, where it is informative."""
    got = output.astype(np.float64)
    bound = bounds(case, terms)
    judged = informative(case, terms, bound)
    ratio = error_ratio(_errors(case, got, judged), bound)
    if ratio.size == 0:
        return Comparison(0.0, (), np.nan, np.nan, np.nan, 0, 0)
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(ratio)), ratio.shape))
    return Comparison(
        worst=float(ratio[index]),
        index=index,
        got=float(got[index]),
        expected=float(case.truth[index]),
        bound=float(bound[index]),
        wrong=int(np.count_nonzero(ratio > 1)),
        judged=ratio.size if judged.all() else _count(judged, ratio.shape),
    )


def _count(judged: npt.NDArray[np.bool_], shape: tuple[int, ...]) -> int:
    return int(np.count_nonzero(np.broadcast_to(judged, shape)))


def exact_angles(case: Case, output: Array, terms: ErrorTerms) -> bool:
    """Whether every error of a right result is within what rounding the result alone explains."""
    judged = informative(case, terms, bounds(case, terms))
    error = _errors(case, output.astype(np.float64), judged)
    ratio = error_ratio(error, bounds(case, terms, angles=False))
    return bool(ratio.max(initial=0) <= 1)


def _errors(case: Case, got: Floats, judged: npt.NDArray[np.bool_]) -> Floats:
    if judged.all():
        return np.abs(got - case.truth)
    truth = np.where(judged, case.truth, 0.0)
    return np.where(judged, np.abs(got - truth), 0.0)


def error_ratio(error: Floats, bound: Floats) -> Floats:
    """Error in units of its bound; where nothing is allowed, any error is infinitely large.

    So is one that is no number.
    """
    if bound.min(initial=1) > 0:
        ratio: Any = error / bound
    else:
        ratio = np.where(error == 0, 0.0, np.inf)
        np.divide(error, bound, out=ratio, where=bound > 0)
    if np.isnan(ratio).any():
        ratio = np.where(np.isnan(ratio), np.inf, ratio)
    return np.asarray(ratio)
