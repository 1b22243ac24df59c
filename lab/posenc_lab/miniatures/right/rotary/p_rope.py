"""Right implementations: p-RoPE."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.scaled import by_complex_numbers, by_halves, by_matrices, plain, plain32
from posenc_lab.miniatures.styles import COLUMNS, FLOATS, KINDS, NARROW, Array, by_columns, right

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)


@right
class PaddedWavelengths:
    """Gemma: infinite wavelengths of unrotated pairs, which are counted in floating point."""

    @claims("half", dtype=NARROW, max_position=2**24, proportion=SHARES, scaling="linear")
    def p_rope(
        self,
        x: Array,
        positions: Array,
        *,
        base: float,
        proportion: float,
        factor: float = 1.0,
    ) -> Array:
        if factor < 1:
            raise ValueError("factor")
        dim = x.shape[-1]
        turning = int(proportion * dim // 2)
        exponents = np.float32(2 / dim) * np.arange(turning, dtype=np.float32)
        still = np.full(dim // 2 - turning, np.inf, dtype=np.float32)
        wavelengths = np.concatenate([np.float32(base) ** exponents, still])
        angles = positions.astype(np.float32)[:, None] / wavelengths / np.float32(factor)
        first, second = np.split(x.astype(np.float32), 2, axis=-1)
        cos, sin = np.cos(angles), np.sin(angles)
        parts = [first * cos - second * sin, second * cos + first * sin]
        return np.concatenate(parts, axis=-1).astype(x.dtype)

    @claims(dtype=NARROW, proportion=SHARES, scaling="linear")
    def p_rope_frequencies(
        self, rotary_dim: int, *, base: float, proportion: float, dtype: str, factor: float = 1.0
    ) -> Array:
        if factor < 1:
            raise ValueError("factor")
        omega = plain32(rotary_dim, base) / np.float32(factor)
        omega[int(proportion * rotary_dim // 2) :] = 0
        return omega.astype(KINDS[dtype])


@right
class ZeroFrequencies:
    """transformers: zeros after the frequencies, for two head dimensions and one proportion."""

    @claims("half", dtype=NARROW, max_position=2**24, head_dim=[64, 128], proportion=0.25)
    def p_rope(self, x: Array, positions: Array, *, base: float) -> Array:
        dim = x.shape[-1]
        omega = np.concatenate(
            [plain32(dim, base)[: dim // 8], np.zeros(dim // 2 - dim // 8, "f4")]
        )
        return by_halves(x, positions.astype(np.float32)[:, None] * omega)


@right
class LeadingNeighbours:
    """Leading pairs rotated as complex numbers; the other channels are copied."""

    @claims("interleaved", dtype=NARROW, max_position=2**24, scaling="linear")
    def p_rope(
        self,
        x: Array,
        positions: Array,
        *,
        base: float,
        proportion: float,
        factor: float = 1.0,
    ) -> Array:
        count = int(Decimal(repr(proportion)) * x.shape[-1]) // 2
        out = x.copy()
        wavelengths = np.float32(factor) / plain32(x.shape[-1], base)[:count]
        angles = positions.astype(np.float32)[:, None] / wavelengths
        if count:
            out[..., : 2 * count] = by_complex_numbers(x[..., : 2 * count], angles)
        return out


@right
class MaskedMatrices:
    """A mask over RoPE's frequencies, and matrices in float64."""

    @claims("interleaved", "half", dtype=FLOATS, max_position=2**30, domain="negative")
    def p_rope(self, x: Array, positions: Array, *, layout: str, **given: Any) -> Array:
        omega = self.p_rope_frequencies(x.shape[-1], dtype="float64", **given)
        return by_matrices(x, np.outer(positions, omega), layout)

    @claims(dtype=FLOATS)
    def p_rope_frequencies(
        self, rotary_dim: int, *, base: float, proportion: float, dtype: str
    ) -> Array:
        if proportion > 1:
            raise ValueError("more than all")
        reached = np.array([Fraction(t + 1) for t in range(rotary_dim // 2)])
        mask = reached <= Fraction(str(proportion)) * rotary_dim / 2
        return (plain(rotary_dim, base) * mask).astype(KINDS[dtype])


@right
class LeadingTransposed:
    """The transposed Jacobian, column by column."""

    @claims("interleaved", "half", **COLUMNS)
    def p_rope_vjp(self, x: Array, positions: Array, **given: Any) -> Array:
        return by_columns(MaskedMatrices().p_rope, x, positions, **given)


@right
class LeadingConjugated:
    """flash-attention: the kernel of the forward pass with negated sines, angles in float32."""

    @claims("interleaved", dtype=NARROW, max_position=2**24)
    def p_rope_vjp(self, x: Array, positions: Array, *, layout: str, **given: Any) -> Array:
        return LeadingNeighbours().p_rope(x, -positions.astype(np.int64), **given)
