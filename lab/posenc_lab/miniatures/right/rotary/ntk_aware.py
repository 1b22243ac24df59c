"""Right implementations: NTK-aware scaling."""

import math
from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.scaled import by_complex_numbers, by_halves, by_matrices, plain, plain32
from posenc_lab.miniatures.styles import COLUMNS, FLOATS, KINDS, NARROW, Array, by_columns, right


@right
class BaseInPython:
    """The authors of YaRN: the base in Python floats, the rest in float32."""

    @claims(dtype=NARROW)
    def ntk_aware_frequencies(
        self, rotary_dim: int, *, base: float, factor: float, dtype: str
    ) -> Array:
        base = base * factor ** (rotary_dim / (rotary_dim - 2))
        return plain32(rotary_dim, base).astype(KINDS[dtype])

    @claims("half", dtype=NARROW, max_position=2**24)
    def ntk_aware(self, x: Array, positions: Array, *, base: float, factor: float) -> Array:
        base *= factor ** (x.shape[-1] / (x.shape[-1] - 2))
        return by_halves(x, np.outer(positions.astype(np.float32), plain32(x.shape[-1], base)))


@right
class BaseInFloat32:
    """The base in float32 too, powers by exponential and logarithm; pairs as complex numbers."""

    @claims("interleaved", dtype=NARROW, max_position=2**24)
    def ntk_aware(self, x: Array, positions: Array, *, base: float, factor: float) -> Array:
        if x.shape[-1] < 4:
            raise ValueError("at least two pairs")
        dim = np.float32(x.shape[-1])
        larger = np.float32(base) * np.float32(factor) ** (dim / (dim - 2))
        exponent = np.arange(0, x.shape[-1], 2, dtype=np.float32) / dim
        omega = np.exp(-np.log(larger) * exponent)
        return by_complex_numbers(x, positions.astype(np.float32)[:, None] * omega)


@right
class SlowedDown:
    """RoPE's frequencies, each slowed down by a power of the factor; matrices in float64."""

    @claims("interleaved", "half", dtype=FLOATS, max_position=2**30, domain="negative")
    def ntk_aware(
        self, x: Array, positions: Array, *, base: float, factor: float, layout: str
    ) -> Array:
        omega = self.ntk_aware_frequencies(x.shape[-1], base=base, factor=factor, dtype="float64")
        return by_matrices(x, np.outer(positions, omega), layout)

    @claims(dtype=FLOATS)
    def ntk_aware_frequencies(
        self, rotary_dim: int, *, base: float, factor: float, dtype: str
    ) -> Array:
        if rotary_dim < 4:
            raise ValueError("at least two pairs")
        slower = factor ** (-np.arange(0, rotary_dim, 2) / (rotary_dim - 2))
        return (plain(rotary_dim, base) * slower).astype(KINDS[dtype])


@right
class RatioByRatio:
    """One ratio, multiplied repeatedly, in float64."""

    @claims(dtype=["float32", "bfloat16"])
    def ntk_aware_frequencies(
        self, rotary_dim: int, *, base: float, factor: float, dtype: str
    ) -> Array:
        larger = math.log(base) + math.log(factor) * rotary_dim / (rotary_dim - 2)
        ratio, omega = math.exp(-2 * larger / rotary_dim), [1.0]
        while len(omega) < rotary_dim // 2:
            omega.append(omega[-1] * ratio)
        return np.array(omega).astype(KINDS[dtype])


@right
class SlowedTransposed:
    """The transposed Jacobian, column by column."""

    @claims("interleaved", "half", **COLUMNS)
    def ntk_aware_vjp(self, x: Array, positions: Array, **given: Any) -> Array:
        return by_columns(SlowedDown().ntk_aware, x, positions, **given)


@right
class SlowedConjugated:
    """flash-attention: the kernel of the forward pass with negated sines, angles in float32."""

    @claims("half", dtype=NARROW, max_position=2**24)
    def ntk_aware_vjp(self, x: Array, positions: Array, *, layout: str, **given: Any) -> Array:
        return BaseInPython().ntk_aware(x, -positions.astype(np.int64), **given)
