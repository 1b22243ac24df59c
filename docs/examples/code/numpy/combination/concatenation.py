import numpy as np


def concatenation(x, positions, encoding_dim, *, base=10000.0):
    frequencies = base ** (-np.arange(0, encoding_dim, 2) / encoding_dim)  # not of x's width
    angles = positions[:, None] * frequencies
    waves = np.stack([np.sin(angles), np.cos(angles)], axis=-1).astype(x.dtype)
    encoding = waves.reshape(len(positions), encoding_dim)
    return np.concatenate([x, np.broadcast_to(encoding, (*x.shape[:-1], encoding_dim))], axis=-1)
