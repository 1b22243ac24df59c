import numpy as np


def half(places, dim, base):
    frequencies = base ** (-np.arange(0, dim, 2) / dim)
    angles = places[:, None] * frequencies
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=-1)


def sincos_2d(height, width, dim, *, base=10000.0):
    rows, columns = np.divmod(np.arange(height * width), width)
    halves = [half(columns, dim // 2, base), half(rows, dim // 2, base)]  # the column comes first
    return np.concatenate(halves, axis=-1).astype(np.float32)
