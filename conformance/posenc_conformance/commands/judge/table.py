"""The table of engines that ``posenc judge`` can start."""

import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from posenc_conformance.deployed.checkpoint.writing import STORED
from posenc_conformance.door import read_text
from posenc_conformance.errors import UserError, in_line
from posenc_conformance.files import shown
from posenc_conformance.scheme_file.strict_yaml import load_yaml

FILE = Path(__file__).with_name("engines.yaml")
SERVERS = Path(__file__).with_name("servers")
"""The folder of servers for engines that have none."""
MARK = "posenc-engines"
FORMAT = 1
TEXTS = ("title", "install", "cache", "convert", "serve", "name", "needs", "tried")
LISTS = ("modules", "dtypes", "repair")
FIELDS = (*TEXTS, *LISTS, "gguf", "variables")
PLACES = ("folder", "probe", "out", "port", "tokens", "dtype", "python", "servers")
"""Names that a command may have in braces."""
FORM = (
    f"posenc engines shows entries; the comment at the top of {FILE.name} in the kit explains them"
)


@dataclass(frozen=True)
class Engine:
    """An engine, and how to start it."""

    id: str
    title: str
    dtypes: tuple[str, ...]
    """Dtypes of weights and activations; the first is the usual one."""
    install: str = ""
    modules: tuple[str, ...] = ()
    cache: str = ""
    """Dtype of the cache; empty if it is that of the activations."""
    gguf: bool = False
    convert: str = ""
    serve: str = ""
    """The command; empty if the kit loads the probe in its own process."""
    name: str = ""
    """The name of the probe at the engine; empty if the engine's list of models has it."""
    variables: Mapping[str, str] = field(default_factory=dict)
    needs: str = ""
    repair: tuple[str, ...] = ()
    tried: str = ""
    is_own: bool = False
    """Whether it is a command of the user's, which is in no table."""

    @property
    def commands(self) -> Iterator[str]:
        """The programs that the engine's lines begin with, the interpreter excepted."""
        for line in (self.convert, self.serve):
            program = line.partition(" ")[0]
            if program and program != "{python}":
                yield program


@dataclass(frozen=True)
class Table:
    """Engines that can be started, and reasons why others cannot."""

    engines: Mapping[str, Engine]
    others: Mapping[str, str]

    def knows(self, name: str) -> bool:
        """Return whether a name is that of an engine."""
        titles = {engine.title.lower() for engine in self.engines.values()}
        return name.lower() in {*self.engines, *self.others, *titles}

    def engine(self, name: str) -> Engine:
        """Return the engine of a name.

        Raises UserError if there is none, with names that are close.
        """
        key = name.lower()
        if key in self.engines:
            return self.engines[key]
        for engine in self.engines.values():
            if engine.title.lower() == key:
                return engine
        if key in self.others:
            raise UserError(f"{key} cannot be started by the kit", self.others[key])
        near = get_close_matches(key, [*self.engines, *self.others], 3, 0.5)
        hint = f"similar ones are {', '.join(near)}" if near else "posenc engines lists them"
        own = "or give a command with {folder} and {port} in it"
        raise UserError(f"there is no engine {in_line(repr(name))} in the table", f"{hint}; {own}")


def read_table(files: Sequence[str]) -> Table:
    """Read the kit's table, and those of the user, whose entries replace others of the same name.

    Raises UserError for a file that cannot be read, and for an invalid entry.
    """
    engines: dict[str, Engine] = {}
    others: dict[str, str] = {}
    for path in (FILE, *map(Path, files)):
        raw = _content(path)
        for name, entry in _mapping(f"{shown(path)}: engines", raw.get("engines")).items():
            engines[name.lower()] = _engine(f"{shown(path)}: {in_line(name)}", name, entry)
        for name, reason in _mapping(f"{shown(path)}: others", raw.get("others")).items():
            others[name.lower()] = str(reason)
    return Table(engines, {name: others[name] for name in others.keys() - engines.keys()})


def _content(path: Path) -> Mapping[str, Any]:
    raw = load_yaml(shown(path), read_text(path, FORM))
    if not isinstance(raw, Mapping) or raw.get(MARK) != FORMAT:
        raise UserError(f"{shown(path)} is no table of engines", f"it begins with {MARK}: {FORMAT}")
    return raw


def _mapping(where: str, raw: Any) -> Mapping[str, Any]:
    if raw is None:
        return {}
    if not isinstance(raw, Mapping):
        raise UserError(f"{where} is no mapping", FORM)
    return raw


def _engine(where: str, name: str, raw: Any) -> Engine:
    """Make an engine of an entry; raise UserError for fields that are missing, unknown or wrong."""
    fields = _mapping(where, raw)
    for key in fields:
        if key not in FIELDS:
            near = get_close_matches(key, FIELDS, 1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise UserError(f"{where}: {in_line(key)} is no field", f"{hint}{FORM}")
        _demand_type(f"{where}: {key}", key, fields[key])
    lists = {key: tuple(fields[key]) for key in LISTS if key in fields}
    engine = Engine(**{"id": name, "title": name, "dtypes": (), **fields, **lists})
    _demand_sense(where, engine)
    return engine


def _demand_type(where: str, key: str, value: Any) -> None:
    if key in TEXTS and not isinstance(value, str):
        raise UserError(f"{where} is no text", FORM)
    if key == "gguf" and not isinstance(value, bool):
        raise UserError(f"{where} is neither true nor false", FORM)
    if key == "variables" and not _are_texts(_mapping(where, value).items()):
        raise UserError(f"{where} has names and values that are no texts", "put them in quotes")
    if key in LISTS and not (isinstance(value, list) and _are_texts([value])):
        raise UserError(f"{where} is no list of texts", FORM)


def _are_texts(rows: Any) -> bool:
    return all(isinstance(item, str) for row in rows for item in row)


def _demand_sense(where: str, engine: Engine) -> None:
    """Raise UserError for dtypes that there are not, and for commands that cannot work."""
    for dtype in (*engine.dtypes, *filter(None, [engine.cache])):
        if dtype not in STORED:
            known = ", ".join(STORED)
            raise UserError(f"{where}: {in_line(dtype)} is no dtype of probes", f"give {known}")
    if not engine.dtypes:
        raise UserError(f"{where}: dtypes is missing", f"give some of {', '.join(STORED)}")
    demand_places(f"{where}: convert", engine.convert, ("probe", "out") if engine.convert else ())
    demand_places(f"{where}: serve", engine.serve, ("folder", "port") if engine.serve else ())


def demand_places(where: str, command: str, needed: Sequence[str]) -> None:
    """Raise UserError for a command with unknown names in braces, or without a needed one."""
    try:
        names = {name for _, name, _, _ in string.Formatter().parse(command) if name is not None}
    except ValueError as error:
        raise UserError(
            f"{where}: {in_line(command)}: {error}", "double a brace that is meant itself"
        ) from error
    for name in sorted(names - {*PLACES}):
        known = ", ".join(f"{{{place}}}" for place in PLACES)
        raise UserError(f"{where}: {{{in_line(name)}}} is not known", f"there are {known}")
    for name in needed:
        if name not in names:
            raise UserError(f"{where} has no {{{name}}}", f"put {{{name}}} where it belongs")
