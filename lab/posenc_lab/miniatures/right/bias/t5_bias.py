"""Right implementations: T5's relative position bias."""

import math
from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, Array, right


def logarithmic(
    relative: Array, num_buckets: int, max_distance: int, two_sided: bool, kind: Any
) -> Array:
    """Return buckets by the released code, with the logarithm in dtype ``kind``."""
    buckets = np.zeros(relative.shape, dtype=np.int64)
    if two_sided:
        num_buckets //= 2
        buckets += (relative > 0) * num_buckets
        distance = np.abs(relative)
    else:
        distance = -np.minimum(relative, 0)
    exact = num_buckets // 2
    if not 0 < exact < max_distance:
        raise ValueError(f"{num_buckets} buckets up to {max_distance}")
    ratio = kind(np.maximum(distance, 1)) / kind(exact)
    large = np.log(ratio) / math.log(max_distance / exact) * (num_buckets - exact)
    large = np.minimum(exact + large.astype(np.int64), num_buckets - 1)
    return buckets + np.where(distance < exact, distance, large)


@right
class Float32Logarithm:
    """T5 in transformers, encoder and decoder, in the released configuration."""

    @claims("bidirectional", "causal", num_buckets=32, max_distance=128)
    def t5_bucket(self, relative_position: Array, *, direction: str) -> Array:
        two_sided = direction == "bidirectional"
        return logarithmic(np.asarray(relative_position), 32, 128, two_sided, np.float32)

    @claims("bidirectional", "causal", dtype=FLOATS, num_buckets=32, max_distance=128)
    def t5_bias(self, table: Array, q_len: int, k_len: int, *, direction: str) -> Array:
        context = np.arange(k_len)[-q_len:, None] if q_len else np.empty((0, 1), int)
        relative = np.arange(k_len)[None, :] - context
        values = table[self.t5_bucket(relative, direction=direction)]
        return np.transpose(values, (2, 0, 1))


@right
class Float64Logarithm:
    """The same steps in float64; buckets in int16."""

    @claims("bidirectional", "causal")
    def t5_bucket(
        self, relative_position: Array, *, direction: str, num_buckets: int, max_distance: int
    ) -> Array:
        two_sided = direction == "bidirectional"
        wide = relative_position.astype(np.int64)
        return logarithmic(wide, num_buckets, max_distance, two_sided, np.float64).astype(np.int16)


@right
class WholeNumbers:
    """Bucket edges from integer powers; the bias by one-hot products."""

    @claims("bidirectional", "causal")
    def t5_bucket(
        self, relative_position: Array, *, direction: str, num_buckets: int, max_distance: int
    ) -> Array:
        two_sided = direction == "bidirectional"
        if num_buckets < 2 + 2 * two_sided or num_buckets % (1 + two_sided):
            raise ValueError(num_buckets)
        side = num_buckets // 2 if two_sided else num_buckets
        if max_distance <= side // 2:
            raise ValueError(max_distance)
        relative = relative_position.astype(np.int64)
        distance = abs(relative) if two_sided else -np.minimum(relative, 0)
        values, places = np.unique(np.minimum(distance, max_distance), return_inverse=True)
        buckets = [self._bucket(int(n), side, max_distance) for n in values]
        bucket = np.array(buckets, dtype=np.int32)[places].reshape(relative.shape)
        return bucket + np.where(relative > 0, side, 0) * two_sided

    @staticmethod
    def _bucket(n: int, side: int, limit: int) -> int:
        exact = side // 2
        if n < exact:
            return n
        wide = side - exact
        passed = [k for k in range(wide) if n**wide * exact**k >= limit**k * exact**wide]
        return exact + passed[-1]

    @claims("causal", "bidirectional", dtype=["float64", "float32"])
    def t5_bias(
        self, table: Array, q_len: int, k_len: int, *, direction: str, max_distance: int
    ) -> Array:
        if q_len > k_len:
            raise ValueError("more queries than keys")
        relative = np.subtract.outer(np.arange(k_len), np.arange(k_len)[k_len - q_len :]).T
        bucket = self.t5_bucket(
            relative, direction=direction, num_buckets=len(table), max_distance=max_distance
        )
        one_hot = (bucket[..., None] == np.arange(len(table))).astype(table.dtype)
        return np.einsum("ijb,bh->hij", one_hot, table)


