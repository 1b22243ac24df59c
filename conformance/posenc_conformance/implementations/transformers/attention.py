"""Attention, and layers that know of positions by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import ALL_FLOATS, FLOATS, Array, by_heads
from posenc_conformance.implementations.transformers.base import Transformers

if TYPE_CHECKING:
    from torch import Tensor


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
    def attention_weights(self, q: Array, k: Array, *, mask: str) -> Any:
        """The second result of Llama's ``eager_attention_forward``."""
        query, key = to_torch(q), to_torch(k)
        return by_heads(lambda q, k: self._llama(q, k, k, mask)[1], query, key)

    @claims("full", "causal", dtype=FLOATS)
    def attention(self, q: Array, k: Array, v: Array, *, mask: str) -> Any:
        """Llama's ``eager_attention_forward``."""
        arrays = map(to_torch, (q, k, v))
        return by_heads(lambda q, k, v: self._llama(q, k, v, mask)[0].swapaxes(1, 2), *arrays)

    @claims("causal", dtype=FLOATS)
    @claims("unscaled", dtype=ALL_FLOATS)
    def attention_with_bias(
        self, q: Array, k: Array, v: Array, bias: Array, *, scaling: str
    ) -> Any:
        """Llama's with the bias in its mask, T5's with a position bias."""
        arrays = map(to_torch, (q, k, v))
        every = self.torch.broadcast_to(to_torch(bias), (*q.shape[:-1], k.shape[-2]))

        def attend(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
            if scaling == "root":
                output, _weights = self._llama(q, k, v, "causal", bias)
            else:
                code = self.code["t5"]
                module = code.T5Attention(self.transformers.T5Config(), layer_idx=0).eval()
                output, _weights = code.eager_attention_forward(
                    module, q, k, v, None, scaling=module.scaling, position_bias=bias
                )
            return output.swapaxes(1, 2)

        return by_heads(attend, *arrays, every)

    def _llama(
        self, query: Tensor, key: Tensor, value: Tensor, mask: str, bias: Tensor | float = 0.0
    ) -> tuple[Tensor, Tensor]:
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
    def nope_layer(self, x: Array, w_q: Array, w_k: Array, w_v: Array) -> Any:
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

        def attend(texts: Tensor) -> Tensor:
            mask = self.causal(config, texts[:, None], texts[:, None])
            return layer(texts, None, mask)[0]

        return by_heads(attend, values, form="hnd")

    @claims("weight-norm", dtype=ALL_FLOATS)
    def conv_wav2vec2(
        self, x: Array, weight_v: Array, weight_g: Array, bias: Array, *, groups: int
    ) -> Any:
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
        return by_heads(lambda frames: frames + module(frames), values, form="hnd")
