"""Mistakes with positions and frequencies, as people write them, beside near ones."""

from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
import pytest

from posenc_conformance import check, claims, expected
from posenc_conformance.judge.arrays import Array
from posenc_lab.judging import failed, judge

LEVELS = ("smoke", "golden", "invariant")
Places = Callable[[Array], Array]


def drawn(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def said(result: Array, call: str, **given: Any) -> str:
    with pytest.raises(AssertionError) as wrong:
        check(np.asarray(result, np.float32), call, **given)
    return str(wrong.value).splitlines()[0]


def turned(x: Array, places: Array, omega: Array) -> Array:
    """Turn pairs of the half layout."""
    angle = np.asarray(places, float)[..., None] * omega
    a, b = np.split(x.astype(float), 2, axis=-1)
    cos, sin = np.cos(angle), np.sin(angle)
    return np.asarray(np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1))


def powers(dim: int, base: float = 10_000.0) -> Array:
    return np.asarray(base ** (-np.arange(0, dim, 2) / dim))


def rope(places: Places, asked: Array, heads: tuple[int, ...] = (2,), **more: Any) -> str:
    """Return the first line on rows of 64 channels that stand elsewhere."""
    x = drawn(*heads, len(asked), 64)
    given: dict[str, Any] = {"x": x, "positions": asked, "base": 10_000.0, "layout": "half", **more}
    return said(turned(x, places(asked), powers(64)), "rope", **given)


class Clamped:
    """Positions beyond the end of a table stand at its end."""

    last = 511

    @claims(layout="half", dtype="float32")
    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        places = np.clip(positions, 0, self.last)
        return turned(x, places, powers(x.shape[-1], base)).astype(x.dtype)


@pytest.mark.parametrize("last", [15, 31, 511, 999, 2047, 8191])
def test_clamped_positions_are_told_in_every_failure(last: int) -> None:
    wrong = failed(judge(type("Shorter", (Clamped,), {"last": last})(), LEVELS))
    assert wrong
    words = f"positions beyond {last} are taken for {last}"
    assert {verdict.outcome.recovered for verdict in wrong} == {words}


class Wrapped(Clamped):
    """Positions beyond the end of a table begin at 0 again."""

    @claims(layout="half", dtype="float32")
    def rope(self, x: Array, positions: Array, *, base: float) -> Array:
        places = positions % (self.last + 1)
        return turned(x, places, powers(x.shape[-1], base)).astype(x.dtype)


@pytest.mark.slow
def test_positions_that_restart_are_not_told_as_clamped() -> None:
    wrong = failed(judge(Wrapped(), LEVELS))
    assert wrong
    assert not any("positions beyond" in each.outcome.recovered for each in wrong)


def test_two_rows_at_one_place_are_told() -> None:
    words = rope(lambda asked: np.full_like(asked, 511), np.array([4094, 4095]))
    assert "rows at 4094, 4095 all stand at 511" in words
    words = rope(lambda asked: asked - 3000, np.array([4094, 4095]))
    assert "all stand at" not in words


