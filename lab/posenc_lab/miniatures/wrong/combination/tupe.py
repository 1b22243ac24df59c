"""Wrong implementations: untied positional encoding."""

import math
from typing import Any

import ml_dtypes
import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made


class Untied(Mistake, steps=True):
    """TUPE's released code, in steps."""

    call = "tupe_scores"
    claimed = ("tupe-a",)

    def answer(self, q: Array, k: Array, p_q: Array, p_k: Array, *, cls: str) -> Array:
        extra = 1 if cls == "untied" else 0
        if p_q.shape[1] != q.shape[1] + extra:
            raise ValueError(f"{p_q.shape[1]} positions for {q.shape[1]} tokens")
        kind = q.dtype
        q, k, p_q, p_k = (array.astype(np.float64) for array in (q, k, p_q, p_k))
        content, position = self.content(q, k, p_q, p_k), self.position(q, k, p_q, p_k, cls)
        return self.scale(content, position, q).astype(kind)

    def content(self, q: Array, k: Array, p_q: Array, p_k: Array) -> Array:
        return q @ k.swapaxes(1, 2)

    def position(self, q: Array, k: Array, p_q: Array, p_k: Array, cls: str) -> Array:
        every = self.product(p_q, p_k)
        return self.reset(every) if cls == "untied" else every

    def product(self, p_q: Array, p_k: Array) -> Array:
        return p_q @ p_k.swapaxes(1, 2)

    def reset(self, every: Array) -> Array:
        theta1, theta2 = every[:, 0, 0], every[:, 1, 1]
        return self.write(self.tokens(every), theta1[:, None], theta2[:, None])

    def tokens(self, every: Array) -> Array:
        return every[:, 1:, 1:].copy()

    def write(self, scores: Array, theta1: Array, theta2: Array) -> Array:
        scores[:, :, 0] = theta2
        scores[:, 0, :] = theta1
        return scores

    def scale(self, content: Array, position: Array, q: Array) -> Array:
        return (content + position) / math.sqrt(2 * q.shape[2])


class UntiedRelative(Untied, steps=True):
    """TUPE's released code with T5's bias, in steps."""

    call = "tupe_relative_scores"
    claimed = ("tupe-r",)

    def answer(
        self,
        q: Array,
        k: Array,
        p_q: Array,
        p_k: Array,
        table: Array,
        *,
        reset: str,
        max_distance: int,
    ) -> Array:
        buckets = len(table) - (reset == "apart")
        place = np.arange(q.shape[1])
        relative = self.relative(place)
        bias = self.bias(self.bucket(relative, buckets, max_distance), table, reset)
        if p_q.shape[1] != q.shape[1] + 1:
            raise ValueError(f"{p_q.shape[1]} positions for {q.shape[1]} tokens")
        kind = q.dtype
        q, k, p_q, p_k = (array.astype(np.float64) for array in (q, k, p_q, p_k))
        content, position = self.content(q, k, p_q, p_k), self.position(q, k, p_q, p_k, "untied")
        return self.add(content, position, bias, q).astype(kind)

    def relative(self, place: Array) -> Array:
        return place[None, :] - place[:, None]

    def bucket(self, relative: Array, buckets: int, limit: int) -> Array:
        side = buckets // 2
        exact, distance = side // 2, np.abs(relative)
        ratio = np.log(np.maximum(distance, exact) / exact) / math.log(limit / exact)
        large = exact + np.floor(ratio * (side - exact)).astype(np.int64)
        near = np.where(distance < exact, distance, np.minimum(large, side - 1))
        return near + side * (relative > 0)

    def bias(self, bucket: Array, table: Array, reset: str) -> Array:
        if reset == "apart":
            bucket = self.own_rows(bucket, len(table) - 1)
        bias = np.moveaxis(table[bucket].astype(np.float64), -1, 0).copy()
        return bias if reset == "apart" else self.without_cls(bias)

    def own_rows(self, bucket: Array, buckets: int) -> Array:
        bucket[:, 0] = buckets
        bucket[0, :] = buckets // 2
        return bucket

    def without_cls(self, bias: Array) -> Array:
        bias[:, :, 0] = 0
        bias[:, 0, :] = 0
        return bias

    def add(self, content: Array, position: Array, bias: Array, q: Array) -> Array:
        return self.scale(content, position, q) + bias


def _exchanged(self: Any, scores: Array, theta1: Array, theta2: Array) -> Array:
    return Untied.write(self, scores, theta2, theta1)


def _column_last(self: Any, scores: Array, theta1: Array, theta2: Array) -> Array:
    scores[:, 0, :] = theta1
    scores[:, :, 0] = theta2
    return scores


def _left(self: Any, scores: Array, theta1: Array, theta2: Array) -> Array:
    return scores


