"""Small engines with a quantized KV cache, right and wrong."""

import math

import ml_dtypes
import numpy as np

from posenc_lab.deployed.cases import right, wrong
from posenc_lab.deployed.engine import Array, Config, Engine

BLOCK = 32
"""Number of channels that share a scale."""


def symmetric(x: Array, largest: int) -> Array:
    """Quantize to integer multiples of a float16 scale per block."""
    blocks = x.reshape(*x.shape[:-1], -1, BLOCK)
    scale = (np.abs(blocks).max(axis=-1, keepdims=True) / largest).astype(np.float16)
    safe = np.where(scale == 0, 1, scale).astype(np.float32)
    whole = np.clip(np.round(blocks / safe), -largest, largest)
    return np.asarray((whole * scale.astype(np.float32)).reshape(x.shape))


@right("llama", "float16", "int8")
@right("mistral", "float16", "int8")
@right("qwen3", "float16", "int8")
class Eight(Engine):
    """Caches 8 bits, and also quantizes queries before their product with keys."""

    def shortened(self, x: Array) -> Array:
        return symmetric(x, 127)

    def turn_query(self, x: Array, positions: Array, layer: int) -> Array:
        return symmetric(super().turn_query(x, positions, layer), 127)


@right("llama", "float16", "int8")
class EightFromTheLeast(Engine):
    """Caches 8 bits between each token's minimum and maximum, with an integer zero point."""

    def shortened(self, x: Array) -> Array:
        least, most = x.min(axis=-1, keepdims=True), x.max(axis=-1, keepdims=True)
        step = np.where(most > least, most - least, 1) / 255
        zero = np.round(-least / step)
        return np.asarray((np.clip(np.round(x / step) + zero, 0, 255) - zero) * step)


@right("llama", "float16", "int4")
@right("mistral", "float16", "int4")
@right("qwen3", "float16", "int4")
class Four(Engine):
    """Caches 4 bits, from -8 to 7: the number of largest magnitude in a block becomes -8."""

    def shortened(self, x: Array) -> Array:
        blocks = x.reshape(*x.shape[:-1], -1, BLOCK)
        place = np.abs(blocks).argmax(axis=-1)[..., np.newaxis]
        scale = np.take_along_axis(blocks, place, axis=-1) / np.float32(-8)
        scale = scale.astype(np.float16).astype(np.float32)
        whole = np.clip(np.round(blocks / np.where(scale == 0, 1, scale)), -8, 7)
        return np.asarray((whole * scale).reshape(x.shape))


@right("llama", "float16", "float8_e4m3")
@right("mistral", "float16", "float8_e4m3")
class ShortEight(Engine):
    """Caches float8 with three mantissa bits."""

    def shortened(self, x: Array) -> Array:
        return np.asarray(x.astype(ml_dtypes.float8_e4m3fn).astype(np.float32))


@right("llama", "float16", "float8_e5m2")
class ShorterEight(Engine):
    """Caches float8 with two mantissa bits, scaled so that the maximum becomes 57344."""

    def shortened(self, x: Array) -> Array:
        scale = np.abs(x).max() / 57344 or 1.0
        return np.asarray((x / scale).astype(ml_dtypes.float8_e5m2).astype(np.float32) * scale)


# Wrong engines with a right cache.


@wrong("llama", "scaling-ignored", "float16", "int8")
class EightUnscaled(Eight):
    def scaling(self, layer: int) -> Config:
        return {"rope_theta": self.config["rope_theta"], "rope_type": "default"}


@wrong("qwen3", "attention-factor-missing", "float16", "int8")
class EightAsLong(Eight):
    def attention_factor(self, block: Config) -> float:
        return 1.0


@wrong("llama", "scaling-ignored", "float16", "int4")
class FourUnscaled(Four):
    def scaling(self, layer: int) -> Config:
        return {"rope_theta": self.config["rope_theta"], "rope_type": "default"}


@wrong("llama", "base-ignored", "float16", "int4")
class FourAtUsualBase(Four):
    def scaling(self, layer: int) -> Config:
        return {**super().scaling(layer), "rope_theta": 10000.0}


@wrong("mistral", "window-off", "float16", "int4")
class FourSeesOneMore(Four):
    def window(self, layer: int) -> int | None:
        return int(self.config["sliding_window"]) + 1


@wrong("mistral", "keys-not-turned", "float16", "int4")
class FourUnturned(Four):
    """Caches unrotated keys, and never rotates them."""

    def turn_key(self, x: Array, positions: Array, layer: int) -> Array:
        return x


@wrong("llama", "scaling-ignored", "float16", "float8_e4m3")
class ShortUnscaled(ShortEight):
    def scaling(self, layer: int) -> Config:
        return {"rope_theta": self.config["rope_theta"], "rope_type": "default"}


@wrong("mistral", "positions-restart", "float16", "float8_e4m3")
class ShortRestarts(ShortEight):
    def positions(self, start: int, count: int, ends: int) -> Array:
        counted = np.arange(start, start + count)
        return np.where(counted >= ends, counted - ends, counted)


@wrong("mistral", "layout-swapped", "float16", "float8_e5m2")
class ShorterNeighbours(ShorterEight):
    """Rotates interleaved pairs, with weights for the half layout."""

    def pairs(self, x: Array) -> tuple[Array, Array]:
        return x[..., 0::2], x[..., 1::2]

    def joined(self, first: Array, second: Array) -> Array:
        return np.stack([first, second], axis=-1).reshape(*first.shape[:-1], self.width)


# Caches with fewer bits than claimed.


@wrong("llama", "rounding-not-claimed", "float16", "int8")
@wrong("mistral", "rounding-not-claimed", "float16", "int8")
class FourForEight(Four):
    pass


@wrong("llama", "rounding-not-claimed")
class EightUnclaimed(Eight):
    pass


@wrong("mistral", "scores-multiplied", "float16", "int8")
class ScaledForEight(Eight):
    """Doubles the scale of scores."""

    def scale(self) -> float:
        return 2 / math.sqrt(self.size)
