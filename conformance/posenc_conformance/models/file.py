"""Model files: reading them, checking them, and their contents as plain data."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any

from posenc_conformance.door import named, read_text
from posenc_conformance.errors import UserError, in_line
from posenc_conformance.models.configuration import (
    Configuration,
    FieldDict,
    Fields,
    as_released,
    configuration,
    found_in,
    normalise_numbers,
)
from posenc_conformance.models.derive import meaning
from posenc_conformance.models.meaning import (
    Context,
    Group,
    Meaning,
    Temperature,
    passed,
    scheme_of,
    unwritten,
)
from posenc_conformance.models.sources import Source, is_known, read_source, with_one_source
from posenc_conformance.scheme_file import cache
from posenc_conformance.scheme_file.read import begins_with, located_error, spec_folder, validate
from posenc_conformance.scheme_file.scheme import Golden

SCHEMA = "model.schema.json"
NOT_UNDERSTOOD = "compare it with the configuration of a released model of its type"


@dataclass(frozen=True)
class KnownDeviation:
    """A mistake that implementations have made with a model."""

    id: str
    description: str
    links: tuple[str, ...]


@dataclass(frozen=True)
class Model:
    """One model file."""

    path: Path
    id: str
    title: str
    repository: str
    summary: str
    sources: tuple[Source, ...]
    config: Fields
    meaning: Meaning
    layout_note: str
    mistakes: tuple[KnownDeviation, ...]
    goldens: tuple[tuple[Group, Golden], ...]
    provenance: Mapping[str, str]

    @property
    def configuration(self) -> Configuration:
        """The model's configuration, read like any other."""
        return configuration(self.config, self.path.name)

    @property
    def one_source(self) -> tuple[str, ...]:
        """What is decided by values that only one independent source states.

        Empty for a user's own config.json, which is its own source.
        """
        return with_one_source(flat(self.config), self.sources) if self.sources else ()


def paths() -> list[Path]:
    """List the model files of the installed spec, sorted by name."""
    files = (spec_folder() / "models").rglob("*.yaml")
    return sorted(files, key=lambda path: path.name)


def model_named(name: str) -> Model:
    """Find the model with an id, a title or a name on Hugging Face.

    Raises UserError if there is none.
    """
    ids = {path.stem: path for path in paths()}
    key = name.removesuffix(".yaml").lower()
    if key in ids:
        return load_model(ids[key])
    for path in ids.values():
        model = load_model(path)
        if key in (model.repository.lower(), model.title.lower()):
            return model
    near = [id for id in ids if id.startswith(key)] or get_close_matches(key, ids, 3, 0.4)
    raise UserError(
        f"there is no model {in_line(repr(name))} in the spec, and no such file",
        f"similar ones are {', '.join(near)}" if near else "for a list run: posenc model",
    )


def load_all() -> list[Model]:
    """Load every model of the installed spec."""
    return [*load_together(tuple(paths()))]


@lru_cache(maxsize=4)
def load_together(paths: tuple[Path, ...]) -> tuple[Model, ...]:
    """Load several model files; once all of them are valid, they are cached together.

    Raises UserError naming file, line and field if one violates the schema.
    """
    texts = [_text(path) for path in paths]
    name = cache.key(_text(spec_folder() / SCHEMA), *map(str, paths), *texts)
    cached = cache.recall(name)
    read = cached
    if cached is None:
        read = [validate(*entry, SCHEMA) for entry in zip(paths, texts, strict=True)]
    models = tuple(_checked(*entry) for entry in zip(paths, texts, read, strict=True))
    if cached is None:
        cache.keep(name, read)
    return models


def _text(path: Path) -> str:
    return read_text(path, "give a model file")


def _checked(path: Path, text: str, raw: Fields) -> Model:
    """Make a model from the content of a file.

    Raises UserError naming file, line and field for errors that the schema cannot detect.
    """
    model = _model(path, raw)
    for place, problem in _inconsistencies(model, raw):
        raise located_error(path, text, place, problem, SCHEMA)
    return model


MARK = "posenc-model:"


def is_model_file(path: Path) -> bool:
    """Return whether a YAML file declares itself a model."""
    return begins_with(path, MARK)


def model_file(name: str) -> Path:
    """Find the file that --posenc-model names.

    Raises UserError if there is none.
    """
    path = Path(name)
    if os.path.isdir(name):  # Path.is_dir raises for a name that is too long
        path = found_in(path)
    if path.name == "params.json":
        raise UserError(
            f"--posenc-model={name}: an engine is given a config.json",
            "give the config.json of the model; posenc model reads params.json too",
        )
    if path.suffix == ".json":
        return Path(os.path.realpath(path))
    if path.suffix == ".gguf":
        raise UserError(
            f"--posenc-model={name}: an engine needs the configuration as a dict",
            "give the config.json that the file was made from; posenc model reads GGUF too",
        )
    try:
        return model_named(name).path.resolve()
    except UserError as error:
        hint = f"{error.hint}; for a model of your own, give the path of its config.json"
        raise UserError(f"--posenc-model={in_line(name)}: {error.cause}", hint) from None


