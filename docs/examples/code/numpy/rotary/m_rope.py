import numpy as np


def m_rope(x, positions, sections, *, base=10000.0):
    head_dim = x.shape[-1]
    frequencies = base ** (-np.arange(0, head_dim, 2) / head_dim)
    axis = np.repeat(np.arange(3), sections)  # time, height, width
    angles = positions[axis].T * frequencies
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    first, second = x[..., 0::2], x[..., 1::2]
    turned = [first * cos - second * sin, first * sin + second * cos]
    return np.stack(turned, axis=-1).reshape(x.shape)
