import numpy as np


def rope(x, positions, *, base=10000.0):
    head_dim = x.shape[-1]
    frequencies = base ** (-np.arange(0, head_dim, 2) / head_dim)
    angles = positions[:, None] * frequencies
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    first, second = x[..., 0::2], x[..., 1::2]
    turned = [first * cos - second * sin, first * sin + second * cos]
    return np.stack(turned, axis=-1).reshape(x.shape)
