import torch


def position_interpolation_frequencies(rotary_dim, *, base=10000.0, factor):
    frequencies = base ** (-torch.arange(0, rotary_dim, 2) / rotary_dim)
    return frequencies / factor
