"""Reading a configuration: one form, whatever names it uses, and nothing that is not understood."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from posenc_conformance.door import LARGEST_CONFIGURATION, read_json
from posenc_conformance.errors import UserError, in_line
from posenc_conformance.models.architectures import GRIDS, LEARNED, ROTARY
from posenc_conformance.models.fields import CHANNELS, demand_sound

OTHERS = ("bloom", "deberta", "deberta-v2", "mpt", "t5", "whisper")
"""Types of models whose positions are derived by code of their own."""

TEXT = ("text_config", "thinker_config", "llm_config")
"""Where the configuration of a model of several kinds of input keeps that of its text."""

NAMES: Mapping[str, tuple[str, ...]] = {
    "hidden_size": ("n_embd", "n_embed", "d_model"),
    "num_attention_heads": ("n_head", "n_heads", "num_heads"),
    "num_hidden_layers": ("n_layer", "n_layers", "num_layers"),
    "max_position_embeddings": ("n_positions", "max_seq_len", "seq_length"),
    "partial_rotary_factor": ("rotary_pct",),
    "rope_theta": ("rotary_emb_base",),
    "sliding_window_pattern": ("_sliding_window_pattern",),
}
"""Other names that fields have in configurations, by the name that is used here."""

DEFINED = frozenset(
    [
        "alibi",
        "alibi_bias_max",
        "attention_chunk_size",
        "attn_scale",
        "attn_temperature_tuning",
        "floor_scale",
        "full_attention_interval",
        "global_attn_every_n_layers",
        "global_head_dim",
        "global_rope_theta",
        "learned_pos_emb",
        "local_attention",
        "local_rope_theta",
        "max_position_embeddings",
        "max_relative_positions",
        "max_source_positions",
        "max_target_positions",
        "max_window_layers",
        "no_rope_layer_interval",
        "no_rope_layers",
        "norm_rel_ebd",
        "offset_alibi",
        "original_max_position_embeddings",
        "partial_rotary_factor",
        "pos_att_type",
        "position_biased_input",
        "position_buckets",
        "position_embedding_type",
        "qk_rope_head_dim",
        "relative_attention",
        "relative_attention_max_distance",
        "relative_attention_num_buckets",
        "rope_interleave",
        "rope_interleaved",
        "rope_local_base_freq",
        "rope_parameters",
        "rope_scaling",
        "rope_theta",
        "rotary",
        "rotary_dim",
        "share_att_key",
        "sliding_window",
        "sliding_window_pattern",
        "use_mrope",
        "use_sliding_window",
    ]
)
"""Fields about positions that are understood."""

ABOUT_POSITIONS = re.compile(
    r"rope|rotary|position|yarn|alibi|ntk|mscale|relative|sliding|window|attn_scale|floor_scale|"
    r"temperature_tuning|local_attention|global_attn|attention_chunk|dual_chunk|^pos_|_pos_|partial_"
)

IN_A_BLOCK: Mapping[str, frozenset[str]] = {
    name: frozenset(fields.split())
    for name, fields in {
        "default": "mrope_section mrope_interleaved",
        "linear": "factor mrope_section mrope_interleaved",
        "dynamic": "factor original_max_position_embeddings",
        "yarn": "factor original_max_position_embeddings attention_factor beta_fast beta_slow "
        "mscale mscale_all_dim truncate llama_4_scaling_beta max_position_embeddings finetuned",
        "llama3": "factor original_max_position_embeddings low_freq_factor high_freq_factor",
        "longrope": "factor original_max_position_embeddings attention_factor short_factor "
        "long_factor",
        "proportional": "factor",
    }.items()
}
"""Fields of rope_scaling and rope_parameters, by what their type is called now."""

BESIDE_ALPHA = frozenset(["alpha", "factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim"])
"""Fields of HunYuan's block, of which ``alpha`` alone decides: the rest is left over from YaRN."""

EVERYWHERE = frozenset(("type", "rope_type", "rope_theta", "partial_rotary_factor"))

NOW = {"su": "longrope", "mrope": "default"}
"""What types are called now, by their older names."""

LAYER_KINDS = {
    "full_attention": "full",
    "sliding_attention": "sliding",
    "chunked_attention": "chunked",
}
LAYER_KINDS["linear_attention"] = "linear"

HINT = "correct it, or remove what does not belong there"

Fields = Mapping[str, Any]
"""Fields of a configuration, or of a part of it, by their names."""
FieldDict = dict[str, Any]
"""Fields that somebody has just put together."""


