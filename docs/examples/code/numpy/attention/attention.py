import numpy as np


def attention_weights(q, k):
    q_len, k_len = q.shape[-2], k.shape[-2]
    scores = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
    query, key = np.arange(k_len - q_len, k_len)[:, None], np.arange(k_len)
    scores = np.where(key <= query, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def attention(q, k, v):
    return attention_weights(q, k) @ v
