import numpy as np


def bigbird_mask(q_len, k_len, block_size):
    query = np.arange(k_len - q_len, k_len)[:, None] // block_size
    key = np.arange(k_len) // block_size
    last = (k_len - 1) // block_size
    ends = [0, last]  # global blocks: they see everything, and everything sees them
    return (np.abs(query - key) <= 1) | np.isin(query, ends) | np.isin(key, ends)
