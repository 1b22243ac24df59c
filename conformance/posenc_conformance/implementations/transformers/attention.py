"""Attention, and layers that know of positions by themselves."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from posenc_conformance import claims, to_torch
from posenc_conformance.adapters import ALL_FLOATS, EXACT, FLOATS, Array, Positions, by_heads
from posenc_conformance.implementations.transformers.base import Transformers

if TYPE_CHECKING:
    from torch import Tensor


QUERIES, LOGITS = "posenc_queries", "posenc_logits"
"""Names of attention functions that hand out the queries, and the logits."""


def _given(value: Tensor, hidden_states: Tensor) -> Tensor:
    """Return a value as a projection gives it out, whatever the hidden states."""
    return value


def _queries(module: Any, query: Tensor, *others: Any, **keywords: Any) -> tuple[Tensor, None]:
    """Return the queries in the place of an attention's result: ``[batch, n, heads, head_dim]``."""
    return query.transpose(1, 2), None


def _logits(
    module: Any, query: Tensor, key: Tensor, value: Tensor, mask: None, scaling: float, **rest: Any
) -> tuple[Tensor, Tensor]:
    """Return logits in the place of attention weights.

    They are formed as eager attention forms them.
    """
    return value.transpose(1, 2), query @ key.transpose(2, 3) * scaling


class _Past:
    """A cache that has seen a number of tokens, and keeps none."""

    def __init__(self, length: int) -> None:
        self.length = length

    def get_seq_length(self, layer: int) -> int:
        return self.length

    def update(self, key: Tensor, value: Tensor, layer: int, **rest: Any) -> tuple[Tensor, Tensor]:
        return key, value


