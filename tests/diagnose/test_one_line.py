"""One line of a rotation is wrong: results of every call that rotates show it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from posenc_conformance import check, claims
from posenc_conformance.judge.arrays import round_to
from posenc_lab.judging import failed, judge
from posenc_lab.miniatures.styles import Array

Turn = Callable[[Array, Array, Array], Array]


def right(x: Array, cos: Array, sin: Array) -> Array:
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def sign_twice(x: Array, cos: Array, sin: Array) -> Array:
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([a * cos - b * sin, b * cos - a * sin], axis=-1)


def cos_twice(x: Array, cos: Array, sin: Array) -> Array:
    return right(x, cos, cos)


def written_first(x: Array, cos: Array, sin: Array) -> Array:
    a, b = np.split(x, 2, axis=-1)
    first = a * cos - b * sin
    return np.concatenate([first, b * cos + first * sin], axis=-1)


LINES: dict[Turn, str] = {
    sign_twice: "the minus sign stands twice: both members of a pair get -sin",
    cos_twice: "cos stands in both places, for sin as well",
    written_first: "the first member of a pair is overwritten before the second one is made of it",
}


def angles_of(positions: Array, dim: int, base: float) -> Array:
    return np.asarray(positions[..., None] * base ** (-np.arange(0, dim, 2) / dim))


def adapter(call: str, turn: Turn) -> object:
    """Return an adapter that turns rows by ``turn``, for keys alone in rope_query_key."""

    class Apply:
        @claims("half", dtype="float64")
        def rope_apply(self, x: Array, cos: Array, sin: Array) -> Array:
            return turn(x, cos, sin)

    class Offsets:
        @claims("offsets-half", dtype="float64")
        def rope_offsets(self, x: Array, offsets: Array, *, base: float) -> Array:
            rows = offsets[:, None] + np.arange(x.shape[2])
            angles = angles_of(rows, x.shape[-1], base)[:, None]
            return turn(x, np.cos(angles), np.sin(angles))

    class QueryKey:
        @claims("query-key-half", dtype="float64")
        def rope_query_key(self, q: Array, k: Array, positions: Array, *, base: float) -> Array:
            angles = angles_of(positions, q.shape[-1], base)
            cos, sin = np.cos(angles), np.sin(angles)
            return np.concatenate([right(q, cos, sin), turn(k, cos, sin)])

    return {"rope_apply": Apply, "rope_offsets": Offsets, "rope_query_key": QueryKey}[call]()


@pytest.mark.parametrize("call", ["rope_apply", "rope_offsets", "rope_query_key"])
@pytest.mark.parametrize("turn", LINES)
def test_a_wrong_line_shows_in_every_form(call: str, turn: Turn) -> None:
    told = {v.outcome.recovered for v in failed(judge(adapter(call, turn), ("golden",)))}
    assert told == {"keys alone are wrong: " * (call == "rope_query_key") + LINES[turn]}


@pytest.mark.parametrize("call", ["rope_apply", "rope_offsets", "rope_query_key"])
def test_right_lines_pass(call: str) -> None:
    assert not failed(judge(adapter(call, right), ("golden",)))


def rope(x: Array, positions: Array, turn: Turn, short: str) -> Array:
    """Rotate neighbours by a table of cosines and sines held in the dtype ``short``."""
    angles = angles_of(positions, x.shape[-1], 10000.0)
    cos, sin = (round_to(wave(angles), short) for wave in (np.cos, np.sin))
    a, b = x[..., ::2], x[..., 1::2]
    out = turn(np.concatenate([a, b], axis=-1), cos, sin)
    return np.stack(np.split(out, 2, axis=-1), axis=-1).reshape(x.shape)


def no_sine(x: Array, cos: Array, sin: Array) -> Array:
    return right(x, cos, 0 * sin)


@pytest.mark.parametrize("short", ["bfloat16", "float16"])
@pytest.mark.parametrize(
    ("turn", "words"), [(no_sine, "the part with sin is missing"), *LINES.items()]
)
def test_a_short_table_hides_no_wrong_line(turn: Turn, words: str, short: str) -> None:
    x, positions = np.random.default_rng(0).standard_normal((2, 32, 16)), np.arange(32)
    asked: dict[str, Any] = {"x": x, "positions": positions, "base": 1e4, "layout": "interleaved"}
    with pytest.raises(AssertionError, match=f"{words}; cosines and sines are in {short}"):
        check(rope(x, positions, turn, short), "rope", **asked)
    check(rope(x, positions, right, "float64"), "rope", **asked)


@pytest.mark.parametrize(("short", "start"), [("bfloat16", 300), ("float16", 3001)])
def test_a_short_table_hides_no_rounded_positions(short: str, start: int) -> None:
    x, positions = np.random.default_rng(0).standard_normal((2, 9, 16)), start + np.arange(9)
    asked: dict[str, Any] = {"x": x, "positions": positions, "base": 1e4, "layout": "interleaved"}
    near = round_to(positions.astype(np.float64), short)
    words = rf"positions in {short}, and a table of cosines and sines in it \[low-precision-angles"
    with pytest.raises(AssertionError, match=words):
        check(rope(x, near, right, short), "rope", **asked)
    with pytest.raises(AssertionError, match=f"no known deviation: cosines and sines in {short}"):
        check(rope(x, positions, right, short), "rope", **asked)
