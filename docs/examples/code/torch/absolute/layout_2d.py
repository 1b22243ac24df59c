from itertools import count

import torch


def layout_embedding(bbox, x_table, y_table, h_table, w_table):
    left, upper, right, lower = bbox.T
    height, width = (lower - upper).clamp(min=0), (right - left).clamp(min=0)
    edges = [x_table[left], y_table[upper], x_table[right], y_table[lower]]
    return torch.cat([*edges, h_table[height], w_table[width]], dim=-1)


def bucket(distance, num_buckets, max_distance):
    side = num_buckets // 2  # T5's rule: one side for keys before the query, one for those after
    exact, far = side // 2, side - side // 2
    first = [  # distance of each wider bucket, in whole numbers: no logarithm is rounded
        next(n for n in count(exact) if n**far * exact**k >= max_distance**k * exact**far)
        for k in range(1, far)
    ]
    size = distance.abs()
    wider = torch.bucketize(size, torch.tensor(first), right=True)
    return size.clamp(max=exact) + wider + side * (distance > 0)


def layout_bias(bbox, x_table, y_table, *, max_distance=256, head_dim=64):
    left, lower = bbox[:, 0], bbox[:, 3]
    along = x_table[bucket(left - left[:, None], len(x_table), max_distance)]  # key minus query
    down = y_table[bucket(lower - lower[:, None], len(y_table), max_distance)]
    return torch.moveaxis(along + down, -1, 0) / head_dim**0.5
