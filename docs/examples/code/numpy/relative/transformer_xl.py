import numpy as np


def transformer_xl_scores(q, k, w_kr, u, v):
    q_len, k_len, dim = q.shape[1], k.shape[1], w_kr.shape[1]
    query, key = np.arange(k_len - q_len, k_len)[:, None], np.arange(k_len)
    angles = (query - key)[..., None] * 10000.0 ** (-np.arange(0, dim, 2) / dim)
    encoding = np.concatenate([np.sin(angles), np.cos(angles)], axis=-1).astype(q.dtype)
    content = (q + u[:, None]) @ k.swapaxes(-1, -2)
    projected = (q + v[:, None]) @ w_kr.swapaxes(-1, -2)
    distance = np.einsum("hid,ijd->hij", projected, encoding)
    return (content + distance) / q.shape[-1] ** 0.5
