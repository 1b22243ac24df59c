"""Positions on several axes, and cells of grids, that are read wrongly are described in words."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from posenc_conformance import check, expected
from posenc_conformance.judge.arrays import Array

HEIGHT, WIDTH, DIM = 4, 7, 32
CELLS = np.arange(HEIGHT * WIDTH)
GRID = np.stack(np.divmod(CELLS, WIDTH))
X = np.random.default_rng(7).standard_normal((2, len(CELLS), DIM)).astype(np.float32)
TEXT = np.stack([np.arange(89, 89 + len(CELLS))] * 3)
IMAGE = np.stack([0 * CELLS, *GRID]) + 3
IN_BLOCKS = CELLS.reshape(HEIGHT // 2, 2, WIDTH)[:, :, ::-1].transpose(0, 2, 1).ravel()


def told(result: Any, call: str, **given: Any) -> str:
    with pytest.raises(AssertionError) as wrong:
        check(result, call, **given)
    return str(wrong.value).splitlines()[0]


def turned(asked: Array, used: Array, dtype: Any = np.float32) -> str:
    """Return what is said of rows turned at other positions, after right ones have passed."""
    call = "m_rope" if len(asked) == 3 else "rope_2d"
    x = X[:, : asked.shape[1]].astype(dtype)
    given: dict[str, Any] = {"x": x, "base": 10_000.0, "combination": "qwen2-vl"}
    if call == "m_rope":
        given["sections"] = (4, 6, 6)
    right = expected(call, positions=asked, **given).astype(dtype)
    assert check(right, call, positions=asked, **given).worst <= 1
    result = expected(call, positions=used, **given).astype(dtype)
    return told(result, call, positions=asked, **given)


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
@pytest.mark.parametrize(
    ("asked", "used", "words"),
    [
        (TEXT, TEXT + 90, "every row stands 90 later than it should, on all axes"),
        (TEXT, TEXT - 16, "every row stands 16 earlier than it should, on all axes"),
        (TEXT[:, :1], TEXT[:, :1] + 90, "is turned as at positions 179, 179, 179; asked for 89"),
        (TEXT, TEXT - 89, "positions shifted by -89"),
        (IMAGE, np.stack([CELLS] * 3), "all axes have the number of the row"),
        (IMAGE, np.stack([CELLS] * 3) + 3, "all axes count on from the first position"),
        (IMAGE, IMAGE - 3, "positions shifted by -3"),
        (GRID, np.stack([CELLS, CELLS]), "all axes have the number of the row"),
        (GRID, np.stack(np.divmod(CELLS, HEIGHT)), "i // height and i % height"),
        (GRID, np.stack(np.divmod(CELLS, HEIGHT)[::-1]), "count column by column"),
        (GRID, np.stack(np.divmod(CELLS + 1, WIDTH)), "those of the next cell"),
        (GRID[:, IN_BLOCKS], GRID, "count row by row, whatever the order of the rows"),
    ],
)
def test_places_on_axes_are_told(asked: Array, used: Array, words: str, dtype: Any) -> None:
    assert words in turned(asked, used, dtype)


def test_one_row_of_queries_and_keys_is_told() -> None:
    q, k = X[:, :1], X[:1, 1:2]
    weight = np.ones(DIM, np.float32)
    given: dict[str, Any] = {"q": q, "k": k, "q_weight": weight, "k_weight": weight}
    given |= {"eps": 1e-6, "base": 10_000.0, "layout": "half"}
    right = expected("qk_norm_rope", dtype="float32", positions=[10], **given)
    assert check(right, "qk_norm_rope", positions=[10], **given).worst <= 1
    said = told(right, "qk_norm_rope", positions=[9], **given)
    assert "the row stands at position 10, not at 9" in said


def test_a_square_of_as_many_cells_is_told() -> None:
    given: dict[str, Any] = {"dim": 32, "base": 10_000.0}
    square = expected("sincos_2d", dtype="float32", height=8, width=8, **given)
    assert check(square, "sincos_2d", height=8, width=8, **given).worst <= 1
    assert "grid of a square, 8 x 8" in told(square, "sincos_2d", height=4, width=16, **given)


def test_a_learned_grid_that_is_misread_is_told() -> None:
    table = np.random.default_rng(2).standard_normal((1 + 49, 6)).astype(np.float32)
    given: dict[str, Any] = {"height": 5, "width": 8, "resampling": "bicubic", "class_tokens": 1}
    right = expected("learned_grid", dtype="float32", table=table, **given)
    assert check(right, "learned_grid", table=table, **given).worst <= 1
    viewed = np.concatenate([table[:1], table[1:].reshape(6, 49).T])
    counted = np.concatenate([table[:1], table[:49]])
    for other, words in ((viewed, "viewed as channels"), (counted, "counted as cells")):
        result = expected("learned_grid", dtype="float32", table=other, **given)
        assert words in told(result, "learned_grid", table=table, **given)


def test_coordinates_that_are_not_normalized_are_told() -> None:
    given: dict[str, Any] = {"x": X, "height": HEIGHT, "width": WIDTH, "base": 100.0}
    omega = 100.0 ** -(np.arange(DIM // 4) / (DIM // 4))
    angles = 2 * np.pi * np.concatenate([np.outer(axis, omega) for axis in GRID], axis=-1)
    first, second = np.split(X.astype(float), 2, axis=-1)
    cos, sin = np.cos(angles), np.sin(angles)
    result = np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1)
    said = told(result.astype(np.float32), "rope_2d_image", combination="dinov3", **given)
    assert "counted from 0, not from -1 to 1" in said


@pytest.mark.parametrize("odd", ["uneven", "cut", "zero"])
@pytest.mark.parametrize("more", [{}, {"layout": "interleaved", "denominator": "d/2"}])
def test_an_option_needs_no_name_of_a_combination(odd: str, more: dict[str, Any]) -> None:
    given: dict[str, Any] = {"positions": range(9), "dim": 7, "base": 10_000.0, "odd_dim": odd}
    result = expected("sinusoidal", dtype="float32", combination="paper", **given)
    assert check(result, "sinusoidal", **given, **more).worst <= 1
    other = given | {"odd_dim": "cut" if odd == "uneven" else "uneven"}
    told(result, "sinusoidal", **other, **more)


@pytest.mark.parametrize("cut", [True, False])
def test_a_stride_of_the_height_is_told_cut_or_wrapped(cut: bool) -> None:
    table = np.random.default_rng(3).standard_normal((13 * 9, 2)).astype(np.float32)
    right = expected("relative_table_2d_rows", height=7, width=5)
    given: dict[str, Any] = {"table": table, "height": 7, "width": 5}
    result = np.moveaxis(table[right.astype(int)], -1, 0)
    assert check(result, "relative_table_2d", **given).worst <= 1
    down, across = np.divmod(right.astype(int), 9)
    rows = down * 13 + across
    rows = np.minimum(rows, len(table) - 1) if cut else rows % len(table)
    said = told(np.moveaxis(table[rows], -1, 0), "relative_table_2d", **given)
    assert "matches 13 rows between offsets" in said
    assert ("cut at the table's end" in said) == cut
