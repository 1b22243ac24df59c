import numpy as np


def hybrid_scores(x, w_q, w_k, table, *, base=10000.0):
    n, dim = x.shape
    angles = np.arange(n)[:, None] * base ** (-np.arange(0, dim, 2) / dim)
    encoding = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(n, dim)
    h = x + encoding.astype(x.dtype)
    scores = (h @ w_q) @ (h @ w_k).swapaxes(-1, -2) / w_q.shape[-1] ** 0.5
    reach = len(table) // 2
    offset = np.arange(n) - np.arange(n)[:, None]  # key minus query
    return scores + np.moveaxis(table[np.clip(offset, -reach, reach) + reach], -1, 0)
