import numpy as np


def rope(x, positions, base):
    width = x.shape[-1]
    angles = positions[:, None] * base ** (-np.arange(0, width, 2) / width)
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    first, second = x[..., 0::2], x[..., 1::2]
    turned = [first * cos - second * sin, first * sin + second * cos]
    return np.stack(turned, axis=-1).reshape(x.shape)


def mla_scores(q, k_nope, k_rope, *, base=10000.0):
    q_len, k_len, nope = q.shape[1], k_nope.shape[1], k_nope.shape[2]
    query, key = np.arange(k_len - q_len, k_len), np.arange(k_len)
    content = q[..., :nope] @ k_nope.swapaxes(-1, -2)
    place = rope(q[..., nope:], query, base) @ rope(k_rope, key, base).T  # one for all heads
    return (content + place) / q.shape[-1] ** 0.5
