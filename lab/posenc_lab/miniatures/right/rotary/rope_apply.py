"""Right implementations: rotation by given tables."""

from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, Array, right, rotate_every_two, rotate_half


@right
class InTheDtypeOfX:
    """transformers: every product and the sum rounded to the dtype of x."""

    @claims("half-doubled", "interleaved-doubled", dtype=FLOATS)
    def rope_apply(self, x: Array, cos: Array, sin: Array, *, layout: str) -> Array:
        turned = rotate_half(x) if layout == "half" else rotate_every_two(x)
        return (x * cos).astype(x.dtype) + (turned * sin).astype(x.dtype)


@right
class WideInside:
    """Kernels: float32 or wider inside, rounded once, with partial rotation."""

    @claims("half", "interleaved", dtype=FLOATS, rotation="partial")
    def rope_apply(self, x: Array, cos: Array, sin: Array, *, layout: str) -> Array:
        if len(cos) != x.shape[-2]:
            raise ValueError("as many rows of tables as of x are needed")
        width = 2 * cos.shape[1]
        places = np.arange(width).reshape((2, -1) if layout == "half" else (-1, 2))
        first, second = places if layout == "half" else places.T
        kind: Any = np.float64 if x.dtype == np.float64 else np.float32
        wide, c, s = x.astype(kind), cos.astype(kind), sin.astype(kind)
        out = wide.copy()
        out[..., first] = wide[..., first] * c - wide[..., second] * s
        out[..., second] = wide[..., second] * c + wide[..., first] * s
        return out.astype(x.dtype)

    @claims("cache-half", "cache-interleaved", dtype=FLOATS, rotation="partial")
    def rope_apply_cache(self, x: Array, rows: Array, cache: Array, *, layout: str) -> Array:
        half = cache.shape[1] // 2
        picked = cache[rows]
        return self.rope_apply(x, picked[:, :half], picked[:, half:], layout=layout)


@right
class AsComplexNumbers:
    """Meta's Llama: a product of complex numbers."""

    @claims("pairs-interleaved", dtype=FLOATS)
    def rope_apply_pairs(self, x: Array, cis: Array) -> Array:
        kind = np.float64 if x.dtype == np.float64 else np.float32
        pairs = x.astype(kind).reshape(*x.shape[:-1], -1, 2)
        narrow: Any = np.complex128 if x.dtype == np.float64 else np.complex64
        numbers = np.ascontiguousarray(pairs).view(narrow)[..., 0]
        turned = numbers * np.ascontiguousarray(cis.astype(kind)).view(narrow)[..., 0]
        out = np.stack([turned.real, turned.imag], axis=-1)
        return out.reshape(x.shape).astype(x.dtype)


@right
class TurnedByMatrices:
    """A matrix per row, in float64."""

    @claims("half", "half-doubled", dtype="float64", rotation="partial")
    def rope_apply(self, x: Array, cos: Array, sin: Array, *, table: str) -> Array:
        pairs = cos.shape[1] // (2 if table == "doubled" else 1)
        matrix = np.zeros((len(cos), x.shape[-1], x.shape[-1]))
        matrix[:] = np.eye(x.shape[-1])
        for pair in range(pairs):
            matrix[:, pair, pair] = matrix[:, pair + pairs, pair + pairs] = cos[:, pair]
            matrix[:, pair, pair + pairs] = -sin[:, pair]
            matrix[:, pair + pairs, pair] = sin[:, pair]
        return np.asarray((matrix @ x[..., None])[..., 0])
