"""The adapter of PyTorch itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import ALL_FLOATS, Array

if TYPE_CHECKING:
    from torch import Tensor


class TorchAdapter:
    """torch (seen: 2.13.0): its attention, and the masks that go with it.

    ``scaled_dot_product_attention`` aligns ``is_causal=True`` to the first key; with keys before
    the queries one passes ``causal_lower_right``, as its documentation says. A bias goes into
    ``attn_mask``. It gives no weights.

    ``nn.Embedding`` and ``nn.functional.interpolate`` are judged where models use them.
    """

    requires = ("torch",)

    def __init__(self) -> None:
        import torch
        from torch.nn.attention import bias

        self.torch = torch
        self.masks = bias
        self.attend = torch.nn.functional.scaled_dot_product_attention

    @claims("full", "causal", dtype=ALL_FLOATS)
    def attention(self, q: Array, k: Array, v: Array, *, mask: str) -> Tensor:
        """Call ``scaled_dot_product_attention``."""
        seen = None
        if mask == "causal":
            seen = self.masks.causal_lower_right(q.shape[-2], k.shape[-2])
        return self.attend(to_torch(q), to_torch(k), to_torch(v), attn_mask=seen)

    @claims("causal", "unscaled", dtype=ALL_FLOATS)
    def attention_with_bias(
        self, q: Array, k: Array, v: Array, bias: Array, *, mask: str, scaling: str
    ) -> Tensor:
        """Call ``scaled_dot_product_attention`` with the bias in its mask.

        Keys that a causal mask hides get minus infinity.
        """
        added = to_torch(bias)
        if mask == "causal":
            seen = self.causal_mask(q.shape[-2], k.shape[-2], alignment="end")
            added = added.masked_fill(~seen.to(added.device), float("-inf"))
        scale = 1.0 if scaling == "unscaled" else None
        return self.attend(to_torch(q), to_torch(k), to_torch(v), attn_mask=added, scale=scale)

    @claims("end", "start")
    def causal_mask(self, q_len: int, k_len: int, *, alignment: str) -> Tensor:
        """Call ``causal_lower_right`` or ``causal_upper_left``, and make the mask dense."""
        make = {"end": self.masks.causal_lower_right, "start": self.masks.causal_upper_left}
        return make[alignment](q_len, k_len)._materialize()
