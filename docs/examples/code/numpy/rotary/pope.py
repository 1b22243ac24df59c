import numpy as np


def polar(x, angles):
    length = np.logaddexp(x, 0)  # softplus: never below 0
    pairs = np.stack([length * np.cos(angles), length * np.sin(angles)], axis=-1)
    return pairs.reshape(*x.shape[:-1], 2 * x.shape[-1]).astype(x.dtype)


def angles_of(positions, head_dim, base):
    return positions[:, None] * base ** (-np.arange(head_dim) / head_dim)  # one for each channel


def pope_query(x, positions, *, base=10000.0):
    return polar(x, angles_of(positions, x.shape[-1], base))


def pope_key(x, positions, bias, *, base=10000.0):
    return polar(x, angles_of(positions, x.shape[-1], base) + np.clip(bias, -2 * np.pi, 0))
