import torch


def xpos(x, positions, *, base=10000.0, scale_base=512.0, downscale=0):
    head_dim = x.shape[-1]
    share = torch.arange(0, head_dim, 2) / head_dim
    angles = positions[:, None] * base**-share
    rate = (share + 0.4) / 1.4
    sign = -1 if downscale else 1  # queries grow as keys shrink
    scale = rate ** (sign * positions[:, None] / scale_base)
    cos, sin = scale * torch.cos(angles), scale * torch.sin(angles)
    first, second = x[..., 0::2], x[..., 1::2]
    turned = [first * cos - second * sin, first * sin + second * cos]
    return torch.stack(turned, dim=-1).flatten(-2).to(x.dtype)
