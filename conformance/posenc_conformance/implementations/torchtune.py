"""torchtune."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from posenc_conformance import claims, to_torch
from posenc_conformance.implementations.torch_tools import as_tensor, backward, gradient

if TYPE_CHECKING:
    from torch import Tensor

FLOATS = ("float32", "bfloat16", "float16")
Array = npt.NDArray[Any]
Positions = npt.NDArray[np.int64]


class TorchtuneAdapter:
    """torchtune (seen: 0.6.1, with torchao 0.11.0).

    ``RotaryPositionalEmbeddings`` of its Llama, Gemma and Mistral models is interleaved and
    computes in float32; ``Qwen2RotaryPositionalEmbeddings`` is half-split and rounds sines and
    cosines to the dtype of its input first; ``Llama3ScaledRoPE`` is interleaved. All keep a float32
    table of ``max_seq_len`` rows, built here as long as the positions need. The embedding of
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
            "interleaved": RotaryPositionalEmbeddings,
            "half": Qwen2RotaryPositionalEmbeddings,
            "llama3": Llama3ScaledRoPE,
        }
        self._module = lru_cache(maxsize=8)(self._make_module)

    @claims("interleaved", "half", dtype=FLOATS, max_position=131_071)
    def rope(self, x: Array, positions: Positions, *, base: float, layout: str) -> Tensor:
        """The module's ``forward`` with ``input_pos``."""
        module = self._module(layout, x.shape[-1], table_length(positions), base=base)
        return turned(module, to_torch(x), positions)

    @claims("interleaved", "half", dtype=FLOATS, max_position=131_071)
    def rope_vjp(self, x: Array, positions: Positions, *, base: float, layout: str) -> Tensor:
        """What autograd makes of it."""
        module = self._module(layout, x.shape[-1], table_length(positions), base=base)
        return gradient(lambda each: turned(module, each, positions), to_torch(x))

    @claims("interleaved", dtype=FLOATS, max_position=131_071)
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
    ) -> Tensor:
        """``Llama3ScaledRoPE``."""
        module = self._module(
            "llama3",
            x.shape[-1],
            table_length(positions),
            base=base,
            scale_factor=factor,
            low_freq_factor=low_freq_factor,
            high_freq_factor=high_freq_factor,
            old_context_len=original_max_position_embeddings,
        )
        return turned(module, as_tensor(x), positions)

    @claims("interleaved", dtype=FLOATS, max_position=131_071)
    def llama3_vjp(
        self, x: Array, positions: Positions, *, layout: str, **parameters: Any
    ) -> Tensor:
        """What autograd makes of it."""
        return backward(self.llama3, x, positions, **parameters)

    def _make_module(self, name: str, head_dim: int, length: int, **parameters: Any) -> Any:
        return self._modules[name](dim=head_dim, max_seq_len=length, **parameters)

    @claims("end")
    def causal_mask(self, q_len: int, k_len: int) -> Tensor:
        """``create_block_causal_mask``, the rows of the last queries."""
        return self._mask([self.torch.tensor([k_len])])[0, k_len - q_len :]


class TorchtunePhi3Adapter:
    """Phi-3's rotary embedding in torchtune (seen: 0.6.1), half-split, in float32."""

    requires = ("torch", "torchtune", "torchao")

    def __init__(self) -> None:
        from torchtune.models.phi3 import Phi3RotaryPositionalEmbeddings

        self._module = lru_cache(maxsize=8)(Phi3RotaryPositionalEmbeddings)

    @claims("half", dtype=FLOATS, max_position=131_071)
    def rope(self, x: Array, positions: Positions, *, base: float) -> Tensor:
        """The module's ``forward`` with ``input_pos``."""
        module = self._module(x.shape[-1], table_length(positions), base)
        return turned(module, to_torch(x), positions)


def turned(module: Any, values: Tensor, positions: Positions) -> Tensor:
    """What a rotary module makes of x, heads after positions."""
    *batch, rows, head_dim = values.shape
    heads = values.reshape(1, math.prod(batch), rows, head_dim).transpose(1, 2)
    result = module(heads, input_pos=to_torch(positions)[None])
    return result.transpose(1, 2).reshape(values.shape)


def table_length(positions: Positions) -> int:
    """Length of a table that holds the positions, a power of two so that few tables are made."""
    largest = int(positions.max()) if positions.size else 0
    return max(64, 1 << largest.bit_length())
