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

    name: str | None
    """The deviation's id with its explanation; None if none fits."""
    text: str


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
    """The deviation that predicts a wrong result best."""
    fits = sorted(_fits(case, output), key=lambda fit: (fit.residual, fit.left))
    if not fits:
        return Diagnosis(None, "no known deviation applies")
    best = fits[0]
    if best.residual <= 1:
        name = f"{best.deviation}: {best.explanation}"
        return Diagnosis(
            name,
            f"{best.explanation} [{best.deviation}], residual {best.residual:.2g} of the bound",
        )
    nearest = min(fits, key=lambda fit: fit.left)
    if nearest.left < NEAR:
        return Diagnosis(
            f"{nearest.deviation}: nearly {nearest.explanation}",
            f"nearly {nearest.explanation} [{nearest.deviation}], "
            f"which leaves {100 * nearest.left:.2g} % of the error",
        )
    return Diagnosis(
        None, f"no known deviation fits; the nearest, {nearest.deviation}, does not explain it"
    )


def _fits(case: Case, output: Floats) -> Iterator[Fit]:
    terms = schemes.error_terms(case)
    judged = informative(case, terms)
    error = _largest(output - np.where(judged, case.truth, 0), judged)
    bound = bounds(case, terms)
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
