import numpy as np


def sliding_window(q_len, k_len, window):
    query, key = np.arange(k_len - q_len, k_len)[:, None], np.arange(k_len)
    return (query - window < key) & (key <= query)
