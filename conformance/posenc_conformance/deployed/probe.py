"""The probe of a model: its configuration, and the weights that make an instrument of it."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc_conformance.deployed.families import FAMILIES, Family, Layer, Tensor
from posenc_conformance.deployed.instrument import (
    GAINS,
    HEADS,
    NORMALISED,
    Instrument,
    Rows,
    channels_needed,
    size_of,
)
from posenc_conformance.errors import UserError
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.models.architectures import ROTARY
from posenc_conformance.models.configuration import (
    NAMES,
    Configuration,
    FieldDict,
    Fields,
    divided,
)
from posenc_conformance.models.frequencies import channels, rotated
from posenc_conformance.models.meaning import Group, Meaning

WANTED_SCORE = 4.0
"""The largest score is at most this, and more than half of it."""
LEFT_OUT = ("quantization_config", "auto_map", "torch_dtype", "dtype", "_name_or_path")
"""Fields of a released configuration that a probe does not have."""


@dataclass(frozen=True)
class Probe:
    """A plan, and the configuration of the checkpoint that follows it."""

    plan: Instrument
    family: Family
    config: Fields

    @property
    def eps(self) -> float:
        """What the norms add to a mean square."""
        return float(self.config[self.family.eps])

    @property
    def key_weight(self) -> float:
        """The weight that makes keys as large as wanted; a power of two."""
        bare = self._largest(1.0)
        return float(2.0 ** math.floor(math.log2(WANTED_SCORE / bare)))

    def largest_score(self, gain: int) -> float:
        """Compute the score of a query and a key that point the same way in one pair."""
        return self._largest(self.key_weight, gain)

    def _largest(self, weight: float, gain: int = GAINS[1]) -> float:
        """Compute the same with another weight of keys."""
        query = self._normalised(size_of(gain))
        key = self._normalised(size_of(GAINS[1]))
        if self.family.head_norms:
            query = self._by_head(query, 1)
            key = self._by_head(key, len(self.plan.pairs))
        return query * key * weight * self.family.scale(self.config, self.plan.head_dim)

    def _normalised(self, size: float) -> float:
        """Compute what the norm makes of a token's channels."""
        share = self.plan.channels_of_token / self.plan.hidden
        return size / math.sqrt(size**2 * share + self.eps)

    def _by_head(self, size: float, count: int) -> float:
        """Compute what the norm of a head makes of channels of one size."""
        return size / math.sqrt(count * size**2 / self.plan.head_dim + self.eps)

    def tensors(self) -> Iterator[Tensor]:
        """Yield the name and the values of each tensor."""
        plan, family, names = self.plan, self.family, self.family.names
        vocabulary, hidden = len(plan.words), plan.hidden
        yield f"{names.embeddings}.weight", dense((vocabulary, hidden), plan.embeddings())
        query, key, out = self._query(), self._key(), self._out()
        for number in range(plan.layers):
            layer = Layer(query, key, self._value(number), plan.heads)
            before = names.layer.format(number)
            for norm in names.norms:
                yield from self._ones(f"{before}.{norm}")
            for name, values in family.attention(layer):
                place = f"{before}.{names.attention}.{name}"
                yield from _with_bias(place, values, "projections" in family.biased)
            if family.head_norms:
                place, size = f"{before}.{names.attention}", plan.head_dim
                yield f"{place}.q_norm.weight", np.ones(size)
                yield f"{place}.k_norm.weight", np.full(size, self.key_weight)
            if family.sinks:
                yield f"{before}.{names.attention}.sinks", np.zeros(plan.heads)
            place = f"{before}.{names.attention}.{names.out}"
            yield from _with_bias(place, out, "out" in family.biased)
            for name, shape in family.feed_forward(hidden):
                yield f"{before}.{name}", np.zeros(shape)
        yield from self._ones(names.last_norm)
        rows = dense((vocabulary, hidden), plan.logits())
        yield from _with_bias(names.logits, rows, "logits" in family.biased)

    def _ones(self, name: str) -> Iterator[Tensor]:
        """Yield a norm that changes nothing more."""
        yield f"{name}.weight", np.ones(self.plan.hidden)
        if "norms" in self.family.biased:
            yield f"{name}.bias", np.zeros(self.plan.hidden)

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
        """Make the matrix that adds what the two heads give to keys.

        For a norm that takes the mean away, it is taken away elsewhere.
        """
        plan = self.plan
        rows: Rows = {}
        for head in range(HEADS):
            for neutral in (0, 1):
                row, column = plan.read + 2 * neutral + head, head * plan.head_dim + neutral
                rows[row] = {column: 1.0}
                if plan.centred:
                    rows[plan.mirror + 2 * neutral + head] = {column: -1.0}
        return dense((plan.hidden, plan.heads * plan.head_dim), rows)


