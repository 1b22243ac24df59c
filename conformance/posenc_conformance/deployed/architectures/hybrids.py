"""Families in which only some layers attend to all of the text.

The others have linear attention or convolutions, or attend to images. Their weights are zero, so
they add nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from posenc_conformance.deployed.architectures.tensor_layout import (
    EXPERTS,
    GATED,
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


def _sizes(config: Fields) -> tuple[int, int, int, int]:
    """Return heads of values, the hidden size, and the channels of all keys and of all values."""
    heads = config["linear_num_value_heads"]
    keys = config["linear_num_key_heads"] * config["linear_key_head_dim"]
    return heads, config["hidden_size"], keys, heads * config["linear_value_head_dim"]


def _linear(config: Fields, layer: int) -> Iterator[Shaped]:
    """Yield what all of Qwen's linear attention has in common."""
    heads, hidden, keys, values = _sizes(config)
    yield "linear_attn.dt_bias", (heads,)
    yield "linear_attn.A_log", (heads,)
    yield "linear_attn.conv1d.weight", (2 * keys + values, 1, config["linear_conv_kernel_dim"])
    yield "linear_attn.norm.weight", (config["linear_value_head_dim"],)
    yield "linear_attn.out_proj.weight", (hidden, values)


def _linear_as_two(config: Fields, layer: int) -> Iterator[Shaped]:
    """Yield Qwen 3 Next's linear attention, whose projections are two matrices."""
    yield from _linear(config, layer)
    heads, hidden, keys, values = _sizes(config)
    yield "linear_attn.in_proj_qkvz.weight", (2 * keys + 2 * values, hidden)
    yield "linear_attn.in_proj_ba.weight", (2 * heads, hidden)


def _linear_as_four(config: Fields, layer: int) -> Iterator[Shaped]:
    """Yield Qwen 3.5's linear attention, whose projections are four matrices."""
    yield from _linear(config, layer)
    heads, hidden, keys, values = _sizes(config)
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


def _convolved(config: Fields, layer: int) -> Iterator[Shaped]:
    """Yield LFM2's short convolution."""
    hidden = config["hidden_size"]
    yield "conv.conv.weight", (hidden, 1, config["conv_L_cache"])
    yield "conv.in_proj.weight", (3 * hidden, hidden)
    yield "conv.out_proj.weight", (hidden, hidden)


def _delta(config: Fields, layer: int) -> Iterator[Shaped]:
    """Yield Kimi's linear attention, under the names of its checkpoints."""
    sizes, hidden, place = config["linear_attn_config"], config["hidden_size"], "self_attn"
    heads, size = sizes["num_heads"], sizes["head_dim"]
    wide = heads * size
    for name in "qkv":
        yield f"{place}.{name}_proj.weight", (wide, hidden)
        yield f"{place}.{name}_conv1d.weight", (wide, 1, sizes["short_conv_kernel_size"])
    yield f"{place}.A_log", (1, 1, heads, 1)
    yield f"{place}.dt_bias", (wide,)
    yield f"{place}.b_proj.weight", (heads, hidden)
    for name in "fg":
        yield f"{place}.{name}_a_proj.weight", (size, hidden)
        yield f"{place}.{name}_b_proj.weight", (wide, size)
    yield f"{place}.o_norm.weight", (size,)
    yield f"{place}.o_proj.weight", (hidden, wide)


def _of_nemotron(config: Fields, layer: int) -> Iterator[Shaped]:
    """Yield a layer of Nemotron-H without attention: a Mamba layer, or a feed-forward one."""
    kind, hidden = KINDS[_kinds(config)[layer]], config["hidden_size"]
    if kind == "mamba":
        yield from _mamba(config)
        return
    place = "mixer.shared_experts" if kind == "moe" else "mixer"
    yield f"{place}.up_proj.weight", (INTERMEDIATE, hidden)
    yield f"{place}.down_proj.weight", (hidden, INTERMEDIATE)
    if kind == "moe":
        yield "mixer.gate.weight", (EXPERTS, hidden)
        yield "mixer.gate.e_score_correction_bias", (EXPERTS,)
        for expert in range(EXPERTS):
            yield f"mixer.experts.{expert}.up_proj.weight", (INTERMEDIATE, hidden)
            yield f"mixer.experts.{expert}.down_proj.weight", (hidden, INTERMEDIATE)


