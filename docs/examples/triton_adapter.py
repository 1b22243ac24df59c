import os

import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # before the import: kernels run in Python, on the CPU

import triton
import triton.language as tl

from posenc_conformance import claims, to_torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROWS = 64


@triton.jit
def rotate(
    x, positions, frequencies, out, rows, length, half, sign, R: tl.constexpr, P: tl.constexpr
):
    row = tl.program_id(0) * R + tl.arange(0, R)
    pair = tl.arange(0, P)
    inside = (row < rows)[:, None] & (pair < half)[None, :]
    position = tl.load(positions + row % length, mask=row < rows, other=0).to(tl.float32)
    frequency = tl.load(frequencies + pair, mask=pair < half, other=0.0)
    angle = sign * position[:, None] * frequency[None, :]
    place = row[:, None] * 2 * half + pair[None, :]
    a = tl.load(x + place, mask=inside, other=0.0).to(tl.float32)
    b = tl.load(x + place + half, mask=inside, other=0.0).to(tl.float32)
    sine, cosine = tl.sin(angle), tl.cos(angle)
    tl.store(out + place, a * cosine - b * sine, mask=inside)
    tl.store(out + place + half, a * sine + b * cosine, mask=inside)


def rotated(x, positions, base, sign):
    x = x.contiguous()
    out, half = torch.empty_like(x), x.shape[-1] // 2
    frequencies = base ** -(torch.arange(half, device=x.device, dtype=torch.float32) / half)
    rows = x.numel() // x.shape[-1]
    if rows:
        rotate[(triton.cdiv(rows, ROWS),)](
            *(x, positions, frequencies, out, rows, x.shape[-2], half, sign),
            R=ROWS,
            P=triton.next_power_of_2(half),
        )
    return out


class Rope(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, positions, base):
        ctx.save_for_backward(positions)
        ctx.base = base
        return rotated(x, positions, base, 1)

    @staticmethod
    def backward(ctx, gradient):
        (positions,) = ctx.saved_tensors
        return rotated(gradient, positions, ctx.base, -1), None, None


class Adapter:
    @claims(layout="half", dtype=["float32", "bfloat16", "float16"])
    def rope(self, x, positions, *, base):
        return Rope.apply(to_torch(x).to(DEVICE), to_torch(positions).to(DEVICE), base).cpu()

    @claims(layout="half", dtype=["float32", "bfloat16", "float16"])
    def rope_vjp(self, gradient, positions, *, base):
        gradient = to_torch(gradient).to(DEVICE)
        x = torch.zeros_like(gradient, requires_grad=True)
        Rope.apply(x, to_torch(positions).to(DEVICE), base).backward(gradient)
        return x.grad.cpu()
