"""Wrong implementations: randomized positions."""

from typing import Any

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made, narrow


class DrawnPositions(Mistake, steps=True):
    """The first ``n`` numbers of a shuffled range, sorted, in steps."""

    call = "randomized_positions"
    claimed = ("authors",)

    def answer(self, order: Array, n: int) -> Array:
        if n > len(order) or len(np.unique(order)) < len(order):
            raise ValueError("drawn with replacement")
        return self.finish(self.sort(self.drawn(order, n)))

    def drawn(self, order: Array, n: int) -> Array:
        return order[:n]

    def sort(self, positions: Array) -> Array:
        return np.sort(positions)

    def finish(self, positions: Array) -> Array:
        return positions


class DrawnDistances(Mistake, steps=True):
    """ALiBi with drawn distances, in steps."""

    call = "randomized_alibi_bias"
    claimed = ("authors",)

    def answer(
        self, heads: int, q_len: int, k_len: int, before: Array, after: Array, *, dtype: Any
    ) -> Array:
        if heads < 1 or q_len > k_len:
            raise ValueError("out of the domain")
        for side in (before, after):
            if len(side) < k_len - 1 or np.any(side < 1) or len(np.unique(side)) < len(side):
                raise ValueError(side)
        drawn = (self.sort(self.drawn(side, k_len - 1)) for side in (before, after))
        near, far = self.sides(*drawn)
        near, far = self.taken(near, far)
        table = np.concatenate([-far[::-1], [0.0], -near])
        places = self.queries(q_len, k_len)[:, None] - np.arange(k_len)
        return self.finish(self.slopes(heads)[:, None, None] * table[places + k_len - 1]).astype(
            dtype
        )

    def drawn(self, distances: Array, count: int) -> Array:
        return distances[:count]

    def sort(self, distances: Array) -> Array:
        return np.sort(distances)

    def sides(self, near: Array, far: Array) -> tuple[Array, Array]:
        return near, far

    def taken(self, near: Array, far: Array) -> tuple[Array, Array]:
        return near - 0.5, far + 0.0

    def queries(self, q_len: int, k_len: int) -> Array:
        return np.arange(k_len - q_len, k_len)

    def slopes(self, heads: int) -> Array:
        below = 2 ** (heads.bit_length() - 1)
        more = 2.0 ** (-4 / below * np.arange(1, 2 * (heads - below) + 1, 2))
        return np.concatenate([2.0 ** (-8 / below * np.arange(1, below + 1)), more])

    def finish(self, bias: Array) -> Array:
        return bias


class DifferencesOfPositions(DrawnDistances):
    """Positions are drawn, and their differences taken."""

    named = "differences-of-positions"

    def answer(
        self, heads: int, q_len: int, k_len: int, before: Array, after: Array, *, dtype: Any
    ) -> Array:
        right = DrawnDistances.answer(self, heads, q_len, k_len, before, after, dtype="float64")
        place = np.concatenate([[0], np.sort(before[: k_len - 1])])
        steps = place[k_len - q_len :, None] - place
        bias = -self.slopes(heads)[:, None, None] * (np.abs(steps) - 0.5 * (steps > 0))
        return bias.reshape(right.shape).astype(dtype)


_named: str | None
_steps: dict[str, Any]

for _name, _named, _steps in (
    ("in order of drawing", "not-sorted", {"sort": lambda self, positions: positions}),
    ("descending", "not-sorted", {"sort": lambda self, positions: np.sort(positions)[::-1]}),
    ("as places", "ranks", {"sort": lambda self, positions: np.argsort(positions)}),
    (
        "as ranks",
        "ranks",
        {"sort": lambda self, positions: np.argsort(np.argsort(positions))},
    ),
    (
        "sorted too early",
        "sorted-too-early",
        {"drawn": lambda self, order, n: np.sort(order)[:n]},
    ),
    (
        "from the end",
        "other-part",
        {"drawn": lambda self, order, n: order[len(order) - n :]},
    ),
    ("from 1", "positions-shifted", {"finish": lambda self, positions: positions + 1}),
    (
        "from the first",
        "positions-shifted",
        {"finish": lambda self, positions: positions - positions[:1]},
    ),
    ("of 8 bits", None, {"finish": lambda self, positions: positions.astype(np.uint8)}),
    (
        "without the last",
        None,
        {"drawn": lambda self, order, n: np.minimum(order[:n], max(len(order) - 2, 0))},
    ),
):
    made(DrawnPositions, f"DrawnPositions {_name}", "One step otherwise.", named=_named, **_steps)

for _name, _named, _steps in (
    (
        "in order of drawing",
        "distances-not-sorted",
        {"sort": lambda self, distances: distances},
    ),
    (
        "descending",
        "distances-not-sorted",
        {"sort": lambda self, distances: np.sort(distances)[::-1]},
    ),
    (
        "sorted too early",
        "distances-sorted-too-early",
        {"drawn": lambda self, distances, count: np.sort(distances)[:count]},
    ),
    (
        "without the half",
        "half-step-wrong",
        {"taken": lambda self, near, far: (near + 0.0, far + 0.0)},
    ),
    (
        "with the half after",
        "half-step-wrong",
        {"taken": lambda self, near, far: (near + 0.0, far - 0.5)},
    ),
    (
        "with the half added",
        "half-step-wrong",
        {"taken": lambda self, near, far: (near + 0.5, far + 0.0)},
    ),
    ("exchanged", "sides-swapped", {"sides": lambda self, near, far: (far, near)}),
    ("of one side", "sides-swapped", {"sides": lambda self, near, far: (near, near)}),
    (
        "not drawn",
        "not-drawn",
        {"sort": lambda self, distances: np.arange(1, len(distances) + 1)},
    ),
    (
        "of one progression",
        "slopes-wrong",
        {"slopes": lambda self, heads: 2.0 ** (-8 / heads * np.arange(1, heads + 1))},
    ),
    (
        "of sorted slopes",
        "slopes-wrong",
        {"slopes": lambda self, heads: np.sort(DrawnDistances.slopes(self, heads))[::-1]},
    ),
    ("negated", "sign-flipped", {"finish": lambda self, bias: -bias}),
    (
        "from zero",
        "queries-from-zero",
        {"queries": lambda self, q_len, k_len: np.arange(q_len)},
    ),
    ("of 8 bits", None, {"sort": lambda self, distances: np.sort(distances.astype(np.uint8))}),
    (
        "of bfloat16 distances",
        None,
        {"taken": lambda self, near, far: (narrow(near - 0.5, "bfloat16"), far + 0.0)},
    ),
):
    made(DrawnDistances, f"DrawnDistances {_name}", "One step otherwise.", named=_named, **_steps)
