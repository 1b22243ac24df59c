"""Liger Kernel."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import Array, Positions, by_heads

if TYPE_CHECKING:
    from torch import Tensor

INTERPRETED = ["float32", "float16"]


class LigerKernelAdapter:
    """liger-kernel (seen: 0.8.5): ``liger_rotary_pos_emb``, in Triton's interpreter on the CPU.

    It turns by tables of cosines and sines that a model hands it. Where a scheme gives positions,
    they are computed here in float64 and rounded to the dtype of x, so angles are not judged. The
    interpreter multiplies the bits of bfloat16 as whole numbers, whatever the kernel; not claimed.
    """

    requires = ("torch", "triton", "liger-kernel")

    def __init__(self) -> None:
        os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported
        import torch
        from liger_kernel.transformers.rope import liger_rotary_pos_emb

        self._torch = torch
        self._turn = liger_rotary_pos_emb

    @claims("half-doubled", dtype=INTERPRETED, rotation="partial")
    def rope_apply(self, x: Array, cos: Array, sin: Array) -> Any:
        """``liger_rotary_pos_emb`` of queries that are their own keys."""
        tables = to_torch(cos)[None], to_torch(sin)[None]
        return by_heads(lambda rows: self._turn(rows, rows.clone(), *tables)[0], to_torch(x))

    @claims("batched-half", dtype=INTERPRETED)
    def rope_batched(self, x: Array, positions: Positions, *, base: float) -> Any:
        """``liger_rotary_pos_emb`` with a table for each sequence."""
        values = to_torch(x)
        tables = self._tables(positions, x.shape[-1], base, values.dtype)
        return self._turn(values.clone(), values.clone(), *tables)[0]

    @claims("query-key-half", dtype=INTERPRETED)
    def rope_query_key(self, q: Array, k: Array, positions: Positions, *, base: float) -> Any:
        """``liger_rotary_pos_emb`` of both."""
        queries, keys = to_torch(q), to_torch(k)
        tables = self._tables(positions[None], q.shape[-1], base, queries.dtype)
        return self._torch.cat(self._turn(queries[None].clone(), keys[None].clone(), *tables), 1)[0]

    def _tables(
        self, positions: Positions, dim: int, base: float, dtype: Any
    ) -> tuple[Tensor, Tensor]:
        even = self._torch.arange(0, dim, 2, dtype=self._torch.float64)
        angles = to_torch(positions)[..., None] * base ** (-even / dim)
        doubled = self._torch.cat([angles, angles], -1)
        return doubled.cos().to(dtype), doubled.sin().to(dtype)
