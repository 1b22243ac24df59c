"""The block of a configuration that describes the rotation of queries and keys."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from posenc_conformance.models.architectures import ROTARY
from posenc_conformance.models.configuration import Configuration, FieldDict, Fields
from posenc_conformance.models.defaults import owner_of
from posenc_conformance.models.layer_kinds import LAYER_KINDS, kinds

IN_A_BLOCK: Mapping[str, frozenset[str]] = {
    name: frozenset(fields.split())
    for name, fields in {
        "default": "mrope_section mrope_interleaved interleaved",
        "linear": "factor",
        "dynamic": "factor original_max_position_embeddings",
        "yarn": "factor original_max_position_embeddings attention_factor beta_fast beta_slow "
        "mscale mscale_all_dim truncate llama_4_scaling_beta max_position_embeddings finetuned",
        "llama3": "factor original_max_position_embeddings low_freq_factor high_freq_factor",
        "longrope": "factor original_max_position_embeddings attention_factor short_factor "
        "long_factor short_mscale long_mscale",
        "proportional": "factor",
    }.items()
}
"""Fields of rope_scaling and rope_parameters, by the current name of their ``rope_type``."""

SECTIONS = ("mrope_section", "mrope_interleaved", "interleaved")
"""Fields about the distribution of pairs to three axes."""
NOT_WITH_SECTIONS = "no scheme here shares pairs out among three axes under rope_type {!r} yet"
OF_TEXT = "texts without images are turned as under {} alone: judge these by that scheme"
BESIDE_ALPHA = frozenset(["alpha", "factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim"])
"""Fields of HunYuan's block, of which only ``alpha`` matters: the rest is left over from YaRN."""

PLAIN = ("default",)
"""Permitted values of ``rope_type`` for types of models that read no block."""
EVERYWHERE = frozenset(("type", "rope_type", "rope_theta", "partial_rotary_factor"))

NOW = {"su": "longrope", "mrope": "default"}
"""The current names of values of ``rope_type``, by their older names."""
OF_SU = ("phi3", "phi3_v", "phi4_multimodal")
"""Types whose code reads ``su``; all others fail with it."""


def block(config: Configuration, kind: str) -> FieldDict:
    """Return the rotation settings of one kind of layers: type, base, rotated share, scaling.

    They always contain ``rope_theta`` and ``rope_type``; other fields are as given.
    """
    style = ROTARY[config.type]
    new, old = config.get("rope_parameters"), config.get("rope_scaling")
    if new is not None and old is not None and new != old:
        raise config.wrong(
            "rope_scaling", "rope_parameters is given too, and says something else", "keep one"
        )
    names = {**LAYER_KINDS, **style.kind_names}
    per_kind = isinstance(new, Mapping) and any(name in names for name in new)
    if new and per_kind is not style.blocks:
        many, one = "a block for each kind of layers", "one block for all layers"
        raise config.wrong(
            "rope_parameters",
            f"it has {many if per_kind else one}; of {config.type} {many if style.blocks else one} "
            "is known",
        )
    if style.blocks and style.base is None and new is None:
        raise config.wrong(
            "rope_parameters", f"it is missing, and {config.type} is read with nothing else"
        )
    if style.types == PLAIN and new:
        _demand_unsaid(replace(config, fields=new), "rope_theta", "rope_theta outside of the block")
    if per_kind:
        settings, field = _of_kind(config, kind, new)
    elif new is not None:
        settings, field = dict(new), "rope_parameters"
    else:
        settings, field = dict(old or {}) if kind in style.scaled else {}, "rope_scaling"
    settings = _with_outer(config, kind, settings, field)
    settings["rope_type"] = _type(config, settings, field)
    _add_original(config, settings, field)
    _demand_defined(config, settings, field)
    for name, only in {"rope_type": "default", "rope_theta": style.base}.items():
        if style.fixed and settings[name] != only:
            raise config.wrong(
                name,
                f"it is {settings[name]!r}, but the code of {config.type} has {only!r}, and reads "
                "neither a base nor a block",
            )
    return {name: value for name, value in settings.items() if value is not None}


