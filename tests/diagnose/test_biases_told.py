"""Mistakes in biases and masks, as people write them, beside near ones of other names."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from posenc_conformance import check, claims
from posenc_conformance.judge.arrays import Array
from posenc_lab.judging import diagnoses, failed, judge

LEVELS = ("smoke", "golden", "invariant")
FAR = np.arange(-200, 201)
BUCKETS: dict[str, Any] = {"num_buckets": 32, "max_distance": 128}
Way = Callable[[Array, int, int], Array]
"""Takes distances, the number of exact buckets and that of all of a side; returns buckets."""


def said(result: Array, call: str, **given: Any) -> str:
    with pytest.raises(AssertionError) as wrong:
        check(result, call, **given)
    return str(wrong.value).splitlines()[0]


def logarithmic(
    edge: Callable[[int], int] = lambda side: side // 2,
    log: Callable[[Array], Array] = np.log,
    over: Callable[[float], float] = np.log,
    whole: Callable[[Array], Array] = np.floor,
    last: int = 1,
) -> Way:
    """Make the rule of T5, or one with another of its steps."""

    def way(n: Array, half: int, side: int) -> Array:
        first = edge(side)
        steps = log(np.maximum(n, 1) / first) / over(128 / first) * (side - first)
        return np.where(n < first, n, np.minimum(first + whole(steps), side - last))

    return way


def bucket(way: Way, relative: Array, direction: str) -> Array:
    two_sided = direction == "bidirectional"
    side = 16 if two_sided else 32
    n = np.abs(relative) if two_sided else np.maximum(-relative, 0)
    above = side * (relative > 0) if two_sided else 0
    return np.asarray(above + way(n, side // 2, side)).astype(np.int64)


WAYS: dict[str, Way] = {
    "logarithm to base 2, that of max_distance to base e": logarithmic(log=np.log2),
    "logarithm to base e, that of max_distance to base 2": logarithmic(over=np.log2),
    "logarithm to base 10, that of max_distance to base e": logarithmic(log=np.log10),
    "the logarithm of 1 more than the ratio": logarithmic(log=np.log1p),
    "a quarter of a side's buckets exact": logarithmic(edge=lambda side: side // 4),
    "three quarters of a side's buckets exact": logarithmic(edge=lambda side: side * 3 // 4),
    "one exact bucket less": logarithmic(edge=lambda side: side // 2 - 1),
    "one exact bucket more": logarithmic(edge=lambda side: side // 2 + 1),
    "rounded up to the next bucket": logarithmic(whole=np.ceil),
    "rounded to the nearest bucket": logarithmic(whole=np.rint),
    "never reach the last bucket": logarithmic(last=2),
    "not divided by the number of exact buckets": lambda n, half, side: np.where(
        n < half,
        n,
        np.minimum(half + np.log(np.maximum(n, 1)) / np.log(128) * (side - half) // 1, side - 1),
    ),
    "in buckets of equal width": lambda n, half, side: np.where(
        n < half, n, np.minimum(half + (n - half) * (side - half) // (128 - half), side - 1)
    ),
    # The kit has no such formula, and lists buckets.
    "have the buckets": lambda n, half, side: np.minimum(np.sqrt(n) * 1.5 // 1, side - 1),
}


@pytest.mark.parametrize("direction", ["bidirectional", "causal"])
@pytest.mark.parametrize("words", WAYS)
def test_wrong_buckets_of_t5_are_told(words: str, direction: str) -> None:
    given: dict[str, Any] = {**BUCKETS, "direction": direction}
    found = bucket(WAYS[words], FAR, direction)
    assert words in said(found, "t5_bucket", relative_position=FAR, **given)
    table = np.random.default_rng(0).standard_normal((32, 4)).astype(np.float32)
    lag = np.arange(150) - np.arange(150)[:, None]
    bias = table[bucket(WAYS[words], lag, direction)].transpose(2, 0, 1)
    more = {"max_distance": 128, "direction": direction}
    assert words in said(bias, "t5_bias", table=table, q_len=150, k_len=150, **more)


def test_right_buckets_of_t5_are_right() -> None:
    for direction in ("bidirectional", "causal"):
        found = bucket(logarithmic(), FAR, direction)
        more: dict[str, Any] = {"relative_position": FAR, "direction": direction}
        assert check(found, "t5_bucket", **more, **BUCKETS).worst == 0


def test_wrong_buckets_are_described() -> None:
    found = bucket(logarithmic(), FAR, "causal")
    found[FAR < -150] = 29
    words = said(found, "t5_bucket", relative_position=FAR, direction="causal", **BUCKETS)
    assert "distances -151, -152, -153, -154 have the buckets 29, 29, 29, 29, and should" in words
    assert "the buckets of distances from 151 on are wrong: of 32 buckets up to 128" in words


def powers(heads: int) -> Array:
    return np.asarray(2.0 ** (-8 * np.arange(1, heads + 1) / heads))


SLOPES = {
    "the slopes of 8 heads 2 times, as of 2 ranks": np.tile(powers(8), 2),
    "the slopes of 4 heads 4 times, as of 4 ranks": np.tile(powers(4), 4),
    "the slopes of 6 heads 2 times, as of 2 ranks": np.tile([*powers(4), *powers(8)[:3:2]], 2),
    "every second slope of 16 heads from the first on, and then the others": np.concatenate(
        [powers(16)[::2], powers(16)[1::2]]
    )[:12],
    "every second slope of 16 heads before those of 8": np.concatenate(
        [powers(16)[:8:2], powers(8)]
    ),
    "the slopes sorted": np.sort(np.concatenate([powers(8), powers(16)[:8:2]]))[::-1],
}


def of_slopes(slopes: Array, distance: Array) -> Array:
    hidden = np.where(np.tril(np.ones(distance.shape, bool)), 0, -np.inf)
    return np.asarray(-slopes[:, None, None] * distance + hidden, np.float32)


@pytest.mark.parametrize("words", SLOPES)
def test_slopes_of_other_heads_are_told(words: str) -> None:
    slopes = SLOPES[words]
    assert words in said(slopes.astype(np.float32), "alibi_slopes", heads=len(slopes))
    distance = np.arange(12)[:, None] - np.arange(12)
    given = {"heads": len(slopes), "q_len": 12, "k_len": 12}
    assert words in said(of_slopes(slopes, distance), "alibi_bias", **given)


def test_the_order_of_mpt_is_right() -> None:
    slopes = np.concatenate([powers(16)[1::2], powers(16)[::2]])[:12]  # as MPT writes it
    assert check(slopes.astype(np.float32), "alibi_slopes", heads=12).worst <= 1


def bfloat16(values: Array) -> Array:
    return np.asarray(values).astype(ml_dtypes.bfloat16).astype(np.float32)


@pytest.mark.slow
def test_distances_in_bfloat16_are_not_told_as_slopes() -> None:
    place = np.arange(300)
    distance = place[:, None] - place
    given: dict[str, Any] = {"q_len": 300, "k_len": 300}
    of_power = of_slopes(powers(4), bfloat16(distance))
    either = "distances, or their products with slopes, rounded to bfloat16"
    assert either in said(of_power, "alibi_bias", heads=4, **given)
    slopes, given = np.array(2.0 ** (-8 * np.arange(1, 4) / 3)), {**given, "head_rule": "uniform"}
    alone = said(of_slopes(slopes, bfloat16(distance)), "alibi_bias", heads=3, **given)
    assert "distances alone rounded to bfloat16" in alone
    both = bfloat16(of_slopes(bfloat16(slopes), distance))
    assert "matches slopes and products rounded" in said(both, "alibi_bias", heads=3, **given)


Mask = Callable[[Array, Array, int], Array]
LATE = "chunks that each begin 1 later than they should, the first one excepted"
MASKS: dict[str, Mask] = {
    LATE: lambda query, key, size: (
        np.maximum(query - 1, 0) // size == np.maximum(key - 1, 0) // size
    ),
    "queries that see one key before the begin of their chunk as well": (
        lambda query, key, size: key >= query // size * size - 1
    ),
    "the first of each chunk still sees the chunk before": (
        lambda query, key, size: key >= np.maximum(query - 1, 0) // size * size
    ),
    "the first of each chunk sees the chunk before, and not itself": (
        lambda query, key, size: np.maximum(query - 1, 0) // size == key // size
    ),
}
NEAR: dict[str, Mask] = {
    "chunks-shifted": lambda query, key, size: (query - 1) // size == (key - 1) // size,
    "chunk-off-by-one": lambda query, key, size: query // (size + 1) == key // (size + 1),
}


def chunked(mask: Mask) -> object:
    class Chunked:
        @claims()
        def chunked_mask(self, q_len: int, k_len: int, chunk_size: int) -> Array:
            query, key = np.arange(k_len - q_len, k_len)[:, None], np.arange(k_len)
            return np.asarray(mask(query, key, chunk_size) & (key <= query))

    return Chunked()


@pytest.mark.parametrize("words", MASKS)
def test_borders_of_chunks_that_are_late_are_told(words: str) -> None:
    wrong = failed(judge(chunked(MASKS[words]), LEVELS))
    assert wrong
    assert all(words in verdict.outcome.recovered for verdict in wrong)
    query, key = np.arange(33)[:, None], np.arange(33)
    mask = MASKS[words](query, key, 8) & (key <= query)
    assert words in said(mask, "chunked_mask", q_len=33, k_len=33, chunk_size=8)


@pytest.mark.parametrize("name", NEAR)
def test_other_borders_keep_their_names(name: str) -> None:
    assert diagnoses(judge(chunked(NEAR[name]), LEVELS)) == [name]
