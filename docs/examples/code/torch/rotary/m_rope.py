import torch


def m_rope(x, positions, sections, *, base=10000.0):
    head_dim = x.shape[-1]
    frequencies = base ** (-torch.arange(0, head_dim, 2) / head_dim)
    axis = torch.arange(3).repeat_interleave(sections)  # time, height, width
    angles = positions[axis].T * frequencies
    cos, sin = torch.cos(angles).to(x.dtype), torch.sin(angles).to(x.dtype)
    first, second = x[..., 0::2], x[..., 1::2]
    turned = [first * cos - second * sin, first * sin + second * cos]
    return torch.stack(turned, dim=-1).flatten(-2)
