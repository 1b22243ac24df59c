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
"""Smaller numbers are rounding errors of a 0, and differ between processors."""
SLICES = 5
"""Number of slices, of 20 bits or more for up to 1,638 nodes: nearly all the bits of a pair."""


def laplacian(
    adjacency: npt.ArrayLike, count: int, *, loops: str = "dropped"
) -> npt.NDArray[np.floating]:
    """Encode nodes by eigenvectors of the Laplacian, and return all dot products of encodings.

    The Laplacian is ``I - D**-1/2 A D**-1/2``, D the row sums of A. A node's encoding is its
    entries of the ``count`` orthonormal eigenvectors with the smallest eigenvalues after the first,
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
    kept = Pair(*(each[:, 1 : taken + 1] for each in vectors))
    found = total(_product(kept, _turned(kept)))
    return np.where(np.abs(found) < NOTHING, 0.0, found).astype(weights.dtype)


def _normalized(weights: Array) -> Pair:
    """Return ``D**-1/2 A D**-1/2``; rows without edges stay zeros."""
    sums = sum_last(pair(weights))
    some = sums.high > 0
    degree = Pair(np.where(some, sums.high, 1.0), np.where(some, sums.low, 0.0))
    both = times(Pair(*(each[:, None] for each in degree)), Pair(*(each[None] for each in degree)))
    return divide(pair(weights), square_root(both))


def _refined(matrix: Pair, vectors: Pair) -> Pair:
    """Refine approximate eigenvectors to about the square of their error."""
    turned = _turned(vectors)
    identity = pair(np.eye(len(vectors.high)))
    rest = total(add(identity, negative(_product(turned, vectors))))
    seen = total(_product(turned, _product(matrix, vectors)))
    values = np.diagonal(seen) / (1 - np.diagonal(rest))
    apart = values - values[:, None]
    together = np.abs(apart) < TOGETHER
    change = (seen + values * rest) / np.where(together, 1.0, apart)
    return add(vectors, _product(vectors, pair(np.where(together, rest / 2, change))))


def _product(a: Pair, b: Pair) -> Pair:
    """Multiply matrices, exact to 2**-100 of the largest of each row times that of each column.

    Both are split into slices of so few bits that every sum of their products is exact in float64.
    """
    bits = (53 - (SLICES * len(b.high)).bit_length()) // 2
    (rows, _), (columns, _) = (slices(each, bits, SLICES, 0.0) for each in (a, _turned(b)))
    product = pair(0.0)
    for last in reversed(range(SLICES)):
        places = ((first, last - first) for first in range(last + 1))
        exact = sum(rows[i] @ columns[j].T for i, j in places if i < len(rows) and j < len(columns))
        product = add(product, pair(exact))
    return product


def _turned(a: Pair) -> Pair:
    return Pair(*(each.T for each in a))
