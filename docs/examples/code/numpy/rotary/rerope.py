import numpy as np


def rope(x, positions, base):
    frequencies = base ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1])
    angles = positions[..., None] * frequencies
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1)


def rerope_scores(q, k, *, window, base=10000.0):
    return leaky_rerope_scores(q, k, window=window, factor=np.inf, base=base)


def leaky_rerope_scores(q, k, *, window, factor, base=10000.0):
    q_len, k_len = q.shape[1], k.shape[1]
    query, key = np.arange(k_len - q_len, k_len), np.arange(k_len)
    near = rope(q, query, base) @ rope(k, key, base).swapaxes(-1, -2)
    slowed = window + (query - window) / factor  # as far from key / factor as it should be
    far = rope(q, slowed, base) @ rope(k, key / factor, base).swapaxes(-1, -2)
    scores = np.where(query[:, None] - key < window, near, far) / q.shape[-1] ** 0.5
    return np.where(key <= query[:, None], scores, -np.inf)
