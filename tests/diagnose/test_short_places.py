"""Places of queries and keys that are rounded before they are turned, where distances are remapped.

The wrong code is that of the papers' repositories: queries and keys are turned apart, near and far.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from posenc_conformance import check
from posenc_conformance.judge.arrays import Array, round_to

ROWS, LAST, DIM = 330, 9, 16
RANDOM = np.random.default_rng(3)
Q = RANDOM.standard_normal((1, LAST, DIM)).astype(np.float32)
K = RANDOM.standard_normal((1, ROWS, DIM)).astype(np.float32)
HERE = np.arange(ROWS)
THERE = HERE[-LAST:]
LAG = THERE[:, None] - HERE
OMEGA = 10_000.0 ** (-np.arange(DIM // 2) / (DIM // 2))
Short = Callable[[Array], Array]
Turn = Callable[[Array, Array], Array]


def same(numbers: Array) -> Array:
    return numbers


def short(dtype: str) -> Short:
    return lambda numbers: round_to(np.asarray(numbers, np.float64), dtype)


def turner(places: Short, angles: Short, tables: Short) -> Turn:
    """Return a function that turns halves of rows, with three things that may be short."""

    def turned(x: Array, at: Array) -> Array:
        angle = angles(places(at)[:, None] * OMEGA)
        c, s = tables(np.cos(angle)), tables(np.sin(angle))
        a, b = np.split(x.astype(np.float64), 2, axis=-1)
        return np.concatenate([a * c - b * s, b * c + a * s], axis=-1)

    return turned


def product(q: Array, k: Array) -> Array:
    return np.asarray(q @ np.swapaxes(k, -1, -2) / np.sqrt(DIM))


def rerope(turned: Turn) -> Array:
    near = product(turned(Q, THERE), turned(K, HERE))
    return np.where(LAG < 8, near, product(turned(Q, 0 * THERE + 8), K))


def leaky(turned: Turn) -> Array:
    near = product(turned(Q, THERE), turned(K, HERE))
    far = product(turned(Q, (THERE + 8 * 3) / 4), turned(K, HERE / 4))
    return np.where(LAG < 8, near, far)


def self_extend(turned: Turn) -> Array:
    near = product(turned(Q, THERE), turned(K, HERE))
    return np.where(LAG < 8, near, product(turned(Q, THERE // 2 + 8 - 4), turned(K, HERE // 2)))


def dual_chunk(turned: Turn) -> Array:
    length, size = 290, 310
    key = turned(K, HERE % length)
    own = product(turned(Q, THERE % length), key)
    before = product(turned(Q, np.minimum(THERE % length + length, size)), key)
    return np.where(THERE[:, None] // length == HERE // length, own, before)


SCHEMES: dict[str, tuple[Callable[[Turn], Array], dict[str, Any]]] = {
    "rerope_scores": (rerope, {"window": 8}),
    "leaky_rerope_scores": (leaky, {"window": 8, "factor": 4.0}),
    "self_extend_scores": (self_extend, {"group_size": 2, "window": 8, "neighbours": "sliding"}),
    "dual_chunk_scores": (dual_chunk, {"chunk_size": 310, "local_size": 20}),
}
NARROW = short("bfloat16")
WRONG: dict[str, tuple[Short, Short, Short]] = {
    "positions in bfloat16": (NARROW, same, same),
    "angles in bfloat16": (same, NARROW, same),
    "positions in bfloat16, and a table of cosines and sines in it": (NARROW, same, NARROW),
    "cosines and sines in bfloat16": (same, same, NARROW),
    "angles in float16": (same, short("float16"), same),
}


def judged(call: str, turn: Turn) -> Any:
    scores, more = SCHEMES[call]
    result = np.where(LAG >= 0, scores(turn), 0.0).astype(np.float32)
    return check(result, call, q=Q, k=K, base=10_000.0, layout="half", **more)


@pytest.mark.parametrize("call", SCHEMES)
def test_code_of_another_style_is_right(call: str) -> None:
    assert judged(call, turner(same, same, same)).worst <= 1


@pytest.mark.slow
@pytest.mark.parametrize("call", SCHEMES)
@pytest.mark.parametrize("words", WRONG)
def test_what_is_short_is_told(call: str, words: str) -> None:
    with pytest.raises(AssertionError) as wrong:
        judged(call, turner(*WRONG[words]))
    assert str(wrong.value).splitlines()[0] == f"no known deviation: {words}"


def hybrid(places: Short, tables: Short) -> Any:
    x = np.random.default_rng(1).standard_normal((ROWS, 8)).astype(np.float32)
    projected = np.random.default_rng(2).standard_normal((2, 1, 8, 4)).astype(np.float32)
    table = np.random.default_rng(4).standard_normal((9, 1)).astype(np.float32)
    angle = places(HERE)[:, None] * 10_000.0 ** (-np.arange(4) / 4)
    waves = np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(ROWS, 8)
    rows = x.astype(np.float64) + tables(waves)
    q, k = (rows @ weights[0] for weights in projected.astype(np.float64))
    bias = table[np.clip(HERE - HERE[:, None], -4, 4) + 4, 0]
    result = (q @ k.T / 2 + bias)[None].astype(np.float32)
    given = {"x": x, "w_q": projected[0], "w_k": projected[1], "table": table, "base": 10_000.0}
    return check(result, "hybrid_scores", **given)


@pytest.mark.slow
def test_short_positions_below_a_bias_are_told() -> None:
    assert hybrid(same, same).worst <= 1
    for places, tables, words in (
        (NARROW, same, "positions in bfloat16"),
        (NARROW, NARROW, "positions in bfloat16, and a table of cosines and sines in it"),
        (same, NARROW, "cosines and sines in bfloat16"),
    ):
        with pytest.raises(AssertionError) as wrong:
            hybrid(places, tables)
        assert str(wrong.value).splitlines()[0] == f"no known deviation: {words}"
