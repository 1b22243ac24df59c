"""Edge weights, shared by schemes on graphs."""

import numpy as np
import numpy.typing as npt

from posenc import arguments
from posenc.exact import Array


def edges(adjacency: npt.NDArray[np.floating]) -> Array:
    """Return edge weights as float64 of shape [nodes, nodes], finite and at least 0."""
    weights = arguments.floating("adjacency", adjacency, 2)
    if weights.shape[0] != weights.shape[1]:
        raise ValueError(f"adjacency has shape {weights.shape}; it must be [nodes, nodes]")
    exact = weights.astype(np.float64)
    if not np.all(np.isfinite(exact) & (exact >= 0)):
        raise ValueError("adjacency has a weight that is below 0 or not finite")
    return exact
