import torch
import torch.nn.functional as F


def timestep(positions, dim, *, max_period=10000.0, scale=1.0):
    half = dim // 2
    frequencies = max_period ** (-torch.arange(half) / half)
    angles = scale * positions[:, None].float() * frequencies
    waves = torch.cat([torch.cos(angles), torch.sin(angles)], dim=-1)
    return F.pad(waves, (0, dim % 2))
