"""Wrong implementations: position ids."""

from typing import Any

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made


class PaddedIds(Mistake, steps=True):
    """Real tokens counted, padding filled, in steps."""

    call = "padded_position_ids"
    claimed = ("zero",)

    def answer(self, attention_mask: Array, *, padded: str) -> Any:
        mask = np.asarray(attention_mask)
        return self.finish(self.fill(mask, self.count(mask), self.filler(padded)))

    def count(self, mask: Array) -> Array:
        return np.cumsum(mask, axis=1) - 1

    def filler(self, padded: str) -> int:
        return int(padded == "one")

    def fill(self, mask: Array, counted: Array, filler: int) -> Array:
        return np.where(mask == 1, counted, filler)

    def finish(self, ids: Array) -> Any:
        return ids


def places(mask: Array) -> Array:
    """Return column indices for every row."""
    return np.arange(mask.shape[1]) + 0 * mask


for _claimed, _given in (("zero", 1), ("one", 0)):
    made(
        PaddedIds,
        f"PaddedIds with {_given}",
        "The other number for padding.",
        named="padded-swapped",
        claimed=(_claimed,),
        filler=lambda self, padded, other=_given: other,
    )
    made(
        PaddedIds,
        f"PaddedIds {_claimed} counted",
        "Places in the row.",
        named="padding-counted",
        claimed=(_claimed,),
        answer=lambda self, attention_mask, **rest: places(attention_mask),
    )
    made(
        PaddedIds,
        f"PaddedIds {_claimed} counted and filled",
        "Places in the row, padding filled.",
        named="padding-counted",
        claimed=(_claimed,),
        count=lambda self, mask: places(mask),
    )
    made(
        PaddedIds,
        f"PaddedIds {_claimed} unfilled",
        "A running count.",
        named="padding-unfilled",
        claimed=(_claimed,),
        fill=lambda self, mask, counted, filler: counted,
    )
    made(
        PaddedIds,
        f"PaddedIds {_claimed} from one",
        "Counting from 1.",
        named="count-shifted",
        claimed=(_claimed,),
        count=lambda self, mask: np.cumsum(mask, axis=1),
    )
    made(
        PaddedIds,
        f"PaddedIds {_claimed} by the first row",
        "One row for all.",
        named="row-shared",
        claimed=(_claimed,),
        finish=lambda self, ids: np.repeat(ids[:1], len(ids), axis=0),
    )


class PaddedIdsClipped(PaddedIds):
    """Padding gets the running count, clamped at 0."""

    named = "padding-unfilled"

    def fill(self, mask: Array, counted: Array, filler: int) -> Array:
        return np.maximum(counted, 0)


class PaddedIdsLeftOnly(PaddedIds):
    """Only padding at the start is subtracted; other padding is counted."""

    named = "left-padding-only"

    def count(self, mask: Array) -> Array:
        return np.cumsum(np.cumsum(mask, axis=1) > 0, axis=1) - 1


class PaddedIdsByLength(PaddedIds):
    """Tokens are numbered as if padding were always on the right."""

    def count(self, mask: Array) -> Array:
        return np.minimum(places(mask), mask.sum(axis=1, keepdims=True) - 1)


class PaddedIdsByLengthFromTheEnd(PaddedIds):
    """Tokens are numbered as if padding were always on the left."""

    def count(self, mask: Array) -> Array:
        return places(mask) - (mask == 0).sum(axis=1, keepdims=True)


class PaddedIdsAlongTheBatch(PaddedIds):
    """The sum runs along the batch axis."""

    def count(self, mask: Array) -> Array:
        return np.cumsum(mask, axis=0) - 1


class PaddedIdsInBytes(PaddedIds):
    """The sum is held in 8 bits."""

    def count(self, mask: Array) -> Array:
        return (np.cumsum(mask, axis=1) - 1).astype(np.uint8)


class PaddedIdsAsFloats(PaddedIds):
    """Ids are floats."""

    def finish(self, ids: Array) -> Any:
        return ids.astype(np.float64)


