"""Plans of probes: how many layers, heads and channels measure the positions of a model."""

import math
from dataclasses import replace
from itertools import cycle, islice

from posenc_conformance.deployed.architectures.tensor_layout import Family, Normed
from posenc_conformance.deployed.instrument import (
    BASES,
    CHANNELS_A_TOKEN,
    DIGITS_OF_ROWS,
    FEWEST,
    GAINS,
    GAINS_OF_ENCODERS,
    HEADS,
    Biased,
    Bucketed,
    Heads,
    Instrument,
    Tabled,
    channels_needed,
    channels_with_meaning,
)
from posenc_conformance.deployed.instruments.alibi_slopes import in_twos, slopes
from posenc_conformance.errors import UserError
from posenc_conformance.models.configuration import Configuration, Fields
from posenc_conformance.models.layer_frequencies import channels, rotated
from posenc_conformance.models.layer_kinds import WITHOUT_POSITIONS, divided
from posenc_conformance.models.meaning import Group, Meaning
from posenc_conformance.models.misreadings import unturned

LARGEST = 2**15
"""Largest product of the number of layers and the channels of a head; beyond it a probe would be
too large."""
HEAD_OF_BIASES = 4
"""Least number of channels of a head in a probe of biases."""
LARGEST_WITH_ALL_HEADS = 2**29
"""Largest product of the numbers of layers, hidden channels and channels of all heads in a probe
with as many heads as the model: about 2.5 times as many weights."""
LARGEST_BIASED = 2**20 + 2**19
"""Largest product of the number of layers and the squared hidden size where a probe needs all heads
of the model."""
LEAST_WITH_BIASES = 3
"""Least number of channels of a token if queries and keys have biases: two with a meaning, and the
one that takes the biases back."""
STEPS_OF_ROWS = 8
"""Number of positions whose rows are read in one request."""
STEPS_OF_BUCKETS = 64
"""Number of distances that are measured in one request."""
MOST_BUCKETS = 64
"""Largest number of buckets that can be told apart in every dtype."""

Pairs = tuple[tuple[int, int], ...]
"""Two channels that are rotated together, of each pair."""


def planned(
    name: str,
    config: Configuration,
    raw: Fields,
    meaning: Meaning,
    family: Family,
    heads: tuple[int, int] | None,
) -> Instrument:
    """Return the plan of a probe, with given numbers of query heads and key heads if it rotates.

    Raises UserError for layers that a probe cannot measure.
    """
    for group in (*meaning.groups, *still_groups(config, meaning)):
        if group.turns:
            plan = _turned(name, config, raw, group, meaning, family, heads)
            return replace(plan, silent=_silent(meaning))
        if group.scheme == "alibi":
            return _biased(name, config, group, family)
        if group.call == "learned":
            return _tabled(name, config, group, family)
        if group.call == "t5_bucket":
            return _bucketed(name, config, raw, meaning)
    raise UserError(
        f"{config.where}: no probe can be made yet of a model without positions of a kind that "
        "can be asked",
        "give one that rotates queries and keys, or has biases or a table of positions",
    )


def still_groups(config: Configuration, meaning: Meaning) -> list[Group]:
    """Return the groups of a model that rotates nothing: their pairs must stay as they are.

    Empty if any group has positions.
    """
    if any(group.call is not None for group in meaning.groups):
        return []
    asked = [group for group in meaning.groups if group.attention not in WITHOUT_POSITIONS]
    size = config.get("qk_rope_head_dim") or config.get("head_dim") or divided(config)
    return [unturned(group, replace(group, parameters={"head_dim": size})) for group in asked]


def _silent(meaning: Meaning) -> tuple[int, ...]:
    """Return the layers without attention to the text."""
    groups = (group for group in meaning.groups if group.attention in WITHOUT_POSITIONS)
    return tuple(sorted(layer for group in groups for layer in group.layers))


def is_grouped(config: Configuration, raw: Fields) -> bool:
    """Return whether query heads share key heads."""
    released = config.whole("num_attention_heads")
    return bool((raw.get("num_key_value_heads") or released) < released)


