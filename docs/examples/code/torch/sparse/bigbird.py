import torch


def bigbird_mask(q_len, k_len, block_size):
    query = torch.arange(k_len - q_len, k_len)[:, None] // block_size
    key = torch.arange(k_len) // block_size
    last = (k_len - 1) // block_size
    ends = torch.tensor([0, last])  # global blocks: they see all, and all see them
    return ((query - key).abs() <= 1) | torch.isin(query, ends) | torch.isin(key, ends)
