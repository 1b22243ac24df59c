import torch


def sliding_window(q_len, k_len, window):
    query, key = torch.arange(k_len - q_len, k_len)[:, None], torch.arange(k_len)
    return (query - window < key) & (key <= query)
