"""Rules for the frequencies of rotary pairs, fitted to numbers, the simplest first."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

import posenc
from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Floats
from posenc_conformance.models.file import Model, load_all
from posenc_conformance.models.layer_frequencies import rotated, turning
from posenc_conformance.models.meaning import Group

COMMON = (1e4, 5e5, 1e6, 1e5, 1e3, 1e2)
"""Bases that are tried first if they are near the estimate."""
USUAL = (1e4, 5e5, 1e6, 1.5e5, 5e6, 1e7)
"""Bases of released models, the most common first."""
STRETCHED = (1e4, 5e5, 1e6, 1e5)
"""Bases that NTK-aware scaling may have stretched."""
FEW = 4
"""With fewer pairs than this, common bases are tried and none is fitted."""
ELSEWHERE = ("head_dim", "rotary_dim", "attention_factor", "mscale", "mscale_all_dim")
"""Parameters that do not determine frequencies, or that are reported separately."""
FAR = 0.3
"""The largest distance of a tried number from an estimate, relative to the estimate."""
LENGTHS = (2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 1024, 512)
"""Original context lengths that are tried."""
STEEP = 0.05
"""The largest distance of an estimated ramp from a step."""
ROUNDING, ANGLE = 4, 4
"""Constants of RoPE's error model."""


@dataclass(frozen=True)
class Rule:
    """A rule that gives the frequencies of a cache."""

    scheme: str
    words: str
    frequencies: Floats
    simple: bool = False
    """Whether it is plain RoPE with a round base."""
    amplitude: float = 1.0
    models: tuple[str, ...] = ()
    """Titles of the models of the spec that have these frequencies."""

    @property
    def width(self) -> int:
        """The number of rotated channels."""
        return 2 * len(self.frequencies)


def allowance(frequencies: Floats, dtype: str) -> Floats:
    """Compute the allowed error of stored frequencies."""
    u = UNIT_ROUNDOFF["float64" if dtype == "float64" else "float32"]
    with np.errstate(divide="ignore"):
        logarithm = np.where(frequencies > 0, np.abs(np.log(frequencies)), 0)
    return frequencies * (ROUNDING * UNIT_ROUNDOFF[dtype] + ANGLE * u * (1 + logarithm))


def geometric(base: float, pairs: int) -> Floats:
    """Compute the frequencies of plain RoPE."""
    return np.asarray(base ** (-np.arange(pairs) / pairs))


def plain_rules(estimate: Floats) -> Iterator[Rule]:
    """Yield rules for a geometric progression from 1 on, or for one divided by a factor."""
    fitted = _base(estimate)
    if fitted is None:
        return
    base, slower = fitted
    pairs = len(estimate)
    if pairs < FEW:  # two numbers fit any base, so only common ones are tried
        for chosen in COMMON:
            yield Rule("rope", f"base {chosen:.9g}", geometric(chosen, pairs), True)
        return
    for factor in _chosen(slower):
        for chosen in (*(c for c in COMMON if abs(c - base) < FAR * base), *_chosen(base)):
            frequencies = geometric(chosen, pairs) / factor
            words, scheme = f"base {chosen:.9g}", "rope"
            if factor != 1:
                words, scheme = f"{words}, divided by {factor:.9g}", "position-interpolation"
            yield Rule(scheme, words, frequencies, factor == 1 and chosen != base)


def _base(estimate: Floats) -> tuple[float, float] | None:
    """Estimate the base of a geometric progression, and the progression's divisor.

    Returns None if the frequencies do not fall, or the base is not between 1 and 1e15.
    """
    pairs = len(estimate)
    if not estimate[0] > estimate[1] > 0:
        return None
    # The last frequency that is not yet lost in rounding gives the best estimate.
    last = max([i for i in range(1, pairs) if estimate[i] > 0.2 * estimate[0]], default=1)
    base = float((estimate[0] / estimate[last]) ** (pairs / last))
    return (base, float(1 / estimate[0])) if 1 < base < 1e15 else None


def _chosen(number: float) -> tuple[float, ...]:
    """Return round numbers nearby, and the number itself."""
    rounded = (float(f"{number:.{digits}g}") for digits in (1, 2, 3))
    near = (candidate for candidate in rounded if abs(candidate - number) < FAR * number)
    return tuple(dict.fromkeys((*near, number)))


