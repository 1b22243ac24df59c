import torch


def kerple_bias(r1, r2, q_len, k_len):
    query, key = torch.arange(k_len - q_len, k_len)[:, None], torch.arange(k_len)
    distance = torch.abs(query - key)
    return -r1[:, None, None] * torch.log1p(r2[:, None, None] * distance)
