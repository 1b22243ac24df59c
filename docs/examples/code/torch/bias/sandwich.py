import torch


def sandwich_bias(heads, q_len, k_len, *, dim):
    frequencies = 10000.0 ** (-2 * torch.arange(1, dim // 2 + 1) / dim)
    angles = torch.arange(k_len)[:, None] * frequencies
    by_distance = torch.cos(angles).sum(dim=-1) - dim / 2  # 0 for the query's own key
    slopes = heads / (8 * torch.arange(1, heads + 1))
    query, key = torch.arange(k_len - q_len, k_len)[:, None], torch.arange(k_len)
    return slopes[:, None, None] * by_distance[torch.abs(query - key)]