def with_configuration(path: Path) -> Model:
    """Make a model from a user's own config.json.

    Raises UserError for a config.json that contradicts itself, or that is not understood.
    """
    raw = as_released(path)
    with named(path, NOT_UNDERSTOOD, "is not understood"):
        config = configuration(raw, str(path))
        title = f"a model of the type {config.type}"
        return Model(path, path.name, title, "", title, (), raw, meaning(config), "", (), (), {})


@lru_cache(maxsize=256)
def load_model(path: Path) -> Model:
    """Load one model file.

    Raises UserError naming file, line and field if it violates the schema.
    """
    text = _text(path)
    return _checked(path, text, validate(path, text, SCHEMA))


def _model(path: Path, raw: Fields) -> Model:
    groups = tuple(_group(group, raw["config"], path) for group in raw["groups"])
    named = {group.id: group for group in groups}
    context = raw["context"]
    return Model(
        path=path,
        id=raw["id"],
        title=raw["title"],
        repository=raw["repository"],
        summary=raw["summary"],
        sources=tuple(read_source(key, source) for key, source in raw["sources"].items()),
        config=raw["config"],
        meaning=Meaning(
            groups,
            Context(context.get("original"), context.get("extended")),
            raw.get("layout"),
        ),
        layout_note=raw.get("layout_note", ""),
        mistakes=tuple(
            KnownDeviation(item["id"], item["description"], tuple(item["links"]))
            for item in raw["mistakes"]
        ),
        goldens=tuple(
            (named[item["group"]], _golden(item, named[item["group"]]))
            for item in raw["goldens"]
            if item["group"] in named
        ),
        provenance=raw.get("provenance", {}),
    )


def _group(raw: Fields, config: Fields, path: Path) -> Group:
    warm = raw.get("temperature")
    return Group(
        id=raw["id"],
        layers=unwritten(raw["layers"]),
        scheme=raw["scheme"],
        attention=raw.get("attention", "full"),
        window=raw.get("window"),
        call=raw.get("call"),
        combination=raw.get("combination"),
        options=raw.get("options", {}),
        parameters={
            name: _value(value, config, path) for name, value in raw.get("parameters", {}).items()
        },
        temperature=Temperature(**warm) if warm else None,
        score_factor=raw.get("score_factor"),
    )


def _value(value: Any, config: Fields, path: Path) -> Any:
    """Return a parameter, or the field of the configuration that it points to.

    Raises UserError if it points to no field.
    """
    if not isinstance(value, Mapping):
        return value
    name = str(value.get("config"))
    leaves = flat(config)
    if name not in leaves:
        raise UserError(f"{path}: groups: there is no {name} in config", "name a field of it")
    return [float(number) for number in leaves[name]]


def _golden(raw: Fields, group: Group) -> Golden:
    """Convert a golden of a model to a golden of its group's scheme."""
    return Golden(
        id=raw["id"],
        call=group.call or "",
        combination=group.combination or "",
        options=group.options,
        kills="",
        source="",
        arguments={**passed(group), **raw["arguments"]},
        values=raw["expect"].get("values"),
        probes=raw["expect"].get("probes"),
        sha256=raw.get("sha256", ""),
    )


def flat(config: Fields, before: str = "") -> FieldDict:
    """Flatten the fields of a configuration; those of a block become ``block.field``."""
    fields: FieldDict = {}
    for name, value in config.items():
        if isinstance(value, Mapping):
            fields |= flat(value, f"{before}{name}.")
        else:
            fields[f"{before}{name}"] = value
    return fields


Problem = tuple[Sequence[str | int], str]


def _inconsistencies(model: Model, raw: Fields) -> list[Problem]:
    """Find errors in a model file that the schema cannot detect."""
    problems: list[Problem] = []
    if model.id != model.path.stem:
        problems.append((["id"], f"the file is called {model.path.name}"))
    leaves = flat(model.config)
    read = {field for source in model.sources if not source.apart for field in source.fields}
    problems += [(["config"], f"{field} is in no source") for field in leaves if field not in read]
    problems += [
        (["config"], f"what {field} decides is not in TOPICS of models/sources.py")
        for field in leaves
        if not is_known(field)
    ]
    for source in model.sources:
        where = ["sources", source.key, "fields"]
        problems += [
            (where, f"{field} is not in config") for field in source.fields if field not in leaves
        ]
        where = ["sources", source.key, "differs"]
        problems += [
            (where, f"{field} is as in config")
            for field, value in source.differs.items()
            if field in leaves and normalise_numbers(leaves[field]) == normalise_numbers(value)
        ]
    groups = {group.id for group in model.meaning.groups}
    for number, item in enumerate(raw["goldens"]):
        if item["group"] not in groups:
            problems.append((["goldens", number, "group"], "there is no such group"))
    for number, group in enumerate(model.meaning.groups):
        scheme = scheme_of(group)
        if group.call is not None and group.call not in scheme.calls:
            problems.append((["groups", number, "call"], f"{scheme.id} has no such call"))
        elif group.call and group.combination not in scheme.calls[group.call].combinations:
            problems.append((["groups", number, "combination"], f"{group.call} has no such one"))
    return problems
