"""Families in which only some layers attend to all of the text.

The others have linear attention or convolutions, or attend to images. Their weights are zero, so
they add nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from posenc_conformance.deployed.architectures.tensor_layout import (
    EXPERTS,
    INTERMEDIATE,
    Family,
    Names,
    Normed,
    Shaped,
    experts_beside_one,
    gated_by_head,
)
from posenc_conformance.models.configuration import Fields

LINEAR: Fields = {
    "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 64,
    "linear_value_head_dim": 64,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
}
"""Sizes of Qwen's linear attention."""


def _linear(config: Fields) -> Iterator[Shaped]:
    """Yield what all of Qwen's linear attention has in common."""
    heads, size = config["linear_num_value_heads"], config["linear_value_head_dim"]
    keys = config["linear_num_key_heads"] * config["linear_key_head_dim"]
    mixed = 2 * keys + heads * size
    yield "linear_attn.dt_bias", (heads,)
    yield "linear_attn.A_log", (heads,)
    yield "linear_attn.conv1d.weight", (mixed, 1, config["linear_conv_kernel_dim"])
    yield "linear_attn.norm.weight", (size,)
    yield "linear_attn.out_proj.weight", (config["hidden_size"], heads * size)


def _linear_as_two(config: Fields) -> Iterator[Shaped]:
    """Yield Qwen 3 Next's linear attention, whose projections are two matrices."""
    yield from _linear(config)
    heads, hidden = config["linear_num_value_heads"], config["hidden_size"]
    keys = config["linear_num_key_heads"] * config["linear_key_head_dim"]
    values = heads * config["linear_value_head_dim"]
    yield "linear_attn.in_proj_qkvz.weight", (2 * keys + 2 * values, hidden)
    yield "linear_attn.in_proj_ba.weight", (2 * heads, hidden)


def _linear_as_four(config: Fields) -> Iterator[Shaped]:
    """Yield Qwen 3.5's linear attention, whose projections are four matrices."""
    yield from _linear(config)
    heads, hidden = config["linear_num_value_heads"], config["hidden_size"]
    keys = config["linear_num_key_heads"] * config["linear_key_head_dim"]
    values = heads * config["linear_value_head_dim"]
    yield "linear_attn.in_proj_qkv.weight", (2 * keys + values, hidden)
    yield "linear_attn.in_proj_z.weight", (values, hidden)
    yield "linear_attn.in_proj_b.weight", (heads, hidden)
    yield "linear_attn.in_proj_a.weight", (heads, hidden)


def _experts_as_one(hidden: int) -> Iterator[Shaped]:
    """Yield experts as one tensor and a shared one, as Qwen 3.5 stores them."""
    for name, shape in experts_beside_one(hidden):
        if ".experts." not in name:
            yield name, shape
    yield "mlp.experts.gate_up_proj", (EXPERTS, 2 * INTERMEDIATE, hidden)
    yield "mlp.experts.down_proj", (EXPERTS, hidden, INTERMEDIATE)


def _convolved(config: Fields) -> Iterator[Shaped]:
    """Yield LFM2's short convolution."""
    hidden = config["hidden_size"]
    yield "conv.conv.weight", (hidden, 1, config["conv_L_cache"])
    yield "conv.in_proj.weight", (3 * hidden, hidden)
    yield "conv.out_proj.weight", (hidden, hidden)


GATED: Fields = {"intermediate_size": INTERMEDIATE, "hidden_act": "silu", "attention_bias": False}
OF_EXPERTS: Fields = {
    "num_experts": EXPERTS,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": INTERMEDIATE,
    "shared_expert_intermediate_size": INTERMEDIATE,
    "decoder_sparse_step": 1,
    "mlp_only_layers": [],
    "norm_topk_prob": True,
}
QWEN_3_5 = Family(
    "Qwen3_5ForCausalLM",
    attention=gated_by_head,
    normed=Normed.BY_HEAD,
    offset=1.0,
    passed=0.5,
    silent=_linear_as_four,
    fields={**GATED, **LINEAR},
)
HYBRIDS: Mapping[str, Family] = {
    "lfm2": Family(
        "Lfm2ForCausalLM",
        names=Names(
            out="out_proj",
            norms=("operator_norm", "ffn_norm"),
            last_norm="model.embedding_norm",
            norms_of_heads=("q_layernorm", "k_layernorm"),
            gate=("feed_forward.w1", "feed_forward.w3", "feed_forward.w2"),
        ),
        normed=Normed.BY_HEAD,
        tied=True,
        eps="norm_eps",
        silent=_convolved,
        fields={"conv_bias": False, "conv_L_cache": 3, "block_auto_adjust_ff_dim": False},
    ),
    "qwen3_5_moe_text": replace(
        QWEN_3_5,
        architecture="Qwen3_5MoeForCausalLM",
        feed_forward=_experts_as_one,
        fields={**QWEN_3_5.fields, **OF_EXPERTS},
    ),
    "qwen3_5_text": QWEN_3_5,
    "qwen3_next": replace(
        QWEN_3_5,
        architecture="Qwen3NextForCausalLM",
        feed_forward=experts_beside_one,
        silent=_linear_as_two,
        fields={**QWEN_3_5.fields, **OF_EXPERTS},
    ),
}
"""The families that can have a probe, by type."""
