import torch


def rope(x, positions, *, base=10000.0):
    head_dim = x.shape[-1]
    frequencies = base ** (-torch.arange(0, head_dim, 2).float() / head_dim)
    angles = positions[:, None].float() * frequencies
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x[..., 0::2], x[..., 1::2]
    turned = [first * cos - second * sin, first * sin + second * cos]
    return torch.stack(turned, dim=-1).flatten(-2)
