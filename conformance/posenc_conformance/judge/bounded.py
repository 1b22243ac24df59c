"""Arithmetic on answers that carries the bound of its own error.

What is computed from answers inherits their errors, and the kit's own float64 arithmetic rounds it
as well. Every operation here adds both to the bound, so no term can be forgotten.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Floats
from posenc_conformance.judge.case import Case

ARITHMETIC = 2.0**-50
"""Relative error granted to a float that the kit has computed: four units in the last place."""

ROUNDING = UNIT_ROUNDOFF["float64"]
"""Largest relative error of one float64 operation: half a unit in the last place."""

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
    """None, so that an array on the left leaves the operation to the answer on its right."""

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
        """Make an answer with bound 0 of an argument of the call, to be computed with."""
        return self.known(self.case.arguments[name])

    def known(self, values: Any) -> "Answer":
        """Make an answer with bound 0 of numbers that are exactly what is meant."""
        return self._with(values, 0.0)

    def sum(self, axis: int | tuple[int, ...], *, keepdims: bool = False) -> "Answer":
        """Add up along axes; the bound holds in whatever order NumPy adds."""
        total, carried, sizes, terms = (
            each.sum(axis=axis, keepdims=keepdims)
            for each in (self.values, self.bound, _size(self.values), np.ones(self.values.shape))
        )
        return self._with(total, carried + np.maximum(terms - 1, 0) * ROUNDING * sizes)

    def where(self, mask: Mask) -> "Answer":
        """Put an exact 0 wherever the mask is false."""
        shown = np.where(mask, self.values, 0.0), np.where(mask, self.bound, 0.0)
        return self._with(*shown)

    def positive(self) -> "Answer":
        """Take the positive part: what is left of a value that should not be above 0."""
        return self._with(np.maximum(self.values, 0.0), self.bound)

    def moved(self, source: int | Sequence[int], to: int | Sequence[int]) -> "Answer":
        """Move axes, as ``numpy.moveaxis`` does."""
        return self._with(*(np.moveaxis(each, source, to) for each in (self.values, self.bound)))

    def swapped(self, first: int, second: int) -> "Answer":
        """Exchange two axes."""
        return self._with(*(np.swapaxes(each, first, second) for each in (self.values, self.bound)))

    def allowing(self, more: Any) -> "Answer":
        """Allow more error, which does not come from arithmetic on answers."""
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
    """Bound the rounding error of a sum: 0 where each term can be got back from it."""
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
