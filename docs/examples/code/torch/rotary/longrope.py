import torch


def longrope_frequencies(factors, *, base=10000.0):
    pairs = len(factors)
    return base ** (-torch.arange(pairs) / pairs) / torch.as_tensor(factors).float()
