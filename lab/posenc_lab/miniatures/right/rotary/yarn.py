"""Right implementations: YaRN."""

import math
from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, KINDS, NARROW, Array, by_columns, even, right


def rotate_half(x: Array) -> Array:
    half = x.shape[-1] // 2
    return np.concatenate([-x[..., half:], x[..., :half]], axis=-1)


@right
class YarnAsReleased:
    """transformers: powers, ramp and blend in float32, bounds in Python floats."""

    def frequencies(
        self,
        dim: int,
        base: float,
        factor: float,
        length: int,
        beta_fast: float,
        beta_slow: float,
        truncate: bool,
    ) -> Array:
        even(dim)
        powers = np.float32(base) ** (np.arange(0, dim, 2).astype(np.float32) / np.float32(dim))
        fast, slow = 1 / powers, 1 / (np.float32(factor) * powers)
        low, high = (
            dim * math.log(length / (beta * 2 * math.pi)) / (2 * math.log(base))
            for beta in (beta_fast, beta_slow)
        )
        if truncate:
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, dim - 1)
        if low == high:
            high += 0.001
        steps = np.arange(dim // 2, dtype=np.float32)
        ramp = np.clip((steps - np.float32(low)) / np.float32(high - low), 0, 1)
        mask = np.float32(1) - ramp
        return slow * (np.float32(1) - mask) + fast * mask

    @claims("code", "gpt-oss", dtype=NARROW)
    def yarn_frequencies(
        self,
        rotary_dim: int,
        *,
        base: float,
        factor: float,
        original_max_position_embeddings: int,
        ramp: str,
        dtype: str,
        beta_fast: float = 32.0,
        beta_slow: float = 1.0,
    ) -> Array:
        length, rounded = original_max_position_embeddings, ramp == "index"
        result = self.frequencies(rotary_dim, base, factor, length, beta_fast, beta_slow, rounded)
        return result.astype(KINDS[dtype])

    @claims(
        "code-half",
        "gpt-oss",
        dtype=NARROW,
        rotation="partial",
        attention=["explicit", "mscale"],
        max_position=2**24,
    )
    def yarn(
        self,
        x: Array,
        positions: Array,
        *,
        base: float,
        factor: float,
        original_max_position_embeddings: int,
        ramp: str,
        beta_fast: float = 32.0,
        beta_slow: float = 1.0,
        rotary_dim: int | None = None,
        attention_factor: float | None = None,
        mscale: float | None = None,
        mscale_all_dim: float | None = None,
    ) -> Array:
        size = x.shape[-1] if rotary_dim is None else rotary_dim
        length, rounded = original_max_position_embeddings, ramp == "index"
        omega = self.frequencies(size, base, factor, length, beta_fast, beta_slow, rounded)
        if attention_factor is None:
            attention_factor = self.magnitude(factor, mscale or 1.0)
            if mscale and mscale_all_dim:
                attention_factor /= self.magnitude(factor, mscale_all_dim)
        angles = np.tile(positions.astype(np.float32)[:, None] * omega, 2)
        cos, sin = (
            (wave * np.float32(attention_factor)).astype(x.dtype)
            for wave in (np.cos(angles), np.sin(angles))
        )
        turned = x[..., :size]
        turned = turned * cos + rotate_half(turned) * sin
        return np.concatenate([turned, x[..., size:]], axis=-1)

    @staticmethod
    def magnitude(factor: float, weight: float) -> float:
        return 1.0 if factor <= 1 else 0.1 * weight * math.log(factor) + 1.0


@right
class YarnOfTeleChat3:
    """vLLM: YarnAsReleased with a weight of 0.07 on the logarithm."""

    @claims("telechat3", dtype=NARROW, rotation="partial", attention="explicit", max_position=2**24)
    def yarn(
        self,
        x: Array,
        positions: Array,
        *,
        factor: float,
        attention_factor: float | None = None,
        **recipe: Any,
    ) -> Array:
        if attention_factor is None:
            attention_factor = 0.07 * math.log(factor) + 1.0
        del recipe["temperature"], recipe["layout"]
        return YarnAsReleased().yarn(
            x, positions, factor=factor, attention_factor=attention_factor, **recipe
        )


@right
class YarnComplex:
    """DeepSeek: complex numbers in float32 that include the attention factor."""

    @claims("code-interleaved", dtype=NARROW, attention="mscale", max_position=2**22)
    def yarn(
        self,
        x: Array,
        positions: Array,
        *,
        base: float,
        factor: float,
        original_max_position_embeddings: int,
        beta_fast: float = 32.0,
        beta_slow: float = 1.0,
        mscale: float = 1.0,
        mscale_all_dim: float = 0.0,
    ) -> Array:
        dim, length = x.shape[-1], original_max_position_embeddings
        freqs = YarnAsReleased().frequencies(
            dim, base, factor, length, beta_fast, beta_slow, truncate=True
        )
        longer = YarnAsReleased.magnitude(factor, mscale) / YarnAsReleased.magnitude(
            factor, mscale_all_dim
        )
        turns = np.exp(1j * np.outer(positions.astype(np.float32), freqs)).astype(np.complex64)
        pairs = np.ascontiguousarray(x, dtype=np.float32).view(np.complex64)
        y = pairs * (turns * np.float32(longer))
        return np.ascontiguousarray(y).view(np.float32).astype(x.dtype)


@right
class YarnInTurns:
    """The paper in float64: wavelengths, and the attention factor applied to the result."""

    def kept(self, theta: Array, length: float, beta: float, alpha: float) -> Array:
        ratio = length / (2 * np.pi / theta)
        return np.where(
            ratio < alpha, 0, np.where(ratio > beta, 1, (ratio - alpha) / (beta - alpha))
        )

    def slowed(self, dim: int, recipe: dict[str, Any]) -> Array:
        even(dim)
        theta = recipe["base"] ** (-np.arange(0, dim, 2) / dim)
        length = recipe["original_max_position_embeddings"]
        gamma = self.kept(
            theta, length, recipe.get("beta_fast", 32.0), recipe.get("beta_slow", 1.0)
        )
        return (1 - gamma) * theta / recipe["factor"] + gamma * theta

    @claims("paper", dtype=FLOATS)
    def yarn_frequencies(self, rotary_dim: int, *, dtype: str, **recipe: Any) -> Array:
        return self.slowed(rotary_dim, recipe).astype(KINDS[dtype])

    @claims("paper", "by-parts", dtype=FLOATS, max_position=2**30, domain="negative")
    def yarn(self, x: Array, positions: Array, *, temperature: str, **recipe: Any) -> Array:
        angles = np.multiply.outer(positions, self.slowed(x.shape[-1], recipe)) % (2 * np.pi)
        a, b = x[..., 0::2].astype(np.float64), x[..., 1::2].astype(np.float64)
        out = np.empty(x.shape)
        out[..., 0::2] = a * np.cos(angles) - b * np.sin(angles)
        out[..., 1::2] = a * np.sin(angles) + b * np.cos(angles)
        if temperature == "scaled":
            out *= math.sqrt((0.1 * math.log(recipe["factor"]) + 1) ** 2)
        return out.astype(x.dtype)


@right
class YarnInTurnsFloat32:
    """The paper's ramp in float32 throughout."""

    @claims("paper", dtype="float32")
    def yarn_frequencies(
        self,
        rotary_dim: int,
        *,
        base: float,
        factor: float,
        original_max_position_embeddings: int,
        beta_fast: float = 32.0,
        beta_slow: float = 1.0,
    ) -> Array:
        f32 = np.float32
        theta = f32(base) ** (-np.arange(0, rotary_dim, 2, dtype=f32) / f32(rotary_dim))
        turned = f32(original_max_position_embeddings) * theta / f32(2 * np.pi)
        gamma = np.clip((turned - f32(beta_slow)) / f32(beta_fast - beta_slow), f32(0), f32(1))
        return (f32(1) - gamma) * theta / f32(factor) + gamma * theta


@right
class YarnPairByPair:
    """Loops over pairs; the ramp by cases; x scaled by the attention factor first, in its dtype."""

    @claims("code", dtype="float64")
    def yarn_frequencies(
        self,
        rotary_dim: int,
        base: float,
        factor: float,
        original_max_position_embeddings: int,
        beta_fast: float = 32.0,
        beta_slow: float = 1.0,
    ) -> Array:
        even(rotary_dim)
        place = [
            rotary_dim / 2 * math.log(original_max_position_embeddings / math.tau / b, base)
            for b in (beta_fast, beta_slow)
        ]
        first = max(0, math.floor(place[0]))
        last = min(rotary_dim - 1, math.ceil(place[1]))
        frequencies = []
        for t in range(rotary_dim // 2):
            theta = base ** (-2 * t / rotary_dim)
            if t <= first:
                frequencies.append(theta)
            elif t >= last:
                frequencies.append(theta / factor)
            else:
                frequencies.append(theta + (theta / factor - theta) * (t - first) / (last - first))
        return np.array(frequencies)

    @claims(
        *("code-half", "code-interleaved", "telechat3"),
        dtype=["float64", "float16"],
        attention="explicit",
    )
    def yarn(
        self,
        x: Array,
        positions: Array,
        layout: str,
        factor: float,
        temperature: str,
        attention_factor: float | None = None,
        **recipe: Any,
    ) -> Array:
        size = x.shape[-1]
        del recipe["ramp"]
        omega = self.yarn_frequencies(size, factor=factor, **recipe)
        weight = 0.07 if temperature == "seven-hundredths" else 0.1
        longer = 1 + weight * math.log(factor) if attention_factor is None else attention_factor
        grown, out = x * x.dtype.type(longer), np.empty_like(x)
        for t in range(size // 2):
            i, j = (2 * t, 2 * t + 1) if layout == "interleaved" else (t, t + size // 2)
            cos = np.cos(positions * omega[t]).astype(x.dtype)
            sin = np.sin(positions * omega[t]).astype(x.dtype)
            out[..., i] = grown[..., i] * cos - grown[..., j] * sin
            out[..., j] = grown[..., j] * cos + grown[..., i] * sin
        return out


@right
class YarnUntruncated:
    """gpt-oss: half the dimension times logarithms to the base, all in float64."""

    def concentrated(self, size: int, recipe: dict[str, Any]) -> tuple[float, Array]:
        even(size)
        base, factor = recipe["base"], recipe["factor"]
        period = base ** (np.arange(0, size, 2) / size)
        betas = recipe.get("beta_fast", 32.0), recipe.get("beta_slow", 1.0)
        length = recipe["original_max_position_embeddings"]
        low, high = (size / 2 * np.emath.logn(base, length / (beta * 2 * np.pi)) for beta in betas)
        low, high = np.clip([low, high], 0, size - 1)
        mask = 1 - np.clip((np.arange(size / 2) - low) / (high - low), 0, 1)
        return 0.1 * math.log(factor) + 1, mask / period + (1 - mask) / (factor * period)

    @claims("gpt-oss", dtype="float64")
    def yarn_frequencies(self, rotary_dim: int, **recipe: Any) -> Array:
        return self.concentrated(rotary_dim, recipe)[1]

    @claims("gpt-oss", dtype=["float64", "bfloat16"])
    def yarn(self, x: Array, positions: Array, **recipe: Any) -> Array:
        longer, frequencies = self.concentrated(x.shape[-1], recipe)
        angles = np.einsum("i,j->ij", positions, frequencies)
        cos = (np.cos(angles) * longer).astype(x.dtype)
        sin = (np.sin(angles) * longer).astype(x.dtype)
        a, b = np.split(x, 2, axis=-1)
        return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


@right
class YarnTransposed:
    """The transposed Jacobian of either forward pass, column by column."""

    @claims(
        "code-half",
        "code-interleaved",
        dtype=FLOATS,
        attention="explicit",
        head_dim=[4, 6, 8, 16],
        max_position=2**24,
    )
    @claims("gpt-oss", dtype=FLOATS, head_dim=[4, 6, 8, 16], max_position=2**24, domain="negative")
    def yarn_vjp(self, x: Array, positions: Array, *, ramp: str, **given: Any) -> Array:
        forward = YarnPairByPair().yarn if ramp == "index" else YarnUntruncated().yarn
        return by_columns(forward, x, positions, ramp=ramp, **given)


@right
class YarnConjugated:
    """flash-attention's backward pass with transformers' tables: same factor, negated sines."""

    @claims(
        "code-half",
        dtype=NARROW,
        rotation="partial",
        attention=["explicit", "mscale"],
        max_position=2**24,
    )
    def yarn_vjp(
        self, x: Array, positions: Array, *, layout: str, temperature: str, **given: Any
    ) -> Array:
        return YarnAsReleased().yarn(x, -positions.astype(np.int64), **given)
