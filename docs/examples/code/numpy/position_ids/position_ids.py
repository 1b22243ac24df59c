import numpy as np


def padded_position_ids(attention_mask):
    counted = np.cumsum(attention_mask, axis=-1) - 1
    return np.where(attention_mask == 1, counted, 0)


def packed_position_ids(lengths):
    return np.array([i for length in lengths for i in range(length)], dtype=np.int64)


def cached_position_ids(past_length, q_len):
    return np.arange(past_length, past_length + q_len)
