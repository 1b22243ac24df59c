"""Architectures of probes: what a family of models calls its tensors, and how large a score is."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

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
WANTED_SCORE = 4.0
"""The largest score is at most this, and more than half of it."""


@dataclass(frozen=True)
class Family:
    """Models whose layers are made alike."""

    architecture: str
    """What transformers calls the class of the whole model."""
    biases: bool = False
    """Whether queries, keys and values have biases."""
    head_norms: bool = False
    """Whether each head of queries and keys has a norm before it is turned."""


FAMILIES: Mapping[str, Family] = {
    "llama": Family("LlamaForCausalLM"),
    "mistral": Family("MistralForCausalLM"),
    "qwen2": Family("Qwen2ForCausalLM", biases=True),
    "qwen3": Family("Qwen3ForCausalLM", head_norms=True),
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

    def tensors(self) -> Iterator[tuple[str, Floats]]:
        """Yield the name and the values of each tensor."""
        plan, key_weight = self.plan, self.key_weight
        vocabulary, hidden, size = len(plan.words), plan.hidden, plan.head_dim
        yield "model.embed_tokens.weight", dense((vocabulary, hidden), plan.embeddings())
        query: Rows = {}
        for number, (first, second) in enumerate(plan.pairs):
            query[first] = {number: 1.0}
            query[size + second] = {number: 1.0}
        own = 1.0 if self.family.head_norms else key_weight
        firsts = [first for first, _ in plan.pairs]
        # Of other heads of keys a head that is asked must not see anything.
        asked = {head * plan.kv_heads // plan.heads for head in range(HEADS)}
        key = {head * size + first: {plan.key: own} for head in asked for first in firsts}
        out: Rows = {
            plan.read + 2 * neutral + head: {head * size + neutral: 1.0}
            for head in range(HEADS)
            for neutral in (0, 1)
        }
        for layer in range(plan.layers):
            before = f"model.layers.{layer}"
            value = {
                head * size + neutral: {plan.value(layer, neutral=bool(neutral)): 1 / NORMALISED}
                for head in asked
                for neutral in (0, 1)
            }
            wide, narrow = plan.heads * size, plan.kv_heads * size
            yield f"{before}.input_layernorm.weight", np.ones(hidden)
            yield f"{before}.post_attention_layernorm.weight", np.ones(hidden)
            for name, rows, height in (
                ("q", query, wide),
                ("k", key, narrow),
                ("v", value, narrow),
            ):
                yield f"{before}.self_attn.{name}_proj.weight", dense((height, hidden), rows)
                if self.family.biases:
                    yield f"{before}.self_attn.{name}_proj.bias", np.zeros(height)
            if self.family.head_norms:
                yield f"{before}.self_attn.q_norm.weight", np.ones(size)
                yield f"{before}.self_attn.k_norm.weight", np.full(size, key_weight)
            yield f"{before}.self_attn.o_proj.weight", dense((hidden, wide), out)
            yield f"{before}.mlp.gate_proj.weight", np.zeros((INTERMEDIATE, hidden))
            yield f"{before}.mlp.up_proj.weight", np.zeros((INTERMEDIATE, hidden))
            yield f"{before}.mlp.down_proj.weight", np.zeros((hidden, INTERMEDIATE))
        yield "model.norm.weight", np.ones(hidden)
        yield "lm_head.weight", dense((vocabulary, hidden), plan.logits())


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
    several = raw.get("num_key_value_heads", config.whole("num_attention_heads"))
    grouped = several < config.whole("num_attention_heads")
    heads, hidden = HEADS, channels_needed(len(pairs), layers)
    if config.get("head_dim") is None and size == divided(config):
        # An engine computes head_dim from these two.
        while heads * size < hidden or heads * size % CHANNELS_A_TOKEN:
            heads += HEADS
        hidden = heads * size
    plan = Instrument(name, layers, size, pairs, hidden, heads, heads // 2 if grouped else heads)
    changed = {
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