def heads_of_model(config: Configuration, family: Family) -> tuple[int, int]:
    """Return the numbers of query heads and key heads that a model has.

    Raises UserError where a probe cannot have as many.
    """
    heads = config.whole("num_attention_heads")
    kv_heads = 1 if family.one_key else int(config.get("num_key_value_heads") or heads)
    why = ""
    if family.latent:
        why = "its keys are latent, and belong to no head"
    elif heads < HEADS or heads % kv_heads:
        why = f"{heads} heads share {kv_heads} keys"
    elif family.normed is Normed.WHOLE and heads > kv_heads and heads // kv_heads % HEADS:
        # Keys have one size only if as many heads have keys in each layer.
        why = f"one norm covers all heads, and {heads // kv_heads} share a key"
    if why:
        raise no_heads(config, why)
    return heads, kv_heads


def no_heads(config: Configuration, why: str) -> UserError:
    """Make the error for a model whose heads a probe cannot have."""
    return config.wrong(
        "num_attention_heads",
        f"a probe cannot have all heads of this model: {why}",
        "write it without --all-heads",
    )


def _turned(
    name: str,
    config: Configuration,
    raw: Fields,
    group: Group,
    meaning: Meaning,
    family: Family,
    of_model: tuple[int, int] | None,
) -> Instrument:
    """Return the plan of a probe of layers that rotate queries and keys."""
    size = int(group.parameters["head_dim"])
    pairs, sizes = _sizes_of_heads(group, meaning)
    layers = _count_layers(config, meaning)
    largest = max((size, *(other.head_dim for other in sizes)))
    if layers * largest > LARGEST:
        raise config.wrong(
            "num_hidden_layers",
            f"it is {layers}, and a head has {largest} channels: the probe would be too large",
            f"the two together may make {LARGEST:,}",
        )
    heads = HEADS if of_model is None else of_model[0]
    gains: tuple[int, ...] = GAINS_OF_ENCODERS if family.encoder else GAINS
    if family.names.norm_behind:
        gains = GAINS[-1:]
    written = 0 if family.tied or family.encoder else len(gains)
    needed, step = channels_needed(len(pairs), layers, family.centred, family.tied, written)
    with_biases = "projections" in family.biased and not family.encoder
    needed = max(needed, with_biases * LEAST_WITH_BIASES * CHANNELS_A_TOKEN)
    hidden = needed
    if not family.latent and config.get("head_dim") is None and size == divided(config):
        # An engine computes head_dim from these two.
        while of_model is None and (heads * size < needed or heads * size % step):
            heads += HEADS
        hidden = heads * size
    kv_heads = heads // 2 if is_grouped(config, raw) else heads
    if of_model is not None:
        _demand_room(config, hidden, needed, step, layers * hidden * size * heads)
        kv_heads = of_model[1]
    elif family.one_key:
        kv_heads = 1
    return Instrument(
        name,
        layers,
        size,
        pairs,
        hidden,
        heads,
        kv_heads,
        family.centred,
        gains,
        family.tied,
        family.encoder,
        sizes=sizes,
        with_biases=with_biases,
    )


def _demand_room(config: Configuration, hidden: int, needed: int, step: int, weights: int) -> None:
    """Raise UserError for too few channels of the hidden state, or too many weights of heads."""
    if hidden < needed or hidden % step:
        state = f"{hidden:,} channels of the hidden state"
        raise no_heads(config, f"{state} are no multiple of {step} from {needed:,} on")
    if weights > LARGEST_WITH_ALL_HEADS:
        raise no_heads(config, f"a matrix of all layers would have {weights:,} weights")


