"""Pieces of rotary code as it is usually written, for the bench to be wrong with."""

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def omega(dim: int, base: float) -> Array:
    """Frequencies of rotary embedding."""
    return np.asarray(float(base) ** -(np.arange(0, dim, 2) / dim))


def bf16(values: Any) -> Array:
    """Values as bfloat16 keeps them."""
    return np.asarray(values, np.float32).astype(ml_dtypes.bfloat16).astype(np.float64)


def outer(positions: Array, frequencies: Array) -> Array:
    """Angles of all rows and pairs."""
    return np.multiply.outer(positions.astype(np.float64), frequencies)


def half_of(x: Array) -> Array:
    """The second half negated before the first."""
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([-second, first], axis=-1)


def every_two(x: Array) -> Array:
    """Neighbours exchanged, the first negated."""
    return np.stack([-x[..., 1::2], x[..., 0::2]], axis=-1).reshape(x.shape)


def halves(x: Array, angles: Array) -> Array:
    """Channel i turned with channel i + d/2."""
    wave = np.concatenate([angles, angles], axis=-1)
    wide = x.astype(np.float64)
    return np.asarray((wide * np.cos(wave) + half_of(wide) * np.sin(wave)).astype(x.dtype))


def neighbours(x: Array, angles: Array) -> Array:
    """Channel 2i turned with channel 2i + 1."""
    wave = np.repeat(angles, 2, axis=-1)
    wide = x.astype(np.float64)
    return np.asarray((wide * np.cos(wave) + every_two(wide) * np.sin(wave)).astype(x.dtype))


def turned(x: Array, angles: Array, layout: str) -> Array:
    """Pairs turned in one of three layouts."""
    if layout == "half":
        return halves(x, angles)
    out = neighbours(x, angles)
    if layout == "interleaved":
        return out
    return np.concatenate([out[..., 0::2], out[..., 1::2]], axis=-1)


def partly(x: Array, width: int | None, turn: Any) -> Array:
    """The first channels turned, the others as they come."""
    size = x.shape[-1] if width is None else width
    return np.concatenate([turn(x[..., :size]), x[..., size:]], axis=-1)


def by_wavelength(
    frequencies: Array,
    factor: float,
    low_freq_factor: float,
    high_freq_factor: float,
    original_max_position_embeddings: float,
) -> Array:
    """Llama 3.1's scaling."""
    turns = original_max_position_embeddings * frequencies / (2 * np.pi)
    share = np.clip((turns - low_freq_factor) / (high_freq_factor - low_freq_factor), 0, 1)
    return np.asarray((1 - share) * frequencies / factor + share * frequencies)


def yarned(
    dim: int,
    base: float,
    factor: float,
    original_max_position_embeddings: int,
    beta_fast: float,
    beta_slow: float,
) -> Array:
    """YaRN's frequencies as released, with whole bounds."""

    def bound(turns: float) -> float:
        length = original_max_position_embeddings / (turns * 2 * np.pi)
        return float(dim * np.log(length) / (2 * np.log(base)))

    low, high = max(np.floor(bound(beta_fast)), 0), min(np.ceil(bound(beta_slow)), dim - 1)
    high = high + 0.001 if low == high else high
    kept = 1 - np.clip((np.arange(dim // 2) - low) / (high - low), 0, 1)
    plain = omega(dim, base)
    return np.asarray(plain / factor * (1 - kept) + plain * kept)


def slopes(heads: int) -> Array:
    """ALiBi's slopes as released."""
    whole = 2 ** int(np.log2(heads))
    first = 2.0 ** (-8 * np.arange(1, whole + 1) / whole)
    more = 2.0 ** (-4 * np.arange(1, 2 * (heads - whole), 2) / whole)
    return np.concatenate([first, more])


def offsets(q_len: int, k_len: int) -> Array:
    """Key minus query, of queries at the end."""
    return np.arange(k_len) - np.arange(k_len - q_len, k_len)[:, None]


def t5_buckets(
    relative: Array, count: int, longest: int, both: bool, *, cut: bool = True, share: int = 2
) -> Array:
    """T5's buckets."""
    side = count // 2 if both else count
    ahead = np.where(relative > 0, side, 0) if both else 0
    distance = np.abs(relative) if both else -np.minimum(relative, 0)
    exact = side // share
    far = np.log(np.maximum(distance, 1) / exact) / np.log(longest / exact) * (side - exact)
    large = exact + np.floor(far).astype(np.int64)
    large = np.minimum(large, side - 1) if cut else large
    return np.asarray(ahead + np.where(distance < exact, distance, large))


def interleaved(sin: Array, cos: Array) -> Array:
    """Sine and cosine taking turns."""
    return np.stack([sin, cos], axis=-1).reshape(*sin.shape[:-1], -1)


def softmax(logits: Array) -> Array:
    """Over keys."""
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))
