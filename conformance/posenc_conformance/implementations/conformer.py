"""conformer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from posenc_conformance import claims, to_torch
from posenc_conformance.implementations.torch_tools import logits

if TYPE_CHECKING:
    from torch import Tensor

Array = npt.NDArray[Any]


class ConformerAdapter:
    """conformer (seen: 0.3.2) by lucidrains: Shaw's scores in its ``Attention``.

    It is an encoder, whose queries are all of the sequence: where fewer are asked for, those before
    them are zeros, and their scores are not looked at. The hidden states that it projects are
    queries and keys side by side.
    """

    requires = ("torch", "conformer")

    def __init__(self) -> None:
        import torch
        from conformer.conformer import Attention

        self.torch = torch
        self._attention = Attention

    @claims("query-minus-key", dtype=("float64", "float32", "bfloat16", "float16"))
    def shaw_scores(self, q: Array, k: Array, table: Array) -> Tensor:
        """What the softmax of ``Attention`` is given."""
        torch, rows = self.torch, to_torch(table)
        heads, k_len, head_dim = k.shape
        queries, keys = (to_torch(each).transpose(0, 1).flatten(1) for each in (q, k))
        before = k_len - len(queries)
        queries = torch.nn.functional.pad(queries, (0, 0, before, 0))
        width = heads * head_dim
        layer = self._attention(2 * width, heads, head_dim, max_pos_emb=len(rows) // 2)
        layer.to(rows.dtype).eval()
        both = torch.eye(2 * width, dtype=rows.dtype)
        layer.to_q.weight.data, layer.to_kv.weight.data = both[:width], both.roll(width, 0)
        layer.rel_pos_emb.weight.data = rows
        scores = logits(lambda: layer(torch.cat([queries, keys], dim=1)[None]))
        return scores[0, :, before:].to(rows.dtype)
