from itertools import count

import numpy as np


def t5_bucket(relative_position, *, num_buckets=32, max_distance=128):
    side = num_buckets // 2  # for keys before the query; as many for those after it
    exact, far = side // 2, side - side // 2
    first = [  # distance of each wider bucket, in whole numbers: no logarithm is rounded
        next(n for n in count(exact) if n**far * exact**k >= max_distance**k * exact**far)
        for k in range(1, far)
    ]
    distance = np.abs(relative_position)
    wider = np.searchsorted(first, distance, side="right")
    return np.minimum(distance, exact) + wider + side * (relative_position > 0)


def t5_bias(table, q_len, k_len, *, max_distance=128):
    query, key = np.arange(k_len - q_len, k_len)[:, None], np.arange(k_len)
    bucket = t5_bucket(key - query, num_buckets=len(table), max_distance=max_distance)
    return np.moveaxis(table[bucket], -1, 0)