def _biased(name: str, config: Configuration, group: Group, family: Family) -> Instrument:
    """Return the plan of a probe of layers whose scores have a bias, with all of their heads."""
    heads, layers = config.whole("num_attention_heads"), len(group.layers)
    steps = in_twos(slopes(group))
    needed = FEWEST + channels_with_meaning(
        len(steps), layers, family.centred, family.tied, gains=1
    )
    size = HEAD_OF_BIASES
    # Slopes multiplied by a power of two look like those of other heads.
    while heads * size < needed or (family.scaled_bias and not math.log2(size) % 2):
        size += 2
    hidden = heads * size
    if layers * hidden**2 > LARGEST_BIASED:
        raise config.wrong(
            "num_hidden_layers",
            f"it is {layers}, with {heads} heads in each: the probe would be too large",
            "a smaller model of the same type is read by the same code",
        )
    kv_heads = 1 if family.one_key else heads
    return Biased(name, layers, size, steps, hidden, heads, kv_heads, family.centred, GAINS)


def _tabled(name: str, config: Configuration, group: Group, family: Family) -> Instrument:
    """Return the plan of a probe of a model that begins with a table of positions."""
    layers, rows = config.whole("num_hidden_layers"), int(group.parameters["rows"])
    most = BASES[-1] ** DIGITS_OF_ROWS
    if rows > most:
        raise config.wrong(
            "max_position_embeddings",
            f"its table has {rows:,} rows: they have more digits than can be read",
            f"a table may have {most:,} rows",
        )
    steps = tuple((step, step) for step in range(STEPS_OF_ROWS))
    hidden, _ = channels_needed(len(steps), layers, family.centred, family.tied)
    size = hidden // HEADS
    kv_heads = 1 if family.one_key else HEADS
    return Tabled(
        name,
        layers,
        size,
        steps,
        hidden,
        HEADS,
        kv_heads,
        family.centred,
        GAINS[:1],
        encoder=family.encoder,
        rows=rows,
    )


def _bucketed(name: str, config: Configuration, raw: Fields, meaning: Meaning) -> Instrument:
    """Return the plan of a probe of an encoder and a decoder with bucketed biases."""
    encoder, decoder = meaning.groups
    buckets = int(encoder.parameters["num_buckets"])
    if buckets > MOST_BUCKETS:
        raise config.wrong(
            "relative_attention_num_buckets",
            f"it is {buckets}: so many cannot be told apart in short dtypes",
            f"a probe may have {MOST_BUCKETS}",
        )
    layers = len(encoder.layers) + len(decoder.layers)
    steps = tuple((step, step) for step in range(STEPS_OF_BUCKETS))
    hidden, _ = channels_needed(len(steps), layers, centred=False, tied=False)
    # A decoder looks queries up in one head, with a channel for each.
    size = max(int(raw.get("d_kv") or 0), len(steps))
    return Bucketed(
        name,
        layers,
        size,
        steps,
        hidden,
        HEADS,
        HEADS,
        buckets=buckets,
        encoder_layers=len(encoder.layers),
    )


def _sizes_of_heads(group: Group, meaning: Meaning) -> tuple[Pairs, tuple[Heads, ...]]:
    """Return the pairs of a group's heads, and what layers with larger or smaller heads have.

    Each query of the chain asks a pair in every layer: the pairs of small heads are asked again.
    """
    own = _pairs(group)
    others = [
        other
        for other in meaning.groups
        if other.turns and other.parameters["head_dim"] != group.parameters["head_dim"]
    ]
    count = max(map(len, (own, *map(_pairs, others))))
    sizes = [
        Heads(other.layers, int(other.parameters["head_dim"]), _repeated(_pairs(other), count))
        for other in others
    ]
    return _repeated(own, count), tuple(sizes)


def _repeated(pairs: Pairs, count: int) -> Pairs:
    return tuple(islice(cycle(pairs), count))


def _count_layers(config: Configuration, meaning: Meaning) -> int:
    """Return the number of layers: that of a list of them, if the configuration has no number."""
    listed = sum(len(group.layers) for group in meaning.groups)
    return listed if config.get("num_hidden_layers") is None else config.whole("num_hidden_layers")


def _pairs(group: Group) -> Pairs:
    firsts, seconds = channels(group, rotated(group))
    return tuple(zip(firsts, seconds, strict=True))
