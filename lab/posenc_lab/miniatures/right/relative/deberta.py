"""Right implementations: DeBERTa's disentangled attention."""

import math
from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, Array, right


def released(relative: Array, buckets: int, limit: int, kind: Any) -> Array:
    """Return buckets by the rounded-up logarithm, in dtype ``kind``."""
    mid = buckets // 2
    if mid < 2 or limit - 1 <= mid:
        raise ValueError(f"{buckets} buckets up to {limit}")
    sign = np.sign(relative)
    near = (relative < mid) & (relative > -mid)
    distance = np.where(near, mid - 1, np.abs(relative))
    ratio = np.log((distance / mid).astype(kind)) / np.log(kind((limit - 1) / mid))
    large = np.ceil(ratio * kind(mid - 1)) + mid
    return np.where(distance <= mid, relative, large * sign).astype(np.int64)


@right
class ReleasedBuckets:
    """transformers' code in float32, with both logarithms in the same dtype."""

    @claims("growing", num_buckets=256, max_relative_positions=512)
    def deberta_bucket(self, relative_position: Array) -> Array:
        return released(np.asarray(relative_position), 256, 512, np.float32)


@right
class TabulatedBuckets:
    """A table of all distances up to the last one, made once; lookups of clamped distances."""

    def __init__(self) -> None:
        self._tables: dict[tuple[int, int], Array] = {}

    @claims("clamped")
    def deberta_bucket(
        self, relative_position: Array, *, num_buckets: int, max_relative_positions: int
    ) -> Array:
        key = num_buckets, max_relative_positions
        if key not in self._tables:
            every = np.arange(-max_relative_positions, max_relative_positions)
            self._tables[key] = released(every, *key, np.float64)
        place = (
            np.clip(relative_position, 1 - max_relative_positions, max_relative_positions - 1)
            + max_relative_positions
        )
        return self._tables[key][place].astype(np.int32)


@right
class WholeNumberBuckets:
    """Bucket by bucket, by integer powers."""

    @claims("clamped", "growing")
    def deberta_bucket(
        self, relative_position: Array, *, far: str, num_buckets: int, max_relative_positions: int
    ) -> Array:
        mid, last = num_buckets // 2, max_relative_positions - 1
        if mid < 2 or last <= mid:
            raise ValueError(f"{num_buckets} buckets up to {max_relative_positions}")
        distance = abs(relative_position.astype(np.int64))
        if far == "clamped":
            distance = np.minimum(distance, last)
        values, places = np.unique(distance, return_inverse=True)
        bucket, magnitudes = 0, []
        for n in map(int, values):
            if n <= mid:
                magnitudes.append(n)
                continue
            bucket = max(bucket, mid)
            power = mid - 1
            guess = math.ceil(math.log(n / mid) / math.log(last / mid) * power)
            bucket = max(bucket, mid + guess - 2)
            while last ** (bucket - mid) * mid**power < n**power * mid ** (bucket - mid):
                bucket += 1
            magnitudes.append(bucket)
        magnitude = np.array(magnitudes, dtype=np.int64)[places].reshape(distance.shape)
        return np.where(relative_position < 0, -magnitude, magnitude)