class PaddedIdsInPlace(PaddedIds):
    """The sum overwrites the mask."""

    def answer(self, attention_mask: Array, *, padded: str) -> Any:
        right = super().answer(attention_mask, padded=padded)
        attention_mask[...] = right
        return attention_mask


class PaddedIdsKept(PaddedIds):
    """The ids of the first batch of each shape are used for all."""

    def __init__(self) -> None:
        self._kept: dict[Any, Array] = {}

    def answer(self, attention_mask: Array, *, padded: str) -> Any:
        key = attention_mask.shape
        if key not in self._kept:
            self._kept[key] = super().answer(attention_mask, padded=padded)
        return self._kept[key].copy()


class FairseqIds(Mistake, steps=True):
    """A count that starts after the padding index, in steps."""

    call = "fairseq_position_ids"
    claimed = ("behind-padding",)

    def answer(self, attention_mask: Array, padding_index: int) -> Any:
        mask = np.asarray(attention_mask)
        return self.count(mask) * self.shown(mask) + self.start(padding_index)

    def count(self, mask: Array) -> Array:
        return np.cumsum(mask, axis=1)

    def shown(self, mask: Array) -> Array:
        return mask

    def start(self, padding_index: int) -> int:
        return padding_index


class FairseqIdsAlwaysOne(FairseqIds):
    """The padding index is always 1, as in most models."""

    named = "index-ignored"

    def start(self, padding_index: int) -> int:
        return 1


class FairseqIdsFromZero(FairseqIds):
    """Ids start at 0."""

    named = "index-ignored"

    def answer(self, attention_mask: Array, padding_index: int) -> Any:
        return np.maximum(np.cumsum(attention_mask, axis=1) * attention_mask - 1, 0)


class FairseqIdsPlaces(FairseqIds):
    """Column indices start after the padding index, as in BART in transformers."""

    named = "fairseq-padding-counted"

    def answer(self, attention_mask: Array, padding_index: int) -> Any:
        return places(attention_mask) + padding_index + 1


class FairseqIdsPlacesFilled(FairseqIds):
    """Column indices are used, with padding filled."""

    named = "fairseq-padding-counted"

    def count(self, mask: Array) -> Array:
        return places(mask) + 1


class FairseqIdsUnfilled(FairseqIds):
    """Padding gets the running count."""

    named = "fairseq-padding-unfilled"

    def shown(self, mask: Array) -> Array:
        return np.ones_like(mask)


class FairseqIdsAtTheIndex(FairseqIds):
    """The first token gets the padding index itself."""

    named = "fairseq-count-shifted"

    def count(self, mask: Array) -> Array:
        return np.cumsum(mask, axis=1) - 1


class FairseqIdsTwoBehind(FairseqIds):
    """The first token gets the padding index plus 2."""

    named = "fairseq-count-shifted"

    def count(self, mask: Array) -> Array:
        return np.cumsum(mask, axis=1) + 1


class FairseqIdsOneRowOn(FairseqIds):
    """All ids are one too high, including padding."""

    named = "fairseq-count-shifted"

    def start(self, padding_index: int) -> int:
        return padding_index + 1


class FairseqIdsOneAtLeast(FairseqIds):
    """A padding index of 0 is treated as missing."""

    def start(self, padding_index: int) -> int:
        return padding_index or 1


class FairseqIdsByRows(FairseqIds):
    """The count continues from row to row."""

    def count(self, mask: Array) -> Array:
        return np.cumsum(mask).reshape(mask.shape)


class TokenIds(Mistake, steps=True):
    """Tokens counted after a cache and the padding index, in steps."""

    call = "token_position_ids"
    claimed = ("tokens-behind-padding",)

    def answer(self, input_ids: Array, padding_index: int, past_length: int) -> Any:
        mask = (input_ids != self.padding(padding_index)).astype(np.int64)
        return self.numbers(mask, padding_index, self.past(past_length))

    def padding(self, padding_index: int) -> int:
        return padding_index

    def past(self, past_length: int) -> int:
        return past_length

    def numbers(self, mask: Array, padding_index: int, past: int) -> Array:
        return (self.count(mask) + past) * mask + padding_index

    def count(self, mask: Array) -> Array:
        return np.cumsum(mask, axis=1)


