import torch


def axial_rope(x, positions, widths, *, base=10000.0):
    angles = torch.cat(
        [
            place[:, None] * base ** (-torch.arange(0, width, 2) / width)  # anew on every axis
            for place, width in zip(positions, widths, strict=True)
        ],
        dim=-1,
    )
    cos, sin = torch.cos(angles).to(x.dtype), torch.sin(angles).to(x.dtype)
    first, second = x[..., 0::2], x[..., 1::2]
    turned = [first * cos - second * sin, first * sin + second * cos]
    return torch.stack(turned, dim=-1).flatten(-2)
