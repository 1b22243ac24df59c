"""Pictures of results: the marked cells are those that are wrong, and no others."""

import json
import re
import sys
from collections.abc import Callable
from itertools import pairwise
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from posenc_conformance import check, expected, show
from posenc_conformance.pictures.picture import (
    HIDDEN,
    MOST,
    RIGHT,
    Lines,
    Map,
    Picture,
    Series,
    from_plain,
    line,
    map_errors,
    to_plain,
)
from posenc_conformance.pictures.strip import ASCII, BLOCKS, strips
from posenc_conformance.pictures.svg import PLAIN, SEEN, STYLE, WRONG, describe, draw

X = np.random.default_rng(58).standard_normal((3, 16, 32)).astype(np.float32)
PLACES = np.arange(16)
ASKED: dict[str, Any] = {"x": X, "positions": PLACES, "base": 10000.0}
TOLD = re.compile(r"https?://|url\(|<script|@import|href")


def rope(**other: Any) -> Any:
    return expected("rope", dtype="float32", **{**ASKED, **other})


def one_head() -> Any:
    return np.concatenate([rope()[:1], X[1:2], rope()[2:]])


def marked(picture: Picture) -> set[tuple[int, int]]:
    assert isinstance(picture, Map)
    return {
        (row, column)
        for row, cells in enumerate(picture.rows)
        for column, cell in enumerate(cells)
        if cell not in (RIGHT, HIDDEN)
    }


def wrong_cells(result: Any) -> set[tuple[int, int]]:
    """Return the cells with an error that no rounding explains, told without the kit's bounds."""
    off = np.abs(np.asarray(result, np.float64) - expected("rope", **ASKED)) > 1e-5
    return {(int(row), int(column)) for row, column in np.argwhere(off.reshape(48, 32))}


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(lambda: rope(base=20000.0), id="base"),
        pytest.param(lambda: rope(positions=np.where(PLACES == 9, 8, PLACES)), id="stale-row"),
        pytest.param(one_head, id="one-head"),
        pytest.param(lambda: rope(positions=PLACES + 1), id="one-further"),
        pytest.param(lambda: rope(layout="half"), id="layout"),
    ],
)
def test_wrong_cells_are_marked_and_no_others(wrong: Callable[[], Any]) -> None:
    result = wrong()
    cells = marked(show(result, "rope", layout="interleaved", **ASKED).pictures[0])
    assert cells
    missed = wrong_cells(result) - cells
    assert not missed
    rows = {row for row, _ in wrong_cells(result)}
    assert {row for row, _ in cells} <= rows


def test_a_right_result_has_no_marked_cell() -> None:
    errors, frequencies = show(rope(), "rope", **ASKED).pictures
    assert not marked(errors)
    assert isinstance(frequencies, Lines)
    asked, found = frequencies.series
    # The slowest pair turns by 0.0027 up to row 15, which float32 rounds by 2e-5 of it each time.
    assert np.allclose(asked.points, found.points, rtol=1e-4)


def test_frequencies_show_another_base() -> None:
    _, frequencies, *_ = show(rope(base=500.0), "rope", **ASKED).pictures
    assert isinstance(frequencies, Lines)
    _, found = frequencies.series
    # Here it turns by 0.044, which float32 rounds by 1.4e-6 of it each time.
    assert found.points[-1][1] == pytest.approx(500.0 ** (-30 / 32), rel=1e-5)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [({"layout": "half"}, "(in the half layout)"), ({"positions": -PLACES}, "some turning back")],
)
def test_frequencies_tell_another_layout_and_direction(wrong: Any, words: str) -> None:
    frequencies = show(rope(**wrong), "rope", layout="interleaved", **ASKED).pictures[1]
    assert isinstance(frequencies, Lines)
    assert words in f"{frequencies.title} {frequencies.series[1].name}"


def test_rows_show_the_one_that_is_stale() -> None:
    stale = rope(positions=np.where(PLACES == 9, 8, PLACES))
    rows = show(stale, "rope", **ASKED).pictures[-1]
    assert isinstance(rows, Lines)
    assert [x for x, off in rows.series[1].points if off] == [9]


