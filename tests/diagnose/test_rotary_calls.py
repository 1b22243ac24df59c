"""The usual mistakes in turning pairs are named or described in all calls that turn pairs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
import pytest

import posenc
from posenc_conformance import check
from posenc_conformance.diagnose import rows
from posenc_conformance.judge.arrays import Array, round_to

ROWS, DIM = 48, 32
X = round_to(np.random.default_rng(0).standard_normal((2, ROWS, DIM)), "float32")
NUMBERS = np.arange(ROWS)
GRID = np.indices((6, 8)).reshape(2, -1)
VIDEO = np.indices((3, 4, 4)).reshape(3, -1) + 1
SIDES = {"height": 6, "width": 8, "base": 100.0}
WEIGHTS = round_to(np.random.default_rng(1).standard_normal((2, 2, DIM // 2)), "float32")
MIXED = {"positions": GRID, "frequencies": WEIGHTS}
SECTIONS = {"positions": VIDEO, "sections": np.array([4, 7, 5]), "base": 10000.0}
PLANE = {"positions": GRID, "base": 100.0}
HALF = {"layout": "half"}
YARN = {
    "positions": NUMBERS, "base": 10000.0, "factor": 4.0, "beta_fast": 32.0, "beta_slow": 1.0,
    "original_max_position_embeddings": 4096,
}  # fmt: skip
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("rope_2d", PLANE | {"layout": "interleaved"}),
    ("rope_2d_vjp", PLANE | {"layout": "interleaved"}),
    ("rope_2d_mixed", MIXED | {"layout": "interleaved", "order": "column-first"}),
    ("rope_2d_image", SIDES | HALF),
    ("axial_rope", {"positions": VIDEO, "widths": np.array([8, 14, 10]), "base": 1e4} | HALF),
    ("m_rope", SECTIONS | HALF),
    ("m_rope_vjp", SECTIONS | HALF | {"allocation": "contiguous"}),
    ("rope_vjp", {"positions": NUMBERS, "base": 10000.0} | HALF),
    ("yarn_vjp", YARN | HALF),
)


@dataclass(frozen=True)
class Pairs:
    """Pairs of x, and the cosine and sine of each, as a call turns them."""

    first: Array
    second: Array
    cos: Array
    sin: Array
    neighbours: bool

    def turned(self, cos: Array, sin: Array) -> tuple[Array, Array]:
        return self.first * cos - self.second * sin, self.first * sin + self.second * cos

    def crossed(self) -> tuple[Array, Array]:
        """Return pairs whose table has the angles of another layout."""
        (a, b), (c, d) = (self.given_out(wave) for wave in (self.cos, self.sin))
        return self.first * a - self.second * c, self.first * d + self.second * b

    def given_out(self, wave: Array) -> tuple[Array, Array]:
        """Give neighbours the angles of halves, or halves those of neighbours."""
        if self.neighbours:
            wide = np.concatenate([wave, wave], axis=-1)
            return wide[..., 0::2], wide[..., 1::2]
        wide = np.repeat(wave, 2, axis=-1)
        return wide[..., : DIM // 2], wide[..., DIM // 2 :]


MISTAKES: Mapping[str, Callable[[Pairs], tuple[Array, Array]]] = {
    "the minus sign is missing": lambda p: (
        p.first * p.cos + p.second * p.sin,
        p.first * p.sin + p.second * p.cos,
    ),
    "the minus sign stands twice": lambda p: (
        p.first * p.cos - p.second * p.sin,
        p.second * p.cos - p.first * p.sin,
    ),
    "cos stands in both places": lambda p: p.turned(p.cos, p.cos),
    "the other way|opposite sign|forward instead of back": lambda p: p.turned(p.cos, -p.sin),
    "cosines and sines in bfloat16": lambda p: p.turned(
        round_to(p.cos, "bfloat16"), round_to(p.sin, "bfloat16")
    ),
    "matches angles (tiled|repeated)|: angles (tiled|repeated)": lambda p: p.crossed(),
}


def channels(layout: str) -> tuple[Array, Array]:
    every = np.arange(DIM)
    if layout == "interleaved":
        return every[0::2], every[1::2]
    return every[: DIM // 2], every[DIM // 2 :]


def pairs_of(call: str, arguments: dict[str, Any]) -> Pairs:
    """Read each pair's cosine and sine from how the reference turns (1, 0)."""
    first, second = channels(arguments["layout"])
    unit = np.zeros_like(X)
    unit[..., first] = 1
    seen = getattr(posenc, call)(unit, **arguments)
    neighbours = arguments["layout"] == "interleaved"
    return Pairs(X[..., first], X[..., second], seen[..., first], seen[..., second], neighbours)


@pytest.mark.draws
@pytest.mark.parametrize("words", MISTAKES)
@pytest.mark.parametrize(("call", "arguments"), CALLS, ids=[call for call, _ in CALLS])
def test_it_is_said(call: str, arguments: dict[str, Any], words: str) -> None:
    pairs = pairs_of(call, arguments)
    first, second = channels(arguments["layout"])
    result = np.empty(X.shape, np.float32)
    result[..., first], result[..., second] = MISTAKES[words](pairs)
    with pytest.raises(AssertionError, match=words):
        check(result, call, x=X.astype(np.float32), **arguments)


@pytest.mark.parametrize(("call", "arguments"), CALLS, ids=[call for call, _ in CALLS])
def test_the_right_one_passes(call: str, arguments: dict[str, Any]) -> None:
    pairs = pairs_of(call, arguments)
    first, second = channels(arguments["layout"])
    result = np.empty(X.shape, np.float32)
    result[..., first], result[..., second] = pairs.turned(pairs.cos, pairs.sin)
    check(result, call, x=X.astype(np.float32), **arguments)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_angles_of_a_gradient_in_bfloat16(dtype: str) -> None:
    """The spec lists the mistake for rope, not for its backward pass."""
    first, second = channels("half")
    angles = round_to(-np.outer(NUMBERS, 10000.0 ** (-np.arange(16) / 16)), "bfloat16")
    pairs = Pairs(X[..., first], X[..., second], np.cos(angles), np.sin(angles), False)
    result = np.concatenate(pairs.turned(pairs.cos, pairs.sin), axis=-1).astype(dtype)
    with pytest.raises(AssertionError, match="no known deviation: angles in bfloat16"):
        check(result, "rope_vjp", x=X.astype(dtype), positions=NUMBERS, base=10000.0, layout="half")


def test_queries_repeated_for_keys_are_not_read_place_by_place() -> None:
    """The right head beside the wrong one must not make every place seem possible."""
    random = np.random.default_rng(0)
    q, k = (random.standard_normal((heads, 256, 64)).astype(np.float32) for heads in (8, 2))
    positions = np.arange(256)
    turned = posenc.rope(q.astype(float), positions, base=1e4, layout="half")
    result = np.concatenate([turned, np.repeat(turned[:1], 2, axis=0)]).astype(np.float32)
    given: dict[str, Any] = {"q": q, "k": k, "positions": positions, "base": 1e4, "layout": "half"}
    with (
        mock.patch.object(rows, "_agrees", wraps=rows._agrees) as compared,
        pytest.raises(AssertionError, match="have the values of leading indices 0, 0"),
    ):
        check(result, "rope_query_key", **given)
    assert compared.call_count < rows.MOST
