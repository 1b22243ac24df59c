"""In a short dtype a mistake has its name, is described, or is left open, but has no other name."""

import math
from typing import Any

import numpy as np
import pytest

import posenc
from posenc_conformance import check
from posenc_conformance.judge.arrays import DTYPES, Array

ROWS, DIM = 128, 64
X = np.random.default_rng(0).standard_normal((2, ROWS, DIM))
PAIRS = np.arange(DIM // 2)


def told(result: Array, call: str, dtype: str, **given: Any) -> str:
    """Return the first line about a result in a dtype; empty if it is right."""
    x = X.astype(DTYPES[dtype])
    try:
        check(result.astype(x.dtype), call, x=x, layout="half", **given)
    except AssertionError as wrong:
        return str(wrong).splitlines()[0]
    return ""


def turned(places: Array, omega: Array, dtype: str, tables: str = "float32") -> Array:
    """Turn halves by tables of float32, or of a shorter dtype."""
    x = X.astype(DTYPES[dtype]).astype(np.float32)
    angles = (places[:, None] * omega).astype(np.float32)
    cos, sin = (f(angles).astype(DTYPES[tables]).astype(np.float32) for f in (np.cos, np.sin))
    one, two = np.split(x, 2, axis=-1)
    return np.concatenate([one * cos - two * sin, two * cos + one * sin], axis=-1)


@pytest.mark.parametrize("tables", ["float32", "bfloat16"])
@pytest.mark.parametrize("first", [0, 500])
@pytest.mark.parametrize("base", [10_100, 11_000, 12_345, 20_000])
def test_an_odd_base_of_rope(base: int, first: int, tables: str) -> None:
    places = first + np.arange(ROWS)
    result = turned(places, base ** -(PAIRS / len(PAIRS)), "bfloat16", tables)
    words = told(result, "rope", "bfloat16", positions=places, base=10_000.0)
    assert words.startswith(f"matches base {base}; 10000 was asked for [wrong-base")
    right = turned(places, 10_000.0 ** -(PAIRS / len(PAIRS)), "bfloat16")
    assert not told(right, "rope", "bfloat16", positions=places, base=10_000.0)


LONG: dict[str, Any] = {"factor": 2.0, "original_max_position_embeddings": 5000}


def dynamic(places: Array, dtype: str, **given: Any) -> Array:
    x = X.astype(DTYPES[dtype]).astype(np.float64)
    return posenc.dynamic_ntk(x, places, layout="half", **LONG, **given)


@pytest.mark.parametrize("length", [12_000, 20_000])
@pytest.mark.parametrize("first", [0, 500])
def test_a_kept_length_is_no_other_base(length: int, first: int) -> None:
    places = first + np.arange(ROWS)
    result = dynamic(places, "bfloat16", base=1e4, length=length)
    asked = {"positions": places, "base": 1e4, "length": 16_384, **LONG}
    words = told(result, "dynamic_ntk", "bfloat16", **asked)
    assert "pair t turning at B^(-2t/d), with a base B of about" in words
    right = dynamic(places, "bfloat16", base=1e4, length=16_384)
    assert not told(right, "dynamic_ntk", "bfloat16", **asked)


def test_a_base_far_from_position_0() -> None:
    """Rows squared, at 268 million, would have a bound that holds for anything."""
    places = 16_378 + np.arange(ROWS)
    result = dynamic(places, "bfloat16", base=12_345.0, length=16_384)
    asked = {"positions": places, "base": 100.0, "length": 16_384, **LONG}
    words = told(result, "dynamic_ntk", "bfloat16", **asked)
    assert words.startswith("matches base 12345; 100 was asked for")


def test_numbers_that_leave_no_digit_are_not_said_to_be_exchanged() -> None:
    """With base and factor exchanged the stretch cancels, and its bound holds for anything."""
    long: dict[str, Any] = {"factor": 2.0, "original_max_position_embeddings": 32_768}
    places = 2484 + np.arange(ROWS)
    x = X.astype(np.float32).astype(np.float64)
    result = posenc.dynamic_ntk(x, places, base=5e5, length=131_072, layout="half", **long)
    asked = {"positions": places, "base": 5e5, "length": 16_384, **long}
    words = told(result, "dynamic_ntk", "float32", **asked)
    assert "or length is 131072, where 16384 is asked for" in words


def blended(places: Array, *, early: bool) -> Array:
    """Turn halves as YaRN does, with bounds of its ramp rounded before or after the division."""
    base, factor, length = 1000.0, 4.0, 32_768
    low, high = (DIM * math.log(length / (2 * math.pi * beta)) for beta in (16.0, 2.0))
    divisor = 2 * math.log(base)
    bounds = (math.floor(low) / divisor, math.ceil(high) / divisor)
    if not early:
        bounds = (math.floor(low / divisor), math.ceil(high / divisor))
    ramp = np.clip((PAIRS - bounds[0]) / (min(bounds[1], DIM - 1) - bounds[0]), 0, 1)
    plain = base ** -(PAIRS / len(PAIRS))
    scale = 0.1 * math.log(factor) + 1
    return scale * turned(places, plain / factor * ramp + plain * (1 - ramp), "bfloat16")


def test_of_two_mistakes_that_fit_the_nearer_is_named() -> None:
    """Whole numerators and no whole numbers at all leave nearly the same ramp."""
    places = 516 + np.arange(ROWS)
    asked: dict[str, Any] = {
        "positions": places,
        "base": 1000.0,
        "factor": 4.0,
        "original_max_position_embeddings": 32_768,
        "beta_fast": 16.0,
        "beta_slow": 2.0,
        "ramp": "index",
        "temperature": "scaled",
    }
    words = told(blended(places, early=True), "yarn", "bfloat16", **asked)
    assert "[bounds-rounded-early;" in words
    assert not told(blended(places, early=False), "yarn", "bfloat16", **asked)
