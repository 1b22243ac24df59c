"""Reading a configuration: fields get one name each; unknown ones about positions are refused."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from posenc_conformance.door import LARGEST_CONFIGURATION, read_json
from posenc_conformance.errors import UserError, in_line
from posenc_conformance.models.architectures import ROTARY
from posenc_conformance.models.defaults import (
    ARCHITECTURES,
    MISSING_IF_NULL,
    TRANSFORMERS,
    Default,
    missing_length,
    of_class,
    owner_of,
    shown,
)
from posenc_conformance.models.fields import demand_shallow, demand_sound
from posenc_conformance.models.keys.spelled import Keys, spelled, spelled_errors
from posenc_conformance.models.params import KEYS, from_json
from posenc_conformance.models.parts import (
    TEXT,
    Part,
    demand_text,
    flat_type,
    parts_of,
    type_by_class,
    with_sizes,
)
from posenc_conformance.models.types.lengths import NOT_NULL
from posenc_conformance.models.types.names import NAMES, NAMES_OF_SOME, OF_GPT_NEOX, usual_name
from posenc_conformance.models.types.others import GRIDS, LEARNED, TEXTS
from posenc_conformance.models.types.refused import NOT_SPECIFIED
from posenc_conformance.models.types.rotary import HALF
from posenc_conformance.models.understood import (
    ABOUT_POSITIONS,
    IGNORED,
    OF_ANOTHER_PART,
    SWITCHES,
    unknown_fields,
    without_idle,
)

OTHERS = (
    "bloom",
    "deberta",
    "deberta-v2",
    "jamba",
    "kimi_linear",
    "mpt",
    "mt5",
    "nemotron_h",
    "t5",
    "whisper",
)
"""Types of models whose positions are derived by a function of their own."""

STYLES: Mapping[str, tuple[str, str]] = {
    "cohere2": ("rope_gptj", "rope_gptj"),
    "esm": ("absolute", "rotary"),
    "gte": ("rope", "rope"),
    "jina_embeddings_v3": ("rotary", "rotary"),
}
"""Types with several styles of positions: the default, and the only style known here."""

NULLS: Mapping[str, str] = {
    "local_rope_theta": "older releases of transformers read as global_rope_theta, and others fail "
    "with",
    "rope_interleave": "transformers' class takes for false",
    "truncate": "transformers' class takes for false",
}
"""What is made of null by readers who do not take it for missing, by field."""

HINT = "correct it, or remove what does not belong there"

Fields = Mapping[str, Any]
"""Fields of a configuration, or of a part of it, by name."""
FieldDict = dict[str, Any]
"""Mutable fields."""


@dataclass(frozen=True)
class Configuration:
    """The fields of a configuration, with one name each."""

    type: str
    fields: Fields
    where: str
    stored: str | None = None
    """Layout of queries and keys in the file that was read; None for the layout of the type."""
    taken: tuple[Default, ...] = ()
    """What the file does not say, and its reader fills in."""
    parts: tuple[Part, ...] = ()
    """The parts of the file, if it has more than a text."""
    format: str = "config.json"
    """The format of the file."""
    keys: Keys = field(default_factory=dict)
    """The file's own keys, by the names of fields; empty if they are the same."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Names of fields in the file that are other names, by the name that is used here."""

    @property
    def layout(self) -> str:
        """The layout in which queries and keys of a rotated model are stored."""
        style = ROTARY[self.type]
        if style.chooses and self.fields.get("rope_interleave") is False:
            return self.stored or HALF
        return self.stored or style.layout

    def get(self, name: str, default: Any = None) -> Any:
        """Return a field, or the default if it is missing or null."""
        value = self.fields.get(name)
        return default if value is None else value

    def usual(self, name: str, default: Any) -> Any:
        """Return a field, or the value that its reader takes if the file does not have it.

        Raises UserError if it is null: readers keep that, or fail with it.
        """
        if self.fields.get(name, default) is None:
            raise self.null(name, default)
        return self.fields.get(name, default)

    def null(self, name: str, default: Any) -> UserError:
        """Make the error for a field that is null, and may not be."""
        inner = name.rpartition(".")[2]
        reader = NULLS.get(inner, f"{owner_of(self.type)} does not take for missing")
        return self.wrong(
            name,
            f"it is null, which {reader}",
            f"write the value that is meant; where the field is missing, {shown(default)} is taken",
        )

    def need(self, name: str) -> Any:
        """Return a field that is required to derive positions.

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

    def number(self, name: str) -> int | float:
        """Return a field that must be a number above 0.

        Raises UserError if it is not.
        """
        value = self.need(name)
        if not isinstance(value, int | float) or isinstance(value, bool) or not value > 0:
            raise self.wrong(name, f"it is {in_line(repr(value))}", "it must be a number above 0")
        return value

    def listed(self, name: str) -> list[Any]:
        """Return a field that must be a list; an empty one if it is missing or null.

        Raises UserError if it is something else.
        """
        value = self.get(name, [])
        if not isinstance(value, list):
            raise self.wrong(name, f"it is {in_line(repr(value))}", "it must be a list")
        return value

    def wrong(self, name: str, what: str, hint: str = HINT) -> UserError:
        """Make the error for a field."""
        cause = spelled(f"{in_line(self.names.get(name, name))}: {what}", self.keys)
        return UserError(f"{self.where}: {cause}", spelled(hint, self.keys))


def read_configuration(path: Path) -> Configuration:
    """Read the configuration in a file, or in a folder that has one.

    The file is a config.json of transformers or diffusers, a params.json of Mistral or Meta, or a
    GGUF file with metadata.
    """
    if path.is_dir():
        path = found_in(path)
    if path.suffix == ".gguf":
        from posenc_conformance.models.gguf import read_gguf, understood

        return understood(read_gguf(path), str(path))
    raw = as_released(path)
    given = from_json(raw, str(path))
    if given is None:
        return configuration(raw, str(path))
    fields, layout, taken, form = given
    with spelled_errors(str(path), KEYS):
        config = configuration(fields, str(path))
    return replace(config, stored=layout, taken=taken, format=form, keys=KEYS)


FILES = ("config.json", "params.json")
"""Names of files with a model's configuration, in order of preference."""


