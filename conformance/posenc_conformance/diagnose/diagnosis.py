"""Which known mistake reproduces a wrong result."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from posenc_conformance.diagnose.mistakes import Constant, DeviationModel, Model
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
        return in_short(self.explanation)


def in_short(explanation: str) -> str:
    """What a mistake is, without what was asked for."""
    return explanation.partition(";")[0]


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
    case: Case,
    output: Floats,
    special: Mapping[str, DeviationModel] = NO_OTHERS,
    only: Collection[str] | None = None,
) -> list[Fit]:
    """The models that are the result: of single deviations, or of pairs if none is.

    The whole result, where a golden prints a part of it: few values look like many mistakes. With
    ``only`` the others of the scheme are not tried.
    """
    case = case.anew() if case.printed is not None and not special else case
    fits = [*_fits(case, case, output, special), *_fits(case, case, output, _known(case, only))]
    return [fit for fit in fits if fit.right] or list(_pairs(case, fits, output, only))


def left(case: Case, output: Floats, model: Floats) -> float:
    """Largest difference of a result and a model of it, in units of the bound of the call."""
    # Rounding what is larger than the truth costs more.
    rounding = case.scheme.accuracy.rounding * UNIT_ROUNDOFF[case.dtype]
    allowed = np.maximum(case.bound, rounding * np.abs(model))
    with np.errstate(invalid="ignore"):  # hidden elements may be infinite on both sides
        difference = np.where(case.judged, np.abs(output - model), 0)
        return float(error_ratio(difference, allowed).max())


def predicted(case: Case, output: Floats) -> frozenset[str]:
    """Mistakes, as they are told, that would give another result than the truth."""
    return frozenset(
        in_short(model.explanation)
        for _, model in _models(case, case, output, _known(case))
        if differs(case, model.output)
    )


def of_deviation(case: Case, output: Floats, id: str) -> list[Fit]:
    """The models of one mistake."""
    return list(_fits(case, case, output, _known(case, [id])))


def _known(case: Case, only: Collection[str] | None = None) -> Mapping[str, DeviationModel]:
    """The mistakes of its scheme, or only some of them."""
    known: Mapping[str, DeviationModel] = knowledge_of(case.scheme).DEVIATIONS[case.call.name]
    if only is None:
        return known
    return {id: models for id, models in known.items() if id in only}


def _fits(
    asked: Case,
    case: Case,
    output: Floats,
    known: Mapping[str, DeviationModel],
    most: float = np.inf,
) -> Iterator[Fit]:
    """Models of what a deviation makes of a case that differ from the truth of what was asked.

    Those that leave no more than ``most`` unexplained.
    """
    for name, model in _models(asked, case, output, known):
        residual = left(asked, output, model.output)
        if residual <= most and differs(asked, model.output):
            numbers = (model.constant,)
            yield Fit(name, model.explanation, residual, model.of, numbers, model.of_state)


def _models(
    asked: Case, case: Case, output: Floats, known: Mapping[str, DeviationModel]
) -> Iterator[tuple[str, Model]]:
    """What deviations make of a case, as far as it has the shape of what was asked."""
    for name, models in known.items():
        for model in models(case, output):
            if model.output.shape == asked.shape:
                yield name, model


def _pairs(
    case: Case, fits: Sequence[Fit], output: Floats, only: Collection[str] | None
) -> Iterator[Fit]:
    """A deviation that is a call with other arguments, and any other one of that call's result."""
    if output.size > LARGEST_PAIRED:
        return
    order = list(_known(case))
    found: dict[tuple[str, int], list[Fit]] = {}
    for first in fits:
        if first.of is None:
            continue
        key = first.deviation, id(first.of)  # models of one call in other words follow each other
        if key not in found:
            others = {**_known(first.of, only)}
            others.pop(first.deviation, None)
            found[key] = list(_fits(case, first.of, output, others, most=1))
        for second in found[key]:
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
