"""Wrong implementations: T5's relative position bias."""

import math
from typing import Any

import ml_dtypes
import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made, narrow


class Buckets(Mistake, steps=True):
    """T5's released bucket rule, in steps."""

    call = "t5_bucket"
    claimed = ("bidirectional",)

    def answer(
        self, relative_position: Array, *, num_buckets: int, max_distance: int, direction: str
    ) -> Array:
        return self.bucket(relative_position, num_buckets, max_distance, direction)

    def bucket(self, relative: Array, buckets: int, limit: int, direction: str) -> Array:
        two_sided = direction == "bidirectional"
        side = buckets // 2 if two_sided else buckets
        distance = np.abs(relative) if two_sided else -np.minimum(relative, 0)
        exact = side // 2
        if not 0 < exact < limit:
            raise ValueError(f"{buckets} buckets up to {limit}")
        logarithm = self.logarithm(np.maximum(distance, 1) / exact, limit / exact)
        large = self.clip(exact + self.whole(logarithm * (side - exact)), side)
        return self.ahead(relative, side) * two_sided + np.where(distance < exact, distance, large)

    def logarithm(self, ratio: Array, limit: float) -> Array:
        return np.log(ratio) / np.log(limit)

    def whole(self, values: Array) -> Array:
        return np.floor(values).astype(np.int64)

    def clip(self, bucket: Array, side: int) -> Array:
        return np.minimum(bucket, side - 1)

    def ahead(self, relative: Array, side: int) -> Array:
        return np.where(relative > 0, side, 0)


class BucketBias(Buckets, steps=True):
    """A table lookup by T5's buckets, in steps."""

    call = "t5_bias"

    def answer(
        self, table: Array, q_len: int, k_len: int, *, max_distance: int, direction: str
    ) -> Array:
        relative = np.arange(k_len) - self.queries(q_len, k_len)[:, None]
        return self.look_up(table, self.bucket(relative, len(table), max_distance, direction))

    def queries(self, q_len: int, k_len: int) -> Array:
        return np.arange(k_len - q_len, k_len)

    def look_up(self, table: Array, buckets: Array) -> Array:
        return np.ascontiguousarray(np.moveaxis(table[buckets], -1, 0))


def _other_direction(direction: str) -> str:
    return "causal" if direction == "bidirectional" else "bidirectional"


def _with(change: Any) -> Any:
    """Return a ``bucket`` method that changes its arguments before calling the right one."""

    def bucket(self: Any, *arguments: Any) -> Array:
        return Buckets.bucket(self, *change(*arguments))

    return bucket


def _narrow_logarithm(kind: str) -> dict[str, Any]:
    """Return steps that round to dtype ``kind`` after each operation, with exact scalars."""

    def logarithm(self: Any, ratio: Array, limit: float) -> Array:
        return narrow(narrow(np.log(narrow(ratio, kind)), kind) / math.log(limit), kind)

    def whole(self: Any, values: Array) -> Array:
        return np.floor(narrow(values, kind)).astype(np.int64)

    return {"logarithm": logarithm, "whole": whole}


def _rounded(self: Any, values: Array) -> Array:
    return np.round(values).astype(np.int64)


for _base, _prefix in ((Buckets, ""), (BucketBias, "bias-")):
    for _direction in ("bidirectional", "causal"):
        _of = f"{_base.__name__} {_direction}"
        made(
            _base,
            f"{_of} for the other direction",
            "Bidirectional buckets where causal ones belong, or the reverse.",
            named="direction-swapped",
            claimed=(_direction,),
            bucket=_with(lambda r, n, limit, d: (r, n, limit, _other_direction(d))),
        )
        made(
            _base,
            f"{_of} with the sign flipped",
            "Query minus key for key minus query.",
            named=f"{_prefix}sign-flipped",
            claimed=(_direction,),
            bucket=_with(lambda r, n, limit, d: (-r, n, limit, d)),
        )
        for _shift in (1, -1):
            made(
                _base,
                f"{_of} shifted by {_shift}",
                "Distances off by one.",
                named=f"{_prefix}distance-shifted",
                claimed=(_direction,),
                bucket=_with(lambda r, n, limit, d, shift=_shift: (r + shift, n, limit, d)),
            )
        made(
            _base,
            f"{_of} up to 128",
            "max_distance ignored.",
            named="wrong-max-distance",
            claimed=(_direction,),
            bucket=_with(lambda r, n, limit, d: (r, n, 128, d)),
        )
        made(
            _base,
            f"{_of} rounded",
            "Logarithms rounded to the nearest bucket instead of cut.",
            named="inexact-logarithm",
            claimed=(_direction,),
            whole=_rounded,
        )
        made(
            _base,
            f"{_of} by a bfloat16 logarithm",
            "Bucket edges from a logarithm in bfloat16.",
            named="inexact-logarithm",
            claimed=(_direction,),
            **_narrow_logarithm("bfloat16"),
        )
    made(
        _base,
        f"{_base.__name__} by a float16 logarithm",
        "Bucket edges from a logarithm in float16: wrong at 279, 362, 469 and 789 of up to 1,024.",
        named="inexact-logarithm",
        claimed=("causal",),
        **_narrow_logarithm("float16"),
    )
    made(
        _base,
        f"{_base.__name__} up to twice the distance",
        "max_distance counted in both directions.",
        named="wrong-max-distance",
        bucket=_with(lambda r, n, limit, d: (r, n, 2 * limit, d)),
    )


