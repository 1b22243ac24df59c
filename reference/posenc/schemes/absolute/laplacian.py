"""Eigenvectors of a graph's Laplacian, as dot products independent of their signs and basis.

Sources: Dwivedi and Bresson 2021, "A Generalization of Transformer Networks to Graphs", arXiv
2012.09699, section 2.2. The refinement of eigenvectors is that of Ogita and Aishima 2018,
"Iterative refinement for symmetric eigenvalue decomposition".
"""

import numpy as np
import numpy.typing as npt

from posenc import arguments, graphs
from posenc.elementary import (
    add,
    divide,
    negative,
    pair,
    slices,
    square_root,
    sum_last,
    times,
    total,
)
from posenc.exact import Array, Pair

__all__ = ["laplacian"]

LOOPS = ("dropped", "kept")
TOGETHER = 1e-8
"""Eigenvalues closer than this belong to one eigenspace."""
NOTHING = 2.0**-90
"""Smaller magnitudes are rounding errors of a 0, which differ between processors."""
SLICES = 5
"""Number of slices, of 20 bits or more for up to 1,638 nodes: nearly all the bits of a pair."""


def laplacian(
    adjacency: npt.ArrayLike, count: int, *, loops: str = "dropped"
) -> npt.NDArray[np.floating]:
    """Encode nodes by eigenvectors of the Laplacian, and return all dot products of encodings.

    The Laplacian is ``I - D**-1/2 A D**-1/2``, D the row sums of A. A node's encoding is its
    entries in the ``count`` orthonormal eigenvectors with the smallest eigenvalues after the first,
    which is 0. The sign of an eigenvector and the basis of an eigenspace are arbitrary; dot
    products of encodings do not depend on them.

    Parameters
    ----------
    adjacency : floating array of shape [nodes, nodes]
        Weights of edges, symmetric, finite and at least 0. All nodes must be connected.
    count : int
        From 1 to nodes - 1; it may not separate equal eigenvalues.
    loops : "dropped" or "kept"
        Whether edges from a node to itself are dropped or kept.

    Returns
    -------
    array of shape [nodes, nodes] and the dtype of adjacency

    Raises
    ------
    TypeError
        If adjacency is not floating, or count is not an integer.
    ValueError
        If an argument is out of its domain, or does not determine the eigenvectors.
    """
    arguments.choice("loops", loops, LOOPS)
    weights = np.asarray(adjacency)
    exact = graphs.edges(weights)
    if not np.array_equal(exact, exact.T):
        raise ValueError("adjacency must be symmetric")
    taken = arguments.integer("count", count, 1)
    if taken >= len(exact):
        raise ValueError(
            f"count is {count}; {len(exact)} nodes have {len(exact) - 1} eigenvectors to give"
        )
    if loops == "dropped":
        exact = exact * (1 - np.eye(len(exact)))
    matrix = _normalized(exact)
    # The largest eigenvalues of this matrix are the smallest of I minus it.
    values, first = np.linalg.eigh(total(matrix))
    values, first = values[::-1], first[:, ::-1]
    if values[0] - values[1] < TOGETHER:
        raise ValueError(
            "not all nodes are connected; which eigenvector is left out is not settled"
        )
    if taken + 1 < len(values) and values[taken] - values[taken + 1] < TOGETHER:
        raise ValueError(
            f"count = {count} parts equal eigenvalues; which eigenvectors are meant is not settled"
        )
    vectors = pair(first)
    for _ in range(2):
        vectors = _refined(matrix, vectors)
    chosen = Pair(*(part[:, 1 : taken + 1] for part in vectors))
    result = total(_product(chosen, _turned(chosen)))
    return np.where(np.abs(result) < NOTHING, 0.0, result).astype(weights.dtype)


def _normalized(weights: Array) -> Pair:
    """Return ``D**-1/2 A D**-1/2``; rows without edges stay zeros."""
    sums = sum_last(pair(weights))
    has_edges = sums.high > 0
    degree = Pair(np.where(has_edges, sums.high, 1.0), np.where(has_edges, sums.low, 0.0))
    both = times(Pair(*(part[:, None] for part in degree)), Pair(*(part[None] for part in degree)))
    return divide(pair(weights), square_root(both))


def _refined(matrix: Pair, vectors: Pair) -> Pair:
    """Refine approximate eigenvectors to about the square of their error."""
    turned = _turned(vectors)
    identity = pair(np.eye(len(vectors.high)))
    residual = total(add(identity, negative(_product(turned, vectors))))
    seen = total(_product(turned, _product(matrix, vectors)))
    values = np.diagonal(seen) / (1 - np.diagonal(residual))
    apart = values - values[:, None]
    together = np.abs(apart) < TOGETHER
    change = (seen + values * residual) / np.where(together, 1.0, apart)
    return add(vectors, _product(vectors, pair(np.where(together, residual / 2, change))))


def _product(a: Pair, b: Pair) -> Pair:
    """Multiply matrices, to 2**-100 of the row's largest entry times the column's largest entry.

    Both are split into slices of so few bits that every sum of their products is exact in float64.
    """
    bits = (53 - (SLICES * len(b.high)).bit_length()) // 2
    (rows, _), (columns, _) = (slices(matrix, bits, SLICES, 0.0) for matrix in (a, _turned(b)))
    product = pair(0.0)
    for last in reversed(range(SLICES)):
        places = ((first, last - first) for first in range(last + 1))
        exact = sum(rows[i] @ columns[j].T for i, j in places if i < len(rows) and j < len(columns))
        product = add(product, pair(exact))
    return product


def _turned(a: Pair) -> Pair:
    return Pair(*(part.T for part in a))
