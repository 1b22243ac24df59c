"""The known mistake that reproduces a wrong result."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from posenc_conformance.diagnose.rows import is_unturned
from posenc_conformance.judge.arrays import PRECISE, UNIT_ROUNDOFF, Array, Floats
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.deviation import Constant, DeviationModel, Prediction
from posenc_conformance.judge.error_model import agrees, error_ratio

NONE = "no known deviation, and no pair of them, fits"
NO_SINGLE = "no known deviation fits; pairs of them are not tried on a result of this size"
NO_OTHERS: Mapping[str, DeviationModel] = {}
LARGE = 2**16
"""Size of a result from which on a few elements are compared with a model first."""
FEW = 2**12
"""Number of elements that are compared first."""
GOLDEN = (5**0.5 - 1) / 2
"""Share of a large array between two elements of those."""
APART = 8
"""Number of bounds that a model must differ from the truth by if each is the largest of a row."""
SAME = 1e-6
"""Difference of residuals, in bounds, below which two models predict the same values."""
AS_NEAR = 1.01
"""Ratio of spreads up to which two models are equally near.

Beyond it, of 4,000 rounded values, the farther model is the right one less than once in 100,000.
"""
LARGEST_PAIRED = 512
"""Largest result, in values, for which the many pairs of deviations are usually tried."""


@dataclass(frozen=True)
class Diagnosis:
    """The explanation of a wrong result, or a statement that nothing known explains it."""

    explanations: tuple[tuple[str, str], ...]
    """Id and words of each deviation that explains it, the most special first; empty if none
    does."""
    residual: float = 0.0
    """Residual of the first explanation, in units of the bound."""
    otherwise: str = ""
    """The message if no deviation explains it."""
    recovered: str = ""
    """Description of the implementation, read from its results; empty if a deviation explains it,
    or if nothing can be read."""
    alike: tuple[str, ...] = ()
    """Words of other single deviations that predict the same values as the first one."""

    @property
    def deviation(self) -> str | None:
        """Id of the first explanation."""
        return self.explanations[0][0] if self.explanations else None


@dataclass(frozen=True)
class Fit:
    """The result that a deviation predicts, and its difference from the actual one."""

    deviation: str
    explanation: str
    residual: float
    """Largest difference in units of the bound."""
    of: Case | None
    """The case whose right result is the prediction; None if there is no such case."""
    constants: tuple[Constant | None, ...]
    """For each mistake, the number that it uses in every call, or None."""
    of_state: bool = False
    """Whether the mistake is state left by an earlier call."""
    is_wide: bool = False
    """Whether each value was granted the largest bound of its row."""
    spread: float = 0.0
    """Root mean square of the differences, in units of the bound, if it fits in a short dtype."""
    of_own: float = np.inf
    """Largest difference in units of the call's own bound, whatever the model's bound is."""

    @property
    def fits(self) -> bool:
        """Whether the model equals the result, within rounding."""
        return self.residual <= 1

    def is_like(self, other: "Fit") -> bool:
        """Return whether another single deviation is as near to the result as this one.

        Models that leave the same residual predict the same values. In a short dtype, different
        values may be as near.
        """
        single = not any("+" in fit.deviation or fit.is_wide for fit in (self, other))
        is_same = abs(self.of_own - other.of_own) < SAME
        near, far = sorted((self.spread, other.spread))
        is_as_near = near > 0 and far <= AS_NEAR * near
        return single and self.deviation != other.deviation and (is_same or is_as_near)

    @property
    def mistake(self) -> str:
        """Words for the mistake, without the requested values."""
        return abbreviate(self.explanation)


def abbreviate(explanation: str) -> str:
    """Cut an explanation down to the mistake, without the requested values."""
    return explanation.partition(";")[0]


def diagnose(case: Case, output: Floats) -> Diagnosis:
    """Find the deviations of the scheme that predict a wrong result.

    They keep the scheme's order: special ones, such as frequencies from head_dim, precede general
    ones, such as another base. If no single one fits, pairs are tried.
    """
    return to_diagnosis(find_fits(case, output), nothing_fits(output.size))


def nothing_fits(size: int) -> str:
    """Say that nothing explains a result of ``size`` values, and what was tried."""
    return NONE if size <= LARGEST_PAIRED else NO_SINGLE


def to_diagnosis(right: Sequence[Fit], otherwise: str = NONE, recovered: str = "") -> Diagnosis:
    """Make the diagnosis of a wrong result from the models that explain it.

    ``otherwise`` and ``recovered`` are the messages if there are none.
    """
    if not right:
        return Diagnosis((), otherwise=otherwise, recovered=recovered)
    explanations = {fit.deviation: fit.explanation for fit in reversed(right)}
    alike = tuple(dict.fromkeys(fit.explanation for fit in right[1:] if fit.is_like(right[0])))
    return Diagnosis(tuple(reversed(explanations.items())), right[0].residual, alike=alike)


def find_fits(
    case: Case,
    output: Floats,
    special: Mapping[str, DeviationModel] = NO_OTHERS,
    only: Collection[str] | None = None,
    largest_paired: float | None = None,
    *,
    is_pair: bool = False,
) -> list[Fit]:
    """Find the models that give the result: of single deviations, or of pairs if none does.

    If a golden prints only a part of the result, the whole result is compared, because few values
    match many mistakes; but not with ``special`` deviations. ``only`` restricts the deviations of
    the scheme. Pairs are not tried if nothing was rotated, nor for results of more than
    ``largest_paired`` values: by default LARGEST_PAIRED, or no limit with ``only``. ``is_pair``
    says that a single deviation is known not to explain a result of which this is a part.
    """
    case = case.with_fields() if case.printed is not None and not special else case
    if largest_paired is None:
        largest_paired = LARGEST_PAIRED if only is None else np.inf
    most = np.inf if output.size <= largest_paired else 1.0  # only pairs need those that do not fit
    fits = [
        *_fits(case, case, output, special, most),
        *_fits(case, case, output, _deviations(case, only), most),
    ]
    right = [fit for fit in fits if fit.fits]
    if right and not is_pair:
        return [fit for fit in right if not fit.is_wide] or right
    if is_unturned(case, output):  # any pair of mistakes may look like this
        return []
    return list(_pairs(case, fits, output, only)) if output.size <= largest_paired else []


def residual_of(
    case: Case, output: Floats, model: Floats, own_bound: Floats | None = None
) -> float:
    """Compute the largest difference of a result from a model, in units of the call's bound.

    ``own_bound`` is the model's own bound, if known. Computing another call, or moving an element,
    rounds other angles, which may be larger than the requested ones. Of a large result, a few
    elements that exclude the model are enough.
    """
    if own_bound is not None and own_bound.shape != case.shape:
        own_bound = None
    if output.size > LARGE:
        residual = _residual(case, output, model, own_bound, _few(output))
        if residual > 1:
            return residual
    return _residual(case, output, model, own_bound, ...)


def _residual(
    case: Case, output: Floats, model: Floats, own_bound: Floats | None, where: Any
) -> float:
    """Compute the residual of the elements ``where`` alone."""
    # Rounding a model that is larger than the truth costs more.
    rounding = case.scheme.accuracy.rounding * UNIT_ROUNDOFF[case.dtype]
    allowed = np.maximum(case.bound[where], rounding * np.abs(model[where]))
    if own_bound is not None:
        allowed = np.maximum(allowed, own_bound[where])
    with np.errstate(invalid="ignore"):  # hidden elements may be infinite on both sides
        difference = np.where(case.judged[where], np.abs(output[where] - model[where]), 0)
        return float(error_ratio(difference, allowed).max())


def is_result_of(case: Case, output: Floats, other: Case) -> bool:
    """Return whether a result is that of another call, which must have the same shape.

    A call within whose own bound the right result lies as well cannot explain a wrong one: anything
    may fit.
    """
    try:
        is_alike = other.shape == case.shape  # checked first: exchanged sizes may be huge
    except (TypeError, ValueError, IndexError):
        return False
    if not is_alike or not other.has_result:
        return False
    if residual_of(case, output, other.truth, other.bound) > 1:
        return False
    right = np.asarray(case.truth, output.dtype)  # a mask's is not a number
    return agrees(case, output) or residual_of(case, right, other.truth, other.bound) > 1


def predict_wrong(case: Case, output: Floats) -> frozenset[str]:
    """Return the words for all mistakes that would change the result.

    ``output`` is the implementation's result, from which a model may estimate a number, and with
    which a model within the bounds of both agrees.
    """
    return frozenset(
        abbreviate(model.explanation)
        for _, model in _models(case, case, output, _deviations(case))
        if differs(case, model.output) and residual_of(case, output, model.output) > 1
    )


def first_fit(case: Case, output: Floats, id: str) -> Fit | None:
    """Return the first model of a mistake that gives a result; None if none does."""
    return next(
        (fit for fit in _fits(case, case, output, _deviations(case, [id])) if fit.fits), None
    )


def fits_of_deviation(case: Case, output: Floats, id: str) -> list[Fit]:
    """List the models of one mistake that differ from the truth, whether or not they fit."""
    return list(_fits(case, case, output, _deviations(case, [id])))


def fits_of_readings(case: Case, output: Floats) -> list[Fit]:
    """List the models of mistakes without an id that differ from the truth, fitting or not."""
    models = enumerate(case.knowledge.readings)
    return list(_fits(case, case, output, {f"reading {number}": model for number, model in models}))


def _deviations(case: Case, only: Collection[str] | None = None) -> Mapping[str, DeviationModel]:
    """Return the deviations of the case's scheme, or only some of them."""
    deviations = case.knowledge.deviations
    if only is None:
        return deviations
    return {id: models for id, models in deviations.items() if id in only}


