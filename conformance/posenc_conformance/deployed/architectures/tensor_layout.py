"""The parts of model families: the layout and the names of their tensors."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

from posenc_conformance.judge.arrays import Floats
from posenc_conformance.models.configuration import Fields

INTERMEDIATE = 32
"""Channels of the feed-forward layers, whose weights are all zero."""
GATED: Fields = {"intermediate_size": INTERMEDIATE, "hidden_act": "silu", "attention_bias": False}
"""Fields of feed-forward layers with a gate, and of projections without biases."""
EXPERTS = 4
"""Number of experts, of which two are chosen, in families with experts."""
IDS = ("bos_token_id", "eos_token_id", "pad_token_id")
Tensor = tuple[str, Floats]
Shaped = tuple[str, tuple[int, ...]]
"""The name and the shape of a tensor of zeros."""


@dataclass(frozen=True)
class Layer:
    """The attention projections of a layer."""

    query: Floats
    key: Floats
    value: Floats
    kv_heads: int


def fused_as(name: str, *, transposed: bool = False) -> Callable[[Layer], Iterator[Tensor]]:
    """Return a function that yields the projections of a layer as one tensor with that name."""

    def made(layer: Layer) -> Iterator[Tensor]:
        fused = np.concatenate([layer.query, layer.key, layer.value])
        yield name, fused.T if transposed else fused

    return made


def apart_as(query: str, key: str, value: str) -> Callable[[Layer], Iterator[Tensor]]:
    """Return a function that yields the projections of a layer one by one, with these names."""

    def made(layer: Layer) -> Iterator[Tensor]:
        yield query, layer.query
        yield key, layer.key
        yield value, layer.value

    return made


APART = apart_as("q_proj", "k_proj", "v_proj")
"""Yields the projections of a layer under their most common names."""


def fused_by_head(layer: Layer, name: str = "query_key_value") -> Iterator[Tensor]:
    """Yield the projections of a layer as one tensor, grouped by key head."""
    parts = [
        part.reshape(layer.kv_heads, -1, part.shape[-1])
        for part in (layer.query, layer.key, layer.value)
    ]
    fused = np.concatenate(parts, axis=1)
    yield name, fused.reshape(-1, fused.shape[-1])


def gated_by_head(layer: Layer) -> Iterator[Tensor]:
    """Yield the projections of a layer whose output goes through a gate of each head.

    The gate's rows follow the query's in each head. They are zero, so the gate passes a half.
    """
    size = len(layer.key) // layer.kv_heads
    query = layer.query.reshape(-1, size, layer.query.shape[-1])
    yield (
        "q_proj",
        np.concatenate([query, np.zeros_like(query)], axis=1).reshape(-1, query.shape[-1]),
    )
    yield "k_proj", layer.key
    yield "v_proj", layer.value


def _gated(hidden: int) -> Iterator[Shaped]:
    """Yield a feed-forward layer with a gate."""
    yield "mlp.gate_proj.weight", (INTERMEDIATE, hidden)
    yield "mlp.up_proj.weight", (INTERMEDIATE, hidden)
    yield "mlp.down_proj.weight", (hidden, INTERMEDIATE)


def gated_elsewhere(hidden: int) -> Iterator[Shaped]:
    """Yield a feed-forward layer with a gate, under Llama 4's name for it."""
    for name, shape in _gated(hidden):
        yield name.replace("mlp", "feed_forward"), shape


def gated_as_one(hidden: int) -> Iterator[Shaped]:
    """Yield a feed-forward layer whose gate is part of a larger matrix."""
    yield "mlp.gate_up_proj.weight", (2 * INTERMEDIATE, hidden)
    yield "mlp.down_proj.weight", (hidden, INTERMEDIATE)


def gated_of_internlm(hidden: int) -> Iterator[Shaped]:
    """Yield a feed-forward layer with a gate, under InternLM2's names."""
    yield "feed_forward.w1.weight", (INTERMEDIATE, hidden)
    yield "feed_forward.w3.weight", (INTERMEDIATE, hidden)
    yield "feed_forward.w2.weight", (hidden, INTERMEDIATE)


def experts_of_mixtral(hidden: int) -> Iterator[Shaped]:
    """Yield experts, with Mixtral's names."""
    yield "block_sparse_moe.gate.weight", (EXPERTS, hidden)
    for expert in range(EXPERTS):
        before = f"block_sparse_moe.experts.{expert}"
        yield f"{before}.w1.weight", (INTERMEDIATE, hidden)
        yield f"{before}.w2.weight", (hidden, INTERMEDIATE)
        yield f"{before}.w3.weight", (INTERMEDIATE, hidden)


