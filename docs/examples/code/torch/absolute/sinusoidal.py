import torch


def sinusoidal(positions, dim, *, base=10000.0):
    frequencies = base ** (-torch.arange(0, dim, 2).float() / dim)
    angles = positions[:, None].float() * frequencies
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
