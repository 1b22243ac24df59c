import numpy as np


def deberta_scores(q, k, q_r, k_r):
    length, span = q.shape[1], k_r.shape[-2] // 2
    query, key = np.arange(length)[:, None], np.arange(length)
    row = np.clip(query - key + span, 0, 2 * span - 1)
    content = q @ k.swapaxes(-1, -2)
    to_place = np.take_along_axis(q @ k_r.swapaxes(-1, -2), row[None], axis=-1)
    from_place = np.take_along_axis(k @ q_r.swapaxes(-1, -2), row[None], axis=-1)
    return (content + to_place + from_place.swapaxes(-1, -2)) / (3 * q.shape[-1]) ** 0.5
