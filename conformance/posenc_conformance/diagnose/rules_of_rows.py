"""Rules of mistaken positions: what they make of the requested positions of rows, in words."""

from collections.abc import Callable, Mapping

import numpy as np

from posenc_conformance.diagnose.sample import OF_BATCHES
from posenc_conformance.judge.arrays import Ints

RANKS = (2, 4)
"""Numbers of ranks across which rows may be sharded."""
Rule = Callable[[Ints], Ints]
"""Takes requested positions and returns those of a mistake."""


def _by_stretch(asked: Ints) -> Ints:
    """Count from 0 in each stretch of consecutive positions."""
    numbers = _numbers(asked)
    begins = np.diff(asked, axis=-1, prepend=asked[..., :1] - 2) != 1
    first = np.maximum.accumulate(np.where(begins, numbers, 0), axis=-1)
    return np.asarray(numbers - first)


def lengths_of(asked: Ints) -> Ints:
    """Return for each row the length of its stretch."""
    numbers = _by_stretch(asked)
    begins = np.concatenate([numbers[..., 1:] == 0, np.ones_like(numbers[..., :1], bool)], axis=-1)
    last = np.where(begins, numbers, np.iinfo(np.int64).max)
    return np.minimum.accumulate(last[..., ::-1], axis=-1)[..., ::-1] + 1


def _numbers(asked: Ints) -> Ints:
    """Return the number of each row in its sequence."""
    return np.broadcast_to(np.arange(asked.shape[-1]), asked.shape)


def _heads(asked: Ints) -> Ints:
    """Return the number of each row's head; 0 if there is only one."""
    if asked.ndim < 2:
        return np.zeros_like(asked)
    return np.broadcast_to(np.arange(asked.shape[-2])[:, None], asked.shape)


def _of_one(asked: Ints, sequence: int) -> Ints:
    """Give every sequence the positions of one of them; a single sequence keeps its own."""
    return asked if asked.ndim < 2 else _all(asked, asked[sequence])


def _farthest(asked: Ints) -> int:
    """Return the number of the sequence that reaches the largest position."""
    return int(asked.reshape(len(asked), -1).max(axis=1).argmax())


def _all(asked: Ints, part: Ints) -> Ints:
    return np.broadcast_to(part, asked.shape)


def _first_rank_for_all(ranks: int) -> Rule:
    """Give the rows of each rank the positions of the first rank's rows."""

    def rule(asked: Ints) -> Ints:
        count = asked.shape[-1]
        if count < 2 * ranks:  # one row per rank would be a repeated row
            return asked
        return asked[..., np.arange(count) % -(-count // ranks)]

    return rule


def _pieces_for_zigzag(ranks: int) -> Rule:
    """Give rows sharded in zigzag, two pieces per rank, the positions for one piece per rank.

    Further positions follow the last one, where shares are padded.
    """

    def rule(asked: Ints) -> Ints:
        count = asked.shape[-1]
        pieces = np.arange(-(-count // (2 * ranks)) * 2 * ranks).reshape(2 * ranks, -1)
        held = np.stack([pieces[:ranks], pieces[: ranks - 1 : -1]], axis=1).reshape(-1)
        inside = held < count
        order = np.empty(count, dtype=np.int64)
        order[held[inside]] = np.flatnonzero(inside)
        more = asked[..., -1:] + np.arange(1, len(held) - count + 1)
        return np.concatenate([asked, more], axis=-1)[..., order]

    return rule


OF_RANKS: Mapping[str, Rule] = {
    **{
        f"the rows of each of {ranks} ranks have the positions of the first rank": (
            _first_rank_for_all(ranks)
        )
        for ranks in RANKS
    },
    **{
        f"rows that {ranks} ranks hold in zigzag stand as if each rank held one piece": (
            _pieces_for_zigzag(ranks)
        )
        for ranks in RANKS
    },
}
"""Rules of rows that are sharded across ranks, in words, and their effect on positions."""
RULES: Mapping[str, Rule] = {
    "rows stand at 0, 1, 2, …: positions (or the length of the cache) are ignored": (_numbers),
    "every sequence has the positions of the first one": lambda asked: _of_one(asked, 0),
    "every sequence has the positions of the last one": lambda asked: _of_one(asked, -1),
    "every sequence has the positions of the one that is farthest on": lambda asked: _of_one(
        asked, _farthest(asked)
    ),
    **OF_BATCHES,
    "every row stands at position 0": np.zeros_like,
    "positions restart at 0 in each stretch: the length of the cache is ignored": _by_stretch,
    "the length of the cache is counted twice": lambda asked: (
        2 * asked - _by_stretch(asked) if _by_stretch(asked).any() else asked
    ),
    "each stretch ends where it should begin": lambda asked: asked - lengths_of(asked) + 1,
    "each stretch ends before the place where it should begin": lambda asked: (
        asked - lengths_of(asked)
    ),
    "positions are consecutive from the first one on, whatever was given": lambda asked: (
        _all(asked, asked[..., :1]) + _numbers(asked)
    ),
    "every row has the position of the first one": lambda asked: _all(asked, asked[..., :1]),
    "every row has the position of the last one": lambda asked: _all(asked, asked[..., -1:]),
    "every row stands at the number of its head": _heads,
    "each head stands one later than the one before it": lambda asked: asked + _heads(asked),
    "positions are sorted, and rows are not": lambda asked: np.sort(asked, axis=-1),
    "positions are read in reverse": lambda asked: asked[..., ::-1],
    "every row has the position of the one before it": lambda asked: np.roll(asked, 1, axis=-1),
    "every row has the position of the next one": lambda asked: np.roll(asked, -1, axis=-1),
    "every row stands at the square of its position": lambda asked: asked * np.abs(asked),
    **OF_RANKS,
}
"""Possible changes of positions, in words, and their effect on the requested ones."""
