"""The probe of a model: its configuration, and the numbers that make it an instrument."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from posenc_conformance.deployed.architectures.decoders import FAMILIES, family_of
from posenc_conformance.deployed.architectures.latent import Latent, fields_of, latent_of
from posenc_conformance.deployed.architectures.tensor_layout import Family, Normed
from posenc_conformance.deployed.instrument import (
    CHANNELS_A_TOKEN,
    DIGIT_WEIGHT,
    FOLLOWING,
    HEADS,
    LARGEST_READ,
    READ_WEIGHT,
    Biased,
    Bucketed,
    Instrument,
    Tabled,
    power_below,
    value_of,
)
from posenc_conformance.deployed.probe_plans import heads_of_model, is_grouped, no_heads, planned
from posenc_conformance.errors import UserError
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.models.configuration import Configuration, Fields
from posenc_conformance.models.meaning import Meaning
from posenc_conformance.models.parts import TEXT
from posenc_conformance.models.types.names import NAMES

WANTED_SCORE = 4.0
"""Upper bound of the largest score; the score is more than half of it."""
BELOW_A_CAP = 2 / 3
"""Largest logit that is read, as a part of its cap: closer to the cap, differences nearly
vanish."""
FOLLOWED = 8.0
"""Upper bound of the ratio of two channels where the feed-forward layer adds the next token: the
next token's channel to that of the current token. The ratio is more than half of it."""
GATE = 2.0
"""Weight of a gate: a token's channel becomes so large that the activation passes all of it."""
LARGE_VALUE = 1024.0
"""Size of values where a norm follows attention: so large that the share of one key among a million
still exceeds the norm's eps."""
SECOND = 0.5
"""Weight of the second channels of pairs in norms of queries; of the first ones in every second
head, if one norm covers all heads."""
LARGER = 2.0
"""Size of queries in the second head, before a norm of each head."""
SINKS = (4.0, 5.0)
"""Weights of sinks, in even and in odd heads: like some 50 keys, and some 150."""
LOOK_AT_ITSELF = 1024.0
"""Upper bound of the score of a query with itself in heads that it does not measure, or with its
counterpart in the encoder. The score is more than half of it, far above all biases."""
EMBEDDED = 2.0
"""The weight of a norm of embeddings: channels keep about their size."""
NORMED_IN_ENCODERS = 512.0
"""The weight of norms of an encoder's hidden state itself: the state becomes so large that the eps
of the next norm does not matter."""
WANTED_IN_ENCODERS = 3.0
"""WANTED_SCORE for encoders: it keeps readings close enough together to pass an activation."""
VALUE_IN_ENCODERS = 2.0**15
"""Weight of values in encoders."""
ACTIVATING = 2.0**12
"""Weight of readings before the activation after an encoder's last layer."""
LARGEST_ACTIVATED = 2.0**15
"""The largest input of that activation, which float16 represents. The smallest one is more than 5,
which GELU passes unchanged."""
UNREADABLE: Mapping[tuple[str, ...], str] = {
    ("deberta", "deberta-v2"): (
        "its scores are of content and of positions, which are vectors of their own, and a probe "
        "asks angles, biases and rows"
    ),
    ("whisper",): "its encoder hears sounds, and a probe is a text",
    ("deit", "dinov2", "siglip_vision_model", "vit"): "it reads images, and a probe is a text",
    ("clip_text_model",): "it gives vectors, and what is read are log-probabilities",
}
"""Types whose positions cannot be read from completions, each with the reason."""
OF_IMAGES = "vision"
"""What a configuration says of attention in both directions if only tokens of images have it."""
LEFT_OUT = ("quantization_config", "auto_map", "torch_dtype", "dtype", "_name_or_path")
"""Fields of a released configuration that a probe omits."""