def stretched(base: float, pairs: int) -> str:
    """Return a possible origin of an odd base in words; empty if none is known."""
    if pairs < 2:
        return ""
    power = (pairs - 1) / pairs
    origins = []
    for smaller in STRETCHED:
        factor = (base / smaller) ** power
        near = round(factor, 2)
        if 1.01 < near <= 128 and abs(factor - near) < 1e-4 * near and near == round(near, 1):
            origins.append(f"{smaller:g} with factor {near:g}")
    return f"as NTK-aware scaling makes of {' or of '.join(origins)}" if origins else ""


def released(pairs: int) -> Iterator[Rule]:
    """Yield the rules of released models, except those of plain RoPE."""
    return (rule for rule in of_models(pairs) if rule.scheme != "rope")


@lru_cache(maxsize=1)
def widths_of_models() -> tuple[int, ...]:
    """Return the numbers of pairs that released models rotate."""
    groups = (group for model in load_all() for group in model.meaning.groups if group.turns)
    return tuple(dict.fromkeys(rotated(group) // 2 for group in groups))


def is_usual(rule: Rule) -> bool:
    """Return whether a rule is that of a released model, or plain RoPE with a usual base."""
    if rule.models:
        return True
    if rule.scheme != "rope":
        return False
    plain = (geometric(base, len(rule.frequencies)) for base in USUAL)
    return any(np.allclose(rule.frequencies, omega, rtol=1e-9, atol=0) for omega in plain)


def with_models(rule: Rule) -> Rule:
    """Return a rule with the titles of the models that use it."""
    alike = (other for other in of_models(len(rule.frequencies)) if _same(other, rule))
    titles = dict.fromkeys(title for other in alike for title in other.models)
    return replace(rule, models=tuple(titles))


def _same(one: Rule, other: Rule) -> bool:
    allowed = allowance(other.frequencies, "float64")
    alike = np.abs(one.frequencies - other.frequencies) <= 16 * allowed
    return bool(alike.all()) and math.isclose(one.amplitude, other.amplitude, rel_tol=1e-9)


@lru_cache(maxsize=64)
def of_models(pairs: int) -> tuple[Rule, ...]:
    """Return the rules of released models that rotate ``pairs`` pairs."""
    return tuple(rule for model in load_all() for rule in _of_model(model, pairs))


def _of_model(model: Model, pairs: int) -> Iterator[Rule]:
    groups = [group for group in model.meaning.groups if group.turns]
    if all(rotated(group) != 2 * pairs for group in groups):
        return
    readings = [(group, *reading) for group in groups for reading in turning(group)]
    kinds = {(tuple(frequencies), longer) for _, _, frequencies, longer in readings}
    for group, name, frequencies, longer in readings:
        if len(frequencies) == pairs:
            title = f"{model.title} ({name or group.id})" if len(kinds) > 1 else model.title
            words = ", ".join([*_parameters(group), *([name] if name else [])])
            yield Rule(group.scheme, words, frequencies, False, longer, (title,))


def _parameters(group: Group) -> Iterator[str]:
    """Yield the parameters that determine frequencies; amplitudes are reported separately."""
    for name, value in group.parameters.items():
        if isinstance(value, int | float) and name not in ELSEWHERE:
            yield f"{name} {value:g}"


# Scaling that no released model has.


def scaled(estimate: Floats) -> Iterator[Rule]:
    """Yield Llama 3's and YaRN's rules.

    They keep fast pairs and slow down slow ones, with a ramp between.
    """
    pairs = len(estimate)
    if pairs < 4 or not (np.diff(estimate) < 0).all():
        return
    fastest = float((estimate[0] / estimate[1]) ** pairs)
    for base in (*(c for c in COMMON if abs(c - fastest) < FAR * fastest), *_chosen(fastest)):
        usual = geometric(base, pairs)
        share = estimate / usual
        if abs(share[0] - 1) > 1e-3 or not 0.001 < share[-1] < 0.99:
            continue
        for factor in _chosen(float(1 / share[-1])):
            ramp = (share - 1 / factor) / (1 - 1 / factor)
            yield from _llama3(base, factor, ramp)
            yield from _step(base, factor, ramp)
            yield from _yarn(base, factor, ramp)


def _step(base: float, factor: float, ramp: Floats) -> Iterator[Rule]:
    """Yield YaRN's rule with a step in place of the ramp, as if beta_fast were beta_slow."""
    fast = ramp > 0.5
    count = int(fast.sum())
    if np.abs(ramp - fast).max() < STEEP and fast[:count].all():
        base, factor = float(f"{base:.6g}"), float(f"{factor:.6g}")
        words = (
            f"base {base:.9g}, factor {factor:.6g} from pair {count} on, without a ramp: beta_fast "
            "is beta_slow"
        )
        frequencies = geometric(base, len(ramp))
        frequencies[count:] /= factor
        yield Rule("yarn", words, frequencies)


def _llama3(base: float, factor: float, ramp: Floats) -> Iterator[Rule]:
    """Yield Llama 3's rules.

    The kept share of a frequency grows in proportion to the number of turns within the original
    context length.
    """
    pairs, size = len(ramp), 2 * len(ramp)
    middle = np.flatnonzero((ramp > 0.01) & (ramp < 0.99))
    tried = [(4.0, length) for length in LENGTHS]
    if len(middle) > 1:
        slope, start = np.polyfit(geometric(base, pairs)[middle], ramp[middle], 1)
        if start < 0 < slope:
            high = float(f"{1 - 1 / start:.3g}")
            tried.append((high, round(2 * math.pi * slope * (high - 1))))
    for high, length in dict.fromkeys(tried):
        if high > 1 and length > 0:
            frequencies = posenc.llama3_frequencies(
                size,
                base=base,
                factor=factor,
                low_freq_factor=1.0,
                high_freq_factor=high,
                original_max_position_embeddings=length,
            )
            words = (
                f"base {base:.9g}, factor {factor:.6g}, high_freq_factor {high:g} for a "
                f"low_freq_factor of 1, original_max_position_embeddings {length}"
            )
            yield Rule("llama3", words, np.asarray(frequencies, np.float64))


def _yarn(base: float, factor: float, ramp: Floats) -> Iterator[Rule]:
    """Yield YaRN's rules, in which the kept share of a frequency falls along the pairs."""
    if factor < 1:
        return
    pairs, usual = len(ramp), geometric(base, len(ramp))
    for length in LENGTHS:
        for how in ("index", "untruncated"):
            try:
                frequencies = posenc.yarn_frequencies(
                    2 * pairs,
                    base=base,
                    factor=factor,
                    original_max_position_embeddings=length,
                    ramp=how,
                )
            except ValueError:  # the ramp would run backwards
                continue
            words = (
                f"base {base:.9g}, factor {factor:.6g}, beta_fast 32, beta_slow 1, ramp {how}, "
                f"original_max_position_embeddings {length}"
            )
            yield Rule("yarn", words, np.asarray(frequencies, np.float64))
    middle = np.flatnonzero((ramp > 0.01) & (ramp < 0.99))
    if len(middle) > 2:
        slope, start = np.polyfit(middle, ramp[middle], 1)
        if slope < 0:
            first, last = (1 - start) / slope, -start / slope
            share = np.clip((last - np.arange(pairs)) / (last - first), 0, 1)
            words = (
                f"base {base:.9g}, factor {factor:.6g}, a ramp from pair {first:.4g} to pair "
                f"{last:.4g}"
            )
            yield Rule("yarn", words, usual * (share + (1 - share) / factor))


def partial(estimate: Floats) -> Iterator[Rule]:
    """Yield rules that rotate only the first pairs, a proportion of the head dimension."""
    turning_pairs, pairs = int(np.count_nonzero(estimate)), len(estimate)
    if not 1 < turning_pairs < pairs or estimate[turning_pairs:].any():
        return
    base = float((estimate[0] / estimate[turning_pairs - 1]) ** (pairs / (turning_pairs - 1)))
    for chosen in (*(c for c in COMMON if abs(c - base) < FAR * base), *_chosen(base)):
        frequencies = geometric(chosen, pairs)
        frequencies[turning_pairs:] = 0
        share = turning_pairs / pairs
        yield Rule("p-rope", f"base {chosen:.9g}, proportion {share:.4g}", frequencies)


def even(estimate: Floats) -> Iterator[Rule]:
    """Yield a rule of evenly spaced frequencies.

    Image models whose positions run from -1 to 1 use it.
    """
    pairs = len(estimate)
    frequencies = np.linspace(estimate[0], estimate[-1], pairs)
    first, last = estimate[0] / math.pi, estimate[-1] / math.pi
    if pairs > 2 and last > first and abs(first - 1) < 1e-3:
        yield Rule("evenly spaced", f"from {first:.6g} π to {last:.6g} π", frequencies)


def plain_or_released(estimate: Floats) -> Iterator[Rule]:
    """Yield the plain rules of most models, then the special rules of the spec's models."""
    yield from plain_rules(estimate)
    yield from released(len(estimate))


GROUPS = (plain_or_released, scaled, partial, even)
"""Rules in the order in which they are tried; the first kind that fits is the answer."""
