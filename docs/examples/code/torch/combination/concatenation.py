import torch


def concatenation(x, positions, encoding_dim, *, base=10000.0):
    frequencies = base ** (-torch.arange(0, encoding_dim, 2) / encoding_dim)  # not of x's width
    angles = positions[:, None] * frequencies
    encoding = torch.stack([torch.sin(angles), torch.cos(angles)], dim=-1).flatten(-2)
    encoding = encoding.to(x.dtype).expand(*x.shape[:-1], encoding_dim)
    return torch.cat([x, encoding], dim=-1)
