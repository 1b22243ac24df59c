"""Right implementations: LongRoPE."""

import math
from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, KINDS, NARROW, Array, by_columns, even, right


def rotate_half(x: Array) -> Array:
    half = x.shape[-1] // 2
    return np.concatenate([-x[..., half:], x[..., :half]], axis=-1)


@right
class LongRopeAsReleased:
    """Phi-3 in transformers: everything in float32, the table cast to the dtype of x."""

    def inverse_frequencies(self, factors: Array, base: float) -> Array:
        exponent = np.arange(0, 2 * len(factors), 2).astype(np.float32) / (2 * len(factors))
        return np.float32(1) / (factors.astype(np.float32) * np.float32(base) ** exponent)

    @claims("divided", dtype=NARROW)
    def longrope_frequencies(self, factors: Array, *, base: float, dtype: str) -> Array:
        if not np.all(factors > 0):
            raise ValueError("factors must be above 0")
        return self.inverse_frequencies(factors, base).astype(KINDS[dtype])

    @claims(
        "phi-3",
        "long",
        dtype=NARROW,
        rotation="partial",
        attention="explicit",
        max_position=2**24,
    )
    def longrope(
        self,
        x: Array,
        positions: Array,
        short_factors: Array,
        long_factors: Array,
        *,
        base: float,
        factor: float,
        original_max_position_embeddings: int,
        choice: str,
        rotary_dim: int | None = None,
        attention_factor: float | None = None,
    ) -> Array:
        size = x.shape[-1] if rotary_dim is None else rotary_dim
        even(size)
        long = choice == "long"
        if positions.size and int(positions.max()) + 1 > original_max_position_embeddings:
            long = True
        omega = self.inverse_frequencies(long_factors if long else short_factors, base)
        if attention_factor is None:
            attention_factor = 1.0
            if factor > 1:
                grown = math.log(factor) / math.log(original_max_position_embeddings)
                attention_factor = math.sqrt(1 + grown)
        angles = np.tile(positions.astype(np.float32)[:, None] * omega, 2)
        cos, sin = (
            (wave * np.float32(attention_factor)).astype(x.dtype)
            for wave in (np.cos(angles), np.sin(angles))
        )
        turned = x[..., :size] * cos + rotate_half(x[..., :size]) * sin
        return np.concatenate([turned, x[..., size:]], axis=-1)


@right
class LongRopeAsComplexPowers:
    """Complex exponentials, in float64."""

    @claims("divided", dtype=FLOATS)
    def longrope_frequencies(self, factors: Array, *, base: float, dtype: str) -> Array:
        return np.array([self.omega(factors, base, t) for t in range(len(factors))], KINDS[dtype])

    @staticmethod
    def omega(factors: Array, base: float, t: int) -> float:
        return math.exp(-math.log(base) * t / len(factors) - math.log(float(factors[t])))

    @claims("long-yarn", "long", "phi-3", dtype=FLOATS, max_position=2**20, domain="negative")
    def longrope(
        self,
        x: Array,
        positions: Array,
        short_factors: Array,
        long_factors: Array,
        *,
        base: float,
        factor: float,
        original_max_position_embeddings: int,
        choice: str,
        amplitude: str,
    ) -> Array:
        half = x.shape[-1] // 2
        short = choice == "length" and np.all(positions < original_max_position_embeddings)
        factors = short_factors if short else long_factors
        longer = max(1.0, 1 + math.log(factor) / 10)
        if amplitude == "su":
            trained = original_max_position_embeddings
            longer = math.sqrt(max(1.0, math.log(factor * trained, trained)))
        omega = np.array([self.omega(factors, base, t) for t in range(half)])
        turns = longer * np.exp(1j * positions[:, None] * omega)
        pairs = (x[..., :half].astype(float) + 1j * x[..., half:].astype(float)) * turns
        return np.concatenate([pairs.real, pairs.imag], axis=-1).astype(x.dtype)


@right
class LongRopeTables:
    """vLLM: a table for short and one for long texts, in float32, built on demand."""

    def __init__(self) -> None:
        self._tables: dict[Any, Array] = {}

    @claims("long", "phi-3", dtype=NARROW, max_position=16_384)
    def longrope(
        self,
        x: Array,
        positions: Array,
        short_factors: Array,
        long_factors: Array,
        *,
        base: float,
        factor: float,
        original_max_position_embeddings: int,
        choice: str,
    ) -> Array:
        last = int(positions.max(initial=0))
        long = choice == "long" or last >= original_max_position_embeddings
        factors = (long_factors if long else short_factors).astype(np.float32)
        grown = math.log(max(factor, 1.0)) / math.log(original_max_position_embeddings)
        table = self.table(factors, base, math.sqrt(1 + grown), last)[positions]
        cos, sin = np.split(table.astype(x.dtype), 2, axis=-1)
        a, b = np.split(x, 2, axis=-1)
        return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)

    def table(self, factors: Array, base: float, longer: float, last: int) -> Array:
        key = factors.tobytes(), base, longer
        if len(self._tables.get(key, ())) <= last:
            exponent = np.arange(len(factors), dtype=np.float32) / np.float32(len(factors))
            omega = 1 / (factors * np.float32(base) ** exponent)
            angles = np.outer(np.arange(2 * last + 1, dtype=np.float32), omega)
            self._tables[key] = np.float32(longer) * np.hstack([np.cos(angles), np.sin(angles)])
        return self._tables[key]


@right
class LongRopeTransposed:
    """The transposed Jacobian, column by column."""

    @claims(
        "phi-3", "long", dtype=FLOATS, head_dim=[4, 6, 8, 16], max_position=2**20, domain="negative"
    )
    def longrope_vjp(self, x: Array, positions: Array, *lists: Array, **given: Any) -> Array:
        del given["layout"]
        return by_columns(LongRopeAsComplexPowers().longrope, x, positions, *lists, **given)


@right
class LongRopeDifferentiated:
    """Automatic differentiation of rotate_half: the gradient times the sine, then moved back."""

    @claims("phi-3", dtype=NARROW, rotation="partial", attention="explicit", max_position=2**24)
    def longrope_vjp(
        self,
        x: Array,
        positions: Array,
        short_factors: Array,
        long_factors: Array,
        *,
        base: float,
        factor: float,
        original_max_position_embeddings: int,
        rotary_dim: int | None = None,
        attention_factor: float | None = None,
    ) -> Array:
        size = x.shape[-1] if rotary_dim is None else rotary_dim
        trained = original_max_position_embeddings
        factors = long_factors if positions.max(initial=-1) >= trained else short_factors
        omega = LongRopeAsReleased().inverse_frequencies(factors, base)
        angles = np.tile(positions.astype(np.float32)[:, None] * omega, 2)
        longer = math.sqrt(1 + math.log(max(factor, 1.0)) / math.log(trained))
        longer = longer if attention_factor is None else attention_factor
        cos, sin = (
            (wave(angles) * np.float32(longer)).astype(x.dtype) for wave in (np.cos, np.sin)
        )
        rotated = x[..., :size]
        back = rotated * cos - rotate_half(rotated * sin)
        return np.concatenate([back, x[..., size:]], axis=-1)
