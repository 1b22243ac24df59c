import numpy as np


def vectors(table, q_len, k_len):
    """The vector of every pair of query and key: [q_len, k_len, head_dim]."""
    reach = len(table) // 2
    query, key = np.arange(k_len - q_len, k_len)[:, None], np.arange(k_len)
    return table[np.clip(key - query, -reach, reach) + reach]


def shaw_scores(q, k, table):
    relative = np.einsum("hid,ijd->hij", q, vectors(table, q.shape[1], k.shape[1]))
    return (q @ k.swapaxes(-1, -2) + relative) / q.shape[-1] ** 0.5


def shaw_values(weights, v, table):
    relative = np.einsum("hij,ijd->hid", weights, vectors(table, *weights.shape[1:]))
    return weights @ v + relative
