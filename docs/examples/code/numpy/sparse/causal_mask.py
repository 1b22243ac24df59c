import numpy as np


def causal_mask(q_len, k_len):
    query, key = np.arange(k_len - q_len, k_len)[:, None], np.arange(k_len)
    return key <= query
