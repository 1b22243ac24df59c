import torch

from posenc_conformance import claims, to_torch


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat([-b, a], dim=-1)


class Adapter:
    @claims(layout="half", dtype=["float32", "bfloat16", "float16"])
    def rope(self, x, positions, *, base):
        x = to_torch(x)
        pairs = torch.arange(0, x.shape[-1], 2, dtype=torch.float32)
        angle = to_torch(positions).float()[:, None] * base ** (-pairs / x.shape[-1])
        angle = torch.cat([angle, angle], dim=-1)
        turned = x.float() * angle.cos() + rotate_half(x.float()) * angle.sin()
        return turned.to(x.dtype)