def _fits(
    asked: Case,
    case: Case,
    output: Floats,
    known: Mapping[str, DeviationModel],
    most: float = np.inf,
) -> Iterator[Fit]:
    """Yield models of deviations applied to ``case`` that differ from the truth of ``asked``.

    Models with a residual above ``most`` are left out.
    """
    widest = cache(lambda: _bound_of_moved(asked, output))
    for name, model in _models(asked, case, output, known):
        residual = residual_of(asked, output, model.output, model.own_bound)
        if residual > 1 and model.terms is not None:  # its angles round otherwise
            own_bound = asked.bounds(terms=model.terms())
            residual = residual_of(asked, output, model.output, own_bound)
        may_be_wide = residual > 1 and case is asked and model.own_bound is None
        is_wide = may_be_wide and _fits_within(widest(), asked, output, model)
        residual = 1.0 if is_wide else residual
        if residual <= most and differs(asked, model.output):
            numbers = (model.constant,)
            state = model.of_state
            fits = residual <= 1
            spread = _spread(asked, output, model.output) if fits else 0.0
            own = _residual(asked, output, model.output, None, ...) if fits else np.inf
            found = Fit(name, model.explanation, residual, model.of, numbers, state, is_wide)
            yield replace(found, spread=spread, of_own=own)


