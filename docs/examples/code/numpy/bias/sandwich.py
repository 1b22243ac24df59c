import numpy as np


def sandwich_bias(heads, q_len, k_len, *, dim):
    frequencies = 10000.0 ** (-2 * np.arange(1, dim // 2 + 1) / dim)
    angles = np.arange(k_len)[:, None] * frequencies
    by_distance = np.cos(angles).sum(axis=-1) - dim / 2  # 0 for the query's own key
    slopes = heads / (8 * np.arange(1, heads + 1))
    query, key = np.arange(k_len - q_len, k_len)[:, None], np.arange(k_len)
    bias = slopes[:, None, None] * by_distance[np.abs(query - key)]
    return bias.astype(np.float32)
