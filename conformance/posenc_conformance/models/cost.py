"""The cost of a mistake: the error in queries and keys, and the loss in their scores."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from posenc_conformance.judge.arrays import Floats, Ints
from posenc_conformance.models.layer_frequencies import channels, rotated
from posenc_conformance.models.meaning import LENGTH, Group, case_of, rows_of

POSITIONS = (128, 4096, 32768, 131072)
"""Positions at which costs are shown."""


@dataclass(frozen=True)
class Cost:
    """The cost of one mistake in one group at one position."""

    error: float
    """Largest error of any channel, for a query or key with a single channel of 1; for a bias, the
    largest error of any head."""
    loss: float | None
    """Share of its score that a query loses with a key that matches it exactly. The key is the
    farthest one that the query sees. Negative if the query gains; None for biases."""


def cost(group: Group, mistaken: Group, position: int) -> Cost:
    """Compute the cost of a mistake for a query at ``position`` and the farthest key it sees."""
    if group.scheme == "alibi":
        difference = _bias(mistaken, position) - _bias(group, position)
        return Cost(float(np.abs(difference).max()), None)
    turning = [variant for variant in (group, mistaken) if variant.turns]
    size = int(turning[0].parameters["head_dim"]) if turning else 1
    group, mistaken = (_in_a_text_up_to(position, variant) for variant in (group, mistaken))
    right, wrong = _map(group, position, size), _map(mistaken, position, size)
    seen = _scores(group, position, size)
    got = _scores(mistaken, position, size)
    changed = multiplier(mistaken, position) * got.overlap(seen)
    score = multiplier(group, position) * seen.overlap(seen)
    return Cost(wrong.largest_difference(right), 1 - changed / score)


@dataclass(frozen=True)
class Turn:
    """A matrix whose columns have an element on the diagonal, and at most one other element."""

    partner: Ints
    """For each column, the row of its other element; the diagonal's row where there is none."""
    diagonal: Floats
    other: Floats
    """The other element; 0 where there is none."""

    def times(self, factors: Floats) -> "Turn":
        """Return the matrix with every column multiplied by a factor."""
        return Turn(self.partner, self.diagonal * factors, self.other * factors)

    def overlap(self, right: "Turn") -> float:
        """Sum the products of elements in the same place of both matrices."""
        same = self.partner == right.partner
        beside = np.sum(self.other[same] * right.other[same])
        return float(np.sum(self.diagonal * right.diagonal) + beside)

    def largest_difference(self, right: "Turn") -> float:
        """Return the largest difference between elements in the same place of both matrices."""
        same = self.partner == right.partner
        beside = np.where(
            same,
            np.abs(self.other - right.other),
            np.maximum(np.abs(self.other), np.abs(right.other)),
        )
        return float(np.maximum(np.abs(self.diagonal - right.diagonal), beside).max())


def _in_a_text_up_to(position: int, group: Group) -> Group:
    """Return the group with the rotation that it has in a text that ends with ``position``."""
    if not group.grows:
        return group
    return replace(group, parameters={**group.parameters, LENGTH: position + 1})


def _scores(group: Group, position: int, size: int) -> Turn:
    """Return the matrix between a query at ``position`` and the farthest key that it sees."""
    far = position if group.reach is None else min(position, group.reach)
    unturned = _map(group, 0, size).diagonal  # at position 0 channels do not mix
    return _map(group, far, size).times(unturned)


def multiplier(group: Group, position: int) -> float:
    """Compute the factor of a query at a position, and so of its logits."""
    factor, warm = group.score_factor or 1.0, group.temperature
    if warm is not None:
        steps = math.floor((position + warm.first) / warm.interval)
        factor *= 1 + warm.scale * math.log1p(steps)
    return factor


def _map(group: Group, position: int, size: int) -> Turn:
    """Return the matrix that multiplies a query at a position."""
    if not group.turns:
        return Turn(np.arange(size), np.ones(size), np.zeros(size))
    return _turned(_key(group), position)


@dataclass(frozen=True)
class _Asked:
    """A group as a cache key: the group itself contains mappings and lists, which have no hash."""

    text: str
    group: Group

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Asked) and self.text == other.text


def _key(group: Group) -> _Asked:
    parts: tuple[Any, ...] = (group.call, group.combination, group.options, group.parameters)
    return _Asked(repr(parts), group)


@lru_cache(maxsize=64)
def _turned(asked: _Asked, position: int) -> Turn:
    """Return the matrix that rotates a head to ``position``, read from three rotated heads.

    They have 1 in the first channel of every pair, in the second, or in all others: none overlap.
    """
    group = asked.group
    size = int(group.parameters["head_dim"])
    first, second = channels(group, rotated(group))
    still = sorted({*range(size)}.difference(first, second))
    x = np.zeros((3, 1, size))
    for head, places in zip(x, (first, second, still), strict=True):
        head[0, places] = 1.0
    where = rows_of(group, np.array([position]))
    case = case_of(group, {"x": x, "positions": where})
    of_first, of_second, unchanged = replace(case, is_asked_once=True).truth[:, 0, :]
    partner, diagonal, beside = np.arange(size), unchanged.copy(), np.zeros(size)
    for row, own, paired in ((of_first, first, second), (of_second, second, first)):
        partner[own], diagonal[own], beside[own] = paired, row[own], row[paired]
    return Turn(partner, diagonal, beside)


def _bias(group: Group, distance: int) -> Floats:
    """Compute each head's bias for a key at ``distance``, minus that for the query's own key."""
    rows = case_of(group, {"q_len": 1, "k_len": distance + 1}).truth[:, 0, :]
    return np.asarray(rows[:, 0] - rows[:, -1], dtype=np.float64)
