import math

import numpy as np


def yarn(
    x,
    positions,
    *,
    base=10000.0,
    factor,
    original_max_position_embeddings,
    beta_fast=32.0,
    beta_slow=1.0,
):
    head_dim = x.shape[-1]

    def place(turns):  # of the pair that turns so often within the original length
        turned = original_max_position_embeddings / (2 * math.pi * turns)
        return head_dim * math.log(turned) / (2 * math.log(base))

    first = max(math.floor(place(beta_fast)), 0)
    last = min(math.ceil(place(beta_slow)), head_dim - 1)
    pair = np.arange(head_dim // 2)
    slowed = np.clip((pair - first) / max(last - first, 0.001), 0, 1)
    frequencies = base ** (-2 * pair / head_dim) * (1 - slowed + slowed / factor)
    angles = positions[:, None] * frequencies
    longer = 0.1 * math.log(factor) + 1
    cos, sin = longer * np.cos(angles), longer * np.sin(angles)
    first, second = x[..., 0::2], x[..., 1::2]
    turned = [first * cos - second * sin, first * sin + second * cos]
    return np.stack(turned, axis=-1).reshape(x.shape).astype(x.dtype)
