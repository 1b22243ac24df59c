"""The table of libraries: how to install each, and which adapters judge it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from posenc_conformance.adapters.find import registered
from posenc_conformance.errors import UserError

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent
IMPLEMENTATIONS = ROOT / "conformance" / "posenc_conformance" / "implementations"
BOARD = IMPLEMENTATIONS / "board"
"""Folder of unregistered adapters, which the wheel leaves out."""
FILE = FOLDER / "libraries.yaml"
HINT = "the comment at its top says what an entry holds"
FIELDS = {
    "title",
    "language",
    "install",
    "without_dependencies",
    "build",
    "adapters",
    "beside",
    "says",
    "run",
    "gpu",
}


@dataclass(frozen=True)
class Adapter:
    """One row of the board: an adapter, and its program or file."""

    name: str
    impl: str
    """The value of ``--impl``; empty if the library has a command to run."""
    files: tuple[Path, ...]
    """The files with its code."""
    known: Path | None
    """Its file of known failures, if any."""


@dataclass(frozen=True)
class Library:
    """A library, and what its environment needs."""

    name: str
    title: str
    language: str
    install: tuple[str, ...]
    without_dependencies: tuple[str, ...]
    build: tuple[str, ...]
    """Commands that build the program after installation, run in the environment's folder."""
    adapters: tuple[Adapter, ...]
    beside: tuple[Adapter, ...]
    """Adapters without a row on the board."""
    says: str
    run: str
    """The command that runs the built program."""
    gpu: bool = False
    """Whether it is judged on a GPU."""

    @property
    def is_shipped(self) -> bool:
        """Whether the kit ships one of its adapters, so that `make real` judges it."""
        return any(adapter.name == adapter.impl for adapter in self.adapters)

    @property
    def packages(self) -> tuple[str, ...]:
        """The Python packages to install."""
        return (*self.install, *self.without_dependencies)

    @property
    def pinned(self) -> tuple[str, ...]:
        """Everything that determines what is installed."""
        return (*self.packages, *self.build)


@cache
def libraries(path: Path = FILE) -> tuple[Library, ...]:
    """Read all libraries of the table.

    Raises UserError for an invalid entry.
    """
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UserError(f"{path} cannot be read: {error}", HINT) from None
    if not isinstance(raw, Mapping) or not isinstance(raw.get("libraries"), Mapping):
        raise UserError(f"{path} has no mapping of libraries", HINT)
    entries = [_library(path, str(name), entry) for name, entry in raw["libraries"].items()]
    names = [adapter.name for library in entries for adapter in library.adapters]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise UserError(f"{path}: the adapter {min(twice)} stands there twice", "drop one of them")
    return tuple(entries)


def _library(path: Path, name: str, entry: Any) -> Library:
    where = f"{path}: libraries.{name}"
    if not isinstance(entry, Mapping):
        raise UserError(f"{where} is no mapping", HINT)
    unknown = sorted(set(entry) - FIELDS)
    if unknown:
        raise UserError(f"{where}.{unknown[0]} is no field", f"fields are {', '.join(FIELDS)}")
    texts = {
        field: _texts(f"{where}.{field}", entry.get(field, []))
        for field in ("install", "without_dependencies", "build", "adapters", "beside")
    }
    for requirement in (*texts["install"], *texts["without_dependencies"]):
        if "==" not in requirement:
            raise UserError(
                f"{where}: {requirement!r} is not pinned", "name a version: package==1.2.3"
            )
    for field in ("title", "language"):
        if not isinstance(entry.get(field), str):
            raise UserError(f"{where}.{field} is no text", HINT)
    if not isinstance(entry.get("gpu", False), bool):
        raise UserError(f"{where}.gpu is neither true nor false", HINT)
    if not texts["adapters"]:
        raise UserError(f"{where} has no adapters", HINT)
    return Library(
        name,
        entry["title"],
        entry["language"],
        texts["install"],
        texts["without_dependencies"],
        texts["build"],
        tuple(_adapter(where, adapter) for adapter in texts["adapters"]),
        tuple(_adapter(where, adapter) for adapter in texts["beside"]),
        str(entry.get("says", "")),
        str(entry.get("run", "")),
        entry.get("gpu", False),
    )


def _texts(where: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise UserError(f"{where} is no list of texts", HINT)
    return tuple(value)


def _adapter(where: str, name: str) -> Adapter:
    """Find an adapter by name.

    It is a file of the board, an adapter of the kit, an example of the documentation, a program in
    this folder, or a program in a harness.
    Raises UserError if there is none of these.
    """
    file_name = f"{name.replace('-', '_')}_adapter.py"
    file = next(BOARD.rglob(file_name), BOARD / file_name)
    example = ROOT / "docs" / "examples" / file_name
    programs = FOLDER / "programs"
    points = _registered()
    files: tuple[Path, ...]
    if file.is_file():
        impl, files = str(file.relative_to(ROOT)), (file,)
    elif name in points:
        impl, files = name, _code_of(points[name].module)
    elif example.is_file():
        impl, files = str(example.relative_to(ROOT)), (example,)
    elif (programs / name).is_file():
        impl, files = "", tuple(sorted(programs.iterdir()))  # one may include another
    elif examples := sorted((ROOT / "harness").glob(f"*/{name}")):
        impl, files = "", tuple(examples)
    else:
        raise UserError(
            f"{where}: there is no adapter {name}",
            f"it is neither registered nor a file {file.relative_to(ROOT)}",
        )
    known_failures = ROOT / "tests" / "known" / f"{name}.yaml"
    return Adapter(name, impl, files, known_failures if known_failures.is_file() else None)


_registered = cache(registered)
"""The registered adapters, cached: reading what is installed is slow."""


def _code_of(module: str) -> tuple[Path, ...]:
    path = ROOT / "conformance" / Path(*module.split("."))
    return tuple(sorted(path.glob("*.py"))) if path.is_dir() else (path.with_suffix(".py"),)


def select(names: Sequence[str], table: Sequence[Library]) -> list[tuple[Library, Adapter]]:
    """Return the adapters that ``names`` lists directly or by their library; all if it is empty.

    Raises UserError for a name that is not in the table.
    """
    pairs = [(library, adapter) for library in table for adapter in library.adapters]
    listed = {name for library, adapter in pairs for name in (library.name, adapter.name)}
    for name in names:
        if name not in listed:
            raise UserError(f"{name} is not on the board", f"there are {', '.join(sorted(listed))}")
    return [
        (library, adapter)
        for library, adapter in pairs
        if not names or {library.name, adapter.name} & set(names)
    ]


if __name__ == "__main__":  # for a workflow with a job per library
    print("libraries=" + json.dumps([library.name for library in libraries() if not library.gpu]))
