import torch
import torch.nn.functional as F


def polar(x, angles):
    length = F.softplus(x)  # never below 0
    pairs = torch.stack([length * angles.cos(), length * angles.sin()], dim=-1)
    return pairs.flatten(-2).to(x.dtype)


def angles_of(positions, head_dim, base):
    frequencies = base ** (-torch.arange(head_dim) / head_dim)  # one for each channel
    return positions[:, None].float() * frequencies


def pope_query(x, positions, *, base=10000.0):
    return polar(x, angles_of(positions, x.shape[-1], base))


def pope_key(x, positions, bias, *, base=10000.0):
    return polar(x, angles_of(positions, x.shape[-1], base) + bias.clamp(-2 * torch.pi, 0))