class BucketsRoundedUp(Buckets):
    """Logarithms are rounded up."""

    def whole(self, values: Array) -> Array:
        return np.ceil(values).astype(np.int64)


class BucketsEndEarly(Buckets):
    """The last bucket of a side is never used."""

    def clip(self, bucket: Array, side: int) -> Array:
        return np.minimum(bucket, side - 2)


class BucketsEndLate(Buckets):
    """Far distances get one bucket too many, beyond the table."""

    claimed = ("causal",)

    def clip(self, bucket: Array, side: int) -> Array:
        return np.minimum(bucket, side)


class BucketsUnclipped(Buckets):
    """Buckets of far distances are not clipped and exceed the table."""

    def clip(self, bucket: Array, side: int) -> Array:
        return bucket


class BucketsOf32(Buckets):
    """num_buckets is always 32."""

    bucket = _with(lambda r, n, limit, d: (r, 32, limit, d))


class BucketsCountZeroAhead(Buckets):
    """The query's own key is treated as a key after the query."""

    def ahead(self, relative: Array, side: int) -> Array:
        return np.where(relative >= 0, side, 0)


class BucketsBehindAbove(Buckets):
    """Causal buckets use the distance of later keys too."""

    claimed = ("causal",)
    bucket = _with(lambda r, n, limit, d: (-np.abs(r), n, limit, d))


class BucketsOfShortIntegers(Buckets):
    """Distances are cast to int16."""

    bucket = _with(lambda r, n, limit, d: (r.astype(np.int16).astype(np.int64), n, limit, d))


class BucketsAsFloats(Buckets):
    """Buckets are float32."""

    def answer(self, relative_position: Array, **keywords: Any) -> Array:
        return super().answer(relative_position, **keywords).astype(np.float32)


class BucketsRefuseNothing(Buckets):
    """Empty arrays are refused, since they have no maximum."""

    def answer(self, relative_position: Array, **keywords: Any) -> Array:
        if relative_position.max() > 2**40:
            raise ValueError
        return super().answer(relative_position, **keywords)


class BucketsFlatten(Buckets):
    """The result is flattened."""

    def answer(self, relative_position: Array, **keywords: Any) -> Array:
        return super().answer(relative_position.ravel(), **keywords)


class BucketsChangeDistances(Buckets):
    """The caller's distances are clamped to at most 0 in place."""

    claimed = ("causal",)

    def answer(self, relative_position: Array, **keywords: Any) -> Array:
        np.minimum(relative_position, 0, out=relative_position)
        return super().answer(relative_position, **keywords)


class BucketsLinear(Buckets):
    """Bucket edges are linear, not logarithmic."""

    def logarithm(self, ratio: Array, limit: float) -> Array:
        return (ratio - 1) / (limit - 1)


class BucketBiasFromZero(BucketBias):
    """Query i is at position i although keys come before it."""

    named = "bias-queries-from-zero"

    def queries(self, q_len: int, k_len: int) -> Array:
        return np.arange(q_len)


class BucketBiasFromZeroCausal(BucketBiasFromZero):
    """Query i is at position i, in a decoder."""

    claimed = ("causal",)


class BucketBiasHeadsReversed(BucketBias):
    """Heads are in reverse order."""

    def look_up(self, table: Array, buckets: Array) -> Array:
        return super().look_up(table, buckets)[::-1]


class BucketBiasHeadsMixed(BucketBias):
    """The table is read as [heads, num_buckets]."""

    def look_up(self, table: Array, buckets: Array) -> Array:
        return super().look_up(table.reshape(table.shape[::-1]).T, buckets)


class BucketBiasFirstHead(BucketBias):
    """The first head's column is used for all heads."""

    claimed = ("causal",)

    def look_up(self, table: Array, buckets: Array) -> Array:
        return super().look_up(table[:, :1].repeat(table.shape[1], axis=1), buckets)


