import numpy as np


def dilated_window(q_len, k_len, window, dilation):
    query, key = np.arange(k_len - q_len, k_len)[:, None], np.arange(k_len)
    distance = np.abs(key - query)
    return (distance % dilation == 0) & (distance <= window * dilation)
