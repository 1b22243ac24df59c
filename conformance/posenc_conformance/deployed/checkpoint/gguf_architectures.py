"""The families that llama.cpp knows: their names in a GGUF file, and the layout of tensors there.

The names are those of gguf-py/gguf/constants.py of ggml-org/llama.cpp, and what its models compute
is in src/models.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from posenc_conformance.deployed.architectures.tensor_layout import EXPERTS, INTERMEDIATE
from posenc_conformance.deployed.probe_checkpoint import Probe
from posenc_conformance.errors import UserError
from posenc_conformance.models.meaning import Group, Meaning

AS_FOLDER = "leave out --gguf and convert the folder"
PARTS: Mapping[str, str] = {
    "q_proj": "attn_q",
    "k_proj": "attn_k",
    "v_proj": "attn_v",
    "o_proj": "attn_output",
    "qkv_proj": "attn_qkv",
    "query_key_value": "attn_qkv",
    "dense": "attn_output",
    "q_norm": "attn_q_norm",
    "k_norm": "attn_k_norm",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "gate_proj": "ffn_gate",
    "up_proj": "ffn_up",
    "gate_up_proj": "ffn_up",
    "dense_h_to_4h": "ffn_up",
    "down_proj": "ffn_down",
    "dense_4h_to_h": "ffn_down",
    "c_fc": "ffn_up",
    "c_proj": "ffn_down",
    "fc1": "ffn_up",
    "fc2": "ffn_down",
    "gate": "ffn_gate_inp",
}
"""Names of a layer's tensors, by the last part of their names elsewhere."""
NORMS_BEHIND: Mapping[str, str] = {
    "post_attention_layernorm": "post_attention_norm",
    "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}
"""The same for norms in families with norms behind attention and feed-forward layers."""
OF_EXPERT: Mapping[str, str] = {
    "gate_proj": "ffn_gate_exps",
    "up_proj": "ffn_up_exps",
    "down_proj": "ffn_down_exps",
    "w1": "ffn_gate_exps",
    "w3": "ffn_up_exps",
    "w2": "ffn_down_exps",
}
"""Names of an expert's tensors; those of all experts are one tensor."""
OF_EXPERTS: Mapping[str, int] = {"expert_count": EXPERTS, "expert_used_count": 2}


@dataclass(frozen=True)
class Architecture:
    """The name of a family in a GGUF file, and the layout of its tensors there."""

    name: str
    turned_pairwise: bool = False
    """Whether neighbouring channels are a pair: queries and keys are permuted for it."""
    centred: bool = False
    """Whether norms subtract the mean; their eps then has another key."""
    parallel: bool = False
    """Whether engines read from the file whether attention and feed-forward layers are parallel."""
    window: bool = False
    """Whether engines read the size of a window from the file."""
    pattern: int = 0
    """Number of layers from one without a window to the next one; 0 if all are alike."""
    parts: Mapping[str, str] = field(default_factory=dict)
    """Names of tensors that differ from PARTS."""
    numbers: Mapping[str, str] = field(default_factory=dict)
    """Keys with numbers of the configuration, each with its field there."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Keys with whole numbers that all probes of the family have."""
    sized_by_layers: tuple[int, ...] = ()
    """Numbers of layers for which engines compute the scale of scores from the hidden size."""

    def named(self, part: str) -> str:
        """Return the name of a layer's tensor, from the last part of its name elsewhere."""
        return {**PARTS, **self.parts}[part]


GEMMA_2 = Architecture(
    "gemma2",
    window=True,
    pattern=2,
    parts=NORMS_BEHIND,
    numbers={
        "attn_logit_softcapping": "attn_logit_softcapping",
        "final_logit_softcapping": "final_logit_softcapping",
    },
    sized_by_layers=(46,),
)
GEMMA_3 = Architecture("gemma3", window=True, pattern=6, parts=NORMS_BEHIND, sized_by_layers=(62,))
ARCHITECTURES: Mapping[str, Architecture] = {
    "cohere": Architecture("command-r", centred=True, numbers={"logit_scale": "logit_scale"}),
    "gemma": Architecture("gemma"),
    "gemma2": GEMMA_2,
    "gemma3_text": GEMMA_3,
    "gpt_neox": Architecture("gptneox", centred=True, parallel=True),
    "llama": Architecture("llama", turned_pairwise=True),
    "mistral": Architecture("llama", turned_pairwise=True),
    "mixtral": Architecture("llama", turned_pairwise=True, counts=OF_EXPERTS),
    "olmo": Architecture("olmo", turned_pairwise=True, centred=True),
    "olmo2": Architecture("olmo2", parts=NORMS_BEHIND),
    "phi": Architecture("phi2", centred=True),
    "phi3": Architecture("phi3", window=True),
    "qwen2": Architecture("qwen2"),
    "qwen3": Architecture("qwen3"),
    "qwen3_moe": Architecture(
        "qwen3moe", counts={**OF_EXPERTS, "expert_feed_forward_length": INTERMEDIATE}
    ),
    "stablelm": Architecture("stablelm", centred=True, parallel=True),
    "starcoder2": Architecture("starcoder2", centred=True),
}
"""Families whose tensors are written, by model_type."""
REASONS: Mapping[tuple[str, ...], str] = {
    ("bert", "distilbert", "modernbert", "nomic_bert", "roberta", "xlm-roberta"): (
        "llama.cpp gives vectors of an encoder, and no logits"
    ),
    ("deepseek_v2", "deepseek_v3", "kimi_k2", "kimi_linear"): (
        "llama.cpp has other matrices for latent attention, which its converter computes"
    ),
    ("gptj",): "llama.cpp has names for its tensors, and no code that computes it",
    ("t5",): "a probe of it has two texts, and llama.cpp's server takes one",
}
"""Why probes of some types are not written, where more is missing than the kit's own code."""


def architecture_of(probe: Probe) -> Architecture:
    """Return the architecture of a probe's family.

    Raises UserError for a family that is not written.
    """
    type = str(probe.config["model_type"])
    if found := ARCHITECTURES.get(type):
        return found
    reason = next((why for types, why in REASONS.items() if type in types), "")
    raise UserError(
        f"a probe of the type {type!r} cannot be written as GGUF "
        f"{f'because {reason}' if reason else 'yet'}",
        f"{AS_FOLDER}; written are {', '.join(ARCHITECTURES)}",
    )


def main_group(probe: Probe, found: Architecture, meaning: Meaning) -> Group:
    """Return the group of layers whose rotation a file describes: that without a window.

    Raises UserError for other groups than engines read from a file.
    """
    if probe.plan.layers in found.sized_by_layers:
        raise UserError(
            f"a probe of {probe.plan.layers} layers of this type cannot be written as GGUF: "
            "llama.cpp then scales scores by the model's hidden size, which a probe does not have",
            "leave out --gguf for another engine, or take a smaller model of the same type",
        )
    (group, *others) = meaning.groups
    if not others:
        return group
    layers = range(probe.plan.layers)
    whole = tuple(layer for layer in layers if found.pattern and (layer + 1) % found.pattern == 0)
    groups = {each.window is None: each for each in meaning.groups}
    if len(meaning.groups) == len(groups) == 2 and groups[True].layers == whole:
        return groups[True]
    raise UserError(
        "a probe whose layers are turned in several ways cannot be written as GGUF yet", AS_FOLDER
    )
