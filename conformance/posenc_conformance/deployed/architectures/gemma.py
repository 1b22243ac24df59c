"""What the versions of Gemma have in common, and the fourth one, whose layers differ."""

from dataclasses import replace

from posenc_conformance.deployed.architectures.tensor_layout import (
    Family,
    Names,
    Normed,
    as_they_are,
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
