"""Families of models that probes are made of: what they call their tensors and their fields."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np

from posenc_conformance.judge.arrays import Floats
from posenc_conformance.models.configuration import Configuration, Fields

INTERMEDIATE = 32
"""Channels of the feed-forward layers, whose weights are all zero."""
EXPERTS = 4
"""Feed-forward layers of which two are chosen, where a family has experts."""
Tensor = tuple[str, Floats]
Shaped = tuple[str, tuple[int, ...]]
"""The name and the shape of a tensor of zeros."""


@dataclass(frozen=True)
class Layer:
    """The projections of the attention of a layer."""

    query: Floats
    key: Floats
    value: Floats
    kv_heads: int


def _fused_as(name: str, *, transposed: bool = False) -> Callable[[Layer], Iterator[Tensor]]:
    """Return what yields the projections of a layer as one of that name."""

    def made(layer: Layer) -> Iterator[Tensor]:
        fused = np.concatenate([layer.query, layer.key, layer.value])
        yield name, fused.T if transposed else fused

    return made


def _apart(layer: Layer) -> Iterator[Tensor]:
    """Yield the projections of a layer, one by one."""
    yield "q_proj", layer.query
    yield "k_proj", layer.key
    yield "v_proj", layer.value


def _fused_by_head(layer: Layer) -> Iterator[Tensor]:
    """Yield the projections of a layer as one: of each head of keys all that belongs to it."""
    parts = [
        part.reshape(layer.kv_heads, -1, part.shape[-1])
        for part in (layer.query, layer.key, layer.value)
    ]
    fused = np.concatenate(parts, axis=1)
    yield "query_key_value", fused.reshape(-1, fused.shape[-1])


def _gated(hidden: int) -> Iterator[Shaped]:
    """Yield a feed-forward layer with a gate."""
    yield "mlp.gate_proj.weight", (INTERMEDIATE, hidden)
    yield "mlp.up_proj.weight", (INTERMEDIATE, hidden)
    yield "mlp.down_proj.weight", (hidden, INTERMEDIATE)


def _gated_elsewhere(hidden: int) -> Iterator[Shaped]:
    """Yield the same under the name that Llama 4 has for it."""
    for name, shape in _gated(hidden):
        yield name.replace("mlp", "feed_forward"), shape


def _gated_as_one(hidden: int) -> Iterator[Shaped]:
    """Yield a feed-forward layer whose gate is part of a larger matrix."""
    yield "mlp.gate_up_proj.weight", (2 * INTERMEDIATE, hidden)
    yield "mlp.down_proj.weight", (hidden, INTERMEDIATE)


def _experts_of_mixtral(hidden: int) -> Iterator[Shaped]:
    """Yield experts, as Mixtral names them."""
    yield "block_sparse_moe.gate.weight", (EXPERTS, hidden)
    for expert in range(EXPERTS):
        before = f"block_sparse_moe.experts.{expert}"
        yield f"{before}.w1.weight", (INTERMEDIATE, hidden)
        yield f"{before}.w2.weight", (hidden, INTERMEDIATE)
        yield f"{before}.w3.weight", (INTERMEDIATE, hidden)


def _experts_of_gpt_oss(hidden: int) -> Iterator[Shaped]:
    """Yield experts as one, with biases, as gpt-oss names them."""
    yield "mlp.router.weight", (EXPERTS, hidden)
    yield "mlp.router.bias", (EXPERTS,)
    yield "mlp.experts.gate_up_proj", (EXPERTS, hidden, 2 * INTERMEDIATE)
    yield "mlp.experts.gate_up_proj_bias", (EXPERTS, 2 * INTERMEDIATE)
    yield "mlp.experts.down_proj", (EXPERTS, INTERMEDIATE, hidden)
    yield "mlp.experts.down_proj_bias", (EXPERTS, hidden)


def _experts_of_qwen(hidden: int) -> Iterator[Shaped]:
    """Yield experts, as Qwen names them."""
    yield "mlp.gate.weight", (EXPERTS, hidden)
    for expert in range(EXPERTS):
        for name, shape in _gated(hidden):
            yield name.replace("mlp", f"mlp.experts.{expert}"), shape


def _plain(widen: str, narrow: str, *, biased: bool = True) -> Callable[[int], Iterator[Shaped]]:
    """Return what makes a feed-forward layer without a gate, nearly always with biases."""

    def made(hidden: int) -> Iterator[Shaped]:
        yield f"mlp.{widen}.weight", (INTERMEDIATE, hidden)
        yield f"mlp.{narrow}.weight", (hidden, INTERMEDIATE)
        if biased:
            yield f"mlp.{widen}.bias", (INTERMEDIATE,)
            yield f"mlp.{narrow}.bias", (hidden,)

    return made


def _wide(
    widen: str, narrow: str, *, biased: bool = False, within: str = "mlp."
) -> Callable[[int], Iterator[Shaped]]:
    """Return what makes a feed-forward layer without a gate that is four times as wide, always."""

    def made(hidden: int) -> Iterator[Shaped]:
        yield f"{within}{widen}.weight", (4 * hidden, hidden)
        yield f"{within}{narrow}.weight", (hidden, 4 * hidden)
        if biased:
            yield f"{within}{widen}.bias", (4 * hidden,)
            yield f"{within}{narrow}.bias", (hidden,)

    return made


def _turned_about(hidden: int) -> Iterator[Shaped]:
    """Yield the feed-forward layer of GPT-2, whose matrices stand the other way."""
    yield "mlp.c_fc.weight", (hidden, INTERMEDIATE)
    yield "mlp.c_fc.bias", (INTERMEDIATE,)
    yield "mlp.c_proj.weight", (INTERMEDIATE, hidden)
    yield "mlp.c_proj.bias", (hidden,)


def _of_opt(hidden: int) -> Iterator[Shaped]:
    """Yield the feed-forward layer of OPT, which has no name of its own."""
    yield "fc1.weight", (INTERMEDIATE, hidden)
    yield "fc1.bias", (INTERMEDIATE,)
    yield "fc2.weight", (hidden, INTERMEDIATE)
    yield "fc2.bias", (hidden,)


def _by_root(config: Fields, head_dim: int) -> float:
    """Return what most families multiply scores by."""
    return 1 / math.sqrt(head_dim)


def _by_multiplier(config: Fields, head_dim: int) -> float:
    """Return what Granite multiplies scores by."""
    return float(config["attention_multiplier"])


def _by_scalar(config: Fields, head_dim: int) -> float:
    """Return what Gemma multiplies scores by from its second version on."""
    return 1 / math.sqrt(config["query_pre_attn_scalar"])


@dataclass(frozen=True)
class Names:
    """What tensors are called."""

    embeddings: str = "model.embed_tokens"
    layer: str = "model.layers.{}"
    attention: str = "self_attn"
    out: str = "o_proj"
    norms: tuple[str, ...] = ("input_layernorm", "post_attention_layernorm")
    """Norms of a layer that change nothing more than a norm does."""
    norm_behind: str = ""
    """The norm of what attention adds, where there is one."""
    norm_behind_feed_forward: str = ""
    """The norm of what the feed-forward layer adds, where embeddings are tied and there is one."""
    last_norm: str = "model.norm"
    """Empty where norms have no weights."""
    logits: str = "lm_head"
    norm_of_embeddings: str = ""
    """The norm of the embeddings, before the first layer, where there is one."""
    positions: str = ""
    """The table of positions, where there is one."""


class Normed(Enum):
    """What of queries, or of keys, goes through a norm together before they are turned."""

    NEVER = "nothing"
    BY_HEAD = "each head"
    WHOLE = "all heads"


@dataclass(frozen=True)
class Family:
    """Models whose layers are made alike."""

    architecture: str
    """What transformers calls the class of the whole model."""
    attention: Callable[[Layer], Iterator[Tensor]] = _apart
    """How the projections of queries, keys and values are stored."""
    feed_forward: Callable[[int], Iterator[Shaped]] = _gated
    """What the feed-forward layers are made of, all of it zero."""
    names: Names = Names()
    one_key: bool = False
    """Whether all heads share one head of keys, and the configuration does not count them."""
    latent: bool = False
    """Whether attention is latent, as DeepSeek's; ``attention`` does not count then."""
    sinks: bool = False
    """Whether each head has a score of its own that gives nothing to any key; it is 0."""
    biased: frozenset[str] = frozenset()
    """Which parts have biases: projections, out, norms, logits."""
    normed: Normed = Normed.NEVER
    """What of queries and keys goes through a norm together before they are turned."""
    bare: bool = False
    """Whether attention reads the hidden state as it is, without a norm."""
    transposed: bool = False
    """Whether projections stand the other way, [in, out]."""
    centred: bool = False
    """Whether norms take the mean away, as LayerNorm does."""
    scaled_bias: bool = False
    """Whether a bias is added before scores are multiplied, and so multiplied like them; it is
    rounded to bfloat16 then, as Falcon's is."""
    scale: Callable[[Fields, int], float] = _by_root
    """What scores are multiplied by, from the configuration and head_dim."""
    tied: bool = False
    """Whether the last matrix is that of the embeddings, in every model of the family."""
    stretched: bool = False
    """Whether embeddings are multiplied by the root of the hidden size."""
    offset: float = 0.0
    """What is added to the weights of norms."""
    capped: bool = False
    """Whether scores and logits are capped."""
    eps: str = "rms_norm_eps"
    """The field that says what norms add to a mean square; empty where there is none, and it is
    1e-5."""
    fields: Fields = field(default_factory=dict)
    """What the configuration must say besides; of a field that has fields, some of them."""
    defaults: Fields = field(default_factory=dict)
    """What it must say if it says nothing else."""


