import numpy as np


def chunked_mask(q_len, k_len, chunk_size):
    query, key = np.arange(k_len - q_len, k_len)[:, None], np.arange(k_len)
    return (key // chunk_size == query // chunk_size) & (key <= query)