def _row_only(self: Any, scores: Array, theta1: Array, theta2: Array) -> Array:
    scores[:, 0, :] = theta1
    return scores


def _zeros(self: Any, scores: Array, theta1: Array, theta2: Array) -> Array:
    return Untied.write(self, scores, 0 * theta1, 0 * theta2)


def _added_before(self: Any, q: Array, k: Array, p_q: Array, p_k: Array) -> Array:
    start = p_q.shape[1] - q.shape[1]
    return (q + p_q[:, start:]) @ (k + p_k[:, start:]).swapaxes(1, 2)


def _no_position(self: Any, *arguments: Any) -> Array:
    return np.zeros((1, 1, 1))


def _turned(self: Any, p_q: Array, p_k: Array) -> Array:
    return p_k @ p_q.swapaxes(1, 2)


def _usual(self: Any, content: Array, position: Array, q: Array) -> Array:
    return (content + position) / math.sqrt(q.shape[2])


def _content_usual(self: Any, content: Array, position: Array, q: Array) -> Array:
    return content / math.sqrt(q.shape[2]) + position / math.sqrt(2 * q.shape[2])


def _content_only(self: Any, content: Array, position: Array, q: Array) -> Array:
    return content / math.sqrt(2 * q.shape[2]) + position


UNTIED: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    ("exchanged", "θ2 in the row.", "theta-exchanged", {"write": _exchanged}),
    ("written last in the column", "θ2 at the corner.", "theta-exchanged", {"write": _column_last}),
    ("not reset", "[CLS] tied.", "cls-wrong", {"write": _left}),
    ("reset in the row", "[CLS] halfway untied.", "cls-wrong", {"write": _row_only}),
    ("reset to zero", "No θ at all.", "cls-wrong", {"write": _zeros}),
    (
        "from row 0 on",
        "The position of token i taken from row i.",
        "rows-not-offset",
        {"tokens": lambda self, every: every[:, :-1, :-1].copy()},
    ),
)
ANY: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    (
        "added before the product",
        "Content and position mixed, as in BERT.",
        "terms-wrong",
        {"content": _added_before, "position": _no_position},
    ),
    ("without positions", "Content alone.", "terms-wrong", {"position": _no_position}),
    ("projected the wrong way", "p_k for queries.", "terms-wrong", {"product": _turned}),
    ("divided as usual", "The square root of head_dim.", "wrong-scale", {"scale": _usual}),
    (
        "with content as usual",
        "One term divided as usual.",
        "wrong-scale",
        {"scale": _content_usual},
    ),
    (
        "with content alone divided",
        "Positions as they are.",
        "wrong-scale",
        {"scale": _content_only},
    ),
)
for _combination, _family in (
    ("tupe-a", (*UNTIED, *ANY)),
    ("tie-cls", ANY),
    ("tupe-r", (*UNTIED, *ANY)),
    ("tupe-r-paper", (*UNTIED, *ANY)),
):
    _of_table = _combination.startswith("tupe-r")
    for _name, _why, _named, _steps in _family:
        made(
            UntiedRelative if _of_table else Untied,
            f"{_combination} {_name}",
            _why,
            named=f"relative-{_named}" if _of_table else _named,
            claimed=(_combination,),
            **_steps,
        )


class TiedNotTied(Untied):
    """[CLS] is untied, by the first rows of positions, although it should be tied."""

    claimed = ("tie-cls",)
    named = "cls-wrong"

    def position(self, q: Array, k: Array, p_q: Array, p_k: Array, cls: str) -> Array:
        every = self.product(p_q, p_k)
        second = min(1, every.shape[1] - 1)
        return self.write(every, every[:, :1, 0].copy(), every[:, second, second, None].copy())


class TiedLate(Untied):
    """Positions are counted from 1; the last one wraps to 0."""

    claimed = ("tie-cls",)
    named = "rows-not-offset"

    def product(self, p_q: Array, p_k: Array) -> Array:
        return super().product(np.roll(p_q, -1, axis=1), np.roll(p_k, -1, axis=1))


class UntiedOfTheFirstHead(Untied):
    """The first head's θ1 and θ2 are used for all."""

    def write(self, scores: Array, theta1: Array, theta2: Array) -> Array:
        return super().write(scores, theta1[:1], theta2[:1])


class UntiedExceptAlone(Untied):
    """[CLS] is tied if it is the only token."""

    def write(self, scores: Array, theta1: Array, theta2: Array) -> Array:
        return scores if scores.shape[1] == 1 else super().write(scores, theta1, theta2)


class UntiedUpTo64(Untied):
    """Positions end after 64; later ones repeat the last."""

    def tokens(self, every: Array) -> Array:
        place = np.minimum(np.arange(every.shape[1] - 1), 63) + 1
        return every[:, place[:, None], place]


