import numpy as np


def timestep(positions, dim, *, max_period=10000.0, scale=1.0):
    half = dim // 2
    frequencies = max_period ** (-np.arange(half) / half)
    angles = scale * positions[:, None] * frequencies
    waves = np.concatenate([np.cos(angles), np.sin(angles)], axis=-1)
    return np.pad(waves, [(0, 0), (0, dim % 2)]).astype(np.float32)
