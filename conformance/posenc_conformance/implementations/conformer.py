"""The adapter of conformer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import ALL_FLOATS, Array
from posenc_conformance.adapters.torch import at_the_end, logits

if TYPE_CHECKING:
    from torch import Tensor


class ConformerAdapter:
    """conformer (seen: 0.3.2) by lucidrains: Shaw's scores in its ``Attention``.

    It is an encoder, whose queries are all of the sequence: where fewer are asked for, those before
    them are zeros, and their scores are not looked at. The hidden states are one-hot, so that their
    projections are queries and keys.
    """

    requires = ("torch", "conformer")

    def __init__(self) -> None:
        import torch
        from conformer.conformer import Attention

        self.torch = torch
        self._attention = Attention

    @claims("query-minus-key", dtype=ALL_FLOATS)
    def shaw_scores(self, q: Array, k: Array, table: Array) -> Tensor:
        """Return what the softmax of ``Attention`` is given."""
        torch, keys, rows = self.torch, to_torch(k), to_torch(table)
        queries = at_the_end(to_torch(q), keys.shape[1])
        heads, k_len, head_dim = k.shape
        layer = self._attention(k_len, heads, head_dim, max_pos_emb=len(rows) // 2)
        layer.to(rows.dtype).eval()
        layer.to_q.weight.data = _side_by_side(queries)
        layer.to_kv.weight.data = _side_by_side(torch.cat([keys, torch.zeros_like(keys)]))
        layer.rel_pos_emb.weight.data = rows
        hidden = torch.eye(k_len, dtype=rows.dtype)
        scores = logits(lambda: layer(hidden[None]))
        return scores[0, :, -q.shape[1] :].to(rows.dtype)


def _side_by_side(heads: Tensor) -> Tensor:
    """Put the channels of all heads side by side, one row each: [heads * head_dim, n]."""
    return heads.transpose(1, 2).flatten(0, 1)
