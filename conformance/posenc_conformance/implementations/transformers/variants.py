"""Models that do the same thing in another way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import FLOATS, Array, Positions, by_heads, once
from posenc_conformance.implementations.transformers.rotary import LARGEST_LENGTH, Rotary

if TYPE_CHECKING:
    from torch import Tensor


CONTEXT = 131_072


class TransformersGPTJAdapter:
    """GPT-J in transformers (seen: 5.24.0): a table of sines and cosines, base 10000 only.

    The table is float32 and rows of it are cast to the dtype of the hidden states, as in a model
    that ``from_pretrained`` loads.
    """

    requires = ("torch", "transformers")

    def __init__(self) -> None:
        import torch
        from transformers import GPTJConfig
        from transformers.models.gptj import modeling_gptj

        self.torch = torch
        self.config = GPTJConfig
        self.gptj = modeling_gptj
        self._embedding = once(self._make, size=8)

    @claims("interleaved", dtype=FLOATS, rotation="partial", base=10000.0)
    def rope(self, x: Array, positions: Positions, *, rotary_dim: int | None = None) -> object:
        """Turn x as ``GPTJAttention.forward`` does, heads after positions."""
        values, ids = to_torch(x), to_torch(positions)[None]
        rotated = x.shape[-1] if rotary_dim is None else rotary_dim
        sin, cos = self._embedding(rotated)(values, ids)

        def turn(heads: Tensor) -> Tensor:
            turned = self.gptj.apply_rotary_pos_emb(heads[..., :rotated], sin, cos)
            return self.torch.cat([turned, heads[..., rotated:]], dim=-1)

        return by_heads(turn, values, form="bnhd")

    def _make(self, rotary_dim: int) -> Any:
        """Make the module with the table of a model."""
        config = self.config(n_positions=CONTEXT, rotary_dim=rotary_dim)
        return self.gptj.GPTJRotaryEmbedding(config)

    @claims("interleaved", dtype=FLOATS)
    def rope_apply(self, x: Array, cos: Array, sin: Array) -> object:
        """Call ``apply_rotary_pos_emb``."""
        tables = (to_torch(sin)[None], to_torch(cos)[None])
        rotate = self.gptj.apply_rotary_pos_emb
        return by_heads(lambda heads: rotate(heads, *tables), to_torch(x), form="bnhd")


class TransformersFalconAdapter:
    """Falcon's ALiBi in transformers (seen: 5.24.0).

    It rounds slopes and products to bfloat16 whatever dtype it is asked for.
    """

    requires = ("torch", "transformers")

    def __init__(self) -> None:
        import torch
        from transformers.models.falcon import modeling_falcon

        self.torch = torch
        self.falcon = modeling_falcon

    @claims("interpolated", dtype=FLOATS)
    def alibi_slopes(self, heads: int, *, dtype: str) -> Tensor:
        """Return the column of the bias at key position 1."""
        return self.alibi_bias(heads, 1, 2, dtype=dtype)[:, 0, 1]

    @claims("first-key", dtype=FLOATS)
    def alibi_bias(self, heads: int, q_len: int, k_len: int, *, dtype: str) -> Tensor:
        """Return the bias, one row for all queries."""
        mask = self.torch.ones(1, k_len, dtype=self.torch.int64)
        bias = self.falcon.build_alibi_tensor(mask, heads, getattr(self.torch, dtype))
        return bias.expand(heads, q_len, k_len)


class TransformersDynamicAdapter:
    """Dynamic NTK scaling in transformers (seen: 5.24.0), of a model that has seen a long sequence.

    Its module keeps the frequencies of the longest sequence until one comes that is shorter than
    those of its training. Here it has seen one of 262,144 tokens, and then sees the one asked for.
    """

    requires = ("torch", "transformers")

    def __init__(self) -> None:
        self._rotary = Rotary()

    @claims("half", dtype=FLOATS, max_position=LARGEST_LENGTH - 1)
    def dynamic_ntk(
        self,
        x: Array,
        positions: Positions,
        *,
        base: float,
        factor: float,
        original_max_position_embeddings: int,
        length: int,
    ) -> Tensor:
        """Turn the queries of the second of two sequences."""
        return self._rotary.dynamic(
            x,
            positions,
            "half",
            length,
            original_max_position_embeddings,
            seen=2**18,
            rope_theta=base,
            factor=factor,
        )


class TransformersLayersAdapter:
    """YaRN in transformers (seen: 5.24.0) where kinds of layers have parameters of their own.

    Gemma 3 is such a model; here its layers of full attention are judged. Whether bounds are
    rounded is then looked for where all layers would share it, and never found: bounds are always
    rounded.
    """

    requires = ("torch", "transformers")

    def __init__(self) -> None:
        import transformers
        from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

        transformers.logging.set_verbosity_error()
        self._config = transformers.Gemma3TextConfig
        self._yarn = ROPE_INIT_FUNCTIONS["yarn"]

    @claims("code", "gpt-oss")
    def yarn_frequencies(
        self,
        rotary_dim: int,
        *,
        ramp: str,
        base: float,
        factor: float,
        original_max_position_embeddings: int,
        beta_fast: float | None = None,
        beta_slow: float | None = None,
    ) -> Tensor:
        """Return the inverse frequencies of rope_type yarn for layers of full attention."""
        full = {
            "rope_type": "yarn",
            "rope_theta": base,
            "factor": factor,
            "original_max_position_embeddings": original_max_position_embeddings,
            "beta_fast": beta_fast,
            "beta_slow": beta_slow,
            "truncate": ramp == "index",
        }
        local = {"rope_type": "default", "rope_theta": 10000.0}
        config = self._config(
            head_dim=rotary_dim,
            rope_parameters={"full_attention": full, "sliding_attention": local},
        )
        frequencies, _factor = self._yarn(config, layer_type="full_attention")
        return frequencies
