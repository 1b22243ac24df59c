"""Values that a file leaves out: what they are taken as, and by whom.

A reader of files fills in what is missing, and readers differ. A value is taken from the reader
whose format the file is in, and the others are named with it where they take another one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from posenc_conformance.models.architectures import ROTARY
from posenc_conformance.models.types.lengths import LENGTHS
from posenc_conformance.models.types.rotary import Rotary

TRANSFORMERS = "transformers' class"
OWN_CODE = "the code that the type is released with"
MISTRAL = "mistral-inference"
META = "Meta's code for Llama 1 and 2"
META_3 = "Meta's code for Llama 3"
LLAMA_CPP = "llama.cpp's loader"
OLLAMA = "Ollama's compatibility code"
DIFFUSERS = "diffusers' class"
ARCHITECTURES = "its field architectures"
"""Readers of files, who have defaults."""

ELSEWHERE = frozenset(
    ["chatglm", "exaone4_5_text", "internlm2", "kimi_k2", "mimo", "minicpm", "phi3_v"]
)
"""Types that transformers does not have, whose defaults are those of their own code."""


@dataclass(frozen=True)
class Default:
    """A field that a file does not have, with the value that its reader takes."""

    field: str
    value: Any
    owner: str
    others: tuple[tuple[str, Any], ...] = ()
    """Other readers that take another value, each with that value."""

    @property
    def words(self) -> str:
        """The default as a phrase, with the readers that take another value."""
        differing = ", ".join(f"{owner}: {shown(value)}" for owner, value in self.others)
        more = f" ({differing})" if differing else ""
        return f"{self.field} {shown(self.value)}{more}"


def shown(value: Any) -> str:
    """Format the value of a default."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"{value:,}" if number else str(value)


USUAL: Mapping[str, Any] = {
    "attn_scale": 0.1,
    "attn_temperature_tuning": True,
    "floor_scale": 8192,
    "no_rope_layer_interval": 4,
}
"""Values of fields that a file does not have, the same in all types that read them."""
PATTERNS = (
    "sliding_window_pattern",
    "global_attn_every_n_layers",
    "full_attention_interval",
    "layer_group_size",
)
"""Fields with the number of layers of which one is full."""
LAYERS = ("layer_types", "layers_block_type")
"""Fields with the kind of each layer."""
INDICES = ("attn_layer_indices", "full_attn_idxs")
"""Fields with the numbers of the layers that are full."""
BETAS: Mapping[str, Any] = {"beta_fast": 32, "beta_slow": 1, "truncate": True}
"""Values of YaRN's fields that a block does not have."""
MISSING_IF_NULL = frozenset(["cross_attention_layers"])
"""Fields of which the class takes null for missing, although they may be empty."""
ORIGINAL = "original_max_position_embeddings"
KINDS = ("full_attention", "sliding_attention")
"""Kinds of layers that may have a block about rotation, first that of the usual base."""


def owner_of(type: str) -> str:
    """Return whose defaults a type of model has in a config.json."""
    return OWN_CODE if type in ELSEWHERE else TRANSFORMERS


def of_class(type: str, fields: Mapping[str, Any]) -> tuple[Default, ...]:
    """Return the defaults about positions that a type's class fills into a config.json.

    Some may change nothing in this file. ``fields`` are those of the file, under the names of this
    package, without defaults.
    """
    if type not in ROTARY:
        return ()
    style = ROTARY[type]
    missing = [*_missing(style, fields), *_of_layers(style, fields), *_of_scaling(style, fields)]
    return tuple(Default(name, value, owner_of(type)) for name, value in missing)


def _missing(style: Rotary, fields: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    bases = zip(KINDS, style.base_fields, (style.base, style.local_base), strict=True)
    for kind, name, value in bases:
        inner = [block.get("rope_theta") for block in _blocks(fields, kind)]
        if value is not None and {fields.get(name), *inner} == {None} and not style.fixed:
            yield name, value * (fields.get("rope_ratio") or 1)
    if style.partial != 1 and not _says(fields, "partial_rotary_factor"):
        yield "partial_rotary_factor", style.partial
    if style.head_dim is not None and not _says(fields, "head_dim") and not style.latent:
        yield "head_dim", style.head_dim
    if style.global_dim and not fields.keys() & {"global_head_dim", "per_layer_config"}:
        yield "global_head_dim", style.global_dim
    if style.sections is not None and not _says(fields, "mrope_section"):
        yield "mrope_section", list(style.sections.pairs)
    yield from ((name, value) for name, value in style.defaults.items() if name not in fields)


def _of_layers(style: Rotary, fields: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield what decides which layers are full, which are rotated, and how far others see."""
    read = style.reads.split()
    own = {name: value for name, value in USUAL.items() if name in read}
    if fields.get("no_rope_layers"):
        own.pop("no_rope_layer_interval", None)
    if style.local_attention is not None:
        own["local_attention"] = style.local_attention
    if style.pattern is not None and all(fields.get(name) is None for name in LAYERS):
        field = next((name for name in PATTERNS if name in read), "layer_types")
        own[field] = style.pattern if field in PATTERNS else f"one of {style.pattern} full"
    if style.unlisted[1] and all(fields.get(name) is None for name in (*LAYERS, *INDICES)):
        cycle = " ".join(style.unlisted[:2]).split()
        own["layer_types"] = f"{', '.join(cycle)}, …" if len(cycle) > 1 else f"all {cycle[0]}"
    yield from ((name, value) for name, value in own.items() if name not in fields)


def _of_scaling(style: Rotary, fields: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield what blocks of scaling leave out."""
    missing: dict[str, Any] = {}
    for block in _blocks(fields):
        kind = block.get("rope_type", block.get("type"))
        if kind == "yarn":
            missing |= {name: value for name, value in BETAS.items() if block.get(name) is None}
        if kind in ("llama3", "longrope", "su", "yarn"):
            said = fields.get(ORIGINAL), None if style.original else block.get(ORIGINAL)
            whole = style.original or fields.get("max_position_embeddings")
            if said == (None, None) and whole is not None:
                missing[ORIGINAL] = whole
    yield from missing.items()


def missing_length(type: str, fields: Mapping[str, Any]) -> tuple[Default, ...]:
    """Return the context length of a type's class, if a file has none and a block needs it."""
    name = "max_position_embeddings"
    if name in fields or type not in LENGTHS or not any(_needs(b, fields) for b in _blocks(fields)):
        return ()
    return (Default(name, LENGTHS[type], owner_of(type)),)


def _needs(block: Mapping[str, Any], fields: Mapping[str, Any]) -> bool:
    """Return whether a block of scaling is computed from the context length."""
    kind = block.get("rope_type", block.get("type"))
    if kind in ("longrope", "su"):
        return True
    said = (fields.get(ORIGINAL), block.get(ORIGINAL), block.get("alpha"))
    return kind in ("dynamic", "llama3", "yarn") and said == (None, None, None)


def _blocks(fields: Mapping[str, Any], *kinds: str) -> Iterator[Mapping[str, Any]]:
    """Yield the blocks about rotation, and those of some kinds of layers in them."""
    for name in ("rope_parameters", "rope_scaling"):
        block = fields.get(name)
        if isinstance(block, Mapping):
            inner = [block.get(kind) for kind in kinds or KINDS]
            yield from (block, *(part for part in inner if isinstance(part, Mapping)))


def _says(fields: Mapping[str, Any], name: str) -> bool:
    """Return whether there is a value of this name, in a block about rotation or outside."""
    return any(block.get(name) is not None for block in (fields, *_blocks(fields)))
