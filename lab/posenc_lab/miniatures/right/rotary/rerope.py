"""Right implementations: ReRoPE and Leaky ReRoPE."""

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


def checked(window: int, factor: float = 1.0) -> None:
    """Refuse a window or a factor below 1."""
    at_least_one(window=window)
    if not factor >= 1:
        raise ValueError(f"factor is {factor}")


@right
class RectifiedAndJoined:
    """The author's code for prefill: two products, joined where distances reach the window."""

    @claims("half", "interleaved", dtype=FLOATS)
    def rerope_scores(self, q: Array, k: Array, *, window: int, base: float, layout: str) -> Array:
        checked(window)
        query, key = fitting(q, k)
        near = scores(turned(q, query[:, 0], base, layout), turned(k, key, base, layout))
        far = scores(turned(q, 0 * query[:, 0] + window, base, layout), k)
        return np.where(abs(query - key) < window, near, far)

    @claims("half", "interleaved", dtype=FLOATS)
    def leaky_rerope_scores(
        self, q: Array, k: Array, *, window: int, factor: float, base: float, layout: str
    ) -> Array:
        checked(window, factor)
        query, key = fitting(q, k)
        near = scores(turned(q, query[:, 0], base, layout), turned(k, key, base, layout))
        moved = (query[:, 0] + window * (factor - 1)) / factor
        far = scores(turned(q, moved, base, layout), turned(k, key / factor, base, layout))
        return np.where(abs(query - key) < window, near, far)


@right
class RectifiedKeysAlone:
    """The author's code for decoding: keys rotated back by their distance, queries unrotated."""

    @claims("half", "interleaved", dtype=FLOATS)
    def rerope_scores(self, q: Array, k: Array, *, window: int, **rest: Any) -> Array:
        checked(window)
        return self.rows(q, k, lambda lag: np.minimum(lag, window), **rest)

    @claims("half", "interleaved", dtype=FLOATS)
    def leaky_rerope_scores(
        self, q: Array, k: Array, *, window: int, factor: float, **rest: Any
    ) -> Array:
        checked(window, factor)
        return self.rows(
            q, k, lambda lag: np.minimum(lag, window + (lag - window) / factor), **rest
        )

    @staticmethod
    def rows(q: Array, k: Array, distance: Any, *, base: float, layout: str) -> Array:
        query, key = fitting(q, k)
        out = np.full((*q.shape[:2], k.shape[1]), -np.inf, dtype=q.dtype)
        for i, place in enumerate(query[:, 0]):
            seen = slice(place + 1)
            back = turned(k[:, seen], -distance(place - key[seen]), base, layout)
            out[:, i, seen] = scores(q[:, i, None], back)[:, 0]
        return out


@right
class RectifiedMap:
    """The distance map, then complex numbers in float64."""

    @claims("half", "interleaved", dtype=FLOATS)
    def rerope_scores(self, q: Array, k: Array, *, window: int, **rest: Any) -> Array:
        checked(window)
        query, key = fitting(q, k)
        return by_complex_numbers(q, k, np.clip(query - key, 0, window), **rest)

    @claims("half", "interleaved", dtype=FLOATS)
    def leaky_rerope_scores(
        self, q: Array, k: Array, *, window: int, factor: float, **rest: Any
    ) -> Array:
        checked(window, factor)
        query, key = fitting(q, k)
        lag = query - key
        beyond = np.maximum(lag - window, 0)
        return by_complex_numbers(q, k, lag - beyond + beyond / factor, **rest)


@right
class RectifiedPairByPair:
    """One logit at a time, in Python floats."""

    @claims("half", "interleaved", dtype="float64", heads=[1, 2], head_dim=[2, 4])
    def rerope_scores(self, q: Array, k: Array, *, window: int, **rest: Any) -> Array:
        checked(window)
        query, key = fitting(q, k)
        return by_distance(q, k, np.minimum(query - key, window), **rest)

    @claims("half", "interleaved", dtype="float64", heads=[1, 2], head_dim=[2, 4])
    def leaky_rerope_scores(
        self, q: Array, k: Array, *, window: int, factor: float, **rest: Any
    ) -> Array:
        checked(window, factor)
        query, key = fitting(q, k)
        lag = query - key
        far = window + (lag - window) / factor
        return by_distance(q, k, np.where(lag > window, far, lag), **rest)
