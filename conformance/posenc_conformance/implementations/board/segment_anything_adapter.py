"""Segment Anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import FLOATS, Array
from posenc_conformance.adapters.torch import import_torchvision

if TYPE_CHECKING:
    from torch import Tensor


class SegmentAnythingAdapter:
    """segment-anything (seen: 1.0): ``add_decomposed_rel_pos`` of its image encoder."""

    requires = ("torch", "segment-anything")

    def __init__(self) -> None:
        import torch

        import_torchvision()
        from segment_anything.modeling import image_encoder

        self._torch = torch
        self._encoder = image_encoder

    @claims("vitdet", dtype=FLOATS)
    def decomposed_relative_bias(
        self,
        q: Array,
        table_h: Array,
        table_w: Array,
        *,
        q_height: int,
        q_width: int,
        k_height: int,
        k_width: int,
    ) -> Tensor:
        """``add_decomposed_rel_pos`` on logits of zero."""
        values = to_torch(q)
        heads, rows, _ = values.shape
        logits = self._torch.zeros(heads, rows, k_height * k_width, dtype=values.dtype)
        added: Any = self._encoder.add_decomposed_rel_pos(
            *(logits, values, to_torch(table_h), to_torch(table_w)),
            (q_height, q_width),
            (k_height, k_width),
        )
        return added