def found_in(folder: Path) -> Path:
    """Find the file in a folder that has its model's configuration.

    Raises UserError if there is none, or only several GGUF files.
    """
    for name in FILES:
        if (folder / name).is_file():
            return folder / name
    several = sorted(folder.glob("*.gguf"))
    if len(several) == 1:
        return several[0]
    text = f"{len(several)} GGUF files" if several else f"no {' and no '.join(FILES)}"
    raise UserError(f"{folder} has {text}", "give the file itself, or a folder with a config.json")


def as_released(path: Path) -> FieldDict:
    """Read the content of a config.json.

    Raises UserError if it cannot be read.
    """
    hint = "give a config.json, as models are released with"
    raw = read_json(path, LARGEST_CONFIGURATION, hint)
    if not isinstance(raw, dict):
        raise UserError(f"{path}: it is not a JSON object", "give a config.json")
    return raw


def configuration(raw: Fields, where: str) -> Configuration:
    """Check a released configuration, field by field, and return it.

    Raises UserError naming a field that is unknown, or that another one contradicts.
    """
    if "_class_name" in raw:
        from posenc_conformance.models.diffusers import of_diffusers

        return of_diffusers(raw, where)
    for name in TEXT:
        if isinstance(raw.get(name), Mapping):
            demand_shallow(raw, where)
            demand_text(raw, where)
            _demand_nothing_beside(raw, name, where)
            config = configuration(*_text_part(raw, name, where))
            return replace(config, parts=parts_of(raw))
    type, named = _type_of(raw, where)
    demand_sound(raw, where, NAMES)
    _demand_own_names(raw, type, where)
    fields = without_idle(type, _name_fields(raw, type, where))
    fields |= _length(type, fields, where)
    fields, sizes = with_sizes(type, fields) if IS_PART in raw else (fields, ())
    fields.pop(IS_PART, None)
    length = missing_length(type, fields)
    fields |= {default.field: default.value for default in length}
    defaults = ROTARY[type].defaults if type in ROTARY else {}
    names = {usual_name(name): name for name in raw if usual_name(name) not in raw}
    config = Configuration(
        type,
        {**defaults, **fields},
        where,
        parts=parts_of(raw),
        names={**_own_names(type), **names},
    )
    for name, problem, hint in unknown_fields(config.type, config.fields):
        raise config.wrong(name, problem, hint)
    _demand_values(config)
    _demand_layout(config)
    of_type = [
        replace(default, field=_own_names(type).get(default.field, default.field))
        for default in of_class(type, fields)
    ]
    return replace(config, taken=(*named, *sizes, *length, *of_type))


def _own_names(type: str) -> dict[str, str]:
    """Return the names that a type reads instead of usual ones, by these."""
    return {usual_name(own): own for own in OF_GPT_NEOX if type in NAMES_OF_SOME.get(own, ())}