@dataclass(frozen=True)
class Configuration:
    """The fields that decide positions, under one name each."""

    type: str
    fields: Fields
    where: str
    stored: str | None = None
    """Layout of the file that it was read from, if that is not the usual one."""

    @property
    def layout(self) -> str:
        """How queries and keys of a rotated model are stored."""
        return self.stored or ROTARY[self.type].layout

    def get(self, name: str, default: Any = None) -> Any:
        """Return a field, or the default if it is missing or null."""
        value = self.fields.get(name)
        return default if value is None else value

    def need(self, name: str) -> Any:
        """Return a field without which nothing can be said.

        Raises UserError if it is missing or null.
        """
        value = self.fields.get(name)
        if value is None:
            raise self.wrong(name, "it is missing", "positions cannot be derived without it")
        return value

    def whole(self, name: str) -> int:
        """Return a field that must be an integer above 0.

        Raises UserError if it is not.
        """
        value = self.need(name)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise self.wrong(name, f"it is {in_line(repr(value))}", "it must be an integer above 0")
        return value

    def wrong(self, name: str, what: str, hint: str = HINT) -> UserError:
        """Make the error for a field."""
        return UserError(f"{self.where}: {in_line(name)}: {what}", hint)


def read_configuration(path: Path) -> Configuration:
    """Read the configuration in a file, config.json or GGUF."""
    if path.suffix == ".gguf":
        from posenc_conformance.models.gguf import fields_of

        fields, layout = fields_of(path)
        return replace(configuration(fields, str(path)), stored=layout)
    return configuration(as_released(path), str(path))


def as_released(path: Path) -> FieldDict:
    """Read what a config.json holds.

    Raises UserError if it cannot be read.
    """
    hint = "give a config.json, as models are released with"
    raw = read_json(path, LARGEST_CONFIGURATION, hint)
    if not isinstance(raw, dict):
        raise UserError(f"{path}: it is not a JSON object", "give a config.json")
    return raw


def configuration(raw: Fields, where: str) -> Configuration:
    """Check a configuration as released, field by field, and return it.

    Raises UserError naming a field that nobody defined, or that another one contradicts.
    """
    demand_sound(raw, where, NAMES)
    for name in TEXT:
        if isinstance(raw.get(name), Mapping):
            return configuration(raw[name], f"{where}: {name}")
    type = raw.get("model_type")
    if type is None:
        raise UserError(f"{where}: model_type: it is missing", "it must name the kind of model")
    known = (*ROTARY, *LEARNED, *GRIDS, *OTHERS)
    if type not in known:
        near = get_close_matches(str(type), known, 3)
        raise UserError(
            f"{where}: model_type: {type!r} is not known here",
            f"similar ones are {', '.join(near)}"
            if near
            else f"known types are {', '.join(sorted(known))}",
        )
    found = Configuration(str(type), _name_fields(raw, where), where)
    for name, value in found.fields.items():
        if value is not None and ABOUT_POSITIONS.search(name) and name not in DEFINED:
            near = get_close_matches(name, DEFINED, 1)
            meant = f"did you mean {near[0]}? " if near else ""
            raise found.wrong(
                name,
                "it seems to be about positions, but is not known here",
                f"{meant}unknown fields about positions are refused, not ignored",
            )
    _demand_layout(found)
    return found


def _demand_layout(config: Configuration) -> None:
    """Raise UserError if a field asks for another layout than this type of model has."""
    if config.type not in ROTARY:
        return
    layout = ROTARY[config.type].layout
    for name in ("rope_interleave", "rope_interleaved"):
        given = config.get(name)
        if given is not None and given != (layout == "interleaved"):
            raise config.wrong(name, f"it is {given}, but the layout of {config.type} is {layout}")
    if config.get("rotary", True) is not True:
        raise config.wrong("rotary", "it is not true; nothing is known of such a model")
    if config.get("use_mrope") and not ROTARY[config.type].sections:
        raise config.wrong("use_mrope", f"it is true, but {config.type} has no sections")


def _name_fields(raw: Fields, where: str) -> FieldDict:
    """Return the fields under one name each.

    Raises UserError for two names of one field that have different values.
    """
    fields = {name: normalise_numbers(value) for name, value in raw.items()}
    for name, others in NAMES.items():
        for other in others:
            if other not in fields:
                continue
            value = fields.pop(other)
            if fields.get(name, value) != value:
                raise UserError(
                    f"{where}: {other}: it is {value!r}, but {name} is {fields[name]!r}",
                    "they are two names for one thing: keep one",
                )
            fields[name] = value
    return fields


