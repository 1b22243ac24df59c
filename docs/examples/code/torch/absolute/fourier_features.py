import torch


def nerf(x, num_frequencies):
    turns = x.double()[..., None] * 2.0 ** torch.arange(num_frequencies)
    waves = torch.stack([torch.sin(torch.pi * turns), torch.cos(torch.pi * turns)], dim=-1)
    return waves.reshape(*x.shape[:-1], -1).to(x.dtype)


def gaussian_fourier(x, b):
    angles = 2 * torch.pi * (x.double() @ b.double().T)
    return torch.cat([torch.cos(angles), torch.sin(angles)], dim=-1).to(x.dtype)
