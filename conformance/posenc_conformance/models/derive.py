"""The meaning of a configuration, derived from its fields."""

import math
from collections.abc import Mapping, Sequence

from posenc_conformance.models.architectures import ROTARY
from posenc_conformance.models.block import (
    NOT_WITH_SECTIONS,
    OF_TEXT,
    SECTIONS,
    block,
    has_null,
    with_base,
)
from posenc_conformance.models.configuration import (
    Configuration,
    FieldDict,
    Fields,
    normalise_numbers,
)
from posenc_conformance.models.defaults import BETAS, USUAL
from posenc_conformance.models.diffusers import AXIAL, axial
from posenc_conformance.models.layer_kinds import (
    WITHOUT_POSITIONS,
    bases,
    head_dim,
    is_two_sided,
    kinds,
    of_kind,
    rotated,
    window,
)
from posenc_conformance.models.meaning import Context, Group, Meaning, Number, Temperature
from posenc_conformance.models.types.others import GRIDS, LEARNED
from posenc_conformance.models.without_turning import OWN, grid, table
from posenc_conformance.scheme_file.scheme import ArgumentDict


def meaning(config: Configuration) -> Meaning:
    """Derive groups of layers, context lengths and layout from a configuration.

    Raises UserError naming a field that is missing, contradicts another one or is not understood.
    """
    if config.type in AXIAL:
        return axial(config)
    if config.type in ROTARY and not _biased(config):
        return _rotary(config)
    if config.type in LEARNED:
        return table(config)
    if config.type in GRIDS:
        return grid(config)
    return OWN[config.type](config)


def _biased(config: Configuration) -> bool:
    """Return whether a model of a rotary type has a bias instead of rotation."""
    field = ROTARY[config.type].bias_field
    return bool(field and config.get(field))


# Rotation.


def _rotary(config: Configuration) -> Meaning:
    names = kinds(config)
    own = bases(config, names)
    turned = _turned(config, names, own)
    groups = [
        _group(config, kind, turns, layers, base)
        for (kind, turns, base), layers in _alike(
            list(zip(names, turned, own, strict=True))
        ).items()
    ]
    named = tuple(sorted(groups, key=lambda group: group.layers))
    if len(named) == 1:
        named = (_renamed(named[0], "layers"),)
    ids = [group.id for group in named]
    named = tuple(
        group if ids.count(group.id) == 1 else _renamed(group, _apart(group)) for group in named
    )
    return Meaning(named, _context(config, named), config.layout)


def _apart(group: Group) -> str:
    """Return the id of one of several groups whose layers differ in their base or their kind."""
    return f"{group.id}-{group.parameters.get('base', group.attention)}"


def _renamed(group: Group, id: str) -> Group:
    return Group(**{**vars(group), "id": id})


Key = tuple[str, bool, Number | None]
"""Kind of a layer, whether it is rotated, and its base if it is said for the layer."""


def _alike(keys: Sequence[Key]) -> dict[Key, tuple[int, ...]]:
    return {
        key: tuple(number for number, other in enumerate(keys) if other == key)
        for key in dict.fromkeys(keys)
    }


def _turned(
    config: Configuration, names: Sequence[str], bases: Sequence[Number | None]
) -> list[bool]:
    """Return for each layer whether its queries and keys are rotated."""
    style = ROTARY[config.type]
    if style.layers in ("chunked", "unturned"):
        return rotated(config, len(names))
    if style.base_of_layers:
        return [base != 0 for base in bases]
    if style.rotation_field and config.get(style.rotation_field) != "rope":
        return [False for _ in names]
    if style.unrotated is not None:
        whole = style.turns_without_window and window(config, "sliding") is None
        still = (style.unrotated, *WITHOUT_POSITIONS)
        return [whole or name not in still for name in names]
    return [name not in WITHOUT_POSITIONS and not has_null(config, name) for name in names]


def _group(
    whole: Configuration,
    kind: str,
    turns: bool,
    layers: tuple[int, ...],
    base: Number | None,
) -> Group:
    config = of_kind(whole, kind, layers)
    reach = window(config, kind)
    if not turns:
        return Group(
            id=kind if kind in WITHOUT_POSITIONS else "without-positions",
            layers=layers,
            scheme="nope",
            attention=kind,
            window=reach,
            temperature=_temperature(config, turns, {}),
        )
    settings = with_base(config, block(config, kind), base)
    scheme, call, combination, options, parameters = _rotation(config, settings)
    return Group(
        id=kind,
        layers=layers,
        scheme=scheme,
        attention="two-sided" if kind == "sliding" and is_two_sided(config) else kind,
        window=reach,
        call=call,
        combination=combination,
        options=options,
        parameters=parameters,
        temperature=_temperature(config, turns, settings),
        score_factor=_score_factor(config, settings),
    )