class Attention(Transformers):
    """Eager attention, whose weights can be seen.

    ====================  ======================================================================
    attention             Llama, whose softmax is in float32; biases are added to its mask, as
                          those of MPT and BLOOM are
    attention unscaled    T5
    nope                  a layer of SmolLM3 without rotary embedding. Its values have as many
                          channels as its queries, so they are spread over several heads with the
                          same queries and keys.
    conv-wav2vec2         Wav2Vec2 (also HuBERT, WavLM, SpeechT5), HuBERT's batch norm, Data2Vec
    query-temperature     Llama 4's layer without rotary embedding, its projections the identity,
    llama-4               and an attention function that hands out its queries; each run of
                          consecutive positions is a call behind a cache of that length
    query-temperature     Ministral 3, ``get_llama_4_attn_scale``
    ministral
    mla                   DeepSeek-V3's layer, whose projections give out what the call gives, and
                          an attention function that hands out the logits; before fewer queries
                          than keys stand queries of zeros
    ====================  ======================================================================
    """

    @claims("llama-4", "ministral", dtype=FLOATS, max_position=EXACT - 2)
    def query_temperature(
        self, x: Array, positions: Positions, *, length: int, beta: float, count: str
    ) -> object:
        """Multiply queries with their temperature.

        Llama 4's are the queries of ``Llama4TextAttention``. Ministral's are multiplied here, with
        what its layers multiply queries with.
        """
        values, place = to_torch(x), to_torch(positions)
        if count == "from-0":
            scale = self.code["ministral3"].get_llama_4_attn_scale(place[None], beta, length)
            return values * scale[0, 0].to(values.dtype)
        layer = self._llama_4(x.shape[-1], length, beta).to(values.dtype)
        starts = self.torch.nonzero(self.torch.diff(place) != 1).flatten() + 1
        parts = [
            by_heads(partial(self._at, layer, int(run[0])), part, form="hnd")
            for part, run in zip(
                self.torch.tensor_split(values, starts.tolist(), dim=-2),
                self.torch.tensor_split(place, starts.tolist()),
                strict=True,
            )
            if len(run)
        ]
        return self.torch.cat([values[..., :0, :], *parts], dim=-2)

    @staticmethod
    def _at(layer: Any, start: int, rows: Tensor) -> Any:
        """Apply the layer to hidden states that follow ``start`` tokens."""
        return layer(rows, None, None, _Past(start))[0]

    def _llama_4(self, head_dim: int, length: int, beta: float) -> Any:
        """Make a layer without rotary embedding that returns its queries."""
        code = self.code["llama4"]
        config = self.transformers.Llama4TextConfig(
            hidden_size=head_dim,
            head_dim=head_dim,
            num_attention_heads=1,
            num_key_value_heads=1,
            num_hidden_layers=1,
            no_rope_layers=[0],
            floor_scale=length,
            attn_scale=beta,
        )
        code.ALL_ATTENTION_FUNCTIONS.register(QUERIES, _queries)
        config._attn_implementation = QUERIES
        layer = code.Llama4TextAttention(config, 0).eval()
        for projection in (layer.q_proj, layer.k_proj, layer.v_proj, layer.o_proj):
            self.torch.nn.init.eye_(projection.weight)
        return layer.requires_grad_(False)

    @claims("deepseek", "half", dtype=FLOATS, scaling="yarn")
    def mla_scores(
        self, q: Array, k_nope: Array, k_rope: Array, *, base: float, layout: str, **yarn: Any
    ) -> object:
        """Return the logits of ``DeepseekV3Attention``."""
        query, content, position = map(to_torch, (q, k_nope, k_rope))
        (heads, k_len, nope), rope = k_nope.shape, k_rope.shape[-1]
        code = self.code["deepseek_v3"]
        kind = {"rope_type": "yarn", "beta_fast": 32, "beta_slow": 1} if yarn else {}
        config = self.transformers.DeepseekV3Config(
            num_attention_heads=heads,
            num_key_value_heads=heads,
            hidden_size=1,
            q_lora_rank=None,
            kv_lora_rank=1,
            v_head_dim=1,
            qk_nope_head_dim=nope,
            qk_rope_head_dim=rope,
            rope_interleave=layout == "interleaved",
            rope_parameters={"rope_type": "default", "rope_theta": base, **yarn, **kind},
        )
        code.ALL_ATTENTION_FUNCTIONS.register(LOGITS, _logits)
        config._attn_implementation = LOGITS
        layer = code.DeepseekV3Attention(config, 0).eval()
        ahead = query.new_zeros(heads, k_len - query.shape[1], query.shape[-1])
        value = query.new_zeros(heads, k_len, 1)
        latent = query.new_zeros(k_len, 1)
        token = query.new_zeros(1, k_len, 1)
        for name, given in (
            ("q_proj", self.torch.cat([ahead, query], dim=1).transpose(0, 1)),
            ("kv_a_proj_with_mqa", self.torch.cat([latent, position], dim=-1)[None]),
            ("kv_b_proj", self.torch.cat([content, value], dim=-1).transpose(0, 1)),
            ("o_proj", token),
        ):
            getattr(layer, name).forward = partial(_given, given.contiguous())
        places = self.torch.arange(k_len)[None]
        waves = code.DeepseekV3RotaryEmbedding(config)(token, places)
        logits = layer(token, waves, None)[1]
        return logits[0, :, k_len - query.shape[1] :]

    @claims("full", "causal", dtype=FLOATS)
    def attention_weights(self, q: Array, k: Array, *, mask: str) -> object:
        """Return the second result of Llama's ``eager_attention_forward``."""
        query, key = to_torch(q), to_torch(k)
        return by_heads(lambda q, k: self._llama(q, k, k, mask)[1], query, key)

    @claims("full", "causal", dtype=FLOATS)
    def attention(self, q: Array, k: Array, v: Array, *, mask: str) -> object:
        """Return the first result of Llama's ``eager_attention_forward``."""
        arrays = map(to_torch, (q, k, v))
        return by_heads(lambda q, k, v: self._llama(q, k, v, mask)[0].swapaxes(1, 2), *arrays)

    @claims("causal", dtype=FLOATS)
    @claims("unscaled", dtype=ALL_FLOATS)
    def attention_with_bias(
        self, q: Array, k: Array, v: Array, bias: Array, *, scaling: str
    ) -> object:
        """Call Llama's function with the bias in its mask, or T5's with a position bias."""
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
        """Return what is added to the logits of the last queries.

        Earlier keys are in the cache.
        """
        from transformers.masking_utils import create_causal_mask

        new = query.shape[-2]
        cache = self.transformers.DynamicCache()
        if new < key.shape[-2]:
            cache.update(key[..., :-new, :], key[..., :-new, :], 0)
        return create_causal_mask(config, query[:, 0], None, cache)

    @claims("causal", dtype=FLOATS)
    def nope_layer(self, x: Array, w_q: Array, w_k: Array, w_v: Array) -> object:
        """Run a whole ``SmolLM3Attention``."""
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
    ) -> object:
        """Add the result of ``Wav2Vec2PositionalConvEmbedding`` to the frames.

        That is what the encoder does.
        """
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

    @claims("batch-norm", dtype=ALL_FLOATS)
    def conv_hubert(
        self,
        x: Array,
        weight: Array,
        bias: Array,
        mean: Array,
        variance: Array,
        gain: Array,
        shift: Array,
        *,
        groups: int,
    ) -> object:
        """Add the result of ``HubertPositionalConvEmbedding`` in evaluation to the frames.

        That is what the encoder does.
        """
        values = to_torch(x)
        config = self.transformers.HubertConfig(
            hidden_size=values.shape[-1],
            num_conv_pos_embeddings=weight.shape[-1],
            num_conv_pos_embedding_groups=groups,
            conv_pos_batch_norm=True,
        )
        module = self.code["hubert"].HubertPositionalConvEmbedding(config).to(values.dtype).eval()
        module.load_state_dict(
            {
                "conv.weight": to_torch(weight),
                "conv.bias": to_torch(bias),
                "batch_norm.running_mean": to_torch(mean),
                "batch_norm.running_var": to_torch(variance),
                "batch_norm.weight": to_torch(gain),
                "batch_norm.bias": to_torch(shift),
                "batch_norm.num_batches_tracked": self.torch.tensor(0),
            }
        )
        return by_heads(lambda frames: frames + module(frames), values, form="hnd")

    @claims("layer-norm", dtype=ALL_FLOATS)
    def conv_data2vec(self, x: Array, weight: Array, bias: Array, *, groups: int) -> object:
        """Add the result of ``Data2VecAudioPositionalConvEmbedding`` to the frames.

        That is what the encoder does.
        """
        values = to_torch(x)
        config = self.transformers.Data2VecAudioConfig(
            hidden_size=values.shape[-1],
            num_conv_pos_embeddings=len(weight),
            conv_pos_kernel_size=weight.shape[-1],
            num_conv_pos_embedding_groups=groups,
        )
        code = import_module("transformers.models.data2vec.modeling_data2vec_audio")
        module = code.Data2VecAudioPositionalConvEmbedding(config).to(values.dtype)
        named = {"weight": weight, "bias": bias}
        module.load_state_dict(
            {
                f"layers.{layer}.conv.{name}": to_torch(every[layer])
                for name, every in named.items()
                for layer in range(len(every))
            }
        )
        return by_heads(lambda frames: frames + module(frames), values, form="hnd")
