"""Architectures of probes: what a family of models calls its tensors, and how large a score is."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from posenc_conformance.deployed.instrument import (
    CHANNELS_A_TOKEN,
    HEADS,
    NORMALISED,
    Instrument,
    Rows,
    channels_needed,
    size_of,
)
from posenc_conformance.errors import UserError
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.models.configuration import Configuration, FieldDict, Fields, divided
from posenc_conformance.models.frequencies import channels, rotated
from posenc_conformance.models.meaning import Group, Meaning

INTERMEDIATE = 32
"""Channels of the feed-forward layers, whose weights are all zero."""
EXPERTS = 4
"""Feed-forward layers of which two are chosen, where a family has experts."""
WANTED_SCORE = 4.0
"""The largest score is at most this, and more than half of it."""

Tensor = tuple[str, Floats]
Shaped = tuple[str, tuple[int, ...]]
"""The name and the shape of a tensor of zeros."""


@dataclass(frozen=True)
class Layer:
    """The matrices of the attention of a layer."""

    number: int
    query: Floats
    key: Floats
    value: Floats
    out: Floats


def _apart(layer: Layer) -> Iterator[Tensor]:
    """Yield the projections of a layer, one by one."""
    yield "q_proj.weight", layer.query
    yield "k_proj.weight", layer.key
    yield "v_proj.weight", layer.value


def _fused(layer: Layer) -> Iterator[Tensor]:
    """Yield the projections of a layer as one."""
    yield "qkv_proj.weight", np.concatenate([layer.query, layer.key, layer.value])


def _gated(hidden: int) -> Iterator[Shaped]:
    """Yield a feed-forward layer with a gate."""
    yield "mlp.gate_proj.weight", (INTERMEDIATE, hidden)
    yield "mlp.up_proj.weight", (INTERMEDIATE, hidden)
    yield "mlp.down_proj.weight", (hidden, INTERMEDIATE)


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


def _experts_of_qwen(hidden: int) -> Iterator[Shaped]:
    """Yield experts, as Qwen names them."""
    yield "mlp.gate.weight", (EXPERTS, hidden)
    for expert in range(EXPERTS):
        for name, shape in _gated(hidden):
            yield name.replace("mlp", f"mlp.experts.{expert}"), shape


@dataclass(frozen=True)
class Family:
    """Models whose layers are made alike."""

    architecture: str
    """What transformers calls the class of the whole model."""
    attention: Callable[[Layer], Iterator[Tensor]] = _apart
    """How the projections of queries, keys and values are stored."""
    feed_forward: Callable[[int], Iterator[Shaped]] = _gated
    """What the feed-forward layers are made of, all of it zero."""
    biases: bool = False
    """Whether queries, keys and values have biases."""
    head_norms: bool = False
    """Whether each head of queries and keys has a norm before it is turned."""
    fields: Fields = field(default_factory=dict)
    """What the configuration must say besides."""


FAMILIES: Mapping[str, Family] = {
    "llama": Family("LlamaForCausalLM"),
    "mistral": Family("MistralForCausalLM"),
    "mixtral": Family(
        "MixtralForCausalLM",
        feed_forward=_experts_of_mixtral,
        fields={"num_local_experts": EXPERTS, "num_experts_per_tok": 2},
    ),
    "phi3": Family("Phi3ForCausalLM", attention=_fused, feed_forward=_gated_as_one),
    "qwen2": Family("Qwen2ForCausalLM", biases=True),
    "qwen3": Family("Qwen3ForCausalLM", head_norms=True),
    "qwen3_moe": Family(
        "Qwen3MoeForCausalLM",
        feed_forward=_experts_of_qwen,
        head_norms=True,
        fields={
            "num_experts": EXPERTS,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": INTERMEDIATE,
            "decoder_sparse_step": 1,
            "mlp_only_layers": [],
            "norm_topk_prob": True,
        },
    ),
    "smollm3": Family("SmolLM3ForCausalLM"),
}
"""The families that a probe can be made of, by ``model_type``."""


@dataclass(frozen=True)
class Probe:
    """A plan, and the configuration of the checkpoint that follows it."""

    plan: Instrument
    family: Family
    config: Fields

    @property
    def eps(self) -> float:
        """What the norms add to a mean square."""
        return float(self.config["rms_norm_eps"])

    @property
    def key_weight(self) -> float:
        """The weight that makes keys as large as wanted; a power of two."""
        bare = self._largest(1.0)
        return float(2.0 ** math.floor(math.log2(WANTED_SCORE / bare)))

    def largest_score(self, gain: int) -> float:
        """Compute the score of a query and a key that point the same way in one pair."""
        return self._largest(self.key_weight, gain)

    def _largest(self, weight: float, gain: int = 512) -> float:
        """Compute the same with another weight of keys."""
        query = self._normalised(size_of(gain))
        key = self._normalised(size_of(512))
        if self.family.head_norms:
            query = self._by_head(query, 1)
            key = self._by_head(key, len(self.plan.pairs))
        return query * key * weight / math.sqrt(self.plan.head_dim)

    def _normalised(self, size: float) -> float:
        """Compute what the norm makes of a token's channels."""
        return size / math.sqrt(size**2 / CHANNELS_A_TOKEN + self.eps)

    def _by_head(self, size: float, count: int) -> float:
        """Compute what the norm of a head makes of channels of one size."""
        return size / math.sqrt(count * size**2 / self.plan.head_dim + self.eps)

    def tensors(self) -> Iterator[Tensor]:
        """Yield the name and the values of each tensor."""
        plan, family = self.plan, self.family
        vocabulary, hidden = len(plan.words), plan.hidden
        yield "model.embed_tokens.weight", dense((vocabulary, hidden), plan.embeddings())
        query, key, out = self._query(), self._key(), self._out()
        for number in range(plan.layers):
            layer = Layer(number, query, key, self._value(number), out)
            before = f"model.layers.{number}"
            yield f"{before}.input_layernorm.weight", np.ones(hidden)
            yield f"{before}.post_attention_layernorm.weight", np.ones(hidden)
            for name, values in family.attention(layer):
                yield f"{before}.self_attn.{name}", values
                if family.biases:
                    yield f"{before}.self_attn.{name}".replace("weight", "bias"), values[:, 0] * 0
            if family.head_norms:
                size = plan.head_dim
                yield f"{before}.self_attn.q_norm.weight", np.ones(size)
                yield f"{before}.self_attn.k_norm.weight", np.full(size, self.key_weight)
            yield f"{before}.self_attn.o_proj.weight", out
            for name, shape in family.feed_forward(hidden):
                yield f"{before}.{name}", np.zeros(shape)
        yield "model.norm.weight", np.ones(hidden)
        yield "lm_head.weight", dense((vocabulary, hidden), plan.logits())

    def _query(self) -> Floats:
        """Make the matrix of queries: of each pair, the one channel in the first head."""
        plan = self.plan
        rows: Rows = {}
        for number, (first, second) in enumerate(plan.pairs):
            rows[first] = {number: 1.0}
            rows[plan.head_dim + second] = {number: 1.0}
        return dense((plan.heads * plan.head_dim, plan.hidden), rows)

    @property
    def _asked(self) -> set[int]:
        """The heads of keys that heads with queries see; others have none."""
        plan = self.plan
        return {head * plan.kv_heads // plan.heads for head in range(HEADS)}

    def _key(self) -> Floats:
        """Make the matrix of keys: the first channel of every pair."""
        plan = self.plan
        weight = 1.0 if self.family.head_norms else self.key_weight
        rows = {
            head * plan.head_dim + first: {plan.key: weight}
            for head in self._asked
            for first, _ in plan.pairs
        }
        return dense((plan.kv_heads * plan.head_dim, plan.hidden), rows)

    def _value(self, layer: int) -> Floats:
        """Make the matrix of values: of the layer's own key, and of the neutral one."""
        plan = self.plan
        rows = {
            head * plan.head_dim + neutral: {
                plan.value(layer, neutral=bool(neutral)): 1 / NORMALISED
            }
            for head in self._asked
            for neutral in (0, 1)
        }
        return dense((plan.kv_heads * plan.head_dim, plan.hidden), rows)

    def _out(self) -> Floats:
        """Make the matrix that adds what the two heads give to keys."""
        plan = self.plan
        rows: Rows = {
            plan.read + 2 * neutral + head: {head * plan.head_dim + neutral: 1.0}
            for head in range(HEADS)
            for neutral in (0, 1)
        }
        return dense((plan.hidden, plan.heads * plan.head_dim), rows)


def dense(shape: tuple[int, int], rows: Rows) -> Floats:
    """Make a matrix of the weights that are not zero."""
    found = np.zeros(shape)
    for row, weights in rows.items():
        for column, weight in weights.items():
            found[row, column] = weight
    return found


def probe_of(name: str, config: Configuration, raw: Fields, meaning: Meaning) -> Probe:
    """Make the probe of a model: its positions are the model's, all else is small.

    ``name`` is the word by which the probe says who it is, ``raw`` are the fields as released.

    Raises UserError for a family of which no probe can be made yet, and for layers that a probe
    cannot ask.
    """
    family = FAMILIES.get(config.type)
    if family is None:
        raise UserError(
            f"{config.where}: no probe can be made of a model of the type {config.type!r} yet",
            f"types that a probe can be made of are {', '.join(FAMILIES)}",
        )
    turned = [group for group in meaning.groups if group.turns]
    size = int(turned[0].parameters["head_dim"])
    pairs = _pairs(turned[0])
    layers = config.whole("num_hidden_layers")
    released = config.whole("num_attention_heads")
    grouped = (raw.get("num_key_value_heads") or released) < released
    heads, hidden = HEADS, channels_needed(len(pairs), layers)
    if config.get("head_dim") is None and size == divided(config):
        # An engine computes head_dim from these two.
        while heads * size < hidden or heads * size % CHANNELS_A_TOKEN:
            heads += HEADS
        hidden = heads * size
    plan = Instrument(name, layers, size, pairs, hidden, heads, heads // 2 if grouped else heads)
    changed = {
        **family.fields,
        "architectures": [family.architecture],
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "num_key_value_heads": plan.kv_heads,
        "num_hidden_layers": layers,
        "intermediate_size": INTERMEDIATE,
        "vocab_size": len(plan.words),
        "hidden_act": "silu",
        "rms_norm_eps": float(raw.get("rms_norm_eps", 1e-5)),
        "tie_word_embeddings": False,
        "attention_bias": False,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 0,
    }
    left_out = ("quantization_config", "auto_map", "torch_dtype", "dtype", "_name_or_path")
    kept = {name: value for name, value in raw.items() if name not in left_out}
    return Probe(plan, family, {**kept, **changed})


def with_dtype(probe: Probe, dtype: str) -> Probe:
    """Return the probe whose configuration names the dtype of its weights."""
    return replace(probe, config={**probe.config, "torch_dtype": dtype})


def respelled(config: Fields) -> FieldDict:
    """Return a configuration as transformers 5 saves it: base and scaling in rope_parameters."""
    found = dict(config)
    scaling = dict(found.pop("rope_scaling", None) or {})
    if "rope_theta" in found:
        scaling["rope_theta"] = found.pop("rope_theta")
    scaling["rope_type"] = scaling.pop("type", scaling.get("rope_type", "default"))
    found["rope_parameters"] = scaling
    if "torch_dtype" in found:
        found["dtype"] = found.pop("torch_dtype")
    return found


def _pairs(group: Group) -> tuple[tuple[int, int], ...]:
    firsts, seconds = channels(group, rotated(group))
    return tuple(zip(firsts, seconds, strict=True))