class TokenIdsWithoutCache(TokenIds):
    """The cache is ignored."""

    named = "past-ignored"

    def past(self, past_length: int) -> int:
        return 0


class TokenIdsPastOnPadding(TokenIds):
    """The cache's length is added last, to padding too."""

    named = "past-on-padding"

    def numbers(self, mask: Array, padding_index: int, past: int) -> Array:
        return self.count(mask) * mask + padding_index + past


class TokenIdsPastOfDecoders(TokenIds):
    """After a cache, ids start at its length, as in decoders without a padding index."""

    named = "past-unshifted"

    def numbers(self, mask: Array, padding_index: int, past: int) -> Array:
        first = past if past else padding_index + 1
        return np.where(mask == 1, first + self.count(mask) - 1, padding_index)


class TokenIdsPlaces(TokenIds):
    """Column indices are used, with padding filled."""

    named = "tokens-padding-counted"

    def count(self, mask: Array) -> Array:
        return places(mask) + 1


class TokenIdsPlacesBehindCache(TokenIds):
    """Padding is ignored if there is a cache."""

    def answer(self, input_ids: Array, padding_index: int, past_length: int) -> Any:
        if not past_length:
            return super().answer(input_ids, padding_index, past_length)
        return places(input_ids) + 1 + padding_index + past_length


class TokenIdsOfMask(TokenIds):
    """Any id other than 0 is a token, as in a mask."""

    named = "tokens-index-ignored"

    def padding(self, padding_index: int) -> int:
        return 0


class TokenIdsAlwaysOne(TokenIds):
    """The padding index is always 1, as in most models."""

    named = "tokens-index-ignored"

    def answer(self, input_ids: Array, padding_index: int, past_length: int) -> Any:
        return super().answer(input_ids, 1, past_length)


class TokenIdsOneAtLeast(TokenIds):
    """A padding index of 0 is treated as missing."""

    def answer(self, input_ids: Array, padding_index: int, past_length: int) -> Any:
        return super().answer(input_ids, padding_index or 1, past_length)


class TokenIdsPaddedCache(TokenIds):
    """Padding among the new tokens is subtracted from the cache's length."""

    def numbers(self, mask: Array, padding_index: int, past: int) -> Array:
        unpadded = np.maximum(past - (mask == 0).sum(axis=1, keepdims=True), 0)
        return (self.count(mask) + unpadded) * mask + padding_index


class TokenIdsPastPerToken(TokenIds):
    """With a cache, every token counts twice."""

    def numbers(self, mask: Array, padding_index: int, past: int) -> Array:
        return np.cumsum(mask * (1 + (past > 0)), axis=1) * mask + padding_index


class TokenIdsOneNew(TokenIds):
    """Only a single new token continues after the cache."""

    def numbers(self, mask: Array, padding_index: int, past: int) -> Array:
        return super().numbers(mask, padding_index, past if mask.shape[1] == 1 else 0)


class PackedIds(Mistake, steps=True):
    """Each sequence numbered from 0, in steps."""

    call = "packed_position_ids"
    claimed = ("from-zero",)

    def answer(self, lengths: Array) -> Any:
        parts = [self.part(int(n), i) for i, n in enumerate(lengths)]
        return np.concatenate([np.zeros(0, dtype=np.int64), *parts])

    def part(self, length: int, number: int) -> Array:
        return np.arange(length)


class PackedIdsOneCount(PackedIds):
    """One count runs over all sequences."""

    named = "not-restarted"

    def answer(self, lengths: Array) -> Any:
        return np.arange(lengths.sum())


