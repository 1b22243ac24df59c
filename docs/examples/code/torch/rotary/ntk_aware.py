import torch


def ntk_aware_frequencies(rotary_dim, *, base=10000.0, factor):
    base = base * factor ** (rotary_dim / (rotary_dim - 2))
    return base ** (-torch.arange(0, rotary_dim, 2) / rotary_dim)
