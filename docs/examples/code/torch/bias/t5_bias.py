from itertools import count

import torch


def t5_bucket(relative_position, *, num_buckets=32, max_distance=128):
    side = num_buckets // 2  # for keys before the query; as many for those after it
    exact, far = side // 2, side - side // 2
    first = [  # distance of each wider bucket, in whole numbers: no logarithm is rounded
        next(n for n in count(exact) if n**far * exact**k >= max_distance**k * exact**far)
        for k in range(1, far)
    ]
    distance = relative_position.abs()
    wider = torch.bucketize(distance, torch.tensor(first), right=True)
    return distance.clamp(max=exact) + wider + side * (relative_position > 0)


def t5_bias(table, q_len, k_len, *, max_distance=128):
    query, key = torch.arange(k_len - q_len, k_len)[:, None], torch.arange(k_len)
    bucket = t5_bucket(key - query, num_buckets=len(table), max_distance=max_distance)
    return table[bucket].permute(2, 0, 1)
