"""Validation of edge weights, shared by the schemes for graphs."""

import numpy as np
import numpy.typing as npt

from posenc import arguments
from posenc.exact import Array


def edges(adjacency: npt.NDArray[np.floating]) -> Array:
    """Return the weights, [nodes, nodes], as float64; refuse negative and non-finite weights."""
    weights = arguments.floating("adjacency", adjacency, 2)
    if weights.shape[0] != weights.shape[1]:
        raise ValueError(f"adjacency has shape {weights.shape}; it must be [nodes, nodes]")
    exact = weights.astype(np.float64)
    if not np.all(np.isfinite(exact) & (exact >= 0)):
        raise ValueError("adjacency has a weight that is below 0 or not finite")
    return exact
