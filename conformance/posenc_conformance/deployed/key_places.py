"""The position to which an engine rotated a key, derived from measured scores."""

from collections.abc import Iterator

import numpy as np

from posenc_conformance.deployed.expected_scores import Scores, queries_and_key
from posenc_conformance.deployed.measure import Measured
from posenc_conformance.deployed.probe_checkpoint import Probe
from posenc_conformance.judge.arrays import Floats, Ints
from posenc_conformance.models.cost import multiplier
from posenc_conformance.models.meaning import Group, case_of, rows_of

BLOCK = 4096
"""Positions that are tried at the same time."""
AFTER = 64
"""Positions after that of the key that are tried. One as near as this counts as the only one: few
queries have the same scores at positions that are many turns away."""


def place_of_key(probe: Probe, group: Group, measured: Measured, right: Scores) -> int | None:
    """Return the only position of the key that explains the scores, if the queries are right.

    Returns None if no position does, or several near the key, or several of which none is near.
    """
    found = [
        place
        for places in _blocks(measured.prompt.key + AFTER)
        for place in places[_fits(probe, group, measured, right, places)]
    ]
    near = [place for place in found if abs(place - measured.prompt.key) <= AFTER]
    only = near or found
    return int(only[0]) if len(only) == 1 else None


def _blocks(end: int) -> Iterator[Ints]:
    for start in range(0, end, BLOCK):
        yield np.arange(start, min(start + BLOCK, end))


def _fits(probe: Probe, group: Group, measured: Measured, right: Scores, places: Ints) -> Floats:
    """Return which positions of the key explain the scores."""
    prompt = measured.prompt
    queries, key = queries_and_key(probe, prompt)
    at = np.repeat(np.array(prompt.positions), 2)
    turned = _turned(group, queries, at)
    keys = _turned(group, np.repeat(key, len(places), axis=0), places)
    grown = np.array([multiplier(group, place) for place in at])[:, np.newaxis]
    values = (grown * (turned @ keys.T)).reshape(*measured.values.shape, len(places))
    off = np.abs(values - measured.values[..., np.newaxis])
    return np.asarray((off <= right.bound[..., np.newaxis]).all(axis=(0, 1)))


def _turned(group: Group, x: Floats, places: Ints) -> Floats:
    return case_of(group, {"x": x, "positions": rows_of(group, places)}).truth
