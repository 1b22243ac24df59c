"""Right implementations: sum of embedding and sinusoid."""

import math

import ml_dtypes
import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, NARROW, Array, right


def fitting(x: Array, positions: Array) -> None:
    """Refuse an odd number of channels, and mismatched positions."""
    if x.shape[-1] % 2 or x.shape[-2] != len(positions):
        raise ValueError((x.shape, positions))


@right
class AnnotatedTransformer:
    """A float32 table by exponentials, cast to the dtype of x before the sum."""

    @claims("paper", dtype=NARROW, base=10000.0, max_position=8191)
    def embedding_sum(self, x: Array, positions: Array) -> Array:
        fitting(x, positions)
        dim = x.shape[-1]
        place = np.arange(positions.max(initial=0) + 1, dtype=np.float32)[:, None]
        rate = np.exp(np.arange(0, dim, 2, dtype=np.float32) * np.float32(-math.log(1e4) / dim))
        table = np.zeros((len(place), dim), dtype=np.float32)
        table[:, 0::2] = np.sin(place * rate)
        table[:, 1::2] = np.cos(place * rate)
        scaled = (x * x.dtype.type(math.sqrt(dim))).astype(x.dtype)
        return (scaled + table.astype(x.dtype)[positions]).astype(x.dtype)


@right
class RotatingPointers:
    """Complex float64 numbers for both conventions, with one rounding."""

    @claims("paper", "unscaled", dtype=FLOATS, max_position=2**30)
    def embedding_sum(
        self, x: Array, positions: Array, *, base: float = 1e4, embedding_scale: str
    ) -> Array:
        fitting(x, positions)
        half = x.shape[-1] // 2
        pointer = np.exp(1j * np.outer(positions, base ** (-np.arange(half) / half)))
        encoding = np.stack([pointer.imag, pointer.real], axis=2).reshape(len(positions), 2 * half)
        root = {"d^1/2": np.sqrt(2.0 * half), "1": 1.0}[embedding_scale]
        return (root * x.astype(np.float64) + encoding).astype(x.dtype)


@right
class ChannelByChannel:
    """Python loops, for one base."""

    @claims("unscaled", dtype="float64", base=10000.0, dim=[2, 4, 8], max_position=4095)
    def embedding_sum(self, x: Array, positions: Array) -> Array:
        fitting(x, positions)
        dim, out = x.shape[-1], x.copy()
        for row, position in enumerate(positions):
            for channel in range(dim):
                angle = position / 10000 ** ((channel - channel % 2) / dim)
                out[..., row, channel] += (math.cos if channel % 2 else math.sin)(angle)
        return out


@right
class Float32Inside:
    """bfloat16 in and out, float32 in between."""

    @claims("paper", "unscaled", dtype="bfloat16", max_position=2**20)
    def embedding_sum(
        self, x: Array, positions: Array, *, base: float = 1e4, embedding_scale: str
    ) -> Array:
        fitting(x, positions)
        dim = x.shape[-1]
        inverse = np.float32(1) / np.float32(base) ** (np.arange(0, dim, 2, dtype="f4") / dim)
        angle = positions.astype("f4")[:, None] * inverse.astype("f4")
        factor = np.float32(math.sqrt(dim) if embedding_scale != "1" else 1)
        out = x.astype("f4") * factor
        out[..., 0::2] += np.sin(angle)
        out[..., 1::2] += np.cos(angle)
        return out.astype(ml_dtypes.bfloat16)
