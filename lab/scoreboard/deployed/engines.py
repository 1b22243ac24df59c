"""The table of engines: how to install each, convert a probe for it, and serve the probe."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from posenc_conformance.commands.probe import SPELLINGS
from posenc_conformance.errors import UserError
from scoreboard.table import Library

FOLDER = Path(__file__).parent
FILE = FOLDER / "engines.yaml"
HINT = "the comment at its top says what an entry holds"
TEXTS = {"title", "functions", "probe", "dtype", "convert", "serve", "impl", "says"}
LISTS = {"install", "build", "shows", "of_probe"}
FIELDS = TEXTS | LISTS | {"inside", "gguf", "layers", "variables"}
NEEDED = {"title", "install", "shows", "dtype", "impl"}


@dataclass(frozen=True)
class Engine:
    """An engine, and how to serve a probe with it."""

    name: str
    title: str
    install: tuple[str, ...]
    shows: tuple[str, ...]
    """Packages whose versions are shown; the engine's comes first."""
    dtype: str
    """The claimed dtype."""
    impl: str
    functions: str = ""
    """The library of the scoreboard that judges its functions; empty if none does."""
    probe: str = ""
    """The dtype of the probe's weights."""
    build: tuple[str, ...] = ()
    convert: str = ""
    serve: str = ""
    of_probe: tuple[str, ...] = ()
    """Parts of the engine's error messages that concern only the probe, not its model."""
    says: str = ""
    inside: bool = False
    """Whether the kit runs in the engine's environment."""
    gguf: bool = False
    """Whether the probe is a GGUF file, which has only one spelling."""
    layers: bool = False
    """Whether an adapter calls the engine's own layers instead of serving a probe."""
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def spellings(self) -> Sequence[str]:
        """The spellings of models for this engine."""
        return SPELLINGS[:1] if self.gguf or self.layers else SPELLINGS

    @property
    def pinned(self) -> tuple[str, ...]:
        """Everything that determines what is installed."""
        return (*self.install, *self.build)

    def library(self, python: str) -> Library:
        """Return the engine as a library for the board to install."""
        build = tuple(line.replace("{python}", python) for line in self.build)
        return Library(
            name=f"deployed-{self.name}",
            title=self.title,
            language="Python",
            install=self.install,
            without_dependencies=(),
            build=build,
            adapters=(),
            beside=(),
            says=self.says,
            run="",
        )


def engines(path: Path = FILE) -> list[Engine]:
    """Read the table.

    Raises UserError for an invalid entry.
    """
    raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    return [_engine(f"{path.name}: {name}", name, entry) for name, entry in raw["engines"].items()]


def unjudged(path: Path = FILE) -> Mapping[str, str]:
    """Read which engines can't be judged here, and why.

    Raises UserError for an engine without a reason.
    """
    raw = yaml.safe_load(path.read_text(encoding="utf-8"))["unjudged"]
    for title, reason in raw.items():
        if not isinstance(reason, str) or not reason.strip():
            raise UserError(f"{path.name}: unjudged.{title} has no reason", HINT)
    return dict(raw)


def select(names: Sequence[str], table: Sequence[Engine]) -> list[Engine]:
    """Return the engines of these names; all if there are none.

    Raises UserError for a name that is not in the table.
    """
    listed = [engine.name for engine in table]
    for name in names:
        if name not in listed:
            raise UserError(f"{name} is no engine of the board", f"there are {', '.join(listed)}")
    return [engine for engine in table if not names or engine.name in names]


def _engine(where: str, name: str, raw: Any) -> Engine:
    if not isinstance(raw, Mapping):
        raise UserError(f"{where} is no entry", HINT)
    for missing in sorted(NEEDED - raw.keys()):
        raise UserError(f"{where}: {missing} is missing", HINT)
    for unknown in sorted(raw.keys() - FIELDS):
        raise UserError(f"{where}: {unknown} is no field", HINT)
    for key in sorted(LISTS & raw.keys()):
        if not isinstance(raw[key], list):
            raise UserError(f"{where}: {key} is no list", HINT)
    for requirement in raw["install"]:
        if "==" not in requirement:
            raise UserError(f"{where}: {requirement!r} is not pinned", HINT)
    return Engine(name=name, **{**raw, **{key: tuple(raw[key]) for key in LISTS & raw.keys()}})