def _length(type: str, fields: Fields, where: str) -> FieldDict:
    """Return the context length under its usual name, for a type with another name for it."""
    own = ROTARY[type].length_field if type in ROTARY else ""
    usual, stated = fields.get("max_position_embeddings"), fields.get(own)
    if stated is None:
        return {}
    demand_sound({"max_position_embeddings": stated}, where, NAMES)
    if usual not in (None, stated):
        raise UserError(
            f"{where}: {own}: it is {stated!r}, but max_position_embeddings is {usual!r}",
            "they are two names for one thing: keep one",
        )
    return {"max_position_embeddings": stated}


IS_PART = "(part of a file)"
"""Marks fields that transformers wrote as a part, without those that its class has by default. The
value is whether their type is such a default, too."""


def _text_part(raw: Fields, name: str, where: str) -> tuple[Fields, str]:
    """Return the part for the text and its place, with its type and the classes of the model."""
    inner = _with_type(raw[name], raw, name)
    return {**inner, IS_PART: raw[name].get("model_type") is None}, f"{where}: {name}"


def _type_of(raw: Fields, where: str) -> tuple[str, tuple[Default, ...]]:
    """Return the type of a model's text, and the default that it is, if the file does not say it.

    Raises UserError if the file does not say it, or it is not known.
    """
    stated = raw.get("model_type")
    demand_sound({"model_type": stated}, where, NAMES)
    type = type_by_class(raw) if stated is None else stated
    if type is None:
        raise UserError(f"{where}: model_type: it is missing", _hint_without_type(raw))
    type = flat_type(type, raw)
    _demand_known(type, where)
    if stated is not None and not raw.get(IS_PART):
        return type, ()
    return type, (Default("model_type", type, ARCHITECTURES if stated is None else TRANSFORMERS),)


def _hint_without_type(raw: Fields) -> str:
    if "base_model_name_or_path" in raw:
        return "this is of an adapter: give the config.json of the model that it belongs to"
    if "dim" in raw and "n_layers" in raw:
        return (
            "dim and n_layers are fields of many formats: Mistral's params.json has head_dim, "
            "n_heads and n_kv_heads too, and Meta's has multiple_of"
        )
    return "it must name the kind of model"


def _with_type(inner: Fields, outer: Fields, name: str) -> Fields:
    """Return the text part with its type, derived from the outer one if the part has none."""
    whole = outer.get("model_type")
    if inner.get("model_type") is not None or not isinstance(whole, str):
        return inner
    if any(isinstance(inner.get(key), Mapping) for key in TEXT):
        return {"model_type": f"{whole}_{name.removesuffix('_config')}", **inner}
    derived = TEXTS.get(whole, f"{whole}_text")
    types = (*ROTARY, *LEARNED, *GRIDS, *OTHERS, *NOT_SPECIFIED)
    return {**inner, "model_type": derived} if name == "text_config" and derived in types else inner


def _demand_known(type: str, where: str) -> None:
    """Raise UserError for a type of model that is unknown, or not specified yet."""
    types = (*ROTARY, *LEARNED, *GRIDS, *OTHERS)
    if type in types:
        return
    if type in NOT_SPECIFIED:
        raise UserError(
            f"{where}: model_type: {type!r} is not specified yet: {NOT_SPECIFIED[type]}",
            "nothing of it is guessed; its other parts can be judged by the schemes themselves",
        )
    if TEXTS.get(type, f"{type}_text") in (*types, *NOT_SPECIFIED):
        raise UserError(
            f"{where}: text_config: it is missing, and a model of the type {type} has a part for "
            "its text",
            "give a config.json that says what it has; defaults are not guessed",
        )
    near = [
        name
        for name in get_close_matches(type.lower(), types, 3, 0.85)
        if _may_be_meant(name, type)
    ]
    raise UserError(
        f"{where}: model_type: {type!r} is not known here",
        f"similar ones are {', '.join(near)}"
        if near
        else f"nothing is guessed of it; {len(types)} other types are read",
    )


def _may_be_meant(known: str, given: str) -> bool:
    """Return whether a name may be a misspelling of another one.

    Another version is another model, and so is a name with a letter more or less at either end, as
    gpt_neo and gpt_neox. A letter that is written once instead of twice is a slip.
    """
    words = [re.sub(r"(.)\1", r"\1", re.sub("[-_. ]", "", name.lower())) for name in (known, given)]
    digits = [[letter for letter in name if letter.isdigit()] for name in (known, given)]
    if words[0] == words[1]:
        return True
    ends = [(word[:1], word[-1:]) for word in words]
    return abs(len(known) - len(given)) < 2 and digits[0] == digits[1] and ends[0] == ends[1]


