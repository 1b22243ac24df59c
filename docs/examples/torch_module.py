import torch
from torch import nn

from posenc_conformance import claims, to_torch


class Rope(nn.Module):
    def __init__(self, head_dim, base):
        super().__init__()
        pairs = torch.arange(0, head_dim, 2, dtype=torch.float32)
        self.register_buffer("frequencies", base ** (-pairs / head_dim), persistent=False)

    def forward(self, x, positions):
        angle = positions[:, None].to(self.frequencies.dtype) * self.frequencies
        cosine, sine = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * cosine - b * sine, a * sine + b * cosine], dim=-1)


class SteadyRope(nn.Module):
    def __init__(self, head_dim, base):
        super().__init__()
        self.head_dim, self.base = head_dim, base

    def forward(self, x, positions):
        pairs = torch.arange(0, self.head_dim, 2, device=x.device, dtype=torch.float32)
        angle = positions[:, None].float() * self.base ** (-pairs / self.head_dim)
        cosine, sine = angle.cos(), angle.sin()
        a, b = x.float().chunk(2, dim=-1)
        turned = torch.cat([a * cosine - b * sine, a * sine + b * cosine], dim=-1)
        return turned.to(x.dtype)


class Adapter:
    make = Rope

    @claims(layout="half", dtype=["float32", "bfloat16"])
    def rope(self, x, positions, *, base):
        x = to_torch(x)
        module = self.make(x.shape[-1], base).to(x.dtype)  # as a model in this dtype does
        return module(x, to_torch(positions))


class SteadyAdapter(Adapter):
    make = SteadyRope
