import numpy as np


def sinusoidal(positions, dim, *, base=10000.0):
    frequencies = base ** (-np.arange(0, dim, 2) / dim)
    angles = positions[:, None] * frequencies
    pairs = np.stack([np.sin(angles), np.cos(angles)], axis=-1)
    return pairs.reshape(len(positions), dim).astype(np.float32)
