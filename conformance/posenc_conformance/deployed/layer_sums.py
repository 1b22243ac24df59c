"""Texts with keys for several layers, whose readings add up in the hidden state.

The key of each layer has the same score in all of them, but only its own layer has a value for it.
So what is read of a right engine is the mean of the exponentials of all scores.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from posenc_conformance.deployed.expected_scores import (
    LOG_PROBABILITY,
    Scores,
    before_reading,
    roundings_of_reading,
)
from posenc_conformance.deployed.instrument import READ_WEIGHT
from posenc_conformance.deployed.keys_counted import OF_A_NORM
from posenc_conformance.deployed.probe_checkpoint import Probe
from posenc_conformance.deployed.projection_biases import left, off_of_other, off_of_score
from posenc_conformance.deployed.prompts import Prompt, keys_seen
from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Flags, Floats
from posenc_conformance.models.meaning import Group
from posenc_conformance.models.misreadings import longer

SEVERAL = (32, 16, 8, 4, 2)
"""Numbers of layers that one text may check."""


def can_add_up(probe: Probe) -> bool:
    """Return whether the readings of layers add up.

    A norm after attention makes the readings of every layer as large as the logits may be, and a
    cap of scores cannot be inverted for a sum.
    """
    return probe.turns and not (probe.plan.encoder or probe.normed_behind or probe.score_cap)


def across(prompt: Prompt, layers: Sequence[int]) -> Prompt:
    """Return a text with the keys of several layers, and that of the first one again at the end.

    The last key stays visible when those before it leave a window. It is just before the query if
    the text's key is there.
    """
    before = len(layers) * (prompt.key == prompt.first - 1)
    key, also = prompt.key - before, (*layers[1:], layers[0])
    return replace(prompt, key=key, layer=layers[0], also=also)


def visible(group: Group, prompt: Prompt) -> Flags:
    """Return which queries see which key, [keys, queries]."""
    keys = prompt.key + np.arange(1 + len(prompt.also))
    distances = np.array(prompt.positions) - keys[:, np.newaxis]
    reach = np.inf if group.reach is None else group.reach
    return np.asarray((distances >= 0) & (distances <= reach))


@dataclass(frozen=True)
class LayerSum:
    """The scores of a text's keys, and the errors of each before any reading."""

    probe: Probe
    group: Group
    prompt: Prompt
    dtype: str

    @cached_property
    def _keys(self) -> list[Scores]:
        alone = replace(self.prompt, also=())
        places = range(self.prompt.key, self.prompt.key + 1 + len(self.prompt.also))
        return [
            before_reading(self.probe, self.group, replace(alone, key=place), self.dtype)
            for place in places
        ]

    def scores(self, seen: Flags) -> Scores:
        """Compute the logarithm of the mean of the keys' exponentials, in units of a largest score.

        ``seen``, [keys, queries], says which queries see which key. An error in every score changes
        the logarithm by no more than the largest of them.
        """
        probe, gain, count = self.probe, self.prompt.gain, len(self._keys)
        amplitude, sees = probe.largest_score(gain), seen[..., np.newaxis]
        total = (sees * self._raised).sum(axis=0)
        weights = total + keys_seen(self.group, self.prompt)[:, np.newaxis]
        shares = np.stack([total, np.full_like(total, count)], axis=-1) / weights[..., np.newaxis]
        with np.errstate(divide="ignore"):
            values = np.log(total / count) / amplitude
            of_reading = (LOG_PROBABILITY / probe.logits(gain, shares)).sum(axis=-1)
        roundings = roundings_of_reading(probe, self.prompt) + self._roundings_of_sums(sees)
        of_reading += roundings * UNIT_ROUNDOFF[self.dtype] + self._changed
        off = (sees * self._bounds).max(axis=0)
        return Scores(values, off + of_reading / amplitude)

    def _roundings_of_sums(self, sees: Flags) -> Floats:
        """Count the roundings of all sums but the last, [queries, heads], in units of the last one.

        A layer adds up the values of its own keys; each layer adds the result to the hidden state,
        for the key and for the neutral one. Nothing that is added is negative, so that a sum is
        rounded by no more than its part of the last one.
        """
        layers = np.array([self.prompt.layer, *self.prompt.also])
        among = layers[:, np.newaxis] == np.unique(layers)  # layers compute in this order
        weights = np.stack([sees * self._raised, np.ones_like(self._raised)])
        sums = np.cumsum(np.einsum("akqh,kl->laqh", weights, among), axis=0)
        with np.errstate(invalid="ignore"):  # where no key is seen
            of_state = np.nan_to_num(sums / sums[-1]).sum(axis=(0, 1)) - 2
        return np.asarray(of_state + 2 * (among.sum(axis=0) - 1).max())

    @cached_property
    def _raised(self) -> Floats:
        """The exponentials of all scores, [keys, queries, heads]."""
        amplitude = self.probe.largest_score(self.prompt.gain)
        return np.asarray(np.exp(amplitude * np.stack([scores.values for scores in self._keys])))

    @cached_property
    def _bounds(self) -> Floats:
        """The largest errors of all scores, [keys, queries, heads]."""
        probe, gain = self.probe, self.prompt.gain
        of_biases = 0.0
        if probe.plan.with_biases:  # queries of two layers give different weight to other keys
            part = left(probe, gain, UNIT_ROUNDOFF[self.dtype]) + self._changed
            of_biases = off_of_score(self._changed) + 2 * off_of_other(part)
        of_biases *= longer(self.group) ** 2
        changed = [self._changed * np.abs(scores.values) for scores in self._keys]
        off = [scores.bound for scores in self._keys]
        return np.stack(off) + np.stack(changed) + of_biases

    @cached_property
    def _changed(self) -> float:
        """The largest relative change of a norm by the readings that earlier layers have added.

        A key near the beginning of a text sees few tokens, and gives itself a large share of each.
        The readings of one layer alone change no norm before it.
        """
        if {*self.prompt.also} == {self.prompt.layer}:
            return OF_A_NORM
        share = np.array(1 / (self.prompt.key + 1))
        reading = float(self.probe.logits(self.prompt.gain, share)) * len(self._keys) / READ_WEIGHT
        return OF_A_NORM + reading**2 / self.probe.plan.hidden
