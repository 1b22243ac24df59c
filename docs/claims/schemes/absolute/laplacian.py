import numpy as np

import posenc


def first() -> None:
    """The eigenvector left out is proportional to the square roots of the degrees."""
    weights = np.array([[0, 2, 0, 1], [2, 0, 1, 0], [0, 1, 0, 4], [1, 0, 4, 0]], dtype=np.float64)
    remainder = np.eye(4) - posenc.laplacian(weights, 3)
    degree = weights.sum(axis=1)
    assert np.allclose(remainder, np.sqrt(np.outer(degree, degree)) / degree.sum(), atol=1e-15)
