"""FlashInfer's rotary kernels, on a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import Array, Positions, headed
from posenc_conformance.judge.arrays import to_numpy

if TYPE_CHECKING:
    from torch import Tensor

SHORT = ["bfloat16", "float16"]
SIZES = [64, 128, 256, 512]
ALIGNMENT = 16
"""Bytes."""


class FlashinferAdapter:
    """flashinfer-python (seen: 0.7.2.post1): its kernels of RoPE, compiled when they are called.

    They compute frequencies and angles from the base, in float32, and take 16-bit queries and keys
    of shape [tokens, heads, head_dim]. ``apply_rope_with_cos_sin_cache`` turns by a cache. Rows are
    read by 16 bytes at a time: what is not aligned so ends the use of the GPU, and is declined.
    """

    requires = ("torch", "flashinfer-python")

    def __init__(self) -> None:
        import torch

        torch.set_default_device("cuda")
        import flashinfer

        self._torch, self._code = torch, flashinfer

    @claims("half", "interleaved", dtype=SHORT, head_dim=SIZES, rotation="partial")
    def rope(
        self,
        x: Array,
        positions: Positions,
        *,
        base: float,
        layout: str,
        rotary_dim: int | None = None,
    ) -> Any:
        """``apply_rope_pos_ids`` of queries that are their own keys."""
        return self._rows(x, positions, layout, rotary_dim, rope_theta=base)

    @claims("half", "interleaved", dtype=SHORT, head_dim=SIZES)
    def position_interpolation(
        self, x: Array, positions: Positions, *, base: float, factor: float, layout: str
    ) -> Any:
        """``apply_rope_pos_ids`` with a ``rope_scale``."""
        return self._rows(x, positions, layout, rope_theta=base, rope_scale=factor)

    @claims("half", "interleaved", dtype=SHORT, head_dim=SIZES)
    def llama3(
        self,
        x: Array,
        positions: Positions,
        *,
        base: float,
        factor: float,
        low_freq_factor: float,
        high_freq_factor: float,
        original_max_position_embeddings: int,
        layout: str,
    ) -> Any:
        """``apply_llama31_rope_pos_ids`` of queries that are their own keys."""
        rows = headed(_aligned(to_torch(x)), "bnhd")[0]
        turned, _ = self._code.apply_llama31_rope_pos_ids(
            rows,
            rows,
            to_torch(positions),
            interleave=layout == "interleaved",
            rope_scale=factor,
            rope_theta=base,
            low_freq_factor=low_freq_factor,
            high_freq_factor=high_freq_factor,
            old_context_len=original_max_position_embeddings,
        )
        return turned.transpose(0, 1).reshape(x.shape)

    @claims("cache-half", "cache-interleaved", dtype=SHORT, head_dim=SIZES, rotation="partial")
    def rope_apply_cache(self, x: Array, rows: Positions, cache: Array, *, layout: str) -> Any:
        """``apply_rope_with_cos_sin_cache``, whose cache is float32."""
        heads = headed(_aligned(to_torch(x)), "bnhd")[0]
        values = heads.reshape(len(heads), -1)
        turned, _ = self._code.apply_rope_with_cos_sin_cache(
            to_torch(rows),
            values,
            values,
            x.shape[-1],
            to_torch(cache).float(),
            is_neox=layout == "half",
        )
        return turned.reshape(heads.shape).transpose(0, 1).reshape(x.shape)

    @claims("batched-half", "batched-interleaved", dtype=SHORT, head_dim=SIZES)
    def rope_batched(self, x: Array, positions: Positions, *, base: float, layout: str) -> Any:
        """``apply_rope_pos_ids`` of the rows of all sequences."""
        sequences = _aligned(to_torch(x)).transpose(1, 2)
        rows = sequences.flatten(0, 1)
        turned = self._turned(rows, to_torch(positions).flatten(), layout, rope_theta=base)
        return turned.reshape(sequences.shape).transpose(1, 2)

    @claims("offsets-half", "offsets-interleaved", dtype=SHORT, head_dim=SIZES)
    def rope_offsets(self, x: Array, offsets: Positions, *, base: float, layout: str) -> Any:
        """``apply_rope`` with sequences of one length."""
        sequences = _aligned(to_torch(x)).transpose(1, 2)
        edges = np.arange(len(x) + 1) * x.shape[2]
        turned = self._ragged(sequences.flatten(0, 1), edges, offsets, base, layout)
        return turned.reshape(sequences.shape).transpose(1, 2)

    @claims("packed-half", "packed-interleaved", dtype=SHORT, head_dim=SIZES)
    def rope_packed(
        self, x: Array, cu_seqlens: Positions, offsets: Positions, *, base: float, layout: str
    ) -> Any:
        """``apply_rope``."""
        rows = _aligned(to_torch(x)).transpose(0, 1)
        return self._ragged(rows, cu_seqlens, offsets, base, layout).transpose(0, 1)

    @claims("query-key-half", "query-key-interleaved", dtype=SHORT, head_dim=SIZES)
    def rope_query_key(
        self, q: Array, k: Array, positions: Positions, *, base: float, layout: str
    ) -> Any:
        """``apply_rope_pos_ids`` of both."""
        queries, keys = _aligned(to_torch(q)).transpose(0, 1), _aligned(to_torch(k)).transpose(0, 1)
        both = self._code.apply_rope_pos_ids(
            queries, keys, to_torch(positions), interleave=layout == "interleaved", rope_theta=base
        )
        return self._torch.cat(both, 1).transpose(0, 1)

    @claims("in-place-half", "in-place-interleaved", dtype=SHORT, head_dim=SIZES)
    def rope_in_place(self, x: Array, positions: Positions, *, base: float, layout: str) -> None:
        """``apply_rope_pos_ids_inplace`` of a view, whose tensor is copied back into x."""
        if x.ndim > 3:
            raise NotImplementedError("the kernel takes rows and heads")
        values = _aligned(to_torch(x))
        rows = values.transpose(0, 1) if x.ndim == 3 else values[:, None]
        self._code.apply_rope_pos_ids_inplace(
            rows,
            rows.clone(),
            to_torch(positions),
            interleave=layout == "interleaved",
            rope_theta=base,
        )
        x[...] = to_numpy(values)

    def _rows(
        self,
        x: Array,
        positions: Positions,
        layout: str,
        rotary_dim: int | None = None,
        **scaling: float,
    ) -> Any:
        rows = headed(_aligned(to_torch(x)), "bnhd")[0]
        turned = self._turned(rows, to_torch(positions), layout, rotary_dim, **scaling)
        return turned.transpose(0, 1).reshape(x.shape)

    def _turned(
        self,
        rows: Tensor,
        places: Tensor,
        layout: str,
        rotary_dim: int | None = None,
        **scaling: float,
    ) -> Tensor:
        interleave = layout == "interleaved"
        turned: Tensor
        turned, _ = self._code.apply_rope_pos_ids(
            rows, rows, places, rotary_dim, interleave, **scaling
        )
        return turned

    def _ragged(
        self, rows: Tensor, edges: Positions, offsets: Positions, base: float, layout: str
    ) -> Tensor:
        turned: Tensor
        turned, _ = self._code.apply_rope(
            rows,
            rows,
            to_torch(edges).int(),
            to_torch(offsets).int(),
            interleave=layout == "interleaved",
            rope_theta=base,
        )
        return turned


def _aligned(values: Tensor) -> Tensor:
    """Decline rows that do not begin at multiples of 16 bytes, or whose channels are apart."""
    starts = [values.data_ptr()]
    starts += [step * values.element_size() for step in values.stride()[:-1]]
    if values.stride(-1) != 1 or any(each % ALIGNMENT for each in starts):
        raise NotImplementedError("the kernels read 16 bytes at a time")
    return values
