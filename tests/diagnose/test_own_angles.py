"""A mistake keeps its name in float32 code, whose wrong angles round by their own size."""

from typing import Any

import numpy as np
import pytest

from posenc_conformance.diagnose.diagnosis import diagnose
from posenc_conformance.judge.arrays import Array, round_to
from posenc_conformance.judge.case import Case
from posenc_lab.judging import schemes

PLAIN = {"shape": lambda t, d: 2 * t / d, "times": 1.0}
FREQUENCIES: dict[str, dict[str, Any]] = {
    "degrees": {**PLAIN, "times": 180 / np.pi},
    "exponent-halved": {**PLAIN, "shape": lambda t, d: t / d},
    "exponent-doubled": {**PLAIN, "shape": lambda t, d: 4 * t / d},
    "exponent-to-the-end": {**PLAIN, "shape": lambda t, d: t / (d / 2 - 1)},
    "tables-mixed": PLAIN,
}
DTYPES = ("float64", "float32", "bfloat16")
SIZES = ((3, 8), (128, 64), (1024, 128))


def angles(rows: int, dim: int, kind: Any, mistake: dict[str, Any]) -> Array:
    exponent = np.asarray(mistake["shape"](np.arange(dim // 2), dim), kind)
    places = np.arange(rows, dtype=kind)[:, None]
    return np.asarray(places * kind(10000) ** -exponent * kind(mistake["times"]))


def case_of(name: str, conventions: dict[str, Any], arguments: dict[str, Any], dtype: str) -> Case:
    scheme = next(scheme for scheme in schemes() if scheme.id == name)
    return Case(scheme, scheme.calls[name], conventions, arguments, dtype)


@pytest.mark.parametrize(("rows", "dim"), SIZES)
@pytest.mark.parametrize("layout", ["half", "interleaved"])
@pytest.mark.parametrize("name", FREQUENCIES)
def test_rope(name: str, layout: str, rows: int, dim: int) -> None:
    x = round_to(np.random.default_rng(0).standard_normal((rows, dim)), "bfloat16")
    arguments = {"x": x, "positions": np.arange(rows), "base": 10000.0}
    whole = np.arange(dim)
    first, second = (whole[::2], whole[1::2]) if layout == "interleaved" else whole.reshape(2, -1)
    tiled = (layout == "half") != (name == "tables-mixed")
    for dtype in DTYPES:
        kind = np.float64 if dtype == "float64" else np.float32
        rate = angles(rows, dim, kind, FREQUENCIES[name])
        every = np.tile(rate, 2) if tiled else np.repeat(rate, 2, axis=-1)
        crossed = np.empty_like(x)
        crossed[:, first], crossed[:, second] = -x[:, second], x[:, first]
        result = x.astype(kind) * np.cos(every) + crossed.astype(kind) * np.sin(every)
        case = case_of("rope", {"layout": layout}, arguments, dtype)
        output = round_to(result.astype(np.float64), dtype)
        assert diagnose(case, output).deviation == name, dtype


@pytest.mark.parametrize(("rows", "dim"), SIZES)
@pytest.mark.parametrize("name", ["degrees", "exponent-halved", "exponent-doubled"])
def test_sinusoidal(name: str, rows: int, dim: int) -> None:
    conventions: dict[str, Any] = {
        "layout": "interleaved", "denominator": "d/2", "first_position": 0, "scale": "1",
        "single_pair": "unit",
    }  # fmt: skip
    arguments = {"positions": np.arange(rows), "dim": dim, "base": 10000.0}
    for dtype in DTYPES:
        kind = np.float64 if dtype == "float64" else np.float32
        rate = angles(rows, dim, kind, FREQUENCIES[name])
        table = np.stack([np.sin(rate), np.cos(rate)], axis=-1).reshape(rows, dim)
        case = case_of("sinusoidal", conventions, arguments, dtype)
        output = round_to(table.astype(np.float64), dtype)
        assert diagnose(case, output).deviation == name, dtype
