"""Wrong implementations: eigenvectors of a graph's Laplacian."""

from typing import Any

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made, narrow


class Solved(Mistake, steps=True):
    """Dot products of eigenvector encodings, in steps."""

    call = "laplacian"
    claimed = ("dropped",)

    def answer(self, adjacency: Array, count: int, *, loops: str) -> Any:
        if adjacency.shape != adjacency.shape[::-1] or count >= len(adjacency):
            raise ValueError("no graph, or too many eigenvectors")
        weights = self.weights(adjacency.astype(np.float64))
        if self.dropped(loops == "dropped"):
            weights = weights * (1 - np.eye(len(weights)))
        values, vectors = self.solved(self.matrix(weights))
        encodings = self.columns(values, vectors, count)
        return (encodings @ encodings.T).astype(adjacency.dtype)

    def weights(self, weights: Array) -> Array:
        return weights

    def dropped(self, dropped: bool) -> bool:
        return dropped

    def matrix(self, weights: Array) -> Array:
        share = weights.sum(axis=1) ** -0.5
        return np.eye(len(weights)) - share[:, None] * weights * share

    def solved(self, matrix: Array) -> tuple[Array, Array]:
        values, vectors = np.linalg.eigh(matrix)
        return values, vectors

    def columns(self, values: Array, vectors: Array, count: int) -> Array:
        return vectors[:, 1 : count + 1]


def unsymmetric(self: Solved, matrix: Array) -> tuple[Array, Array]:
    """Solve with the unsymmetric ``np.linalg.eig``, as released code does."""
    values, vectors = np.linalg.eig(matrix)
    order = np.real(values).argsort(kind="stable")
    return np.real(values[order]), np.real(vectors[:, order])


def once(self: Solved, values: Array, vectors: Array, count: int) -> Array:
    """Return the chosen eigenvectors without repeated eigenvalues."""
    chosen = [k for k in range(1, count + 1) if values[k] - values[k - 1] > 1e-9]
    return vectors[:, chosen]


def with_degrees_of_1(self: Solved, weights: Array) -> Array:
    """Return the Laplacian with degrees of at least 1, as in code for unweighted graphs."""
    share = np.maximum(weights.sum(axis=1), 1) ** -0.5
    return np.eye(len(weights)) - share[:, None] * weights * share


_BOTH = ("dropped", "kept")
_STEPS: tuple[tuple[str, str | None, tuple[str, ...], dict[str, Any]], ...] = (
    ("with degrees of at least 1", None, _BOTH, {"matrix": with_degrees_of_1}),
    (
        "with the first",
        "first-kept",
        _BOTH,
        {"columns": lambda self, values, vectors, count: vectors[:, :count]},
    ),
    (
        "from the largest",
        "largest",
        _BOTH,
        {"columns": lambda self, values, vectors, count: vectors[:, ::-1][:, :count]},
    ),
    ("without symmetry", "not-at-right-angles", _BOTH, {"solved": unsymmetric}),
    (
        "not divided",
        "not-normalized",
        _BOTH,
        {"matrix": lambda self, weights: np.diag(weights.sum(axis=1)) - weights},
    ),
    (
        "of longer vectors",
        "lengths-changed",
        _BOTH,
        {
            "columns": lambda self, values, vectors, count: (
                vectors[:, 1 : count + 1] * np.sqrt(len(vectors))
            )
        },
    ),
    (
        "by eigenvalues",
        "lengths-changed",
        _BOTH,
        {
            "columns": lambda self, values, vectors, count: (
                vectors[:, 1 : count + 1] / np.sqrt(values[1 : count + 1])
            )
        },
    ),
    (
        "of edges alike",
        "weights-left-out",
        _BOTH,
        {"weights": lambda self, weights: (weights > 0).astype(np.float64)},
    ),
    (
        "with other loops",
        "loops-swapped",
        _BOTH,
        {"dropped": lambda self, dropped: not dropped},
    ),
    (
        "with loops for all",
        "loops-swapped",
        _BOTH,
        {
            "matrix": lambda self, weights: Solved.matrix(self, weights + np.eye(len(weights))),
        },
    ),
    ("one for each eigenvalue", None, _BOTH, {"columns": once}),
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
        ("dropped",),
        {
            "columns": lambda self, values, vectors, count: narrow(
                vectors[:, 1 : count + 1], "bfloat16"
            ),
        },
    ),
)

for _name, _named, _claims, _given in _STEPS:
    for _claimed in _claims:
        made(
            Solved,
            f"Solved {_name} {_claimed}",
            "One step otherwise.",
            named=_named,
            claimed=(_claimed,),
            **_given,
        )
