import numpy as np


def rope_shift(x, deltas, *, base=10000.0):
    frequencies = base ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1])
    angles = deltas[:, None] * frequencies  # one distance for each row of the cache
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1)
