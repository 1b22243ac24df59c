"""Wrong implementations: random walks on graphs."""

from typing import Any

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made, narrow


class Walked(Mistake, steps=True):
    """Probabilities of a walk's return to its first node, in steps."""

    call = "random_walk"
    claimed = ("out",)

    def answer(self, adjacency: Array, steps: int, *, degree: str) -> Any:
        if adjacency.shape != adjacency.shape[::-1] or steps < 1:
            raise ValueError("no graph, or no steps")
        if (adjacency.astype(np.float64) < 0).any():
            raise ValueError("a weight below 0")
        weights = self.weights(adjacency.astype(np.float64))
        turned = weights if self.out(degree == "out") else weights.T
        step = self.step(turned)
        power, columns = self.first(step), []
        for number in range(steps):
            if number:
                power = self.next(power, step)
            columns.append(np.diagonal(power))
        return self.finish(np.stack(columns, axis=-1)).astype(adjacency.dtype)

    def weights(self, weights: Array) -> Array:
        return weights

    def out(self, out: bool) -> bool:
        return out

    def step(self, weights: Array) -> Array:
        sums = self.sums(weights.sum(axis=1, keepdims=True))
        return self.above(weights) / np.where(sums > 0, sums, 1)

    def sums(self, sums: Array) -> Array:
        return sums

    def above(self, weights: Array) -> Array:
        return weights

    def first(self, step: Array) -> Array:
        return step

    def next(self, power: Array, step: Array) -> Array:
        return power @ step

    def finish(self, rows: Array) -> Array:
        return rows


def staying(self: Walked, weights: Array) -> Array:
    """Add self-loops to isolated nodes."""
    return weights + np.diag((weights.sum(axis=1) + weights.sum(axis=0) == 0).astype(float))


_BOTH = ("out", "in")
_STEPS: tuple[tuple[str, str | None, tuple[str, ...], dict[str, Any]], ...] = (
    (
        "without weights above",
        "weights-left-out",
        _BOTH,
        {"above": lambda self, weights: (weights > 0).astype(np.float64)},
    ),
    (
        "of edges alike",
        "weights-left-out",
        _BOTH,
        {"weights": lambda self, weights: (weights > 0).astype(np.float64)},
    ),
    (
        "as in PyTorch Geometric",
        "weights-left-out",
        ("out",),
        {
            "above": lambda self, weights: (weights > 0).astype(np.float64),
            "sums": lambda self, sums: np.maximum(sums, 1),
        },
    ),
    (
        "of degrees from 1",
        "degree-floored",
        _BOTH,
        {"sums": lambda self, sums: np.maximum(sums, 1)},
    ),
    ("the other way", "direction-swapped", _BOTH, {"out": lambda self, out: not out}),
    ("not divided", "not-normalized", _BOTH, {"sums": lambda self, sums: np.ones_like(sums)}),
    (
        "from step 0",
        "steps-shifted",
        _BOTH,
        {"first": lambda self, step: np.eye(len(step))},
    ),
    ("from step 2", "steps-shifted", _BOTH, {"first": lambda self, step: step @ step}),
    ("squared", "powers-squared", _BOTH, {"next": lambda self, power, step: power @ power}),
    (
        "with loops",
        "loops-added",
        _BOTH,
        {"weights": lambda self, weights: weights + np.eye(len(weights))},
    ),
    ("with loops for the lonely", "alone-stays", _BOTH, {"weights": staying}),
    (
        "of many nodes in float16",
        None,
        _BOTH,
        {
            "weights": lambda self, weights: (
                narrow(weights, "float16") if len(weights) > 16 else weights
            )
        },
    ),
    (
        "in bfloat16",
        None,
        ("out",),
        {"next": lambda self, power, step: narrow(power @ step, "bfloat16")},
    ),
    (
        "cumulated",
        None,
        _BOTH,
        {"finish": lambda self, rows: np.cumsum(rows, axis=1)},
    ),
    (
        "with a root too many",
        None,
        _BOTH,
        {"sums": lambda self, sums: np.sqrt(sums)},
    ),
)

for _name, _named, _claims, _given in _STEPS:
    for _claimed in _claims:
        made(
            Walked,
            f"Walked {_name} {_claimed}",
            "One step otherwise.",
            named=_named,
            claimed=(_claimed,),
            **_given,
        )
