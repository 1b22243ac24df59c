"""Wrong implementations: position ids while serving."""

from typing import Any

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made

EMPTY = np.zeros(0, dtype=np.int64)


class Shard(Mistake, steps=True):
    """Pieces of a sequence, as many as a rank holds."""

    call = "shard_position_ids"
    claimed = ("contiguous",)

    def answer(self, length: int, rank: int, ranks: int, *, share: str) -> Any:
        if rank >= ranks or length % (ranks * (2 if share == "zigzag" else 1)):
            raise ValueError((length, rank, ranks))
        return self.held(np.arange(length), self.rank(rank, ranks), ranks, self.share(share))

    def rank(self, rank: int, ranks: int) -> int:
        return rank

    def share(self, share: str) -> str:
        return share

    def held(self, tokens: Array, rank: int, ranks: int, share: str) -> Array:
        if share == "round-robin":
            return tokens[rank::ranks]
        if share == "contiguous":
            return tokens.reshape(ranks, -1)[rank]
        pieces = tokens.reshape(2 * ranks, -1)
        return np.concatenate([pieces[rank], self.second(pieces, rank, ranks)])

    def second(self, pieces: Array, rank: int, ranks: int) -> Array:
        return pieces[2 * ranks - 1 - rank]


for _share, _other in (
    ("contiguous", "round-robin"),
    ("zigzag", "contiguous"),
    ("round-robin", "contiguous"),
):
    made(
        Shard,
        f"Shard {_share} as {_other}",
        "Shares of another kind.",
        named="share-swapped",
        claimed=(_share,),
        share=lambda self, share, other=_other: other,
    )
    made(
        Shard,
        f"Shard {_share} of rank 0",
        "A rank that is not asked for.",
        named="rank-0-for-all",
        claimed=(_share,),
        rank=lambda self, rank, ranks: 0,
    )
    made(
        Shard,
        f"Shard {_share} of the next rank",
        "Ranks numbered from 1.",
        named="rank-0-for-all",
        claimed=(_share,),
        rank=lambda self, rank, ranks: (rank + 1) % ranks,
    )