class PackedIdsFixedPlaces(PackedIds):
    """The count restarts at multiples of the longest length."""

    named = "not-restarted"

    def answer(self, lengths: Array) -> Any:
        return np.arange(lengths.sum()) % max(int(lengths.max(initial=0)), 1)


class PackedIdsFromOne(PackedIds):
    """Counts start at 1."""

    named = "restarted-beside"

    def part(self, length: int, number: int) -> Array:
        return np.arange(length) + 1


class PackedIdsNumbersOfSequences(PackedIds):
    """Sequences are numbered instead of tokens."""

    named = "restarted-beside"

    def part(self, length: int, number: int) -> Array:
        return np.full(length, number)


class PackedIdsLate(PackedIds):
    """The count restarts at the second token of a sequence."""

    named = "restarted-beside"

    def answer(self, lengths: Array) -> Any:
        count, out = 0, []
        starts = set((np.cumsum(lengths) + 1).tolist())
        for place in range(int(lengths.sum())):
            count = 0 if place in starts else count
            out.append(count)
            count += 1
        return np.array(out, dtype=np.int64)


class PackedIdsPadded(PackedIds):
    """Empty sequences get one token."""

    def part(self, length: int, number: int) -> Array:
        return np.arange(max(length, 1))


class PackedIdsRunsJoined(PackedIds):
    """Sequences of one token continue the previous count."""

    def answer(self, lengths: Array) -> Any:
        right = super().answer(lengths)
        starts = (np.cumsum(lengths) - lengths)[(lengths == 1) & (np.arange(len(lengths)) > 0)]
        for start in starts:
            right[start] = right[start - 1] + 1 if start else 0
        return right


class PackedIdsReversed(PackedIds):
    """Sequences are in reverse order."""

    def answer(self, lengths: Array) -> Any:
        return super().answer(lengths[::-1])


class CachedIds(Mistake, steps=True):
    """Positions after a cache, in steps."""

    call = "cached_position_ids"
    claimed = ("from-zero",)

    def answer(self, past_length: int, q_len: int) -> Any:
        return self.start(past_length, q_len) + self.steps(q_len)

    def start(self, past_length: int, q_len: int) -> int:
        return past_length

    def steps(self, q_len: int) -> Array:
        return np.arange(q_len)


class CachedIdsFromZero(CachedIds):
    """The cache is ignored."""

    named = "from-zero"

    def start(self, past_length: int, q_len: int) -> int:
        return 0


class CachedIdsAllFirst(CachedIds):
    """All tokens get the first new position."""

    named = "all-alike"

    def steps(self, q_len: int) -> Array:
        return np.zeros(q_len, dtype=np.int64)


class CachedIdsAllLast(CachedIds):
    """All tokens get the last new position."""

    named = "all-alike"

    def steps(self, q_len: int) -> Array:
        return np.full(q_len, q_len - 1)


for _why, _start in (
    ("one late", lambda self, past_length, q_len: past_length + 1),
    ("one early", lambda self, past_length, q_len: past_length - 1),
    ("counted twice", lambda self, past_length, q_len: past_length + q_len),
    ("counted in", lambda self, past_length, q_len: past_length - q_len),
    ("one late after a cache", lambda self, past_length, q_len: past_length + (past_length > 0)),
):
    made(
        CachedIds, f"CachedIds {_why}", "New tokens moved.", named="cache-miscounted", start=_start
    )


class CachedIdsInBytes(CachedIds):
    """Positions are held in 8 bits."""

    def answer(self, past_length: int, q_len: int) -> Any:
        return super().answer(past_length, q_len) % 256


class CachedIdsAsRow(CachedIds):
    """The result has a batch axis."""

    def answer(self, past_length: int, q_len: int) -> Any:
        return super().answer(past_length, q_len)[None]


class CachedIdsInBfloat16(CachedIds):
    """Positions are truncated to bfloat16."""

    def answer(self, past_length: int, q_len: int) -> Any:
        right = super().answer(past_length, q_len).astype(np.float32)
        return (right.view(np.uint32) & 0xFFFF0000).view(np.float32).astype(np.int64)
