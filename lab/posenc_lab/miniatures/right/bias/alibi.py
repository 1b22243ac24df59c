"""Right implementations: linear biases."""

import math
from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, KINDS, NARROW, Array, right


def halving(heads: int) -> list[float]:
    """Return the slopes by the authors' recursion."""

    def of_power(n: int) -> list[float]:
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start * start**i for i in range(n)]

    if math.log2(heads).is_integer():
        return of_power(heads)
    closest = 2 ** math.floor(math.log2(heads))
    return of_power(closest) + halving(2 * closest)[0::2][: heads - closest]


@right
class AuthorsRecursion:
    """The authors' get_slopes, and their bias, which depends only on the key."""

    @claims("interpolated", dtype=["float64", "float32"])
    def alibi_slopes(self, heads: int, *, dtype: str) -> Array:
        return np.array(halving(heads), dtype=dtype)

    @claims("first-key", dtype=["float64", "float32"])
    def alibi_bias(self, heads: int, q_len: int, k_len: int, *, dtype: str) -> Array:
        keys = np.array(halving(heads))[:, None, None] * np.arange(k_len)[None, None, :]
        return np.broadcast_to(keys, (heads, q_len, k_len)).astype(dtype)


@right
class CeilingAndInterleave:
    """MPT: slopes of the next power of two, odd indices first, cut to the number of heads."""

    @claims("interpolated", dtype=NARROW)
    def alibi_slopes(self, heads: int, *, dtype: str) -> Array:
        return self._slopes(heads).astype(KINDS[dtype])

    @claims("last-key", dtype=NARROW)
    def alibi_bias(self, heads: int, q_len: int, k_len: int, *, dtype: str) -> Array:
        bias = np.arange(1 - k_len, 1, dtype=np.int32).reshape(1, 1, k_len)
        bias = bias * self._slopes(heads).reshape(heads, 1, 1)
        return np.repeat(bias, q_len, axis=1).astype(KINDS[dtype])

    @staticmethod
    def _slopes(heads: int) -> Array:
        ceiling = 2 ** math.ceil(math.log2(heads))
        exponent = np.arange(1, ceiling + 1, dtype=np.float32) * (8 / ceiling)
        slopes = 1.0 / np.power(2, exponent)
        if ceiling != heads:
            slopes = np.concatenate([slopes[1::2], slopes[::2]])[:heads]
        return slopes.astype(np.float32)


@right
class CumulativeMask:
    """BLOOM: positions from a cumulative sum of the mask, expanded to all queries, read-only."""

    @claims("first-key", dtype=NARROW)
    def alibi_bias(self, heads: int, q_len: int, k_len: int, *, dtype: str) -> Array:
        kind = KINDS[dtype]
        slopes = np.array(halving(heads), dtype=np.float32).astype(kind)
        mask = np.ones((1, k_len), dtype=np.int64)
        positions = ((mask.cumsum(axis=-1) - 1) * mask)[:, None, :].astype(np.float32)
        alibi = slopes[:, None, None] * positions.astype(kind)
        return np.broadcast_to(alibi, (heads, q_len, k_len))


@right
class RepeatedMultiplication:
    """Each slope is the previous one times the first, in float32, for any number of heads."""

    @claims("uniform", dtype="float32")
    def alibi_slopes(self, heads: int) -> Array:
        ratio = np.float32(2 ** (-8 / heads))
        slope, slopes = np.float32(1), []
        for _ in range(heads):
            slope = np.float32(slope * ratio)
            slopes.append(slope)
        return np.array(slopes, dtype=np.float32)

    @claims("causal-uniform", dtype="float32")
    def alibi_bias(self, heads: int, q_len: int, k_len: int) -> Array:
        query, key = np.arange(k_len - q_len, k_len)[:, None], np.arange(k_len)
        bias = self.alibi_slopes(heads)[:, None, None] * (key - query).astype(np.float32)
        return np.where(key > query, -np.inf, bias).astype(np.float32)


@right
class ClosedForm:
    """Exponents of all heads, vectorised; -|i - j| by broadcasting."""

    @claims(head_rule=["interpolated", "uniform"], dtype=FLOATS)
    def alibi_slopes(self, heads: int, *, head_rule: str, dtype: str) -> Array:
        return self._slopes(heads, head_rule).astype(KINDS[dtype])

    @claims("symmetric", "causal", "causal-uniform", dtype=FLOATS)
    def alibi_bias(
        self, heads: int, q_len: int, k_len: int, *, form: str, head_rule: str, dtype: str
    ) -> Array:
        if q_len > k_len:
            raise ValueError("more queries than keys")
        i, j = np.ogrid[k_len - q_len : k_len, :k_len]
        bias = -self._slopes(heads, head_rule)[:, None, None] * abs(i - j)
        if form == "causal":
            bias[:, np.less(i, j)] = np.finfo(np.float16).min
        return bias.astype(KINDS[dtype])

    @staticmethod
    def _slopes(heads: int, head_rule: str) -> Array:
        h = np.arange(1, heads + 1)
        power = heads if head_rule == "uniform" else 1 << (heads.bit_length() - 1)
        return np.exp2(-np.where(h <= power, 8 * h / power, 4 * (2 * (h - power) - 1) / power))


