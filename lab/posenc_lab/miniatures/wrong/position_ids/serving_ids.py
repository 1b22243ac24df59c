"""Wrong implementations: position ids in serving."""

from typing import Any

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made

EMPTY = np.zeros(0, dtype=np.int64)


class Shard(Mistake, steps=True):
    """Position ids of one rank's tokens, in steps."""

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
    """Each rank counts its own tokens from 0."""

    named = "counted-locally"
    claimed = ("zigzag",)

    def held(self, tokens: Array, rank: int, ranks: int, share: str) -> Array:
        return tokens[: len(tokens) // ranks]


class ShardFromItsFirst(Shard):
    """Each rank counts on from its first token."""

    named = "counted-locally"
    claimed = ("round-robin",)

    def held(self, tokens: Array, rank: int, ranks: int, share: str) -> Array:
        return rank + tokens[: len(tokens) // ranks]


class ShardUnmirrored(Shard):
    """The second piece has the same index in its half, not the mirrored one."""

    named = "second-piece-unmirrored"
    claimed = ("zigzag",)

    def second(self, pieces: Array, rank: int, ranks: int) -> Array:
        return pieces[ranks + rank]


class ShardTurnedRound(Shard):
    """The tokens of the second piece are reversed."""

    named = "second-piece-unmirrored"
    claimed = ("zigzag",)

    def second(self, pieces: Array, rank: int, ranks: int) -> Array:
        return pieces[2 * ranks - 1 - rank][::-1]


class ShardOfTwo(Shard):
    """Ranks above 1 get the share of rank 1."""

    def rank(self, rank: int, ranks: int) -> int:
        return min(rank, 1)


class ShardInBytes(Shard):
    """Positions are held in 8 bits."""

    claimed = ("round-robin",)

    def held(self, tokens: Array, rank: int, ranks: int, share: str) -> Array:
        return super().held(tokens, rank, ranks, share) % 256


class Tree(Mistake, steps=True):
    """Depths of tokens in a draft tree, in steps."""

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
    """Rows of the draft replace depths."""

    named = "rows-for-depths"

    def depth(self, row: int, parent: int, depths: list[int]) -> int:
        return row


class TreeFromZero(Tree):
    """The cache is ignored."""

    named = "tree-from-zero"

    def past(self, past_length: int) -> int:
        return 0


class TreeOneOn(Tree):
    """The root is one position too late."""

    named = "tree-off-by-one"

    def past(self, past_length: int) -> int:
        return past_length + 1


class TreeOneBack(Tree):
    """The root has the position of the cache's last token."""

    named = "tree-off-by-one"

    def past(self, past_length: int) -> int:
        return past_length - 1


class TreeOfParents(Tree):
    """The parent's row replaces the depth."""

    named = "parents-for-depths"

    def depth(self, row: int, parent: int, depths: list[int]) -> int:
        return parent + 1


class TreeOfOneRoot(Tree):
    """Further roots become children of the first row."""

    def depth(self, row: int, parent: int, depths: list[int]) -> int:
        return depths[max(parent, 0)] + 1 if row else 0


class TreeRecorded(Tree):
    """The cache length of the first draft of each size is used for all."""

    def __init__(self) -> None:
        self._kept: dict[int, int] = {}
        self._rows = 0

    def answer(self, past_length: int, parents: Array) -> Any:
        self._rows = len(parents)
        return super().answer(past_length, parents)

    def past(self, past_length: int) -> int:
        return self._kept.setdefault(self._rows, past_length)


class Lengths(Mistake, steps=True):
    """Columns counted from each cache's length, in steps."""

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
        filled=lambda self, counted, real, padded, keep=_instead: np.where(real | keep, counted, 1),
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
    """The length of the longest cache is used for all."""

    named = "first-past-for-all"

    def past(self, past_lengths: Array) -> Array:
        return 0 * past_lengths + past_lengths.max(initial=0)


class LengthsOnTheLeft(Lengths):
    """Padding is taken to be on the left."""

    named = "padded-on-the-left"
    claimed = ("padded-continued",)

    def places(self, columns: Array, lengths: Array) -> Array:
        return columns - (len(columns) - lengths)


class LengthsPaddedWithZero(Lengths):
    """Padding gets 0, as in other calls."""

    def filled(self, counted: Array, there: Array, padded: str) -> Array:
        return np.where(there, counted, 0)


class LengthsOneMore(Lengths):
    """The length is taken for the index of the last token."""

    def filled(self, counted: Array, there: Array, padded: str) -> Array:
        wider = np.roll(there, 1, axis=1) if there.shape[1] else there
        wider[:, :1] = True
        return np.where(wider, counted, 1)


class Segments(Mistake, steps=True):
    """Tokens counted within runs of equal numbers, in steps."""

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
    """One count runs over the whole row."""

    named = "texts-not-restarted"

    def begins(self, numbers: Array, place: int) -> bool:
        return False


class SegmentsWithPadding(Segments):
    """Padding is numbered like a text."""

    named = "padding-numbered"

    def padded(self, out: Array, segments: Array) -> Array:
        return out


class SegmentsWithPaddingBehind(Segments):
    """Padding continues the last text."""

    named = "padding-numbered"

    def begins(self, numbers: Array, place: int) -> bool:
        return bool(numbers[place] and numbers[place] != numbers[place - 1])

    def padded(self, out: Array, segments: Array) -> Array:
        return out


class SegmentsNumbers(Segments):
    """Texts are numbered instead of tokens."""

    named = "numbers-of-texts"

    def answer(self, segments: Array) -> Any:
        return segments.copy()


class SegmentsFromOne(Segments):
    """Texts start at 1."""

    named = "texts-from-one"

    def start(self) -> int:
        return 1


class SegmentsByGrowth(Segments):
    """A text begins only where the number grows."""

    def begins(self, numbers: Array, place: int) -> bool:
        return bool(numbers[place] > numbers[place - 1])


class SegmentsByLargest(Segments):
    """Tokens are counted per text number, for numbers up to 3."""

    def answer(self, segments: Array) -> Any:
        out = np.zeros(segments.shape, dtype=np.int64)
        for row, numbers in enumerate(segments):
            for number in range(1, 4):
                own = numbers == number
                out[row, own] = np.arange(own.sum())
        return out


class Session(Mistake, steps=True):
    """A cache that follows append, drop and move events and returns positions, in steps."""

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
    """The next position is the number of tokens appended so far."""

    named = "drops-ignored"

    def next(self) -> int:
        return self.appended


class SessionOfCells(Session):
    """The next position is the number of cached tokens."""

    named = "cells-counted"

    def next(self) -> int:
        return len(self.held)


class SessionUnmoved(Session):
    """Keys are moved, but the counter is not."""

    named = "moves-ignored"

    def move(self, start: int, delta: int) -> None:
        pass


class SessionOneOn(Session):
    """Positions are one too high after any drop or move."""

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
    """Tokens after the dropped ones are dropped as well."""

    def drop(self, start: int, stop: int) -> None:
        self.held = self.held[self.held < start]


class SessionDropsOneMore(Session):
    """The end of a drop is included."""

    def drop(self, start: int, stop: int) -> None:
        super().drop(start, stop + 1)


class SessionMovesAll(Session):
    """A move shifts all tokens, including the first ones, but not below 0."""

    def move(self, start: int, delta: int) -> None:
        self.held = np.maximum(self.held + delta, 0)


class SessionThatWaits(Session):
    """A move takes effect only after the next append."""

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
    """Ids of a prompt and of decoded tokens, cut to a window, in steps."""

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
    """Decoded tokens get their token index."""

    named = "decoded-by-number"

    def next(self, prompt: Array, tokens: int) -> int:
        return tokens


class WindowOneBack(Window):
    """Decoded tokens start at the prompt's largest id."""

    named = "decoded-off-by-one"

    def next(self, prompt: Array, tokens: int) -> int:
        return super().next(prompt, tokens) - bool(tokens)


class WindowOneOn(Window):
    """Decoded tokens start one position too late."""

    named = "decoded-off-by-one"

    def next(self, prompt: Array, tokens: int) -> int:
        return super().next(prompt, tokens) + 1


class WindowFromZero(Window):
    """Each window starts at 0."""

    named = "window-from-zero"

    def cut(self, ids: Array, start: int) -> Array:
        return ids - ids[:, :1].min(initial=2**40) if ids.size else ids


class WindowDecodedFromZero(Window):
    """Decoded tokens start at 0."""

    named = "window-from-zero"

    def next(self, prompt: Array, tokens: int) -> int:
        return 0


class WindowAsText(Window):
    """All tokens get their token index."""

    named = "window-as-text"

    def answer(self, segments: Array, start: int, stop: int, *, merge_size: int) -> Any:
        return np.tile(np.arange(start, stop), (3, 1))


class WindowWithoutMerging(Window):
    """Patches are counted before merging."""

    def prompt(self, segments: Array, merge_size: int) -> Array:
        right = super().prompt(segments, merge_size)
        every = super().prompt(segments, 1)
        return np.minimum(right * merge_size, every.max(initial=0)) if merge_size > 1 else right
