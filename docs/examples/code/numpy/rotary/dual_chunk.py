import numpy as np


def rope(x, positions, base):
    frequencies = base ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1])
    angles = positions[..., None] * frequencies
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1)


def dual_chunk_scores(q, k, *, chunk_size, local_size, base=10000.0):
    q_len, k_len = q.shape[1], k.shape[1]
    query, key = np.arange(k_len - q_len, k_len), np.arange(k_len)
    size = chunk_size - local_size
    keys = rope(k, key % size, base).swapaxes(-1, -2)  # the same for all three
    inside = rope(q, query % size, base) @ keys
    before = rope(q, np.minimum(query % size + size, chunk_size), base) @ keys
    far = rope(q, np.full(q_len, min(2 * size - 1, chunk_size)), base) @ keys
    apart = query[:, None] // size - key // size
    scores = np.where(apart == 0, inside, np.where(apart == 1, before, far)) / q.shape[-1] ** 0.5
    return np.where(key <= query[:, None], scores, -np.inf)
