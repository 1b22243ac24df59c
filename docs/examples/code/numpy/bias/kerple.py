import numpy as np


def kerple_bias(r1, r2, q_len, k_len):
    query, key = np.arange(k_len - q_len, k_len)[:, None], np.arange(k_len)
    distance = np.abs(query - key).astype(r1.dtype)
    return -r1[:, None, None] * np.log1p(r2[:, None, None] * distance)
