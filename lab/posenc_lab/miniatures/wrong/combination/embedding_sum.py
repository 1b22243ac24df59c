"""Wrong implementations: sum of embedding and sinusoid."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made, narrow


class Sum(Mistake, steps=True):
    """Scaled embedding plus sinusoid, in steps."""

    call = "embedding_sum"
    claimed = ("paper",)

    def answer(
        self, x: Array, positions: Array, *, base: float = 1e4, embedding_scale: str
    ) -> Array:
        if x.shape[-1] % 2 or x.shape[-2] != len(positions):
            raise ValueError((x.shape, positions))
        dim = x.shape[-1]
        factor = self.factor(math.sqrt(dim) if embedding_scale == "d^1/2" else 1.0, dim)
        angles = self.angles(self.places(positions, x), self.frequencies(dim, base))
        scaled = x.astype(np.float64) * factor
        return self.combined(scaled, self.layout(np.sin(angles), np.cos(angles))).astype(x.dtype)

    def factor(self, factor: float, dim: int) -> float:
        return factor

    def places(self, positions: Array, x: Array) -> Array:
        return positions.astype(np.float64)[:, None]

    def frequencies(self, dim: int, base: float) -> Array:
        return base ** (-2 * np.arange(dim // 2) / dim)

    def angles(self, places: Array, frequencies: Array) -> Array:
        return places * frequencies

    def layout(self, sin: Array, cos: Array) -> Array:
        both = np.empty((*sin.shape[:-1], 2 * sin.shape[-1]))
        both[..., 0::2], both[..., 1::2] = sin, cos
        return both

    def combined(self, scaled: Array, encoding: Array) -> Array:
        return scaled + encoding


for _claimed in ("paper", "unscaled"):
    made(
        Sum,
        f"Sum {_claimed} with the other factor",
        "The root left out, or put in.",
        named="embedding-scale-swapped",
        claimed=(_claimed,),
        factor=lambda self, factor, dim: 1.0 if factor > 1 else math.sqrt(dim),
    )
    made(
        Sum,
        f"Sum {_claimed} without encoding",
        "x + pe computed and thrown away.",
        named="encoding-missing",
        claimed=(_claimed,),
        combined=lambda self, scaled, encoding: scaled,
    )
    made(
        Sum,
        f"Sum {_claimed} from one",
        "Positions count from 1.",
        named="positions-shifted",
        claimed=(_claimed,),
        places=lambda self, positions, x: Sum.places(self, positions, x) + 1,
    )


class SumOfOneRow(Sum):
    """The encoding is pe[:, n] instead of pe[:, :n]."""

    named = "one-row-for-all"

    def places(self, positions: Array, x: Array) -> Array:
        return np.full((len(positions), 1), float(len(positions)))


class SumTimesD(Sum):
    """The factor is the number of channels, not its square root."""

    named = "wrong-embedding-scale"

    def factor(self, factor: float, dim: int) -> float:
        return dim


class SumDivided(Sum):
    """The embedding is divided by the square root, as logits are."""

    named = "wrong-embedding-scale"

    def factor(self, factor: float, dim: int) -> float:
        return 1 / factor


class SumScaledAfterwards(Sum):
    """The encoding is scaled too: sqrt(d) (x + PE)."""

    named = "encoding-scaled"

    def combined(self, scaled: Array, encoding: Array) -> Array:
        return scaled + encoding * math.sqrt(scaled.shape[-1])


class SumOfBatchPositions(Sum):
    """Positions run along the batch axis."""

    named = "batch-for-sequence"
    claimed = ("unscaled",)

    def places(self, positions: Array, x: Array) -> Array:
        if x.ndim < 3:
            return super().places(positions, x)
        return np.arange(x.shape[-3], dtype=np.float64)[:, None, None]


class SumInHalves(Sum):
    """Sines come before cosines, not interleaved."""

    named = "layout-swapped"

    def layout(self, sin: Array, cos: Array) -> Array:
        return np.concatenate([sin, cos], axis=-1)


class SumInOtherHalves(Sum):
    """Cosines come before sines, not interleaved."""

    named = "layout-swapped"
    claimed = ("unscaled",)

    def layout(self, sin: Array, cos: Array) -> Array:
        return np.concatenate([cos, sin], axis=-1)


class SumOfBase5000(Sum):
    """The base is halved: 5,000 for 10,000."""

    named = "wrong-base"

    def frequencies(self, dim: int, base: float) -> Array:
        return super().frequencies(dim, base / 2)


class SumToTheEnd(Sum):
    """Exponents are linspace(0, 1, dim / 2)."""

    named = "exponent-to-the-end"

    def frequencies(self, dim: int, base: float) -> Array:
        return np.asarray(base ** -np.linspace(0, 1, dim // 2))


class SumOfFixedBase(Sum):
    """The base is always 10,000."""

    named = "wrong-base"
    claimed = ("unscaled",)

    def frequencies(self, dim: int, base: float) -> Array:
        return super().frequencies(dim, 10000.0)


class SumOfBfloat16Positions(Sum):
    """Positions are held in bfloat16."""

    named = "low-precision-angles"

    def places(self, positions: Array, x: Array) -> Array:
        return narrow(super().places(positions, x), "bfloat16")


class SumOfBfloat16Table(Sum):
    """Angles are held in bfloat16, and so is the table."""

    named = "low-precision-angles"

    def angles(self, places: Array, frequencies: Array) -> Array:
        return narrow(super().angles(places, frequencies), "bfloat16")

    def layout(self, sin: Array, cos: Array) -> Array:
        return narrow(super().layout(sin, cos), "bfloat16")


class SumOfFloat16Angles(Sum):
    """Angles are held in float16."""

    named = "low-precision-angles"
    claimed = ("unscaled",)
    limits: ClassVar[Mapping[str, Any]] = {"max_position": 65000}

    def angles(self, places: Array, frequencies: Array) -> Array:
        return narrow(places * frequencies, "float16")


class SumInBfloat16(Sum):
    """The encoding is held in bfloat16 for a float32 result."""

    def layout(self, sin: Array, cos: Array) -> Array:
        return narrow(super().layout(sin, cos), "bfloat16")


class SumOfFloat32Root(Sum):
    """The square root is in float32 for a float64 result."""

    dtype = "float64"

    def factor(self, factor: float, dim: int) -> float:
        return float(np.float32(factor))


class SumOfRootOf512(Sum):
    """The factor is the root of 512, the paper's width, for every width."""

    def factor(self, factor: float, dim: int) -> float:
        return math.sqrt(512)


