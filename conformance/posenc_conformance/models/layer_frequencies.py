"""The frequencies with which a group of layers rotates its pairs."""

from collections.abc import Iterator

import numpy as np

import posenc
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.models.meaning import LENGTH, Group, case_of, rows_of


def frequencies(group: Group) -> Floats:
    """Compute the frequency of each rotated pair, in radians, from the rotation at position 1.

    For a group whose frequencies depend on the length of the text, these are the ones for short
    texts.
    """
    return _read(group)[0]


def turning(group: Group) -> Iterator[tuple[str, Floats, float]]:
    """Yield words for the length of texts, with the frequencies and the attention factor.

    Yields once if no length changes them, else once for short texts, once or twice for long ones.
    """
    omega, longer = _read(group)
    if group.scheme == "longrope":
        yield "in short texts", omega, longer
        divisors, base = group.parameters["long_factors"], group.parameters["base"]
        slow = posenc.longrope_frequencies(divisors, base=base)
        yield "in long texts", np.asarray(slow, dtype=np.float64), longer
    elif group.grows:
        trained = group.parameters["original_max_position_embeddings"]
        yield f"in texts of up to {trained:,} positions", omega, longer
        for length in (2 * trained, 4 * trained):
            yield f"in a text of {length:,} positions", *_read(group, length)
    else:
        yield "", omega, longer


def _read(group: Group, length: int = 2) -> tuple[Floats, float]:
    """Read frequencies and the attention factor in a text of some length."""
    turned, (first, second) = _at(group, 1, length)
    longer = float(np.hypot(turned[first[0]], turned[second[0]]))
    return np.asarray(np.arctan2(turned[second], turned[first]), dtype=np.float64), longer


def _at(group: Group, position: int, length: int) -> tuple[Floats, tuple[list[int], list[int]]]:
    """Rotate a head whose pairs are all (1, 0) to a position; return it and its pairs' channels."""
    size, width = int(group.parameters["head_dim"]), rotated(group)
    first, second = channels(group, width)
    x = np.zeros((1, size))
    x[0, first] = 1.0
    where = rows_of(group, np.array([position]))
    text = {LENGTH: length} if group.grows else {}
    return case_of(group, {"x": x, "positions": where, **text}).truth[0], (first, second)


def rotated(group: Group) -> int:
    """Count the channels of a head that are rotated, or may be: for p-RoPE all of them."""
    parameters = group.parameters
    if "sections" in parameters:
        return 2 * int(sum(parameters["sections"]))
    return int(parameters.get("rotary_dim", parameters["head_dim"]))


def channels(group: Group, width: int) -> tuple[list[int], list[int]]:
    """Return the first and the second channel of each pair."""
    if group.conventions["layout"] == "half":
        return [*range(width // 2)], [*range(width // 2, width)]
    return [*range(0, width, 2)], [*range(1, width, 2)]
