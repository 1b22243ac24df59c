"""Right implementations: xPos."""

import cmath
import math
from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, NARROW, Array, even, right

NEAR = 2047
"""The largest position for a scale base of 512 in float16."""


@right
class XposTables:
    """torchscale: float32 tables for the whole sequence, from which rows are gathered."""

    @claims("torchscale", dtype=NARROW, base=10000.0, max_position=NEAR)
    def xpos(
        self, x: Array, positions: Array, *, scale_base: float = 512.0, downscale: int
    ) -> Array:
        dim = x.shape[-1]
        even(dim)
        length = int(positions.max(initial=-1)) + 1
        first = -length // 2
        zeta = (np.arange(0, dim, 2, dtype=np.float32) + 0.4 * dim) / (1.4 * dim)
        power = np.arange(first, length + first).astype(np.float32)[:, None]
        scale = zeta.astype(np.float32) ** (power / np.float32(scale_base))
        frequency = 1.0 / 10000 ** (np.arange(dim // 2, dtype=np.float32) / np.float32(dim // 2))
        angle = np.arange(length, dtype=np.float32)[:, None] * frequency.astype(np.float32)
        if downscale:
            scale = 1 / scale
        sin, cos = (
            np.repeat(wave(angle) * scale, 2, axis=-1)[positions] for wave in (np.sin, np.cos)
        )
        swapped = np.stack([-x[..., 1::2], x[..., 0::2]], axis=-1).reshape(x.shape)
        wide, swapped = x.astype(np.float32), swapped.astype(np.float32)
        return (wide * cos + swapped * sin).astype(x.dtype)


@right
class XposHalves:
    """flash-attention: sine and cosine scaled in float32, cast to the dtype of x, then halves."""

    @claims("flash-attention", dtype=NARROW, max_position=NEAR)
    def xpos(
        self, x: Array, positions: Array, *, base: float, scale_base: float, downscale: int
    ) -> Array:
        dim = x.shape[-1]
        even(dim)
        inverse = 1 / np.float32(base) ** (np.arange(0, dim, 2, dtype=np.float32) / np.float32(dim))
        angles = np.outer(positions.astype(np.float32), inverse)
        center = (int(positions.max(initial=-1)) + 1) // 2
        power = (positions.astype(np.float32) - np.float32(center)) / np.float32(scale_base)
        zeta = (np.arange(0, dim, 2, dtype=np.float32) + np.float32(0.4 * dim)) / np.float32(
            1.4 * dim
        )
        scale = zeta ** power[:, None]
        waves = np.cos(angles), np.sin(angles)
        cos, sin = ((wave / scale if downscale else wave * scale).astype(x.dtype) for wave in waves)
        a, b = x[..., : dim // 2], x[..., dim // 2 :]
        return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


@right
class XposRepeated:
    """rotary-embedding-torch: the scale in the dtype of x, inverted there for keys."""

    @claims("lucidrains", dtype=NARROW, max_position=NEAR)
    def xpos(
        self, x: Array, positions: Array, *, base: float, scale_base: float, downscale: int
    ) -> Array:
        dim = x.shape[-1]
        even(dim)
        frequencies = 1.0 / base ** (np.arange(0, dim, 2).astype(np.float32) / dim)
        angles = np.repeat(positions.astype(np.float32)[:, None] * frequencies, 2, axis=-1)
        center = (int(positions.max(initial=-1)) + 1) // 2
        power = (positions - center).astype(np.float32) / np.float32(scale_base)
        zeta = ((np.arange(0, dim, 2) + 0.4 * dim) / (1.4 * dim)).astype(np.float32)
        scale = np.repeat(zeta ** power[:, None], 2, axis=-1).astype(x.dtype)
        if downscale:
            scale = (np.float32(1) / scale.astype(np.float32)).astype(x.dtype)
        wide, factor = x.astype(np.float32), scale.astype(np.float32)
        swapped = np.stack([-wide[..., 1::2], wide[..., 0::2]], axis=-1).reshape(x.shape)
        turned = wide * np.cos(angles) * factor + swapped * np.sin(angles) * factor
        return turned.astype(x.dtype)


@right
class XposComplexExponent:
    """The formula: one complex exponential for rotation and scale."""

    @claims("uncentred", dtype=FLOATS, max_position=NEAR, domain="negative")
    def xpos(self, x: Array, positions: Array, **keywords: Any) -> Array:
        half = x.shape[-1] // 2
        even(x.shape[-1])
        t = np.arange(half) / half
        decay = np.log((t + 0.4) / 1.4) / keywords["scale_base"]
        rate = (1 - 2 * keywords["downscale"]) * decay + 1j * keywords["base"] ** -t
        pairs = (x[..., 0::2] + 1j * x[..., 1::2].astype(float)) * np.exp(positions[:, None] * rate)
        return np.stack([pairs.real, pairs.imag], axis=-1).reshape(x.shape).astype(x.dtype)


@right
class XposElementByElement:
    """Python numbers; any center; keys only."""

    @claims(
        "torchscale",
        "lucidrains",
        "uncentred",
        "flash-attention",
        dtype="float64",
        downscale=1,
        max_position=NEAR,
    )
    def xpos(
        self,
        x: Array,
        positions: Array,
        *,
        base: float,
        scale_base: float,
        center: str,
        layout: str,
    ) -> Array:
        d = x.shape[-1]
        even(d)
        length = max((int(p) + 1 for p in positions), default=0)
        middle = {
            "zero": 0,
            "ceiling": math.ceil(length / 2),
            "floor": math.floor(length / 2),
        }
        out = np.empty_like(x)
        for index in np.ndindex(*x.shape[:-1]):
            m = int(positions[index[-1]])
            for t in range(d // 2):
                i, j = (t, t + d // 2) if layout == "half" else (2 * t, 2 * t + 1)
                zeta = (2 * t + 0.4 * d) / (1.4 * d)
                turn = cmath.rect(
                    zeta ** ((middle[center] - m) / scale_base), m * base ** (-2 * t / d)
                )
                y = complex(float(x[(*index, i)]), float(x[(*index, j)])) * turn
                out[(*index, i)], out[(*index, j)] = y.real, y.imag
        return out


@right
class XposConjugated:
    """One complex number per row and pair: the forward scale, the rotation conjugated."""

    @claims(
        "torchscale",
        "lucidrains",
        "flash-attention",
        dtype=FLOATS,
        max_position=NEAR,
        domain="negative",
    )
    def xpos_vjp(
        self,
        x: Array,
        positions: Array,
        *,
        base: float,
        scale_base: float,
        downscale: int,
        center: str,
        layout: str,
    ) -> Array:
        half = x.shape[-1] // 2
        first, second = (
            (np.s_[..., :half], np.s_[..., half:])
            if layout == "half"
            else (np.s_[..., 0::2], np.s_[..., 1::2])
        )
        length = int(positions.max(initial=-1)) + 1
        power = (positions - (length + (center == "ceiling")) // 2)[:, None] / scale_base
        t = np.arange(half) / half
        scale = ((t + 0.4) / 1.4) ** (-power if downscale else power)
        turn = scale * np.exp(-1j * positions[:, None] * base**-t)
        pairs = (x[first].astype(float) + 1j * x[second].astype(float)) * turn
        out = np.empty_like(x)
        out[first], out[second] = pairs.real, pairs.imag
        return out


@right
class XposDifferentiated:
    """Automatic differentiation of flash-attention's halves, tables cast to x's dtype.

    The gradient is multiplied by the sine first, then moved back to its channel.
    """

    @claims("flash-attention", dtype=NARROW, max_position=NEAR)
    def xpos_vjp(
        self, x: Array, positions: Array, *, base: float, scale_base: float, downscale: int
    ) -> Array:
        half = x.shape[-1] // 2
        ones = np.ones((len(positions), x.shape[-1]), dtype=np.float32)
        ones[:, half:] = 0
        settings: dict[str, Any] = {"base": base, "scale_base": scale_base, "downscale": downscale}
        table = XposHalves().xpos(ones, positions, **settings)
        cos, sin = (np.tile(part, 2).astype(x.dtype) for part in np.split(table, 2, axis=-1))
        product = x * sin
        return x * cos + np.concatenate([product[..., half:], -product[..., :half]], axis=-1)