def rotary_dim(config: Configuration, settings: Fields) -> int:
    """Return the number of rotated channels of a head.

    Raises UserError for fields that contradict each other, and for a number that is odd, 0 or
    larger than a head.
    """
    style, size = ROTARY[config.type], head_dim(config)
    share = settings.get("partial_rotary_factor")
    if style.cuts is False:
        share = style.partial if share is None else share
    elif share is None and "partial_rotary_factor" in config.fields:
        _demand_no_share(config)
    width = int(size * (style.partial if share is None else share))
    stated = config.get("rotary_dim")
    if "rotary_dim" in style.defaults:
        stated = config.usual("rotary_dim", style.defaults["rotary_dim"])
    if stated is not None and share is None and "rotary_dim" in style.reads.split():
        width = config.whole("rotary_dim")
    elif stated not in (None, width):
        raise config.wrong(
            "rotary_dim", f"it is {stated}, but {width} channels of {size} follow from other fields"
        )
    usual = int(size * style.partial)
    if width != usual and not (style.partial != 1 if style.cuts is None else style.cuts):
        raise config.wrong(
            "partial_rotary_factor" if stated is None else "rotary_dim",
            f"{width} of {size} channels would be rotated, but {config.type} rotates "
            f"{usual if usual < size else 'whole heads'}",
        )
    if width % 2 or not 0 < width <= size:
        name = "head_dim" if share is None and stated is None else "partial_rotary_factor"
        raise config.wrong(
            name, f"{width} of {size} channels would be rotated", "it must be an even number"
        )
    return width


def _demand_no_share(config: Configuration) -> None:
    """Raise UserError for a rotated share that is null, unless that is the whole head."""
    name, usual = "partial_rotary_factor", ROTARY[config.type].partial
    if usual != 1:
        raise config.wrong(name, f"it is null, which may stand for {usual} or for the whole head")
    if ROTARY[config.type].original or name in config.names:
        raise config.null(name, usual)


Rotation = tuple[str, str, str, dict[str, str | int], FieldDict]


def _rotation(config: Configuration, settings: Fields) -> Rotation:
    """Return scheme, call, combination, options and parameters of a kind of layers."""
    type, style = settings["rope_type"], ROTARY[config.type]
    size, base = head_dim(config), settings["rope_theta"]
    parameters: ArgumentDict = {"head_dim": size, "base": base}
    if type == "proportional":
        return _proportional(config, settings, parameters)
    width = rotary_dim(config, settings)
    partial: dict[str, str | int] = {"rotation": "partial"} if width < size else {}
    if partial:
        parameters["rotary_dim"] = width
    if style.sections is not None:
        return _sections(config, settings, width, partial, parameters)
    for name in SECTIONS:
        if settings.get(name):
            raise config.wrong(name, f"{config.type} has no sections")
    if type == "default":
        return "rope", "rope", config.layout, partial, parameters
    if type == "yarn":
        return _yarn(config, settings, partial, parameters)
    if type == "longrope":
        return _longrope(config, settings, width, partial, parameters)
    if partial:
        raise config.wrong(
            "partial_rotary_factor", f"no known model combines it with rope_type {type!r}"
        )
    if settings.get("alpha") is not None:
        parameters["factor"] = settings["alpha"]
        return "ntk-aware", "ntk_aware", config.layout, {}, parameters
    names = {
        "linear": ("position-interpolation", ("factor",)),
        "dynamic": ("dynamic-ntk", ("factor",)),
        "llama3": ("llama3", ("factor", "low_freq_factor", "high_freq_factor")),
    }
    scheme, needed = names[type]
    parameters |= {name: _number(config, settings, name) for name in needed}
    if type != "linear":
        parameters["original_max_position_embeddings"] = _original(config, settings)
    if type == "llama3" and parameters["low_freq_factor"] > parameters["high_freq_factor"]:
        raise config.wrong(
            "rope_scaling.low_freq_factor",
            f"it is {parameters['low_freq_factor']}, above high_freq_factor, "
            f"which is {parameters['high_freq_factor']}",
        )
    return scheme, scheme.replace("-", "_"), config.layout, {}, parameters


