import numpy as np


def randomized_positions(order, n):
    return np.sort(order[:n])


def alibi_slopes(heads):
    power = 1 << (heads.bit_length() - 1)  # the power of two at or below
    slopes = 2.0 ** (-8 * np.arange(1, power + 1) / power)
    between = 2.0 ** (-4 * np.arange(1, 2 * (heads - power), 2) / power)
    return np.concatenate([slopes, between]).astype(np.float32)


def randomized_alibi_bias(heads, q_len, k_len, before, after):
    before, after = np.sort(before[: k_len - 1]), np.sort(after[: k_len - 1])
    # Of the farthest key before the query, …, the query's own, …, the farthest one after it.
    distances = np.concatenate([before[::-1] - 0.5, [0], after]).astype(np.float32)
    query, key = np.arange(k_len - q_len, k_len)[:, None], np.arange(k_len)
    return -alibi_slopes(heads)[:, None, None] * distances[key - query + k_len - 1]
