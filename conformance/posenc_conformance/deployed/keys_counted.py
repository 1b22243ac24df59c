"""The number of keys that a query sees, from the shares that it gives to its key and a neutral one.

All keys but the measured one have a score of 0, up to what is left of biases. So the inverse
share of the neutral key is their number, plus the exponential of the measured score. A key that is
missing, or a padding token that is seen, changes no ratio of shares, but it changes this number.
"""

from dataclasses import dataclass

import numpy as np

from posenc_conformance.deployed.expected_scores import LOG_PROBABILITY, roundings_of_reading
from posenc_conformance.deployed.probe_checkpoint import SINKS, Probe
from posenc_conformance.deployed.projection_biases import left, off_of_other
from posenc_conformance.deployed.prompts import Prompt
from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Floats, Ints
from posenc_conformance.models.meaning import Group
from posenc_conformance.models.misreadings import longer

OF_A_NORM = 2.0**-14
"""Largest relative change of a norm by the readings themselves: they are below 1/16 of a token's
channels, and there are four."""


@dataclass(frozen=True)
class Count:
    """The number of keys with score 0 that each query sees, [queries, heads], and its error.

    A sink counts as the exponential of its weight.
    """

    expected: Floats
    got: Floats
    bound: Floats

    @property
    def ratio(self) -> float:
        """The largest error in units of its bound."""
        return float(self.ratios.max())

    @property
    def worst(self) -> tuple[int, int]:
        """The query and the head with that error."""
        row, head = np.unravel_index(self.ratios.argmax(), self.got.shape)
        return int(row), int(head)

    @property
    def ratios(self) -> Floats:
        """All errors in units of their bounds."""
        return np.asarray(np.abs(self.got - self.expected) / self.bound)


def can_count(probe: Probe) -> bool:
    """Return whether shares can be read, and not only their ratios.

    A norm after attention divides by their size, a shorter cache may round values, and with tied
    embeddings a query's channels change before the last norm.
    """
    unknown = probe.plan.encoder or probe.plan.tied or probe.normed_behind or probe.cache
    return probe.turns and not unknown


def counted(probe: Probe, group: Group, prompt: Prompt, logits: Floats, dtype: str) -> Count | None:
    """Count the keys that queries see, from logits of key and neutral one, [queries, heads, 2].

    With keys for several layers, the number is the mean over layers.

    Returns None if the neutral one has no share, which scores report.
    """
    of_key, of_neutral = logits[..., 0], logits[..., 1]
    if not (of_neutral > 0).all():
        return None
    whole = float(probe.logits(prompt.gain, np.array(1.0)))
    of_sinks = np.exp(SINKS) if probe.family.sinks else np.zeros(2)
    keys = 1 + len(prompt.also)
    expected = np.asarray(_others(group, prompt)[:, np.newaxis] + of_sinks, dtype=np.float64)
    unit = UNIT_ROUNDOFF[dtype]
    in_sum = expected * UNIT_ROUNDOFF["float32"]  # exponentials are added in float32
    rounding = (roundings_of_reading(probe, prompt) + 2 * keys) * unit + OF_A_NORM + in_sum
    of_biases = probe.largest_score(prompt.gain) * off_of_other(left(probe, prompt.gain, unit))
    rounding += np.expm1(longer(group) ** 2 * of_biases)
    off = 2 * whole * rounding + LOG_PROBABILITY * (1 + whole / of_neutral)
    return Count(expected, keys * (whole - of_key) / of_neutral, keys * off / of_neutral)


def _others(group: Group, prompt: Prompt) -> Ints:
    """Compute the number of keys that each query sees, with its own, without the measured one."""
    positions, keys = np.array(prompt.positions), prompt.key + np.arange(1 + len(prompt.also))
    most = positions + 1
    seen = np.ones((len(keys), len(most)), dtype=int)
    if group.window is not None:
        if group.attention == "chunked":
            most = positions % group.window + 1
            seen = np.equal.outer(keys // group.window, positions // group.window).astype(int)
        else:
            most = np.minimum(most, group.window)
            seen = (positions - keys[:, np.newaxis] < group.window).astype(int)
    return np.asarray(most - seen.sum(axis=0))