def experts_of_gpt_oss(hidden: int) -> Iterator[Shaped]:
    """Yield experts as one tensor, with biases and gpt-oss's names."""
    yield "mlp.router.weight", (EXPERTS, hidden)
    yield "mlp.router.bias", (EXPERTS,)
    yield "mlp.experts.gate_up_proj", (EXPERTS, hidden, 2 * INTERMEDIATE)
    yield "mlp.experts.gate_up_proj_bias", (EXPERTS, 2 * INTERMEDIATE)
    yield "mlp.experts.down_proj", (EXPERTS, INTERMEDIATE, hidden)
    yield "mlp.experts.down_proj_bias", (EXPERTS, hidden)


def experts_of_qwen(hidden: int) -> Iterator[Shaped]:
    """Yield experts, with Qwen's names."""
    yield "mlp.gate.weight", (EXPERTS, hidden)
    for expert in range(EXPERTS):
        for name, shape in _gated(hidden):
            yield name.replace("mlp", f"mlp.experts.{expert}"), shape


def experts_beside_one(hidden: int) -> Iterator[Shaped]:
    """Yield experts and a shared one, which sees every token, with Qwen 1.5's names."""
    yield from experts_of_qwen(hidden)
    yield "mlp.shared_expert_gate.weight", (1, hidden)
    for name, shape in _gated(hidden):
        yield name.replace("mlp", "mlp.shared_expert"), shape


def experts_of_minimax(hidden: int) -> Iterator[Shaped]:
    """Yield experts with Mixtral's names, and the bias of their selection."""
    yield from experts_of_mixtral(hidden)
    yield "block_sparse_moe.e_score_correction_bias", (EXPERTS,)


def plain(
    widen: str, narrow: str, *, biased: bool = True, within: str = "mlp."
) -> Callable[[int], Iterator[Shaped]]:
    """Return a function that yields a feed-forward layer without a gate, usually with biases."""

    def made(hidden: int) -> Iterator[Shaped]:
        yield f"{within}{widen}.weight", (INTERMEDIATE, hidden)
        yield f"{within}{narrow}.weight", (hidden, INTERMEDIATE)
        if biased:
            yield f"{within}{widen}.bias", (INTERMEDIATE,)
            yield f"{within}{narrow}.bias", (hidden,)

    return made


def wide(
    widen: str, narrow: str, *, biased: bool = False, within: str = "mlp."
) -> Callable[[int], Iterator[Shaped]]:
    """Return a function that yields a feed-forward layer without a gate, always 4 times as wide."""

    def made(hidden: int) -> Iterator[Shaped]:
        yield f"{within}{widen}.weight", (4 * hidden, hidden)
        yield f"{within}{narrow}.weight", (hidden, 4 * hidden)
        if biased:
            yield f"{within}{widen}.bias", (4 * hidden,)
            yield f"{within}{narrow}.bias", (hidden,)

    return made


def turned_about(hidden: int) -> Iterator[Shaped]:
    """Yield the feed-forward layer of GPT-2, whose matrices are transposed."""
    yield "mlp.c_fc.weight", (hidden, INTERMEDIATE)
    yield "mlp.c_fc.bias", (INTERMEDIATE,)
    yield "mlp.c_proj.weight", (INTERMEDIATE, hidden)
    yield "mlp.c_proj.bias", (hidden,)


def of_opt(hidden: int) -> Iterator[Shaped]:
    """Yield the feed-forward layer of OPT, whose tensors have no common prefix."""
    yield "fc1.weight", (INTERMEDIATE, hidden)
    yield "fc1.bias", (INTERMEDIATE,)
    yield "fc2.weight", (hidden, INTERMEDIATE)
    yield "fc2.bias", (hidden,)


def _by_root(config: Fields, head_dim: int) -> float:
    """Return the factor of scores in most families."""
    return 1 / math.sqrt(head_dim)


def as_they_are(config: Fields, head_dim: int) -> float:
    """Return the factor of scores in T5, and in Gemma 4."""
    return 1.0


def by_multiplier(config: Fields, head_dim: int) -> float:
    """Return the factor of scores in Granite."""
    return float(config["attention_multiplier"])


def by_scalar(config: Fields, head_dim: int) -> float:
    """Return the factor of scores in Gemma from its second version on."""
    return 1 / math.sqrt(config["query_pre_attn_scalar"])


@dataclass(frozen=True)
class Names:
    """The names of tensors."""

    embeddings: str = "model.embed_tokens"
    layer: str = "model.layers.{}"
    attention: str = "self_attn"
    out: str = "o_proj"
    norms: tuple[str, ...] = ("input_layernorm", "post_attention_layernorm")
    """Norms of a layer that do nothing but normalise."""
    norm_behind: str = ""
    """The norm of the output of attention, if there is one."""
    norm_behind_feed_forward: str = ""
    """The norm of the output of the feed-forward layer, if embeddings are tied and there is one."""
    last_norm: str = "model.norm"
    """The last norm; empty if norms have no weights."""
    logits: str = "lm_head"
    norm_of_embeddings: str = ""
    """The norm of the embeddings, before the first layer, if there is one."""
    positions: str = ""
    """The position table, if there is one."""
    types: str = ""
    """The table that tells the first text of two from the second, if there is one."""
    head: tuple[str, str, str] = ("", "", "")
    """In an encoder, the matrix and the norm after the last layer, and the bias of logits."""
    ones: tuple[str, ...] = ()
    """Single numbers of a layer that multiply what it gives, all of them 1."""
    not_in_first: str = ""
    """The norm that is missing in the first layer."""
    norms_of_heads: tuple[str, str] = ("q_norm", "k_norm")
    """The norms of queries and of keys, if there are any."""
    gate: tuple[str, str, str] = ("mlp.gate_proj", "mlp.up_proj", "mlp.down_proj")
    """The matrices of a feed-forward layer with a gate, if embeddings are tied."""


