"""Wrong implementations: Transformer-XL's relative attention."""

from collections.abc import Mapping
from typing import Any, ClassVar

import ml_dtypes
import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made, narrow

EVERY = ("transformer-xl", "xlnet", "conformer")
TWO_SIDED = ("xlnet", "conformer")


class Shift(Mistake, steps=True):
    """The released trick in steps: prepend a column of zeros, reshape, drop the first row."""

    call = "relative_shift"
    claimed = ("transformer-xl",)

    def answer(self, x: Array, *, distances: str) -> Array:
        *_, q_len, columns = x.shape
        k_len = columns - {"past": 0, "full": q_len - 1, "padded": q_len}[distances]
        if k_len < q_len:
            raise ValueError(f"{q_len} queries, {k_len} keys")
        if distances != "padded":
            x = self.pad(x)
        return self.crop(self.skew(x), k_len)

    def pad(self, x: Array) -> Array:
        return np.concatenate([np.zeros((*x.shape[:-1], 1), x.dtype), x], axis=-1)

    def skew(self, x: Array) -> Array:
        *batch, q_len, columns = x.shape
        turned = x.reshape(*batch, columns, q_len)[..., 1:, :]
        return turned.reshape(*batch, q_len, columns - 1)

    def crop(self, x: Array, k_len: int) -> Array:
        return x[..., :k_len].copy()


class ShiftNothing(Shift):
    """Scores by distance are returned as scores by key."""

    named = "shift-missing"

    def skew(self, x: Array) -> Array:
        return x[..., 1:]


class ShiftNothingOfXlnet(ShiftNothing):
    """Scores by distance, with a column of padding, are returned as scores by key."""

    claimed = ("xlnet",)


class ShiftNothingOfConformer(ShiftNothing):
    """Scores by distance in both directions are returned as scores by key."""

    claimed = ("conformer",)


class ShiftToTheRight(Shift):
    """The column of zeros is appended and the last row dropped."""

    named = "shift-the-other-way"

    def pad(self, x: Array) -> Array:
        return np.concatenate([x, np.zeros((*x.shape[:-1], 1), x.dtype)], axis=-1)

    def skew(self, x: Array) -> Array:
        *batch, q_len, columns = x.shape
        turned = x.reshape(*batch, columns, q_len)[..., :-1, :]
        return turned.reshape(*batch, q_len, columns - 1)


class ShiftToTheRightOfConformer(ShiftToTheRight):
    """With distances in both directions, zeros are appended and the last row dropped."""

    claimed = ("conformer",)


class ShiftRising(Shift):
    """Columns are read as ascending distances."""

    named = "shift-ascending"

    def answer(self, x: Array, *, distances: str) -> Array:
        return super().answer(np.ascontiguousarray(x[..., ::-1]), distances=distances)


class ShiftRisingOfXlnet(ShiftRising):
    """Columns are read as ascending distances in both directions."""

    claimed = ("xlnet",)


class ShiftTooFar(Shift):
    """The strided read starts one element late, with zeros where the memory ends."""

    named = "shift-off-by-one"
    late = 1

    def answer(self, x: Array, *, distances: str) -> Array:
        *batch, q_len, columns = x.shape
        k_len = columns - {"past": 0, "full": q_len - 1, "padded": q_len}[distances]
        first = q_len - (distances != "padded") + self.late
        flat = x.reshape(*batch, q_len * columns)
        flat = np.concatenate([flat, np.zeros((*batch, columns), x.dtype)], axis=-1)
        place = first + np.arange(q_len)[:, None] * (columns - 1) + np.arange(k_len)
        return flat[..., place]


class ShiftTooFarOfXlnet(ShiftTooFar):
    """Distances from k_len - 1 down are read as if from k_len."""

    claimed = ("xlnet",)


class ShiftTooLittle(ShiftTooFar):
    """Distances from k_len down are read as if from k_len - 1."""

    claimed = ("xlnet",)
    late = -1