class UntiedThroughBfloat16(Untied):
    """Scores are rounded to bfloat16 for a float32 result."""

    def scale(self, content: Array, position: Array, q: Array) -> Array:
        return super().scale(content, position, q).astype(ml_dtypes.bfloat16)


class UntiedKeepsPositions(Untied):
    """Position scores are cached by shape, ignoring the values of p_q and p_k."""

    def __init__(self) -> None:
        self._kept: dict[Any, Array] = {}

    def position(self, q: Array, k: Array, p_q: Array, p_k: Array, cls: str) -> Array:
        if p_q.shape not in self._kept:
            self._kept[p_q.shape] = super().position(q, k, p_q, p_k, cls)
        return self._kept[p_q.shape]


class UntiedScalesPositions(Untied):
    """The caller's p_q is scaled in place."""

    def answer(self, q: Array, k: Array, p_q: Array, p_k: Array, *, cls: str) -> Array:
        result = super().answer(q, k, p_q, p_k, cls=cls)
        p_q *= np.asarray((2 * q.shape[2]) ** -0.5, p_q.dtype)
        return result


class TransposedTied(Untied):
    """Keys come before queries."""

    claimed = ("tie-cls",)

    def scale(self, content: Array, position: Array, q: Array) -> Array:
        return super().scale(content, position, q).swapaxes(1, 2)


class RelativeReset(UntiedRelative):
    """[CLS] biases are 0, the paper's reset, instead of the released code's rows."""

    named = "reset-swapped"

    def own_rows(self, bucket: Array, buckets: int) -> Array:
        return bucket

    def bias(self, bucket: Array, table: Array, reset: str) -> Array:
        return self.without_cls(super().bias(bucket, table, reset))


class RelativeNotReset(UntiedRelative):
    """[CLS] has the biases of any token."""

    named = "reset-swapped"

    def own_rows(self, bucket: Array, buckets: int) -> Array:
        return bucket


class RelativeNotResetOfThePaper(UntiedRelative):
    """[CLS] has the biases of any token where it should have only θ1 and θ2."""

    claimed = ("tupe-r-paper",)
    named = "reset-swapped"

    def without_cls(self, bias: Array) -> Array:
        return bias


class RelativeRowsExchanged(UntiedRelative):
    """For [CLS], the unused bucket and the table's last row are exchanged."""

    named = "cls-rows-exchanged"

    def own_rows(self, bucket: Array, buckets: int) -> Array:
        bucket[:, 0] = buckets // 2
        bucket[0, :] = buckets
        return bucket


class RelativeColumnLast(UntiedRelative):
    """The corner has the column's bias, not the row's."""

    named = "cls-rows-exchanged"

    def own_rows(self, bucket: Array, buckets: int) -> Array:
        bucket[0, :] = buckets // 2
        bucket[:, 0] = buckets
        return bucket


class RelativeSignFlipped(UntiedRelative):
    """Distances are query minus key."""

    named = "buckets-wrong"

    def relative(self, place: Array) -> Array:
        return place[:, None] - place[None, :]


class RelativeSignFlippedOfThePaper(RelativeSignFlipped):
    """Distances are query minus key, without [CLS] biases."""

    claimed = ("tupe-r-paper",)


class RelativeUpTo128(UntiedRelative):
    """max_distance is always 128."""

    named = "buckets-wrong"

    def bucket(self, relative: Array, buckets: int, limit: int) -> Array:
        return super().bucket(relative, buckets, 128)


class RelativeBiasScaled(UntiedRelative):
    """The bias is divided too."""

    named = "relative-wrong-scale"

    def add(self, content: Array, position: Array, bias: Array, q: Array) -> Array:
        return self.scale(content, position + bias, q)


class RelativeBiasScaledOfThePaper(RelativeBiasScaled):
    """The bias is divided too, without [CLS] biases."""

    claimed = ("tupe-r-paper",)


class RelativeWithoutBias(UntiedRelative):
    """The table is ignored."""

    named = "relative-terms-wrong"

    def bias(self, bucket: Array, table: Array, reset: str) -> Array:
        return np.zeros((1, 1, 1))


class RelativeOfTheFirstHead(UntiedRelative):
    """The table's first column is used for all heads."""

    def bias(self, bucket: Array, table: Array, reset: str) -> Array:
        return super().bias(bucket, np.repeat(table[:, :1], table.shape[1], axis=1), reset)


class RelativeNearOnly(UntiedRelative):
    """Distances are clipped where buckets start to widen."""

    def bucket(self, relative: Array, buckets: int, limit: int) -> Array:
        reach = buckets // 4
        return super().bucket(np.clip(relative, -reach, reach), buckets, limit)
