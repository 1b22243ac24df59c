"""Kernels with right rotations at wrong positions: most of their failures name the positions."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from posenc_conformance import check, claims
from posenc_conformance.judge.arrays import DTYPES, Array
from posenc_lab.judging import failed, judge
from tests.turning import halves, omega

pytestmark = pytest.mark.remembered(shipped=True)

EXCHANGED = "no known deviation: cos and sin are exchanged"
Place = Callable[[Array], Array]
"""Ways to treat positions of shape [batch, heads, n]."""


class Kernel:
    """RoPE in the forms of kernel calls, by the treatment of positions."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def turned(self, x: Array, positions: Array, base: float) -> Array:
        where = self.place(np.broadcast_to(positions[:, None, :], x.shape[:-1]))
        return halves(x, where[..., None] * omega(x.shape[-1], base))

    @claims("batched-half", dtype="float32")
    def rope_batched(self, x: Array, positions: Array, *, base: float) -> Array:
        return self.turned(x, positions, base)

    @claims("offsets-half", dtype="float32")
    def rope_offsets(self, x: Array, offsets: Array, *, base: float) -> Array:
        return self.turned(x, offsets[:, None] + np.arange(x.shape[2]), base)

    @claims("half", dtype="float32")
    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        together = x.reshape(1, -1, *x.shape[-2:])
        return self.turned(together, positions[None], base).reshape(x.shape)

    @claims("in-place-half", dtype="float32")
    def rope_in_place(self, x: Array, positions: Array, *, base: float) -> None:
        x[...] = self.rope(x, positions, base=base)


def rows(positions: Array) -> Array:
    return np.broadcast_to(np.arange(positions.shape[-1]), positions.shape)


def heads(positions: Array) -> Array:
    return np.broadcast_to(np.arange(positions.shape[1])[:, None], positions.shape)


MISTAKES: dict[str, tuple[Place, tuple[str, ...]]] = {
    "ids that are not read": (rows, ("are ignored", "offsets-ignored")),
    "rows by their heads": (heads, ("at the number of its head",)),
    "heads one later each": (lambda p: p + heads(p), ("each head stands one later",)),
    "the last for all": (lambda p: np.repeat(p[..., -1:], p.shape[-1], -1), ("the last one",)),
    "each position twice": (lambda p: p // 2, ("rows stand at",)),
    "one too early": (lambda p: p - 1, ("1 earlier", "positions-shifted")),
    "five too late": (lambda p: p + 5, ("5 later", "positions-shifted")),
    "every second not turned": (lambda p: np.where(rows(p) % 2, 0, p), ("rows stand at 0, 0",)),
    "one head not turned": (lambda p: np.where(heads(p) == 1, 0, p), ("1), rows st", "(1,), rows")),
    "no row turned": (
        np.zeros_like,
        ("nothing is rotated", "position 0", "unrotated", "copy-changed"),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("place", "words"), MISTAKES.values(), ids=MISTAKES)
def test_the_positions_of_rows_are_named(place: Place, words: tuple[str, ...]) -> None:
    by_call: dict[str, list[str]] = {}
    for verdict in failed(judge(Kernel(place))):
        by_call.setdefault(verdict.check.subject.name, []).append(verdict.text.splitlines()[0])
    assert by_call.keys() == {"rope_batched", "rope_offsets", "rope", "rope_in_place"}
    for lines in by_call.values():
        named = [any(word in line for word in words) for line in lines]
        assert 2 * sum(named) > len(named), lines


@pytest.mark.slow
def test_the_end_of_a_table_is_named() -> None:
    verdicts = failed(judge(Kernel(lambda p: np.minimum(p, 511)), ("behaviour",)))
    assert {verdict.check.subject.name for verdict in verdicts} >= {"rope_batched", "rope"}
    lines = [verdict.text.splitlines()[0] for verdict in verdicts]
    assert any("positions beyond 511 are taken for 511" in line for line in lines)


@pytest.mark.slow
def test_a_right_kernel_passes() -> None:
    assert not failed(judge(Kernel(lambda p: p)))


def exchanged(x: Array, positions: Array) -> Array:
    """Turn rows in halves by a sine for the cosine, and the other way round."""
    angles = positions[:, None] * omega(x.shape[-1], 10_000.0)
    return halves(x, np.pi / 2 - angles)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_cos_and_sin_exchanged_are_named_for_queries_and_keys(dtype: str) -> None:
    draw = np.random.default_rng(3)
    q, k = (draw.standard_normal((heads, 12, 64)).astype(DTYPES[dtype]) for heads in (4, 2))
    places = np.arange(5, 17)
    given: dict[str, Any] = {
        "q": q,
        "k": k,
        "positions": places,
        "base": 10_000.0,
        "layout": "half",
    }
    wrong = tuple(exchanged(x, places).astype(x.dtype) for x in (q, k))
    right = tuple(halves(x, places[:, None] * omega(64, 10_000.0)).astype(x.dtype) for x in (q, k))
    check(right, "rope_query_key", **given)
    with pytest.raises(AssertionError, match=f"^{EXCHANGED}"):
        check(wrong, "rope_query_key", **given)
    keys = "no known deviation: keys(: | alone are wrong: )cos and sin are exchanged"
    with pytest.raises(AssertionError, match=f"^{keys}"):
        check((right[0], wrong[1]), "rope_query_key", **given)