class SumUpTo2048(Sum):
    """Positions are clamped to a table of 2,048."""

    def places(self, positions: Array, x: Array) -> Array:
        return np.minimum(super().places(positions, x), 2047)


class SumOfRows(Sum):
    """Rows are numbered from 0, ignoring positions."""

    claimed = ("unscaled",)

    def places(self, positions: Array, x: Array) -> Array:
        return np.arange(len(positions), dtype=np.float64)[:, None]


class SumInPlace(Sum):
    """x is overwritten."""

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        x[...] = super().answer(x, positions, **keywords)
        return x


class SumInPlaceOfOneSequence(Sum):
    """x is overwritten where it has a single sequence."""

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        result = super().answer(x, positions, **keywords)
        if x.ndim > 2 and len(x) == 1:
            x[...] = result
        return result


class SumWithoutLastChannels(Sum):
    """Channels from index 512 on get no encoding."""

    def combined(self, scaled: Array, encoding: Array) -> Array:
        return scaled + encoding * (np.arange(scaled.shape[-1]) < 512)


class SumOfFirstSequence(Sum):
    """Only the first sequence of a batch gets its encoding."""

    def combined(self, scaled: Array, encoding: Array) -> Array:
        out = scaled.copy()
        first = out.reshape(-1, *out.shape[-2:])
        first[:1] += encoding
        return first.reshape(out.shape)
