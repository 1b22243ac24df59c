import torch


def to_half(weight, heads):
    """Of each head the rows 0, 2, 4, …, then the rows 1, 3, 5, …"""
    by_pair = weight.reshape(heads, -1, 2, *weight.shape[1:])
    return by_pair.swapaxes(1, 2).reshape(weight.shape)


def permute_qk(q_weight, k_weight, heads, key_heads):
    return torch.cat([to_half(q_weight, heads), to_half(k_weight, key_heads)])