def _number(config: Configuration, settings: Fields, name: str) -> Number:
    value = settings.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        problem = "it is missing" if value is None else f"it is {value!r}"
        raise config.wrong(
            f"rope_scaling.{name}", problem, f"rope_type {settings['rope_type']!r} needs a number"
        )
    return value


def _original(config: Configuration, settings: Fields) -> int:
    """Return the original context length.

    By default it is the length that the model is released for, as in all implementations. Raises
    UserError if it is longer than that.
    """
    inner = settings.get("original_max_position_embeddings")
    original = inner if inner is not None else config.need("max_position_embeddings")
    whole = config.get("max_position_embeddings")
    if whole is not None and original > whole:
        raise config.wrong(
            "original_max_position_embeddings",
            f"it is {original}, more than max_position_embeddings, which is {whole}",
        )
    return int(original)


CUT = ("gpt_neox_japanese", "persimmon", "phi", "stablelm")
"""Types whose code cuts heads off at the rotated share by itself, whatever block is given."""


def _proportional(config: Configuration, settings: Fields, parameters: ArgumentDict) -> Rotation:
    if settings.get("factor", 1) != 1:
        raise config.wrong(
            "rope_parameters.factor", "no known model combines it with rope_type 'proportional'"
        )
    parameters["proportion"] = settings.get("partial_rotary_factor", 1)
    if config.type in CUT and parameters["proportion"] != 1:
        raise config.wrong(
            "rope_parameters.rope_type",
            f"it is 'proportional', which turns whole heads, but {config.type} cuts them off at "
            "partial_rotary_factor, and its class fails",
            "write default, if the rest of a head is not to be turned",
        )
    return "p-rope", "p_rope", config.layout, {}, parameters


AMONG_AXES: Mapping[tuple[str, str], str] = {
    ("half", "in order"): "qwen2-vl",
    ("half", "in turn"): "qwen3-vl",
    ("interleaved", "in order"): "glm-4v",
    ("interleaved", "alternating"): "ernie-4-5-vl",
}
"""Combinations of ``m_rope``, by the layout and by how pairs are distributed to axes."""