def _with_bias(name: str, values: Floats, biased: bool) -> Iterator[Tensor]:
    """Yield a matrix, and a bias of zeros if there is one."""
    yield f"{name}.weight", values
    if biased:
        yield f"{name}.bias", np.zeros(len(values))


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
    if raw.get("model_type") != config.type:
        raise UserError(
            f"{config.where}: no probe can be made of a model of several kinds of input yet",
            "give the configuration of its text alone, as a config.json of its own",
        )
    turned = [group for group in meaning.groups if group.turns]
    size = int(turned[0].parameters["head_dim"])
    pairs = _pairs(turned[0])
    layers = config.whole("num_hidden_layers")
    released = config.whole("num_attention_heads")
    grouped = (raw.get("num_key_value_heads") or released) < released
    heads = HEADS
    hidden, step = channels_needed(len(pairs), layers, family.centred)
    if config.get("head_dim") is None and size == divided(config):
        # An engine computes head_dim from these two.
        while heads * size < hidden or heads * size % step:
            heads += HEADS
        hidden = heads * size
    kv_heads = heads // 2 if grouped else heads
    plan = Instrument(name, layers, size, pairs, hidden, heads, kv_heads, family.centred)
    changed = {
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "num_hidden_layers": layers,
        "vocab_size": len(plan.words),
        "tie_word_embeddings": False,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 0,
        "architectures": [family.architecture],
        family.eps: float(raw.get(family.eps, 1e-5)),
        **family.fields,
    }
    if "num_key_value_heads" in raw or grouped:
        changed["num_key_value_heads"] = kv_heads
    kept = {name: value for name, value in raw.items() if name not in LEFT_OUT}
    for field, value in changed.items():
        kept[_spelt(field, raw)] = value
    return Probe(plan, family, kept)


def _spelt(name: str, raw: Fields) -> str:
    """Return the name that a released configuration has for a field."""
    return next((other for other in NAMES.get(name, ()) if other in raw), name)


def as_saved_by_transformers_5(config: Fields) -> FieldDict:
    """Return a configuration as transformers 5 saves it: all of rotation in rope_parameters.

    Read in what transformers 5.24.0 makes of the configurations of these families.
    """
    found = dict(config)
    if "torch_dtype" in found:
        found["dtype"] = found.pop("torch_dtype")
    style = ROTARY[found["model_type"]]
    if "rope_parameters" in found or "rotary_dim" in found:  # GPT-J keeps its own form
        return found
    block = dict(found.pop("rope_scaling", None) or {})
    block["rope_type"] = block.get("rope_type", block.get("type", "default"))
    block["rope_theta"] = _taken(found, ("rope_theta", "rotary_emb_base"), style.base)
    share = _taken(found, ("partial_rotary_factor", "rotary_pct"), style.partial)
    if share != 1:
        block["partial_rotary_factor"] = share
    original = found.get("original_max_position_embeddings")
    if original is not None and block["rope_type"] == "longrope":
        block["original_max_position_embeddings"] = original
    return {**found, "rope_parameters": block}


def _taken(fields: FieldDict, names: Sequence[str], default: Any) -> Any:
    """Take a field out under whatever name it has, and return it."""
    given = [fields.pop(name) for name in names if name in fields]
    return given[0] if given else default


def _pairs(group: Group) -> tuple[tuple[int, int], ...]:
    firsts, seconds = channels(group, rotated(group))
    return tuple(zip(firsts, seconds, strict=True))
