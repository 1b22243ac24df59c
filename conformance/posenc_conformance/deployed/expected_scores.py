"""The scores that a right engine gives, and how far rounding may take it from them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from posenc_conformance.deployed.kv_cache import CACHES
from posenc_conformance.deployed.probe_checkpoint import Probe
from posenc_conformance.deployed.prompts import Prompt, keys_seen, shares_of
from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Floats, Ints
from posenc_conformance.models.cost import multiplier
from posenc_conformance.models.meaning import Group, case_of, rows_of

ROUNDINGS_OF_A_SCORE = 5
"""What is rounded before a score, besides the rotation itself: the norm and the projection, of the
query and of the key, and the score."""
ROUNDINGS_OF_A_READING = 16
"""What is rounded after it, once for the key and once for the neutral one: the share, what the head
makes of it, the output projection, the sum, the norm (twice), the logit, the weight of the norm."""
ROUNDINGS_OF_A_LATENT = 2
"""What is rounded besides before a score where attention is latent: the norm of the query's narrow
layer, and the projection behind it."""
ROUNDINGS_OF_A_CAP = 4
"""What is rounded where a number is capped: the quotient, the hyperbolic tangent, which may be off
by two units, and the product."""
ROUNDINGS_OF_A_HEAD = 16
"""What is rounded besides in the head of an encoder, once for the key and once for the neutral one:
the matrix, the activation (its argument, a function of it that may be off by two units, and the
product), and the norm (as it is computed, as it is converted, and its product with its weight)."""
ROUNDINGS_OF_A_NORM = 6
"""What is rounded besides where a norm stands behind attention, once for the key and once for the
neutral one: the norm as it is computed, as it is converted, and its product with its weight."""
LOG_PROBABILITY = 2.0**-17
"""Largest error of the difference of two log-probabilities from 0 to -64 that are float32: each is
made of a logit and a logarithm of at most 64, and rounded once more."""

Turn = Callable[[Floats, Ints], Floats]
"""Turns rows, [rows, channels], to positions: the queries, and as the last row the key."""


@dataclass(frozen=True)
class Scores:
    """Scores of the queries of a prompt, and how far a right engine may be off."""

    values: Floats
    """[queries, 2], of the first and of the second head; of a table [queries, 1]: rows."""
    bound: Floats


def expected(
    probe: Probe,
    group: Group,
    prompt: Prompt,
    dtype: str,
    where: Sequence[int] | None = None,
    turn: Turn | None = None,
) -> Scores:
    """Compute the scores that a group gives, in units of the largest score of a plain rotation.

    ``where`` are the positions of the queries, if they are not those of the prompt, and ``turn``
    turns rows in place of the group. ``dtype`` is the shortest one in which anything is computed or
    kept.
    """
    plan = probe.plan
    asked = plan.order[prompt.given - 1 : prompt.steps]
    places = prompt.positions if where is None else where
    queries = np.zeros((len(asked), 2, plan.head_dim))
    for number, pair in enumerate(asked):
        first, second = plan.pairs[pair]
        queries[number, 0, first] = queries[number, 1, second] = 1.0
    key = np.zeros((1, plan.head_dim))
    key[0, [first for first, _ in plan.pairs]] = 1.0
    x = np.concatenate([queries.reshape(-1, plan.head_dim), key])
    rows = np.array([*np.repeat(np.array(places), 2), prompt.key])
    if group.call is None:
        turned, off = x, np.zeros_like(x)
    else:
        case = case_of(group, {"x": x, "positions": rows_of(group, rows)}).with_fields(dtype=dtype)
        turned, off = case.truth, np.broadcast_to(case.bound, x.shape)
    if turn is not None:
        turned = turn(x, rows)
        # A mistake may turn any pair as fast as the fastest one, and then it is off by as much.
        off = np.broadcast_to(off.max(axis=-1, keepdims=True), x.shape)
    grown = np.array([multiplier(group, place) for place in places])[:, np.newaxis]
    values = grown * (turned[:-1] @ turned[-1]).reshape(-1, 2)
    lengths = np.linalg.norm(turned[:-1], axis=-1).reshape(-1, 2)
    unit = UNIT_ROUNDOFF[dtype]
    slack = off[:-1] @ np.abs(turned[-1]) + np.abs(turned[:-1]) @ off[-1]
    amplitude = probe.largest_score(prompt.gain)
    roundings = ROUNDINGS_OF_A_SCORE
    roundings += (probe.score_cap is not None) * ROUNDINGS_OF_A_CAP
    roundings += (probe.latent is not None) * ROUNDINGS_OF_A_LATENT
    of_score = slack.reshape(-1, 2) + roundings * unit * lengths**2
    if probe.cache:
        of_score = of_score + CACHES[probe.cache].off(turned[:-1], turned[-1]).reshape(-1, 2)
    roundings = ROUNDINGS_OF_A_READING + probe.plan.encoder * ROUNDINGS_OF_A_HEAD
    norms = probe.normed_behind + probe.norms_behind(prompt.layer)
    roundings += norms * ROUNDINGS_OF_A_NORM
    of_reading = noise(probe, group, prompt, values, unit) + roundings * unit / amplitude
    slope = slope_of_cap(amplitude * values, probe.score_cap)
    return Scores(values, (grown * of_score + of_reading) * slope)


def noise(probe: Probe, group: Group, prompt: Prompt, values: Floats, unit: float = 0.0) -> Floats:
    """Compute what logits and log-probabilities in float32 leave open of each score.

    ``unit`` is the unit roundoff with which a cap of logits is computed.
    """
    amplitude = probe.largest_score(prompt.gain)
    shares = shares_of(amplitude * values, keys_seen(group, prompt))
    logits = probe.logits(prompt.gain, shares)
    off = LOG_PROBABILITY / logits
    if probe.logit_cap is not None:
        off = (off + ROUNDINGS_OF_A_CAP * unit) * slope_of_cap(logits, probe.logit_cap)
    return np.asarray(off.sum(axis=-1) / amplitude)


def slope_of_cap(values: Floats, cap: float | None) -> Floats:
    """Compute by what an error of a capped number grows when the cap is taken back."""
    return np.ones_like(values) if cap is None else np.cosh(values / cap) ** 2
