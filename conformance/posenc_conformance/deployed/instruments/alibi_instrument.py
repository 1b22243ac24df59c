"""Biases linear in distance: prompts, the scores of a right engine, and those of wrong ones."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from posenc_conformance.deployed.expected_scores import (
    LOG_PROBABILITY,
    ROUNDINGS_OF_A_READING,
    Scores,
)
from posenc_conformance.deployed.instrument import READ_WEIGHT
from posenc_conformance.deployed.instruments.alibi_slopes import slopes
from posenc_conformance.deployed.measure import Measured, least_read
from posenc_conformance.deployed.probe_checkpoint import Probe
from posenc_conformance.deployed.prompts import DIGITS, Prompt, text_with
from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Floats, round_to
from posenc_conformance.models.meaning import Group, case_of

ROUNDINGS_OF_A_BIAS = 2
"""Roundings besides that of a bias: its sum with a score, for the key and for the neutral one."""
FEW_DIGITS = 3 * 2.0**-25 * READ_WEIGHT
"""Additional error of a logit in float16, which has few digits for numbers this small: in the
share, in the output of a head, and after the last norm."""
COUNTS = (*range(1, 33), 40, 48, 56, 64, 71, 80, 96, 112, 128)
"""Numbers of heads of released models, and fractions of them."""


@dataclass(frozen=True)
class Linear:
    """Biases that are slopes times distances."""

    slopes: Floats
    """[heads], or [queries, heads] where each query has its own."""
    rounded: str = "float64"
    """The dtype to which positions of keys are rounded."""
    first_alone: bool = False
    """Whether queries that are generated have no bias."""

    def of(self, prompt: Prompt) -> Floats:
        """Return the slope of each query and head, [queries, heads]."""
        tiled = np.tile(self.slopes, (len(prompt.positions), 1))
        if self.first_alone:
            tiled[1:] = 0
        return tiled

    def distances(self, prompt: Prompt) -> tuple[Floats, Floats]:
        """Return the distances of the key and of the neutral one to each query, [queries, 1]."""
        queries = np.array(prompt.positions, dtype=np.float64)[:, np.newaxis]
        keys = np.array([prompt.key, prompt.neutral], dtype=np.float64)
        if self.rounded != "float64":
            keys = round_to(keys, self.rounded)
        return queries - keys[0], queries - keys[1]


Named = tuple[str, str, Linear]


def prompt_for(
    probe: Probe, group: Group, distance: int, layer: int | None = None, steps: int | None = None
) -> Prompt:
    """Make the prompt whose first or last query follows a key at ``distance``."""
    prompt = text_with(probe, group, distance, layer, steps, before=DIGITS)
    bias = Linear(slopes(group))

    def largest(gain: int) -> float:
        trial = replace(prompt, gain=gain)
        return float(probe.logits(gain, _shares(probe, trial, bias)).max())

    gains = probe.plan.gains
    fitting = [gain for gain in gains if gain == gains[0] or largest(gain) <= probe.largest_read]
    return replace(prompt, gain=max(fitting))


def expected(
    probe: Probe, group: Group, prompt: Prompt, dtype: str, bias: Linear | None = None
) -> Scores:
    """Compute the biases of two heads in each step, the key's minus the neutral key's.

    ``bias`` replaces the right one. A share too small to be read counts as the smallest readable.
    """
    unit, all = UNIT_ROUNDOFF[dtype], slopes(group)
    wrong = Linear(all) if bias is None else bias
    least = least_read(probe, prompt.gain)
    shares = np.maximum(_shares(probe, prompt, wrong), least)
    values = np.log(shares[..., 0] / shares[..., 1])
    last = prompt.positions[-1]
    # Some engines count from the first key: the same for softmax, but with large numbers.
    case = case_of(replace(group, combination="first-key"), {"q_len": 1, "k_len": last + 1})
    off = 2 * case.with_fields(dtype=dtype).bound[:, 0, last]
    off = off + ROUNDINGS_OF_A_BIAS * unit * all * last
    if probe.family.scaled_bias:
        off = off + UNIT_ROUNDOFF["bfloat16"] * all * abs(prompt.key - prompt.neutral)
    off = _of_steps(probe, prompt, np.tile(off, (len(prompt.positions), 1)))
    off_by = LOG_PROBABILITY + (FEW_DIGITS if dtype == "float16" else 0.0)
    noise = (off_by / probe.logits(prompt.gain, shares)).sum(axis=-1)
    bound = _factor(probe) * off + noise + ROUNDINGS_OF_A_READING * unit
    return Scores(values, bound)


def _factor(probe: Probe) -> float:
    """Return the factor by which the engine multiplies biases."""
    plain = probe.family.scale(probe.config, probe.plan.head_dim)
    return plain if probe.family.scaled_bias else 1.0


def _of_steps(probe: Probe, prompt: Prompt, values: Floats) -> Floats:
    """Return the values of the two heads that each query measures, [queries, 2]."""
    heads = [probe.plan.pairs[step] for step in range(prompt.given - 1, prompt.steps)]
    return np.take_along_axis(values, np.array(heads), axis=1)


def _shares(probe: Probe, prompt: Prompt, bias: Linear) -> Floats:
    """Compute the attention shares of the key and the neutral one, [queries, 2 heads, 2]."""
    steep = _factor(probe) * bias.of(prompt)
    positions = np.array(prompt.positions)[:, np.newaxis]
    # The sum of exp(-m j) for all distances j, and its logarithm, for slopes of either sign.
    above = np.maximum(0, -steep * positions)
    values = np.abs(steep)
    with np.errstate(divide="ignore", invalid="ignore"):
        sums = np.expm1(-values * (positions + 1)) / np.expm1(-values)
    whole = above + np.log(np.where(values == 0, positions + 1, sums))
    both = [np.exp(-steep * distance - whole) for distance in bias.distances(prompt)]
    return np.stack([_of_steps(probe, prompt, values) for values in both], axis=-1)


def explanations(
    probe: Probe, group: Group, found: Sequence[Measured], dtype: str
) -> Iterator[tuple[str, str, Callable[[Prompt], Scores]]]:
    """Yield the known mistakes: an id, a description, and their scores."""
    for id, words, bias in _wrong(group):
        yield id, f"matches {words}", partial(expected, probe, group, dtype=dtype, bias=bias)
    got, scores = found[0].values, expected(probe, group, found[0].prompt, dtype)
    weights = scores.bound**-2.0
    square = float((weights * scores.values**2).sum())
    factor = float((weights * got * scores.values).sum()) / square
    bias = Linear(factor * slopes(group))
    words = f"matches biases that are multiplied by {factor:.4g}"
    scaled = partial(expected, probe, group, dtype=dtype, bias=bias)
    yield "scores-multiplied", words, scaled


def _wrong(group: Group) -> Iterator[Named]:
    """Yield the known mistakes of biases."""
    heads, own = int(group.parameters["heads"]), slopes(group)
    yield "bias-missing", "no bias at all", Linear(0 * own)
    yield "bias-reversed", "a bias that grows with the distance", Linear(-own)
    if heads & (heads - 1):
        uniform = slopes(replace(group, combination="causal-uniform"))
        words = "slopes 2^(-8(h+1)/heads) for any number of heads"
        yield "slopes-uniform", words, Linear(uniform)
        words = "slopes of the next power of two, in their order"
        yield "slopes-of-next-power", words, Linear(_slopes_of(group, 1 << heads.bit_length()))
    # Half or twice the number of heads is the likeliest mistake.
    for count in (2 * heads, heads // 2, *COUNTS):
        words = f"slopes of {count} heads; there are {heads}"
        if count > heads or (count and count < heads and not heads % count):
            yield "slopes-of-another-count", words, Linear(_slopes_of(group, count))
    yield "slopes-reversed", "slopes of the heads in the other order", Linear(own[::-1])
    words = "slopes that begin with 1"
    yield "slopes-from-1", words, Linear(2.0 ** (-8 * np.arange(heads) / heads))
    for most in (1, 2, 4, 16):
        words = f"slopes down to 2^-{most}, where 2^-8 is meant"
        yield "slopes-of-another-maximum", words, Linear(own ** (most / 8))
    for dtype in ("bfloat16", "float16"):
        words = f"slopes that are rounded to {dtype}"
        yield f"slopes-in-{dtype}", words, Linear(round_to(own, dtype))
        words = f"positions of keys that are rounded to {dtype}"
        yield f"positions-in-{dtype}", words, Linear(own, rounded=dtype)
    words = "no bias beside words that the engine writes"
    yield "bias-missing-later", words, Linear(own, first_alone=True)


def _slopes_of(group: Group, heads: int) -> Floats:
    """Return the slopes of ``heads`` heads, cut or repeated to the group's number of heads."""
    count = int(group.parameters["heads"])
    other = slopes(replace(group, parameters={**group.parameters, "heads": heads}))
    return np.resize(other, count)
