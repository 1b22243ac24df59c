"""Families of models that can have a probe, by type."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from posenc_conformance.deployed.architectures.encoders import ENCODERS
from posenc_conformance.deployed.architectures.gemma import GEMMAS
from posenc_conformance.deployed.architectures.hybrids import HYBRIDS
from posenc_conformance.deployed.architectures.tensor_layout import (
    EXPERTS,
    GATED,
    INTERMEDIATE,
    Family,
    Names,
    Normed,
    as_they_are,
    by_multiplier,
    experts_beside_one,
    experts_of_gpt_oss,
    experts_of_minimax,
    experts_of_mixtral,
    experts_of_qwen,
    fused_as,
    fused_by_head,
    gated_as_one,
    gated_elsewhere,
    gated_of_internlm,
    of_opt,
    plain,
    turned_about,
    wide,
)
from posenc_conformance.deployed.architectures.with_images import WITH_IMAGES
from posenc_conformance.models.configuration import Configuration, Fields

NORMS_BEHIND = Names(norms=("post_feedforward_layernorm",), norm_behind="post_attention_layernorm")
COHERE = Family(
    "CohereForCausalLM",
    names=Names(norms=("input_layernorm",)),
    centred=True,
    tied=True,
    eps="layer_norm_eps",
    # The multiplier of logits does not affect positions.
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
DEEPSEEK_3 = Family("DeepseekV3ForCausalLM", latent=True, fields=OF_DEEPSEEK)
FALCON = Family(
    "FalconForCausalLM",
    attention=fused_by_head,
    feed_forward=plain("dense_h_to_4h", "dense_4h_to_h", biased=False),
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
"""Falcon with ALiBi instead of rotation, as falcon-rw was released."""
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
    attention=fused_as("c_attn", transposed=True),
    feed_forward=turned_about,
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
        attention=fused_by_head,
        feed_forward=wide("dense_h_to_4h", "dense_4h_to_h", biased=True),
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
    "deepseek_v3": DEEPSEEK_3,
    "exaone4": Family(
        "Exaone4ForCausalLM", names=NORMS_BEHIND, normed=Normed.BY_HEAD, bare=True, fields=GATED
    ),
    "falcon": FALCON,
    **GEMMAS,
    "glm": Family(
        "GlmForCausalLM",
        feed_forward=gated_as_one,
        biased=frozenset({"projections"}),
        fields={**GATED, "attention_bias": True},
    ),
    "glm4": Family(
        "Glm4ForCausalLM",
        feed_forward=gated_as_one,
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
        attention=fused_as("c_attn"),
        feed_forward=plain("c_fc", "c_proj"),
        one_key=True,
        transposed=False,
        fields={**GPT2.fields, "multi_query": True},
    ),
    "gpt_neox": Family(
        "GPTNeoXForCausalLM",
        attention=fused_by_head,
        feed_forward=plain("dense_h_to_4h", "dense_4h_to_h"),
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
        feed_forward=experts_of_gpt_oss,
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
        feed_forward=plain("fc_in", "fc_out"),
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
        scale=by_multiplier,
        # All multipliers except that of scores are 1: they do not affect positions.
        fields={
            **GATED,
            "mlp_bias": False,
            "embedding_multiplier": 1.0,
            "residual_multiplier": 1.0,
            "logits_scaling": 1.0,
        },
        defaults={"attention_multiplier": 1.0},
    ),
    "internlm2": Family(
        "InternLM2ForCausalLM",
        attention=partial(fused_by_head, name="wqkv"),
        feed_forward=gated_of_internlm,
        names=Names(
            embeddings="model.tok_embeddings",
            attention="attention",
            out="wo",
            norms=("attention_norm", "ffn_norm"),
            logits="output",
        ),
        fields={"intermediate_size": INTERMEDIATE, "hidden_act": "silu", "bias": False},
    ),
    "kimi_k2": DEEPSEEK_3,
    "llama": Family("LlamaForCausalLM", fields=GATED),
    "llama4_text": Family(
        "Llama4ForCausalLM",
        feed_forward=gated_elsewhere,
        # No layer has experts, and none has a norm of queries, which only some layers would have.
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
    "minimax_m2": Family(
        "MiniMaxM2ForCausalLM",
        feed_forward=experts_of_minimax,
        normed=Normed.WHOLE,
        fields={
            **GATED,
            "num_local_experts": EXPERTS,
            "num_experts_per_tok": 2,
            "use_qk_norm": True,
            "qk_norm_type": "per_layer",
            "use_routing_bias": True,
            "scoring_func": "sigmoid",
            "use_mtp": False,
        },
    ),
    "mimo": Family(
        "MiMoForCausalLM",
        biased=frozenset({"projections"}),
        fields={**GATED, "attention_bias": True, "num_nextn_predict_layers": 0},
    ),
    "ministral": Family("MinistralForCausalLM", fields=GATED),
    "ministral3": Family("Ministral3ForCausalLM", fields=GATED),
    "mistral": Family("MistralForCausalLM", fields=GATED),
    "mixtral": Family(
        "MixtralForCausalLM",
        feed_forward=experts_of_mixtral,
        fields={**GATED, "num_local_experts": EXPERTS, "num_experts_per_tok": 2},
    ),
    "mpt": Family(
        "MptForCausalLM",
        attention=fused_as("Wqkv"),
        feed_forward=wide("up_proj", "down_proj", within="ffn."),
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
        feed_forward=of_opt,
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
        feed_forward=plain("fc1", "fc2"),
        names=Names(out="dense", norms=("input_layernorm",), last_norm="model.final_layernorm"),
        biased=frozenset({"projections", "out", "norms", "logits"}),
        centred=True,
        eps="layer_norm_eps",
        fields={
            "intermediate_size": INTERMEDIATE,
            "hidden_act": "gelu_new",
            "qk_layernorm": False,
        },
    ),
    "phi3": Family(
        "Phi3ForCausalLM", attention=fused_as("qkv_proj"), feed_forward=gated_as_one, fields=GATED
    ),
    "qwen2": Family("Qwen2ForCausalLM", biased=frozenset({"projections"}), fields=GATED),
    "qwen2_moe": Family(
        "Qwen2MoeForCausalLM",
        feed_forward=experts_beside_one,
        biased=frozenset({"projections"}),
        fields={
            **GATED,
            "num_experts": EXPERTS,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": INTERMEDIATE,
            "shared_expert_intermediate_size": INTERMEDIATE,
            "decoder_sparse_step": 1,
            "mlp_only_layers": [],
            "norm_topk_prob": False,
        },
    ),
    "qwen3": Family("Qwen3ForCausalLM", normed=Normed.BY_HEAD, fields=GATED),
    "qwen3_moe": Family(
        "Qwen3MoeForCausalLM",
        feed_forward=experts_of_qwen,
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
        feed_forward=plain("c_fc", "c_proj"),
        biased=frozenset({"projections", "out", "norms"}),
        centred=True,
        eps="norm_epsilon",
        fields={
            "intermediate_size": INTERMEDIATE,
            "hidden_act": "gelu_pytorch_tanh",
            "use_bias": True,
        },
    ),
    "t5": Family(
        "T5ForConditionalGeneration",
        scale=as_they_are,
        eps="layer_norm_epsilon",
        fields={
            "d_ff": INTERMEDIATE,
            "feed_forward_proj": "relu",
            "is_encoder_decoder": True,
            "decoder_start_token_id": 0,
        },
    ),
    **HYBRIDS,
    **WITH_IMAGES,
    **ENCODERS,
}
"""The families that can have a probe, by ``model_type``."""


def family_of(config: Configuration) -> Family | None:
    """Return the family of a configuration; None if no probe supports it yet."""
    if config.type == "falcon" and config.get("alibi"):
        return FALCON_BIASED
    return FAMILIES.get(config.type)
