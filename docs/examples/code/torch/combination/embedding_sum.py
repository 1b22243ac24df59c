import torch


def embedding_sum(x, positions, *, base=10000.0):
    dim = x.shape[-1]
    angles = positions[:, None] * base ** (-torch.arange(0, dim, 2) / dim)
    encoding = torch.stack([torch.sin(angles), torch.cos(angles)], dim=-1).flatten(-2)
    return (dim**0.5 * x + encoding).to(x.dtype)
