"""vLLM's compiled kernels, on a GPU."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import FLOATS, Array, Positions, headed
from posenc_conformance.judge.arrays import to_numpy

if TYPE_CHECKING:
    from torch import Tensor

LIBRARY = "VLLM_OPERATORS"
"""Environment variable that names a library with the operators, where vLLM itself is not there."""


class VllmKernelsAdapter:
    """vLLM (seen: 0.33.0): ``rotary_embedding`` and ``fused_qk_norm_rope``, in CUDA.

    They turn by a cache of cosines and sines. Where a scheme gives positions, it is computed here
    in float64 and rounded to float32, so angles are not judged. The engine never calls them without
    tokens, and that is declined here.
    """

    requires = ("torch",)

    def __init__(self) -> None:
        import torch

        torch.set_default_device("cuda")
        if LIBRARY in os.environ:
            torch.ops.load_library(os.environ[LIBRARY])
        else:
            from vllm import _custom_ops  # noqa: F401  # registers them
        self._torch, self._code = torch, torch.ops._C

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
        """``rotary_embedding`` of queries alone."""
        cache = self._cache(positions, rotary_dim or x.shape[-1], base)
        return self._turned(x, positions, cache, layout)

    @claims("half", "interleaved", dtype=FLOATS, rotation="partial")
    def rope_vjp(
        self,
        x: Array,
        positions: Positions,
        *,
        base: float,
        layout: str,
        rotary_dim: int | None = None,
    ) -> Any:
        """``rotary_embedding`` with ``inverse=True``."""
        cache = self._cache(positions, rotary_dim or x.shape[-1], base)
        return self._turned(x, positions, cache, layout, inverse=True)

    @claims("cache-half", "cache-interleaved", dtype=FLOATS, rotation="partial")
    def rope_apply_cache(self, x: Array, rows: Positions, cache: Array, *, layout: str) -> Any:
        """``rotary_embedding`` with the cache that is given."""
        return self._turned(x, rows, to_torch(cache).contiguous(), layout)

    @claims("batched-half", "batched-interleaved", dtype=FLOATS)
    def rope_batched(self, x: Array, positions: Positions, *, base: float, layout: str) -> Any:
        """``rotary_embedding`` with positions of shape [batch, n]."""
        _require_tokens(positions)
        rows = to_torch(x).transpose(1, 2).contiguous()
        self._turn(rows, None, positions, self._cache(positions, x.shape[-1], base), layout)
        return rows.transpose(1, 2)

    @claims("query-key-half", "query-key-interleaved", dtype=FLOATS)
    def rope_query_key(
        self, q: Array, k: Array, positions: Positions, *, base: float, layout: str
    ) -> Any:
        """``rotary_embedding`` of both."""
        _require_tokens(positions)
        queries, keys = (to_torch(each).transpose(0, 1).contiguous() for each in (q, k))
        self._turn(queries, keys, positions, self._cache(positions, q.shape[-1], base), layout)
        return self._torch.cat([queries, keys], 1).transpose(0, 1)

    @claims("in-place-half", "in-place-interleaved", dtype=FLOATS)
    def rope_in_place(self, x: Array, positions: Positions, *, base: float, layout: str) -> None:
        """``rotary_embedding`` of a view, whose tensor is copied back into x."""
        if x.ndim > 3:
            raise NotImplementedError("the kernel takes rows and heads")
        _require_tokens(positions)
        values = to_torch(x)
        rows = values.transpose(0, 1) if x.ndim == 3 else values[:, None]
        self._turn(rows, None, positions, self._cache(positions, x.shape[-1], base), layout)
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
        """``rotary_embedding`` of two views of a projection, as layers cut it."""
        _require_tokens(positions)
        head_dim = qkv.shape[1] // (heads + 2 * key_heads)
        values = to_torch(qkv).clone()
        ends = [heads * head_dim, key_heads * head_dim, key_heads * head_dim]
        queries, keys, _ = values.split(ends, -1)
        cache = self._cache(positions, head_dim, base)
        self._turn(queries, keys, positions, cache, layout, head_dim)
        return values

    @claims(
        "normed-half",
        "normed-interleaved",
        dtype=["bfloat16", "float16"],
        head_dim=[64, 128, 256],
        rotation="partial",
    )
    def qk_norm_rope(
        self,
        q: Array,
        k: Array,
        q_weight: Array,
        k_weight: Array,
        positions: Positions,
        *,
        eps: float,
        base: float,
        layout: str,
        rotary_dim: int | None = None,
    ) -> Any:
        """``fused_qk_norm_rope`` of queries and keys, which are their own values."""
        _require_tokens(positions)
        queries, keys = to_torch(q), to_torch(k)
        parts = self._torch.cat([queries, keys, keys]).transpose(0, 1)
        values = parts.reshape(len(parts), -1).contiguous()
        cache = self._cache(positions, rotary_dim or q.shape[-1], base)
        weights = to_torch(q_weight), to_torch(k_weight)
        self._code.fused_qk_norm_rope(
            *(values, len(queries), len(keys), len(keys), q.shape[-1], eps),
            *weights,
            cache,
            layout == "half",
            to_torch(positions),
        )
        return values.reshape(parts.shape)[:, : len(queries) + len(keys)].transpose(0, 1)

    def _turned(
        self, x: Array, positions: Positions, cache: Tensor, layout: str, inverse: bool = False
    ) -> Any:
        _require_tokens(positions)
        heads = headed(to_torch(x), "hnd")
        rows = heads.transpose(0, 1).contiguous()
        self._turn(rows, None, positions, cache, layout, inverse=inverse)
        return rows.transpose(0, 1).reshape(x.shape)

    def _turn(
        self,
        queries: Tensor,
        keys: Tensor | None,
        positions: Positions,
        cache: Tensor,
        layout: str,
        head_dim: int | None = None,
        inverse: bool = False,
    ) -> None:
        """Turn tensors of shape ``[..., heads, head_dim]``, or rows of heads behind each other."""
        size = head_dim or queries.shape[-1]
        self._code.rotary_embedding(
            to_torch(positions), queries, keys, size, cache, layout == "half", 0, inverse
        )

    def _cache(self, positions: Positions, dim: int, base: float) -> Tensor:
        """Make a cache up to the largest position: cosines, then sines, of each."""
        even = self._torch.arange(0, dim, 2, dtype=self._torch.float64)
        places = self._torch.arange(int(positions.max(initial=0)) + 1)
        angles = places[:, None] * base ** (-even / dim)
        return self._torch.cat([angles.cos(), angles.sin()], -1).float()


def _require_tokens(positions: Positions) -> None:
    if not positions.size:
        raise NotImplementedError("the engine never calls its kernels without tokens")
