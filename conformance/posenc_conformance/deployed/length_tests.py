"""Texts that grow past the length at which frequencies change, and the known mistakes there."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from posenc_conformance.deployed.expected_scores import Scores, expected
from posenc_conformance.deployed.probe_checkpoint import Probe
from posenc_conformance.deployed.prompts import Prompt, prompt_for, with_gain
from posenc_conformance.judge.arrays import Floats, Ints
from posenc_conformance.models.meaning import LENGTH, Group, case_of

Lengths = Callable[[int], tuple[int, int]]
"""Returns the text lengths for which a query at a position, and the key, are rotated."""
Explained = tuple[str, str, Scores]
"""A mistake, its description, and its scores."""


def text_beyond(probe: Probe, group: Group, distance: int, first: int, steps: int) -> Prompt:
    """Make a text with its first query at a position, and its key at a distance from it."""
    prompt = prompt_for(probe, group, distance, steps=steps)
    return with_gain(probe, group, replace(prompt, first=first, key=first - distance))


def right_lengths(position: int) -> tuple[int, int]:
    """Return the length of the text that ends with a query: its key is rotated for it too."""
    return position + 1, position + 1


def scores_at(
    probe: Probe, group: Group, prompt: Prompt, dtype: str, lengths: Lengths = right_lengths
) -> Scores:
    """Compute the scores of queries, each of them the last of a text of its own length."""
    parts = [
        _last(probe, group, replace(prompt, steps=step, given=step), dtype, lengths)
        for step in range(prompt.given, prompt.steps + 1)
    ]
    return Scores(
        np.concatenate([scores.values for scores in parts]),
        np.concatenate([scores.bound for scores in parts]),
    )


def _last(probe: Probe, group: Group, prompt: Prompt, dtype: str, lengths: Lengths) -> Scores:
    """Compute the scores of the last query of a prompt."""
    of_query, of_key = lengths(prompt.positions[-1])
    own = _of_length(group, of_query)
    turn = None if of_query == of_key else partial(_turned, own, _of_length(group, of_key))
    return expected(probe, own, prompt, dtype, turn=turn)


def _turned(queries: Group, key: Group, x: Floats, rows: Ints) -> Floats:
    """Rotate the queries and the key, which is the last row, for different lengths."""
    parts = [
        case_of(group, {"x": x[part], "positions": rows[part]}).truth
        for group, part in ((queries, slice(0, -1)), (key, slice(-1, None)))
    ]
    return np.concatenate(parts)


def _of_length(group: Group, length: int) -> Group:
    """Return a group that rotates all positions as in a text of ``length``."""
    values = group.parameters
    if group.scheme != "longrope":
        return replace(group, parameters={**values, LENGTH: length})
    long = length > int(values["original_max_position_embeddings"])
    factors = values["long_factors" if long else "short_factors"]
    return replace(group, parameters={**values, "short_factors": factors, "long_factors": factors})


def wrong_while_written(
    probe: Probe, group: Group, prompt: Prompt, dtype: str
) -> Iterator[Explained]:
    """Yield the known mistakes for a text that grows past the length during generation."""
    length = prompt.first + 1
    for id, words, lengths in (
        (
            "cache-not-turned-again",
            "keys in the cache stay turned for the length of the prompt",
            lambda position: (position + 1, length),
        ),
        (
            "length-of-prompt",
            "all is turned for the length of the prompt, however long the text becomes",
            lambda position: (length, length),
        ),
    ):
        yield id, words, scores_at(probe, group, prompt, dtype, lengths)


PARTS = (2, 4, 3, 8)
"""Divisors of a context's size, for the number of tokens that leave it; the usual one first."""
KEPT = (0, 1, 2, 3, 4, 5, 8)
"""Numbers of tokens at the beginning that may stay."""


def wrong_when_shifted(
    probe: Probe, group: Group, prompt: Prompt, dtype: str, size: int
) -> Iterator[Explained]:
    """Yield the known mistakes for a full context that the first tokens leave.

    The remaining tokens move to the front: queries continue from there, and keys are rotated back.
    """
    for part in PARTS:
        for stay in KEPT:
            by = (size - stay) // part
            for begins in (size - 2, size - 1, size, size + 1):
                for id, words, sign in (
                    ("keys-not-turned-again", "keys are not turned again", -1),
                    ("queries-not-moved", "queries count on, or keys are turned twice", 1),
                ):
                    where = [q + sign * by * (q >= begins) for q in prompt.positions]
                    words = f"{words}, when the context moves by {by:,} tokens"
                    yield id, words, expected(probe, group, prompt, dtype, where=where)


def kept(probe: Probe, group: Group, prompt: Prompt, dtype: str, length: int) -> Explained:
    """Return the mistake of rotating a text for the length of an earlier one."""
    scores = expected(probe, _of_length(group, length), prompt, dtype)
    words = f"is turned for a length of {length:,}, which is that of an earlier text"
    return "length-kept", words, scores
