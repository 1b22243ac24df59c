import numpy as np


def perceiver_fourier(x, max_resolution, num_bands):
    bands = np.linspace(1, np.asarray(max_resolution) / 2, num_bands, axis=-1)
    angles = np.pi * x[..., None] * bands  # [..., coords, num_bands]
    angles = angles.reshape(*x.shape[:-1], -1)
    return np.concatenate([x, np.sin(angles), np.cos(angles)], axis=-1).astype(x.dtype)


def perceiver_positions(index_dims):
    axes = [np.linspace(-1, 1, places) for places in index_dims]
    every = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    return every.astype(np.float32)
