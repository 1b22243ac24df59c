"""What the versions of Gemma have in common, and the fourth one, whose layers differ."""

from collections.abc import Mapping
from dataclasses import replace

from posenc_conformance.deployed.architectures.tensor_layout import (
    Family,
    Names,
    Normed,
    as_they_are,
    by_scalar,
)
from posenc_conformance.models.configuration import Fields

NORMS_AROUND = Names(
    norms=("input_layernorm", "pre_feedforward_layernorm"),
    norm_behind="post_attention_layernorm",
    norm_behind_feed_forward="post_feedforward_layernorm",
)
OF_GEMMA: Fields = {
    "attention_bias": False,
    "hidden_act": "gelu_pytorch_tanh",
    "hidden_activation": "gelu_pytorch_tanh",
}
EPS_OF_GEMMA: Fields = {"rms_norm_eps": 1e-6}
"""The eps of every Gemma; engines need not read it."""
GEMMA_4 = Family(
    "Gemma4ForCausalLM",
    names=replace(NORMS_AROUND, ones=("layer_scalar",)),
    normed=Normed.BY_HEAD,
    values_normed=True,
    tied=True,
    stretched=True,
    scale=as_they_are,
    # Each layer has keys and values of its own, and no table beside the embeddings.
    fields={
        **OF_GEMMA,
        "final_logit_softcapping": None,
        "attention_k_eq_v": False,
        "num_kv_shared_layers": 0,
        "num_global_key_value_heads": None,
        "hidden_size_per_layer_input": 0,
        "vocab_size_per_layer_input": 0,
        "use_double_wide_mlp": False,
        "enable_moe_block": False,
        "num_experts": None,
        "top_k_experts": None,
        "moe_intermediate_size": None,
    },
    defaults=EPS_OF_GEMMA,
)
GEMMAS: Mapping[str, Family] = {
    "gemma": Family(
        "GemmaForCausalLM",
        tied=True,
        stretched=True,
        offset=1.0,
        fields=OF_GEMMA,
        defaults=EPS_OF_GEMMA,
    ),
    "gemma2": Family(
        "Gemma2ForCausalLM",
        names=NORMS_AROUND,
        tied=True,
        stretched=True,
        offset=1.0,
        capped=True,
        scale=by_scalar,
        fields=OF_GEMMA,
        defaults={
            **EPS_OF_GEMMA,
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
        scale=by_scalar,
        fields={**OF_GEMMA, "attn_logit_softcapping": None, "final_logit_softcapping": None},
        defaults={**EPS_OF_GEMMA, "query_pre_attn_scalar": 256},
    ),
    "gemma4_text": GEMMA_4,
}
"""Gemma's versions, by type."""
