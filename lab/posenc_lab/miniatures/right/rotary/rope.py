"""Right implementations: rotary embedding."""

import math
from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import (
    FLOATS,
    NARROW,
    Array,
    even,
    right,
    rotate_every_two,
    rotate_half,
)


@right
class RotateHalf:
    """Llama in transformers: sine and cosine in float32, cast to the dtype of x before use."""

    @claims("half", dtype=NARROW, max_position=2**24)
    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        even(x.shape[-1])
        inverse = (1.0 / base ** (np.arange(0, x.shape[-1], 2) / x.shape[-1])).astype(np.float32)
        angles = positions.astype(np.float32)[:, None] * inverse
        emb = np.concatenate([angles, angles], axis=-1)
        cos, sin = np.cos(emb).astype(x.dtype), np.sin(emb).astype(x.dtype)
        return (x * cos) + (rotate_half(x) * sin)


@right
class ComplexNumbers:
    """Meta's Llama: pairs as complex numbers in float32, rounded at the end."""

    @claims("interleaved", dtype=NARROW, max_position=2**24)
    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        head_dim = x.shape[-1]
        exponent = np.arange(0, head_dim, 2)[: head_dim // 2].astype(np.float32) / head_dim
        frequencies = (1.0 / base**exponent).astype(np.float32)
        angles = np.outer(positions.astype(np.float32), frequencies)
        turn = (np.cos(angles) + 1j * np.sin(angles)).astype(np.complex64)
        pairs = np.ascontiguousarray(x, dtype=np.float32).view(np.complex64)
        return np.ascontiguousarray(pairs * turn).view(np.float32).astype(x.dtype)


@right
class RotationMatrices:
    """The paper's block-diagonal matrix, written out and multiplied; layouts as permutations."""

    @claims(
        "interleaved",
        "half",
        "interleaved-to-half",
        dtype=FLOATS,
        max_position=2**31,
        domain="negative",
    )
    def rope(self, x: Array, positions: Array, *, base: float, layout: str) -> Array:
        head_dim = x.shape[-1]
        even(head_dim)
        halves = np.arange(head_dim).reshape(2, -1)
        pairs = np.arange(head_dim).reshape(-1, 2).T
        read = halves if layout == "half" else pairs
        written = pairs if layout == "interleaved" else halves
        matrix = np.zeros((len(positions), head_dim, head_dim))
        for t in range(head_dim // 2):
            angle = positions * base ** (-2 * t / head_dim)
            matrix[:, written[0, t], read[0, t]] = np.cos(angle)
            matrix[:, written[0, t], read[1, t]] = -np.sin(angle)
            matrix[:, written[1, t], read[0, t]] = np.sin(angle)
            matrix[:, written[1, t], read[1, t]] = np.cos(angle)
        return np.matmul(matrix, x.astype(np.float64)[..., None])[..., 0].astype(x.dtype)


@right
class InterleavedToHalf:
    """DeepSeek: a view and a transpose turn pairs into halves, then the usual rotation."""

    @claims("interleaved-to-half", dtype=NARROW, max_position=2**20)
    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        d = x.shape[-1]
        even(d)
        inverse = (1.0 / base ** (np.arange(0, d, 2) / d)).astype(np.float32)
        angles = np.tile(positions.astype(np.float32)[:, None] * inverse, 2)
        cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
        split = x.reshape(*x.shape[:-1], d // 2, 2).swapaxes(-1, -2).reshape(x.shape)
        return split * cos + rotate_half(split) * sin


@right
class PartialHalf:
    """GPT-NeoX: leading channels rotated, the others concatenated unchanged."""

    @claims("half", dtype=FLOATS, rotation="partial", max_position=2**24, domain="negative")
    def rope(
        self, x: Array, positions: Array, *, base: float, rotary_dim: int | None = None
    ) -> Array:
        size = x.shape[-1] if rotary_dim is None else rotary_dim
        even(size)
        if size > x.shape[-1]:
            raise ValueError(f"{size} of {x.shape[-1]} channels cannot be rotated")
        turned, unrotated = x[..., :size], x[..., size:]
        kind = np.float64 if x.dtype == np.float64 else np.float32
        inverse = (1.0 / base ** (np.arange(0, size, 2) / size)).astype(kind)
        angles = np.multiply.outer(positions.astype(kind), inverse)
        emb = np.concatenate((angles, angles), axis=-1)
        turned = turned.astype(kind) * np.cos(emb) + rotate_half(turned.astype(kind)) * np.sin(emb)
        return np.concatenate([turned.astype(x.dtype), unrotated], axis=-1)


@right
class PartialEveryTwo:
    """GPT-J: sines and cosines repeated per pair, in one buffer with the unrotated channels."""

    @claims("interleaved", dtype=NARROW, rotation="partial", max_position=100_000)
    def rope(self, x: Array, positions: Array, **keywords: Any) -> Array:
        size = keywords.get("rotary_dim") or x.shape[-1]
        even(size)
        inverse = 1.0 / keywords["base"] ** (np.arange(0, size, 2) / size)
        sinusoid = np.einsum("i,j->ij", positions.astype(np.float32), inverse.astype(np.float32))
        sin, cos = (np.repeat(f(sinusoid), 2, axis=-1).astype(x.dtype) for f in (np.sin, np.cos))
        out = x.copy()
        head = x[..., :size]
        out[..., :size] = head * cos + rotate_every_two(head) * sin
        return out


@right
class PartialInterleavedToHalf:
    """Pairs gathered by index, in float64, angles reduced modulo a turn first."""

    @claims(
        "interleaved-to-half",
        dtype=FLOATS,
        rotation="partial",
        max_position=2**30,
        domain="negative",
    )
    def rope(
        self, x: Array, positions: Array, *, base: float, rotary_dim: int | None = None
    ) -> Array:
        r = x.shape[-1] if rotary_dim is None else rotary_dim
        even(r)
        angles = positions[:, None] * base ** (-2 * np.arange(r // 2) / r) % (2 * np.pi)
        first, second = (np.take(x, np.arange(k, r, 2), axis=-1).astype(float) for k in (0, 1))
        cos, sin = np.cos(angles), np.sin(angles)
        parts = [first * cos - second * sin, second * cos + first * sin]
        return np.concatenate([*(p.astype(x.dtype) for p in parts), x[..., r:]], axis=-1)


@right
class LoopsOverEverything:
    """Loops over rows and pairs, in Python floats."""

    @claims("interleaved", dtype=["float64", "float16"], max_position=2**31)
    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        *_, n, d = x.shape
        even(d)
        if n != len(positions):
            raise ValueError("one position per row")
        out = np.empty_like(x)
        for index in np.ndindex(*x.shape[:-1]):
            position = int(positions[index[-1]])
            for t in range(0, d, 2):
                sin, cos = (
                    math.sin(position * base ** (-t / d)),
                    math.cos(position / base ** (t / d)),
                )
                a, b = float(x[(*index, t)]), float(x[(*index, t + 1)])
                out[(*index, t)] = a * cos - b * sin
                out[(*index, t + 1)] = b * cos + a * sin
        return out


@right
class CachedTables:
    """Sine and cosine tables per size and base, grown on demand, cast on use."""

    def __init__(self) -> None:
        self._tables: dict[tuple[int, float], tuple[Array, Array]] = {}

    @claims("half", dtype=NARROW, max_position=16_384)
    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        cos, sin = self._grown(x.shape[-1], base, int(positions.max(initial=0)) + 1)
        c, s = cos[positions].astype(x.dtype), sin[positions].astype(x.dtype)
        a, b = np.split(x, 2, axis=-1)
        return np.concatenate([a * c - b * s, b * c + a * s], axis=-1)

    def _grown(self, d: int, base: float, length: int) -> tuple[Array, Array]:
        tables = self._tables.get((d, base))
        if tables is None or len(tables[0]) < length:
            angles = np.outer(np.arange(2 * length), base ** (-np.arange(0, d, 2) / d))
            tables = np.cos(angles).astype("f4"), np.sin(angles).astype("f4")
            self._tables[d, base] = tables
        return tables


@right
class FixedBase:
    """One layout, one base, one dtype, no keywords."""

    @claims("half", base=10000.0)
    def rope(self, x: Array, positions: Array) -> Array:
        half = x.shape[-1] // 2
        angles = positions[:, None] / 10000 ** (np.arange(half) / half)
        lower, upper = x[..., :half], x[..., half:]
        both = [lower * np.cos(angles) - upper * np.sin(angles)]
        both += [upper * np.cos(angles) + lower * np.sin(angles)]
        return np.concatenate(both, axis=-1).astype(np.float32)


@right
class TwoByTwo:
    """A batch of 2x2 matrices, by einsum in float64."""

    @claims("interleaved", dtype=["float64", "float32", "bfloat16"], max_position=2**26)
    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        even(x.shape[-1])
        theta = np.multiply.outer(positions, np.exp(-np.log(base) * self._exponents(x.shape[-1])))
        blocks = np.array([[np.cos(theta), -np.sin(theta)], [np.sin(theta), np.cos(theta)]])
        pairs = x.astype(np.float64).reshape(*x.shape[:-1], x.shape[-1] // 2, 2)
        return np.einsum("abnt,...ntb->...nta", blocks, pairs).reshape(x.shape).astype(x.dtype)

    @staticmethod
    def _exponents(d: int) -> Array:
        return np.linspace(0, 1, d // 2, endpoint=False)


@right
class PolarCoordinates:
    """Length and direction of every pair; rotation adds to the direction."""

    @claims("half", dtype=["float32", "float16"], max_position=2**24)
    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        even(x.shape[-1])
        a, b = np.split(x.astype(np.float64), 2, axis=-1)
        direction = np.arctan2(b, a) + np.outer(
            positions, base ** -(np.arange(a.shape[-1]) / a.shape[-1])
        )
        length = np.hypot(a, b)
        turned = length * np.cos(direction), length * np.sin(direction)
        return np.concatenate(turned, axis=-1).astype(x.dtype)


@right
class SwappedNeighbours:
    """x times cosine plus its neighbours times a sine of alternating sign, fused in float32."""

    @claims(layout="interleaved", dtype=NARROW)
    def rope(self, x: Array, positions: Array, *, base: float, layout: str) -> Array:
        d = x.shape[-1]
        even(d)
        angles = positions[:, None] * np.float64(base) ** (-(np.arange(d) // 2) / (d / 2))
        cos = np.cos(angles).astype(np.float32)
        sin = (np.sin(angles) * np.tile([-1.0, 1.0], d // 2)).astype(np.float32)
        wide = x.astype(np.float32)
        return (wide * cos + wide[..., np.arange(d) ^ 1] * sin).astype(x.dtype)


@right
class SomeHeadsOnly:
    """A kernel for two head dimensions with 32 rotated channels, in Fortran order."""

    @claims("half", rotation="partial", rotary_dim=32, head_dim=[64, 80], dtype=["float32"])
    def rope(
        self, x: Array, positions: Array, rotary_dim: int | None = None, base: float = 1e4
    ) -> Array:
        r = x.shape[-1] if rotary_dim is None else 32
        out = np.array(x, order="F")
        angles = positions[:, None] / base ** (np.arange(r // 2) * 2 / r)
        out[..., : r // 2] -= 2 * np.sin(angles / 2) ** 2 * x[..., : r // 2]
        out[..., : r // 2] -= np.sin(angles) * x[..., r // 2 : r]
        out[..., r // 2 : r] -= 2 * np.sin(angles / 2) ** 2 * x[..., r // 2 : r]
        out[..., r // 2 : r] += np.sin(angles) * x[..., : r // 2]
        return out


@right
class BackwardByTransposedMatrices:
    """The Jacobian of every row written out, transposed and applied to the gradient."""

    @claims(
        "interleaved",
        "half",
        "interleaved-to-half",
        dtype=FLOATS,
        head_dim=[2, 4, 8],
        domain="negative",
    )
    def rope_vjp(self, x: Array, positions: Array, *, base: float, layout: str) -> Array:
        head_dim = x.shape[-1]
        even(head_dim)
        if len(positions) != x.shape[-2]:
            raise ValueError(positions.shape)
        half = head_dim // 2
        out = np.empty(x.shape)
        for row, position in enumerate(np.asarray(positions).tolist()):
            jacobian = np.zeros((head_dim, head_dim))
            for t in range(half):
                together, apart = (2 * t, 2 * t + 1), (t, t + half)
                a, b = apart if layout == "half" else together
                c, d = together if layout == "interleaved" else apart
                angle = position * base ** (-t / half)
                jacobian[c, a] = jacobian[d, b] = np.cos(angle)
                jacobian[c, b], jacobian[d, a] = -np.sin(angle), np.sin(angle)
            out[..., row, :] = x[..., row, :].astype(np.float64) @ jacobian
        return out.astype(x.dtype)


@right
class BackwardByConjugates:
    """Complex multiplication by the conjugate, float32 angles, any rotary_dim."""

    @claims("interleaved", dtype=NARROW, rotation="partial")
    def rope_vjp(
        self, x: Array, positions: Array, *, base: float, rotary_dim: int | None = None
    ) -> Array:
        width = rotary_dim or x.shape[-1]
        even(width)
        if width > x.shape[-1] or len(positions) != x.shape[-2]:
            raise ValueError(x.shape)
        head = np.ascontiguousarray(x[..., :width], dtype=np.float32)
        pairs = head.view(np.complex64)
        exponents = np.arange(0, width, 2, dtype=np.float32) / np.float32(width)
        omega = np.float32(1) / np.float32(base) ** exponents
        angles = np.multiply.outer(np.asarray(positions, np.float32), omega)
        turned = (pairs * np.exp(np.complex64(-1j) * angles)).astype(np.complex64)
        return np.concatenate([turned.view(np.float32).astype(x.dtype), x[..., width:]], axis=-1)


@right
class Polar:
    """Each pair as a length and an angle, to which the position's angle is added."""

    @claims("interleaved", "half", dtype=FLOATS, max_position=2**20, domain="negative")
    def rope(self, x: Array, positions: Array, *, base: float, layout: str) -> Array:
        even(x.shape[-1])
        half = x.shape[-1] // 2
        wide = x.astype(np.float64 if x.dtype == np.float64 else np.float32)
        pairs = np.stack([wide[..., :half], wide[..., half:]], axis=-1)
        if layout == "interleaved":
            pairs = wide.reshape(*x.shape[:-1], half, 2)
        inverse = (base ** -(np.arange(half) / half)).astype(wide.dtype)
        length = np.hypot(pairs[..., 0], pairs[..., 1])
        angle = np.arctan2(pairs[..., 1], pairs[..., 0])
        angle = angle + positions.astype(wide.dtype)[:, None] * inverse
        turned = np.stack([length * np.cos(angle), length * np.sin(angle)], axis=-1)
        if layout == "interleaved":
            return turned.reshape(x.shape).astype(x.dtype)
        return np.concatenate([turned[..., 0], turned[..., 1]], axis=-1).astype(x.dtype)
