import torch


def attention_weights(q, k):
    q_len, k_len = q.shape[-2], k.shape[-2]
    scores = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
    query, key = torch.arange(k_len - q_len, k_len)[:, None], torch.arange(k_len)
    return scores.masked_fill(key > query, -torch.inf).softmax(-1)


def attention(q, k, v):
    return attention_weights(q, k) @ v
