import numpy as np


def strided_mask(q_len, k_len, stride):
    query, key = np.arange(k_len - q_len, k_len)[:, None], np.arange(k_len)
    distance = query - key
    return (distance >= 0) & ((distance <= stride) | (distance % stride == 0))