@dataclass(frozen=True)
class Probe:
    """A plan, and the configuration of the checkpoint that follows it."""

    plan: Instrument
    family: Family
    config: Fields
    cache: str = ""
    """The claimed format of cached keys, if it has fewer bits than the dtype; else empty."""

    @property
    def eps(self) -> float:
        """The term that norms add to a mean square."""
        return float(self.config[self.family.eps]) if self.family.eps else 1e-5

    def at(self, layer: int) -> "Probe":
        """Return the probe with the heads of a layer, where not all have the same size."""
        plan = self.plan.at(layer)
        return self if plan is self.plan else replace(self, plan=plan)

    def whole(self, text: Fields) -> Fields:
        """Return the configuration of the checkpoint for that of its text part."""
        around = self.family.around
        return text if around is None else around.whole(text)

    @property
    def turns(self) -> bool:
        """Whether the probe measures layers that rotate queries and keys."""
        return not isinstance(self.plan, Biased | Bucketed | Tabled)

    @cached_property
    def query_sizes(self) -> Floats:
        """Sizes of queries in the two heads that measure, before rotation.

        A norm whose weights differ within a pair commutes with no rotation. Where one norm covers
        all heads, weights differ between heads, and those that are read are alike.
        """
        if self.family.normed is not Normed.BY_HEAD:
            return np.array([1.0, 1.0])
        read, share = self._read(), 1 / self.plan.head_dim
        larger = self._normed(self.larger_in_second * read, share) / self._normed(read, share)
        return np.array([1.0, SECOND * larger])

    @property
    def larger_in_second(self) -> float:
        """The weight of queries in the second head; a norm of each head makes both alike."""
        return LARGER if self.family.normed is Normed.BY_HEAD else 1.0

    def weights_of_query_norm(self) -> Floats:
        """Return the weights of the norm of queries: of one head, or of all."""
        heads = self.plan.heads if self.family.normed is Normed.WHOLE else 1
        weights = np.ones((heads, self.plan.head_dim))
        for first, second in self.plan.pairs:
            weights[::2, second] = SECOND
            weights[1::2, first] = SECOND
        return weights.ravel()

    def score_of_content(self, gain: int) -> float:
        """Compute the score of a query with the key for a gain, without the bias."""
        return self._largest(self.key_weight, gain)

    @property
    def weight_of_lookup(self) -> float:
        """The weight of values where a decoder looks up the encoder's readings; a power of two."""
        return power_below(self.size / self._read())

    @property
    def looked_up(self) -> float:
        """The factor of the encoder's readings after a decoder's lookup."""
        return self.weight_of_lookup * self._read() / self.size

    @property
    def weight_of_looking(self) -> float:
        """The weight of keys with which a query attends to itself; a power of two."""
        plain = self._read() ** 2 * self.family.scale(self.config, self.plan.head_dim)
        return power_below(LOOK_AT_ITSELF / plain)

    @property
    def key_weight(self) -> float:
        """The weight that gives keys the wanted size; a power of two."""
        target = WANTED_IN_ENCODERS if self.plan.encoder else WANTED_SCORE
        return power_below(target / self._largest(1.0, self.plan.gains[0]))

    def largest_score(self, gain: int) -> float:
        """Compute the score of a query and a key that point the same way in one pair.

        Returns 1 for biases and rows, whose readings are not scaled.
        """
        if not self.turns:
            return 1.0
        return self._largest(self.key_weight, gain)

    def _largest(self, weight: float, gain: int) -> float:
        """Compute ``largest_score`` for a given weight of keys."""
        query, key = self._read(), self._read(value_of(gain))
        count, size = len({*self.plan.pairs}), self.plan.head_dim
        if self.family.normed is Normed.BY_HEAD:
            query = self._normed(query, 1 / size)
            key = self._normed(key, count / size)
        if self.family.normed is Normed.WHOLE:
            query = self._normed(query, HEADS / (size * self.plan.heads))
            key = self._normed(key, count * len(self.asked(0)) / (size * self.plan.kv_heads))
        if self.latent is not None:
            query, size = self.latent.query(query, self.eps), self.latent.head_dim
        return query * key * weight * self.family.scale(self.config, size)

    def asked(self, layer: int) -> set[int]:
        """Return the key heads of a layer's query heads that measure; all others have no keys."""
        heads = self.plan.heads_of(layer)
        return {head * self.plan.kv_heads // self.plan.heads for head in heads}

    @cached_property
    def latent(self) -> Latent | None:
        """The sizes of latent attention, if the family has it."""
        return latent_of(self.config) if self.family.latent else None

    @property
    def size(self) -> float:
        """Size of a token's channels in the hidden state."""
        if self.family.names.norm_of_embeddings:
            share = self.plan.channels_of_token / self.plan.hidden
            return EMBEDDED * self._normed(self.plan.size, share)
        return self.plan.size * (math.sqrt(self.plan.hidden) if self.family.stretched else 1.0)

    def _read(self, value: float = 0.0) -> float:
        """Compute the size of a token's channels as the projections read them.

        ``value`` is the size of its value channel, as a part of the others'.
        """
        if self.family.bare and not self.plan.encoder:
            return self.size
        count = self.plan.channels_of_token + (1 + self.plan.centred) * value**2
        size = self.plan.size if self.plan.encoder else self.size
        return self._normed(size, count / self.plan.hidden)

    def read_of(self, gain: int | None = None) -> float:
        """Compute the size of a channel as the projections read it; with a gain, that of a key."""
        return self._read(0.0 if gain is None else value_of(gain))

    def weight_of_reading(self, layer: int) -> float:
        """Return the factor that makes the projections of all layers read alike.

        In an encoder some layers read the hidden state, and others a norm of it.
        """
        bare = self.family.bare or (layer == 0 and bool(self.family.names.not_in_first))
        return 1 / NORMED_IN_ENCODERS if self.plan.encoder and bare else 1.0

    def norms_behind(self, layer: int) -> int:
        """Count the norms of the hidden state after a layer's attention, except the last one."""
        return 2 * (self.plan.layers - layer) if self.plan.encoder and self.family.bare else 0

    @property
    def weight_of_unit(self) -> float:
        """The weight, in an encoder's head, of the channel that is the unit of rows' digits."""
        return FOLLOWING / DIGIT_WEIGHT

    def activated(self, gain: int, shares: Floats) -> Floats:
        """Compute the input of the activation in an encoder's head."""
        return shares * ACTIVATING * VALUE_IN_ENCODERS * self._value_read(gain)

    def _normed(self, size: float, share: float) -> float:
        """Compute the size after a norm, for channels of one size that are a ``share`` of all."""
        return size / math.sqrt(share * size**2 + self.eps)

    @property
    def normed_behind(self) -> bool:
        """Whether the output of attention goes through a norm."""
        return bool(self.family.names.norm_behind)

    @property
    def weight_behind(self) -> float:
        """The weight of the norm after attention: a power of two that makes no logit too large."""
        return power_below(self.largest_read / (self._reading * math.sqrt(self.plan.hidden)))

    @property
    def score_cap(self) -> float | None:
        """The soft cap of scores, if there is one."""
        return self._cap("attn_logit_softcapping")

    @property
    def logit_cap(self) -> float | None:
        """The soft cap of logits, if there is one."""
        return self._cap("final_logit_softcapping")

    def _cap(self, name: str) -> float | None:
        value = self.config.get(name) if self.family.capped else None
        return None if value is None else float(value)

    @property
    def largest_read(self) -> float:
        """The largest logit that is read, before any cap."""
        cap = self.logit_cap
        if not self.turns:  # the next token has another logit
            share = self.plan.channels_of_token / self.plan.hidden
            return LARGEST_READ * min(1.0, 1 / math.sqrt(CHANNELS_A_TOKEN * share))
        return LARGEST_READ if cap is None else min(LARGEST_READ, BELOW_A_CAP * cap)

    @property
    def _reading(self) -> float:
        """The ratio of a logit to the addition to a query's hidden state that causes it."""
        share, larger = self.plan.channels_of_token / self.plan.hidden, 1.0
        if self.plan.tied:
            larger = math.hypot(1.0, self.following_weight * self._gated / self.size)
        return READ_WEIGHT * self._normed(self.size * larger, share) / (self.size * larger)

    @property
    def following_weight(self) -> float:
        """The weight that gives the next token's channel its size; a power of two.

        It belongs to the norm after the feed-forward layer, or to the last matrix in that layer.
        """
        return power_below(FOLLOWED * self.size / self._gated)

    @property
    def _gated(self) -> float:
        """The output of the feed-forward layer for a query, without ``following_weight``."""
        made = GATE * self._read() ** 2
        if not self.family.names.norm_behind_feed_forward:
            return made
        return self._normed(made, self.plan.channels_of_token / self.plan.hidden)

    def logits(self, gain: int, shares: Floats) -> Floats:
        """Compute the logits that result from the shares of keys, [queries, heads, keys]."""
        if self.plan.encoder:
            large = self.activated(gain, shares)
            square = (large**2).sum(axis=(-2, -1), keepdims=True) / self.plan.hidden
            mean = large.sum(axis=(-2, -1), keepdims=True) / self.plan.hidden
            return np.asarray(self.plan.read_in_encoders * large / np.sqrt(square - mean**2))
        added = shares * self._value_made(gain) * self.out_weight
        if self.normed_behind:
            square = (added**2).sum(axis=(1, 2), keepdims=True) / self.plan.hidden
            added = self.weight_behind * added / np.sqrt(square + self.eps)
        return np.asarray(self._reading * added)

    @property
    def value_weight(self) -> float:
        """The weight of values; a power of two."""
        if self.plan.encoder:
            return VALUE_IN_ENCODERS
        target = LARGE_VALUE if self.normed_behind else self.plan.gains[-1] / self._reading
        return power_below(target / self._value_read(self.plan.gains[-1]))

    @property
    def out_weight(self) -> float:
        """The weight of attention's output; a power of two.

        Where values are normed, it makes them as large as where they are not.
        """
        made = self._value_made(self.plan.gains[-1])
        return power_below(LARGE_VALUE / made) if self.family.values_normed else 1.0

    def _value_made(self, gain: int) -> float:
        """Compute the size of a value as attention adds it."""
        made = self.value_weight * self._value_read(gain)
        return self._normed(made, 1 / self.plan.head_dim) if self.family.values_normed else made

    def _value_read(self, gain: int) -> float:
        """Compute the size of a value's channel as the weight of values reads it."""
        part = value_of(gain)
        read = self._read(part)
        if self.latent is not None:
            return self.latent.value_of(part, read, self.eps)
        return self.family.passed * part * read


def probe_of(
    name: str,
    config: Configuration,
    raw: Fields,
    meaning: Meaning,
    *,
    all_heads: bool = False,
) -> Probe:
    """Make the probe for a model: it treats positions as the model does, and is small.

    ``name`` is the word with which the probe identifies itself, ``raw`` are the fields as released.
    With ``all_heads`` it has the model's numbers of heads and is larger. The probe of a multimodal
    model covers the text part only.

    Raises UserError for a family without a probe so far, and for layers that a probe cannot
    measure.
    """
    raw, family = text_of(raw), family_of(config)
    if family is None:
        reason = next((why for types, why in UNREADABLE.items() if config.type in types), None)
        raise UserError(
            f"{config.where}: no probe can be made of a model of the type {config.type!r} "
            f"{f'because {reason}' if reason else 'yet'}",
            f"types that a probe can be made of are {', '.join(FAMILIES)}",
        )
    is_encoder_alone = config.type == "t5" and len(meaning.groups) == 1
    both_ways = raw.get("use_bidirectional_attention") not in (None, False, OF_IMAGES)
    if both_ways or is_encoder_alone:
        raise UserError(
            f"{config.where}: no probe can be made of a model that reads texts in both directions",
            "a probe writes its own queries, one behind the other",
        )
    heads = heads_of_model(config, family) if all_heads else None
    plan = planned(name, config, raw, meaning, family, heads)
    if heads and plan.heads != heads[0]:
        raise no_heads(config, f"it asks {plan.asks}, which belong to no head")
    changed = {
        "model_type": config.type,
        "hidden_size": plan.hidden,
        "num_attention_heads": plan.heads,
        "num_hidden_layers": plan.layers,
        "vocab_size": len(plan.words),
        "tie_word_embeddings": family.tied or family.encoder,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 0,
        "architectures": [family.architecture],
        **({family.eps: float(raw.get(family.eps, 1e-5))} if family.eps else {}),
        **family.fields,
        **{name: value for name, value in family.defaults.items() if name not in raw},
    }
    if family.latent:
        changed |= fields_of({**family.fields, **raw}, plan.layers)
    if isinstance(plan, Bucketed):
        decoder = plan.layers - plan.encoder_layers
        changed |= {"num_hidden_layers": plan.encoder_layers, "num_decoder_layers": decoder}
        changed["d_kv"] = plan.head_dim
    if family.tied:
        changed["intermediate_size"] = len(plan.steps())
    if "num_key_value_heads" in raw or is_grouped(config, raw):
        changed["num_key_value_heads"] = plan.kv_heads
    if "word_embed_proj_dim" in raw:
        changed["word_embed_proj_dim"] = plan.hidden
    fields = {name: value for name, value in raw.items() if name not in LEFT_OUT}
    for field, value in changed.items():
        name = family.spelt.get(field) or _spelt(field, raw)
        inner = isinstance(value, Mapping) and isinstance(fields.get(name), Mapping)
        fields[name] = {**fields[name], **value} if inner else value
    for name, others in family.also.items():
        fields |= dict.fromkeys(others, fields[name])
    return Probe(plan, family, fields)


def text_of(raw: Fields) -> Fields:
    """Return the fields of the text part, if a model is multimodal."""
    inner = [raw[name] for name in TEXT if isinstance(raw.get(name), Mapping)]
    return text_of(inner[0]) if inner else raw


def _spelt(name: str, raw: Fields) -> str:
    """Return a field's name in a released configuration."""
    return next((other for other in NAMES.get(name, ()) if other in raw), name)
