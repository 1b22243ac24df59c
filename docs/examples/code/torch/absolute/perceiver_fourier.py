import torch


def perceiver_fourier(x, max_resolution, num_bands):
    highest = [int(places) / 2 for places in max_resolution]
    bands = torch.stack([torch.linspace(1, each, num_bands) for each in highest])
    angles = torch.pi * x[..., None].float() * bands  # [..., coords, num_bands]
    angles = angles.flatten(-2)
    return torch.cat([x, angles.sin().to(x.dtype), angles.cos().to(x.dtype)], dim=-1)


def perceiver_positions(index_dims):
    axes = [torch.linspace(-1, 1, int(places)) for places in index_dims]
    return torch.stack(torch.meshgrid(*axes, indexing="ij"), dim=-1).reshape(-1, len(axes))
