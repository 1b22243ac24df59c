"""torchtune."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from posenc_conformance import claims, to_torch

if TYPE_CHECKING:
    from torch import Tensor


class TorchtuneAdapter:
    """torchtune (seen: 0.6.1, with torchao 0.11.0).

    ``RotaryPositionalEmbeddings`` of its Llama, Gemma and Mistral models is interleaved and
    computes in float32; ``Qwen2RotaryPositionalEmbeddings`` is half-split and rounds sines and
    cosines to the dtype of its input first. ``Phi3RotaryPositionalEmbeddings`` is half-split in
    float32. All keep a float32 table of ``max_seq_len`` rows, built here as long as the positions
    need. The embedding of two-dimensional image positions is not judged.
    """

    requires = ("torch", "torchtune", "torchao")

    def __init__(self) -> None:
        from torchtune.models.qwen2 import Qwen2RotaryPositionalEmbeddings
        from torchtune.modules import RotaryPositionalEmbeddings

        self._modules = {
            "interleaved": RotaryPositionalEmbeddings,
            "half": Qwen2RotaryPositionalEmbeddings,
        }
        self._module = lru_cache(maxsize=8)(self._make_module)

    @claims("interleaved", "half", dtype=["float32", "bfloat16", "float16"], max_position=131_071)
    def rope(
        self,
        x: npt.NDArray[Any],
        positions: npt.NDArray[np.int64],
        *,
        base: float,
        layout: str,
    ) -> Tensor:
        """The module's ``forward`` with ``input_pos``, heads after positions."""
        values = to_torch(x)
        *batch, rows, head_dim = values.shape
        heads = values.reshape(1, math.prod(batch), rows, head_dim).transpose(1, 2)
        largest = int(positions.max()) if positions.size else 0
        module = self._module(layout, head_dim, max(64, 1 << largest.bit_length()), base)
        turned = module(heads, input_pos=to_torch(positions)[None])
        return turned.transpose(1, 2).reshape(values.shape)

    def _make_module(self, layout: str, head_dim: int, length: int, base: float) -> Any:
        return self._modules[layout](dim=head_dim, max_seq_len=length, base=base)
