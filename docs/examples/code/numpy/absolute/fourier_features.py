import numpy as np


def nerf(x, num_frequencies):
    turns = x.astype(np.float64)[..., None] * 2.0 ** np.arange(num_frequencies)
    waves = np.stack([np.sin(np.pi * turns), np.cos(np.pi * turns)], axis=-1)
    return waves.reshape(*x.shape[:-1], -1).astype(x.dtype)


def gaussian_fourier(x, b):
    angles = 2 * np.pi * (x.astype(np.float64) @ b.astype(np.float64).T)
    return np.concatenate([np.cos(angles), np.sin(angles)], axis=-1).astype(x.dtype)
