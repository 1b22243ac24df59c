"""Liger Kernel, on a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import FLOATS, Array, Positions, by_heads, headed
from posenc_conformance.adapters.torch import backward

if TYPE_CHECKING:
    from torch import Tensor


class LigerKernelGpuAdapter:
    """liger-kernel (seen: 0.8.5): its Triton kernels of RoPE and of Qwen2-VL's M-RoPE, on a GPU.

    They turn by tables of cosines and sines that a model hands them. Where a scheme gives
    positions, the tables are computed here in float64 and rounded to the dtype of x, so angles are
    not judged.
    """

    requires = ("torch", "triton", "liger-kernel")

    def __init__(self) -> None:
        import torch
        from liger_kernel.transformers.qwen2vl_mrope import liger_multimodal_rotary_pos_emb
        from liger_kernel.transformers.rope import liger_rotary_pos_emb

        torch.set_default_device("cuda")
        self._torch = torch
        self._turn = liger_rotary_pos_emb
        self._turn_by_axes = liger_multimodal_rotary_pos_emb

    @claims("half", dtype=FLOATS)
    def rope(self, x: Array, positions: Positions, *, base: float) -> Any:
        """``liger_rotary_pos_emb`` of queries that are their own keys."""
        values = to_torch(x)
        tables = self._tables(positions[None], x.shape[-1], base, values.dtype)
        return by_heads(lambda rows: self._turn(rows.clone(), rows.clone(), *tables)[0], values)

    rope_vjp = backward(rope)

    @claims("half-doubled", dtype=FLOATS, rotation="partial")
    def rope_apply(self, x: Array, cos: Array, sin: Array) -> Any:
        """``liger_rotary_pos_emb`` with the tables that are given."""
        tables = to_torch(cos)[None], to_torch(sin)[None]
        return by_heads(lambda rows: self._turn(rows, rows.clone(), *tables)[0], to_torch(x))

    @claims("batched-half", dtype=FLOATS)
    def rope_batched(self, x: Array, positions: Positions, *, base: float) -> Any:
        """``liger_rotary_pos_emb`` with a table for each sequence."""
        values = to_torch(x)
        tables = self._tables(positions, x.shape[-1], base, values.dtype)
        return self._turn(values.clone(), values.clone(), *tables)[0]

    @claims("query-key-half", dtype=FLOATS)
    def rope_query_key(self, q: Array, k: Array, positions: Positions, *, base: float) -> Any:
        """``liger_rotary_pos_emb`` of both."""
        queries, keys = to_torch(q), to_torch(k)
        tables = self._tables(positions[None], q.shape[-1], base, queries.dtype)
        return self._torch.cat(self._turn(queries[None].clone(), keys[None].clone(), *tables), 1)[0]

    @claims("qwen2-vl", dtype=FLOATS)
    def m_rope(self, x: Array, positions: Positions, sections: Positions, *, base: float) -> Any:
        """``liger_multimodal_rotary_pos_emb`` of queries that are their own keys."""
        values = to_torch(x)
        tables = self._tables(positions[:, None], x.shape[-1], base, values.dtype)
        rows = headed(values)
        shares = [int(each) for each in sections]
        return self._turn_by_axes(rows.clone(), rows.clone(), *tables, shares)[0].reshape(x.shape)

    m_rope_vjp = backward(m_rope)

    def _tables(
        self, positions: Positions, dim: int, base: float, dtype: Any
    ) -> tuple[Tensor, Tensor]:
        even = self._torch.arange(0, dim, 2, dtype=self._torch.float64)
        angles = to_torch(positions)[..., None] * base ** (-even / dim)
        doubled = self._torch.cat([angles, angles], -1)
        return doubled.cos().to(dtype), doubled.sin().to(dtype)
