"""The program that ``--impl`` names, by a command or by a manifest."""

import math
import os
import re
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from posenc_conformance.adapters.find import registered
from posenc_conformance.door import named, read_text
from posenc_conformance.errors import UserError, in_line
from posenc_conformance.remote.peer import Command

MARK = "posenc-program"
FIELDS = {
    MARK: "1, the version of this format",
    "command": "the program and its arguments: a text, or a list of texts",
    "folder": "where to start it, relative to the manifest; the manifest's own folder if left out",
    "environment": "a table of texts: variables that are added to the environment",
    "limits": "a table: seconds of a call, starting (seconds), memory (such as '4GB')",
}
LARGEST_MANIFEST = 2**20
LARGEST_MEMORY = 2**60
LIMITS = ("seconds", "starting", "memory")


@dataclass(frozen=True)
class Manifest:
    """How to start a program, and its limits, None for the default."""

    command: Command
    place: str
    """File of the manifest, or the program's name."""
    seconds: float | None = None
    starting: float | None = None
    memory: int | None = None


def manifest_of(name: str) -> Manifest | None:
    """Return the manifest of the program that a name stands for; None if it is no program.

    Raises UserError for an invalid manifest, and for a command with unclosed quotes.
    """
    if name in registered() or (name.endswith(".py") and os.path.isfile(name)):
        return None
    if name.endswith(".toml"):
        return _read_manifest(Path(name))
    try:
        words = shlex.split(name)
    except ValueError as error:
        raise UserError(
            f"--impl={in_line(name)} is not a command: {error}", "close the quotes"
        ) from None
    python = re.fullmatch(r".+\.py(:\w+)?", words[0]) if len(words) == 1 else None
    if not words or python or (len(words) == 1 and "/" not in name):
        return None
    return Manifest(Command(words), words[0])


def amount_of(text: str, what: str) -> int:
    """Convert a text such as 500MB or 4 GB to bytes; 0 means no limit.

    Raises UserError, whose message begins with ``what``, for any other text.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?) ?([kMGT]?)B?", text.strip())
    size = float(match[1]) * 1000.0 ** " kMGT".index(match[2] or " ") if match else math.inf
    if size > LARGEST_MEMORY:
        raise UserError(
            f"{what}: {in_line(text)!r} is not a memory size", "such as 4GB, or 0 for no limit"
        )
    return int(size)


def seconds_of(value: Any, what: str) -> float:
    """Return a positive time in seconds.

    Raises UserError, whose message begins with ``what``, for a value that is no number, not above 0
    or above 10**6.
    """
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < value <= 10**6:
        raise UserError(
            f"{what}: {in_line(repr(value))} is not a valid number of seconds", "give more than 0"
        )
    return float(value)


def _read_manifest(path: Path) -> Manifest:
    text = read_text(path, "--impl takes the manifest of a program", LARGEST_MANIFEST)
    with named(path, "see https://toml.io", "is no TOML"):
        raw = tomllib.loads(text)
    hint = "; ".join(f"{name}: {meaning}" for name, meaning in FIELDS.items())
    unknown = [name for name in raw if name not in FIELDS]
    if unknown:
        raise UserError(f"{path}: {in_line(unknown[0])!r} is not a field of a manifest", hint)
    if raw.get(MARK) is True or raw.get(MARK) != 1:
        raise UserError(f"{path} does not say {MARK} = 1", hint)
    words = _words(raw.get("command"))
    if not words:
        raise UserError(f"{path}: command is {in_line(repr(raw.get('command')))}", hint)
    home = path.resolve().parent
    folder = home / _text(path, "folder", raw.get("folder", "."))
    if not _is_folder(folder):
        raise UserError(f"{path}: folder: {in_line(folder)} is no folder", hint)
    environment = _table(path, "environment", raw)
    for name, value in environment.items():
        _text(path, f"environment.{name}", value)
    limits = _table(path, "limits", raw)
    for name in limits:
        if name not in LIMITS:
            raise UserError(
                f"{path}: limits.{in_line(name)} is no limit", f"there are {', '.join(LIMITS)}"
            )
    seconds, starting = (
        seconds_of(limits[name], f"{path}: limits.{name}") if name in limits else None
        for name in ("seconds", "starting")
    )
    memory = None
    if "memory" in limits:
        where = f"{path}: limits.memory"
        memory = amount_of(_text(path, "limits.memory", limits["memory"]), where)
    return Manifest(Command(words, folder, environment), str(path), seconds, starting, memory)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # the name is too long
        return False


def _words(command: Any) -> list[str]:
    """Return program and arguments; empty if they are neither a text nor a list of texts."""
    if isinstance(command, str):
        try:
            return shlex.split(command)
        except ValueError:
            return []
    if isinstance(command, list) and all(isinstance(word, str) and word for word in command):
        return command
    return []


def _text(path: Path, name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise UserError(
            f"{path}: {in_line(name)} is {in_line(repr(value))}, which is no text",
            "put it in quotes",
        )
    return value


def _table(path: Path, name: str, raw: Mapping[str, Any]) -> Mapping[str, Any]:
    value = raw.get(name, {})
    if not isinstance(value, dict):
        raise UserError(f"{path}: {name} is no table", f"{name}: {FIELDS[name]}")
    return value
