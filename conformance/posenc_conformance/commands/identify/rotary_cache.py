"""The cosines, sines and frequencies that libraries keep for RoPE, recognised in an array."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import posenc
from posenc_conformance.judge.arrays import DTYPES, UNIT_ROUNDOFF, Array, Floats
from posenc_conformance.judge.positions import spread

COMMON = (1e4, 5e5, 1e6, 1e5, 1e3, 1e2)
"""Bases that are tried first where an estimate is not far."""
FAR = 0.3
"""How far, as a part of it."""
LARGEST = 1024
"""Pairs of the widest cache that is looked for."""
ROUNDING, ANGLE = 4, 4
"""Constants of RoPE's error model."""
LLAMA3: tuple[dict[str, Any], ...] = tuple(
    {
        "base": 500000.0,
        "factor": factor,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }
    for factor in (8.0, 32.0)
)
"""As released: Llama 3.1, and the small models of 3.2."""


@dataclass(frozen=True)
class Rule:
    """How a cache's frequencies are made."""

    scheme: str
    words: str
    frequencies: Floats
    simple: bool
    """Whether it is plain RoPE with a base that somebody would choose."""


@dataclass(frozen=True)
class Cache:
    """What an array holds of a rotary scheme."""

    form: str
    rule: Rule
    difference: float
    ratio: float
    """The largest difference in units of what is allowed."""
    dtype: str

    @property
    def text(self) -> str:
        """In words."""
        rule, ratio = self.rule, f"{self.ratio:.2g} of what {self.dtype} allows"
        return (
            f"{rule.scheme}: {self.form} ({rule.words}, rotary_dim {2 * len(rule.frequencies)})\n"
            f"  worst difference {self.difference:.2g}, {ratio}"
        )


def caches(array: Array, dtype: str, grain: float) -> list[Cache]:
    """Each way to read the array as frequencies, or cosines and sines, of RoPE; the right ones.

    ``grain`` is what printing may have added to each value's error.
    """
    found = (_read(form, parts, dtype, grain) for form, parts in _forms(array))
    return [cache for cache in found if cache is not None]


Parts = dict[str, Array]
Expected = Callable[[Floats, Array, str], tuple[Floats, Floats]]


def _forms(array: Array) -> Iterator[tuple[str, Parts]]:
    """Readings of an array, by what they find in it: inverse frequencies, cosines, sines."""
    if array.dtype.kind == "c":
        if array.ndim == 2:
            form = "cos + i sin as complex numbers (freqs_cis)"
            yield form, {"cos": array.real, "sin": array.imag}
        return
    values = array.astype(np.float64)
    if values.ndim == 1 and len(values) > 1:
        yield "inverse frequencies (inv_freq)", {"frequencies": values}
    if values.ndim == 3 and values.shape[0] == 2:
        yield from _both("stacked, {} first", values[0], values[1])
    if values.ndim == 3 and values.shape[-1] == 2:
        yield from _both("{} first in the last axis", values[..., 0], values[..., 1])
    if values.ndim == 3 and values.shape[1] == 2:
        yield from _both("{} first in the middle axis", values[:, 0], values[:, 1])
    if values.ndim == 2 and values.shape[0] > 1:
        yield from _one("", values)
        if values.shape[1] % 2 == 0:
            left, right = np.split(values, 2, axis=1)
            yield from _both("[{}] side by side", left, right)
            if _equal(left, right):
                yield from _one(", halves repeated", left)
            if _equal(values[:, ::2], values[:, 1::2]):
                yield from _one(", each channel twice", values[:, ::2])


def _equal(first: Floats, second: Floats) -> bool:
    return np.array_equal(first, second)


def _one(how: str, values: Floats) -> Iterator[tuple[str, Parts]]:
    yield f"cosines{how}", {"cos": values}
    yield f"sines{how}", {"sin": values}


def _both(how: str, first: Floats, second: Floats) -> Iterator[tuple[str, Parts]]:
    """Two tables, cosines and sines in one order or the other, each perhaps written twice."""
    if first.ndim != 2 or first.shape[0] < 2:
        return
    doubled = ""
    if first.shape[1] % 2 == 0 and first.shape[1] > 2:
        half = first.shape[1] // 2
        pairs = ((first[:, :half], first[:, half:]), (second[:, :half], second[:, half:]))
        if all(_equal(*pair) for pair in pairs):
            doubled, first, second = ", halves repeated", first[:, :half], second[:, :half]
        elif _equal(first[:, ::2], first[:, 1::2]) and _equal(second[:, ::2], second[:, 1::2]):
            doubled, first, second = ", each channel twice", first[:, ::2], second[:, ::2]
    # At position 0, cosines are 1 and sines 0.
    names = ("cos", "sin") if first[0, 0] > second[0, 0] else ("sin", "cos")
    shown = "|".join(names) if "[" in how else names[0]
    parts = dict(zip(names, (first, second), strict=True))
    yield f"cosines and sines, {how.format(shown)}{doubled}", parts


