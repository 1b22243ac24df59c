"""Properties of a type of model with rotated queries and keys."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from posenc_conformance.models.meaning import Number

HALF = "half"
INTERLEAVED = "interleaved"


@dataclass(frozen=True)
class Sections:
    """The distribution of pairs to time, height and width."""

    pairs: tuple[int, int, int]
    """Number of pairs for each axis, if the configuration does not state it."""
    interleaved: bool = False
    """Whether pairs alternate between the axes; if not, time has the first pairs, then height."""
    alternating: bool = False
    """Whether pairs alternate between height and width, and time has the last ones; configurations
    list them in this order."""


@dataclass(frozen=True)
class Rotary:
    """A type of model with rotated queries and keys."""

    layout: str = HALF
    base: Number | None = 10000
    """Base if the configuration has none; None if it must have one."""
    fixed: bool = False
    """Whether the code has that base and no scaling, whatever the configuration says."""
    local_base: Number | None = None
    """Base of sliding layers, if it differs."""
    partial: Number = 1
    """Rotated share of a head, if the configuration does not state it."""
    cuts: bool | None = None
    """Whether the configuration may change that share; None if it may only where the default is
    less than the whole head."""
    head_dim: int | None = None
    """Channels of a head if the configuration does not state them; None for
    ``hidden_size / num_attention_heads``."""
    divides: bool = False
    """Whether the channels of a head are that quotient, whatever ``head_dim`` says."""
    global_dim: int | None = None
    """Channels of a head in full layers, if the configuration has no ``per_layer_config``."""
    ends_full: bool = False
    """Whether the last layer is full, whatever the pattern says."""
    layers: str = "pattern"
    """The rule in :mod:`layer_kinds` for the kinds of layers, if nothing else decides them."""
    unlisted: tuple[str, str, str] = ("", "", "")
    """Kinds of layers under the rule ``listed`` if nothing lists them: of the first ones, of the
    next ones, repeated, and of the last one. Without the second, files must list them."""
    pattern: int | None = None
    """One layer in ``pattern`` is not sliding; None if all layers are alike."""
    offset: int = 1
    """1 if the last layer of a pattern is not sliding, 0 if the first is."""
    unrotated: str | None = None
    """Kind of layers without positions."""
    unrotated_by_null: bool = False
    """Whether layers are not rotated if the block for their kind is null."""
    turns_without_window: bool = False
    """Whether layers of that kind are rotated if there is no window."""
    scaled: tuple[str, ...] = ("full", "sliding", "chunked")
    """Kinds of layers that rope_scaling applies to."""
    blocks: bool = False
    """Whether rope_parameters has a block for each kind of layers."""
    beside: str = ""
    """Keys beside these blocks that the configuration class drops."""
    kind_names: Mapping[str, str] = field(default_factory=dict)
    """Kinds of layers by the names that only this type has for them, if it has other names."""
    linear: bool | None = None
    """Whether some layers may have no attention; None if that follows from ``layers``."""
    mlps_listed: bool = False
    """Whether the MLP of each layer may be listed and counted as a layer of its own."""
    two_sided: bool = False
    """Whether sliding layers see keys on both sides of a query."""
    base_of_layers: str = ""
    """What ``layer_rope_theta`` says: ``base`` for the base of each layer, ``switch`` for whether
    each layer is rotated. Layers with 0 are not. Empty for a type without this field."""
    sections: Sections | None = None
    """The distribution of pairs to three axes, if there is one."""
    heads_apart: bool = False
    """Whether ``head_dim`` is about the layers without attention."""
    latent: bool = False
    """Whether the rotated part of each head has the size ``qk_rope_head_dim``, and logits are
    multiplied by YaRN's factor from ``mscale_all_dim``."""
    chooses: bool = False
    """Whether the layout is half if ``rope_interleave`` is false."""
    alpha: bool = False
    """Whether ``alpha`` in a block of the type ``dynamic`` increases the base for all lengths."""
    scaled_by_default: bool = False
    """Whether positions are scaled if the configuration has no block of scaling."""
    types: tuple[str, ...] = ()
    """Permitted values of ``rope_type``; empty if all known ones are permitted."""
    original: int | None = None
    """The original context length if it does not stand outside of the block of scaling, whatever
    that block says; None for a type that is read with the block's. The configuration class writes
    it even if nothing scales."""
    follows: bool = False
    """Whether LongRoPE's factor is the ratio of the two contexts, whatever the configuration
    says."""
    base_fields: tuple[str, str] = ("rope_theta", "rope_local_base_freq")
    """The fields with the base: for full layers, and for sliding ones."""
    base_in_block: bool = False
    """Whether a base outside of rope_parameters is not read where there is no such block."""
    local_attention: int | None = None
    """Twice the window of sliding layers, if ``local_attention`` does not say it; None for a type
    whose window is ``sliding_window``."""
    length_field: str = ""
    """The field with the context length, if it has a name that only this type reads."""
    reach_field: str = ""
    """The field with the context length of a release whose ``max_position_embeddings`` is what
    programs are to allocate, if there is one."""
    bias_field: str = ""
    """A field that is true for models with a bias instead of rotation, if there is one."""
    rotation_field: str = ""
    """A field that is ``rope`` for models that rotate at all, if there is one."""
    tempered: bool = False
    """Whether queries of unrotated layers are multiplied by a temperature for their position."""
    reads: str = ""
    """Fields about positions that are read in addition to those of every rotated model."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Values of fields that the configuration omits."""
