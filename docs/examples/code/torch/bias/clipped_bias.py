import torch


def clipped_bias(table, q_len, k_len):
    reach = len(table) // 2
    query, key = torch.arange(k_len - q_len, k_len)[:, None], torch.arange(k_len)
    row = torch.clip(key - query, -reach, reach) + reach
    return torch.moveaxis(table[row], -1, 0)
