"""Wrong rotations of queries and keys."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from posenc_conformance.deployed.expected_scores import Turn
from posenc_conformance.judge.arrays import Floats, Ints, round_to
from posenc_conformance.models.layer_frequencies import channels, frequencies, rotated
from posenc_conformance.models.meaning import Group, case_of, rows_of
from posenc_conformance.models.misreadings import longer

Named = tuple[str, str, Turn]


@dataclass(frozen=True)
class Turning:
    """A rotation by given frequencies."""

    omega: Floats
    """Radians per position of each pair."""
    pairs: tuple[Sequence[int], Sequence[int]]
    """The first and the second channel of each pair."""
    length: float
    """The factor by which all pairs become longer."""

    def __call__(self, x: Floats, positions: Floats | Ints) -> Floats:
        """Rotate rows to positions."""
        return self.by(x, np.multiply.outer(positions, self.omega))

    def by(self, x: Floats, angles: Floats) -> Floats:
        """Rotate rows by angles."""
        first, second = self.pairs
        cos, sin = self.length * np.cos(angles), self.length * np.sin(angles)
        turned = x.copy()
        turned[:, first] = x[:, first] * cos - x[:, second] * sin
        turned[:, second] = x[:, second] * cos + x[:, first] * sin
        return turned


def wrong_turns(group: Group) -> Iterator[Named]:
    """Yield the known mistakes of rotation: an id, a description, and the wrong rotation.

    It rotates rows of which the last is the key, and the others are queries.
    """
    width = rotated(group)
    own = Turning(frequencies(group), channels(group, width), longer(group))
    words = "no rotation at all"
    if width < group.parameters["head_dim"]:
        words = "no rotation of the channels that are read; others may be rotated"
    yield "not-turned", words, lambda x, rows: x
    yield (
        "turned-backwards",
        "angles of the other sign, or cosine and sine exchanged",
        lambda x, rows: own(x, -rows),
    )
    for id, words, query, key in (
        ("keys-not-turned", "keys that are not turned", 1, 0),
        ("queries-not-turned", "queries that are not turned", 0, 1),
        ("keys-turned-backwards", "keys that are turned the other way than queries", 1, -1),
    ):
        yield id, words, partial(_times, own, query, key)
    if group.conventions["layout"] == "half":
        yield from _permuted(own, width)
    if "sections" in group.parameters:
        words = "only the pairs of time turned, as if height and width of a text were 0"
        yield "axes-missing", words, partial(_on_one_axis, group)
    for id, words, omega in _other_frequencies(group, own.omega):
        yield id, words, replace(own, omega=omega)
    for dtype in ("bfloat16", "float16"):
        words = f"positions that are rounded to {dtype}"
        yield f"positions-in-{dtype}", words, partial(_rounded, own, dtype)


def _times(own: Turning, query: int, key: int, x: Floats, rows: Ints) -> Floats:
    """Rotate queries and the key to multiples of their positions."""
    return own(x, rows * np.array([*[query] * (len(rows) - 1), key]))


def _on_one_axis(group: Group, x: Floats, rows: Ints) -> Floats:
    """Rotate rows to positions of which two axes are 0."""
    on_axes = rows_of(group, rows) * np.array([[1], [0], [0]])
    return np.asarray(case_of(group, {"x": x, "positions": on_axes}).truth)


def _rounded(own: Turning, dtype: str, x: Floats, rows: Ints) -> Floats:
    return own(x, round_to(rows.astype(np.float64), dtype))


def _permuted(own: Turning, width: int) -> Iterator[Named]:
    """Yield rotations of neighbouring channels, for which only queries or keys are permuted."""
    halves = np.column_stack([np.arange(width // 2), np.arange(width // 2, width)]).ravel()
    neighbours = replace(own, pairs=(range(0, width, 2), range(1, width, 2)))
    for id, which, part in (
        ("keys-not-permuted", "keys", slice(0, -1)),
        ("queries-not-permuted", "queries", slice(-1, None)),
    ):

        def turned(x: Floats, rows: Ints, part: slice = part) -> Floats:
            moved = x.copy()
            moved[part, :width] = x[part][:, halves]
            return neighbours(moved, rows)

        yield id, f"neighbours turned together, but {which} not permuted for it", turned


def _other_frequencies(group: Group, omega: Floats) -> Iterator[tuple[str, str, Floats]]:
    """Yield wrong frequencies of pairs."""
    base, count = group.parameters["base"], len(omega)
    steps = np.arange(count)
    yield "frequencies-reversed", "frequencies in the other order", omega[::-1]
    yield "exponent-of-d-2", "exponents t/(d/2 - 1)", base ** (-steps / max(count - 1, 1))
    yield "exponent-halved", "exponents t/d", base ** (-steps / (2 * count))
    if "sections" in group.parameters:
        anew = [base ** (-np.arange(size) / size) for size in group.parameters["sections"]]
        words = "frequencies that begin anew with each axis"
        yield "frequencies-restarted", words, np.concatenate(anew)
    if "factor" in group.parameters:
        plain = base ** (-steps / count)
        words = "all positions divided by the factor"
        yield "taken-for-linear", words, plain / group.parameters["factor"]
    for dtype in ("bfloat16", "float16"):
        words = f"frequencies that are rounded to {dtype}"
        yield f"frequencies-in-{dtype}", words, round_to(omega, dtype)