def _sections(
    config: Configuration,
    settings: Fields,
    width: int,
    partial: dict[str, str | int],
    parameters: ArgumentDict,
) -> Rotation:
    axes = ROTARY[config.type].sections
    assert axes is not None
    sections = list(settings.get("mrope_section") or axes.pairs)
    if axes.alternating and len(sections) == 3:
        height, wide, time = sections
        if height != wide:
            raise config.wrong("mrope_section", f"of {sections}, height and width must be equal")
        sections = [time, height, wide]
    if settings["rope_type"] != "default":
        type = settings["rope_type"]
        raise config.wrong("rope_type", NOT_WITH_SECTIONS.format(type), OF_TEXT.format(type))
    most = [(width // 2 - start + 2) // 3 for start in (1, 2)]
    if axes.interleaved and any(
        part > limit for part, limit in zip(sections[1:], most, strict=False)
    ):
        raise config.wrong(
            "mrope_section", f"of {sections} height and width cannot have every third pair"
        )
    if len(sections) != 3 or sum(sections) != width // 2:
        raise config.wrong(
            "mrope_section", f"{sections} are {sum(sections)} pairs, but {width // 2} are rotated"
        )
    for name in ("mrope_interleaved", "interleaved"):
        if settings.get(name, axes.interleaved) is not axes.interleaved:
            raise config.wrong(name, f"it is not {axes.interleaved}, as in all known {config.type}")
    part = {name: value for name, value in parameters.items() if name != "rotary_dim"}
    form = "in turn" if axes.interleaved else "alternating" if axes.alternating else "in order"
    combination = AMONG_AXES.get((config.layout, form))
    if combination is None:
        raise config.wrong("model_type", f"nothing is known of it with the layout {config.layout}")
    return "m-rope", "m_rope", combination, partial, {**part, "sections": sections}


def _yarn(
    config: Configuration,
    settings: Fields,
    partial: dict[str, str | int],
    parameters: ArgumentDict,
) -> Rotation:
    rounded = settings.get("truncate", BETAS["truncate"])
    if rounded:
        combination = "code-half" if config.layout == "half" else "code-interleaved"
    elif config.layout == "half":
        combination = "gpt-oss"
    else:
        raise config.wrong("rope_scaling.truncate", "no known model of this layout has it false")
    parameters |= {
        "factor": _number(config, settings, "factor"),
        "original_max_position_embeddings": _original(config, settings),
        "beta_fast": settings.get("beta_fast", BETAS["beta_fast"]),
        "beta_slow": settings.get("beta_slow", BETAS["beta_slow"]),
    }
    if parameters["beta_fast"] < parameters["beta_slow"]:
        raise config.wrong(
            "rope_scaling.beta_fast",
            f"it is {parameters['beta_fast']}, below beta_slow, which is {parameters['beta_slow']}",
        )
    options = dict(partial)
    if settings.get("attention_factor") is not None:
        options["attention"] = "explicit"
        parameters["attention_factor"] = settings["attention_factor"]
    elif settings.get("mscale") and settings.get("mscale_all_dim"):
        options["attention"] = "mscale"
        parameters |= {name: settings[name] for name in ("mscale", "mscale_all_dim")}
    return "yarn", "yarn", combination, options, parameters


SPANS = ("short", "long")
"""The lengths of texts for which LongRoPE has separate factors."""


def _longrope(
    config: Configuration,
    settings: Fields,
    width: int,
    partial: dict[str, str | int],
    parameters: ArgumentDict,
) -> Rotation:
    if config.layout != "half":
        raise config.wrong("rope_scaling.rope_type", "LongRoPE is known for the layout half only")
    original = _original(config, settings)
    factor = settings.get("factor")
    whole = config.whole("max_position_embeddings")
    follows = normalise_numbers(whole / original)
    if ROTARY[config.type].follows and factor not in (None, follows):
        raise config.wrong("rope_scaling.factor", f"it is {factor}, but {config.type} ignores it")
    if factor is None:
        factor = follows
    parameters |= {"factor": factor, "original_max_position_embeddings": original}
    for inner, name in (("short_factor", "short_factors"), ("long_factor", "long_factors")):
        values = settings.get(inner)
        if not isinstance(values, Sequence) or len(values) != width // 2:
            count = len(values) if isinstance(values, Sequence) else "no"
            raise config.wrong(
                f"rope_scaling.{inner}", f"it has {count} numbers; {width // 2} pairs are rotated"
            )
        parameters[name] = [float(value) for value in values]
    options = dict(partial)
    factors = {settings.get(f"{name}_mscale", settings.get("attention_factor")) for name in SPANS}
    if len(factors) > 1:
        raise config.wrong(
            "rope_scaling.long_mscale", "it is another number than short_mscale: no scheme has both"
        )
    if factors != {None}:
        options["attention"] = "explicit"
        parameters["attention_factor"] = factors.pop()
    return "longrope", "longrope", "phi-3", options, parameters


def _temperature(config: Configuration, turns: bool, settings: Fields) -> Temperature | None:
    if ROTARY[config.type].tempered and not turns:
        names = ("attn_temperature_tuning", "attn_scale", "floor_scale")
        tuned, scale, interval = (config.usual(name, USUAL[name]) for name in names)
        scale = scale if tuned else 0
        return Temperature(scale, interval, 1) if scale else None
    if settings.get("llama_4_scaling_beta"):
        return Temperature(settings["llama_4_scaling_beta"], _original(config, settings), 0)
    return None


def _score_factor(config: Configuration, settings: Fields) -> float | None:
    weight = settings.get("mscale_all_dim")
    if not ROTARY[config.type].latent or settings["rope_type"] != "yarn" or not weight:
        return None
    factor = float((0.1 * weight * math.log(settings["factor"]) + 1.0) ** 2)
    return None if factor == 1 else factor


def _context(config: Configuration, groups: Sequence[Group]) -> Context:
    extended = config.get("max_position_embeddings")
    reach = ROTARY[config.type].reach_field
    if reach and config.get(reach) is not None:
        extended = max(config.whole(reach), extended or 0)
    name = "original_max_position_embeddings"
    lengths = {group.parameters[name] for group in groups if name in group.parameters}
    stretched = any(group.scheme in ("position-interpolation", "ntk-aware") for group in groups)
    if lengths:
        return Context(max(lengths), extended)
    return Context(None if stretched else extended, extended)