class ShiftAsWithoutMemory(Shift):
    """Row i is shifted by k_len - 1 - i places."""

    def skew(self, x: Array) -> Array:
        rows, columns = x.shape[-2], x.shape[-1] - 1
        place = np.arange(columns) + columns - 1 - np.arange(rows)[:, None]
        return np.take_along_axis(x, np.broadcast_to(place % columns + 1, x[..., 1:].shape), -1)


class ShiftByOne(Shift):
    """Every row but the last is shifted by one place, which is right for two queries."""

    def skew(self, x: Array) -> Array:
        moved = np.roll(x[..., 1:], -1, axis=-1)
        moved[..., -1, :] = x[..., -1, 1:]
        return moved


class ShiftByBytes(Shift):
    """Column indices are held in uint8."""

    def skew(self, x: Array) -> Array:
        rows, columns = x.shape[-2], x.shape[-1] - 1
        place = np.arange(columns) + (rows - 1 - np.arange(rows, dtype=np.uint8))[:, None]
        column = np.minimum(place.astype(np.uint8) if rows > 256 else place, columns - 1) + 1
        return np.take_along_axis(x, np.broadcast_to(column, x[..., 1:].shape), -1)


class ShiftAcrossTheBatch(Shift):
    """All heads are reshaped as a single head."""

    def skew(self, x: Array) -> Array:
        *batch, q_len, columns = x.shape
        whole = x.reshape(-1)[q_len:]
        extended = np.concatenate([whole, np.zeros(x.size - whole.size, x.dtype)])
        cropped = extended[: int(np.prod(batch)) * q_len * (columns - 1)]
        return cropped.reshape(*batch, q_len, columns - 1)


class ShiftInPlace(Shift):
    """The caller's scores are shifted in place."""

    def answer(self, x: Array, *, distances: str) -> Array:
        x[...] = super().answer(x, distances=distances)
        return x.copy()


class ShiftThroughBfloat16(Shift):
    """Scores are rounded to bfloat16."""

    def pad(self, x: Array) -> Array:
        return super().pad(x.astype(ml_dtypes.bfloat16)).astype(x.dtype)


class ShiftKeepsAllColumns(Shift):
    """The result has a column per distance, not per key."""

    claimed = ("conformer",)

    def crop(self, x: Array, k_len: int) -> Array:
        return x


class Attention(Mistake, steps=True):
    """Released code in steps: distances, their sinusoids, scores by distance, a shift."""

    call = "transformer_xl_scores"
    claimed = ("transformer-xl",)
    limits: ClassVar[Mapping[str, Any]] = {"clamping": "clamped"}

    def answer(
        self,
        q: Array,
        k: Array,
        w_kr: Array,
        u: Array,
        v: Array,
        *,
        direction: str,
        layout: str,
        clamp_len: int | None = None,
    ) -> Array:
        q_len, k_len, dim = q.shape[1], k.shape[1], w_kr.shape[1]
        if q_len > k_len or dim % 2:
            raise ValueError(f"{q_len} queries, {k_len} keys, {dim} channels")
        dtype = q.dtype
        q, k, w_kr, u, v = (array.astype(np.float64) for array in (q, k, w_kr, u, v))
        listed = self.listed(q_len, k_len, direction)
        listed = self.clamp(listed, np.inf if clamp_len is None else clamp_len)
        keys = self.waves(listed, dim, layout) @ w_kr
        ac = self.content(q, k, u)
        bd = self.shift(self.position(q, keys, v), k_len, direction)
        return self.scale(ac, bd, q).astype(dtype)

    def listed(self, q_len: int, k_len: int, direction: str) -> Array:
        return np.arange(k_len - 1, -1 if direction == "causal" else -q_len, -1.0)

    def clamp(self, listed: Array, longest: float) -> Array:
        return np.clip(listed, -longest, longest)

    def exponents(self, dim: int) -> Array:
        return np.arange(0, dim, 2) / dim

    def angles(self, listed: Array, dim: int) -> Array:
        return np.multiply.outer(listed, 10000.0 ** -self.exponents(dim))

    def waves(self, listed: Array, dim: int, layout: str) -> Array:
        angle = self.angles(listed, dim)
        if layout == "concatenated":
            return np.concatenate([np.sin(angle), np.cos(angle)], axis=-1)
        return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(len(listed), dim)

    def content(self, q: Array, k: Array, u: Array) -> Array:
        return (q + u[:, None]) @ k.swapaxes(1, 2)

    def position(self, q: Array, keys: Array, v: Array) -> Array:
        return (q + v[:, None]) @ keys.swapaxes(1, 2)

    def shift(self, scores: Array, k_len: int, direction: str) -> Array:
        heads, q_len, columns = scores.shape
        padded = np.concatenate([np.zeros((heads, q_len, 1)), scores], axis=2)
        rows = padded.reshape(heads, -1)[:, q_len:].reshape(heads, q_len, columns)
        return rows[..., :k_len]

    def scale(self, ac: Array, bd: Array, q: Array) -> Array:
        return (ac + bd) / np.sqrt(q.shape[-1])


