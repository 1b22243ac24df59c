"""Probabilities of a random walk on a graph returning after one step, two steps and more.

Source: Dwivedi et al. 2022, "Graph Neural Networks with Learnable Structural and Positional
Representations", arXiv 2110.07875, section 3.2, equation 8.
"""

import numpy as np
import numpy.typing as npt

from posenc import arguments, graphs
from posenc.elementary import divide, dots, expanded, pair, sum_last, total
from posenc.exact import Array, Pair

__all__ = ["random_walk"]

DEGREES = ("out", "in")


def random_walk(
    adjacency: npt.ArrayLike, steps: int, *, degree: str = "out"
) -> npt.NDArray[np.floating]:
    """Return the diagonals of the powers of a graph's random walk matrix.

    Parameters
    ----------
    adjacency : floating array of shape [nodes, nodes]
        Weights of edges from the row's node to the column's: finite, at least 0.
    steps : int
        At least 1.
    degree : "out" or "in"
        Whether an edge's weight is divided by the sum of its row, or of its column. For a symmetric
        adjacency it makes no difference.

    Returns
    -------
    array of shape [nodes, steps] and the dtype of adjacency
        In column k - 1, the probability of a return after k steps; 0 for nodes without edges.

    Raises
    ------
    TypeError
        If adjacency is not floating, or steps is not an integer.
    ValueError
        If an argument is out of its domain.
    """
    arguments.choice("degree", degree, DEGREES)
    count = arguments.integer("steps", steps, 1)
    weights = np.asarray(adjacency)
    exact = graphs.edges(weights)
    # Dividing by columns is dividing the transpose by rows; their powers have equal diagonals.
    step = _probabilities(exact if degree == "out" else exact.T)
    power, columns = step, [np.diagonal(step.high)]
    turned = Pair(*(part.T for part in step))
    for number in range(1, count):
        columns.append(total(dots(power, turned)))
        if number < count - 1:  # the last power is needed only on its diagonal
            power = dots(expanded(power, 1), expanded(turned, 0))
    return np.stack(columns, axis=-1).astype(weights.dtype)


def _probabilities(weights: Array) -> Pair:
    """Return the probability of each step: weights divided by the sum of their row."""
    sums = sum_last(pair(weights))
    used = sums.high > 0
    divisor = Pair(
        *(np.where(used, word, fill)[:, None] for word, fill in zip(sums, (1.0, 0.0), strict=True))
    )
    return divide(pair(weights), divisor)
