"""Mistakes in the biases of queries and keys: missing, late, or those of other channels."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from posenc_conformance.deployed.expected_scores import Scores, noise, queries_and_key
from posenc_conformance.deployed.probe_checkpoint import Probe
from posenc_conformance.deployed.projection_biases import biases, in_heads
from posenc_conformance.deployed.prompts import Prompt
from posenc_conformance.judge.arrays import Floats, Ints
from posenc_conformance.models.cost import multiplier
from posenc_conformance.models.layer_frequencies import rotated
from posenc_conformance.models.meaning import Group, case_of, rows_of

Named = tuple[str, str, Callable[[Prompt], Scores]]
"""An id, a description, and the scores of a prompt."""
LARGER_ERRORS = 3.0
"""By how much errors may grow: the sums of the channels of a query and of a key grow by less than a
half, and those of the neutral key are less than a half of the key's."""


@dataclass(frozen=True)
class Biases:
    """Rows of biases that an engine adds, [rows, channels], before the rotation and after it."""

    before: Floats
    after: Floats


Added = Callable[[Group, Floats], Biases]
"""Returns what an engine adds in place of some biases."""


def wrong_biases(probe: Probe, group: Group, right: Callable[[Prompt], Scores]) -> Iterator[Named]:
    """Yield the known mistakes of biases; ``right`` returns the scores of a right engine."""
    if not probe.plan.with_biases:
        return
    for id, words, *both in MISTAKES:
        yield id, f"biases of {words}", partial(_scores, probe, group, right, both)
    exchanged = partial(_scores, probe, group, right, (_rightly, _rightly), of_queries=True)
    yield "query-biases-in-keys", "keys that get the biases of queries", exchanged


def _rightly(group: Group, rows: Floats) -> Biases:
    return Biases(rows, np.zeros_like(rows))


def _nothing(group: Group, rows: Floats) -> Biases:
    return Biases(np.zeros_like(rows), np.zeros_like(rows))


def _late(group: Group, rows: Floats) -> Biases:
    return Biases(np.zeros_like(rows), rows)


def _moved(group: Group, rows: Floats) -> Biases:
    """Return biases in their places, for channels that are in the order of the other layout."""
    width = rotated(group)
    neighbours = np.arange(width).reshape(-1, 2).T.ravel()
    if group.conventions["layout"] != "half":
        neighbours = np.argsort(neighbours)
    moved = rows.copy()
    moved[:, :width] = rows[:, neighbours]
    return Biases(moved, np.zeros_like(rows))


MISTAKES: Sequence[tuple[str, str, Added, Added]] = (
    ("biases-missing", "queries and keys that are not added", _nothing, _nothing),
    ("query-biases-missing", "queries that are not added", _nothing, _rightly),
    # After the rotation they add the same to the scores of all keys.
    (
        "key-biases-missing",
        "keys that are not added, or only after the rotation",
        _rightly,
        _nothing,
    ),
    ("biases-after-rotation", "queries and keys that are added after the rotation", _late, _late),
    ("query-biases-after-rotation", "queries that are added after the rotation", _late, _rightly),
    ("biases-not-permuted", "queries and keys that are not permuted as weights", _moved, _moved),
    ("query-biases-not-permuted", "queries that are not permuted as weights", _moved, _rightly),
    ("key-biases-not-permuted", "keys that are not permuted as weights", _rightly, _moved),
)
"""An id, words, and what is added in place of the biases of queries and of keys."""


def _scores(
    probe: Probe,
    group: Group,
    right: Callable[[Prompt], Scores],
    added: Sequence[Added],
    prompt: Prompt,
    of_queries: bool = False,
) -> Scores:
    """Return the scores of a prompt if an engine adds something else in place of biases.

    ``of_queries`` says that keys get the biases of query heads.
    """
    queries, key = queries_and_key(probe, prompt)
    of_query, of_key = in_heads(probe, prompt.layer, prompt.gain)
    places = np.array(prompt.positions)
    instead = _of_queries(probe, prompt) if of_queries else of_key
    values = np.zeros((len(places), 2))
    for head in range(2):
        bias = of_query[[head]]
        query = _turned(group, queries[head::2] - bias, places, added[0](group, bias))
        bare = np.concatenate([key, np.zeros_like(key)]) - of_key[[head]]
        at = np.array([prompt.key, prompt.neutral])
        keys = _turned(group, bare, at, added[1](group, instead[[head]]))
        values[:, head] = query @ (keys[0] - keys[1])
    grown = np.array([multiplier(group, place) for place in places])[:, np.newaxis]
    scores = Scores(grown * values, LARGER_ERRORS * right(prompt).bound)
    return replace(scores, bound=scores.bound + noise(probe, group, prompt, scores.values))


def _of_queries(probe: Probe, prompt: Prompt) -> Floats:
    """Return the biases of as many heads of queries as there are heads of keys, for those read."""
    plan = probe.plan
    heads = [head * plan.kv_heads // plan.heads for head in plan.heads_of(prompt.layer)]
    rows = biases(probe, prompt.layer).query.reshape(-1, plan.head_dim)[heads]
    return np.asarray(rows / (probe.key_weight * probe.read_of(prompt.gain)))


def _turned(group: Group, x: Floats, places: Ints, added: Biases) -> Floats:
    rows = x + added.before
    if group.call is not None:
        rows = case_of(group, {"x": rows, "positions": rows_of(group, places)}).truth
    return np.asarray(rows + added.after)