GATED: Fields = {"intermediate_size": INTERMEDIATE, "hidden_act": "silu", "attention_bias": False}
NORMS_BEHIND = Names(norms=("post_feedforward_layernorm",), norm_behind="post_attention_layernorm")
NORMS_AROUND = Names(
    norms=("input_layernorm", "pre_feedforward_layernorm"),
    norm_behind="post_attention_layernorm",
    norm_behind_feed_forward="post_feedforward_layernorm",
)
COHERE = Family(
    "CohereForCausalLM",
    names=Names(norms=("input_layernorm",)),
    centred=True,
    tied=True,
    eps="layer_norm_eps",
    # The multiplier of logits has nothing to do with positions.
    fields={
        "hidden_act": "silu",
        "attention_bias": False,
        "use_qk_norm": False,
        "logit_scale": 1.0,
    },
)
OF_DEEPSEEK: Fields = {
    **GATED,
    "n_routed_experts": EXPERTS,
    "n_shared_experts": 1,
    "num_experts_per_tok": 2,
    "n_group": 1,
    "topk_group": 1,
    "moe_intermediate_size": INTERMEDIATE,
    "num_nextn_predict_layers": 0,
}
OF_GEMMA: Fields = {
    "attention_bias": False,
    "hidden_act": "gelu_pytorch_tanh",
    "hidden_activation": "gelu_pytorch_tanh",
}
FALCON = Family(
    "FalconForCausalLM",
    attention=_fused_by_head,
    feed_forward=_plain("dense_h_to_4h", "dense_4h_to_h", biased=False),
    names=Names(
        embeddings="transformer.word_embeddings",
        layer="transformer.h.{}",
        attention="self_attention",
        out="dense",
        norms=("input_layernorm",),
        last_norm="transformer.ln_f",
    ),
    one_key=True,
    biased=frozenset({"norms"}),
    centred=True,
    eps="layer_norm_epsilon",
    fields={
        "ffn_hidden_size": INTERMEDIATE,
        "activation": "gelu",
        "bias": False,
        "parallel_attn": True,
        "num_ln_in_parallel_attn": 1,
        "multi_query": True,
        "new_decoder_architecture": False,
    },
)
FALCON_BIASED = replace(
    FALCON,
    names=replace(FALCON.names, norms=("input_layernorm", "post_attention_layernorm")),
    one_key=False,
    scaled_bias=True,
    fields={**FALCON.fields, "multi_query": False, "parallel_attn": False},
)
"""Falcon with a bias of distances, which turns nothing, as falcon-rw was released."""
OF_GPT2 = Names(
    embeddings="transformer.wte",
    layer="transformer.h.{}",
    attention="attn",
    out="c_proj",
    norms=("ln_1", "ln_2"),
    last_norm="transformer.ln_f",
    positions="transformer.wpe",
)
GPT2 = Family(
    "GPT2LMHeadModel",
    attention=_fused_as("c_attn", transposed=True),
    feed_forward=_turned_about,
    names=OF_GPT2,
    biased=frozenset({"projections", "out", "norms"}),
    transposed=True,
    centred=True,
    eps="layer_norm_epsilon",
    fields={"n_inner": INTERMEDIATE, "activation_function": "gelu_new"},
)
FAMILIES: Mapping[str, Family] = {
    "bloom": Family(
        "BloomForCausalLM",
        attention=_fused_by_head,
        feed_forward=_wide("dense_h_to_4h", "dense_4h_to_h", biased=True),
        names=Names(
            embeddings="transformer.word_embeddings",
            layer="transformer.h.{}",
            attention="self_attention",
            out="dense",
            last_norm="transformer.ln_f",
            norm_of_embeddings="transformer.word_embeddings_layernorm",
        ),
        biased=frozenset({"projections", "out", "norms"}),
        centred=True,
        eps="layer_norm_epsilon",
        fields={"apply_residual_connection_post_layernorm": False, "slow_but_exact": False},
    ),
    "cohere": COHERE,
    "cohere2": replace(COHERE, architecture="Cohere2ForCausalLM"),
    "deepseek_v2": Family("DeepseekV2ForCausalLM", latent=True, fields=OF_DEEPSEEK),
    "deepseek_v3": Family("DeepseekV3ForCausalLM", latent=True, fields=OF_DEEPSEEK),
    "exaone4": Family(
        "Exaone4ForCausalLM", names=NORMS_BEHIND, normed=Normed.BY_HEAD, bare=True, fields=GATED
    ),
    "falcon": FALCON,
    "gemma": Family("GemmaForCausalLM", tied=True, stretched=True, offset=1.0, fields=OF_GEMMA),
    "gemma2": Family(
        "Gemma2ForCausalLM",
        names=NORMS_AROUND,
        tied=True,
        stretched=True,
        offset=1.0,
        capped=True,
        scale=_by_scalar,
        fields=OF_GEMMA,
        defaults={
            "query_pre_attn_scalar": 256,
            "attn_logit_softcapping": 50.0,
            "final_logit_softcapping": 30.0,
        },
    ),
    "gemma3_text": Family(
        "Gemma3ForCausalLM",
        names=NORMS_AROUND,
        normed=Normed.BY_HEAD,
        tied=True,
        stretched=True,
        offset=1.0,
        scale=_by_scalar,
        fields={**OF_GEMMA, "attn_logit_softcapping": None, "final_logit_softcapping": None},
        defaults={"query_pre_attn_scalar": 256},
    ),
    "glm": Family(
        "GlmForCausalLM",
        feed_forward=_gated_as_one,
        biased=frozenset({"projections"}),
        fields={**GATED, "attention_bias": True},
    ),
    "glm4": Family(
        "Glm4ForCausalLM",
        feed_forward=_gated_as_one,
        names=Names(
            norms=("input_layernorm", "post_attention_layernorm", "post_mlp_layernorm"),
            norm_behind="post_self_attn_layernorm",
        ),
        biased=frozenset({"projections"}),
        fields={**GATED, "attention_bias": True},
    ),
    "gpt2": GPT2,
    "gpt_bigcode": replace(
        GPT2,
        architecture="GPTBigCodeForCausalLM",
        attention=_fused_as("c_attn"),
        feed_forward=_plain("c_fc", "c_proj"),
        one_key=True,
        transposed=False,
        fields={**GPT2.fields, "multi_query": True},
    ),
    "gpt_neox": Family(
        "GPTNeoXForCausalLM",
        attention=_fused_by_head,
        feed_forward=_plain("dense_h_to_4h", "dense_4h_to_h"),
        names=Names(
            embeddings="gpt_neox.embed_in",
            layer="gpt_neox.layers.{}",
            attention="attention",
            out="dense",
            last_norm="gpt_neox.final_layer_norm",
            logits="embed_out",
        ),
        biased=frozenset({"projections", "out", "norms"}),
        centred=True,
        eps="layer_norm_eps",
        fields={"intermediate_size": INTERMEDIATE, "hidden_act": "gelu"},
    ),
    "gpt_oss": Family(
        "GptOssForCausalLM",
        feed_forward=_experts_of_gpt_oss,
        sinks=True,
        biased=frozenset({"projections", "out"}),
        fields={
            **GATED,
            "attention_bias": True,
            "num_local_experts": EXPERTS,
            "num_experts_per_tok": 2,
            "experts_per_token": 2,
        },
    ),
    "gptj": Family(
        "GPTJForCausalLM",
        feed_forward=_plain("fc_in", "fc_out"),
        names=Names(
            embeddings="transformer.wte",
            layer="transformer.h.{}",
            attention="attn",
            out="out_proj",
            norms=("ln_1",),
            last_norm="transformer.ln_f",
        ),
        biased=frozenset({"norms", "logits"}),
        centred=True,
        eps="layer_norm_epsilon",
        fields={"n_inner": INTERMEDIATE},
    ),
    "granite": Family(
        "GraniteForCausalLM",
        scale=_by_multiplier,
        # All multipliers but that of scores are 1: they have nothing to do with positions.
        fields={
            **GATED,
            "mlp_bias": False,
            "embedding_multiplier": 1.0,
            "residual_multiplier": 1.0,
            "logits_scaling": 1.0,
        },
        defaults={"attention_multiplier": 1.0},
    ),
    "llama": Family("LlamaForCausalLM", fields=GATED),
    "llama4_text": Family(
        "Llama4ForCausalLM",
        feed_forward=_gated_elsewhere,
        # No layer has experts, and none a norm of queries: it would stand in some layers only.
        fields={
            **GATED,
            "intermediate_size_mlp": INTERMEDIATE,
            "use_qk_norm": False,
            "moe_layers": [],
            "interleave_moe_layer_step": 0,
            "num_local_experts": EXPERTS,
            "num_experts_per_tok": 1,
        },
    ),
    "ministral": Family("MinistralForCausalLM", fields=GATED),
    "ministral3": Family("Ministral3ForCausalLM", fields=GATED),
    "mistral": Family("MistralForCausalLM", fields=GATED),
    "mixtral": Family(
        "MixtralForCausalLM",
        feed_forward=_experts_of_mixtral,
        fields={**GATED, "num_local_experts": EXPERTS, "num_experts_per_tok": 2},
    ),
    "mpt": Family(
        "MptForCausalLM",
        attention=_fused_as("Wqkv"),
        feed_forward=_wide("up_proj", "down_proj", within="ffn."),
        names=Names(
            embeddings="transformer.wte",
            layer="transformer.blocks.{}",
            attention="attn",
            out="out_proj",
            norms=("norm_1", "norm_2"),
            last_norm="transformer.norm_f",
        ),
        centred=True,
        eps="layer_norm_epsilon",
        fields={
            "expansion_ratio": 4,
            "no_bias": True,
            "logit_scale": None,
            "attn_config": {
                "attn_type": "multihead_attention",
                "clip_qkv": None,
                "softmax_scale": None,
                "prefix_lm": False,
                "qk_ln": False,
            },
        },
    ),
    "olmo": Family(
        "OlmoForCausalLM",
        names=Names(norms=(), last_norm=""),
        centred=True,
        eps="layer_norm_eps",
        fields={**GATED, "clip_qkv": None},
    ),
    "olmo2": Family(
        "Olmo2ForCausalLM", names=NORMS_BEHIND, normed=Normed.WHOLE, bare=True, fields=GATED
    ),
    "olmo3": Family(
        "Olmo3ForCausalLM", names=NORMS_BEHIND, normed=Normed.WHOLE, bare=True, fields=GATED
    ),
    "opt": Family(
        "OPTForCausalLM",
        feed_forward=_of_opt,
        names=Names(
            embeddings="model.decoder.embed_tokens",
            layer="model.decoder.layers.{}",
            out="out_proj",
            norms=("self_attn_layer_norm", "final_layer_norm"),
            last_norm="model.decoder.final_layer_norm",
            positions="model.decoder.embed_positions",
        ),
        biased=frozenset({"projections", "out", "norms"}),
        centred=True,
        eps="",
        fields={
            "ffn_dim": INTERMEDIATE,
            "do_layer_norm_before": True,
            "enable_bias": True,
            "layer_norm_elementwise_affine": True,
            "activation_function": "relu",
        },
    ),
    "phi": Family(
        "PhiForCausalLM",
        feed_forward=_plain("fc1", "fc2"),
        names=Names(out="dense", norms=("input_layernorm",), last_norm="model.final_layernorm"),
        biased=frozenset({"projections", "out", "norms", "logits"}),
        centred=True,
        eps="layer_norm_eps",
        fields={"intermediate_size": INTERMEDIATE, "hidden_act": "gelu_new"},
    ),
    "phi3": Family(
        "Phi3ForCausalLM", attention=_fused_as("qkv_proj"), feed_forward=_gated_as_one, fields=GATED
    ),
    "qwen2": Family("Qwen2ForCausalLM", biased=frozenset({"projections"}), fields=GATED),
    "qwen3": Family("Qwen3ForCausalLM", normed=Normed.BY_HEAD, fields=GATED),
    "qwen3_moe": Family(
        "Qwen3MoeForCausalLM",
        feed_forward=_experts_of_qwen,
        normed=Normed.BY_HEAD,
        fields={
            **GATED,
            "num_experts": EXPERTS,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": INTERMEDIATE,
            "decoder_sparse_step": 1,
            "mlp_only_layers": [],
            "norm_topk_prob": True,
        },
    ),
    "seed_oss": Family(
        "SeedOssForCausalLM",
        biased=frozenset({"projections"}),
        fields={**GATED, "attention_bias": True, "attention_out_bias": False, "mlp_bias": False},
    ),
    "smollm3": Family("SmolLM3ForCausalLM", fields=GATED),
    "stablelm": Family(
        "StableLmForCausalLM",
        biased=frozenset({"norms"}),
        centred=True,
        eps="layer_norm_eps",
        fields={
            "intermediate_size": INTERMEDIATE,
            "hidden_act": "silu",
            "use_qkv_bias": False,
            "qk_layernorm": False,
            "use_parallel_residual": False,
        },
    ),
    "starcoder2": Family(
        "Starcoder2ForCausalLM",
        feed_forward=_plain("c_fc", "c_proj"),
        biased=frozenset({"projections", "out", "norms"}),
        centred=True,
        eps="norm_epsilon",
        fields={
            "intermediate_size": INTERMEDIATE,
            "hidden_act": "gelu_pytorch_tanh",
            "use_bias": True,
        },
    ),
}
"""The families that a probe can be made of, by ``model_type``."""


def family_of(config: Configuration) -> Family | None:
    """Return the family of a configuration; None if there is none yet."""
    if config.type == "falcon" and config.get("alibi"):
        return FALCON_BIASED
    return FAMILIES.get(config.type)
