import numpy as np

import posenc
from posenc_conformance.schemes.absolute.random_walk import graph


def similar() -> None:
    """Powers of both matrices of a directed graph have the same diagonals."""
    weights = graph(6, "directed")
    share = np.diag(1 / weights.sum(axis=1))
    left, right = share @ weights, weights @ share
    for power in range(1, 8):
        first, other = (np.linalg.matrix_power(matrix, power) for matrix in (left, right))
        assert np.allclose(first.diagonal(), other.diagonal(), rtol=1e-12, atol=1e-15)


def two_steps() -> None:
    """The second column for a graph of six nodes without self-loops."""
    weights = (graph(6, "plain") > 0) & ~np.eye(6, dtype=bool)
    degrees = weights.sum(axis=1)
    expected = (weights / degrees).sum(axis=1) / degrees
    got = posenc.random_walk(weights.astype(np.float64), 2)[:, 1]
    assert np.allclose(got, expected, rtol=1e-14)
