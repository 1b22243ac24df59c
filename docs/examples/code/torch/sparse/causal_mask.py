import torch


def causal_mask(q_len, k_len):
    query, key = torch.arange(k_len - q_len, k_len)[:, None], torch.arange(k_len)
    return key <= query