def _read(form: str, parts: Parts, dtype: str, grain: float) -> Cache | None:
    """The cache that an array is under this reading, or None."""
    pairs = next(iter(parts.values())).shape[-1]
    if not 1 < pairs <= LARGEST:
        return None
    estimate = parts["frequencies"] if "frequencies" in parts else _angles(parts)
    if estimate is None:
        return None
    rows = spread(len(next(iter(parts.values()))))
    for rule in _rules(estimate):
        difference, ratio = 0.0, 0.0
        for name, values in parts.items():
            if name != "frequencies":
                values = values[rows]
            expected, allowed = EXPECTED[name](rule.frequencies, rows[:, None], dtype)
            error = np.abs(values - expected)
            difference = max(difference, float(error.max()))
            ratio = max(ratio, float((error / (allowed + grain)).max()))
        if ratio <= 1:
            return Cache(form, rule, difference, ratio, dtype)
    return None


def _rules(estimate: Floats) -> Iterator[Rule]:
    """Ways to make frequencies like these, the simplest first."""
    pairs = len(estimate)
    if not estimate[0] > estimate[1] > 0:
        return
    # The last that is not yet lost in rounding tells the base best.
    last = max([i for i in range(1, pairs) if estimate[i] > 0.2 * estimate[0]], default=1)
    base = float((estimate[0] / estimate[last]) ** (pairs / last))
    slower = float(1 / estimate[0])
    if not 1 < base < 1e15:
        return
    for factor in _chosen(slower):
        for chosen in (*(c for c in COMMON if abs(c - base) < FAR * base), *_chosen(base)):
            frequencies = chosen ** (-np.arange(pairs) / pairs) / factor
            words, scheme = f"base {chosen:.9g}", "rope"
            if factor != 1:
                words, scheme = f"{words}, divided by {factor:.9g}", "position-interpolation"
            yield Rule(scheme, words, frequencies, factor == 1 and chosen != base)
    for given in LLAMA3:
        frequencies = np.asarray(posenc.llama3_frequencies(2 * pairs, **given), np.float64)
        words = f"base {given['base']:g}, factor {given['factor']:g}"
        yield Rule("llama3", words, frequencies, False)


def _chosen(number: float) -> tuple[float, ...]:
    """Round numbers nearby, and the number itself."""
    rounded = (float(f"{number:.{digits}g}") for digits in (1, 2, 3))
    near = (each for each in rounded if abs(each - number) < FAR * number)
    return tuple(dict.fromkeys((*near, number)))


def _angles(parts: Parts) -> Floats | None:
    """The angles of position 1, as far as they can be read off; None if they cannot."""
    first = {name: table[1].astype(np.float64) for name, table in parts.items()}
    origin = {"cos": 1.0, "sin": 0.0}
    if any(np.abs(table[0] - origin[name]).max() > 1e-2 for name, table in parts.items()):
        return None
    if any(np.abs(row).max() > 1.01 for row in first.values()):
        return None
    if len(first) == 2:
        return np.asarray(np.arctan2(first["sin"], first["cos"]))
    if "cos" in first:
        return np.asarray(np.arccos(np.clip(first["cos"], -1, 1)))
    return np.asarray(np.arcsin(np.clip(first["sin"], -1, 1)))


def _wave(function: Any) -> Expected:
    def expected(frequencies: Floats, positions: Array, dtype: str) -> tuple[Floats, Floats]:
        angles = positions * frequencies
        u = UNIT_ROUNDOFF["float64" if dtype == "float64" else "float32"]
        growth = 1 + np.abs(np.log(frequencies))
        return function(angles), ROUNDING * UNIT_ROUNDOFF[dtype] + ANGLE * u * angles * growth

    return expected


def _given(frequencies: Floats, positions: Array, dtype: str) -> tuple[Floats, Floats]:
    u = UNIT_ROUNDOFF["float64" if dtype == "float64" else "float32"]
    relative = ROUNDING * UNIT_ROUNDOFF[dtype] + ANGLE * u * (1 + np.abs(np.log(frequencies)))
    return frequencies, frequencies * relative


EXPECTED: dict[str, Expected] = {
    "frequencies": _given,
    "cos": _wave(np.cos),
    "sin": _wave(np.sin),
}


def dtype_of(array: Array, grain: float) -> str:
    """The narrowest dtype that holds an array exactly, as saving often widens it.

    Printed values may differ from it by what printing costs; then the narrowest is float32.
    """
    parts = [array.real, array.imag] if array.dtype.kind == "c" else [array]
    values = np.stack([part.astype(np.float64) for part in parts])
    for name in ("bfloat16", "float16", "float32"):
        with np.errstate(over="ignore"):
            narrow = values.astype(DTYPES[name]).astype(np.float64)
        if np.array_equal(narrow, values):
            return name
    finite = np.where(np.isfinite(values), values, 0)
    near = np.abs(finite.astype(np.float32).astype(np.float64) - finite)
    return "float32" if grain > 0 and near.max(initial=0) <= grain else "float64"
