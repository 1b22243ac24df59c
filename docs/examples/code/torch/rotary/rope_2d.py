import torch


def rope_2d(x, positions, *, base=10000.0):
    rows, columns = positions.float()
    pairs = x.shape[-1] // 4  # for each of the two axes
    frequencies = base ** (-torch.arange(pairs).float() / pairs)
    angles = torch.cat([columns[:, None] * frequencies, rows[:, None] * frequencies], dim=-1)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x[..., 0::2], x[..., 1::2]
    turned = [first * cos - second * sin, first * sin + second * cos]
    return torch.stack(turned, dim=-1).flatten(-2)