def _demand_nothing_beside(raw: Fields, text: str, where: str) -> None:
    """Raise UserError if a field about positions is only outside of the text part."""
    inner = raw[text]
    for name, value in raw.items():
        if value is None or name == text or not ABOUT_POSITIONS.search(name):
            continue
        if name in IGNORED or (name in SWITCHES and not value) or inner.get(name) == value:
            continue
        if str(raw.get("model_type")).startswith(OF_ANOTHER_PART.get(name, ("\0",))):
            continue
        raise UserError(
            f"{where}: {name}: it stands beside {text}, where the same is not said",
            f"what is meant for the text belongs into {text}",
        )


def _demand_values(config: Configuration) -> None:
    """Raise UserError for a null with which the class of this type fails."""
    for name, types in NOT_NULL.items():
        if config.type in types and config.fields.get(name, "") is None:
            raise config.wrong(
                name,
                f"it is null, with which {owner_of(config.type)} fails",
                "write the value that is meant, or remove the field",
            )


def _demand_layout(config: Configuration) -> None:
    """Raise UserError for a layout or variant that this type of model is not known to have."""
    if config.type not in ROTARY:
        return
    layout = ROTARY[config.type].layout
    chosen = "rope_interleave" if ROTARY[config.type].chooses else ""
    if chosen:
        config.usual(chosen, True)
    for name in {"rope_interleave", "rope_interleaved"} - {chosen}:
        value = config.get(name)
        if value is not None and value != (layout == "interleaved"):
            raise config.wrong(name, f"it is {value}, but the layout of {config.type} is {layout}")
    for name in ("rotary", "use_rotary_pos_emb", "original_rope"):
        if config.get(name, True) is not True:
            raise config.wrong(name, "it is not true; nothing is known of such a model")
    usual, style = STYLES.get(config.type, ("", ""))
    if config.type in STYLES and config.get("position_embedding_type", usual) != style:
        raise config.wrong("position_embedding_type", f"only {style!r} is known here")
    blocks = [config.get(name) for name in ("rope_parameters", "rope_scaling")]
    if ROTARY[config.type].scaled_by_default and blocks == [None, None]:
        raise config.wrong("rope_parameters", "it is missing, and models of this type scale")
    if any(entry != 1 for entry in config.listed("attn_type_list")):
        raise config.wrong("attn_type_list", "it is not 1 everywhere; only that is known here")
    if config.get("use_mrope") and not ROTARY[config.type].sections:
        raise config.wrong("use_mrope", f"it is true, but {config.type} has no sections")


def _demand_own_names(raw: Fields, type: str, where: str) -> None:
    """Raise UserError for a name that models of this type do not read, if its value matters."""
    for name, types in NAMES_OF_SOME.items():
        usual, value = usual_name(name), raw.get(name)
        if value in (None, raw.get(usual)) or type in types or (name, value) == ("rotary_pct", 1):
            continue
        said = f", where {usual} is {in_line(repr(raw[usual]))}" if raw.get(usual) else ""
        raise UserError(
            f"{where}: {name}: it is {in_line(repr(value))}, but {owner_of(type)} does not read it "
            f"in {type}{said}",
            f"write {usual}, if that is what is meant",
        )
    for own in OF_GPT_NEOX if type in NAMES_OF_SOME["rotary_pct"] else ():
        usual, style = usual_name(own), ROTARY[type]
        meant = raw.get(own, style.base if own == "rotary_emb_base" else style.partial)
        if raw.get(usual) not in (None, meant):
            raise UserError(
                f"{where}: {usual}: it is {in_line(repr(raw[usual]))}, but nobody reads it in "
                f"{type}, where {own} is read",
                f"write {own}, or rope_parameters.{usual}, if that is what is meant",
            )


def _name_fields(raw: Fields, type: str, where: str) -> FieldDict:
    """Return the fields with one name each. A null stands under the name that the type reads.

    Raises UserError for two names of one field that have different values.
    """
    fields = {
        name: normalise_numbers(value)
        for name, value in raw.items()
        if value is not None or name not in MISSING_IF_NULL
    }
    for name, others in NAMES.items():
        for other in others:
            given, value = other in fields, fields.pop(other, None)
            if type in NAMES_OF_SOME.get(other, ()) and fields.get(name) is None:
                fields.pop(name, None)
                fields |= {name: None} if given else {}
            if value is None:
                continue
            if fields.get(name) not in (None, value):
                raise UserError(
                    f"{where}: {other}: it is {value!r}, but {name} is {fields[name]!r}",
                    "they are two names for one thing: keep one",
                )
            fields[name] = value
    return fields


def normalise_numbers(value: Any) -> Any:
    """Return a value with all whole numbers as integers, whether written 8 or 8.0."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {name: normalise_numbers(part) for name, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [normalise_numbers(part) for part in value]
    return value
