"""Position tables: prompts, the rows of a right engine, and those of wrong ones."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from posenc_conformance.deployed.expected_scores import Scores
from posenc_conformance.deployed.measure import Measured
from posenc_conformance.deployed.position_errors import Places, wrong_places
from posenc_conformance.deployed.probe_checkpoint import Probe
from posenc_conformance.deployed.prompts import LONGEST_NEAR, Prompt
from posenc_conformance.judge.arrays import Floats, Ints
from posenc_conformance.models.meaning import Context, Group, case_of

A_QUARTER = 0.25
"""Bound of a row: a row is read exactly, or half of the next one is added; nothing else lies
between two rows."""
HALF_A_ROW = 0.5
"""Addition to an encoder's rows by the token type of the second of two texts."""
Rows = Callable[[Ints], Ints]
"""Returns the rows that positions read."""


def prompt_for(probe: Probe, distance: int, steps: int | None = None) -> Prompt:
    """Make the prompt whose first query is at position ``distance``; if that is far, its last."""
    count = len(probe.plan.pairs) if steps is None else steps
    first = distance if distance <= LONGEST_NEAR else distance - count + 1
    total = first + count if probe.plan.encoder else 0
    gain = probe.plan.gains[0]
    return Prompt(layer=0, gain=gain, key=0, first=first, steps=count, total=total)


def expected(group: Group, prompt: Prompt, rows: Rows | None = None, more: float = 0.0) -> Scores:
    """Compute the rows that queries read, [queries, 1]; ``rows`` replaces those of the group.

    ``more`` is added to each row.
    """
    read = (rows or partial(right_rows, group))(np.array(prompt.positions))
    values = np.asarray(read, dtype=np.float64)[:, np.newaxis] + more
    return Scores(values, np.full(values.shape, A_QUARTER))


def right_rows(group: Group, positions: Ints) -> Ints:
    """Return the rows that positions read, by the definition of the scheme."""
    table = np.arange(group.parameters["rows"], dtype=np.float64)[:, np.newaxis]
    values: Floats = case_of(group, {"positions": positions, "table": table}).truth[:, 0]
    return values.astype(np.int64)


def explanations(
    probe: Probe, group: Group, context: Context, found: Sequence[Measured]
) -> Iterator[tuple[str, str, Callable[[Prompt], Scores]]]:
    """Yield the known mistakes: an id, a description, and the rows that each reads."""
    right = partial(right_rows, group)
    offset = int(right(np.array([0]))[0])
    got = np.concatenate([measured.values[:, 0] for measured in found])
    places = np.concatenate([measured.prompt.positions for measured in found])
    shift = int(got[0] - right(places[:1])[0])
    if offset:
        words = f"rows without the offset of {offset}"
        yield "offset-missing", f"matches {words}", partial(expected, group, rows=lambda p: p)
        words = f"rows with the offset of {offset} twice"
        twice = partial(expected, group, rows=lambda p: p + 2 * offset)
        yield "offset-twice", f"matches {words}", twice
    if shift:
        words = f"matches rows that are {abs(shift)} too {'far on' if shift > 0 else 'far back'}"
        moved = partial(expected, group, rows=lambda p: right(p) + shift)
        yield "rows-shifted", words, moved
    if probe.plan.encoder:
        words = "matches words that are taken for those of the second of two texts"
        yield "token-type-of-second", words, partial(expected, group, more=HALF_A_ROW)
    last = int(got.max())
    words = f"matches a table that ends with row {last:,}: positions beyond it get its last row"
    cut = partial(expected, group, rows=lambda p: np.minimum(right(p), last))
    yield "rows-clamped", words, cut
    for count in (64, 128, 256, 512, 1024, 2048, 4096):
        words = f"matches rows that start anew after {count:,}"
        again = partial(expected, group, rows=partial(_anew, right, count))
        yield "rows-start-anew", words, again
    for id, words, wrong in wrong_places(context, writes=not probe.plan.encoder):
        yield id, f"matches {words}", partial(_at, group, wrong)


def _anew(right: Rows, count: int, positions: Ints) -> Ints:
    """Return the rows of positions that restart after ``count``."""
    return right(positions % count)


def _at(group: Group, places: Places, prompt: Prompt) -> Scores:
    """Return the rows of queries at wrong positions."""
    last = int(group.parameters["rows"]) - 1 - int(right_rows(group, np.array([0]))[0])
    positions = np.clip(np.array(places(prompt)[0]), 0, last)
    values = np.asarray(right_rows(group, positions), dtype=np.float64)
    return Scores(values[:, np.newaxis], np.full((len(values), 1), A_QUARTER))
