"""torchtune."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import FLOATS, Array, Positions, by_heads, once
from posenc_conformance.adapters.torch import backward

if TYPE_CHECKING:
    from torch import Tensor

CONTEXT = 131_072
"""Longest sequence of a model, for which its modules make a table: that of Llama 3.1."""


class TorchtuneAdapter:
    """torchtune (seen: 0.6.1, with torchao 0.11.0), models of a context of 131,072.

    ``RotaryPositionalEmbeddings`` of its Llama, Gemma and Mistral models is interleaved and
    computes in float32; ``Qwen2RotaryPositionalEmbeddings`` is half-split and rounds sines and
    cosines to the dtype of its input first; ``Llama3ScaledRoPE`` is interleaved. The embedding of
    two-dimensional image positions is not judged.

    The mask is that of packed sequences, here of a single one.
    """

    requires = ("torch", "torchtune", "torchao")

    def __init__(self) -> None:
        import torch
        from torchtune.models.llama3_1 import Llama3ScaledRoPE
        from torchtune.models.qwen2 import Qwen2RotaryPositionalEmbeddings
        from torchtune.modules import RotaryPositionalEmbeddings
        from torchtune.modules.attention_utils import create_block_causal_mask

        self.torch = torch
        self._mask = create_block_causal_mask
        self._modules = {
            "interleaved": once(RotaryPositionalEmbeddings, size=8),
            "half": once(Qwen2RotaryPositionalEmbeddings, size=8),
        }
        self._llama3 = once(Llama3ScaledRoPE, size=8)

    @claims("interleaved", "half", dtype=FLOATS)
    def rope(self, x: Array, positions: Positions, *, base: float, layout: str) -> Any:
        """The module's ``forward`` with ``input_pos``."""
        module = self._modules[layout](dim=x.shape[-1], max_seq_len=CONTEXT, base=base)
        return turned(module, x, positions)

    rope_vjp = backward(rope)

    @claims("interleaved", dtype=FLOATS)
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
    ) -> Any:
        """``Llama3ScaledRoPE``."""
        module = self._llama3(
            dim=x.shape[-1],
            max_seq_len=CONTEXT,
            base=base,
            scale_factor=factor,
            low_freq_factor=low_freq_factor,
            high_freq_factor=high_freq_factor,
            old_context_len=original_max_position_embeddings,
        )
        return turned(module, x, positions)

    llama3_vjp = backward(llama3)

    @claims("end")
    def causal_mask(self, q_len: int, k_len: int) -> Tensor:
        """``create_block_causal_mask``, the rows of the last queries."""
        return self._mask([self.torch.tensor([k_len])])[0, k_len - q_len :]


class TorchtunePhi3Adapter:
    """Phi-3's rotary embedding in torchtune (seen: 0.6.1), half-split, in float32."""

    requires = ("torch", "torchtune", "torchao")

    def __init__(self) -> None:
        from torchtune.models.phi3 import Phi3RotaryPositionalEmbeddings

        self._module = once(Phi3RotaryPositionalEmbeddings, size=8)

    @claims("half", dtype=FLOATS)
    def rope(self, x: Array, positions: Positions, *, base: float) -> Any:
        """The module's ``forward`` with ``input_pos``."""
        return turned(self._module(x.shape[-1], CONTEXT, base), x, positions)


def turned(module: Any, x: Array, positions: Positions) -> Any:
    """What a rotary module makes of x, heads after positions."""
    ids = to_torch(positions)[None]
    return by_heads(lambda heads: module(heads, input_pos=ids), to_torch(x), form="bnhd")
