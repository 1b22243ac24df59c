"""Attention, and layers that know of positions by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from posenc_conformance import claims, to_torch
from posenc_conformance.implementations.transformers.base import (
    ALL_FLOATS,
    FLOATS,
    Transformers,
    headed,
)

if TYPE_CHECKING:
    from torch import Tensor

Array = npt.NDArray[Any]


class Attention(Transformers):
    """Eager attention, whose weights can be seen.

    ====================  ======================================================================
    attention             Llama, whose softmax is in float32; biases are added to its mask, as
                          those of MPT and BLOOM are
    attention unscaled    T5
    nope                  a layer of SmolLM3 without rotary embedding. Its values have as many
                          channels as its queries, so they are spread over several heads with the
                          same queries and keys.
    conv-wav2vec2         Wav2Vec2 (also HuBERT, WavLM, Data2Vec's first layer, SpeechT5)
    ====================  ======================================================================
    """

    @claims("full", "causal", dtype=FLOATS)
    def attention_weights(self, q: Array, k: Array, *, mask: str) -> Tensor:
        """The second result of Llama's ``eager_attention_forward``."""
        _output, weights = self._llama(q, k, k, mask)
        return weights.reshape(*q.shape[:-1], k.shape[-2])

    @claims("full", "causal", dtype=FLOATS)
    def attention(self, q: Array, k: Array, v: Array, *, mask: str) -> Tensor:
        """Llama's ``eager_attention_forward``."""
        output, _weights = self._llama(q, k, v, mask)
        return output.transpose(1, 2).reshape(*q.shape[:-1], v.shape[-1])

    @claims("causal", dtype=FLOATS)
    @claims("unscaled", dtype=ALL_FLOATS)
    def attention_with_bias(
        self, q: Array, k: Array, v: Array, bias: Array, *, scaling: str
    ) -> Tensor:
        """Llama's with the bias in its mask, T5's with a position bias."""
        every = self.torch.broadcast_to(to_torch(bias), (*q.shape[:-1], k.shape[-2]))
        if scaling == "root":
            output, _weights = self._llama(q, k, v, "causal", headed(every))
        else:
            code = self.code["t5"]
            module = code.T5Attention(self.transformers.T5Config(), layer_idx=0).eval()
            query, key, value = (headed(to_torch(each)) for each in (q, k, v))
            output, _weights = code.eager_attention_forward(
                module, query, key, value, None, scaling=module.scaling, position_bias=headed(every)
            )
        return output.transpose(1, 2).reshape(*q.shape[:-1], v.shape[-1])

    def _llama(
        self, q: Array, k: Array, v: Array, mask: str, bias: Tensor | float = 0.0
    ) -> tuple[Tensor, Tensor]:
        query, key, value = (headed(to_torch(each)) for each in (q, k, v))
        code = self.code["llama"]
        config = self.transformers.LlamaConfig(
            num_attention_heads=1,
            num_key_value_heads=1,
            head_dim=query.shape[-1],
            attn_implementation="eager",
        )
        module = code.LlamaAttention(config, 0).eval()
        seen = None if mask == "none" else self.causal(config, query, key) + bias
        output, weights = code.eager_attention_forward(
            module, query, key, value, seen, scaling=module.scaling
        )
        return output, weights

    def causal(self, config: Any, query: Tensor, key: Tensor) -> Tensor:
        """What is added to the logits of the last queries, earlier keys being in the cache."""
        from transformers.masking_utils import create_causal_mask

        new = query.shape[-2]
        cache = self.transformers.DynamicCache()
        if new < key.shape[-2]:
            cache.update(key[..., :-new, :], key[..., :-new, :], 0)
        return create_causal_mask(config, query[:, 0], None, cache)

    @claims("causal", dtype=FLOATS)
    def nope_layer(self, x: Array, w_q: Array, w_k: Array, w_v: Array) -> Tensor:
        """A whole ``SmolLM3Attention``."""
        values = to_torch(x)
        dim, head_dim = w_q.shape
        heads = -(-dim // head_dim)
        config = self.transformers.SmolLM3Config(
            hidden_size=dim,
            num_attention_heads=heads,
            num_key_value_heads=heads,
            num_hidden_layers=1,
            head_dim=head_dim,
            no_rope_layers=[0],
            attn_implementation="eager",
        )
        layer = self.code["smollm3"].SmolLM3Attention(config, 0).to(values.dtype).eval()
        query, key = (to_torch(each).T.repeat(heads, 1) for each in (w_q, w_k))
        value = self.torch.zeros(heads * head_dim, dim, dtype=values.dtype)
        value[:dim] = to_torch(w_v).T
        out = self.torch.eye(dim, heads * head_dim, dtype=values.dtype)
        named = {"q_proj": query, "k_proj": key, "v_proj": value, "o_proj": out}
        layer.load_state_dict({f"{name}.weight": each for name, each in named.items()})
        batch = values.reshape(-1, *values.shape[-2:])
        mask = self.causal(config, batch[:, None], batch[:, None])
        output, _weights = layer(batch, None, mask)
        return output.reshape(values.shape)

    @claims("weight-norm", dtype=ALL_FLOATS)
    def conv_wav2vec2(
        self, x: Array, weight_v: Array, weight_g: Array, bias: Array, *, groups: int
    ) -> Tensor:
        """``Wav2Vec2PositionalConvEmbedding``, whose result the encoder adds to the frames."""
        values = to_torch(x)
        config = self.transformers.Wav2Vec2Config(
            hidden_size=values.shape[-1],
            num_conv_pos_embeddings=weight_v.shape[-1],
            num_conv_pos_embedding_groups=groups,
        )
        module = self.code["wav2vec2"].Wav2Vec2PositionalConvEmbedding(config).to(values.dtype)
        module.load_state_dict(
            {
                "conv.bias": to_torch(bias),
                "conv.parametrizations.weight.original0": to_torch(weight_g)[None, None],
                "conv.parametrizations.weight.original1": to_torch(weight_v),
            }
        )
        frames = values.reshape(-1, *values.shape[-2:])
        return (frames + module(frames)).reshape(values.shape)
