"""Arithmetic on answers that carries the bound of its own error.

What is computed from answers may be wrong by what the answers may be wrong by, and by the rounding
of the kit's own float64 arithmetic. Every operation here adds both, so no term can be forgotten.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Floats
from posenc_conformance.judge.case import Case

ARITHMETIC = 2.0**-50
"""Relative error granted to the kit's own float64 arithmetic on answers: sums of up to 512 terms,
added pairwise, lose at most about 8 units in the last place (Higham, section 4.2)."""

ROUNDING = UNIT_ROUNDOFF["float64"]
"""Relative error of one float64 operation."""

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Exact:
    """A number or array that is exactly what is meant, not the rounded result of a computation."""

    values: Any


@dataclass(frozen=True, eq=False)
class Answer:
    """An implementation's result in float64, or what was computed from it, with its error's bound.

    Other operands are numbers or arrays. Integers and :class:`Exact` are taken as they are; floats
    were computed by the kit, and may be wrong by ``ARITHMETIC`` of their size.
    """

    case: Case
    """The call that is blamed; of two answers that are combined, that of the first."""
    output: Floats
    """The implementation's whole result for it."""
    values: Floats
    bound: Floats
    """Largest error of each value in an honest implementation; infinite where any is possible."""

    __array_ufunc__ = None
    """So that an array on the left leaves the operation to the answer on its right."""

    def __getitem__(self, index: Any) -> "Answer":
        return self._with(self.values[index], self.bound[index])

    def __neg__(self) -> "Answer":
        return self._with(-self.values, self.bound)

    def __add__(self, other: Any) -> "Answer":
        values, bound = _operand(other)
        total = self.values + values
        return self._with(total, self.bound + bound + ROUNDING * np.abs(total))

    __radd__ = __add__

    def __sub__(self, other: Any) -> "Answer":
        negated: Any = Exact(-other.values) if isinstance(other, Exact) else -other
        return self.__add__(negated)

    def __rsub__(self, other: Any) -> "Answer":
        return (-self).__add__(other)

    def __mul__(self, other: Any) -> "Answer":
        values, bound = _operand(other)
        product = self.values * values
        with np.errstate(invalid="ignore"):  # 0 times an infinite bound
            carried = np.abs(self.values) * bound + np.abs(values) * self.bound + self.bound * bound
        exact = not isinstance(other, Answer) and _is_powers_of_two(values)
        rounding = 0.0 if exact else ROUNDING * np.abs(product)
        nothing = np.equal(values, 0) & np.equal(bound, 0)
        return self._with(product, np.where(nothing, 0.0, carried) + rounding)

    __rmul__ = __mul__

    def __truediv__(self, other: float) -> "Answer":
        quotient = self.values / other
        rounding = 0.0 if _is_powers_of_two(other) else ROUNDING * np.abs(quotient)
        return self._with(quotient, self.bound / abs(other) + rounding)

    def sum(self, axis: int | tuple[int, ...]) -> "Answer":
        """Sum along axes, of at most 512 terms."""
        rounding = ARITHMETIC * np.abs(self.values).sum(axis=axis)
        return self._with(self.values.sum(axis=axis), self.bound.sum(axis=axis) + rounding)

    def where(self, mask: Mask) -> "Answer":
        """The same with 0, exactly, where the mask is false."""
        shown = np.where(mask, self.values, 0.0), np.where(mask, self.bound, 0.0)
        return self._with(*shown)

    def positive(self) -> "Answer":
        """The positive part: what is left of it when it should not be above 0."""
        return self._with(np.maximum(self.values, 0.0), self.bound)

    def moved(self, source: int | Sequence[int], to: int | Sequence[int]) -> "Answer":
        """The same with axes moved, as ``numpy.moveaxis`` does."""
        return self._with(*(np.moveaxis(each, source, to) for each in (self.values, self.bound)))

    def swapped(self, first: int, second: int) -> "Answer":
        """The same with two axes exchanged."""
        return self._with(*(np.swapaxes(each, first, second) for each in (self.values, self.bound)))

    def allowing(self, more: Any) -> "Answer":
        """The same with more error allowed, which does not come from arithmetic on answers."""
        return self._with(self.values, self.bound + more)

    def _with(self, values: Any, bound: Any) -> "Answer":
        return replace(
            self, values=np.asarray(values), bound=np.broadcast_to(bound, np.shape(values))
        )


def _operand(other: Any) -> tuple[Any, Any]:
    """Values of the other operand, and the bound of their error."""
    if isinstance(other, Answer):
        return other.values, other.bound
    if isinstance(other, Exact):
        return other.values, 0.0
    exact = np.asarray(other).dtype.kind in "iub"
    return other, 0.0 if exact else ARITHMETIC * np.abs(other)


def _is_powers_of_two(values: Any) -> bool:
    """Whether multiplying by any of these numbers, or 0, is exact."""
    mantissa, _ = np.frexp(np.asarray(values, dtype=np.float64))
    return bool(np.isin(np.abs(mantissa), (0.0, 0.5)).all())
