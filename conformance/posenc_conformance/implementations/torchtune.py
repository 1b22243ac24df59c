"""Adapters of torchtune."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
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

    The mask is that of packed sequences, here of a single one. Weights are those of Llama.
    """

    requires = ("torch", "torchtune", "torchao")

    def __init__(self) -> None:
        import torch
        from torchtune.models import convert_weights
        from torchtune.models.llama3_1 import Llama3ScaledRoPE
        from torchtune.models.qwen2 import Qwen2RotaryPositionalEmbeddings
        from torchtune.modules import RotaryPositionalEmbeddings
        from torchtune.modules.attention_utils import create_block_causal_mask

        self.torch = torch
        self._weights = convert_weights
        self._mask = create_block_causal_mask
        self._modules = {
            "interleaved": once(RotaryPositionalEmbeddings, size=8),
            "half": once(Qwen2RotaryPositionalEmbeddings, size=8),
        }
        self._llama3 = once(Llama3ScaledRoPE, size=8)

    @claims("interleaved", "half", dtype=FLOATS)
    def rope(self, x: Array, positions: Positions, *, base: float, layout: str) -> object:
        """Call the module's ``forward`` with ``input_pos``."""
        module = self._modules[layout](dim=x.shape[-1], max_seq_len=CONTEXT, base=base)
        return turned(module, x, positions)

    rope_vjp = backward(rope)

    @claims("batched-interleaved", "batched-half", dtype=FLOATS)
    def rope_batched(self, x: Array, positions: Array, *, base: float, layout: str) -> Tensor:
        """Call the module's ``forward`` with an ``input_pos`` for each sequence."""
        module = self._modules[layout](dim=x.shape[-1], max_seq_len=CONTEXT, base=base)
        turned: Tensor = module(to_torch(x).transpose(1, 2), input_pos=to_torch(positions))
        return turned.transpose(1, 2)

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
    ) -> object:
        """Rotate x by ``Llama3ScaledRoPE``."""
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
        """Call ``create_block_causal_mask``, and take the rows of the last queries."""
        return self._mask([self.torch.tensor([k_len])])[0, k_len - q_len :]

    @claims("to-half", "to-interleaved", dtype=FLOATS)
    def permute_qk(
        self, q_weight: Array, k_weight: Array, heads: int, key_heads: int, *, direction: str
    ) -> object:
        """Call ``tune_to_hf`` or ``hf_to_tune`` on a state with both projections."""
        forth = direction == "interleaved-to-half"
        names = [
            f"layers.0.attn.{each}_proj.weight"
            if forth
            else f"model.layers.0.self_attn.{each}_proj.weight"
            for each in "qk"
        ]
        state = dict(zip(names, map(to_torch, (q_weight, k_weight)), strict=True))
        convert = self._weights.tune_to_hf if forth else self._weights.hf_to_tune
        moved = convert(
            state,
            num_heads=heads,
            num_kv_heads=key_heads,
            dim=q_weight.shape[1],
            head_dim=len(q_weight) // heads,
        )
        return self.torch.cat(list(moved.values()))


class TorchtunePhi3Adapter:
    """Phi-3's rotary embedding in torchtune (seen: 0.6.1), half-split, in float32."""

    requires = ("torch", "torchtune", "torchao")

    def __init__(self) -> None:
        from torchtune.models.phi3 import Phi3RotaryPositionalEmbeddings

        self._module = once(Phi3RotaryPositionalEmbeddings, size=8)

    @claims("half", dtype=FLOATS)
    def rope(self, x: Array, positions: Positions, *, base: float) -> object:
        """Call the module's ``forward`` with ``input_pos``."""
        return turned(self._module(x.shape[-1], CONTEXT, base), x, positions)


def turned(module: Any, x: Array, positions: Positions) -> Any:
    """Return what a rotary module makes of x, heads after positions."""
    ids = to_torch(positions)[None]
    return by_heads(lambda heads: module(heads, input_pos=ids), to_torch(x), form="bnhd")


BUILDERS = {
    "codellama/CodeLlama-7b-hf": "code_llama2.code_llama2_7b",
    "google/gemma-2-27b": "gemma2.gemma2_27b",
    "google/gemma-2-2b": "gemma2.gemma2_2b",
    "google/gemma-2b": "gemma.gemma_2b",
    "google/gemma-7b": "gemma.gemma_7b",
    "meta-llama/Llama-2-7b-hf": "llama2.llama2_7b",
    "meta-llama/Llama-3.1-70B": "llama3_1.llama3_1_70b",
    "meta-llama/Llama-3.1-8B": "llama3_1.llama3_1_8b",
    "meta-llama/Llama-3.2-1B": "llama3_2.llama3_2_1b",
    "meta-llama/Llama-3.2-3B": "llama3_2.llama3_2_3b",
    "meta-llama/Meta-Llama-3-8B": "llama3.llama3_8b",
    "microsoft/Phi-3-mini-4k-instruct": "phi3.phi3_mini",
    "microsoft/phi-4": "phi4.phi4_14b",
    "mistralai/Mistral-7B-v0.1": "mistral.mistral_7b",
    "Qwen/Qwen2-0.5B": "qwen2.qwen2_0_5b",
    "Qwen/Qwen2-7B": "qwen2.qwen2_7b",
    "Qwen/Qwen2.5-7B": "qwen2_5.qwen2_5_7b_base",
}
"""Functions under ``torchtune.models`` that build a model, by its name on Hugging Face."""


class TorchtuneModelsAdapter:
    """torchtune (seen: 0.6.1, with torchao 0.11.0) as an engine: the functions that build models.

    They have no configuration beside their code. The module of a model's first layer is asked, for
    all share one. Its conversion of checkpoints moves the channels of a pair together, but for Phi
    and Qwen; here that is done to x, and undone.
    """

    requires = ("torch", "torchtune", "torchao")

    def __init__(self) -> None:
        import torch

        self.torch = torch
        self._module = once(self._make)

    @claims(models=list(BUILDERS), dtype=FLOATS)
    def rotary(
        self, x: Array, positions: Positions, *, config: Mapping[str, Any], layer: int
    ) -> object:
        """Call the module's ``forward`` with ``input_pos``."""
        module = self._module(config["_name_or_path"])
        if module.half:
            return turned(module, x, positions)
        near = to_torch(x).unflatten(-1, (2, -1)).transpose(-1, -2).flatten(-2)
        out = turned(module, near, positions)
        return out.unflatten(-1, (-1, 2)).transpose(-1, -2).flatten(-2)

    def _make(self, name: str) -> Any:
        """Make a module with a table of its own.

        The model is built without memory for its weights.
        """
        package, _, builder = BUILDERS[name].partition(".")
        code = import_module(f"torchtune.models.{package}")
        with self.torch.device("meta"):
            module = getattr(code, builder)().layers[0].attn.pos_embeddings
        for buffer in [name for name, _ in module.named_buffers()]:
            delattr(module, buffer)
        module.rope_init()
        module.half = type(module).__name__.startswith(("Phi3", "Qwen2"))
        return module