def has_null(config: Configuration, kind: str) -> bool:
    """Return whether the block for a kind of layers is null, which says that they do not rotate."""
    style, given = ROTARY[config.type], config.get("rope_parameters", {})
    if not style.unrotated_by_null or not isinstance(given, Mapping):
        return False
    return any(
        name in given and given[name] is None
        for name, other in (style.kind_names or LAYER_KINDS).items()
        if other == kind
    )


def with_base(config: Configuration, found: FieldDict, base: Any) -> FieldDict:
    """Return a block with the base that the configuration states for a layer.

    Raises UserError if that base is not read, and is another one.
    """
    if base is None or base == found["rope_theta"]:
        return found
    usual, field = found["rope_theta"], "layer_rope_theta"
    if ROTARY[config.type].base_of_layers == "switch":
        raise config.wrong(
            field, f"{base!r} is not read in {config.type}, where rope_theta is {usual!r}"
        )
    if not base > 1:
        raise config.wrong(field, f"it has {base!r}", "a base must be above 1")
    return {**found, "rope_theta": base}


def _of_kind(config: Configuration, kind: str, given: Fields) -> tuple[FieldDict, str]:
    """Return the block for a kind of layers, and its path.

    Raises UserError if there is none, or if another field is next to the blocks.
    """
    style = ROTARY[config.type]
    names = style.kind_names or LAYER_KINDS
    strange = [name for name in given if name not in (*names, *style.beside.split())]
    if strange:
        raise config.wrong(
            f"rope_parameters.{strange[0]}",
            "it stands beside blocks for kinds of layers, and is none",
            f"known kinds are {', '.join(names)}",
        )
    unknown = {names[name] for name in given if name in names} - {"full", "sliding", *kinds(config)}
    if unknown:
        raise config.wrong(
            "rope_parameters", f"it has a block for layers that are {', '.join(unknown)}: none is"
        )
    name = next(name for name, other in names.items() if other == kind)
    if not isinstance(given.get(name), Mapping):
        raise config.wrong("rope_parameters", f"it has nothing for {name}, the type of some layers")
    return dict(given[name]), f"rope_parameters.{name}"


def _with_outer(config: Configuration, kind: str, found: FieldDict, field: str) -> FieldDict:
    """Add the base and the rotated share to a block if they are outside of it.

    Raises UserError if a field outside contradicts the block.
    """
    style = ROTARY[config.type]
    local = kind == "sliding" and style.local_base is not None
    names = {
        "rope_theta": _base_name(config, local),
        "partial_rotary_factor": "partial_rotary_factor",
    }
    for inner, outer in names.items():
        if style.blocks and _stands_alone(config, found, inner, outer):
            raise config.wrong(
                outer,
                f"it is {config.get(outer)!r}; outside of rope_parameters releases of transformers "
                f"read it differently in {config.type}, or not at all",
                f"write it into the blocks of rope_parameters as {inner}",
            )
        _add_outer(config, found, field, inner, outer)
    if names["rope_theta"] not in ("rope_theta", "rope_local_base_freq"):
        _demand_unsaid(config, "rope_theta", names["rope_theta"])
    if style.base_in_block and not config.get("rope_parameters", config.get("rope_scaling")):
        _demand_unsaid(config, "rope_theta", "rope_theta into rope_parameters")
    if found.get("rope_theta") is None:
        base = style.local_base if local else style.base
        if "rope_theta" in found and not style.fixed:
            raise config.null(f"{field}.rope_theta", base)
        found["rope_theta"] = base
        if base is not None and not style.fixed:
            found["rope_theta"] = config.usual(names["rope_theta"], base)
        if config.get("rope_ratio") is not None:
            found["rope_theta"] *= config.number("rope_ratio")
    if found["rope_theta"] is None:
        raise config.wrong("rope_theta", "it is missing", "this type of model has no default")
    return found