def _for_each(base: type[Attention], combinations: tuple[str, ...]) -> None:
    """Register the mistake of ``base`` for other combinations."""
    for name in combinations:
        why = f"{base.__doc__}"
        made(base, f"{base.__name__} in {name}", why, claimed=(name,), named=base.named)


class AttentionOtherLayout(Attention):
    """Sines and cosines are interleaved instead of concatenated, or the reverse."""

    named = "layout-swapped"

    def waves(self, listed: Array, dim: int, layout: str) -> Array:
        other = "interleaved" if layout == "concatenated" else "concatenated"
        return super().waves(listed, dim, other)


_for_each(AttentionOtherLayout, TWO_SIDED)


class AttentionSignFlipped(Attention):
    """Distances are key minus query."""

    named = "sign-flipped"

    def listed(self, q_len: int, k_len: int, direction: str) -> Array:
        return -super().listed(q_len, k_len, direction)


_for_each(AttentionSignFlipped, TWO_SIDED)


class AttentionFromTheFront(Attention):
    """The table of 5,000 positions falls from 4,999, and its first rows are taken."""

    named = "table-from-front"

    def listed(self, q_len: int, k_len: int, direction: str) -> Array:
        return super().listed(q_len, k_len, direction) + 4999 - (k_len - 1)


_for_each(AttentionFromTheFront, TWO_SIDED)


class AttentionSineEven(Attention):
    """Keys after the query get the sinusoids of keys before it."""

    claimed = ("conformer",)
    named = "sine-even"

    def clamp(self, listed: Array, longest: float) -> Array:
        return np.abs(super().clamp(listed, longest))


_for_each(AttentionSineEven, ("xlnet",))


class AttentionUnshifted(Attention):
    """Scores by distance are added to scores by key."""

    named = "unshifted"

    def shift(self, scores: Array, k_len: int, direction: str) -> Array:
        return scores[..., :k_len]


_for_each(AttentionUnshifted, TWO_SIDED)


class AttentionRising(Attention):
    """Distances are listed in ascending order."""

    named = "ascending"

    def listed(self, q_len: int, k_len: int, direction: str) -> Array:
        return super().listed(q_len, k_len, direction)[::-1]


_for_each(AttentionRising, ("conformer",))


class AttentionWithoutMemory(Attention):
    """Distances are counted as if query i were at position i."""

    named = "memory-ignored"

    def position(self, q: Array, keys: Array, v: Array) -> Array:
        return (q + v[:, None]) @ keys.swapaxes(1, 2)

    def shift(self, scores: Array, k_len: int, direction: str) -> Array:
        q_len = scores.shape[1]
        distance = np.arange(q_len)[:, None] - np.arange(k_len)
        column = k_len - 1 - (np.maximum(distance, 0) if direction == "causal" else distance)
        column = np.broadcast_to(column, (len(scores), q_len, k_len))
        return np.take_along_axis(scores, column, -1)

    def listed(self, q_len: int, k_len: int, direction: str) -> Array:
        return np.arange(k_len - 1, -1 if direction == "causal" else -k_len, -1.0)


