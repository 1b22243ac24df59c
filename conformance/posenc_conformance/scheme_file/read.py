"""Find scheme files, validate them against their schema, and build schemes from them."""

import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import fastjsonschema

from posenc_conformance.door import LARGEST_CONFIGURATION, opened, read_text
from posenc_conformance.errors import UserError, in_line
from posenc_conformance.scheme_file import cache
from posenc_conformance.scheme_file.build import scheme_of
from posenc_conformance.scheme_file.inconsistencies import inconsistencies
from posenc_conformance.scheme_file.scheme import Scheme
from posenc_conformance.scheme_file.strict_yaml import find_line, load_yaml

MARK = "posenc-scheme:"
FORMAT = 2
SCHEMA_NAME = "scheme.schema.json"


def spec_folder() -> Path:
    """Find the folder of the scheme files: inside the installed package, or in the checkout.

    Raises UserError if they are in neither.
    """
    here = Path(__file__).resolve()
    for candidate in (here.parents[1] / "spec", here.parents[3] / "spec"):
        if (candidate / SCHEMA_NAME).is_file():
            return candidate
    raise UserError(
        f"the scheme files are neither in {here.parents[1] / 'spec'} nor in a checkout",
        "reinstall posenc",
    )


GROUP = "posenc.schemes"
"""The entry point group of packages that contain scheme files."""


def scheme_paths() -> list[Path]:
    """List the scheme files of the installed spec, sorted by name, then those of other packages."""
    own = (path for home in _homes() for path in scheme_files(home))
    return [*paths_by_name().values(), *own]


@lru_cache(maxsize=1)
def paths_by_name() -> Mapping[str, Path]:
    """Map scheme names to the scheme files of the installed spec, sorted by name.

    Each file is in the folder of its family.
    """
    paths = (path for path in spec_folder().glob("*/*.yaml") if path.parent.name != "models")
    return {path.stem: path for path in sorted(paths, key=lambda path: path.name)}


def is_shipped(path: Path) -> bool:
    """Return whether a scheme file belongs to the installed spec."""
    return spec_folder() in path.parents


def scheme_files(place: Path) -> list[Path]:
    """List the scheme files in a folder, sorted by name."""
    return sorted(path for path in place.glob("*.yaml") if is_scheme_file(path))


def scheme_files_in(folders: Sequence[str]) -> list[Path]:
    """List the scheme files of the folders that --posenc-schemes names.

    Raises UserError for a folder without any.
    """
    paths: list[Path] = []
    for name in folders:
        # Path.is_dir raises for a name that is too long.
        files = scheme_files(Path(name)) if os.path.isdir(name) else []
        if not files:
            raise UserError(
                f"--posenc-schemes={in_line(name)}: there is no scheme file in this folder",
                f"a scheme file ends in .yaml and begins with {MARK} {FORMAT}",
            )
        paths += [file.resolve() for file in files]
    return paths


@lru_cache(maxsize=1)
def _homes() -> tuple[Path, ...]:
    """Find the folders of the packages that contain schemes."""
    folders = []
    for point in sorted(entry_points(group=GROUP)):
        spec = find_spec(point.value)
        if spec is None or not spec.submodule_search_locations:
            raise UserError(
                f"the entry point {point.name!r} of {GROUP} names {point.value!r}, not a package",
                "name the package in whose folder the scheme files are",
            )
        folders.append(Path(spec.submodule_search_locations[0]))
    return tuple(folders)


def is_scheme_file(path: Path) -> bool:
    """Return whether a YAML file begins with the mark of a scheme."""
    return begins_with(path, MARK)


def begins_with(path: Path, mark: str) -> bool:
    """Return whether the first line that is neither empty nor a comment begins with ``mark``.

    Returns False for a file that cannot be read.
    """
    try:
        with opened(path, "give a scheme or model file") as stream:
            start = stream.read(LARGEST_CONFIGURATION).decode("utf-8-sig", "replace")
    except UserError:
        return False
    for line in io.StringIO(start, newline=None):
        if line.strip() and not line.startswith("#"):
            return line.startswith(mark)
    return False


def read_scheme(path: Path) -> Scheme:
    """Read one scheme file.

    Raises UserError naming file, line and field if it is invalid or inconsistent.
    """
    text = read_text(path, "give a scheme file")
    name = cache.key(text, _schema())
    raw = cache.recall(name)
    if raw is None:
        raw = validate(path, text)
        cache.keep(name, raw)
    scheme = scheme_of(path, raw)
    for place, problem in inconsistencies(scheme):
        raise located_error(path, text, place, problem)
    return scheme


def validate(path: Path, text: str, schema: str = SCHEMA_NAME) -> Any:
    """Parse the text of a file, and validate its content against a schema of the spec.

    Raises UserError naming file, line and field if it is invalid.
    """
    raw = load_yaml(path, text)
    if isinstance(raw, dict) and (version := raw.get("posenc-scheme")) in range(1, FORMAT):
        raise UserError(
            f"{path}: its format is {version}; this kit reads format {FORMAT}",
            "the site's page on stability says how to bring a file up to date",
        )
    try:
        _validator(schema)(raw)
    except fastjsonschema.JsonSchemaValueException as error:
        where: list[str | int] = list(error.path[1:])
        problem = in_line(error.message.replace("data.", "", 1))
        raise located_error(path, text, where, problem, schema) from None
    return raw


@lru_cache(maxsize=2)
def _schema(name: str = SCHEMA_NAME) -> str:
    return (spec_folder() / name).read_text(encoding="utf-8")


@lru_cache(maxsize=2)
def _validator(name: str = SCHEMA_NAME) -> Callable[[object], object]:
    schema = json.loads(_schema(name))
    validate: Callable[[object], object] = fastjsonschema.compile(schema)
    return validate


def located_error(
    path: Path, text: str, where: Sequence[str | int], problem: str, schema: str = SCHEMA_NAME
) -> UserError:
    """Make the error for a field, with its file and line."""
    field = ".".join(map(str, where)) or "the file"
    line = find_line(text, where)
    return UserError(f"{path}:{line}: {field}: {problem}", f"the format is described in {schema}")