def _mamba(config: Fields) -> Iterator[Shaped]:
    """Yield a Mamba layer."""
    heads, hidden = config["mamba_num_heads"], config["hidden_size"]
    wide = heads * config["mamba_head_dim"]
    mixed = wide + 2 * config["n_groups"] * config["ssm_state_size"]
    yield "mixer.in_proj.weight", (wide + mixed + heads, hidden)
    yield "mixer.conv1d.weight", (mixed, 1, config["conv_kernel"])
    yield "mixer.conv1d.bias", (mixed,)
    for name in ("A_log", "D", "dt_bias"):
        yield f"mixer.{name}", (heads,)
    yield "mixer.norm.weight", (wide,)
    yield "mixer.out_proj.weight", (hidden, wide)


KINDS: Mapping[str, str] = {
    "M": "mamba",
    "E": "moe",
    "-": "mlp",
    "mamba": "mamba",
    "linear_attention": "mamba",
    "moe": "moe",
    "mlp": "mlp",
}
"""Kinds of Nemotron-H's layers without attention, by their letter or their name."""


def _kinds(config: Fields) -> Sequence[str]:
    """Return the letter or the name of each of Nemotron-H's layers."""
    fields = ("hybrid_override_pattern", "layers_block_type", "layer_types")
    return next(config[name] for name in fields if config.get(name) is not None)


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
    "kimi_linear": Family(
        "KimiLinearForCausalLM",
        latent=True,
        silent=_delta,
        # The weights of queries are one matrix: engines have no other form.
        fields={
            **GATED,
            "q_lora_rank": None,
            "linear_attn_config": {"head_dim": 64, "num_heads": 2, "short_conv_kernel_size": 4},
            "num_experts": EXPERTS,
            "num_experts_per_token": 2,
            "num_shared_experts": 1,
            "moe_intermediate_size": INTERMEDIATE,
            "num_nextn_predict_layers": 0,
        },
    ),
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
        fields={
            "conv_bias": False,
            "conv_L_cache": 3,
            "block_auto_adjust_ff_dim": False,
            "block_multiple_of": 1,
            "block_ffn_dim_multiplier": 1.0,
        },
        also={
            "hidden_size": ("block_dim", "conv_dim", "conv_dim_out"),
            "intermediate_size": ("block_ff_dim",),
            "norm_eps": ("block_norm_eps",),
            "num_attention_heads": ("num_heads",),
        },
    ),
    "nemotron_h": Family(
        "NemotronHForCausalLM",
        feed_forward=lambda hidden: (),
        names=Names(
            embeddings="backbone.embeddings",
            layer="backbone.layers.{}",
            attention="mixer",
            norms=("norm",),
            last_norm="backbone.norm_f",
        ),
        eps="layer_norm_epsilon",
        silent=_of_nemotron,
        fields={
            "intermediate_size": INTERMEDIATE,
            "attention_bias": False,
            "mlp_bias": False,
            "use_bias": False,
            "use_conv_bias": True,
            "mlp_hidden_act": "relu2",
            "mamba_hidden_act": "silu",
            "mamba_num_heads": 4,
            "mamba_head_dim": 32,
            "n_groups": 2,
            "ssm_state_size": 32,
            "conv_kernel": 4,
            "chunk_size": 128,
            "n_routed_experts": EXPERTS,
            "n_shared_experts": 1,
            "num_experts_per_tok": 2,
            "n_group": 1,
            "topk_group": 1,
            "moe_intermediate_size": INTERMEDIATE,
            "moe_shared_expert_intermediate_size": INTERMEDIATE,
            "num_nextn_predict_layers": 0,
        },
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
