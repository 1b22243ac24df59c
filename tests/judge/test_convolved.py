"""The bound of a convolution in bfloat16 is far below its values, and above its rounding.

In float32 it is below the difference of two formulas of GELU.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from posenc_conformance import check
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.checks.smoke import smallest_case
from posenc_conformance.checks.variations import sizes_of
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import compare
from posenc_conformance.judge.subject import Subject
from posenc_lab.judging import schemes
from posenc_lab.miniatures import right
from posenc_lab.miniatures.styles import RIGHT, Array

assert right.__path__  # importing them fills the list

CONVOLUTIONS = ("conv_wav2vec2", "conv_hubert", "conv_data2vec", "conv_peg")
GARBAGE = 5.0
"""Least error, in units of the bound, of other numbers as large as the right ones."""
LOST = 10.0
"""Least error, in units of the bound, of a result without its convolution."""
ROUNDED = 0.5
"""Largest error, in units of the bound, of rounding each step to bfloat16, with sums in float32."""


def claiming(call: str) -> list[Subject]:
    """Return the right miniatures of a call in bfloat16."""
    claimed = (subject for made in RIGHT for subject in subjects(made(), schemes()))
    return [other for other in claimed if other.call.name == call and "bfloat16" in other.dtypes]


def cases(subject: Subject) -> list[Case]:
    """Return the smallest call in bfloat16, and calls of other sizes."""
    case = smallest_case(subject, "bfloat16")
    tried = [case, *(case.with_arguments(**change) for change in sizes_of(case))]
    return [candidate for candidate in tried if subject.covers(candidate)]


@pytest.mark.parametrize("call", ["conv_wav2vec2", "conv_peg"])
def test_a_convolution_that_is_lost_is_seen_in_bfloat16(call: str) -> None:
    for subject in claiming(call):
        for case in cases(subject):
            assert compare(case, np.asarray(case.arguments["x"])).worst > LOST


@pytest.mark.parametrize("call", ["conv_wav2vec2", "conv_peg"])
def test_sums_in_float32_are_far_within_the_bound_of_bfloat16(call: str) -> None:
    ratios = [
        compare(case, subject.run(case)).worst
        for subject in claiming(call)
        for case in cases(subject)
    ]
    assert ratios
    assert max(ratios) < ROUNDED


@pytest.mark.parametrize("call", CONVOLUTIONS)
def test_garbage_as_large_as_the_result_is_seen_in_bfloat16(call: str) -> None:
    """A bound of the size of the values would let anything pass."""
    for subject in claiming(call):
        for case in cases(subject):
            size = np.abs(case.truth).max()
            noise = np.random.default_rng(0).uniform(-size, size, case.shape)
            for garbage in (0 * case.truth, -case.truth, noise):
                assert compare(case, garbage).worst > GARBAGE
            assert np.all(case.bound < size / GARBAGE)


def arguments(call: str, dim: int, groups: int, kernel: int, level: float) -> dict[str, Any]:
    """Draw float32 inputs in the size of a layer in a user's test."""
    random = np.random.default_rng(4)

    def draw(*shape: int) -> Array:
        return random.standard_normal(shape).astype(np.float32)

    weights, channel = draw(dim, dim // groups, kernel), (dim,)
    shared = {"x": draw(20, dim), "bias": draw(*channel) / 4, "groups": groups}
    if call == "conv_wav2vec2":
        gains = np.float32(level) * (1 + np.abs(draw(kernel)))
        return shared | {"weight_v": weights, "weight_g": gains}
    weight = weights * np.float32(level / math.sqrt(weights[0].size))
    named = {name: draw(*channel) for name in ("mean", "gain", "shift")}
    return shared | named | {"weight": weight, "variance": np.abs(draw(*channel))}


def sum_one_by_one(rows: Array, weight: Array, bias: Array) -> Array:
    """Convolve term by term, from the bias on, each sum rounded to float32."""
    dim, width, kernel = weight.shape
    padded = np.pad(rows, [(kernel // 2, kernel), (0, 0)])[: len(rows) + kernel]
    first = np.arange(dim) // width * width
    z = np.broadcast_to(bias, rows.shape).copy()
    for tap in range(kernel):
        for member in range(width):
            z += weight[:, member, tap] * padded[tap : tap + len(rows), first + member]
    return z


def by_erf(z: Array) -> Array:
    erf = np.vectorize(math.erf, otypes=[np.float32])
    curve: Array = erf(z / np.float32(math.sqrt(2)))
    return np.asarray(z * np.float32(0.5) * (1 + curve))


def by_tanh(z: Array) -> Array:
    inner = np.float32(math.sqrt(2 / math.pi)) * (z + np.float32(0.044715) * z**3)
    return np.asarray(z * np.float32(0.5) * (1 + np.tanh(inner)))


def encode(call: str, activation: Callable[[Array], Array], values: dict[str, Any]) -> Array:
    """Return the result of a layer whose steps and sums are all rounded to float32."""
    x = rows = values["x"]
    if call == "conv_wav2vec2":
        weight = values["weight_v"]
        flat = np.square(weight).reshape(-1, weight.shape[-1])
        weight = weight * (values["weight_g"] / np.sqrt(np.cumsum(flat, axis=0)[-1]))
    else:
        weight = values["weight"]
        rows = (x - values["mean"]) / np.sqrt(values["variance"] + np.float32(1e-5))
        rows = rows * values["gain"] + values["shift"]
    out: Array = x + activation(sum_one_by_one(rows, weight, values["bias"]))
    assert out.dtype == np.float32
    return out


@pytest.mark.parametrize("call", ["conv_wav2vec2", "conv_hubert"])
def test_the_tanh_formula_is_named_in_layers_of_users(call: str) -> None:
    """The bound follows the slope of GELU, which is flat where the two formulas differ most."""
    name = "gelu-tanh" if call == "conv_wav2vec2" else "hubert-gelu-tanh"
    for sizes in ((16, 4, 16, 1.0), (64, 4, 16, 1.0), (96, 8, 31, 0.5)):
        values = arguments(call, *sizes)
        with pytest.raises(AssertionError, match=rf"\b{name}\b"):
            check(encode(call, by_tanh, values), call, **values)


@pytest.mark.parametrize("call", ["conv_wav2vec2", "conv_hubert"])
def test_sums_term_by_term_in_float32_are_within_the_bound(call: str) -> None:
    for sizes in ((1, 1, 1, 1.0), (2, 1, 128, 9.0), (16, 4, 16, 0.01), (64, 4, 16, 1.0)):
        values = arguments(call, *sizes)
        assert check(encode(call, by_erf, values), call, **values).worst < ROUNDED