def test_a_bias_shows_the_head_that_is_wrong_as_got_and_as_expected() -> None:
    asked: dict[str, Any] = {"heads": 4, "q_len": 8, "k_len": 8}
    bias = expected("alibi_bias", dtype="float32", **asked)
    bias[2] *= 2
    errors, got, right = show(bias, "alibi_bias", **asked).pictures
    assert {row // 8 for row, _ in marked(errors)} == {2}
    assert isinstance(got, Map)
    assert isinstance(right, Map)
    assert "head 2, got" in got.title
    assert (got.low, got.high) == (right.low, right.high)
    assert got.rows != right.rows


def test_a_cell_of_many_values_shows_a_single_wrong_one() -> None:
    ratio = np.zeros((2, 500, 300))
    ratio[1, 377, 131] = 3.0
    picture = map_errors(
        "t", ratio, np.ones_like(ratio, bool), ("r", "c"), (range(500), range(300))
    )
    assert len(picture.rows) <= MOST
    assert len(picture.rows[0]) == MOST
    ((row, column),) = marked(picture)
    assert row == 32 + next(n for n in range(32) if (n + 1) * 500 // 32 > 377)
    assert column * 300 // 64 <= 131 < (column + 1) * 300 // 64
    assert "each cell the largest of several" in draw(picture)


def test_a_value_that_is_not_judged_is_never_marked() -> None:
    ratio = np.full((1, 2, 2), np.inf)
    judged = np.array([[[True, False], [False, False]]])
    assert marked(map_errors("t", ratio, judged, ("r", "c"), ((), ()))) == {(0, 0)}


PICTURES = [
    *show(one_head(), "rope", **ASKED).pictures,
    *show(rope(), "rope", **ASKED).pictures,
    Lines("<&>", "x", "y", (Series("nothing", ()), line("nan", [1, 2], [np.nan, 0.0])), "xy"),
]


@pytest.mark.parametrize("picture", PICTURES)
def test_a_picture_stands_alone(picture: Picture) -> None:
    svg = draw(picture)
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img"
    assert all(root.find(f"{{*}}{name}") is not None for name in ("title", "desc"))
    assert not TOLD.search(svg.replace('xmlns="http://www.w3.org/2000/svg"', ""))
    assert from_plain(json.loads(json.dumps(to_plain(picture)))) == picture


def grey(colour: str) -> float:
    """Return the relative luminance of a colour."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return sum(part * share for part, share in zip(linear, (0.2126, 0.7152, 0.0722), strict=True))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_shades_survive_grey(theme: str) -> None:
    assert "prefers-color-scheme:dark" in STYLE
    right, paper = grey(PLAIN[theme]["right"]), grey(PLAIN[theme]["paper"])
    for shades in ((PLAIN[theme]["right"], *WRONG[theme]), SEEN[theme]):
        assert all(colour in STYLE for colour in shades)
        steps = [grey(colour) + 0.05 for colour in shades]
        ordered = sorted(steps, reverse=theme == "light")
        assert steps == ordered
        assert all(max(a / b, b / a) > 1.3 for a, b in pairwise(steps))
    assert right != paper


def test_a_map_of_float64_tells_large_errors_from_small_ones() -> None:
    asked = {**ASKED, "x": X.astype(np.float64)}
    picture = show(expected("rope", **{**asked, "base": 500.0}), "rope", **asked).pictures[0]
    assert isinstance(picture, Map)
    assert picture.low > 0
    assert len({*"".join(picture.rows)} - {RIGHT, HIDDEN}) > 8
    drawn = draw(picture)
    assert len(set(re.findall(r'class="(w\d)"', drawn))) == len(WRONG["light"])


def test_levels_start_at_one_bound_where_they_reach_the_largest_error() -> None:
    ratio = np.array([[[0.5, 1.5, 3.0, 2.0**35, np.inf]]])
    picture = map_errors("", ratio, ratio > 0, ("", ""), ([0], [*range(5)]))
    assert (picture.rows, picture.low) == ((".12zz",), 0)
    shifted = map_errors("", ratio * 2, ratio > 0, ("", ""), ([0], [*range(5)]))
    assert (shifted.rows, shifted.low) == ((".12zz",), 1)


def test_a_failure_has_a_strip_where_it_tells_more() -> None:
    with pytest.raises(AssertionError) as raised:
        check(rope(positions=np.where(PLACES == 9, 8, PLACES)), "rope", **ASKED)
    text = str(raised.value)
    strip = next(words for words in text.splitlines() if words.startswith("by position"))
    marks = strip.split()[2]
    assert [n for n, mark in enumerate(marks) if mark not in (BLOCKS[0], ASCII[0])] == [9]
    assert "by head" not in text
    with pytest.raises(AssertionError) as everywhere:
        check(X + 1, "rope", **ASKED)
    assert "by head" not in str(everywhere.value)


def test_a_strip_has_a_mark_for_each_head() -> None:
    with pytest.raises(AssertionError) as raised:
        check(one_head(), "rope", **ASKED)
    strip = next(words for words in str(raised.value).splitlines() if words.startswith("by head"))
    marks = strip.split()[2]
    assert len(marks) == len(X)
    assert [n for n, mark in enumerate(marks) if mark not in (BLOCKS[0], ASCII[0])] == [1]


def test_a_text_says_where_lines_are_farthest_apart() -> None:
    asked = line("asked", range(3), [3.0, 2.0, 1.0])
    right = Lines("", "pair", "frequency", (asked, line("found", range(3), [3.0, 2.0, 1.0])))
    wrong = Lines("", "pair", "frequency", (asked, line("found", range(3), [3.0, 2.0, 0.25])))
    assert describe(right).endswith("they are the same.")
    assert describe(wrong).endswith("farthest apart at pair 2: 0.25 where 1 is asked.")


def test_a_strip_is_ascii_where_the_terminal_has_no_more(monkeypatch: Any) -> None:
    picture = show(one_head(), "rope", **ASKED).pictures[0]
    assert isinstance(picture, Map)
    for encoding, marks in (("utf-8", BLOCKS), ("latin-1", ASCII), ("unknown", ASCII)):
        terminal = ModuleType("terminal")
        vars(terminal)["encoding"] = encoding
        monkeypatch.setattr(sys, "__stdout__", terminal)
        assert set(strips(picture)[0].split()[2]) <= set(marks)
    monkeypatch.setattr(sys, "__stdout__", None)
    assert "".join(strips(picture)).isascii()


def test_a_notebook_shows_a_failure_with_its_pictures(monkeypatch: Any) -> None:
    """IPython asks for the lines of an error twice: to show them, and for its history."""
    shown: list[dict[str, str]] = []
    notebook = ModuleType("IPython.display")
    vars(notebook)["display"] = lambda forms, raw: shown.append(forms)
    monkeypatch.setitem(sys.modules, "IPython.display", notebook)
    with pytest.raises(AssertionError) as raised:
        check(one_head(), "rope", **ASKED)
    error: Any = raised.value
    for _ in range(2):
        (line,) = error._render_traceback_()
        assert line == f"AssertionError: {str(error).splitlines()[0]}"
    (forms,) = shown
    assert forms == {"text/plain": str(error), "text/html": error._repr_html_()}
    assert forms["text/html"].count('role="img"') == 2


def test_what_is_right_shows_itself_in_a_sentence() -> None:
    agreement: Any = check(rope(), "rope", **ASKED)
    assert "right: 1536 values compared" in agreement._repr_html_()
    right: Any = show(rope(), "rope", **ASKED)
    assert "0 of 1536 values" in right._repr_html_()
    assert "no cell is wrong" in repr(right)
    assert len(right.svg) == len(right.pictures)


def test_a_batch_shows_its_worst_sequence() -> None:
    both = np.stack([rope(), one_head()])
    asked = {**ASKED, "x": np.stack([X, X]), "positions": np.stack([PLACES, PLACES])}
    wrong = show(both, "rope", **asked)
    assert wrong.text.startswith("sequence 1 of 2")
    assert marked(wrong.pictures[0])


def test_a_matrix_of_buckets_has_rows_and_columns() -> None:
    buckets: dict[str, Any] = {
        "relative_position": np.eye(12, dtype=int),
        "num_buckets": 8,
        "max_distance": 16,
    }
    wrong = expected("t5_bucket", **buckets) + 1
    pictures = show(wrong, "t5_bucket", **buckets).pictures[0], show(X, "rope", **ASKED).pictures[0]
    assert [(each.down, each.across) for each in pictures if isinstance(each, Map)] == [
        ("row", "column"),
        ("position", "channel"),
    ]
