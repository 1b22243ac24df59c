"""Pictures of an engine's answers: errors by distance, by layer and by pair, a window's edge."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from posenc_conformance.deployed.expected_scores import Scores
from posenc_conformance.deployed.instrument import Instrument
from posenc_conformance.deployed.measure import Measured
from posenc_conformance.deployed.probe_checkpoint import Probe
from posenc_conformance.deployed.prompts import Prompt
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.pictures.picture import Lines, Map, Picture, line, map_errors

Judged = tuple[Measured, Scores]
"""What was read of a text, and what was expected."""


def pictures_of(probe: Probe, judged: Sequence[Judged], worst: Judged) -> tuple[Picture, ...]:
    """Draw the texts judged so far, and the angles of the worst one.

    A map of the worst text's layer has a row for each distance, and a map of all layers has a row
    for each layer, if there are several rows.
    """
    layer = worst[0].prompt.layer
    of_layer = [each for each in judged if each[0].prompt.layer == layer]
    by = f"error in units of its bound, layer {layer} by distance"
    maps = (
        _map(probe.plan, by, "distance", of_layer, lambda prompt: prompt.distances[-1]),
        _map(
            probe.plan,
            "error in units of its bound, by layer",
            "layer",
            judged,
            lambda prompt: prompt.layer,
        ),
    )
    return (*(each for each in maps if each is not None), *_angles(probe, worst))


def window_edge(distances: Sequence[int], seen: Sequence[bool], reach: int) -> Lines:
    """Draw which keys a query sees on both sides of a window's edge."""
    expected = [float(distance <= reach) for distance in distances]
    series = line("expected", distances, expected), line("got", distances, map(float, seen))
    return Lines("keys that a query sees: 1, or does not see: 0", "distance", "seen", series)


def angle_errors(probe: Probe, got: Floats, right: Floats) -> Floats:
    """Return the angle by which each query's pair of scores is off, in radians.

    It is not a number where a key is not seen.
    """
    (first, second), (right_first, right_second) = (
        (values / probe.query_sizes).T for values in (got, right)
    )
    with np.errstate(invalid="ignore"):
        turned = (first + 1j * second) * np.conj(right_first + 1j * right_second)
        return np.asarray(np.angle(turned))


def _columns(plan: Instrument, prompt: Prompt) -> list[int]:
    """Return the pair that each query of a text asks, or its number where none asks a pair."""
    is_pair = plan.asks == "pairs"
    return [plan.order[step] if is_pair else step for step in prompt.measured]


def _map(
    plan: Instrument,
    title: str,
    down: str,
    judged: Sequence[Judged],
    row_of: Callable[[Prompt], int],
) -> Map | None:
    """Draw the largest error of each row and column; None for fewer than two rows."""
    rows = sorted({row_of(measured.prompt) for measured, _ in judged})
    if len(rows) < 2:
        return None
    columns = sorted({each for got, _ in judged for each in _columns(plan, got.prompt)})
    ratio = np.full((len(rows), len(columns)), -1.0)
    for measured, scores in judged:
        row = rows.index(row_of(measured.prompt))
        places = [columns.index(each) for each in _columns(plan, measured.prompt)]
        off = np.nan_to_num(measured.ratio(scores), nan=np.inf).max(axis=1)
        ratio[row, places] = np.maximum(ratio[row, places], off)
    across = "pair" if plan.asks == "pairs" else "query"
    return map_errors(title, ratio[None], ratio[None] >= 0, (down, across), (rows, columns))


def _angles(probe: Probe, worst: Judged) -> Iterator[Lines]:
    """Draw by how much the angles of a text's pairs are off, if its probe asks angles."""
    measured, right = worst
    if not probe.turns or len(measured.values) < 2:
        return
    off = angle_errors(probe, measured.values, right.values)
    columns = np.array(_columns(probe.plan, measured.prompt))
    order = np.argsort(columns)
    series = (
        line("expected", columns[order], np.zeros(len(order))),
        line("got", columns[order], off[order]),
    )
    first, last = measured.prompt.distances[0], measured.prompt.distances[-1]
    title = f"angles off by, at distances of {first:,} to {last:,}"
    yield Lines(title, "pair", "radians", series)
