"""Kernels in PyTorch: autograd functions, modules with caches, views."""

from typing import Any

import numpy as np

from posenc_conformance import to_torch
from posenc_lab.field.kernels.bench import (
    ALIASED,
    HEAD,
    STANDS,
    STATE,
    STRIDES,
    Family,
    Fault,
    Style,
)
from posenc_lab.field.kernels.rows import NARROW
from posenc_lab.field.pieces import Answer


def of_tensors(fault: str = "", style: str = "") -> Answer:
    """Return a rotation of tensors, which may be views as in models."""
    cache: dict[Any, Any] = {}

    def tables(positions: Any, width: int, base: float) -> tuple[Any, Any]:
        import torch

        steps = torch.arange(0, width, 2, dtype=torch.float64) / width
        angles = torch.outer(positions.double(), base**-steps)
        return angles.cos(), angles.sin()

    def rope(x: Any, positions: Any, *, base: float, **_: Any) -> Any:
        import torch

        x, positions = to_torch(x), to_torch(positions)
        if fault == "as_strided_without_gaps" and x.numel() and x.stride(-1) == 1:
            steps = np.cumprod([1, *x.shape[:0:-1]])[::-1].tolist()
            x = torch.as_strided(x, x.shape, steps)
        if fault == "data_pointer_of_the_storage" and x.numel():
            x = torch.as_strided(x, x.shape, x.stride(), 0)
        if fault == "positions_not_read":
            positions = torch.arange(x.shape[-2])
        if fault == "recorded_with_its_first_positions":
            key = (x.shape, x.dtype)
            positions = cache.setdefault(key, positions.clone())
        if fault == "offset_alone":
            start = int(positions[0]) if len(positions) else 0
            positions = start + torch.arange(x.shape[-2])
        cos, sin = tables(positions, x.shape[-1], base)
        wide = x.double() if x.dtype == torch.float64 else x.float()
        cos, sin = cos.to(wide.dtype), sin.to(wide.dtype)
        if style == "complex":
            both = torch.complex(*wide.unflatten(-1, (2, -1)).unbind(-2))
            done = both * torch.complex(cos, sin)
            out = torch.cat((done.real, done.imag), dim=-1)
        elif style == "expanded":
            cos, sin = (wave.expand(*x.shape[:-2], *wave.shape) for wave in (cos, sin))
            a, b = wide.chunk(2, dim=-1)
            out = torch.cat((a * cos - b * sin, torch.addcmul(b * cos, a, sin)), dim=-1)
        else:
            a, b = wide.chunk(2, dim=-1)
            if fault == "first_half_written_in_place" and x.numel():
                a = a.clone()
                a.mul_(cos).sub_(b * sin)
                out = torch.cat((a, b * cos + a * sin), dim=-1)
            else:
                out = torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)
        out = out.to(x.dtype)
        if fault == "static_output":
            buffer = cache.setdefault((x.shape, x.dtype), torch.empty_like(out))
            buffer.copy_(out)
            return buffer
        if style == "static_output_cloned":
            buffer = cache.setdefault((x.shape, x.dtype), torch.empty_like(out))
            buffer.copy_(out)
            return buffer.clone()
        if style == "heads_after_rows" and x.ndim > 2:
            return out.transpose(-2, -3).contiguous().transpose(-2, -3)
        return out

    return rope


def of_autograd(fault: str = "", style: str = "") -> Answer:
    """Return the backward pass of an autograd function for the rotation."""

    def rope_vjp(x: Any, positions: Any, *, base: float, **_: Any) -> Any:
        import torch

        gradient, positions = to_torch(x), to_torch(positions)
        width = gradient.shape[-1]
        kind = torch.float64 if gradient.dtype == torch.float64 else torch.float32
        steps = torch.arange(0, width, 2, dtype=torch.float64) / width
        angles = torch.outer(positions.double(), base**-steps)
        cos, sin = angles.cos().to(kind), angles.sin().to(kind)

        def turn(x: Any, sine: Any) -> Any:
            a, b = x.to(kind).chunk(2, dim=-1)
            return torch.cat((a * cos - b * sine, b * cos + a * sine), dim=-1).to(x.dtype)

        class Turn(torch.autograd.Function):
            @staticmethod
            def forward(_: Any, x: Any) -> Any:
                return turn(x, sin)

            @staticmethod
            def backward(_: Any, come: Any) -> Any:
                if fault == "same_sine_backward":
                    return turn(come, sin)
                if fault == "as_it_comes":
                    return come
                if fault == "strides_of_a_whole_gradient" and come.numel():
                    whole = np.cumprod([1, *come.shape[:0:-1]])[::-1].tolist()
                    least = sum((n - 1) * s for n, s in zip(come.shape, whole, strict=True)) + 1
                    if come.untyped_storage().nbytes() // come.element_size() >= least:
                        come = torch.as_strided(come, come.shape, whole)
                    else:
                        come = come.reshape(-1)[:1].expand(come.shape)
                return turn(come, -sin)

        at = torch.zeros_like(gradient, requires_grad=True)
        out = turn(at, sin) if style == "by_autograd" else Turn.apply(at)
        if fault == "detached":
            return torch.zeros_like(at)
        (result,) = torch.autograd.grad(out, at, gradient)
        return result

    return rope_vjp