@right
class ZeroedFuture:
    """Distances from a lower triangle; keys after the query keep a bias of 0."""

    @claims("causal", dtype=NARROW)
    def alibi_bias(self, heads: int, q_len: int, k_len: int, *, dtype: str) -> Array:
        ones = np.tril(np.ones((k_len, k_len if k_len < 4096 else q_len)), 0)
        if k_len >= 4096:  # a square matrix would be too large
            lag = np.arange(k_len - q_len, k_len)[:, None] - np.arange(k_len)
            distance = np.maximum(lag, 0)
        else:
            distance = (ones.cumsum(axis=0) - 1).clip(0)[k_len - q_len :]
        slopes = np.array(halving(heads), dtype=np.float32)
        return (slopes[:, None, None] * -distance.astype(np.float32)).astype(KINDS[dtype])


@right
class NarrowProducts:
    """Slopes and distances both cast to the dtype before multiplication."""

    @claims("symmetric", "last-key", dtype=["float64", "float32", "bfloat16"])
    def alibi_bias(
        self, heads: int, q_len: int, k_len: int, *, form: str, dtype: str, **rest: Any
    ) -> Array:
        slopes = np.array(halving(heads)).astype(KINDS[dtype])
        queries = np.arange(k_len - q_len, k_len) if form == "symmetric" else [k_len - 1] * q_len
        distances = np.abs(np.subtract.outer(queries, np.arange(k_len))).astype(KINDS[dtype])
        return -slopes.reshape(-1, 1, 1) * distances


@right
class KeysNumberedFromOne:
    """Slopes times 1 … k_len; softmax with a causal mask added later gives the same result."""

    @claims("key-from-1", dtype=FLOATS)
    def alibi_bias(self, heads: int, q_len: int, k_len: int, *, dtype: str) -> Array:
        wide: Any = np.float64 if dtype == "float64" else np.float32
        numbers = np.arange(1, k_len + 1, dtype=wide)
        bias = np.array(halving(heads), dtype=wide)[:, None, None] * numbers
        return np.repeat(bias, q_len, axis=1).astype(KINDS[dtype])


@right
class CountsWhatTheMaskShows:
    """Slopes times the running sum of a causal mask, so that hidden keys repeat the last number."""

    @claims("key-from-1", dtype=FLOATS)
    def alibi_bias(self, heads: int, q_len: int, k_len: int, *, dtype: str) -> Array:
        mask = np.tril(np.ones((q_len, k_len)), k_len - q_len)
        wide: Any = np.float64 if dtype == "float64" else np.float32
        numbers = mask.cumsum(axis=-1).astype(wide)
        return (np.array(halving(heads), dtype=wide)[:, None, None] * numbers).astype(KINDS[dtype])


@right
class MaskedFromTheFirstKey:
    """Slopes times the key number, with the causal mask already added."""

    @claims("first-key", "last-key", dtype=FLOATS)
    def alibi_bias(self, heads: int, q_len: int, k_len: int, *, form: str, dtype: str) -> Array:
        numbers = np.arange(k_len, dtype=np.float64) - (k_len - 1) * (form == "last-key")
        bias = np.array(halving(heads))[:, None, None] * numbers
        hidden = np.triu(np.full((q_len, k_len), -np.inf), k_len - q_len + 1)
        return (bias + hidden).astype(KINDS[dtype])


@right
class DecodingStep:
    """One query, eight heads, and the result as Python lists."""

    @claims("causal", heads=8, q_len=1, dtype="float64")
    def alibi_bias(self, heads: int, q_len: int, k_len: int) -> list[list[list[float]]]:
        return [[[-(k_len - 1 - j) / 2**h for j in range(k_len)]] for h in range(1, 9)]

    @claims(head_rule="interpolated", heads=[8, 16], dtype="float64")
    def alibi_slopes(self, heads: int) -> list[float]:
        return [0.5 ** (8 * h / heads) for h in range(1, heads + 1)]


@right
class FixedLengths:
    """A buffer for one length, as an encoder exports it; hidden entries are NaN."""

    @claims("causal", "symmetric", q_len=9, k_len=9, heads=[4, 12], dtype="float32")
    def alibi_bias(self, heads: int, q_len: int, k_len: int, *, form: str) -> Array:
        ahead = np.arange(9) - np.arange(9)[:, None]
        bias = -np.array(halving(heads), dtype=np.float32)[:, None, None] * np.abs(ahead)
        hidden = np.nan if form == "causal" else 1
        return (bias * np.where(ahead > 0, hidden, 1)).astype(np.float32)

    @claims("causal", q_len=1, k_len=[1, 9], max_distance=128, num_buckets=32)
    def t5_bias(self, table: Array, q_len: int, k_len: int) -> Array:
        return table[k_len - 1 - np.arange(k_len)].T[:, None]


@right
class SlopeGradientByDotProducts:
    """Each head's gradient flattened and multiplied with the distances, in float32 or wider."""

    @claims("causal", "symmetric", "first-key", "last-key", "key-from-1", dtype=FLOATS)
    def alibi_bias_vjp(self, gradient: Array, *, form: str) -> Array:
        heads, q_len, k_len = gradient.shape
        if q_len > k_len:
            raise ValueError(gradient.shape)
        wide = np.float64 if gradient.dtype == np.float64 else np.float32
        key, query = np.arange(k_len), np.arange(q_len)[:, None] + k_len - q_len
        distance = {
            "causal": -np.maximum(query - key, 0),
            "symmetric": -np.abs(query - key),
            "first-key": np.broadcast_to(key, (q_len, k_len)),
            "last-key": np.broadcast_to(key + 1 - k_len, (q_len, k_len)),
            "key-from-1": np.broadcast_to(key + 1, (q_len, k_len)),
        }[form]
        rows = gradient.reshape(heads, -1).astype(wide)
        return (rows @ distance.ravel().astype(wide)).astype(gradient.dtype)
