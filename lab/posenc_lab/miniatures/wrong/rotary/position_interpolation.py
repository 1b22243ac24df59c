"""Wrong implementations: position interpolation."""

from typing import Any

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake
from posenc_lab.miniatures.below import below_zero
from posenc_lab.miniatures.scaled import (
    BackwardCall,
    FrequencyCall,
    RotaryCall,
    backward_mistakes,
    plain,
    usual_mistakes,
    wrong_frequencies,
)


class _Frequencies:
    def frequencies(self, dim: int, base: float, *, factor: float) -> Array:
        return plain(dim, base) / factor


class InterpolationFrequencies(_Frequencies, FrequencyCall, Mistake, steps=True):
    """Frequencies divided by the factor, in steps."""

    call = "position_interpolation_frequencies"


class Interpolation(_Frequencies, RotaryCall, Mistake, steps=True):
    """Pairs rotated at the frequencies divided by the factor, in steps."""

    call = "position_interpolation"


CALLS = (InterpolationFrequencies, Interpolation)
usual_mistakes(CALLS)

wrong_frequencies(
    CALLS, "ignored", "No scaling.", lambda dim, base, factor: plain(dim, base), "unscaled"
)
wrong_frequencies(
    CALLS,
    "multiplied",
    "The factor taken for a multiplier.",
    lambda dim, base, factor: plain(dim, base) * factor,
    "multiplied",
)
wrong_frequencies(
    CALLS,
    "twice",
    "Positions and frequencies both divided.",
    lambda dim, base, factor: plain(dim, base) / factor / factor,
    "scaled-twice",
)
wrong_frequencies(
    CALLS,
    "in the exponent",
    "The range of channels divided before it becomes an exponent.",
    lambda dim, base, factor: 1.0 / base ** (np.arange(0, dim, 2) / factor / dim),
    "exponent-scaled",
)
wrong_frequencies(
    CALLS,
    "of the base",
    "A larger base instead.",
    lambda dim, base, factor: plain(
        dim, base * factor ** (dim / (dim - 2)) if dim > 2 else base * factor
    ),
    "base-scaled",
)
wrong_frequencies(
    CALLS,
    "by half",
    "Divided by the root of the factor.",
    lambda dim, base, factor: plain(dim, base) / factor**0.5,
)
wrong_frequencies(
    CALLS,
    "but for pair 0",
    "The fastest pair left alone.",
    lambda dim, base, factor: np.where(np.arange(dim // 2), plain(dim, base) / factor, 1.0),
)


class InterpolationInWholeNumbers(Interpolation):
    """Positions are divided by the integer part of the factor, and rounded down."""

    def answer(self, x: Array, positions: Array, *, factor: float, **given: Any) -> Array:
        return super().answer(x, positions // int(factor), factor=1.0, **given)


class InterpolationRounded(Interpolation):
    """Positions are rounded after the division."""

    def answer(self, x: Array, positions: Array, *, factor: float, **given: Any) -> Array:
        return super().answer(x, np.rint(positions / factor), factor=1.0, **given)


class InterpolationOfLongTexts(Interpolation):
    """Only calls with a position from 4,096 on are scaled."""

    def answer(self, x: Array, positions: Array, *, factor: float, **given: Any) -> Array:
        scale = factor if positions.max(initial=0) >= 4096 else 1.0
        return super().answer(x, positions, factor=scale, **given)


class InterpolationBack(_Frequencies, BackwardCall, Mistake, steps=True):
    """Upstream gradients rotated back at the same frequencies, in steps."""

    call = "position_interpolation_vjp"


backward_mistakes(InterpolationBack)

below_zero(Interpolation, "interleaved")
below_zero(InterpolationBack, "interleaved")
