"""Arithmetic on answers that propagates error bounds.

A quantity computed from answers inherits their errors, and float64 arithmetic adds rounding. Every
operation here adds both to the bound, so no term can be forgotten.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Floats
from posenc_conformance.judge.case import Case

ARITHMETIC = 2.0**-50
"""Relative error granted to a float computed by the kit: four units in the last place."""

ROUNDING = UNIT_ROUNDOFF["float64"]
"""Largest relative error of one float64 operation: half a unit in the last place."""

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Exact:
    """A number or array that is exact, not the rounded result of a computation."""

    values: Any


@dataclass(frozen=True, eq=False)
class Answer:
    """An implementation's result in float64, or a quantity computed from it, with an error bound.

    Other operands are numbers or arrays. Integers and :class:`Exact` count as exact; floats were
    computed by the kit, with a relative error of up to ``ARITHMETIC``.
    """

    case: Case
    """The call that a failure reports; if two answers are combined, that of the first."""
    output: Floats
    """The implementation's whole result for the call."""
    values: Floats
    bound: Floats
    """Largest error of each value in an honest implementation; infinite if any error is
    possible."""

    __array_ufunc__ = None
    """None, so that NumPy leaves ``array * answer`` and the like to the answer."""

    def __getitem__(self, index: Any) -> "Answer":
        return self._with(self.values[index], self.bound[index])

    def __neg__(self) -> "Answer":
        return self._with(-self.values, self.bound)

    def __add__(self, other: Any) -> "Answer":
        values, bound = _operand(other)
        total = self.values + values
        return self._with(total, self.bound + bound + _lost(total, self.values, values))

    __radd__ = __add__

    def __sub__(self, other: Any) -> "Answer":
        negated: Any = Exact(-other.values) if isinstance(other, Exact) else -other
        return self.__add__(negated)

    def __rsub__(self, other: Any) -> "Answer":
        return (-self).__add__(other)

    def __mul__(self, other: Any) -> "Answer":
        values, bound = _operand(other)
        product = self.values * values
        carried = _times(_size(self.values), bound) + _times(_size(values), self.bound)
        carried = carried + _times(self.bound, bound)
        exact = not isinstance(other, Answer) and _is_powers_of_two(values)
        return self._with(product, carried + (0.0 if exact else ROUNDING * _size(product)))

    __rmul__ = __mul__

    def __matmul__(self, other: "Answer") -> "Answer":
        """Multiply two matrices; the bounds of both must be finite."""
        sizes = _size(self.values), _size(other.values)
        carried = sizes[0] @ other.bound + self.bound @ sizes[1] + self.bound @ other.bound
        rounding = self.values.shape[-1] * ROUNDING * (sizes[0] @ sizes[1])
        return self._with(self.values @ other.values, carried + rounding)

    def __truediv__(self, other: Any) -> "Answer":
        divisor, bound = _operand(other)
        quotient = self.values / divisor
        carried = (self.bound + _times(_size(quotient), bound)) / (np.abs(divisor) - bound)
        rounding = 0.0 if _is_powers_of_two(divisor) else ROUNDING * _size(quotient)
        return self._with(quotient, carried + rounding)

    def given(self, name: str) -> "Answer":
        """Return an argument of the call as an answer with bound 0."""
        return self.known(self.case.arguments[name])

    def known(self, values: Any) -> "Answer":
        """Return exact numbers as an answer with bound 0."""
        return self._with(values, 0.0)

    def sum(self, axis: int | tuple[int, ...], *, keepdims: bool = False) -> "Answer":
        """Sum along axes; the bound holds for any order of summation in NumPy."""
        total, carried, sizes, terms = (
            part.sum(axis=axis, keepdims=keepdims)
            for part in (self.values, self.bound, _size(self.values), np.ones(self.values.shape))
        )
        return self._with(total, carried + np.maximum(terms - 1, 0) * ROUNDING * sizes)

    def where(self, mask: Mask) -> "Answer":
        """Put an exact 0 wherever the mask is false."""
        shown = np.where(mask, self.values, 0.0), np.where(mask, self.bound, 0.0)
        return self._with(*shown)

    def positive(self) -> "Answer":
        """Take the positive part: the excess of a value that should not be above 0."""
        return self._with(np.maximum(self.values, 0.0), self.bound)

    def moved(self, source: int | Sequence[int], to: int | Sequence[int]) -> "Answer":
        """Move axes, as ``numpy.moveaxis`` does."""
        return self._with(*(np.moveaxis(part, source, to) for part in (self.values, self.bound)))

    def swapped(self, first: int, second: int) -> "Answer":
        """Exchange two axes."""
        return self._with(*(np.swapaxes(part, first, second) for part in (self.values, self.bound)))

    def allowing(self, more: Any) -> "Answer":
        """Add ``more`` to the bound, for errors other than those of arithmetic on answers."""
        return self._with(self.values, self.bound + more)

    def _with(self, values: Any, bound: Any) -> "Answer":
        return replace(
            self, values=np.asarray(values), bound=np.broadcast_to(bound, np.shape(values))
        )


def _operand(other: Any) -> tuple[Any, Any]:
    """Return the values of the other operand, and the bound of their error."""
    if isinstance(other, Answer):
        return other.values, other.bound
    if isinstance(other, Exact):
        return other.values, 0.0
    exact = np.asarray(other).dtype.kind in "iub"
    return other, 0.0 if exact else ARITHMETIC * np.abs(other)


def _size(values: Any) -> Any:
    """Return magnitudes, but 0 for NaN and infinity, so that these never widen a bound."""
    return np.where(np.isfinite(values), np.abs(values), 0.0)


def _lost(total: Any, first: Any, second: Any) -> Any:
    """Bound the rounding error of a sum: 0 where each term can be recovered from it."""
    with np.errstate(invalid="ignore"):
        exact = (total - first == second) & (total - second == first)
    return np.where(exact, 0.0, ROUNDING * _size(total))


def _times(size: Any, bound: Any) -> Any:
    """Multiply by a bound that may be infinite; 0 times infinity is 0."""
    size, bound = np.broadcast_arrays(size, bound)
    return np.multiply(size, bound, out=np.zeros(size.shape), where=(size != 0) & (bound != 0))


def _is_powers_of_two(values: Any) -> bool:
    """Return whether multiplying by each of these numbers is exact: powers of two, and 0."""
    mantissa, _ = np.frexp(np.asarray(values, dtype=np.float64))
    return bool(np.isin(np.abs(mantissa), (0.0, 0.5)).all())
