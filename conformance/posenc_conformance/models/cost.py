"""What a mistake costs: how wrong queries and keys become, and what is lost of their scores."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from posenc_conformance.judge.arrays import Floats
from posenc_conformance.models.meaning import LENGTH, Group, case_of, rows_of

POSITIONS = (128, 4096, 32768, 131072)
"""Positions at which costs are shown."""


@dataclass(frozen=True)
class Cost:
    """What one mistake costs in one group at one position."""

    error: float
    """Largest error of any channel, for a query or key with a single channel of 1; for a bias, the
    largest error of any head."""
    loss: float | None
    """Share of its score that a query loses with a key that matches it exactly. The key stands as
    far behind as the query sees, at most at 0. Negative if the query gains; None for biases."""


def cost(group: Group, mistaken: Group, position: int) -> Cost:
    """Compute what a mistake costs a query at a position, its key as far behind as it can see."""
    if group.scheme == "alibi":
        difference = _bias(mistaken, position) - _bias(group, position)
        return Cost(float(np.abs(difference).max()), None)
    turning = [each for each in (group, mistaken) if each.turns]
    size = int(turning[0].parameters["head_dim"]) if turning else 1
    group, mistaken = (_in_a_text_up_to(position, each) for each in (group, mistaken))
    right, wrong = _map(group, position, size), _map(mistaken, position, size)
    seen = _scores(group, position, size)
    got = _scores(mistaken, position, size)
    changed = multiplier(mistaken, position) * float(np.sum(got * seen))
    score = multiplier(group, position) * float(np.sum(seen * seen))
    return Cost(float(np.abs(wrong - right).max()), 1 - changed / score)


def _in_a_text_up_to(position: int, group: Group) -> Group:
    """Return the group as it turns in a text that ends with a position."""
    if not group.grows:
        return group
    return replace(group, parameters={**group.parameters, LENGTH: position + 1})


def _scores(group: Group, position: int, size: int) -> Floats:
    """Return the matrix between a query at a position and the furthest key that it sees."""
    far = position if group.reach is None else min(position, group.reach)
    unturned = np.diagonal(_map(group, 0, size))  # at position 0 channels stay apart
    return np.asarray(_map(group, far, size) * unturned)


def multiplier(group: Group, position: int) -> float:
    """Compute by what a query at a position, and with it its logits, is multiplied."""
    found, warm = group.score_factor or 1.0, group.temperature
    if warm is not None:
        steps = math.floor((position + warm.first) / warm.interval)
        found *= 1 + warm.scale * math.log1p(steps)
    return found


def _map(group: Group, position: int, size: int) -> Floats:
    """Return the matrix that a query at a position is multiplied by."""
    return np.eye(size) if not group.turns else _turned(_key(group), position)


@dataclass(frozen=True)
class _Asked:
    """A group as a cache key: a group itself holds mappings and lists."""

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
def _turned(asked: _Asked, position: int) -> Floats:
    group = asked.group
    size = int(group.parameters["head_dim"])
    x = np.eye(size)[:, np.newaxis, :]
    where = rows_of(group, np.array([position]))
    found: Floats = case_of(group, {"x": x, "positions": where}).truth[:, 0, :].T
    return found


def _bias(group: Group, distance: int) -> Floats:
    """Compute for each head the bias of a key this far behind the query, minus that of its own."""
    rows = case_of(group, {"q_len": 1, "k_len": distance + 1}).truth[:, 0, :]
    return np.asarray(rows[:, 0] - rows[:, -1], dtype=np.float64)
