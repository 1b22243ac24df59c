"""Mistakes in scales, pairs and their frequencies that have no id, beside right results."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from posenc_conformance import check, claims, expected
from posenc_conformance.judge.arrays import Array
from posenc_lab.judging import diagnoses, judge

ROWS, DIM, START = 30, 32, 100
PLACES = START + np.arange(ROWS)
X = np.random.default_rng(8).standard_normal((2, ROWS, DIM)).astype(np.float32)
OMEGA = 10_000.0 ** -(np.arange(0, DIM, 2) / DIM)
ZETA = (np.arange(0, DIM, 2) / DIM + 0.4) / 1.4
ROPE: dict[str, Any] = {"x": X, "positions": PLACES, "base": 10_000.0, "layout": "half"}
XPOS: dict[str, Any] = {
    **{name: value for name, value in ROPE.items() if name != "layout"},
    "scale_base": 512.0,
    "downscale": 0,
    "combination": "lucidrains",
}
INEXACT = "inexact"


def said(result: Any, call: str, **given: Any) -> str:
    with pytest.raises(AssertionError) as wrong:
        check(np.asarray(result, np.float32), call, **given)
    return str(wrong.value).splitlines()[0]


def is_right(result: Any, call: str, **given: Any) -> bool:
    return bool(check(np.asarray(result, np.float32), call, **given).worst <= 1)


def interleaved(scale: Array, angles: Any = None) -> Array:
    angles = np.outer(PLACES, OMEGA) if angles is None else angles
    pairs = (X[..., ::2] + 1j * X[..., 1::2]) * np.exp(1j * angles) * scale
    return np.stack([pairs.real, pairs.imag], axis=-1).reshape(X.shape)


def halves(scale: Any = 1.0, angles: Any = None) -> Array:
    angles = np.outer(PLACES, OMEGA) if angles is None else angles
    pairs = (X[..., : DIM // 2] + 1j * X[..., DIM // 2 :]) * np.exp(1j * angles) * scale
    return np.concatenate([pairs.real, pairs.imag], axis=-1)


def xpos_scale(places: Array, length: int, base: float = 512.0) -> Array:
    return np.asarray(ZETA ** ((places - length // 2) / base)[:, None])


FROM_ZERO, LENGTH = np.arange(ROWS), START + ROWS


@pytest.mark.parametrize(
    ("places", "length", "words"),
    [
        (FROM_ZERO, ROWS, "the scale of rows counted from 0 in each call"),
        (FROM_ZERO, LENGTH, "the scale of the first rows of the table"),
        (PLACES, ROWS, "the scale whose centre is that of the rows of the call"),
    ],
)
def test_an_xpos_scale_of_other_rows_is_told(places: Array, length: int, words: str) -> None:
    assert words in said(interleaved(xpos_scale(places, length)), "xpos", **XPOS)
    assert is_right(interleaved(xpos_scale(PLACES, LENGTH)), "xpos", **XPOS)


STEPS = np.linspace(0, 0.01, ROWS)[:, None]
RANDOM = np.random.default_rng(9)


@pytest.mark.parametrize(
    ("scale", "more"),
    [
        (1 + STEPS, ", all pairs of a row alike"),
        (1 + np.linspace(0, 0.01, DIM // 2), ", in every row alike"),
        (1 + 0.01 * RANDOM.uniform(0, 1, (ROWS, DIM // 2)), ""),
    ],
    ids=["rows", "pairs", "both"],
)
def test_wrong_lengths_are_no_inexact_functions(scale: Array, more: str) -> None:
    words = said(halves(scale), "rope", **ROPE)
    assert f"times as long as they should be{more}: the scale is wrong" in words
    assert INEXACT not in words


def test_an_xpos_scale_of_another_base_is_told_by_lengths() -> None:
    result = interleaved(xpos_scale(PLACES, LENGTH, 400.0))
    assert "the scale is wrong, not the angles" in said(result, "xpos", **XPOS)


def test_a_wrong_frequency_is_no_inexact_function() -> None:
    off = np.where(np.arange(DIM // 2) == 9, 2e-5, 0.0)
    words = said(halves(angles=np.outer(PLACES, OMEGA + off)), "rope", **ROPE)
    assert "2e-05 radians per position: frequencies are wrong" in words or "turn at" in words
    assert INEXACT not in words
    one = {**ROPE, "x": X[:, :1], "positions": PLACES[:1]}
    assert INEXACT not in said(halves(angles=np.outer(PLACES, OMEGA + off))[:, :1], "rope", **one)


@pytest.mark.slow
def test_inexact_functions_stay_told() -> None:
    noise = RANDOM.uniform(-1e-3, 1e-3, (2, ROWS, DIM // 2))
    assert INEXACT in said(halves(angles=np.outer(PLACES, OMEGA) + noise[0]), "rope", **ROPE)
    rough = halves(1 + noise[1], np.outer(PLACES, OMEGA) + noise[0])
    assert INEXACT in said(rough, "rope", **ROPE)
    long = halves(1 + 10 * noise[1], np.outer(PLACES, OMEGA) + noise[0])
    assert INEXACT not in said(long, "rope", **ROPE)
    worse = np.where(PLACES[:, None] == PLACES[7], 0.3, noise[0])
    far = {**ROPE, "positions": 3 * PLACES}
    assert INEXACT not in said(halves(angles=np.outer(3 * PLACES, OMEGA) + worse), "rope", **far)
    assert is_right(halves(), "rope", **ROPE)


PAIRS = {
    "half": (slice(DIM // 2), slice(DIM // 2, None)),
    "interleaved": (slice(0, None, 2), slice(1, None, 2)),
}
LLAMA3 = {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
SCALED = [
    ("yarn", {"factor": 4.0, "original_max_position_embeddings": 64}),
    ("llama3", LLAMA3 | {"factor": 8.0, "original_max_position_embeddings": 64}),
    ("position_interpolation", {"factor": 4.0}),
]


@pytest.mark.parametrize(("call", "more"), SCALED, ids=[call for call, _ in SCALED])
@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_mixed_tables_of_scaled_rope_are_told(call: str, more: Any, layout: str) -> None:
    given = {**ROPE, **more, "layout": layout}
    one, two = PAIRS[layout]
    first = np.zeros_like(X[:1])
    first[..., one] = 1
    wave = expected(call, **{**given, "x": first})[0]
    cos, sin = wave[:, one], wave[:, two]
    for table, right in (
        (np.tile, "half"),
        (lambda each, n: np.repeat(each, n, -1), "interleaved"),
    ):
        c, s = (table(each, 2) for each in (cos, sin))
        turned = np.empty_like(X)
        turned[..., one], turned[..., two] = -X[..., two], X[..., one]
        result = X * c + turned * s
        if right == layout:
            assert is_right(result, call, **given)
        else:
            words = said(result, call, **given)
            assert f"with pairs of the {layout} layout" in words
            assert "angles tiled" in words or "angles repeated" in words


@pytest.mark.parametrize("rotated", [8, 16, 24])
def test_first_pairs_of_the_whole_head_are_told(rotated: int) -> None:
    given = {**ROPE, "rotary_dim": rotated, "rotation": "partial"}
    pairs = rotated // 2
    cos, sin = (wave(np.outer(PLACES, OMEGA[:pairs])) for wave in (np.cos, np.sin))
    result = X.astype(np.float64)
    a, b = X[..., :pairs], X[..., DIM // 2 : DIM // 2 + pairs]
    result[..., :pairs] = a * cos - b * sin
    result[..., DIM // 2 : DIM // 2 + pairs] = b * cos + a * sin
    assert "frequencies and partners of the whole head" in said(result, "rope", **given)
    assert is_right(expected("rope", **given), "rope", **given)


def test_heads_turned_as_one_are_told() -> None:
    joined = X.swapaxes(0, 1).reshape(ROWS, -1)
    result = expected("rope", **{**ROPE, "x": joined}).reshape(ROWS, 2, DIM).swapaxes(0, 1)
    assert "as one head of all their channels" in said(result, "rope", **ROPE)
    one = {**ROPE, "x": X[:1]}
    assert is_right(expected("rope", **{**ROPE, "x": X[0]})[None], "rope", **one)


def sinusoids(omega: Array) -> Array:
    angles = np.outer(PLACES, omega)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(ROWS, -1)


@pytest.mark.slow
def test_frequencies_in_equal_steps_are_told() -> None:
    given: dict[str, Any] = {"positions": PLACES, "dim": DIM, "base": 10_000.0}
    given["combination"] = "paper"
    words = said(sinusoids(np.arange(0, DIM, 2) * 1000 / DIM), "sinusoidal", **given)
    step = np.remainder(2000 / DIM + np.pi, 2 * np.pi) - np.pi
    assert f"pair t turns at {step:.6g}·t, or a multiple of 6.28319·t more" in words
    words = said(sinusoids(np.linspace(1, 1e-4, DIM // 2)), "sinusoidal", **given)
    assert "frequencies fall by equal steps, from 1 to 0.0001" in words
    assert "fall by equal steps" in said(
        halves(angles=np.outer(PLACES, np.linspace(1, 0.01, DIM // 2))), "rope", **ROPE
    )
    assert "equal steps" not in said(sinusoids(OMEGA**1.3), "sinusoidal", **given)
    assert is_right(sinusoids(OMEGA), "sinusoidal", **given)


@pytest.mark.parametrize("length", [12, 40])
def test_dynamic_scaling_of_short_texts_is_told(length: int) -> None:
    given = {**ROPE, "positions": np.arange(ROWS), "factor": 2.0, "length": length}
    given["original_max_position_embeddings"] = 32
    by = 2.0 * length / 32 - 1
    base = 10_000.0 * complex(by) ** (DIM / (DIM - 2))
    omega = (base ** -(np.arange(0, DIM, 2) / DIM)).real
    result = halves(angles=np.outer(np.arange(ROWS), omega))
    if length >= 32:
        assert is_right(result, "dynamic_ntk", **given)
    else:
        words = said(result, "dynamic_ntk", **given)
        assert "the formula of longer texts below the original length" in words


def test_spread_sections_are_told() -> None:
    places = np.stack([PLACES, FROM_ZERO, FROM_ZERO[::-1]])
    given: dict[str, Any] = {**ROPE, "positions": places, "combination": "qwen2-vl"}
    del given["layout"]
    given["sections"] = np.array([2, 1, 1])
    wide = {**given, "sections": 4 * given["sections"]}
    result = expected("m_rope", **wide)
    assert "sections 4 times as long, which fill the head" in said(result, "m_rope", **given)
    assert is_right(result, "m_rope", **wide)


class ShortCache:
    """A cache in bfloat16: positions, frequencies and angles are rounded."""

    @claims(layout="half", dtype="bfloat16", max_position=4095, base=10_000.0)
    def rope(self, x: Array, positions: Array) -> Array:
        short: Any = ml_dtypes.bfloat16
        omega = (10_000.0 ** -(np.arange(0, x.shape[-1], 2) / x.shape[-1])).astype(short)
        angles = np.outer(positions.astype(short), omega).astype(short).astype(float)
        cos, sin = (np.tile(wave(angles).astype(short), 2) for wave in (np.cos, np.sin))
        a, b = np.split(x, 2, axis=-1)
        return np.asarray(x * cos + np.concatenate([-b, a], axis=-1) * sin)


@pytest.mark.slow
def test_a_right_answer_that_a_mistake_explains_too_does_not_refute_it() -> None:
    assert diagnoses(judge(ShortCache(), ("smoke", "golden")))[:1] == ["low-precision-angles"]
