"""Wrong implementations: embedding and sinusoid concatenated."""

import math
from typing import Any

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made, narrow


class Beside(Mistake, steps=True):
    """Embedding and sinusoid concatenated, in steps."""

    call = "concatenation"
    claimed = ("content-first",)

    def answer(
        self, x: Array, positions: Array, encoding_dim: int, *, base: float = 1e4, order: str
    ) -> Array:
        if encoding_dim < 2 or encoding_dim % 2 or x.shape[-2] != len(positions):
            raise ValueError((x.shape, positions, encoding_dim))
        exponents = 2 * np.arange(encoding_dim // 2) / self.width(encoding_dim, x.shape[-1])
        angles = self.angles(self.places(positions, x), self.base(base) ** -exponents)
        waves = self.layout(np.sin(angles), np.cos(angles))
        wide = np.broadcast_to(waves, (*x.shape[:-1], encoding_dim))
        content = self.content(x.astype(np.float64))
        first = self.first(order) == "content-first"
        parts = (content, wide) if first else (wide, content)
        return self.finish(np.concatenate(parts, axis=-1)).astype(x.dtype)

    def width(self, encoding_dim: int, dim: int) -> int:
        return encoding_dim

    def base(self, base: float) -> float:
        return base

    def places(self, positions: Array, x: Array) -> Array:
        return positions.astype(np.float64)[:, None]

    def angles(self, places: Array, frequencies: Array) -> Array:
        return places * frequencies

    def layout(self, sin: Array, cos: Array) -> Array:
        return np.stack([sin, cos], axis=-1).reshape(*sin.shape[:-1], 2 * sin.shape[-1])

    def content(self, x: Array) -> Array:
        return x

    def first(self, order: str) -> str:
        return order

    def finish(self, both: Array) -> Array:
        return both


for _claimed, _given in (
    ("content-first", "encoding-first"),
    ("encoding-first", "content-first"),
):
    made(
        Beside,
        f"Beside {_given} for {_claimed}",
        "The other part first.",
        named="order-swapped",
        claimed=(_claimed,),
        first=lambda self, order, other=_given: other,
    )
    made(
        Beside,
        f"Beside {_claimed} from one",
        "Positions count from 1.",
        named="positions-shifted",
        claimed=(_claimed,),
        places=lambda self, positions, x: Beside.places(self, positions, x) + 1,
    )


class BesideScaled(Beside):
    """The embedding is multiplied by sqrt(dim)."""

    named = "content-scaled"

    def content(self, x: Array) -> Array:
        return x * math.sqrt(x.shape[-1])


class BesideRounded(Beside):
    """The embedding is rounded to bfloat16."""

    named = "content-rounded"
    claimed = ("encoding-first",)

    def content(self, x: Array) -> Array:
        return narrow(x, "bfloat16")


class BesideOfTheWholeRow(Beside):
    """Exponents are divided by the width of the whole row."""

    named = "frequencies-of-another-width"

    def width(self, encoding_dim: int, dim: int) -> int:
        return encoding_dim + dim


class BesideOfTheEmbedding(Beside):
    """Exponents are divided by the width of the embedding."""

    named = "frequencies-of-another-width"
    claimed = ("encoding-first",)

    def width(self, encoding_dim: int, dim: int) -> int:
        return dim


class BesideTheBatch(Beside):
    """Positions run along the batch axis."""

    named = "batch-for-sequence"

    def places(self, positions: Array, x: Array) -> Array:
        if x.ndim < 3:
            return super().places(positions, x)
        return np.arange(x.shape[-3], dtype=np.float64)[:, None, None]


class BesideInHalves(Beside):
    """Sines come before cosines, not interleaved."""

    named = "layout-swapped"

    def layout(self, sin: Array, cos: Array) -> Array:
        return np.concatenate([sin, cos], axis=-1)


class BesideToTheEnd(Beside):
    """Exponents reach 1 at the last pair."""

    named = "exponent-to-the-end"

    def angles(self, places: Array, frequencies: Array) -> Array:
        pairs = len(frequencies)
        return places * frequencies ** (pairs / max(pairs - 1, 1))


class BesideOfFixedBase(Beside):
    """The base is always 10,000."""

    named = "wrong-base"

    def base(self, base: float) -> float:
        return 10000.0


class BesideOfBfloat16Angles(Beside):
    """Angles are held in bfloat16."""

    named = "low-precision-angles"

    def angles(self, places: Array, frequencies: Array) -> Array:
        return narrow(places * frequencies, "bfloat16")


class BesideOfBfloat16Table(Beside):
    """Angles are held in bfloat16, and so is the table."""

    named = "low-precision-angles"

    def angles(self, places: Array, frequencies: Array) -> Array:
        return narrow(super().angles(places, frequencies), "bfloat16")

    def layout(self, sin: Array, cos: Array) -> Array:
        return narrow(super().layout(sin, cos), "bfloat16")


class BesideInFloat16(Beside):
    """The whole row is rounded to float16 for a float32 result."""

    def finish(self, both: Array) -> Array:
        return narrow(both, "float16")


class BesideTiny(Beside):
    """1e-6 times the last channel is added to the first."""

    def finish(self, both: Array) -> Array:
        out = both.copy()
        out[..., 0] += 1e-6 * both[..., -1]
        return out


class BesideNormalised(Beside):
    """Rows are normalised to length 1."""

    claimed = ("encoding-first",)

    def finish(self, both: Array) -> Array:
        return both / np.maximum(np.linalg.norm(both, axis=-1, keepdims=True), 1e-12)


class BesideUpTo256(Beside):
    """Embedding channels from index 256 on are 0."""

    def content(self, x: Array) -> Array:
        return x * (np.arange(x.shape[-1]) < 256)


class BesideUpTo2048(Beside):
    """Positions are clamped to a table of 2,048."""

    claimed = ("encoding-first",)

    def places(self, positions: Array, x: Array) -> Array:
        return np.minimum(super().places(positions, x), 2047)


class BesideOfRows(Beside):
    """Rows are numbered from 0, ignoring positions."""

    def places(self, positions: Array, x: Array) -> Array:
        return np.arange(len(positions), dtype=np.float64)[:, None]


class BesideOnce(Beside):
    """The encoding is cached by shape, ignoring positions."""

    def __init__(self) -> None:
        self._kept: dict[Any, Array] = {}

    def layout(self, sin: Array, cos: Array) -> Array:
        return self._kept.setdefault(sin.shape, super().layout(sin, cos))
