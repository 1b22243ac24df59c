"""The table ``[tool.posenc]`` of a project's pyproject.toml."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from posenc_conformance.errors import UserError, describe_exception, in_line

KEY = "implementation"
"""The key that says what to judge; all others are names of options."""
FILES, PROGRAM = ("FILE", "FOLDER"), "PATH"
"""What options call values that are paths, and one that is a path or a program's name."""
WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}

Options = Mapping[str, Mapping[str, Any]]
"""The options ``--posenc-NAME`` as pytest's parser takes them, by name."""


@dataclass(frozen=True)
class Settings:
    """What a project sets."""

    implementation: str
    """What ``--impl`` takes; empty if nothing is set."""
    values: Mapping[str, Sequence[str] | bool]
    """Values of options, by name; an option that may be repeated can have several."""

    def arguments(self, typed: Sequence[str]) -> list[str]:
        """Return the settings as arguments; of options that add up, those that are not typed."""
        names = {word.partition("=")[0] for word in typed}
        return [
            f"--posenc-{name}" if each is True else f"--posenc-{name}={each}"
            for name, values in self.values.items()
            if f"--posenc-{name}" not in names and values is not False
            for each in ([True] if values is True else values)
        ]


def read_settings(file: Path, options: Options) -> Settings:
    """Read the table ``[tool.posenc]`` of a file; empty settings if there is none.

    Paths are seen from the file's folder. Raises UserError for an unknown key or a wrong value.
    """
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {}).get("posenc", {})
    except (OSError, ValueError) as error:
        raise UserError(
            f"{in_line(file)} cannot be read: {describe_exception(error)}", "correct the file"
        ) from None
    where = f"{in_line(file)}: [tool.posenc]"
    if not isinstance(table, dict):
        raise UserError(f"{where} is no table", "write [tool.posenc], and keys below it")
    keys = [KEY, *options]
    for key in table:
        if key not in keys:
            near = get_close_matches(key, keys, n=1)
            guess = f"did you mean {near[0]!r}? " if near else ""
            raise UserError(
                f"{where} has no key {in_line(key)!r}", f"{guess}keys are {', '.join(keys)}"
            )
    name = _of_kind(str, table.get(KEY, ""), f"{where}: {KEY}")
    path, suffix, attribute = name.partition(".py")
    if suffix and (place := file.parent / f"{path}.py").is_file():
        name = f"{place}{attribute}"
    values = {
        key: _value(file.parent, options[key], value, f"{where}: {key}")
        for key, value in table.items()
        if key != KEY
    }
    return Settings(name, values)


def _value(
    folder: Path, option: Mapping[str, Any], value: object, where: str
) -> Sequence[str] | bool:
    """Return the value of a key as text, or as several; a switch as true or false."""
    action = option.get("action")
    if action == "store_true":
        return bool(_of_kind(bool, value, where))
    several = value if action == "append" and isinstance(value, list) else [value]
    kind = option.get("type", str)
    texts = [str(_of_kind(kind, each, where)) for each in several]
    name = option.get("metavar")
    return [
        str(folder / Path(text).expanduser())
        if name in FILES or (name == PROGRAM and "/" in text)
        else text
        for text in texts
    ]


def _of_kind(kind: type, value: Any, where: str) -> Any:
    """Return a value of a type; a whole number is also a number, but true is not.

    Raises UserError for any other value.
    """
    fits = isinstance(value, (int, float) if kind is float else kind)
    if not fits or (isinstance(value, bool) and kind is not bool):
        raise UserError(f"{where} cannot be {in_line(repr(value))}", f"give {WORDS[kind]}")
    return value
