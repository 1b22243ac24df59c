"""xFormers' rotary kernel, on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import FLOATS, Array, Positions, headed

if TYPE_CHECKING:
    from torch import Tensor

LAYOUTS = {"interleaved": True, "half": False}
"""``adjacents`` of the kernel."""


class XformersAdapter:
    """xformers (seen: 0.0.35): ``rope_padded``, which turns queries and keys and fills a cache.

    It computes frequencies and angles in its kernel, in float32, from the base. Queries come from
    its result, keys from the cache; positions are its ``seqpos`` or, where a scheme has offsets,
    ``first_seqpos``.
    """

    requires = ("torch", "triton", "xformers")

    def __init__(self) -> None:
        import torch

        torch.set_default_device("cuda")
        from xformers.ops.fmha.attn_bias import BlockDiagonalCausalWithOffsetPaddedKeysMask
        from xformers.ops.rope_padded import rope_padded

        self._torch = torch
        self._turn = rope_padded
        self._lengths = BlockDiagonalCausalWithOffsetPaddedKeysMask.from_seqlens

    @claims("half", "interleaved", dtype=FLOATS)
    def rope(self, x: Array, positions: Positions, *, base: float, layout: str) -> Any:
        """Turn queries, with ``seqpos``."""
        return self._rows(x, positions, layout, theta=float(base))

    @claims("half", "interleaved", dtype=FLOATS)
    def position_interpolation(
        self, x: Array, positions: Positions, *, base: float, factor: float, layout: str
    ) -> Any:
        """Turn queries, with a ``linear_scale``."""
        return self._rows(x, positions, layout, theta=float(base), linear_scale=float(factor))

    @claims("half", "interleaved", dtype=FLOATS)
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
        """Turn queries, with ``use_dynamic_scaling``."""
        return self._rows(
            x,
            positions,
            layout,
            theta=float(base),
            use_dynamic_scaling=True,
            dynamic_old_context_len=float(original_max_position_embeddings),
            dynamic_scale_factor=float(factor),
            dynamic_low_freq_factor=float(low_freq_factor),
            dynamic_high_freq_factor=float(high_freq_factor),
        )

    @claims("batched-half", "batched-interleaved", dtype=FLOATS)
    def rope_batched(self, x: Array, positions: Positions, *, base: float, layout: str) -> Any:
        """Turn all sequences in one call, with ``seqpos`` of all their rows."""
        values = to_torch(x)
        rows = values.transpose(1, 2).flatten(0, 1)
        lengths = [x.shape[2]] * x.shape[0]
        places = to_torch(positions).flatten()
        turned, _ = self._both(rows, rows[:, :1], lengths, layout, theta=float(base), seqpos=places)
        return turned.reshape(values.transpose(1, 2).shape).transpose(1, 2)

    @claims("offsets-half", "offsets-interleaved", dtype=FLOATS)
    def rope_offsets(self, x: Array, offsets: Positions, *, base: float, layout: str) -> Any:
        """Turn all sequences in one call, with ``first_seqpos``."""
        values = to_torch(x)
        rows = values.transpose(1, 2).flatten(0, 1)
        lengths = [x.shape[2]] * x.shape[0]
        first = to_torch(offsets)
        turned, _ = self._both(
            rows, rows[:, :1], lengths, layout, theta=float(base), first_seqpos=first
        )
        return turned.reshape(values.transpose(1, 2).shape).transpose(1, 2)

    @claims("packed-half", "packed-interleaved", dtype=FLOATS)
    def rope_packed(
        self, x: Array, cu_seqlens: Positions, offsets: Positions, *, base: float, layout: str
    ) -> Any:
        """Turn sequences of several lengths in one call, with ``first_seqpos``."""
        rows = to_torch(x).transpose(0, 1)
        lengths = [int(each) for each in np.diff(cu_seqlens)]
        first = to_torch(offsets)
        turned, _ = self._both(
            rows, rows[:, :1], lengths, layout, theta=float(base), first_seqpos=first
        )
        return turned.transpose(0, 1)

    @claims("query-key-half", "query-key-interleaved", dtype=FLOATS)
    def rope_query_key(
        self, q: Array, k: Array, positions: Positions, *, base: float, layout: str
    ) -> Any:
        """Turn queries and keys in one call; the keys are those of the cache."""
        queries, keys = to_torch(q).transpose(0, 1), to_torch(k).transpose(0, 1)
        places = to_torch(positions)
        both = self._both(queries, keys, [len(queries)], layout, theta=float(base), seqpos=places)
        return self._torch.cat(both, 1).transpose(0, 1)

    def _rows(self, x: Array, positions: Positions, layout: str, **scaling: Any) -> Any:
        rows = headed(to_torch(x), "bnhd")[0]
        places = to_torch(positions)
        turned, _ = self._both(rows, rows[:, :1], [len(rows)], layout, seqpos=places, **scaling)
        return turned.transpose(0, 1).reshape(x.shape)

    def _both(
        self, q: Tensor, k: Tensor, lengths: Sequence[int], layout: str, **more: Any
    ) -> tuple[Tensor, Tensor]:
        """Turn queries and keys of shape ``[rows, heads, head_dim]``.

        Channels must follow each other, which the function demands.
        """
        if q.stride(-1) != 1 or k.stride(-1) != 1:
            raise NotImplementedError("each head must be contiguous")
        longest = max(lengths, default=0)
        bias = self._lengths(lengths, longest, lengths)
        cache = k.new_zeros((1, longest * len(lengths), *k.shape[1:]))
        keys = k[None]
        queries = self._turn(
            q[None], keys, keys, cache, cache.clone(), bias, adjacents=LAYOUTS[layout], **more
        )
        kept = [cache[0, i * longest : i * longest + n] for i, n in enumerate(lengths)]
        return queries[0], self._torch.cat(kept)
