"""Biases linear in distance: prompts, and the scores of an engine."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from posenc_conformance.deployed.expected_scores import (
    LOG_PROBABILITY,
    ROUNDINGS_OF_A_READING,
    Scores,
)
from posenc_conformance.deployed.instrument import READ_WEIGHT
from posenc_conformance.deployed.instruments.alibi_slopes import slopes
from posenc_conformance.deployed.measure import least_read
from posenc_conformance.deployed.position_errors import Places
from posenc_conformance.deployed.probe_checkpoint import Probe
from posenc_conformance.deployed.prompts import DIGITS, Prompt, text_with
from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Floats, round_to
from posenc_conformance.models.meaning import Group, case_of

ROUNDINGS_OF_A_BIAS = 2
"""Roundings besides that of a bias: its sum with a score, for the key and for the neutral one."""
FEW_DIGITS = 3 * 2.0**-25 * READ_WEIGHT
"""Additional error of a logit in float16, which has few digits for numbers this small: in the
share, in the output of a head, and after the last norm."""


@dataclass(frozen=True)
class Linear:
    """Biases that are slopes times distances."""

    slopes: Floats
    """[heads], or [queries, heads] where each query has its own."""
    rounded: str = "float64"
    """The dtype to which positions of keys are rounded."""
    first_alone: bool = False
    """Whether queries that are generated have no bias."""
    longest: float = math.inf
    """The largest distance; larger ones count as it."""
    places: Places | None = None
    """Positions of queries and of a key, if they are wrong."""

    def of(self, prompt: Prompt) -> Floats:
        """Return the slope of each query and head, [queries, heads]."""
        tiled = np.tile(self.slopes, (len(prompt.positions), 1))
        if self.first_alone:
            tiled[1:] = 0
        return tiled

    def distances(self, prompt: Prompt) -> tuple[Floats, Floats]:
        """Return the distances of the key and of the neutral one to each query, [queries, 1]."""
        to_key, to_neutral = (
            self.distances_to(prompt, key) for key in (prompt.key, prompt.neutral)
        )
        return to_key[:, np.newaxis], to_neutral[:, np.newaxis]

    @property
    def is_plain(self) -> bool:
        """Whether the distances of the keys that a query sees are 0, 1, 2 and so on."""
        return self.places is None and self.longest == math.inf

    def distances_to(self, prompt: Prompt, key: int) -> Floats:
        """Return the distance of each query to a key, [queries]."""
        queries: Sequence[int] = prompt.positions
        if self.places is not None:
            queries, key = self.places(replace(prompt, key=key))
        place = np.array(key, dtype=np.float64)
        if self.rounded != "float64":
            place = round_to(place, self.rounded)
        return np.asarray(np.minimum(np.array(queries) - place, self.longest))


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
    off = of_steps(probe, prompt, np.tile(off, (len(prompt.positions), 1)))
    off_by = LOG_PROBABILITY + (FEW_DIGITS if dtype == "float16" else 0.0)
    noise = (off_by / probe.logits(prompt.gain, shares)).sum(axis=-1)
    bound = factor(probe) * off + noise + ROUNDINGS_OF_A_READING * unit
    return Scores(values, bound)


def factor(probe: Probe) -> float:
    """Return the factor by which the engine multiplies biases."""
    plain = probe.family.scale(probe.config, probe.plan.head_dim)
    return plain if probe.family.scaled_bias else 1.0


def of_steps(probe: Probe, prompt: Prompt, values: Floats) -> Floats:
    """Return the values of the two heads that each query measures, [queries, 2]."""
    heads = [probe.plan.pairs[step] for step in prompt.measured]
    return np.take_along_axis(values, np.array(heads), axis=1)


def _shares(probe: Probe, prompt: Prompt, bias: Linear) -> Floats:
    """Compute the attention shares of the key and the neutral one, [queries, 2 heads, 2]."""
    steep = of_steps(probe, prompt, factor(probe) * bias.of(prompt))
    whole = _whole(prompt, steep) if bias.is_plain else _added_up(prompt, steep, bias)
    both = [np.exp(-steep * distance - whole) for distance in bias.distances(prompt)]
    return np.stack(both, axis=-1)


def _whole(prompt: Prompt, steep: Floats) -> Floats:
    """Compute the logarithm of the sum of exp(-m j) for all distances j, for slopes of any sign."""
    positions = np.array(prompt.positions)[:, np.newaxis]
    above = np.maximum(0, -steep * positions)
    values = np.abs(steep)
    with np.errstate(divide="ignore", invalid="ignore"):
        sums = np.expm1(-values * (positions + 1)) / np.expm1(-values)
    return np.asarray(above + np.log(np.where(values == 0, positions + 1, sums)))


def _added_up(prompt: Prompt, steep: Floats, bias: Linear) -> Floats:
    """Compute the same logarithm for distances that do not grow by one from key to key."""
    keys = np.arange(prompt.positions[-1] + 1)
    distances = np.stack([bias.distances_to(prompt, int(key)) for key in keys], axis=-1)
    scores = -steep[..., np.newaxis] * distances[:, np.newaxis]
    sees = keys <= np.array(prompt.positions)[:, np.newaxis, np.newaxis]
    scores = np.where(sees, scores, -np.inf)
    largest = scores.max(axis=-1)
    return np.asarray(largest + np.log(np.exp(scores - largest[..., np.newaxis]).sum(axis=-1)))