@dataclass(frozen=True)
class Around:
    """What surrounds the text part of a model that reads images too."""

    type: str
    """The ``model_type`` of the whole."""
    vision: Fields
    """The configuration of the part for images, as small as possible."""
    tensors: Callable[[int], Iterable[Shaped]]
    """The tensors of that part, all of them zero, for the hidden size of the text part."""
    fields: Fields = field(default_factory=dict)
    """Other fields of the whole configuration."""

    def whole(self, text: Fields) -> dict[str, Any]:
        """Return the configuration of the whole for that of its text part."""
        shared = {name: text[name] for name in SHARED if name in text}
        vision = {**self.vision, "out_hidden_size": text["hidden_size"]}
        own = {name: value for name, value in text.items() if name != "architectures"}
        return {
            "model_type": self.type,
            **shared,
            **self.fields,
            "text_config": own,
            "vision_config": vision,
        }


SHARED = ("architectures", "tie_word_embeddings", "torch_dtype", "dtype", *IDS)
"""Fields that a whole configuration repeats, or has instead of its text part."""


class Normed(Enum):
    """The part of queries, or of keys, that goes through one norm before rotation."""

    NEVER = "nothing"
    BY_HEAD = "each head"
    WHOLE = "all heads"


@dataclass(frozen=True)
class Family:
    """Models with layers of the same structure."""

    architecture: str
    """The class of the whole model in transformers."""
    attention: Callable[[Layer], Iterator[Tensor]] = APART
    """The way in which the projections of queries, keys and values are stored."""
    feed_forward: Callable[[int], Iterable[Shaped]] = _gated
    """The tensors of the feed-forward layers, all of them zero."""
    names: Names = Names()
    one_key: bool = False
    """Whether all heads share one key head, and the configuration does not count key heads."""
    latent: bool = False
    """Whether attention is latent, as DeepSeek's; ``attention`` is not used then."""
    sinks: bool = False
    """Whether each head has an attention sink."""
    biased: frozenset[str] = frozenset()
    """The parts with biases: projections, out, norms, logits, the head of an encoder."""
    normed: Normed = Normed.NEVER
    """The part of queries and keys that goes through one norm before rotation."""
    values_normed: bool = False
    """Whether the values of each head go through a norm without weights."""
    bare: bool = False
    """Whether attention reads the hidden state itself, without a norm."""
    encoder: bool = False
    """Whether queries see later keys, and logits of all positions are returned at the same time."""
    spelt: Mapping[str, str] = field(default_factory=dict)
    """Names of fields that only configurations of this family have."""
    also: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Other fields with the value of a field, by its name: what engines read differs."""
    transposed: bool = False
    """Whether projections are stored as [in, out]."""
    centred: bool = False
    """Whether norms subtract the mean, as LayerNorm does."""
    scaled_bias: bool = False
    """Whether a bias is added before scores are scaled, and is scaled too; it is then rounded to
    bfloat16, as Falcon's is."""
    scale: Callable[[Fields, int], float] = _by_root
    """The factor of scores, from the configuration and head_dim."""
    rows_of_images: int = 0
    """Rows of the embeddings besides those of words: tokens that stand for images."""
    tied: bool = False
    """Whether every model of the family ties the last matrix to the embeddings."""
    stretched: bool = False
    """Whether embeddings are multiplied by the root of the hidden size."""
    offset: float = 0.0
    """The number that norms add to their weights."""
    capped: bool = False
    """Whether scores and logits have soft caps."""
    eps: str = "rms_norm_eps"
    """The field with the eps of norms; empty if there is none, and eps is 1e-5."""
    fields: Fields = field(default_factory=dict)
    """Other fields that the configuration must have; a mapping adds to a block of fields."""
    defaults: Fields = field(default_factory=dict)
    """Values of fields that the released configuration may omit."""
    silent: Callable[[Fields, int], Iterable[Shaped]] | None = None
    """The tensors, all of them zero, of what stands in place of attention in layers that no text
    asks: linear attention, convolutions, attention to images. From the probe's configuration and
    the number of the layer."""
    passed: float = 1.0
    """The part of attention's output that its gate passes: a half if the gate's weights are 0."""
    around: Around | None = None
    """The rest of a multimodal model that only exists with both parts."""