@pytest.mark.parametrize(
    ("places", "words"),
    [
        (lambda asked: asked + (asked >= 16), "from position 16 on, every row stands 1 later"),
        (lambda asked: asked - (asked >= 16), "from position 16 on, every row stands 1 earlier"),
        (lambda asked: asked + asked // 16, "from each multiple of 16 on, rows stand 1 later"),
        (lambda asked: asked + (asked == 16), "rows stand at 17; asked for 16"),
        (lambda asked: asked + 1, "positions shifted by +1"),
    ],
)
def test_rows_behind_the_border_of_a_chunk_are_told(places: Places, words: str) -> None:
    assert words in rope(places, np.arange(40))


@pytest.mark.slow
def test_rows_behind_each_border_are_told_of_many_rows() -> None:
    words = rope(lambda asked: asked + asked // 256, np.arange(600))
    assert "from each multiple of 256 on, rows stand 1 later" in words
    words = rope(lambda asked: asked + (asked >= 512), np.arange(600))
    assert "from position 512 on, every row stands 1 later" in words


def test_numbers_of_heads_for_positions_are_told() -> None:
    asked = np.arange(16)
    heads = lambda asked: np.zeros_like(asked) + np.arange(8)[:, None]  # noqa: E731
    of_head = "every row stands at the number of its head"
    assert of_head in rope(heads, asked, (8,))
    assert of_head in rope(heads, asked, (2, 8))
    assert of_head in rope(heads, asked + 100, (2, 8))
    x = drawn(2, 16, 8, 64)
    given: dict[str, Any] = {"x": x, "positions": asked + 100, "base": 10_000.0, "layout": "half"}
    by_head = turned(x, np.arange(8), powers(64))
    assert of_head in said(by_head, "rope", shape="bshd", **given)
    of_text = rope(lambda asked: 0 * asked + np.arange(4)[:, None, None], asked, (4, 8))
    assert "every row stands at the number of its sequence" in of_text


GRID = np.stack(np.divmod(np.arange(60), 10))


@pytest.mark.parametrize(
    ("places", "words"),
    [
        (lambda asked: np.minimum(asked, 7), "positions beyond 7 are taken for 7, on every axis"),
        (lambda asked: asked[::-1], "positions of the axes in the order 1, 0"),
        (lambda asked: np.stack(np.divmod(np.arange(60), 6))[::-1], "count column by column"),
        (lambda asked: np.stack(np.divmod(np.arange(60), 6)), "not divided by the width"),
    ],
)
def test_places_of_cells_are_told(places: Places, words: str) -> None:
    given: dict[str, Any] = {"x": drawn(2, 60, 64), "widths": np.array([32, 32]), "base": 10_000.0}
    wrong = expected("axial_rope", positions=places(GRID), **given)
    assert words in said(wrong, "axial_rope", positions=GRID, **given)


def test_columns_first_are_told_in_each_frame() -> None:
    cell = np.arange(30)
    frames = np.repeat([0, 1], 30)
    asked = np.stack([frames, *np.tile(np.divmod(cell, 6), 2)])
    wrong = np.stack([frames, *np.tile([cell % 5, cell // 5], 2)])
    given: dict[str, Any] = {
        "x": drawn(2, 60, 64),
        "widths": np.array([16, 24, 24]),
        "base": 10_000.0,
    }
    result = expected("axial_rope", positions=wrong, **given)
    words = said(result, "axial_rope", positions=asked, **given)
    assert "rows and columns of the grid count column by column" in words


EDGES, OFFSETS = np.array([0, 5, 25, 32, 60]), np.array([3, 100, 17, 40])
PACKED: dict[str, Places] = {
    "sequences with the offset of the next one": lambda offsets: np.roll(offsets, -1),
    "sequences with the offset of the one before": lambda offsets: np.roll(offsets, 1),
    "sequences with the sum of all offsets": np.cumsum,
    "sequences that begin at the number of their end": lambda offsets: EDGES[1:],
    "the first sequence's offset for all": lambda offsets: 0 * offsets + offsets[0],
    "all start at position 0": lambda offsets: 0 * offsets,
}


@pytest.mark.parametrize("words", PACKED)
def test_offsets_of_other_texts_are_told(words: str) -> None:
    x = drawn(8, EDGES[-1], 64)
    starts = PACKED[words](OFFSETS)
    places = np.arange(EDGES[-1]) + np.repeat(starts - EDGES[:-1], np.diff(EDGES))
    given: dict[str, Any] = {
        "x": x,
        "cu_seqlens": EDGES,
        "offsets": OFFSETS,
        "base": 10_000.0,
        "layout": "half",
    }
    assert words in said(turned(x, places, powers(64)), "rope_packed", **given)


@pytest.mark.parametrize(
    ("dim", "padded", "words"),
    [
        (96, 128, "matches base 1000, like the first pairs of a head padded to 128"),
        (80, 128, "the frequencies of a head of 128, of which the last are left"),
        (112, 128, "the frequencies of a head of 128, of which the last are left"),
        (64, 128, "exponents t/d instead of 2t/d"),
    ],
)
def test_exponents_of_a_padded_head_are_told(dim: int, padded: int, words: str) -> None:
    x, asked = drawn(2, 40, dim), np.arange(40)
    given: dict[str, Any] = {"x": x, "positions": asked, "base": 10_000.0, "layout": "half"}
    assert words in said(turned(x, asked, powers(padded)[: dim // 2]), "rope", **given)


def test_another_base_is_not_told_as_of_a_padded_head() -> None:
    x, asked = drawn(2, 40, 64), np.arange(40)
    given: dict[str, Any] = {"x": x, "positions": asked, "base": 10_000.0, "layout": "half"}
    for base in (1000.0, 500_000.0):
        words = said(turned(x, asked, powers(64, base)), "rope", **given)
        assert f"matches base {base:.0f}; 10000 was asked for" in words


LLAMA: dict[str, Any] = {
    "base": 5e5,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}


@pytest.mark.parametrize("name", ["low_freq_factor", "high_freq_factor"])
def test_a_step_for_a_ramp_is_not_told_as_bounds_swapped_alone(name: str) -> None:
    omega = powers(128, 5e5)
    step = np.where(2 * np.pi / omega > 8192 / LLAMA[name], omega / 8, omega)
    words = said(step, "llama3_frequencies", rotary_dim=128, **LLAMA)
    assert f"matches a step at {name}, no ramp" in words
    assert "or smoothing left out" in words


YARN: dict[str, Any] = {
    "base": 5e5,
    "factor": 8.0,
    "original_max_position_embeddings": 8192,
    "beta_fast": 32.0,
    "beta_slow": 1.0,
}


def yarn(base_of_ramp: float, fast: float = 32.0) -> Array:
    low, high = (
        128 * np.log(8192 / (turns * 2 * np.pi)) / (2 * np.log(base_of_ramp))
        for turns in (fast, 1.0)
    )
    low, high = np.floor(low), np.ceil(high)
    share = np.clip((np.arange(64) - low) / (high - low), 0, 1)
    return np.asarray(powers(128, 5e5) * (1 - share + share / 8))


def test_a_ramp_of_the_usual_base_is_told() -> None:
    words = "bounds of the ramp computed with base 10000, not with the base given"
    assert words in said(yarn(10_000.0), "yarn_frequencies", rotary_dim=128, **YARN)
    right = np.asarray(yarn(5e5), np.float32)
    assert check(right, "yarn_frequencies", rotary_dim=128, **YARN).worst <= 1
    near = said(yarn(5e5, fast=16.0), "yarn_frequencies", rotary_dim=128, **YARN)
    assert words not in near
    x, asked = drawn(2, 40, 128), np.arange(40)
    rotated = (0.1 * np.log(8) + 1) * turned(x, asked, yarn(10_000.0))
    assert words in said(rotated, "yarn", x=x, positions=asked, layout="half", **YARN)


def test_axes_on_a_square_have_both_words() -> None:
    given: dict[str, Any] = {"height": 7, "width": 7, "dim": 64, "base": 10_000.0}
    with pytest.raises(AssertionError) as wrong:
        check(
            expected("sincos_2d", **given, first_axis="row", dtype="float32"), "sincos_2d", **given
        )
    first, second, *_ = str(wrong.value).splitlines()
    assert "matches the row in the first half" in first
    assert "matches cells numbered column by column" in second
    given |= {"width": 10}
    cells = expected("sincos_2d", **given).reshape(7, 10, 64).swapaxes(0, 1).reshape(70, 64)
    assert "matches cells numbered column by column" in said(cells, "sincos_2d", **given)


def seconds(result: Array, call: str, **given: Any) -> float:
    start = process_time()
    said(result, call, **given)
    return process_time() - start


@pytest.mark.slow
def test_what_has_no_name_is_told_soon() -> None:
    x, asked = drawn(8, 256, 128), np.arange(256)
    given: dict[str, Any] = {
        "positions": asked,
        "base": 10_000.0,
        "scale_base": 512.0,
        "downscale": 0,
    }
    given |= {"layout": "half", "x": x}
    wrong = (1 + 0.001 * asked)[:, None] * expected("xpos", **given)
    assert seconds(wrong, "xpos", **given) < 4
    q, k = drawn(2, 80, 64), drawn(2, 80, 64, seed=1)
    given = {"q": q, "k": k, "chunk_size": 32, "local_size": 8, "base": 10_000.0, "layout": "half"}
    right = expected("dual_chunk_scores", **given)
    wrong = right * (1 + 0.01 * drawn(*right.shape, seed=3))
    assert seconds(wrong, "dual_chunk_scores", **given) < 4