class ShardLocally(Shard):
    """Each rank counts what it has."""

    named = "counted-locally"
    claimed = ("zigzag",)

    def held(self, tokens: Array, rank: int, ranks: int, share: str) -> Array:
        return tokens[: len(tokens) // ranks]


class ShardFromItsFirst(Shard):
    """Counted on from the first token that a rank holds."""

    named = "counted-locally"
    claimed = ("round-robin",)

    def held(self, tokens: Array, rank: int, ranks: int, share: str) -> Array:
        return rank + tokens[: len(tokens) // ranks]


class ShardUnmirrored(Shard):
    """Both pieces of the same number in their halves."""

    named = "second-piece-unmirrored"
    claimed = ("zigzag",)

    def second(self, pieces: Array, rank: int, ranks: int) -> Array:
        return pieces[ranks + rank]


class ShardTurnedRound(Shard):
    """The mirror image of the second piece itself."""

    named = "second-piece-unmirrored"
    claimed = ("zigzag",)

    def second(self, pieces: Array, rank: int, ranks: int) -> Array:
        return pieces[2 * ranks - 1 - rank][::-1]


class ShardOfTwo(Shard):
    """Ranks beyond two taken for two."""

    def rank(self, rank: int, ranks: int) -> int:
        return min(rank, 1)


class ShardInBytes(Shard):
    """Positions held in 8 bits."""

    claimed = ("round-robin",)

    def held(self, tokens: Array, rank: int, ranks: int, share: str) -> Array:
        return super().held(tokens, rank, ranks, share) % 256


class Tree(Mistake, steps=True):
    """Depths of tokens in a draft."""

    call = "tree_position_ids"
    claimed = ("by-depth",)

    def answer(self, past_length: int, parents: Array) -> Any:
        depths: list[int] = []
        for row, parent in enumerate(parents.tolist()):
            if parent >= row:
                raise ValueError(parents)
            depths.append(self.depth(row, parent, depths))
        return self.past(past_length) + np.array(depths, dtype=np.int64)

    def past(self, past_length: int) -> int:
        return past_length

    def depth(self, row: int, parent: int, depths: list[int]) -> int:
        return depths[parent] + 1 if parent >= 0 else 0


class TreeByRows(Tree):
    """The rows of the draft."""

    named = "rows-for-depths"

    def depth(self, row: int, parent: int, depths: list[int]) -> int:
        return row


class TreeFromZero(Tree):
    """The cache forgotten."""

    named = "tree-from-zero"

    def past(self, past_length: int) -> int:
        return 0


class TreeOneOn(Tree):
    """The root behind a token that the cache holds already."""

    named = "tree-off-by-one"

    def past(self, past_length: int) -> int:
        return past_length + 1


class TreeOneBack(Tree):
    """The root on the last token of the cache."""

    named = "tree-off-by-one"

    def past(self, past_length: int) -> int:
        return past_length - 1


class TreeOfParents(Tree):
    """The row of the parent."""

    named = "parents-for-depths"

    def depth(self, row: int, parent: int, depths: list[int]) -> int:
        return parent + 1


class TreeOfOneRoot(Tree):
    """Tokens that follow the cache hang on the first row, which is one of them."""

    def depth(self, row: int, parent: int, depths: list[int]) -> int:
        return depths[max(parent, 0)] + 1 if row else 0


class TreeRecorded(Tree):
    """The cache of the first draft of each size."""

    def __init__(self) -> None:
        self._kept: dict[int, int] = {}
        self._rows = 0

    def answer(self, past_length: int, parents: Array) -> Any:
        self._rows = len(parents)
        return super().answer(past_length, parents)

    def past(self, past_length: int) -> int:
        return self._kept.setdefault(self._rows, past_length)


class Lengths(Mistake, steps=True):
    """Columns counted on from the cache."""

    call = "length_position_ids"
    claimed = ("padded-one",)

    def answer(self, lengths: Array, past_lengths: Array, n: int, *, padded: str) -> Any:
        if (lengths > n).any():
            raise ValueError(lengths)
        columns = np.arange(n)
        counted = self.past(past_lengths)[:, None] + self.places(columns, lengths[:, None])
        return self.filled(counted, columns < lengths[:, None], padded)

    def past(self, past_lengths: Array) -> Array:
        return past_lengths

    def places(self, columns: Array, lengths: Array) -> Array:
        return columns

    def filled(self, counted: Array, there: Array, padded: str) -> Array:
        return np.where(there | (padded == "continued"), counted, 1)


for _padded, _instead in (("one", True), ("continued", False)):
    made(
        Lengths,
        f"Lengths padded {_padded} otherwise",
        "The other number for padding.",
        named="lengths-padded-swapped",
        claimed=(f"padded-{_padded}",),
        filled=lambda self, counted, there, padded, keep=_instead: np.where(
            there | keep, counted, 1
        ),
    )
    made(
        Lengths,
        f"Lengths padded {_padded} without cache",
        "The cache forgotten.",
        named="past-lengths-ignored",
        claimed=(f"padded-{_padded}",),
        past=lambda self, past_lengths: 0 * past_lengths,
    )
    made(
        Lengths,
        f"Lengths padded {_padded} by the first",
        "One cache for all.",
        named="first-past-for-all",
        claimed=(f"padded-{_padded}",),
        past=lambda self, past_lengths: 0 * past_lengths + past_lengths[:1].sum(),
    )


class LengthsByTheLongest(Lengths):
    """The longest cache for all."""

    named = "first-past-for-all"

    def past(self, past_lengths: Array) -> Array:
        return 0 * past_lengths + past_lengths.max(initial=0)


class LengthsOnTheLeft(Lengths):
    """Padding on the other side."""

    named = "padded-on-the-left"
    claimed = ("padded-continued",)

    def places(self, columns: Array, lengths: Array) -> Array:
        return columns - (len(columns) - lengths)


class LengthsPaddedWithZero(Lengths):
    """Padding at 0, as in other calls."""

    def filled(self, counted: Array, there: Array, padded: str) -> Array:
        return np.where(there, counted, 0)


class LengthsOneMore(Lengths):
    """A length that is taken for the last column."""

    def filled(self, counted: Array, there: Array, padded: str) -> Array:
        wider = np.roll(there, 1, axis=1) if there.shape[1] else there
        wider[:, :1] = True
        return np.where(wider, counted, 1)


class Segments(Mistake, steps=True):
    """Tokens counted within runs of equal numbers."""

    call = "segment_position_ids"
    claimed = ("by-text",)

    def answer(self, segments: Array) -> Any:
        if (segments < 0).any():
            raise ValueError(segments)
        out = np.zeros(segments.shape, dtype=np.int64)
        for row, numbers in enumerate(segments):
            count = 0
            for place in range(len(numbers)):
                fresh = place == 0 or self.begins(numbers, place)
                count = self.start() if fresh else count + 1
                out[row, place] = count
        return self.padded(out, segments)

    def begins(self, numbers: Array, place: int) -> bool:
        return bool(numbers[place] != numbers[place - 1])

    def start(self) -> int:
        return 0

    def padded(self, out: Array, segments: Array) -> Array:
        return np.where(segments == 0, 0, out)


class SegmentsInOne(Segments):
    """One count over a row."""

    named = "texts-not-restarted"

    def begins(self, numbers: Array, place: int) -> bool:
        return False


class SegmentsWithPadding(Segments):
    """Padding is a text as well."""

    named = "padding-numbered"

    def padded(self, out: Array, segments: Array) -> Array:
        return out


class SegmentsWithPaddingBehind(Segments):
    """Padding goes on with the last text."""

    named = "padding-numbered"

    def begins(self, numbers: Array, place: int) -> bool:
        return bool(numbers[place] and numbers[place] != numbers[place - 1])

    def padded(self, out: Array, segments: Array) -> Array:
        return out


class SegmentsNumbers(Segments):
    """Which text, not which token."""

    named = "numbers-of-texts"

    def answer(self, segments: Array) -> Any:
        return segments.copy()


class SegmentsFromOne(Segments):
    """Texts from 1 on."""

    named = "texts-from-one"

    def start(self) -> int:
        return 1


class SegmentsByGrowth(Segments):
    """A text begins where the number is larger than before."""

    def begins(self, numbers: Array, place: int) -> bool:
        return bool(numbers[place] > numbers[place - 1])


class SegmentsByLargest(Segments):
    """As many texts as the largest number says, the k-th from its first token on."""

    def answer(self, segments: Array) -> Any:
        out = np.zeros(segments.shape, dtype=np.int64)
        for row, numbers in enumerate(segments):
            for number in range(1, 4):
                there = numbers == number
                out[row, there] = np.arange(there.sum())
        return out


class Session(Mistake, steps=True):
    """A cache that is told what happens to it, and gives out positions."""

    call = "session_position_ids"
    claimed = ("behind-the-last",)

    def answer(self, events: Array) -> Any:
        self.held, self.appended, self.given = EMPTY, 0, [EMPTY]
        for kind, start, then in events.tolist():
            (self.append, self.drop, self.move)[kind](start, then)
            if (self.held < 0).any():
                raise ValueError(events)
        return np.concatenate(self.given)

    def append(self, n: int, _: int) -> None:
        new = self.next() + np.arange(n)
        self.given.append(new)
        self.held = np.append(self.held, new)
        self.appended += n

    def next(self) -> int:
        return int(self.held.max(initial=-1)) + 1

    def drop(self, start: int, stop: int) -> None:
        self.held = self.held[(self.held < start) | (self.held >= stop)]

    def move(self, start: int, delta: int) -> None:
        self.held = self.held + delta * (self.held >= start)


class SessionOfAll(Session):
    """A counter that only grows."""

    named = "drops-ignored"

    def next(self) -> int:
        return self.appended


class SessionOfCells(Session):
    """The number of tokens that are held."""

    named = "cells-counted"

    def next(self) -> int:
        return len(self.held)


class SessionUnmoved(Session):
    """Keys are moved, the counter is not."""

    named = "moves-ignored"

    def move(self, start: int, delta: int) -> None:
        pass


class SessionOneOn(Session):
    """A token further on, once anything was dropped."""

    named = "session-off-by-one"

    def answer(self, events: Array) -> Any:
        self.changed = False
        return super().answer(events)

    def drop(self, start: int, stop: int) -> None:
        super().drop(start, stop)
        self.changed = True

    def move(self, start: int, delta: int) -> None:
        super().move(start, delta)
        self.changed = True

    def next(self) -> int:
        return super().next() + self.changed


class SessionDropsTheEnd(Session):
    """What lies behind the dropped tokens is dropped as well."""

    def drop(self, start: int, stop: int) -> None:
        self.held = self.held[self.held < start]


class SessionDropsOneMore(Session):
    """The end of a drop counted in."""

    def drop(self, start: int, stop: int) -> None:
        super().drop(start, stop + 1)


class SessionMovesAll(Session):
    """Everything moved, the first tokens too, but not below 0."""

    def move(self, start: int, delta: int) -> None:
        self.held = np.maximum(self.held + delta, 0)


class SessionThatWaits(Session):
    """A move counted with the first token after the next one."""

    def answer(self, events: Array) -> Any:
        self.waiting: list[tuple[int, int]] = []
        return super().answer(events)

    def move(self, start: int, delta: int) -> None:
        self.waiting.append((start, delta))

    def append(self, n: int, _: int) -> None:
        super().append(n, _)
        for start, delta in self.waiting:
            super().move(start, delta)
        self.waiting = []


class Window(Mistake, steps=True):
    """Ids of a prompt, cut, and of what follows it."""

    call = "m_rope_window_position_ids"
    claimed = ("behind-the-largest",)

    def answer(self, segments: Array, start: int, stop: int, *, merge_size: int) -> Any:
        if stop < start:
            raise ValueError((start, stop))
        prompt = self.prompt(segments, merge_size)
        tokens = prompt.shape[1]
        behind = np.arange(max(start, tokens), stop) - tokens
        decoded = np.tile(self.next(prompt, tokens) + behind, (3, 1))
        return self.cut(np.concatenate([prompt[:, start:stop], decoded], axis=1), start)

    def prompt(self, segments: Array, merge_size: int) -> Array:
        parts, first = [np.zeros((3, 0), dtype=np.int64)], 0
        for size, height, width in segments.tolist():
            shape = (size, height // merge_size, width // merge_size)
            if height:
                parts.append(first + np.indices(shape).reshape(3, -1))
                first += max(shape)
            else:
                parts.append(np.tile(first + np.arange(size), (3, 1)))
                first += size
        return np.concatenate(parts, axis=1)

    def next(self, prompt: Array, tokens: int) -> int:
        return int(prompt.max(initial=-1)) + 1

    def cut(self, ids: Array, start: int) -> Array:
        return ids


class WindowByNumber(Window):
    """Decoded tokens at their number."""

    named = "decoded-by-number"

    def next(self, prompt: Array, tokens: int) -> int:
        return tokens


class WindowOneBack(Window):
    """Decoded tokens from the prompt's largest id on."""

    named = "decoded-off-by-one"

    def next(self, prompt: Array, tokens: int) -> int:
        return super().next(prompt, tokens) - bool(tokens)


class WindowOneOn(Window):
    """A gap between the prompt and what follows."""

    named = "decoded-off-by-one"

    def next(self, prompt: Array, tokens: int) -> int:
        return super().next(prompt, tokens) + 1


class WindowFromZero(Window):
    """Each chunk from 0."""

    named = "window-from-zero"

    def cut(self, ids: Array, start: int) -> Array:
        return ids - ids[:, :1].min(initial=2**40) if ids.size else ids


class WindowDecodedFromZero(Window):
    """The decoder's own steps counted."""

    named = "window-from-zero"

    def next(self, prompt: Array, tokens: int) -> int:
        return 0


class WindowAsText(Window):
    """All tokens at their number."""

    named = "window-as-text"

    def answer(self, segments: Array, start: int, stop: int, *, merge_size: int) -> Any:
        return np.tile(np.arange(start, stop), (3, 1))


class WindowWithoutMerging(Window):
    """Patches counted as they were before they were merged."""

    def prompt(self, segments: Array, merge_size: int) -> Array:
        right = super().prompt(segments, merge_size)
        every = super().prompt(segments, 1)
        return np.minimum(right * merge_size, every.max(initial=0)) if merge_size > 1 else right