class BucketBiasTransposed(BucketBias):
    """Keys come before queries, which a square shape does not show."""

    def look_up(self, table: Array, buckets: Array) -> Array:
        return np.swapaxes(super().look_up(table, buckets), 1, 2)


class BucketBiasHeadsLast(BucketBias):
    """The result is [q_len, k_len, heads], as gathered."""

    def look_up(self, table: Array, buckets: Array) -> Array:
        return table[buckets]


class BucketBiasScaled(BucketBias):
    """The bias is multiplied by 8, the square root of a head dimension of 64."""

    def look_up(self, table: Array, buckets: Array) -> Array:
        return super().look_up(table, buckets) * np.float32(8)


class BucketBiasThroughBfloat16(BucketBias):
    """The table is cast to bfloat16 for a float32 result."""

    def look_up(self, table: Array, buckets: Array) -> Array:
        return super().look_up(table.astype(ml_dtypes.bfloat16), buckets).astype(table.dtype)


class BucketBiasForgetsTheLast(BucketBias):
    """The table's last row is never read."""

    def look_up(self, table: Array, buckets: Array) -> Array:
        return super().look_up(table, np.minimum(buckets, len(table) - 2))


class BucketBiasKeepsTheFirstTable(BucketBias):
    """Results are cached by shape, ignoring the table's values."""

    def __init__(self) -> None:
        self._kept: dict[Any, Array] = {}

    def answer(self, table: Array, q_len: int, k_len: int, **keywords: Any) -> Array:
        key = table.shape, q_len, k_len, keywords["max_distance"]
        if key not in self._kept:
            self._kept[key] = super().answer(table, q_len, k_len, **keywords)
        return self._kept[key].copy()


class BucketBiasOfOneQuery(BucketBias):
    """A single query is at position 0."""

    named = "bias-queries-from-zero"

    def queries(self, q_len: int, k_len: int) -> Array:
        return super().queries(q_len, k_len) if q_len > 1 else np.zeros(q_len, dtype=int)


class TableGradient(Buckets, steps=True):
    """Upstream gradients summed by table row, in steps."""

    call = "t5_bias_vjp"

    def answer(
        self, gradient: Array, *, num_buckets: int, max_distance: int, direction: str
    ) -> Array:
        heads, q_len, k_len = gradient.shape
        if q_len > k_len:
            raise ValueError(gradient.shape)
        relative = np.arange(k_len) - np.arange(k_len - q_len, k_len)[:, None]
        buckets = self.bucket(relative, num_buckets, max_distance, direction)
        table = np.zeros((num_buckets, heads))
        self.add(table, buckets, np.moveaxis(gradient.astype(np.float64), 0, -1))
        return table.astype(gradient.dtype)

    def add(self, table: Array, buckets: Array, gradient: Array) -> None:
        np.add.at(table, buckets, gradient)


def _assigned(self: Any, table: Array, buckets: Array, gradient: Array) -> None:
    table[buckets] = gradient


def _augmented(self: Any, table: Array, buckets: Array, gradient: Array) -> None:
    table[buckets] += gradient


def _averaged(self: Any, table: Array, buckets: Array, gradient: Array) -> None:
    np.add.at(table, buckets, gradient)
    table /= np.maximum(np.bincount(buckets.ravel(), minlength=len(table)), 1)[:, None]


def _in_bfloat16(self: Any, table: Array, buckets: Array, gradient: Array) -> None:
    for place in np.ndindex(buckets.shape):
        table[buckets[place]] = narrow(table[buckets[place]] + gradient[place], "bfloat16")


made(
    TableGradient,
    "TableGradientAssigned",
    "An indexed assignment.",
    named="gradient-overwritten",
    add=_assigned,
)
made(
    TableGradient,
    "TableGradientAugmented",
    "An augmented assignment, which reads every entry once.",
    named="gradient-overwritten",
    add=_augmented,
)
made(
    TableGradient,
    "TableGradientAveraged",
    "The mean instead of the sum.",
    named="gradient-averaged",
    add=_averaged,
)
made(TableGradient, "TableGradientInBfloat16", "Sums held in bfloat16.", add=_in_bfloat16)
made(
    TableGradient,
    "TableGradientSignFlipped",
    "Query minus key.",
    named="gradient-sign-flipped",
    bucket=_with(lambda r, n, limit, d: (-r, n, limit, d)),
)
for _direction in ("bidirectional", "causal"):
    made(
        TableGradient,
        f"TableGradient {_direction} for the other direction",
        "Buckets of the other direction.",
        named="gradient-direction-swapped",
        claimed=(_direction,),
        bucket=_with(lambda r, n, limit, d: (r, n, limit, _other_direction(d))),
    )
