"""Which known mistake reproduces a wrong result."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from posenc_conformance.diagnose.mistakes import Constant, DeviationModel
from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Floats
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import agrees, error_ratio
from posenc_conformance.judge.knowledge import knowledge_of

NONE = "no known deviation, and no pair of them, fits"
NO_OTHERS: Mapping[str, DeviationModel] = {}
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
    recovered: str = ""
    """What the implementation does, as its results say, if none does and it can be read."""

    @property
    def deviation(self) -> str | None:
        """Id of the first explanation."""
        return self.explanations[0][0] if self.explanations else None


@dataclass(frozen=True)
class Fit:
    """A deviation's model of a result, and what it leaves unexplained."""

    deviation: str
    explanation: str
    residual: float
    """Largest difference in units of the bound."""
    of: Case | None
    """The case whose truth the model is; None if it is not the truth of a case."""
    constants: tuple[Constant | None, ...]
    """Of each mistake, what it has in every call."""
    of_state: bool = False
    """Whether it is what an earlier call has left."""

    @property
    def right(self) -> bool:
        """Whether the model is the result."""
        return self.residual <= 1

    @property
    def told(self) -> str:
        """What the mistake is, without what was asked for."""
        return self.explanation.partition(";")[0]


def diagnose(
    case: Case, output: Floats, special: Mapping[str, DeviationModel] = NO_OTHERS
) -> Diagnosis:
    """The deviations that predict a wrong result, ``special`` ones and those of the scheme.

    They come in the scheme's order, where special ones stand before those that include them, as
    another base includes frequencies taken from head_dim. If none does alone, pairs of them.
    """
    return told(explaining(case, output, special))


def told(right: Sequence[Fit], otherwise: str = NONE, recovered: str = "") -> Diagnosis:
    """What is said of a result that these models explain."""
    if not right:
        return Diagnosis((), otherwise=otherwise, recovered=recovered)
    explanations = {fit.deviation: fit.explanation for fit in reversed(right)}
    return Diagnosis(tuple(reversed(explanations.items())), right[0].residual)


def explaining(
    case: Case, output: Floats, special: Mapping[str, DeviationModel] = NO_OTHERS
) -> list[Fit]:
    """The models that are the result: of single deviations, or of pairs if none is.

    The whole result, where a golden prints a part of it: few values look like many mistakes.
    """
    case = case.anew() if case.printed is not None and not special else case
    fits = [*_fits(case, case, output, special), *_fits(case, case, output, _known(case))]
    return [fit for fit in fits if fit.right] or list(_pairs(case, fits, output))


def left(case: Case, output: Floats, model: Floats) -> float:
    """Largest difference of a result and a model of it, in units of the bound of the call."""
    with np.errstate(invalid="ignore"):  # hidden elements may be infinite on both sides
        difference = np.where(case.judged, np.abs(output - model), 0)
        size = np.where(np.isfinite(model), np.abs(model), 0)
    # Rounding what is larger than the truth costs more.
    rounding = case.scheme.accuracy.rounding * UNIT_ROUNDOFF[case.dtype]
    return float(error_ratio(difference, np.maximum(case.bound, rounding * size)).max())


def predicted(case: Case, output: Floats) -> frozenset[str]:
    """Mistakes, as they are told, that would give another result than the truth."""
    return frozenset(fit.told for fit in _fits(case, case, output, _known(case)))


def of_deviation(case: Case, output: Floats, id: str) -> list[Fit]:
    """The models of one mistake."""
    known = _known(case)
    return list(_fits(case, case, output, {id: known[id]} if id in known else {}))


def _known(case: Case) -> Mapping[str, DeviationModel]:
    """The mistakes of its scheme."""
    known: Mapping[str, DeviationModel] = knowledge_of(case.scheme).DEVIATIONS[case.call.name]
    return known


def _fits(
    asked: Case, case: Case, output: Floats, known: Mapping[str, DeviationModel]
) -> Iterator[Fit]:
    """Models of what a deviation makes of a case that differ from the truth of what was asked."""
    for name, models in known.items():
        for model in models(case, output):
            if model.output.shape != asked.shape or not differs(asked, model.output):
                continue
            residual = left(asked, output, model.output)
            numbers = (model.constant,)
            yield Fit(name, model.explanation, residual, model.of, numbers, model.of_state)


def _pairs(case: Case, fits: Sequence[Fit], output: Floats) -> Iterator[Fit]:
    """A deviation that is a call with other arguments, and any other one of that call's result."""
    if output.size > LARGEST_PAIRED:
        return
    order = list(_known(case))
    for first in fits:
        if first.of is None:
            continue
        for second in _fits(case, first.of, output, _known(first.of)):
            if second.right and second.deviation != first.deviation:
                both = sorted((first, second), key=lambda fit: order.index(fit.deviation))
                yield replace(
                    second,
                    deviation="+".join(fit.deviation for fit in both),
                    explanation=f"{first.explanation}, and then {second.explanation}",
                    constants=tuple(number for fit in both for number in fit.constants),
                )


def differs(case: Case, model: Floats) -> bool:
    """Whether a model predicts anything other than the truth here."""
    return not agrees(case, model)
