"""flash-attn's rotary kernel, on a GPU."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import FLOATS, Array, Positions, by_heads, in_sequence, once
from posenc_conformance.adapters.torch import backward
from posenc_conformance.judge.arrays import to_numpy

if TYPE_CHECKING:
    from torch import Tensor

LARGEST_HEAD = 256


class FlashAttnAdapter:
    """flash-attn (seen: 2.8.3.post2): ``apply_rotary_emb``, a Triton kernel, and its xPos.

    The kernel turns by tables that are handed to it. Where a scheme gives positions, they are
    computed here in float64 and rounded to float32, so angles are judged for xPos alone. Attention,
    which is compiled, is left out of the import: the kernel does not use it. Heads of more than 256
    channels are refused by the kernel, and so declined here.
    """

    requires = ("torch", "triton", "flash-attn")

    def __init__(self) -> None:
        import torch

        torch.set_default_device("cuda")
        _import_without_attention()
        from flash_attn.layers import rotary

        self._torch, self._code = torch, rotary
        self._xpos = once(self._make_xpos)

    @claims("half", "interleaved", dtype=FLOATS, rotation="partial")
    def rope(
        self,
        x: Array,
        positions: Positions,
        *,
        base: float,
        layout: str,
        rotary_dim: int | None = None,
    ) -> Any:
        """``apply_rotary_emb`` with a row of the tables for each row of x."""
        tables = self._tables(positions, rotary_dim or x.shape[-1], base)
        return self._turned(to_torch(x), tables, layout)

    rope_vjp = backward(rope)

    @claims("half", "interleaved", dtype=FLOATS, rotation="partial")
    def rope_apply(self, x: Array, cos: Array, sin: Array, *, layout: str) -> Any:
        """``apply_rotary_emb`` with the tables that are given."""
        return self._turned(to_torch(x), (to_torch(cos), to_torch(sin)), layout)

    @claims("offsets-half", "offsets-interleaved", dtype=FLOATS)
    def rope_offsets(self, x: Array, offsets: Positions, *, base: float, layout: str) -> Any:
        """``apply_rotary_emb`` with ``seqlen_offsets``."""
        length = int(offsets.max(initial=0)) + x.shape[2]
        tables = self._tables(np.arange(length), x.shape[-1], base)
        result = self._code.apply_rotary_emb(
            to_torch(x).transpose(1, 2),
            *tables,
            interleaved=layout == "interleaved",
            seqlen_offsets=to_torch(offsets),
        )
        return result.transpose(1, 2)

    @claims("packed-half", "packed-interleaved", dtype=FLOATS)
    def rope_packed(
        self, x: Array, cu_seqlens: Positions, offsets: Positions, *, base: float, layout: str
    ) -> Any:
        """``apply_rotary_emb`` with ``cu_seqlens`` and ``seqlen_offsets``."""
        longest = int(np.diff(cu_seqlens).max(initial=0))
        length = longest + int(offsets.max(initial=0))
        result = self._code.apply_rotary_emb(
            to_torch(x).transpose(0, 1),
            *self._tables(np.arange(length), x.shape[-1], base),
            interleaved=layout == "interleaved",
            seqlen_offsets=to_torch(offsets),
            cu_seqlens=to_torch(cu_seqlens),
            max_seqlen=longest,
        )
        return result.transpose(0, 1)

    @claims("in-place-half", "in-place-interleaved", dtype=FLOATS)
    def rope_in_place(self, x: Array, positions: Positions, *, base: float, layout: str) -> None:
        """``apply_rotary_emb`` with ``inplace=True``, whose tensor is copied back into x."""
        values = to_torch(x)
        tables = self._tables(positions, x.shape[-1], base)
        several = values if x.ndim > 2 else values[None]
        for index in np.ndindex(several.shape[:-3]):
            self._code.apply_rotary_emb(
                several[index].transpose(0, 1)[None],
                *tables,
                interleaved=layout == "interleaved",
                inplace=True,
            )
        x[...] = to_numpy(values)

    @claims("qkv-half", "qkv-interleaved", dtype=FLOATS)
    def rope_qkv(
        self,
        qkv: Array,
        positions: Positions,
        heads: int,
        key_heads: int,
        *,
        base: float,
        layout: str,
    ) -> Any:
        """``apply_rotary_emb_qkv_`` of a copy."""
        every = heads + 2 * key_heads
        values = to_torch(qkv).clone().reshape(1, len(qkv), every, qkv.shape[1] // every)
        result = self._code.apply_rotary_emb_qkv_(
            values,
            *self._tables(positions, values.shape[-1], base),
            interleaved=layout == "interleaved",
            num_heads_q=heads,
        )
        return result.reshape(qkv.shape)

    @claims("flash-attention", "lucidrains", dtype=FLOATS, max_position=4095)
    def xpos(
        self,
        x: Array,
        positions: Positions,
        *,
        base: float,
        scale_base: float,
        downscale: int,
        layout: str,
    ) -> Any:
        """``RotaryEmbedding`` with a ``scale_base``: as a query, or as a key if downscaled."""
        module = self._xpos(x.shape[-1], base, layout, scale_base)

        def turn(rows: Tensor) -> Any:
            return by_heads(
                lambda heads: self._by_module(module, heads, downscale), rows, form="bnhd"
            )

        return in_sequence(turn, to_torch(x), positions)

    def _make_xpos(self, dim: int, base: float, layout: str, scale_base: float) -> Any:
        _require_small_heads(dim)
        interleaved = layout == "interleaved"
        return self._code.RotaryEmbedding(dim, base, interleaved, scale_base, device="cuda")

    def _by_module(self, module: Any, heads: Tensor, downscale: int) -> Any:
        pair = self._torch.stack([heads, heads], 2).clone()
        queries, keys = module(heads.clone(), pair)
        return keys[:, :, 0] if downscale else queries

    def _turned(self, values: Tensor, tables: tuple[Tensor, Tensor], layout: str) -> Any:
        _require_small_heads(values.shape[-1])

        def turn(rows: Tensor) -> Any:
            return self._code.apply_rotary_emb(rows, *tables, interleaved=layout == "interleaved")

        return by_heads(turn, values, form="bnhd")

    def _tables(self, positions: Positions, dim: int, base: float) -> tuple[Tensor, Tensor]:
        _require_small_heads(dim)
        even = self._torch.arange(0, dim, 2, dtype=self._torch.float64)
        angles = to_torch(positions)[:, None] * base ** (-even / dim)
        return angles.cos().float(), angles.sin().float()


def _require_small_heads(head_dim: int) -> None:
    if head_dim > LARGEST_HEAD:
        raise NotImplementedError(f"the kernel takes at most {LARGEST_HEAD} channels")


def _import_without_attention() -> None:
    """Stand for the package, whose import needs attention as a compiled module."""
    found = find_spec("flash_attn")
    if found is None or found.submodule_search_locations is None:
        raise ImportError("flash-attn is not installed")
    package = ModuleType("flash_attn")
    package.__path__ = list(found.submodule_search_locations)
    sys.modules["flash_attn"] = package