_for_each(AttentionWithoutMemory, ("xlnet",))


class AttentionOneFarther(Attention):
    """Distances start at k_len but are shifted as if from k_len - 1."""

    named = "distance-shifted"

    def listed(self, q_len: int, k_len: int, direction: str) -> Array:
        return super().listed(q_len, k_len, direction) + 1


class AttentionOneNearer(Attention):
    """Distances start one too low."""

    named = "distance-shifted"
    claimed = ("xlnet",)

    def listed(self, q_len: int, k_len: int, direction: str) -> Array:
        return super().listed(q_len, k_len, direction) - 1


class AttentionGarbageAhead(Attention):
    """Distances and shift are causal although keys after the query are visible."""

    claimed = ("xlnet",)
    named = "garbage-ahead"

    def listed(self, q_len: int, k_len: int, direction: str) -> Array:
        return super().listed(q_len, k_len, "causal")


_for_each(AttentionGarbageAhead, ("conformer",))


class AttentionWithoutU(Attention):
    """u, the global bias of content, is ignored."""

    named = "terms-missing"

    def content(self, q: Array, k: Array, u: Array) -> Array:
        return super().content(q, k, 0 * u)


class AttentionWithoutV(Attention):
    """v, the global bias of distance, is ignored."""

    named = "terms-missing"

    def position(self, q: Array, keys: Array, v: Array) -> Array:
        return super().position(q, keys, 0 * v)


class AttentionWithoutPosition(Attention):
    """Position terms are missing."""

    claimed = ("xlnet",)
    named = "terms-missing"

    def position(self, q: Array, keys: Array, v: Array) -> Array:
        return 0 * super().position(q, keys, v)


class AttentionBiasesSwapped(Attention):
    """v is used for content and u for distance."""

    named = "biases-swapped"

    def answer(self, q: Array, k: Array, w_kr: Array, u: Array, v: Array, **keywords: Any) -> Array:
        return super().answer(q, k, w_kr, v, u, **keywords)


class AttentionUTwice(Attention):
    """u is used for distance too."""

    claimed = ("conformer",)
    named = "biases-swapped"

    def answer(self, q: Array, k: Array, w_kr: Array, u: Array, v: Array, **keywords: Any) -> Array:
        return super().answer(q, k, w_kr, u, u, **keywords)


class AttentionUnscaled(Attention):
    """Scores are not divided."""

    named = "wrong-scale"

    def scale(self, ac: Array, bd: Array, q: Array) -> Array:
        return ac + bd


class AttentionContentScaled(Attention):
    """Position terms are added after the division."""

    named = "wrong-scale"

    def scale(self, ac: Array, bd: Array, q: Array) -> Array:
        return ac / np.sqrt(q.shape[-1]) + bd


class AttentionScaledByModel(Attention):
    """Scores are divided by the square root of all heads' channels."""

    claimed = ("xlnet",)
    named = "wrong-scale"

    def scale(self, ac: Array, bd: Array, q: Array) -> Array:
        return (ac + bd) / np.sqrt(q.shape[0] * q.shape[-1])


class AttentionUnclamped(Attention):
    """clamp_len is ignored."""

    named = "clamp-wrong"

    def clamp(self, listed: Array, longest: float) -> Array:
        return listed


class AttentionClampedBehind(Attention):
    """Only positive distances are clamped, as in Transformer-XL, although some are negative."""

    claimed = ("xlnet",)
    named = "clamp-wrong"

    def clamp(self, listed: Array, longest: float) -> Array:
        return np.minimum(listed, longest)


class AttentionClampedEarly(Attention):
    """Distances are clamped at clamp_len - 1."""

    named = "clamp-wrong"

    def clamp(self, listed: Array, longest: float) -> Array:
        return super().clamp(listed, longest - 1)