@right
class GatheredScores:
    """transformers: keys gather q_r at minus the distance, then a transpose; every step rounds."""

    @claims("v1", dtype=FLOATS)
    def deberta_scores(self, q: Array, k: Array, q_r: Array, k_r: Array) -> Array:
        place = np.arange(q.shape[1])
        return self._scores(q, k, q_r, k_r, place[:, None] - place[None, :])

    @claims("v2-transformers", dtype=FLOATS)
    def deberta_v2_scores(
        self, q: Array, k: Array, q_r: Array, k_r: Array, *, max_relative_positions: int
    ) -> Array:
        place = np.arange(q.shape[1])
        relative = place[:, None] - place[None, :]
        buckets = released(relative, q_r.shape[1] // 2, max_relative_positions, np.float32)
        return self._scores(q, k, q_r, k_r, buckets)

    @staticmethod
    def _scores(q: Array, k: Array, q_r: Array, k_r: Array, relative: Array) -> Array:
        kind = q.dtype
        inner: type[np.floating] = np.float64 if kind == np.float64 else np.float32

        def to(values: Array) -> Array:
            return np.asarray(values).astype(kind).astype(inner)

        if q_r.shape != k_r.shape:
            raise ValueError("tables differ")
        span, length = q_r.shape[1] // 2, q.shape[1]
        q, k, q_r, k_r = (array.astype(inner) for array in (q, k, q_r, k_r))
        scale = to(np.sqrt(np.asarray(3 * q.shape[2], inner)))
        scores = to(np.matmul(q, np.swapaxes(to(k / scale), 1, 2)))
        heads = np.arange(len(q))[:, None, None]
        c2p = to(np.matmul(q, np.swapaxes(k_r, 1, 2)))
        index = np.clip(relative + span, 0, 2 * span - 1)
        c2p = to(c2p[heads, np.arange(length)[:, None], index] / scale)
        p2c = to(np.matmul(k, np.swapaxes(q_r, 1, 2)))
        index = np.clip(-relative + span, 0, 2 * span - 1)
        p2c = to(p2c[heads, np.arange(length)[:, None], index] / scale)
        return to(scores + to(c2p + np.swapaxes(p2c, 1, 2))).astype(kind)


@right
class SharedIndexScores:
    """The authors' code: one index for both terms, gathered along rows of keys; scaled first."""

    @claims("v1", dtype=["float32", "bfloat16", "float16"])
    def deberta_scores(self, q: Array, k: Array, q_r: Array, k_r: Array) -> Array:
        place = np.arange(q.shape[1])
        return self._scores(q, k, q_r, k_r, np.subtract.outer(place, place))

    @claims("v2", dtype=FLOATS)
    def deberta_v2_scores(
        self, q: Array, k: Array, q_r: Array, k_r: Array, *, max_relative_positions: int
    ) -> Array:
        place, last = np.arange(q.shape[1]), max_relative_positions - 1
        relative = np.clip(np.subtract.outer(place, place), -last, last)
        buckets = released(relative, q_r.shape[1] // 2, max_relative_positions, np.float64)
        return self._scores(q, k, q_r, k_r, buckets)

    @staticmethod
    def _scores(q: Array, k: Array, q_r: Array, k_r: Array, relative: Array) -> Array:
        if q_r.shape != k_r.shape:
            raise ValueError("tables differ")
        kind, span = q.dtype, q_r.shape[1] // 2
        wide: type[np.floating] = np.float64 if kind == np.float64 else np.float32
        q, k, q_r, k_r = (array.astype(wide) for array in (q, k, q_r, k_r))
        factor = wide(1 / math.sqrt(q.shape[2] * 3))
        index = np.clip(relative + span, 0, 2 * span - 1)
        index = np.broadcast_to(index, (len(q), *index.shape))
        scores = q @ (k.swapaxes(1, 2) * factor)
        c2p = np.take_along_axis(q @ (k_r.swapaxes(1, 2) * factor), index, 2)
        p2c = np.take_along_axis((q_r * factor) @ k.swapaxes(1, 2), index, 1)
        return (scores + (c2p + p2c)).astype(kind)


@right
class OneHotScores:
    """Table rows of every pair, picked by one-hot vectors, and equation 4 to the letter."""

    @claims("paper", dtype=FLOATS)
    @claims("v1", dtype=["float64", "float32"])
    def deberta_scores(
        self, q: Array, k: Array, q_r: Array, k_r: Array, *, p2c_index: str
    ) -> Array:
        rows, length = q_r.shape[1], q.shape[1]
        if k_r.shape[1] != rows:
            raise ValueError("tables differ")
        kind = q.dtype
        q, k, q_r, k_r = (array.astype(np.float64) for array in (q, k, q_r, k_r))
        picked = np.zeros((length, length, rows))
        for i in range(length):
            for j in range(length):
                picked[i, j, min(max(i - j + rows // 2, 0), rows - 1)] = 1
        theirs = picked if p2c_index == "query-minus-key" else picked.swapaxes(0, 1)
        scores = np.einsum("hic,hjc->hij", q, k)
        scores += np.einsum("hic,ijr,hrc->hij", q, picked, k_r, optimize=True)
        scores += np.einsum("hjc,ijr,hrc->hij", k, theirs, q_r, optimize=True)
        return (scores / math.sqrt(3 * q.shape[2])).astype(kind)


@right
class JustAboveTheLast:
    """A quotient of equal logarithms, one ulp too high, so that its product exceeds 31."""

    @claims("clamped", num_buckets=64, max_relative_positions=512)
    def deberta_bucket(self, relative_position: Array) -> Array:
        relative = relative_position.astype(np.int64)
        n = np.minimum(np.abs(relative), 511)
        last = np.nextafter(math.log(511 / 32), 0)
        steps = np.log(np.maximum(n, 32) / 32) / last * 31
        return np.sign(relative) * np.where(n <= 32, n, 32 + np.ceil(steps).astype(np.int64))
