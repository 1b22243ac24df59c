"""Recognise an array as cosines, sines or frequencies that libraries store for RoPE."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from posenc_conformance.commands.identify.frequency_rules import (
    ANGLE,
    GROUPS,
    ROUNDING,
    Rule,
    allowance,
    plain_rules,
    stretched,
    with_models,
)
from posenc_conformance.diagnose.predictors import rounded_angles
from posenc_conformance.judge.arrays import DTYPES, UNIT_ROUNDOFF, Array, Floats
from posenc_conformance.judge.positions import rows_to_show

MOST_PAIRS = 1024
"""Most pairs in a cache that is recognised."""
SHOWN = 6
"""Most models that are named; the others are only counted."""
SOLVED = ("rope", "position-interpolation", "p-rope", "evenly spaced")
"""Rules whose parameters are fitted to the numbers, so that only the first match is reported."""
CLEAR = 0.1
"""The slope of a cosine or sine above which its angle can be read from it."""


@dataclass(frozen=True)
class Cache:
    """A reading of an array as the cache of a rotary scheme."""

    form: str
    rule: Rule
    difference: float
    ratio: float
    """The largest difference in units of the allowed error."""
    dtype: str
    first: int = 0
    """Position of the first row."""
    mistake: str = ""

    @property
    def simple(self) -> bool:
        """Whether the cache is plain RoPE with a round base, without a mistake."""
        return self.rule.simple and not self.mistake

    @property
    def is_table(self) -> bool:
        """Whether a sinusoidal table that begins at another position looks the same."""
        return bool(self.first) and self.simple and self.form.startswith("cosines and sines, sin")

    @property
    def text(self) -> str:
        """The cache as lines of text."""
        rule, ratio = self.rule, f"{self.ratio:.2g} of what {self.dtype} allows"
        start = f", from position {self.first} on" if self.first else ""
        scaled = rule.amplitude != 1 and "frequencies" not in self.form
        longer = f", scaled by {rule.amplitude:.6g}" if scaled else ""
        name = f"{rule.scheme} or a sinusoidal table" if self.is_table else rule.scheme
        lines = [f"{name}: {self.form}{start} ({rule.words}, rotary_dim {rule.width}{longer})"]
        if self.mistake:
            lines.append(f"  but {self.mistake}")
        if rule.models:
            more = len(rule.models) - SHOWN
            tail = f" and {more} more" if more > 0 else ""
            lines.append(f"  as in {', '.join(rule.models[:SHOWN])}{tail}")
        return "\n".join([*lines, f"  worst difference {self.difference:.2g}, {ratio}"])


def caches(array: Array, dtype: str, grain: float) -> list[Cache]:
    """Return each reading of an array as frequencies, or cosines and sines, of RoPE.

    Readings with a mistake are returned only if none is right. ``grain`` is the error that printing
    may have added to each value.
    """
    if array.dtype.kind in "biu":
        return []
    array = _alike_once(array)
    matches = [
        cache for form, parts in _forms(array) for cache in _find_caches(form, parts, dtype, grain)
    ]
    if not matches and array.ndim == 2 and array.shape[0] > 1:
        turned = (
            (f"{form}, a column for each position", parts)
            for form, parts in _forms(array.T)
            if "angles" not in parts
        )
        matches = [
            cache for form, parts in turned for cache in _find_caches(form, parts, dtype, grain)
        ]
    right = [cache for cache in matches if not cache.mistake]
    return right or matches


def _alike_once(array: Array) -> Array:
    """Drop leading axes along which all entries are equal, such as the axis of a batch."""
    while array.ndim > 2 and array.shape[0] > 1 and (array == array[:1]).all():
        array = array[0]
    return array


Parts = dict[str, Array]
Expected = Callable[[Floats, Array, str], tuple[Floats, Floats]]


def _forms(array: Array) -> Iterator[tuple[str, Parts]]:
    """Yield readings of an array: the description of each, with its numbers.

    The numbers are inverse frequencies, angles, cosines or sines.
    """
    if array.dtype.kind == "c":
        if array.ndim == 2:
            form = "cos + i sin as complex numbers (freqs_cis)"
            yield form, {"cos": array.real, "sin": array.imag}
        return
    values = array.astype(np.float64)
    if not np.isfinite(values).all():
        return
    if values.ndim == 1 and len(values) > 1:
        yield "inverse frequencies (inv_freq)", {"frequencies": values}
        half = len(values) // 2
        if len(values) % 2 == 0 and half > 1:
            if _equal(values[:half], values[half:]):
                yield "inverse frequencies, halves repeated", {"frequencies": values[:half]}
            if _equal(values[::2], values[1::2]):
                yield "inverse frequencies, each twice", {"frequencies": values[::2]}
    if values.ndim == 3 and values.shape[0] == 2:
        yield from _both("stacked, {} first", values[0], values[1])
    if values.ndim == 3 and values.shape[-1] == 2:
        yield from _both("{} first in the last axis", values[..., 0], values[..., 1])
    if values.ndim == 3 and values.shape[1] == 2:
        yield from _both("{} first in the middle axis", values[:, 0], values[:, 1])
    if values.ndim == 4 and values.shape[-2:] == (2, 2) and _turn(values):
        parts = {"cos": values[..., 0, 0], "sin": values[..., 1, 0]}
        yield "rotation matrices of two rows and columns", parts
    if values.ndim == 2 and values.shape[0] > 1:
        yield from _one("", values)
        if values.shape[1] % 2 == 0:
            left, right = np.split(values, 2, axis=1)
            yield from _both("[{}] side by side", left, right)
            if _equal(left, right):
                yield from _one(", halves repeated", left)
            if _equal(values[:, ::2], values[:, 1::2]):
                yield from _one(", each channel twice", values[:, ::2])
            elif values[0, 0] > values[0, 1]:  # sinusoidal tables have sines first
                yield from _both("{} first of each two channels", values[:, ::2], values[:, 1::2])


def _turn(matrices: Floats) -> bool:
    """Return whether the matrices have the form [[c, -s], [s, c]]."""
    (a, b), (c, d) = np.moveaxis(matrices, (-2, -1), (0, 1))
    return _equal(a, d) and _equal(b, -c)


def _equal(first: Floats, second: Floats) -> bool:
    return np.array_equal(first, second)


def _one(how: str, values: Floats) -> Iterator[tuple[str, Parts]]:
    if _are_angles(values):
        yield f"angles{how}", {"angles": values}
        return
    yield f"cosines{how}", {"cos": values}
    yield f"sines{how}", {"sin": values}


def _are_angles(values: Floats) -> bool:
    """Return whether the values are angles.

    Rows of angles are multiples of that of position 1, and grow beyond the range of sines.
    """
    if values[0].any() or len(values) < 3 or np.abs(values).max() <= 1.01:
        return False
    # In either row a frequency and its angle may have been rounded, to bfloat16 at worst.
    rounding = 4 * UNIT_ROUNDOFF["bfloat16"]
    return bool(np.allclose(values[2], 2 * values[1], rtol=rounding, atol=0))


def _both(how: str, first: Floats, second: Floats) -> Iterator[tuple[str, Parts]]:
    """Yield two tables as cosines and sines, in either order, each maybe with repeated columns."""
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
    # Slow pairs have hardly turned: their cosines are near 1, their sines near 0.
    names = ("cos", "sin") if first[0, -1] > second[0, -1] else ("sin", "cos")
    shown = "|".join(names) if "[" in how else names[0]
    parts = dict(zip(names, (first, second), strict=True))
    yield f"cosines and sines, {how.format(shown)}{doubled}", parts


def _find_caches(form: str, parts: Parts, dtype: str, grain: float) -> list[Cache]:
    """Return the caches that an array may be under this reading."""
    pairs = next(iter(parts.values())).shape[-1]
    if not 1 < pairs <= MOST_PAIRS:
        return []
    estimated = _estimate(parts)
    if estimated is None:
        return []
    estimate, first, longer = estimated
    mirrored = bool((estimate[:2] < 0).all())
    if mirrored:
        estimate, first = -estimate, -first
    look = _Look(form, parts, dtype, grain, first, longer, mirrored)
    for rules in GROUPS:
        tried = (look.at(rule) for rule in rules(estimate))
        if matches := [cache for cache in tried if cache.ratio <= 1]:
            return look.named(matches)
    return list(look.mistaken(estimate))


@dataclass(frozen=True)
class _Look:
    """An array under one reading, to be compared with rules."""

    form: str
    parts: Parts
    dtype: str
    grain: float
    first: int
    longer: float
    mirrored: bool

    def at(self, rule: Rule) -> Cache:
        """Compare the array with the values of a rule."""
        if rule.amplitude == 1:
            rule = replace(rule, amplitude=self.longer)
        rows = rows_to_show(len(next(iter(self.parts.values()))))
        sign = -1 if self.mirrored else 1
        angles = sign * (rows[:, None] + self.first) * rule.frequencies
        mistake = "matches angles of the opposite sign" if self.mirrored else ""
        return self.compared(rule, rows, angles, mistake)

    def compared(self, rule: Rule, rows: Array, angles: Floats, mistake: str = "") -> Cache:
        """Compare rows of the array with the values of these angles."""
        difference, ratio = 0.0, 0.0
        for name, values in self.parts.items():
            if name == "frequencies":
                expected, allowed = rule.frequencies, allowance(rule.frequencies, self.dtype)
            else:
                values = values[rows]
                expected, allowed = WAVES[name](rule, angles, self.dtype)
            error = np.abs(values - expected)
            allowed = allowed + self.grain
            with np.errstate(divide="ignore", invalid="ignore"):
                worst = np.nanmax(np.where(error == 0, 0.0, error / allowed))
            difference, ratio = max(difference, float(error.max())), max(ratio, float(worst))
        return Cache(self.form, rule, difference, ratio, self.dtype, self.first, mistake)

    def named(self, matches: Sequence[Cache]) -> list[Cache]:
        """Return the matches to report.

        After the first one, matches with fitted parameters are reported only if a model has them.
        """
        told: dict[tuple[str, ...], Cache] = {}
        for cache in matches:
            if told and cache.rule.scheme in SOLVED and not cache.rule.models:
                continue
            named = self._with_models(cache)
            told.setdefault(named.rule.models or (named.rule.scheme, named.rule.words), named)
        return list(told.values())

    def _with_models(self, cache: Cache) -> Cache:
        rule = with_models(cache.rule)
        base = (rule.frequencies[0] / rule.frequencies[1]) ** len(rule.frequencies)
        if (
            rule.scheme == "rope"
            and not rule.models
            and (how := stretched(base, len(rule.frequencies)))
        ):
            rule = replace(rule, words=f"{rule.words}: {how}")
        return replace(cache, rule=rule)

    def mistaken(self, estimate: Floats) -> Iterator[Cache]:
        """Yield the first plain cache that fits if angles are computed in a narrow dtype."""
        rows = rows_to_show(len(next(iter(self.parts.values()))))
        if "frequencies" in self.parts or self.mirrored:
            return
        for rule in plain_rules(estimate):
            if np.abs(rule.frequencies[:2] / estimate[:2] - 1).max() > 0.02:
                continue
            rule = replace(rule, amplitude=self.longer)
            places = (rows[:, None] + self.first).astype(np.float64)
            for model in rounded_angles(places, rule.frequencies, np.asarray):
                cache = self.compared(rule, rows, model.output, model.explanation)
                if cache.ratio <= 1:
                    yield self._with_models(cache)
                    return


def _estimate(parts: Parts) -> tuple[Floats, int, float] | None:
    """Estimate the frequencies, the first position and the pairs' length.

    Returns None if they cannot be estimated.
    """
    if "frequencies" in parts:
        return parts["frequencies"], 0, 1.0
    if "angles" in parts:
        last = len(parts["angles"]) - 1
        return parts["angles"][last] / last, 0, 1.0
    tables = {name: table.astype(np.float64) for name, table in parts.items()}
    if len(tables) == 2:
        return _of_both(tables["cos"], tables["sin"])
    return _of_one(*next(iter(tables.items())))


def _of_both(cos: Floats, sin: Floats) -> tuple[Floats, int, float] | None:
    longer = float(np.hypot(cos[0, -1], sin[0, -1]))
    if not 0.2 < longer < 10:
        return None
    nearest = round(longer)
    if nearest == 1 and abs(longer - 1) < 5e-3:
        longer = 1.0
    pairs = cos + 1j * sin
    steps = np.angle(pairs[1] * np.conj(pairs[0]))
    if (
        not np.isfinite(steps).all()
        or np.abs(np.hypot(cos[1], sin[1]) - longer).max() > 0.02 * longer
    ):
        return None
    place = 1
    while 2 * place < len(cos):
        place *= 2
        seen = np.angle(pairs[place] * np.conj(pairs[0]))
        steps = (seen + 2 * np.pi * np.round((place * steps - seen) / (2 * np.pi))) / place
    slow = np.angle(pairs[0, -1])
    first = round(float(slow / steps[-1])) if steps[-1] else 0
    return np.asarray(steps), first, longer


def _of_one(name: str, table: Floats) -> tuple[Floats, int, float] | None:
    """Read frequencies from only cosines or only sines, which must begin at position 0.

    Returns None for a table that begins elsewhere, or is not one of cosines or sines.
    """
    longer = 1.0
    if name == "cos":
        longer = float(table[0, 0])
        if not 0.2 < longer < 10 or np.ptp(table[0]) > 0.01 * longer:
            return None
        if abs(longer - 1) < 5e-3:
            longer = 1.0
    elif np.abs(table[0]).max() > 1e-2:
        return None
    waves = table / longer
    if np.abs(waves).max() > 1.01:
        return None
    waves = np.clip(waves, -1, 1)
    steps = np.arccos(waves[1]) if name == "cos" else np.arcsin(waves[1])
    place = 1
    while 2 * place < len(table):
        place *= 2
        steps = _nearer(name, waves[place], steps, place)
    return np.asarray(steps), 0, longer


def _nearer(name: str, wave: Floats, steps: Floats, place: int) -> Floats:
    """Return frequencies that fit the waves at a position, those nearest to the estimates."""
    angle = np.arccos(wave) if name == "cos" else np.arcsin(wave)
    other = -angle if name == "cos" else np.pi - angle
    guess = place * steps
    candidates = [
        root + 2 * np.pi * np.round((guess - root) / (2 * np.pi)) for root in (angle, other)
    ]
    nearest = np.where(np.abs(candidates[0] - guess) <= np.abs(candidates[1] - guess), *candidates)
    slope = np.abs(np.sin(angle) if name == "cos" else np.cos(angle))
    return np.asarray(np.where((slope > CLEAR) | (np.abs(guess) < CLEAR), nearest / place, steps))


Wave = Callable[[Rule, Floats, str], tuple[Floats, Floats]]


def _wave(function: Any) -> Wave:
    def expected(rule: Rule, angles: Floats, dtype: str) -> tuple[Floats, Floats]:
        allowed = rule.amplitude * (ROUNDING * UNIT_ROUNDOFF[dtype] + _lost(rule, angles, dtype))
        return rule.amplitude * function(angles), allowed

    return expected


def _lost(rule: Rule, angles: Floats, dtype: str) -> Floats:
    """Bound the error that rounding frequencies and angles causes."""
    u = UNIT_ROUNDOFF["float64" if dtype == "float64" else "float32"]
    with np.errstate(divide="ignore"):
        logarithm = np.where(rule.frequencies > 0, np.abs(np.log(rule.frequencies)), 0)
    return np.asarray(ANGLE * u * np.abs(angles) * (1 + logarithm))


def _angle(rule: Rule, angles: Floats, dtype: str) -> tuple[Floats, Floats]:
    rounding = ROUNDING * UNIT_ROUNDOFF[dtype] * np.abs(angles)
    return angles, rounding + _lost(rule, angles, dtype)


WAVES: dict[str, Wave] = {"cos": _wave(np.cos), "sin": _wave(np.sin), "angles": _angle}


def dtype_of(array: Array, grain: float) -> str:
    """Return the narrowest dtype that represents an array exactly, since saving may widen it.

    Printed values may differ from the dtype's by ``grain``; then the narrowest is float32.
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