def _demand_unsaid(config: Configuration, name: str, instead: str) -> None:
    """Raise UserError for a field that models of this type read under another name."""
    if config.get(name) is not None:
        raise config.wrong(
            name,
            f"it is {config.get(name)!r}, but nobody reads it in {config.type}",
            f"write {instead}, or remove it",
        )


def _stands_alone(config: Configuration, found: Fields, inner: str, outer: str) -> bool:
    """Return whether only a field outside of the blocks has a value, which not all code reads.

    All code reads a base outside if sliding layers have a base of their own.
    """
    style, value = ROTARY[config.type], config.get(outer)
    usual = style.base if inner == "rope_theta" else style.partial
    if value is None or value == usual or found.get(inner) is not None:
        return False
    return inner != "rope_theta" or style.local_base is None


def _add_outer(config: Configuration, found: FieldDict, field: str, inner: str, outer: str) -> None:
    value = config.get(outer)
    if value is None:
        return
    if found.get(inner, value) != value:
        raise config.wrong(
            outer, f"it is {value!r}, but {field}.{inner} is {found[inner]!r}", "keep one"
        )
    found[inner] = value


def _add_original(config: Configuration, found: FieldDict, field: str) -> None:
    """Add the original context length to a block if it is outside of it.

    Raises UserError if no code reads it outside, or if nothing stretches positions and it differs
    from the context length.
    """
    name, style = "original_max_position_embeddings", ROTARY[config.type]
    if name in IN_A_BLOCK[found["rope_type"]] and found.get("alpha") is None:
        if style.original:
            _demand_outside(config, found, field)
        if style.blocks and name not in found and config.get(name) is not None:
            raise config.wrong(
                name, f"it stands outside of {field}, where {config.type} is not read with it"
            )
        _add_outer(config, found, field, name, name)
        return
    original, whole = config.get(name), config.get("max_position_embeddings")
    # Files of transformers 5 have the block even if nothing scales; in others it may be lost.
    idle = style.original if field == "rope_parameters" else None
    if original not in (None, whole, idle):
        raise config.wrong(
            name,
            f"it is {original!r} and max_position_embeddings {whole!r}, "
            f"but rope_type {found['rope_type']!r} has no use for it",
        )


def _demand_outside(config: Configuration, found: FieldDict, field: str) -> None:
    """Take the original context length from outside of a block, where alone it is read.

    Raises UserError if the block says something else.
    """
    name = "original_max_position_embeddings"
    read = config.usual(name, ROTARY[config.type].original)
    if found.get(name) not in (None, read):
        raise config.wrong(
            f"{field}.{name}",
            f"it is {found[name]!r}, but {config.type} is read with {name} outside of the block, "
            f"which is {read}" + ("" if name in config.fields else " by default"),
        )
    found[name] = read


def _base_name(config: Configuration, local: bool) -> str:
    return ROTARY[config.type].base_fields[local]


def _type(config: Configuration, found: FieldDict, field: str) -> str:
    if ROTARY[config.type].blocks and found.get("rope_type") is None and found.get("type"):
        raise config.wrong(
            f"{field}.type",
            f"it is {found['type']!r}, which some releases of transformers read and others do not",
            "write rope_type, which all of them read",
        )
    if found.get("rope_type", found.get("type", "")) is None:
        raise config.null(f"{field}.rope_type", "default")
    if "su" in (found.get("rope_type"), found.get("type")) and config.type not in OF_SU:
        name = "rope_type" if found.get("rope_type") == "su" else "type"
        reader = owner_of(config.type)
        raise config.wrong(
            f"{field}.{name}",
            f"it is 'su', which {reader} does not know in {config.type}",
            "write longrope, which is its current name",
        )
    old, new = (_now(found.pop(name, None)) for name in ("type", "rope_type"))
    if old is not None and new is not None and old != new:
        raise config.wrong(field, f"type is {old!r} and rope_type is {new!r}", "keep one")
    scaled = set(found) - EVERYWHERE - set(SECTIONS)
    if old is None and new is None and scaled:
        raise config.wrong(
            f"{field}.rope_type", f"it is missing, although there is {', '.join(sorted(scaled))}"
        )
    type = str(new or old or "default")
    if type not in IN_A_BLOCK:
        raise config.wrong(
            f"{field}.rope_type", f"{type!r} is not known", f"known are {', '.join(IN_A_BLOCK)}"
        )
    of_type = ROTARY[config.type].types
    if of_type and type not in of_type:
        raise config.wrong(
            f"{field}.rope_type",
            f"{type!r} is not known of {config.type}",
            f"known are {', '.join(of_type)}",
        )
    return type


