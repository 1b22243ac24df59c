"""Biases of queries and keys, which change no score of a right engine.

All tokens have a channel in common. Its weights are the biases with the opposite sign, so that each
query and each key is what it would be without either. If an engine drops a bias, adds it elsewhere
or after the rotation, every token keeps a part that nothing takes back.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from posenc_conformance.deployed.architectures.tensor_layout import Layer
from posenc_conformance.deployed.instrument import power_below, value_of
from posenc_conformance.deployed.probe_checkpoint import Probe
from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Floats, round_to

OF_QUERIES = (1.0, 0.5, 1.0, 0.25, 0.5, 0.25, 1.0)
"""Biases of a query's channels, again and again, in units of the largest. All of them are positive:
the measured key has all pairs, and its scores with them shall not cancel."""
OF_KEYS = (1.0, -0.5, 0.25, 0.5, -1.0)
"""The same for keys, of which a query reads one pair. The lengths of the two lists are no multiple
of each other, nor of a head's size: no two heads, layers or parts have the same biases."""
ALL_OF_QUERIES = 0.5
"""Upper bound of the sum of a query's biases, in units of the query's own channel."""
LARGEST_OF_KEYS = 0.25
"""Upper bound of a key's bias, in units of the key's other channels without a value."""
SHORT = "bfloat16"
"""The dtype with the fewest bits, in which biases and their weights are exact."""
MANTISSAS = 1 + np.arange(128) / 128
"""The numbers from 1 to 2 in that dtype."""
DECIMALS = 9
"""Decimals of the errors of those ratios that matter."""
ROUNDINGS_OF_TAKING_BACK = 2
"""Roundings of what takes a bias back: the norm, and the product before the bias is added."""
PAIR_OF_KEYS = 1.5 * LARGEST_OF_KEYS
"""Upper bound of the length of a key's biases in a pair: of two that are as large as that, where
the key's own channels are a little smaller beside a large value."""


@dataclass(frozen=True)
class Unit:
    """The largest bias of a query or a key, and the weight that takes it back, without sizes."""

    bias: float
    weight: float


@cache
def unit_of(read: float) -> Unit:
    """Return the numbers of SHORT whose ratio is nearest to a size that projections read."""
    biases = round_to(MANTISSAS * read, SHORT)
    best = int(np.round(np.abs(biases / (MANTISSAS * read) - 1), DECIMALS).argmin())
    return Unit(float(biases[best]), float(MANTISSAS[best]))


def biases(probe: Probe, layer: int) -> Layer:
    """Return the biases of a layer, [channels, 1]: those of values are 0."""
    unit = unit_of(probe.read_of()).bias
    return _layer(probe, layer, unit)


def take_back(probe: Probe, layer: int, weights: Layer) -> Layer:
    """Return the projections of a layer, with weights that take the biases back.

    A key with a large value has a smaller common channel; if all are of one size, the channel of
    the value makes up for it.
    """
    plan, unit = probe.plan, unit_of(probe.read_of())
    taken = _layer(probe, layer, -plan.sign_of_common * unit.weight)
    query, key = weights.query.copy(), weights.key.copy()
    query[:, plan.common] += taken.query[:, 0]
    key[:, plan.common] += taken.key[:, 0]
    for neutral in (False, True):
        channel = plan.value(layer, neutral=neutral)
        part = plan.sign_of_common * _part_of_value(probe) * taken.key[:, 0]
        for place, weight in plan.balanced(channel, plan.share).items():
            key[:, place] += round_to(weight * part, SHORT)
    return Layer(query, key, weights.value, weights.kv_heads)


def _part_of_value(probe: Probe) -> float:
    """Return what a value's channel adds for the common one, as a part of the latter's weight."""
    (gain, *others) = probe.plan.gains
    if others:
        return 0.0
    return (probe.read_of() / probe.read_of(gain) - 1) / value_of(gain)


def _layer(probe: Probe, layer: int, unit: float) -> Layer:
    """Return ``unit`` times the sizes of a layer's biases, [channels, 1]."""
    plan = probe.plan
    weight = unit_of(probe.read_of()).weight
    turned = sorted({channel for pair in plan.pairs for channel in pair})
    of_query = np.resize(OF_QUERIES, len(turned))
    of_query *= power_below(ALL_OF_QUERIES / (weight * of_query.sum()))
    of_key = np.resize(OF_KEYS, len(turned)) * power_below(LARGEST_OF_KEYS / weight)

    def spread(sizes: Floats, heads: int) -> Floats:
        rows = np.zeros((heads, plan.head_dim))
        for head in range(heads):
            rows[head, turned] = np.roll(sizes, layer + head)
        return rows.reshape(-1, 1)

    query = unit * spread(of_query, plan.heads)
    key = unit * probe.key_weight * spread(of_key, plan.kv_heads)
    return Layer(query, key, np.zeros_like(key), plan.kv_heads)


def in_heads(probe: Probe, layer: int, gain: int) -> tuple[Floats, Floats]:
    """Return the biases in the two heads that measure, [2, channels], of queries and of keys.

    They are in units of the query's own channel, and of the other channels of a key of that gain.
    """
    plan, made = probe.plan, biases(probe, layer)
    heads = plan.heads_of(layer)
    of_keys = [head * plan.kv_heads // plan.heads for head in heads]
    query = made.query.reshape(-1, plan.head_dim)[[*heads]] / probe.read_of()
    key = made.key.reshape(-1, plan.head_dim)[of_keys] / probe.key_weight
    return query, key / probe.read_of(gain)


def left(probe: Probe, gain: int, unit: float) -> float:
    """Return the largest part of a bias that a right engine does not take back.

    ``unit`` is the unit roundoff. A key's own value changes the size of the common channel.
    """
    if not probe.plan.with_biases:
        return 0.0
    numbers = unit_of(probe.read_of())
    weights, part = numbers.weight / numbers.bias, _part_of_value(probe) * value_of(gain)
    sizes = np.array([probe.read_of(), probe.read_of(gain) * (1 + part)])
    exact = np.abs(1 - weights * sizes).max() + part * UNIT_ROUNDOFF[SHORT]
    return float(exact + ROUNDINGS_OF_TAKING_BACK * unit)


def off_of_score(part: float) -> float:
    """Return by how much a score with a key is off, less that of the neutral one.

    ``part`` is the part of biases that is left, of the query, the key and the neutral one.
    """
    return part * (2 * PAIR_OF_KEYS + ALL_OF_QUERIES) + 2 * part**2 * PAIR_OF_KEYS * ALL_OF_QUERIES


def off_of_other(part: float) -> float:
    """Return by how much the score with any other key differs from 0."""
    return part * PAIR_OF_KEYS * (1 + part * ALL_OF_QUERIES)
