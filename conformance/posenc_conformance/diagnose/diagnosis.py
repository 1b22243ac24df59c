"""Which known mistake reproduces a wrong result."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.case import Case, ErrorTerms
from posenc_conformance.judge.error_model import bounds, compare, error_ratio, informative
from posenc_conformance.judge.knowledge import knowledge_of

NEAR = 0.05
"""A model that leaves less than this part of the error is worth naming as the nearest."""


LARGEST_PAIRED = 512
"""Results of more values are not compared with pairs of deviations, which are many."""


@dataclass(frozen=True)
class Diagnosis:
    """What explains a wrong result, or a statement that nothing known does."""

    explanations: tuple[tuple[str, str], ...]
    """Id and words of each deviation that does, the most special first; empty if none does."""
    residual: float = 0.0
    """What the first of them leaves unexplained, in units of the bound."""
    otherwise: str = ""
    """What to say if none does."""

    @property
    def deviation(self) -> str | None:
        """Id of the first explanation."""
        return self.explanations[0][0] if self.explanations else None


@dataclass(frozen=True)
class Fit:
    """A deviation's model and what it leaves unexplained."""

    deviation: str
    explanation: str
    residual: float
    """Largest difference in units of the bound."""
    left: float
    """Largest difference as a part of the largest error."""
    of: Case | None
    """The case whose truth the model is; None if it is not the truth of a case."""


def diagnose(case: Case, output: Floats) -> Diagnosis:
    """The deviations that predict a wrong result.

    They come in the scheme's order, where special ones stand before those that include them, as
    another base includes frequencies taken from head_dim. If none does alone, pairs of them.
    """
    fits = list(_fits(case, output))
    right = [fit for fit in fits if fit.residual <= 1] or list(_pairs(fits, output))
    if right:
        explanations = {fit.deviation: fit.explanation for fit in reversed(right)}
        return Diagnosis(tuple(reversed(explanations.items())), right[0].residual)
    nearest = min(fits, key=lambda fit: fit.left, default=None)
    if nearest is None:
        return Diagnosis((), otherwise="no known deviation applies")
    if nearest.left < NEAR:
        text = f"nearly {nearest.explanation}; {100 * nearest.left:.2g} % of the error is left"
        return Diagnosis(((nearest.deviation, text),), nearest.residual)
    return Diagnosis((), otherwise="no known deviation, and no pair of them, fits")


def _pairs(fits: Sequence[Fit], output: Floats) -> Iterator[Fit]:
    """A deviation that is a call with other arguments, and any other one of that call's result."""
    if output.size > LARGEST_PAIRED:
        return
    for first in fits:
        if first.of is None:
            continue
        order = list(knowledge_of(first.of.scheme).DEVIATIONS[first.of.call.name])
        for second in _fits(first.of, output):
            if second.residual <= 1 and second.deviation != first.deviation:
                both = sorted((first.deviation, second.deviation), key=order.index)
                yield replace(
                    second,
                    deviation="+".join(both),
                    explanation=f"{first.explanation}, and then {second.explanation}",
                )


def _fits(case: Case, output: Floats) -> Iterator[Fit]:
    terms = case.terms
    bound = bounds(case, terms)
    judged = informative(case, terms, bound)
    error = _largest(output - np.where(judged, case.truth, 0), judged)
    for name, models in knowledge_of(case.scheme).DEVIATIONS[case.call.name].items():
        for model in models(case, output):
            if model.output.shape != case.shape or not _differs(case, terms, model.output):
                continue
            with np.errstate(invalid="ignore"):  # hidden elements may be infinite on both sides
                difference = np.where(judged, np.abs(output - model.output), 0)
            residual = float(error_ratio(difference, bound).max())
            left = _largest(difference, judged) / error if error > 0 else np.inf
            yield Fit(name, model.explanation, residual, left, model.of)


def _differs(case: Case, terms: ErrorTerms, model: Floats) -> bool:
    """Whether a model predicts anything other than the truth here."""
    return not compare(case, model, terms).right


def _largest(values: Floats, where: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> float:
    return float(np.max(np.abs(np.where(where, values, 0)), initial=0))
