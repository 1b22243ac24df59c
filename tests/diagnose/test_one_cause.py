"""Mistakes with one cause: half a head, another order of rows, other slopes or buckets."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from posenc_conformance import check, expected
from posenc_conformance.judge.arrays import Array

ROWS, DIM = 96, 64
PLACES = np.arange(ROWS)
X = np.random.default_rng(5).standard_normal((2, 1, ROWS, DIM))
DTYPES = [np.float32, ml_dtypes.bfloat16]
FREQUENCIES = 10_000.0 ** -(np.arange(DIM // 2) / (DIM // 2))


def turned(x: Array, places: Any = PLACES, layout: str = "half") -> Any:
    return expected("rope", x=x, positions=places, base=10_000.0, layout=layout)


def said(result: Any, call: str, **given: Any) -> str:
    with pytest.raises(AssertionError) as wrong:
        check(result, call, **given)
    return str(wrong.value).splitlines()[0]


def rope(result: Array, dtype: Any, layout: str = "half", places: Any = PLACES) -> str:
    given: dict[str, Any] = {"x": X.astype(dtype), "positions": places, "base": 10_000.0}
    assert check(
        turned(X.astype(dtype), places, layout).astype(dtype), "rope", layout=layout, **given
    )
    return said(result.astype(dtype), "rope", layout=layout, **given)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize(
    ("part", "words"),
    [
        (slice(0, 32), "only the first 32 channels of each head are turned, like a head of 32"),
        (slice(32, 64), "only the last 32 channels of each head are turned, like a head of 32"),
        (slice(0, 48), "only the first 48 channels of each head are turned, like a head of 48"),
        (slice(16, 64), "only the last 48 channels of each head are turned, like a head of 48"),
    ],
)
def test_a_part_of_a_head_turned_as_a_whole_is_told(
    part: slice, words: str, layout: str, dtype: Any
) -> None:
    result = X.astype(dtype).astype(float)
    result[..., part] = turned(result[..., part], layout=layout)
    if (part.stop, layout, dtype) == (32, "interleaved", ml_dtypes.bfloat16):
        words = "exponent-doubled"  # the same pairs, and slower ones that no bfloat16 sees
    assert words in rope(result, dtype, layout)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("turning", "words"),
    [
        (slice(0, 16), "pairs are not turned from pair 16 on"),
        (slice(16, 32), "pairs are not turned up to pair 15"),
        (slice(0, 32, 2), "every second pair is not turned, from pair 1 on"),
        (slice(1, 32, 2), "every second pair is not turned, from pair 0 on"),
    ],
)
def test_pairs_that_are_left_as_they_were_are_told(turning: slice, words: str, dtype: Any) -> None:
    result, whole = X.astype(dtype).astype(float), turned(X.astype(dtype))
    for member in (0, DIM // 2):
        own = np.arange(DIM // 2)[turning] + member
        result[..., own] = whole[..., own]
    assert words in rope(result, dtype)


def test_a_part_that_was_asked_for_is_right() -> None:
    x = X.astype(np.float32)
    given: dict[str, Any] = {"x": x, "positions": PLACES, "base": 10_000.0, "layout": "half"}
    result = x.copy()
    result[..., :32] = turned(x[..., :32])
    assert check(result, "rope", rotary_dim=32, rotation="partial", **given).worst <= 1
    quarter = x.copy()
    quarter[..., :16] = turned(x[..., :16])
    words = said(quarter, "rope", rotary_dim=32, rotation="partial", **given)
    assert "only the first 16 channels of each head are turned, like a head of 16" in words


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("start", [0, 300, 1000])
def test_positions_that_are_late_and_then_rounded_have_both_names(dtype: Any, start: int) -> None:
    """Of few rows, rounding alone explains those whose rounded positions are the right ones."""
    places = start + PLACES
    rounded = (places + 1).astype(ml_dtypes.bfloat16).astype(int)
    name = "[positions-shifted" + "+low-precision-angles" * bool(start)
    assert name in rope(turned(X.astype(dtype), rounded), dtype, places=places)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [48, ROWS])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda x, places: turned(x, places)[..., ::-1, :], "mirror image from the end"),
        (
            lambda x, places: turned(x[..., ::-1, :], places),
            "x is read in reverse along the n axis",
        ),
        (lambda x, places: turned(x, places[::-1]), "positions are read in reverse"),
        (lambda x, places: np.roll(turned(x, places), 1, axis=-2), "values of the one before it"),
    ],
    ids=["result", "rows", "positions", "moved on"],
)
def test_another_order_of_rows_is_told(change: Any, words: str, rows: int, dtype: Any) -> None:
    x, places = X[..., :rows, :].astype(dtype), PLACES[:rows]
    given: dict[str, Any] = {"x": x, "positions": places, "base": 10_000.0, "layout": "half"}
    assert words in said(change(x, places).astype(dtype), "rope", **given)


@pytest.mark.parametrize("rows", [48, ROWS])
def test_keys_in_reverse_order_are_told_beside_right_queries(rows: int) -> None:
    q, k = X[0, :, :rows].astype(np.float32), X[1, :, :rows].astype(np.float32)
    given: dict[str, Any] = {"q": q, "k": k, "positions": PLACES[:rows], "base": 10_000.0}
    right = turned(q, PLACES[:rows]).astype(np.float32), turned(k, PLACES[:rows]).astype(np.float32)
    assert check(right, "rope_query_key", layout="half", **given).worst <= 1
    result = right[0], right[1][:, ::-1]
    words = said(result, "rope_query_key", layout="half", **given)
    assert "keys alone are wrong: every position has the values of its mirror image" in words


MEMBERS = {
    "half": (np.arange(DIM // 2), np.arange(DIM // 2) + DIM // 2),
    "interleaved": (2 * np.arange(DIM // 2), 2 * np.arange(DIM // 2) + 1),
}


def converted(x: Array, sign: int, read: str, written: str) -> Array:
    """Turn pairs read in one layout and write them in another; 0 turns none."""
    angle = sign * np.outer(PLACES, FREQUENCIES)
    out, (first, second) = np.empty_like(x), (x[..., each] for each in MEMBERS[read])
    out[..., MEMBERS[written][0]] = first * np.cos(angle) - second * np.sin(angle)
    out[..., MEMBERS[written][1]] = first * np.sin(angle) + second * np.cos(angle)
    return out


@pytest.mark.parametrize(
    ("call", "made", "name"),
    [
        ("rope", (1, "interleaved", "half"), ""),
        ("rope", (0, "interleaved", "half"), "unrotated"),
        ("rope_vjp", (-1, "half", "interleaved"), ""),
        ("rope_vjp", (-1, "interleaved", "half"), "backward-layout-not-reversed"),
        ("rope_vjp", (-1, "half", "half"), "backward-layout-not-reversed"),
        ("rope_vjp", (1, "half", "interleaved"), "backward-is-forward"),
        ("rope_vjp", (1, "interleaved", "half"), "backward-is-forward"),
        ("rope_vjp", (0, "half", "interleaved"), "backward-unrotated"),
        ("rope_vjp", (0, "interleaved", "half"), "backward-unrotated"),
    ],
)
def test_a_conversion_and_its_backward_pass_have_their_names(
    call: str, made: tuple[int, str, str], name: str
) -> None:
    x = X.astype(np.float32)
    result = converted(x.astype(np.float64), *made).astype(np.float32)
    given: dict[str, Any] = {"x": x, "positions": PLACES, "base": 10_000.0}
    if name:
        assert f"[{name};" in said(result, call, layout="interleaved-to-half", **given)
    else:
        assert check(result, call, layout="interleaved-to-half", **given).worst <= 1


def slopes(count: int) -> Any:
    return 2.0 ** (-8 * np.arange(1, count + 1) / count)


@pytest.mark.parametrize("bias", [False, True], ids=["slopes", "bias"])
@pytest.mark.parametrize(
    ("heads", "made", "words"),
    [
        (
            12,
            np.append(slopes(8), slopes(16)[1::2][:4]),
            "every second slope of 16 heads from the se",
        ),
        (
            6,
            np.append(slopes(4), slopes(8)[1::2][:2]),
            "every second slope of 8 heads from the second",
        ),
        (8, slopes(16)[0::2], "every second one of 2^(-8h/n) for 16 heads, from the first on"),
        (12, slopes(24)[0::2], "every second one of 2^(-8h/n) for 24 heads, from the first on"),
        (12, expected("alibi_slopes", heads=24)[1::2], "slopes of 24 heads, from the second on"),
    ],
)
def test_every_second_slope_of_other_heads_has_a_name(
    heads: int, made: Any, words: str, bias: bool
) -> None:
    call = "alibi_slopes"
    sizes: dict[str, Any] = {"heads": heads}
    right = expected("alibi_slopes", heads=heads)
    result = made
    if bias:
        call, sizes = "alibi_bias", {"heads": heads, "q_len": 5, "k_len": 7}
        whole = expected("alibi_bias", form="first-key", **sizes)
        result = whole * (made / right)[:, None, None]
    form = {"form": "first-key"} if bias else {}
    first = said(result.astype(np.float32), call, **sizes, **form)
    assert words in first
    assert "slopes-spread-wrongly;" in first


def test_every_second_slope_of_twice_a_power_of_two_is_right() -> None:
    for heads in (4, 8, 16):
        assert check(slopes(2 * heads)[1::2].astype(np.float32), "alibi_slopes", heads=heads)


@pytest.mark.parametrize("direction", ["bidirectional", "causal"])
@pytest.mark.parametrize("other", [16, 64, 24])
def test_another_number_of_buckets_is_told(direction: str, other: int) -> None:
    asked: dict[str, Any] = {"max_distance": 128, "direction": direction}
    lags = np.arange(-60, 61)
    made = expected("t5_bucket", relative_position=lags, num_buckets=other, **asked)
    words = f"buckets of a table of {other}"
    known = other != 24
    first = said(made, "t5_bucket", relative_position=lags, num_buckets=32, **asked)
    assert (words in first) == known
    table = np.random.default_rng(1).standard_normal((32, 3)).astype(np.float32)
    lag = np.arange(50) - np.arange(50)[:, None]
    rows = expected("t5_bucket", relative_position=lag, num_buckets=other, **asked)
    if other < 32:
        bias = np.moveaxis(table[rows], -1, 0)
        first = said(bias, "t5_bias", table=table, q_len=50, k_len=50, **asked)
        assert (words in first) == known