class AttentionOfTensor2Tensor(Attention):
    """Exponents are divided by dim/2 - 1."""

    named = "wrong-frequencies"

    def exponents(self, dim: int) -> Array:
        return np.arange(dim // 2) / max(dim // 2 - 1, 1)


class AttentionHalfExponents(Attention):
    """Exponents are t / dim."""

    claimed = ("xlnet",)
    named = "wrong-frequencies"

    def exponents(self, dim: int) -> Array:
        return super().exponents(dim) / 2


class AttentionBfloat16Distances(Attention):
    """Distances are held in bfloat16, the dtype of a half-precision model."""

    named = "narrow-distances"

    def listed(self, q_len: int, k_len: int, direction: str) -> Array:
        return narrow(super().listed(q_len, k_len, direction), "bfloat16")


class AttentionFloat16Distances(Attention):
    """Distances are held in float16, wrong from 2,049 on."""

    named = "narrow-distances"

    def listed(self, q_len: int, k_len: int, direction: str) -> Array:
        return narrow(super().listed(q_len, k_len, direction), "float16")


class AttentionBfloat16Angles(Attention):
    """Distances, frequencies and angles are held in bfloat16."""

    claimed = ("xlnet",)
    named = "narrow-distances"

    def angles(self, listed: Array, dim: int) -> Array:
        frequencies = narrow(10000.0 ** -self.exponents(dim), "bfloat16")
        return narrow(np.multiply.outer(narrow(listed, "bfloat16"), frequencies), "bfloat16")


class AttentionBfloat16Sinusoids(AttentionBfloat16Angles):
    """Distances, frequencies and angles are held in bfloat16, and so are the sinusoids."""

    def waves(self, listed: Array, dim: int, layout: str) -> Array:
        return narrow(super().waves(listed, dim, layout), "bfloat16")


class AttentionThroughBfloat16(Attention):
    """Scores are rounded to bfloat16 for a float32 result."""

    def scale(self, ac: Array, bd: Array, q: Array) -> Array:
        return narrow(super().scale(ac, bd, q), "bfloat16")


class AttentionOfShortLists(Attention):
    """Distances are clamped at 255, as with a list of 256."""

    def clamp(self, listed: Array, longest: float) -> Array:
        return np.minimum(super().clamp(listed, longest), 255)


class AttentionFirstHeadsBiases(Attention):
    """The first head's u and v are used for all."""

    def answer(self, q: Array, k: Array, w_kr: Array, u: Array, v: Array, **keywords: Any) -> Array:
        u, v = (np.repeat(bias[:1], len(bias), axis=0) for bias in (u, v))
        return super().answer(q, k, w_kr, u, v, **keywords)


class AttentionFirstHeadsProjection(Attention):
    """The first head's w_kr is used for all."""

    claimed = ("conformer",)

    def answer(self, q: Array, k: Array, w_kr: Array, *biases: Array, **keywords: Any) -> Array:
        return super().answer(q, k, np.repeat(w_kr[:1], len(w_kr), axis=0), *biases, **keywords)


class AttentionCosinesFirst(Attention):
    """Cosines come before sines."""

    def waves(self, listed: Array, dim: int, layout: str) -> Array:
        return np.roll(super().waves(listed, dim, layout), dim // 2, axis=-1)


class AttentionKeepsTheFirstList(Attention):
    """Sinusoids are cached by length, ignoring clamp_len."""

    def __init__(self) -> None:
        self._kept: dict[Any, Array] = {}

    def waves(self, listed: Array, dim: int, layout: str) -> Array:
        key = len(listed), dim, layout
        if key not in self._kept:
            self._kept[key] = super().waves(listed, dim, layout)
        return self._kept[key]


class AttentionMemoryLast(Attention):
    """The content term reads keys of the memory after the queries' own."""

    claimed = ("xlnet",)

    def content(self, q: Array, k: Array, u: Array) -> Array:
        return super().content(q, np.roll(k, q.shape[1] - k.shape[1], axis=1), u)


class AttentionAddsU(Attention):
    """u is added to the caller's queries in place."""

    def answer(self, q: Array, k: Array, w_kr: Array, u: Array, v: Array, **keywords: Any) -> Array:
        result = super().answer(q, k, w_kr, u, v, **keywords)
        q += u[:, None]
        return result
