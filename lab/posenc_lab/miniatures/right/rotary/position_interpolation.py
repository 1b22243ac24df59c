"""Right implementations: position interpolation."""

from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.scaled import (
    by_complex_numbers,
    by_halves,
    by_matrices,
    by_neighbours,
    plain,
    plain32,
)
from posenc_lab.miniatures.styles import (
    COLUMNS,
    FLOATS,
    KINDS,
    NARROW,
    Array,
    by_columns,
    even,
    right,
)


@right
class FrequenciesDivided:
    """transformers: float32 frequencies divided in place, sine and cosine cast to x's dtype."""

    @claims(dtype=NARROW)
    def position_interpolation_frequencies(
        self, rotary_dim: int, *, base: float, factor: float, dtype: str
    ) -> Array:
        even(rotary_dim)
        inverse = plain32(rotary_dim, base)
        inverse /= factor
        return inverse.astype(KINDS[dtype])

    @claims("half", dtype=NARROW, max_position=2**24)
    def position_interpolation(
        self, x: Array, positions: Array, *, base: float, factor: float
    ) -> Array:
        inverse = self.position_interpolation_frequencies(
            x.shape[-1], base=base, factor=factor, dtype="float32"
        )
        return by_halves(x, positions.astype(np.float32)[:, None] * inverse)


@right
class PositionsDivided:
    """The paper's wording: smaller positions, here for interleaved pairs."""

    @claims("interleaved", dtype=NARROW, max_position=2**24)
    def position_interpolation(
        self, x: Array, positions: Array, *, base: float, factor: float
    ) -> Array:
        t = positions.astype(np.float32) / np.float32(factor)
        return by_neighbours(x, np.einsum("i,j->ij", t, plain32(x.shape[-1], base)))


@right
class AnglesDivided:
    """Gemma: wavelengths, and the angle divided last, as complex numbers."""

    @claims("interleaved", dtype=["float32", "bfloat16"], max_position=2**24)
    def position_interpolation(
        self, x: Array, positions: Array, *, base: float, factor: float
    ) -> Array:
        fraction = np.arange(x.shape[-1] // 2).astype(np.float32) * np.float32(2 / x.shape[-1])
        angles = positions.astype(np.float32)[:, None] / np.float32(base) ** fraction
        return by_complex_numbers(x, angles / np.float32(factor))

    @claims(dtype="float64")
    def position_interpolation_frequencies(
        self, rotary_dim: int, *, base: float, factor: float
    ) -> Array:
        return np.array(
            [1 / (factor * base ** (2 * t / rotary_dim)) for t in range(rotary_dim // 2)]
        )


@right
class InterpolatedMatrices:
    """The block-diagonal matrix in float64, for every layout and dtype."""

    @claims("interleaved", "half", dtype=FLOATS, max_position=2**31, domain="negative")
    def position_interpolation(
        self, x: Array, positions: Array, *, base: float, factor: float, layout: str
    ) -> Array:
        even(x.shape[-1])
        return by_matrices(x, np.outer(positions / factor, plain(x.shape[-1], base)), layout)


@right
class InterpolatedTransposed:
    """The transposed Jacobian, column by column."""

    @claims("interleaved", "half", **COLUMNS)
    def position_interpolation_vjp(self, x: Array, positions: Array, **given: Any) -> Array:
        return by_columns(InterpolatedMatrices().position_interpolation, x, positions, **given)


@right
class InterpolatedConjugated:
    """flash-attention: the kernel of the forward pass with negated sines, angles in float32."""

    @claims("half", dtype=NARROW, max_position=2**24)
    def position_interpolation_vjp(
        self, x: Array, positions: Array, *, layout: str, **given: Any
    ) -> Array:
        return FrequenciesDivided().position_interpolation(x, -positions.astype(np.int64), **given)
