import os

import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"

import triton
import triton.language as tl

from posenc_conformance import claims, to_torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROWS = 64


@triton.jit
def turn(
    x, positions, frequencies, rows, half, row_stride, head_stride, R: tl.constexpr, P: tl.constexpr
):
    row = tl.program_id(0) * R + tl.arange(0, R)
    pair = tl.arange(0, P)
    inside = (row < rows)[:, None] & (pair < half)[None, :]
    position = tl.load(positions + row, mask=row < rows, other=0).to(tl.float32)
    frequency = tl.load(frequencies + pair, mask=pair < half, other=0.0)
    angle = position[:, None] * frequency[None, :]
    first = x + tl.program_id(1) * head_stride + row[:, None] * row_stride + pair[None, :]
    a = tl.load(first, mask=inside, other=0.0).to(tl.float32)
    b = tl.load(first + half, mask=inside, other=0.0).to(tl.float32)
    sine, cosine = tl.sin(angle), tl.cos(angle)
    tl.store(first, a * cosine - b * sine, mask=inside)
    tl.store(first + half, a * sine + b * cosine, mask=inside)


def turn_(x, positions, base):
    """Rows [n, heads, head_dim] of any strides, in place."""
    rows, heads, head_dim = x.shape
    half = head_dim // 2
    frequencies = base ** -(torch.arange(half, device=x.device, dtype=torch.float32) / half)
    if rows:
        turn[(triton.cdiv(rows, ROWS), heads)](
            *(x, positions, frequencies, rows, half, x.stride(0), x.stride(1)),
            R=ROWS,
            P=triton.next_power_of_2(half),
        )


class Adapter:
    @claims("qkv-half", dtype=["float32", "bfloat16", "float16"])
    def rope_qkv(self, qkv, positions, heads, key_heads, *, base):
        out = to_torch(qkv).to(DEVICE).contiguous()
        every = heads + 2 * key_heads
        by_head = out.view(len(out), every, out.shape[1] // every)
        places = to_torch(positions).to(DEVICE)
        turn_(by_head[:, :heads], places, base)
        turn_(by_head[:, heads : heads + key_heads], places, base)
        return out.cpu()

    @claims("packed-half", dtype=["float32", "bfloat16", "float16"])
    def rope_packed(self, x, cu_seqlens, offsets, *, base):
        tokens = to_torch(x).to(DEVICE).transpose(0, 1).contiguous()
        edges, starts = to_torch(cu_seqlens).to(DEVICE), to_torch(offsets).to(DEVICE)
        shifts = torch.repeat_interleave(starts - edges[:-1], edges.diff())
        turn_(tokens, torch.arange(len(tokens), device=DEVICE) + shifts, base)
        return tokens.transpose(0, 1).cpu()
