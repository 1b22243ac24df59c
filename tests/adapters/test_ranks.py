"""Kernels on several ranks, judged as one: shares of heads and of rows, right and wrong."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from posenc_conformance import claims
from posenc_conformance.adapters import by_ranks
from posenc_conformance.judge.arrays import Array
from posenc_lab.field.pieces import slopes
from posenc_lab.judging import failed, judge
from tests.turning import first_lines, halves, omega

pytestmark = pytest.mark.remembered(shipped=True)

LEVELS = ("smoke", "golden", "invariant")
ROWS = {"x": -2, "positions": -1}
Places = Callable[[Array, int, int], Array]


def as_given(positions: Array, rank: int, ranks: int) -> Array:
    """Return the positions of the rank's own rows."""
    return positions


def counted(positions: Array, rank: int, ranks: int) -> Array:
    """Return positions from 0, as if every rank were the first."""
    return np.arange(len(positions))


def in_pieces(positions: Array, rank: int, ranks: int) -> Array:
    """Return positions as if each rank held one contiguous piece."""
    return rank * len(positions) + np.arange(len(positions))


def rotary(share: str, places: Places, ranks: int = 2) -> object:
    """Return an adapter of RoPE whose rows are shared among ranks."""

    def kernel(x: Array, positions: Array, base: float, rank: int, ranks: int) -> Array:
        where = places(positions, rank, ranks)
        return halves(x, np.outer(where, omega(x.shape[-1], base)))

    class Engine:
        @claims("half", dtype="float64", when=lambda positions: in_order(positions))
        def rope(self, x: Array, positions: Array, *, base: float) -> Any:
            whole = by_ranks(kernel, ranks, cut=ROWS, join=-2, share=share)
            return whole(x=x, positions=positions, base=base)

    return Engine()


def in_order(positions: Array) -> bool:
    """Return whether positions count from 0 upwards, as in a prompt."""
    return np.array_equal(positions, np.arange(len(positions)))


def biased(slopes_of: Callable[[int, int, int], Array], ranks: int = 2) -> object:
    """Return an adapter of ALiBi whose heads are shared among ranks."""

    def kernel(heads: int, q_len: int, k_len: int, rank: int, ranks: int) -> Array:
        far = np.arange(k_len) - (np.arange(q_len)[:, None] + k_len - q_len)
        return np.asarray(slopes_of(heads, rank, ranks)[:, None, None] * far)

    class Engine:
        @claims("causal", dtype="float64", heads=[4, 8, 16])
        def alibi_bias(self, heads: int, q_len: int, k_len: int) -> Any:
            whole = by_ranks(kernel, ranks, cut={"heads": 0}, join=0)
            return whole(heads=heads, q_len=q_len, k_len=k_len)

    return Engine()


def own(heads: int, rank: int, ranks: int) -> Array:
    """Return the slopes of the rank's own heads."""
    return np.asarray(slopes(heads).reshape(ranks, -1)[rank])


def first(heads: int, rank: int, ranks: int) -> Array:
    """Return the slopes of the first rank's heads for any rank."""
    return own(heads, 0, ranks)


@pytest.mark.parametrize("share", ["contiguous", "zigzag", "round-robin"])
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_shares_of_rows_are_joined_as_they_were_cut(share: str, ranks: int) -> None:
    verdicts = judge(rotary(share, as_given, ranks))
    assert not failed(verdicts)
    assert sum(verdict.verdict == "passed" for verdict in verdicts) > 5


def test_shares_of_heads_are_joined() -> None:
    assert not failed(judge(biased(own)))
    assert not failed(judge(biased(own, 4)))


@pytest.mark.parametrize(
    ("share", "places", "words"),
    [
        ("contiguous", counted, "ranks have the positions of the first rank"),
        ("zigzag", in_pieces, "in zigzag stand as if each rank held one piece"),
    ],
)
def test_mistakes_with_ranks_are_named(share: str, places: Places, words: str) -> None:
    assert any(words in line for line in first_lines(judge(rotary(share, places), LEVELS)))


def test_repeated_slopes_of_the_first_rank_are_named() -> None:
    lines = first_lines(judge(biased(first), LEVELS))
    assert any("head i has the values of head i % " in line for line in lines)


def test_arguments_of_different_lengths_are_refused() -> None:
    whole = by_ranks(lambda **arguments: None, 2, cut={"x": 0, "positions": 0}, join=0)
    with pytest.raises(ValueError, match="x has 3, positions has 4"):
        whole(x=np.zeros(3), positions=np.zeros(4))
