"""Right implementations: PoPE."""

import math

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, NARROW, Array, right


@right
class PolarAsReleased:
    """x-transformers' steps in float32: reciprocal powers, then cosines and sines separately."""

    @claims("half", "interleaved", dtype=NARROW)
    def pope_query(self, x: Array, positions: Array, *, layout: str, base: float) -> Array:
        return self._turned(x, self._angles(positions, x.shape[-1], base), layout)

    @claims("half", "interleaved", dtype=NARROW)
    def pope_key(
        self, x: Array, positions: Array, bias: Array, *, layout: str, base: float
    ) -> Array:
        if bias.shape != x.shape[-1:]:
            raise ValueError(bias.shape)
        phase = np.clip(bias.astype(np.float32), np.float32(-2 * math.pi), np.float32(0))
        return self._turned(x, self._angles(positions, x.shape[-1], base) + phase, layout)

    def _angles(self, positions: Array, head_dim: int, base: float) -> Array:
        single = np.float32
        if base <= 0:
            raise ValueError(base)
        exponents = np.arange(head_dim, dtype=single) / single(head_dim)
        return np.multiply.outer(positions.astype(single), single(1) / single(base) ** exponents)

    def _turned(self, x: Array, angles: Array, layout: str) -> Array:
        wide = x.astype(np.float32)
        length = np.maximum(wide, 0) + np.log1p(np.exp(-np.abs(wide)))
        parts = [length * np.cos(angles), length * np.sin(angles)]
        if layout == "half":
            return np.concatenate(parts, axis=-1).astype(x.dtype)
        return np.stack(parts, axis=-1).reshape(*x.shape[:-1], 2 * x.shape[-1]).astype(x.dtype)


@right
class PolarAsComplexNumbers:
    """Magnitudes times complex exponentials, in float64."""

    @claims("half", "interleaved", dtype=FLOATS, max_position=2**20, domain="negative")
    def pope_query(self, x: Array, positions: Array, *, layout: str, base: float) -> Array:
        return self._turned(x, positions, np.zeros(x.shape[-1]), layout, base)

    @claims("half", "interleaved", dtype=FLOATS, max_position=2**20, domain="negative")
    def pope_key(
        self, x: Array, positions: Array, bias: Array, *, layout: str, base: float
    ) -> Array:
        if len(bias) != x.shape[-1]:
            raise ValueError(bias.shape)
        phase = np.maximum(-2 * math.pi, np.minimum(bias.astype(float), 0))
        return self._turned(x, positions, phase, layout, base)

    def _turned(self, x: Array, positions: Array, phase: Array, layout: str, base: float) -> Array:
        if base <= 0:
            raise ValueError(base)
        rates = np.exp(-math.log(base) * np.arange(x.shape[-1]) / x.shape[-1])
        circle = np.exp(1j * (positions[:, None] * rates + phase))
        z = np.logaddexp(0, x.astype(float)) * circle
        if layout == "interleaved":
            return np.ascontiguousarray(z).view(np.float64).astype(x.dtype)
        return np.concatenate([z.real, z.imag], axis=-1).astype(x.dtype)
