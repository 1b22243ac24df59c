import numpy as np


def clipped_bias(table, q_len, k_len):
    reach = len(table) // 2
    query, key = np.arange(k_len - q_len, k_len)[:, None], np.arange(k_len)
    row = np.clip(key - query, -reach, reach) + reach
    return np.moveaxis(table[row], -1, 0)
