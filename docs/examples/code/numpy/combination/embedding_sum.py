import numpy as np


def embedding_sum(x, positions, *, base=10000.0):
    dim = x.shape[-1]
    angles = positions[:, None] * base ** (-np.arange(0, dim, 2) / dim)
    encoding = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(len(positions), dim)
    return (dim**0.5 * x + encoding).astype(x.dtype)