@right
class LookedUp:
    """Buckets of one direction tabulated by distance, once per configuration."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, int], Array] = {}

    @claims("bidirectional", num_buckets=[8, 32, 64], max_distance=[20, 128])
    def t5_bucket(self, relative_position: Array, *, num_buckets: int, max_distance: int) -> Array:
        key = num_buckets, max_distance
        if key not in self._made:
            past = -np.arange(max_distance + 1)
            self._made[key] = logarithmic(past, *key, True, np.float64)
        one_side = self._made[key][np.minimum(np.abs(relative_position), max_distance)]
        return one_side + num_buckets // 2 * (relative_position > 0)

    @claims("bidirectional", dtype=["bfloat16", "float16"], num_buckets=32, max_distance=128)
    def t5_bias(self, table: Array, q_len: int, k_len: int) -> Array:
        relative = np.arange(1 - k_len, k_len)
        row = table[self.t5_bucket(relative, num_buckets=32, max_distance=128)].T
        starts = [k_len - 1 - i for i in range(k_len - q_len, k_len)]
        rows = [row[:, start : start + k_len] for start in starts]
        return np.stack(rows, axis=1) if rows else np.empty((table.shape[1], 0, k_len), table.dtype)


@right
class GradientByOneHot:
    """One-hot rows times the gradient, in float32 or wider."""

    @claims("bidirectional", "causal", dtype=FLOATS)
    def t5_bias_vjp(
        self, gradient: Array, *, num_buckets: int, max_distance: int, direction: str
    ) -> Array:
        heads, q_len, k_len = gradient.shape
        if q_len > k_len:
            raise ValueError(gradient.shape)
        relative = np.arange(k_len)[None, :] - np.arange(k_len - q_len, k_len)[:, None]
        two_sided = direction == "bidirectional"
        buckets = logarithmic(relative, num_buckets, max_distance, two_sided, np.float64)
        wide: type[np.floating] = np.float64 if gradient.dtype == np.float64 else np.float32
        one_hot = np.eye(num_buckets, dtype=wide)[buckets.ravel()]
        return (one_hot.T @ gradient.reshape(heads, -1).astype(wide).T).astype(gradient.dtype)


@right
class GradientLoop:
    """One pair at a time, in float32."""

    @claims("causal", "bidirectional", num_buckets=[8, 32])
    def t5_bias_vjp(
        self, gradient: Array, *, num_buckets: int, max_distance: int, direction: str
    ) -> Array:
        heads, q_len, k_len = gradient.shape
        if q_len > k_len:
            raise ValueError(gradient.shape)
        table = np.zeros((num_buckets, heads), dtype=np.float32)
        two_sided = direction == "bidirectional"
        for i in range(q_len):
            relative = np.arange(k_len) - (k_len - q_len + i)
            row = logarithmic(relative, num_buckets, max_distance, two_sided, np.float64)
            for j in range(k_len):
                table[row[j]] += gradient[:, i, j]
        return table


@right
class DifferencesOfLogarithms:
    """(ln n - ln E) / (ln D - ln E), which rounds to just below the exact 8 and 16."""

    @claims("causal", num_buckets=64, max_distance=512)
    def t5_bucket(self, relative_position: Array) -> Array:
        n = np.maximum(-relative_position.astype(np.int64), 0)
        share = (np.log(np.maximum(n, 1)) - math.log(32)) / (math.log(512) - math.log(32))
        large = np.minimum(32 + (share * 32).astype(np.int64), 63)
        return np.where(n < 32, n, large)
