import numpy as np


def rope_2d(x, positions, *, base=10000.0):
    rows, columns = positions
    pairs = x.shape[-1] // 4  # for each of the two axes
    frequencies = base ** (-np.arange(pairs) / pairs)
    angles = np.concatenate([columns[:, None] * frequencies, rows[:, None] * frequencies], axis=-1)
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    first, second = x[..., 0::2], x[..., 1::2]
    turned = [first * cos - second * sin, first * sin + second * cos]
    return np.stack(turned, axis=-1).reshape(x.shape)
