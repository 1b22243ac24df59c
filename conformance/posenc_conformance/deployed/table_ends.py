"""The number of positions that an engine tells apart, derived from measured scores.

Later positions start anew, or all get the last one, as with a table that is too short.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from posenc_conformance.deployed.expected_scores import expected, queries_and_key
from posenc_conformance.deployed.measure import Measured
from posenc_conformance.deployed.probe_checkpoint import Probe
from posenc_conformance.judge.arrays import Floats, Ints
from posenc_conformance.models.cost import multiplier
from posenc_conformance.models.meaning import Group, case_of, rows_of

LEAST = 16
"""Smallest number of positions that is tried."""
BLOCK = 256
"""Numbers of positions that are tried at the same time."""
QUERIES = 4
"""Queries of the first text on which all numbers are tried; the others confirm one of them."""
Read = Callable[[Ints, Ints], Ints]
"""Returns the positions that are read for some positions and some ends."""
WAYS: Mapping[str, tuple[str, Read]] = {
    "positions-wrapped": ("start anew", lambda places, ends: places % ends),
    "positions-clamped": ("get the last one", lambda places, ends: np.minimum(places, ends - 1)),
}


def end_of_positions(
    probe: Probe, group: Group, dtype: str, found: Sequence[Measured]
) -> tuple[str, str] | None:
    """Return the id and words for the only end of positions that explains all measurements.

    Returns None if there is none, or several.
    """
    last = max(found, key=lambda measured: measured.prompt.positions[-1])
    fitting = [
        (id, f"positions from {end:,} on {words}")
        for id, (words, read) in WAYS.items()
        for end in _ends(probe, group, dtype, last, read)
        if all(_agrees(probe, group, dtype, measured, read, end) for measured in found)
    ]
    return fitting[0] if len(fitting) == 1 else None


def _agrees(
    probe: Probe, group: Group, dtype: str, measured: Measured, read: Read, end: int
) -> bool:
    """Return whether a text has the scores of positions that end."""
    prompt, ends = measured.prompt, np.array(end)
    *queries, key = map(int, read(np.array([*prompt.positions, prompt.key]), ends))
    return measured.agrees_with(
        expected(probe, group, replace(prompt, key=key), dtype, where=queries)
    )


def _ends(probe: Probe, group: Group, dtype: str, measured: Measured, read: Read) -> Iterator[int]:
    """Yield the ends that explain the last queries of a text."""
    prompt = measured.prompt
    queries, key = queries_and_key(probe, prompt)
    right = expected(probe, group, prompt, dtype)
    few = slice(-QUERIES, None)
    places = np.array(prompt.positions)[few]
    queries, bound = queries[-2 * len(places) :], 2 * right.bound[few]
    for start in range(LEAST, prompt.positions[-1] + 1, BLOCK):
        ends = np.arange(start, min(start + BLOCK, prompt.positions[-1] + 1))
        at = np.repeat(read(places, ends[:, np.newaxis]), 2, axis=1)
        keys = _turned(group, np.repeat(key, len(ends), axis=0), read(np.array(prompt.key), ends))
        turned = _turned(group, np.tile(queries, (len(ends), 1)), at.ravel())
        values = (turned.reshape(*at.shape, -1) * keys[:, np.newaxis]).sum(axis=-1)
        grown = np.array([multiplier(group, int(place)) for place in at.ravel()])
        values = (grown.reshape(at.shape) * values).reshape(len(ends), -1, 2)
        fits = (np.abs(values - measured.values[few]) <= bound).all(axis=(1, 2))
        yield from map(int, ends[fits])


def _turned(group: Group, x: Floats, places: Ints) -> Floats:
    return case_of(group, {"x": x, "positions": rows_of(group, places)}).truth