def appended(fault: str = "", style: str = "") -> Answer:
    """Return a rotation with an offset per sequence, the length of its KV cache."""

    def rope_offsets(x: Any, offsets: Any, *, base: float, **_: Any) -> Any:
        import torch

        x, offsets = to_torch(x), to_torch(offsets).long()
        rows, width = x.shape[-2:]
        steps = torch.arange(rows)
        positions = offsets[:, None] + steps
        if fault == "broadcast_over_heads" and len(offsets) == x.shape[1]:
            where = positions[None, :, :, None]
        else:
            where = positions[:, None, :, None]
        if fault == "scalar_offset" and offsets.numel():
            where = (offsets[0] + steps)[None, None, :, None]
        if fault == "mean_of_offsets" and offsets.numel():
            where = (offsets.float().mean().long() + steps)[None, None, :, None]
        frequencies = base ** -(torch.arange(0, width, 2, dtype=torch.float64) / width)
        angles = where * frequencies
        kind = torch.float64 if x.dtype == torch.float64 else torch.float32
        a, b = x.to(kind).chunk(2, dim=-1)
        cos, sin = angles.cos().to(kind), angles.sin().to(kind)
        if style == "one_after_another":
            parts = [
                torch.cat((a[n] * cos[n] - b[n] * sin[n], b[n] * cos[n] + a[n] * sin[n]), -1)
                for n in range(len(x))
            ]
            return torch.stack(parts).to(x.dtype) if parts else torch.zeros_like(x)
        return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1).to(x.dtype)

    return rope_offsets


MODULES = (
    Family(
        "rope",
        "half",
        of_tensors,
        (
            Style("chunks", "Two chunks."),
            Style("complex_numbers", "Complex numbers.", {"style": "complex"}),
            Style(
                "expanded_tables",
                "Tables expanded to all heads.",
                {"style": "expanded"},
                "",
                {"dtype": NARROW},
            ),
            Style(
                "copy_of_a_static_output",
                "A recorded output, copied.",
                {"style": "static_output_cloned"},
            ),
            Style(
                "heads_after_rows",
                "A result with heads behind rows in memory.",
                {"style": "heads_after_rows"},
            ),
        ),
        (
            Fault(
                "as_strided_without_gaps",
                "Read as if the tensor had no gaps.",
                (),
                STRIDES,
                "vllm-project/vllm#17091",
            ),
            Fault(
                "data_pointer_of_the_storage",
                "Read from the beginning of the storage.",
                (),
                (*STRIDES, "storage", "begins elsewhere"),
                "",
            ),
            Fault(
                "positions_not_read",
                "Rows counted from 0.",
                (),
                (*STANDS, "(not read|ignored)", "row numbers"),
                "NVIDIA/Megatron-LM#453",
            ),
            Fault(
                "recorded_with_its_first_positions",
                "A graph with the first positions.",
                (),
                (*STATE, *STANDS),
                "huggingface/candle#3728",
            ),
            Fault("offset_alone", "Counted from the first position.", (), STANDS, ""),
            Fault(
                "first_half_written_in_place",
                "The second half is made of the new first.",
                (),
                ("overwritten", "new first", "written"),
                "",
            ),
            Fault("static_output", "The recorded output is handed out.", (), ALIASED, ""),
        ),
    ),
    Family(
        "rope_vjp",
        "half",
        of_autograd,
        (
            Style("own_backward", "A backward pass of its own."),
            Style("by_autograd", "By autograd.", {"style": "by_autograd"}, "", {"dtype": NARROW}),
        ),
        (
            Fault(
                "same_sine_backward", "The same sine backward.", ("backward-is-forward",), (), ""
            ),
            Fault(
                "as_it_comes",
                "The gradient as it comes.",
                ("backward-unrotated",),
                (),
                "NVlabs/LongLive#61",
            ),
            Fault(
                "strides_of_a_whole_gradient",
                "Gradients are read as if they had no gaps.",
                (),
                (*STRIDES, "expanded", "stride 0"),
                "ROCm/apex#334",
            ),
            Fault(
                "detached",
                "The graph is cut.",
                (),
                ("got 0", "zeros", "no gradient"),
                "huggingface/candle#3568",
            ),
        ),
    ),
    Family(
        "rope_offsets",
        "offsets-half",
        appended,
        (
            Style("all_at_once", "All sequences at once."),
            Style("one_after_another", "One after another.", {"style": "one_after_another"}),
        ),
        (
            Fault(
                "broadcast_over_heads",
                "Offsets along heads, where there are as many.",
                (),
                (*STANDS, HEAD),
                "deepspeedai/DeepSpeed#8052",
            ),
            Fault(
                "scalar_offset",
                "The first offset for all.",
                ("first-sequence-for-all",),
                (*STANDS, "first sequence"),
                "Comfy-Org/ComfyUI#15698",
            ),
            Fault("mean_of_offsets", "The mean of all offsets.", (), STANDS, ""),
        ),
    ),
)
