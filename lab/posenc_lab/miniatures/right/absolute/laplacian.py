"""Right implementations: eigenvectors of a graph's Laplacian, in any sign and basis."""

from itertools import groupby

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, NARROW, Array, right


def graphs(adjacency: Array, count: int) -> None:
    """Refuse a matrix that is not square, and too many eigenvectors."""
    if adjacency.ndim != 2 or len(adjacency) != adjacency.shape[1] or count >= len(adjacency):
        raise ValueError("no graph, or too many eigenvectors")


@right
class SolvedWithRandomSigns:
    """A symmetric eigensolver in float32, with random signs."""

    def __init__(self) -> None:
        self._random = np.random.default_rng(7)

    @claims("dropped", dtype=NARROW)
    def laplacian(self, adjacency: Array, count: int) -> Array:
        graphs(adjacency, count)
        weights = adjacency.astype(np.float32) * (1 - np.eye(len(adjacency), dtype=np.float32))
        share = 1 / np.sqrt(weights.sum(axis=1))
        matrix = np.eye(len(weights), dtype=np.float32) - share[:, None] * weights * share
        vectors = np.linalg.eigh(matrix)[1][:, 1 : count + 1] * self._random.choice([-1, 1], count)
        encodings = vectors.astype(adjacency.dtype).astype(np.float32)
        return (encodings @ encodings.T).astype(adjacency.dtype)


@right
class SolvedInAnotherBasis:
    """float64, with a random basis of every eigenspace."""

    def __init__(self) -> None:
        self._random = np.random.default_rng(11)

    @claims("dropped", "kept", dtype=FLOATS)
    def laplacian(self, adjacency: Array, count: int, *, loops: str) -> Array:
        graphs(adjacency, count)
        weights = adjacency.astype(np.float64)
        if loops == "dropped":
            np.fill_diagonal(weights, 0)
        share = weights.sum(axis=1) ** -0.5
        values, vectors = np.linalg.eigh(-share[:, None] * weights * share)
        numbers = range(1, count + 1)
        for _, space in groupby(numbers, key=lambda column: round(float(values[column]), 9)):
            columns = list(space)
            turn, _ = np.linalg.qr(self._random.standard_normal((len(columns),) * 2))
            vectors[:, columns] = vectors[:, columns] @ turn
        encodings = vectors[:, 1 : count + 1]
        return (encodings @ encodings.T).astype(adjacency.dtype)


@right
class SolvedBySingularValues:
    """Left singular vectors of 2I - L, which is positive semidefinite."""

    @claims("kept", dtype=["float64", "float32"])
    def laplacian(self, adjacency: Array, count: int) -> Array:
        graphs(adjacency, count)
        weights = adjacency.astype(np.float64)
        degree = np.sqrt(weights.sum(axis=1))
        vectors = np.linalg.svd(np.eye(len(weights)) + weights / np.outer(degree, degree))[0]
        total = sum(np.outer(column, column) for column in vectors.T[1 : count + 1])
        return np.asarray(total).astype(adjacency.dtype)
