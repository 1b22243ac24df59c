"""Right implementations: Self-Extend."""

from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.remapped import (
    at_least_one,
    by_complex_numbers,
    by_distance,
    fitting,
    scores,
    turned,
)
from posenc_lab.miniatures.styles import FLOATS, Array, right


def checked(group_size: int, window: int, neighbours: str) -> None:
    """Refuse sizes below 1, and blocks that are not whole groups."""
    at_least_one(group_size=group_size, window=window)
    if neighbours == "blocks" and window % group_size:
        raise ValueError(f"a block of {window} is no whole number of groups of {group_size}")


@right
class TwoProducts:
    """The authors' code: both kinds of positions, two products, joined by a triangular mask."""

    @claims("longlm", dtype=FLOATS)
    def self_extend_scores(
        self,
        q: Array,
        k: Array,
        *,
        group_size: int,
        window: int,
        base: float,
        layout: str,
        neighbours: str,
    ) -> Array:
        checked(group_size, window, neighbours)
        query, key = (where.reshape(-1) for where in fitting(q, k))
        shifted = query // group_size + window - window // group_size
        near = scores(turned(q, query, base, layout), turned(k, key, base, layout))
        far = scores(turned(q, shifted, base, layout), turned(k, key // group_size, base, layout))
        every = len(key)
        neighbour = np.tril(np.ones((every, every), dtype=bool))
        if every > window:
            neighbour[window:, : every - window] ^= np.tril(
                np.ones((every - window, every - window), dtype=bool)
            )
        return np.where(neighbour[every - len(query) :], near, far)


@right
class MovingCache:
    """llama.cpp: positions stored with the keys of a cache, divided block by block."""

    @claims("llama-cpp", dtype=FLOATS)
    def self_extend_scores(
        self,
        q: Array,
        k: Array,
        *,
        group_size: int,
        window: int,
        base: float,
        layout: str,
        neighbours: str,
    ) -> Array:
        checked(group_size, window, neighbours)
        query, _ = fitting(q, k)
        rows, first = [], int(query[0, 0]) if len(query) else 0
        places: list[int] = []
        past, opened, closed = 0, 0, 0
        for token in range(k.shape[1]):
            while past >= opened + window:
                block = range(closed, closed + window)
                places[closed : closed + window] = [old // group_size for old in block]
                shift = window - window // group_size
                places[closed + window :] = [old - shift for old in places[closed + window :]]
                past, opened, closed = past - shift, opened + window // group_size, closed + window
            places.append(past)
            if token >= first:
                keys = turned(k[:, : token + 1], np.array(places), base, layout)
                own = turned(q[:, token - first, None], np.array([past]), base, layout)
                row = np.full((len(q), k.shape[1]), np.nan, dtype=q.dtype)
                row[:, : token + 1] = scores(own, keys)[:, 0]
                rows.append(row)
            past += 1
        return np.stack(rows, axis=1)


def mapped(query: Array, key: Array, group_size: int, window: int, neighbours: str) -> Array:
    """Return the remapped distance of each query from each key."""
    if neighbours == "sliding":
        near = query - key < window
        far = query // group_size - key // group_size + window - window // group_size
    else:
        begun = query - query % window
        near = key >= begun
        far = query % window + begun // group_size - key // group_size
    return np.where(near, query - key, far)


@right
class MapOfDistances:
    """The distance map, then complex numbers in float64."""

    @claims("longlm", "llama-cpp", dtype=FLOATS)
    def self_extend_scores(
        self,
        q: Array,
        k: Array,
        *,
        group_size: int,
        window: int,
        neighbours: str,
        **rest: Any,
    ) -> Array:
        checked(group_size, window, neighbours)
        distance = mapped(*fitting(q, k), group_size, window, neighbours)
        return by_complex_numbers(q, k, distance, **rest)


@right
class SelfExtendedPairByPair:
    """One logit at a time, in Python floats."""

    @claims("longlm", "llama-cpp", dtype="float64", heads=[1, 2], head_dim=[2, 4])
    def self_extend_scores(
        self,
        q: Array,
        k: Array,
        *,
        group_size: int,
        window: int,
        neighbours: str,
        **rest: Any,
    ) -> Array:
        checked(group_size, window, neighbours)
        distance = mapped(*fitting(q, k), group_size, window, neighbours)
        return by_distance(q, k, distance, **rest)
