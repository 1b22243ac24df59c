"""The scores of a right engine, and the bound of their rounding errors."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from posenc_conformance.deployed.kv_cache import CACHES
from posenc_conformance.deployed.probe_checkpoint import SINKS, Probe
from posenc_conformance.deployed.projection_biases import left, off_of_score
from posenc_conformance.deployed.prompts import Prompt, keys_seen, shares_of
from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Floats, Ints
from posenc_conformance.models.cost import multiplier
from posenc_conformance.models.meaning import Group, case_of, rows_of

ROUNDINGS_OF_A_SCORE = 5
"""Roundings before a score, besides the rotation itself: the norm and the projection, of the query
and of the key, and the score."""
ROUNDINGS_OF_A_READING = 16
"""Roundings after a score, once for the key and once for the neutral one: the share, the output of
the head, the output projection, the sum, the norm (twice), the logit, the weight of the norm."""
ROUNDINGS_OF_A_LATENT = 2
"""Additional roundings before a score in latent attention: the norm of the query's low-rank layer,
and the projection after it."""
ROUNDINGS_OF_A_CAP = 4
"""Roundings of a soft cap: the quotient, the hyperbolic tangent, which may be off by two units, and
the product."""
ROUNDINGS_OF_A_HEAD = 16
"""Additional roundings in the head of an encoder, once for the key and once for the neutral one:
the matrix, the activation (its argument, a function of it that may be off by two units, and the
product), and the norm (as it is computed, as it is converted, and its product with its weight)."""
ROUNDINGS_OF_A_NORM = 6
"""Additional roundings of a norm after attention, once for the key and once for the neutral one:
the norm as it is computed, as it is converted, and its product with its weight."""
LOG_PROBABILITY = 2.0**-17
"""Largest error of the difference of two float32 log-probabilities from 0 to -64: each is computed
from a logit and a logarithm of at most 64, and rounded once more."""

Turn = Callable[[Floats, Ints], Floats]
"""Rotates rows, [rows, channels], to positions: the queries, and as the last row the key."""


@dataclass(frozen=True)
class Scores:
    """Scores of the queries of a prompt, and the largest error of a right engine."""

    values: Floats
    """[queries, 2], for the first and the second head; for a table the rows, [queries, 1]."""
    bound: Floats


def expected(
    probe: Probe,
    group: Group,
    prompt: Prompt,
    dtype: str,
    where: Sequence[int] | None = None,
    turn: Turn | None = None,
) -> Scores:
    """Compute the scores of a group, in units of the largest score of a plain rotation.

    ``where`` replaces the prompt's positions of queries, and ``turn`` replaces the group's
    rotation. ``dtype`` is the one with the fewest bits in which anything is computed or stored.
    """
    scores = before_reading(probe, group, prompt, dtype, where, turn)
    unit, amplitude = UNIT_ROUNDOFF[dtype], probe.largest_score(prompt.gain)
    of_reading = noise(probe, group, prompt, scores.values, unit)
    of_reading += roundings_of_reading(probe, prompt) * unit / amplitude
    slope = slope_of_cap(amplitude * scores.values, probe.score_cap)
    return Scores(scores.values, (scores.bound + of_reading) * slope)


def before_reading(
    probe: Probe,
    group: Group,
    prompt: Prompt,
    dtype: str,
    where: Sequence[int] | None = None,
    turn: Turn | None = None,
) -> Scores:
    """Compute the same scores, and their largest errors before any cap and any reading."""
    places = prompt.positions if where is None else where
    queries, key = queries_and_key(probe, prompt)
    x = np.concatenate([queries, key])
    rows = np.array([*np.repeat(np.array(places), 2), prompt.key])
    if group.call is None:
        turned, off = x, np.zeros_like(x)
    else:
        case = case_of(group, {"x": x, "positions": rows_of(group, rows)}).with_fields(dtype=dtype)
        turned, off = case.truth, np.broadcast_to(case.bound, x.shape)
    if turn is not None:
        turned = turn(x, rows)
        # A mistake may rotate any pair as fast as the fastest one, with the error of that one.
        off = np.broadcast_to(off.max(axis=-1, keepdims=True), x.shape)
    grown = np.array([multiplier(group, place) for place in places])[:, np.newaxis]
    values = grown * (turned[:-1] @ turned[-1]).reshape(-1, 2)
    lengths = np.linalg.norm(turned[:-1], axis=-1).reshape(-1, 2)
    slack = off[:-1] @ np.abs(turned[-1]) + np.abs(turned[:-1]) @ off[-1]
    roundings = ROUNDINGS_OF_A_SCORE
    roundings += (probe.score_cap is not None) * ROUNDINGS_OF_A_CAP
    roundings += (probe.latent is not None) * ROUNDINGS_OF_A_LATENT
    part = left(probe, prompt.gain, UNIT_ROUNDOFF[dtype])
    part *= 1 + bool(probe.cache)  # a short cache may lose what is left as well
    relative = roundings * UNIT_ROUNDOFF[dtype] + off_of_score(part)
    of_score = slack.reshape(-1, 2) + relative * lengths**2
    if probe.cache:
        of_score = of_score + CACHES[probe.cache].off(turned[:-1], turned[-1]).reshape(-1, 2)
    return Scores(values, grown * of_score)


def queries_and_key(probe: Probe, prompt: Prompt) -> tuple[Floats, Floats]:
    """Return the rows of a prompt's queries, two for each, and of its key, before any rotation."""
    plan, (in_first, in_second) = probe.plan, probe.query_sizes
    asked = [plan.order[step] for step in prompt.measured]
    queries = np.zeros((len(asked), 2, plan.head_dim))
    for number, pair in enumerate(asked):
        first, second = plan.pairs[pair]
        queries[number, 0, first], queries[number, 1, second] = in_first, in_second
    key = np.zeros((1, plan.head_dim))
    key[0, [first for first, _ in plan.pairs]] = 1.0
    return queries.reshape(-1, plan.head_dim), key


def roundings_of_reading(probe: Probe, prompt: Prompt) -> int:
    """Count the roundings after a score, once for the key and once for the neutral one."""
    norms = probe.normed_behind + probe.family.values_normed + probe.norms_behind(prompt.layer)
    in_head = probe.plan.encoder * ROUNDINGS_OF_A_HEAD
    return ROUNDINGS_OF_A_READING + in_head + norms * ROUNDINGS_OF_A_NORM


def noise(probe: Probe, group: Group, prompt: Prompt, values: Floats, unit: float = 0.0) -> Floats:
    """Compute the error of each score from float32 logits and log-probabilities.

    ``unit`` is the unit roundoff with which a cap of logits is computed.
    """
    amplitude = probe.largest_score(prompt.gain)
    seen = keys_seen(group, prompt) + (math.ceil(math.exp(max(SINKS))) if probe.family.sinks else 0)
    shares = shares_of(amplitude * values, seen)
    logits = probe.logits(prompt.gain, shares)
    off = LOG_PROBABILITY / logits
    if probe.logit_cap is not None:
        off = (off + ROUNDINGS_OF_A_CAP * unit) * slope_of_cap(logits, probe.logit_cap)
    return np.asarray(off.sum(axis=-1) / amplitude)


def slope_of_cap(values: Floats, cap: float | None) -> Floats:
    """Compute the factor by which inverting a cap enlarges an error."""
    return np.ones_like(values) if cap is None else np.cosh(values / cap) ** 2
