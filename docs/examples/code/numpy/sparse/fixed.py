import numpy as np


def fixed_mask(q_len, k_len, block_size, summary):
    query, key = np.arange(k_len - q_len, k_len)[:, None], np.arange(k_len)
    same_block = key // block_size == query // block_size
    in_summary = key % block_size >= block_size - summary
    return (key <= query) & (same_block | in_summary)
