import torch


def dilated_window(q_len, k_len, window, dilation):
    query, key = torch.arange(k_len - q_len, k_len)[:, None], torch.arange(k_len)
    distance = torch.abs(key - query)
    return (distance % dilation == 0) & (distance <= window * dilation)
