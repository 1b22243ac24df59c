"""Which known mistake reproduces a wrong result."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from posenc_conformance import schemes
from posenc_conformance.cases import Case
from posenc_conformance.tolerance import ErrorTerms, Floats, bounds, compare, informative

NEAR = 0.05
"""A model that leaves less than this part of the error is worth naming as the nearest."""


@dataclass(frozen=True)
class Diagnosis:
    """An explanation, or the honest absence of one."""

    deviation: str | None
    """Id of the deviation; None if none fits."""
    text: str
    residual: float | None = None
    """What is left unexplained, in units of the bound."""

    @property
    def name(self) -> str | None:
        """Id and explanation, for reports."""
        return f"{self.deviation}: {self.text}" if self.deviation else None


@dataclass(frozen=True)
class Fit:
    """A deviation's model and what it leaves unexplained."""

    deviation: str
    explanation: str
    residual: float
    """Largest difference in units of the bound."""
    left: float
    """Largest difference as a part of the largest error."""


def diagnose(case: Case, output: Floats) -> Diagnosis:
    """The deviation that predicts a wrong result.

    Of several that do, the first in the scheme's order: there the special ones come before those
    that include them, as another base includes frequencies taken from head_dim.
    """
    fits = list(_fits(case, output))
    if not fits:
        return Diagnosis(None, "no known deviation applies")
    for fit in fits:
        if fit.residual <= 1:
            return Diagnosis(fit.deviation, fit.explanation, fit.residual)
    nearest = min(fits, key=lambda fit: fit.left)
    if nearest.left < NEAR:
        left = f"{100 * nearest.left:.2g} % of the error is left"
        text = f"nearly {nearest.explanation}; {left}"
        return Diagnosis(nearest.deviation, text, nearest.residual)
    return Diagnosis(None, f"no known deviation fits; {nearest.deviation} is nearest, and far off")


def _fits(case: Case, output: Floats) -> Iterator[Fit]:
    terms = schemes.error_terms(case)
    bound = bounds(case, terms)
    judged = informative(case, terms, bound)
    error = _largest(output - np.where(judged, case.truth, 0), judged)
    for name, models in schemes.module(case.scheme).DEVIATIONS[case.call.name].items():
        for model in models(case, output):
            if model.output.shape != case.shape or not _differs(case, terms, model.output):
                continue
            difference = np.where(judged, np.abs(output - model.output), 0)
            allowed = difference <= bound
            ratio = np.divide(
                difference, bound, out=np.where(allowed, 0.0, np.inf), where=bound > 0
            )
            left = _largest(difference, judged) / error if error > 0 else np.inf
            yield Fit(name, model.explanation, float(np.nan_to_num(ratio, nan=np.inf).max()), left)


def _differs(case: Case, terms: ErrorTerms, model: Floats) -> bool:
    """Whether a model predicts anything other than the truth here."""
    return not compare(case, model, terms).right


def _largest(values: Floats, where: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> float:
    return float(np.max(np.abs(np.where(where, values, 0)), initial=0))