def normalise_numbers(value: Any) -> Any:
    """Return a value whose whole numbers are integers, however they are written."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {name: normalise_numbers(part) for name, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [normalise_numbers(part) for part in value]
    return value


def kinds(config: Configuration) -> list[str]:
    """Return the kind of each layer: full, sliding, chunked or linear.

    Raises UserError for kinds that are unknown, or that other fields contradict.
    """
    count = config.whole("num_hidden_layers")
    implied = _implied(config, count)
    given = config.get("layer_types")
    if given is None:
        return implied or ["full"] * count
    for name in given:
        if name not in LAYER_KINDS:
            raise config.wrong(
                "layer_types", f"{name!r} is not known", f"known are {[*LAYER_KINDS]}"
            )
    stated = [LAYER_KINDS[name] for name in given]
    if len(stated) != count:
        raise config.wrong(
            "layer_types", f"it names {len(stated)} layers, but num_hidden_layers is {count}"
        )
    says = [name for name in ("sliding_window_pattern",) if config.get(name) is not None]
    if says and implied and implied != stated:
        raise config.wrong(
            says[0], f"it is {config.get(says[0])!r}, but layer_types says something else"
        )
    if "sliding" in stated and _window(config) is None:
        raise config.wrong("layer_types", "it names sliding layers, but sliding_window is null")
    return stated


def _implied(config: Configuration, count: int) -> list[str] | None:
    """Derive the kinds of layers from what else the configuration and its type say.

    Returns None if they say nothing.
    """
    if config.type == "llama4_text":
        chunked = config.get("attention_chunk_size") is not None
        return ["chunked" if turned and chunked else "full" for turned in rotated(config, count)]
    if config.type == "qwen2" or config.type.startswith(("qwen2_", "qwen3")):
        return _of_qwen(config, count)
    if config.type == "smollm3":
        sliding = config.get("use_sliding_window") and _window(config) is not None
        return ["full" if turned or not sliding else "sliding" for turned in rotated(config, count)]
    style = ROTARY[config.type]
    every = config.get("sliding_window_pattern") or config.get("global_attn_every_n_layers")
    every = every or style.pattern
    if _window(config) is None:
        return None
    if every is None:
        return ["sliding"] * count
    if isinstance(every, str):  # L for local, G for global; the last layer is global
        letters = [every[number % len(every)] for number in range(count - 1)] + ["G"]
        return ["full" if letter == "G" else "sliding" for letter in letters]
    return ["sliding" if (number + style.offset) % every else "full" for number in range(count)]


def _of_qwen(config: Configuration, count: int) -> list[str] | None:
    every = config.get("full_attention_interval", ROTARY[config.type].pattern)
    if every is not None:
        return ["linear" if (number + 1) % every else "full" for number in range(count)]
    if not config.get("use_sliding_window"):
        return None
    first = config.get("max_window_layers", 28)
    return ["sliding" if number >= first else "full" for number in range(count)]


def window(config: Configuration, kind: str) -> int | None:
    """Return how many positions a query sees in a layer of this kind; None for all."""
    return {
        "sliding": _window(config),
        "chunked": config.get("attention_chunk_size"),
    }.get(kind)


def _window(config: Configuration) -> int | None:
    if config.type == "modernbert":
        found = config.get("local_attention", 128) // 2
    elif config.type.startswith("qwen") and not config.get("use_sliding_window"):
        return None
    else:
        found = config.get("sliding_window")
    return None if found is None else int(found)


def rotated(config: Configuration, count: int) -> list[bool]:
    """Return whether each layer is rotated, for a model that leaves some layers unrotated.

    Raises UserError for fields that contradict each other or the number of layers.
    """
    every = config.get("no_rope_layer_interval", 4)
    implied = [bool((number + 1) % every) for number in range(count)]
    given = config.get("no_rope_layers") or None
    if given is None:
        return implied
    if len(given) != count or set(given) - {0, 1}:
        raise config.wrong(
            "no_rope_layers",
            f"it has {len(given)} entries of {sorted(set(given))} for {count} layers",
            "write 1 for each layer that is rotated, and 0 for each that is not",
        )
    stated = [bool(each) for each in given]
    if config.get("no_rope_layer_interval") and stated != implied:
        raise config.wrong(
            "no_rope_layer_interval", f"it is {every}, but no_rope_layers says something else"
        )
    return stated


def head_dim(config: Configuration) -> int:
    """Return the number of channels of a head that rotation looks at, rotated or not."""
    if config.get("qk_rope_head_dim") is not None:
        return config.whole("qk_rope_head_dim")
    if config.get("head_dim") is not None:
        return config.whole("head_dim")
    known = ROTARY[config.type].head_dim
    if known is not None:
        return known
    return divided(config)


def divided(config: Configuration) -> int:
    """Compute the channels of a head from those of all heads.

    Raises UserError if they cannot be divided evenly.
    """
    hidden, heads = config.whole("hidden_size"), config.whole("num_attention_heads")
    if hidden % heads:
        raise config.wrong(
            "hidden_size", f"{hidden} is not divisible by {heads} heads, and head_dim is missing"
        )
    if hidden // heads > CHANNELS:
        raise config.wrong(
            "hidden_size",
            f"{hidden} divided by {heads} heads are {hidden // heads} channels of each",
            f"a head has at most {CHANNELS:,}",
        )
    return hidden // heads


def block(config: Configuration, kind: str) -> FieldDict:
    """Return what holds of the rotation of one kind of layers: type, base, share and the rest.

    ``rope_theta`` and ``rope_type`` are always there; other fields are as given.
    """
    style = ROTARY[config.type]
    new, old = config.get("rope_parameters"), config.get("rope_scaling")
    if new is not None and old is not None and new != old:
        raise config.wrong(
            "rope_scaling", "rope_parameters is given too, and says something else", "keep one"
        )
    per_kind = isinstance(new, Mapping) and any(name in LAYER_KINDS for name in new)
    if per_kind:
        name = next(name for name, each in LAYER_KINDS.items() if each == kind)
        if new.get(name) is None:
            raise config.wrong(
                "rope_parameters", f"it has nothing for {name}, the type of some layers"
            )
        found, field = dict(new[name]), f"rope_parameters.{name}"
    elif new is not None:
        found, field = dict(new), "rope_parameters"
    else:
        found, field = dict(old or {}) if kind in style.scaled else {}, "rope_scaling"
    if not per_kind:
        found = _with_outer(config, kind, found, field)
    found["rope_type"] = _type(config, found, field)
    _demand_defined(config, found, field)
    return {name: value for name, value in found.items() if value is not None}


def _with_outer(config: Configuration, kind: str, found: FieldDict, field: str) -> FieldDict:
    """Add to a block what stands outside of it.

    Raises UserError if the two contradict each other.
    """
    style = ROTARY[config.type]
    local = kind == "sliding" and style.local_base is not None
    names = {
        "rope_theta": _base_name(config, local),
        "partial_rotary_factor": "partial_rotary_factor",
    }
    if found.get("rope_type", found.get("type")) in ("longrope", "su", "dynamic"):
        names["original_max_position_embeddings"] = "original_max_position_embeddings"
    for inner, outer in names.items():
        given = config.get(outer)
        if given is None:
            continue
        if found.get(inner, given) != given:
            raise config.wrong(
                outer, f"it is {given!r}, but {field}.{inner} is {found[inner]!r}", "keep one"
            )
        found[inner] = given
    if found.get("rope_theta") is None:
        found["rope_theta"] = style.local_base if local else style.base
    if found["rope_theta"] is None:
        raise config.wrong("rope_theta", "it is missing", "this type of model has no default")
    return found


def _base_name(config: Configuration, local: bool) -> str:
    if config.type == "modernbert":
        return "local_rope_theta" if local else "global_rope_theta"
    return "rope_local_base_freq" if local else "rope_theta"


def _type(config: Configuration, found: FieldDict, field: str) -> str:
    old, new = (_now(found.pop(name, None)) for name in ("type", "rope_type"))
    if old is not None and new is not None and old != new:
        raise config.wrong(field, f"type is {old!r} and rope_type is {new!r}", "keep one")
    scaled = set(found) - EVERYWHERE - {"mrope_section", "mrope_interleaved"}
    if old is None and new is None and scaled:
        raise config.wrong(
            f"{field}.rope_type", f"it is missing, although there is {', '.join(sorted(scaled))}"
        )
    type = str(new or old or "default")
    if type not in IN_A_BLOCK:
        raise config.wrong(
            f"{field}.rope_type", f"{type!r} is not known", f"known are {', '.join(IN_A_BLOCK)}"
        )
    return type


def _now(type: Any) -> Any:
    """Return a type under the name that it has now."""
    return NOW.get(type, type) if isinstance(type, str) else type


def _demand_defined(config: Configuration, found: Fields, field: str) -> None:
    type = found["rope_type"]
    allowed = IN_A_BLOCK[type]
    if found.get("alpha") is not None:
        _demand_alpha(config, found, field)
        allowed = BESIDE_ALPHA
    for name, value in found.items():
        if name in EVERYWHERE or name in allowed or value is None:
            continue
        elsewhere = [each for each, names in IN_A_BLOCK.items() if name in names]
        if elsewhere:
            what = f"rope_type {type!r} does not use it; these do: {', '.join(elsewhere)}"
        else:
            what = "nobody has defined it"
        raise config.wrong(f"{field}.{name}", what)
    base = found.get("rope_theta")
    if base is None:
        raise config.wrong(f"{field}.rope_theta", "it is missing")
    if isinstance(base, bool) or not isinstance(base, int | float) or not base > 1:
        raise config.wrong(f"{field}.rope_theta", f"it is {base!r}", "it must be above 1")


def _demand_alpha(config: Configuration, found: Fields, field: str) -> None:
    """Raise UserError unless alpha stands where its meaning is known."""
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