def _now(type: Any) -> Any:
    """Return the current name of a value of ``rope_type``."""
    return NOW.get(type, type) if isinstance(type, str) else type


def _demand_defined(config: Configuration, found: Fields, field: str) -> None:
    type = found["rope_type"]
    allowed = IN_A_BLOCK[type]
    if found.get("alpha") is not None:
        _demand_alpha(config, found, field)
        allowed = BESIDE_ALPHA
    usual = {
        "mrope_section": ROTARY[config.type].sections and "that of the type",
        "original_max_position_embeddings": type != "dynamic" and "max_position_embeddings",
        "truncate": "true",
    }
    for name in allowed & {name for name in usual if usual[name]}:
        if found.get(name, "") is None:
            raise config.null(f"{field}.{name}", usual[name])
    if ROTARY[config.type].blocks and found.get("truncate", True) is not True:
        raise config.wrong(
            f"{field}.truncate",
            f"it is {found['truncate']!r}, which transformers does not read in {config.type}",
        )
    _demand_warmth(config, found, field)
    for name, value in found.items():
        if name in EVERYWHERE or name in allowed or value is None:
            continue
        elsewhere = [other for other, names in IN_A_BLOCK.items() if name in names]
        if name in SECTIONS:
            raise config.wrong(
                f"{field}.{name}", NOT_WITH_SECTIONS.format(type), OF_TEXT.format(type)
            )
        if elsewhere:
            problem = f"rope_type {type!r} does not use it; these do: {', '.join(elsewhere)}"
        else:
            problem = "nobody has defined it"
        raise config.wrong(f"{field}.{name}", problem)
    base = found.get("rope_theta")
    if base is None:
        raise config.wrong(f"{field}.rope_theta", "it is missing")
    if isinstance(base, bool) or not isinstance(base, int | float) or not base > 1:
        raise config.wrong(f"{field}.rope_theta", f"it is {base!r}", "it must be above 1")


def _demand_warmth(config: Configuration, found: Fields, field: str) -> None:
    """Raise UserError for a temperature that is not read, or that a class fails without."""
    name, reads = "llama_4_scaling_beta", config.type == "ministral3"
    if found.get(name) and not reads:
        raise config.wrong(f"{field}.{name}", f"it is known for ministral3 only, not {config.type}")
    of_class = config.stored is None  # the other formats have readers of their own
    if reads and found.get(name) is None and of_class:
        raise config.wrong(
            f"{field}.{name}",
            f"it is missing, and {owner_of(config.type)} fails without it",
            "write it into a block of the type yarn: 0 for no temperature",
        )


def _demand_alpha(config: Configuration, found: Fields, field: str) -> None:
    """Raise UserError unless ``alpha`` is in a block in which its meaning is known."""
    where = f"{field}.alpha"
    if not ROTARY[config.type].alpha:
        raise config.wrong(where, f"it is known for HunYuan only, not for {config.type}")
    if found["rope_type"] != "dynamic":
        raise config.wrong(where, f"it belongs to rope_type 'dynamic', not {found['rope_type']!r}")
    alpha = found["alpha"]
    if isinstance(alpha, bool) or not isinstance(alpha, int | float) or not alpha >= 1:
        raise config.wrong(where, f"it is {alpha!r}", "it must be a number from 1 on")
    if found.get("factor") not in (None, 1):
        raise config.wrong(
            f"{field}.factor", f"it is {found['factor']!r}, but alpha decides, which is {alpha!r}"
        )