def _spread(case: Case, output: Floats, model: Floats) -> float:
    """Compute how far a result is from a model on average, in bounds; 0 in a precise dtype."""
    if case.dtype in PRECISE:
        return 0.0
    tells = np.broadcast_to(case.judged & (case.bound > 0), case.shape)
    off = (output[tells] - model[tells]) / case.bound[tells]
    return float(np.sqrt(np.mean(off**2))) if off.size else 0.0


def _bound_of_moved(case: Case, output: Floats) -> Floats | None:
    """Return for each value the largest bound of its row; None if the truth nearly fits within it.

    A mistake that moves values, or turns them by other angles, rounds them as those are rounded.
    """
    if not case.shape:
        return None
    widest = widest_bound(case)
    return widest if _residual(case, output, case.truth, widest, ...) > APART else None


def _fits_within(bound: Floats | None, case: Case, output: Floats, model: Prediction) -> bool:
    """Return whether a model fits within a bound; False if there is none."""
    return bound is not None and residual_of(case, output, model.output, bound) <= 1


def widest_bound(case: Case) -> Floats:
    """Return the largest bound of each row for all its channels, which others may turn."""
    widest = case.bound.max(axis=-1, keepdims=True, initial=0)
    return np.broadcast_to(widest, case.shape)


def _models(
    asked: Case, case: Case, output: Floats, known: Mapping[str, DeviationModel]
) -> Iterator[tuple[str, Prediction]]:
    """Yield models of deviations applied to ``case`` that have the shape of ``asked``."""
    for name, models in known.items():
        for model in models(case, output):
            if model.output.shape == asked.shape:
                yield name, model


def _pairs(
    case: Case, fits: Sequence[Fit], output: Floats, only: Collection[str] | None
) -> Iterator[Fit]:
    """Yield fits of pairs: a deviation equivalent to another call, and a second one on top.

    The second is any deviation of that call's result.
    """
    order = list(_deviations(case))
    second_fits: dict[tuple[str, int], list[Fit]] = {}
    for first in fits:
        if first.of is None:
            continue
        key = first.deviation, id(first.of)  # models in different words may share a call
        if key not in second_fits:
            others = {**_deviations(first.of, only)}
            others.pop(first.deviation, None)
            second_fits[key] = list(_fits(case, first.of, output, others, most=1))
        for second in second_fits[key]:
            both = sorted((first, second), key=lambda fit: order.index(fit.deviation))
            yield replace(
                second,
                deviation="+".join(fit.deviation for fit in both),
                explanation=f"{first.explanation}, and then {second.explanation}",
                constants=tuple(number for fit in both for number in fit.constants),
            )


def differs(case: Case, model: Floats) -> bool:
    """Return whether a prediction differs from the right result of the case.

    Of a large one, a few elements that differ are enough.
    """
    if model.size > LARGE and not agrees(case, model, _few(model)):
        return True
    return not agrees(case, model)


def _few(array: Floats) -> tuple[Array, ...]:
    """Return the index of a few elements of a large array.

    Steps of the golden ratio meet all rows and columns; equal steps may be a number of columns.
    """
    places = np.arange(FEW) * GOLDEN % 1 * array.size
    return np.unravel_index(places.astype(np.int64), array.shape)
