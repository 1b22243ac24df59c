"""A table in bfloat16 of positions in bfloat16 is named, and not taken for anything else."""

from typing import Any

import numpy as np
import pytest

from posenc_conformance import check
from posenc_conformance.judge.arrays import Array, round_to

ROWS, DIM = 64, 32
POSITIONS = 1000 + np.arange(ROWS)
X = round_to(np.random.default_rng(0).standard_normal((2, ROWS, DIM)), "float32")
WORDS = "matches positions in bfloat16, and a table of cosines and sines in it"


def angles(places: Array) -> Array:
    return np.outer(places, 10000.0 ** (-np.arange(DIM // 2) / (DIM // 2)))


def encoding() -> Array:
    turns = angles(round_to(POSITIONS.astype(float), "bfloat16"))
    both = np.stack([np.sin(turns), np.cos(turns)], axis=-1).reshape(ROWS, DIM)
    return round_to(both, "bfloat16")


def rows() -> Array:
    both = np.broadcast_to(encoding(), X.shape)
    return np.concatenate([X, both], axis=-1)


def halves(sign: int) -> Array:
    """Rotate halves by tables of rounded positions, or back by them."""
    turns = angles(round_to(POSITIONS.astype(float), "bfloat16"))
    cos, sin = round_to(np.cos(turns), "bfloat16"), sign * round_to(np.sin(turns), "bfloat16")
    first, second = X[..., : DIM // 2], X[..., DIM // 2 :]
    return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1)


CALLS: tuple[tuple[str, Array, dict[str, Any]], ...] = (
    ("sinusoidal", encoding(), {"dim": DIM}),
    ("embedding_sum", X + encoding(), {"x": X, "combination": "unscaled"}),
    ("concatenation", rows(), {"x": X, "encoding_dim": DIM}),
    ("rope", halves(1), {"x": X, "layout": "half"}),
    ("rope_vjp", halves(-1), {"x": X, "layout": "half"}),
    ("rope_in_place", halves(1), {"x": X, "layout": "half"}),
)


@pytest.mark.parametrize(("call", "result", "given"), CALLS, ids=[call for call, _, _ in CALLS])
def test_it_is_named(call: str, result: Array, given: dict[str, Any]) -> None:
    arrays: dict[str, Any] = {
        name: value.astype(np.float32) if isinstance(value, np.ndarray) else value
        for name, value in given.items()
    }
    with pytest.raises(AssertionError) as wrong:
        check(result.astype(np.float32), call, positions=POSITIONS, base=10000.0, **arrays)
    first = str(wrong.value).splitlines()[0]
    assert WORDS.removeprefix("matches ") in first
