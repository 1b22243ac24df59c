"""Reading scheme files: found, checked against their schema, turned into plain data."""

import io
import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import fastjsonschema
import yaml

from posenc_conformance.door import LARGEST_CONFIGURATION, opened, read_text
from posenc_conformance.errors import UserError, in_line
from posenc_conformance.scheme_file import cache
from posenc_conformance.scheme_file.build import scheme_of
from posenc_conformance.scheme_file.inconsistencies import inconsistencies
from posenc_conformance.scheme_file.model import Scheme

MARK = "posenc-scheme:"
FORMAT = 2
SCHEMA_NAME = "scheme.schema.json"
MOST_VALUES = 1_000_000
"""Values that a scheme file may have with its aliases written out."""


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
"""Entry points of packages that bring scheme files of their own."""


def scheme_paths() -> list[Path]:
    """List the scheme files of the installed spec, sorted by name, then those of other packages."""
    own = (each for home in _homes() for each in scheme_files(home))
    return [*sorted(spec_folder().glob("*.yaml")), *own]


def scheme_files(place: Path) -> list[Path]:
    """List the scheme files in a folder, sorted by name."""
    return sorted(each for each in place.glob("*.yaml") if is_scheme_file(each))


def scheme_files_in(folders: Sequence[str]) -> list[Path]:
    """List the scheme files of the folders that --posenc-schemes names.

    Raises UserError for a folder without any.
    """
    found: list[Path] = []
    for name in folders:
        files = scheme_files(Path(name)) if Path(name).is_dir() else []
        if not files:
            raise UserError(
                f"--posenc-schemes={name}: there is no scheme file in this folder",
                f"a scheme file ends in .yaml and begins with {MARK} {FORMAT}",
            )
        found += [each.resolve() for each in files]
    return found


@lru_cache(maxsize=1)
def _homes() -> tuple[Path, ...]:
    """Find the folders of the packages that bring schemes."""
    found = []
    for point in sorted(entry_points(group=GROUP)):
        spec = find_spec(point.value)
        if spec is None or not spec.submodule_search_locations:
            raise UserError(
                f"the entry point {point.name!r} of {GROUP} names {point.value!r}, not a package",
                "name the package in whose folder the scheme files are",
            )
        found.append(Path(spec.submodule_search_locations[0]))
    return tuple(found)


def is_scheme_file(path: Path) -> bool:
    """Return whether a YAML file says of itself that it is a scheme."""
    return begins_with(path, MARK)


def begins_with(path: Path, mark: str) -> bool:
    """Return whether the first line of a file that is no comment begins with a mark.

    Empty lines are passed over too. A file that cannot be read says nothing.
    """
    try:
        with opened(path, "give a scheme or model file") as stream:
            start = stream.read(LARGEST_CONFIGURATION).decode("utf-8", "replace")
    except UserError:
        return False
    for line in io.StringIO(start, newline=None):
        if line.strip() and not line.startswith("#"):
            return line.startswith(mark)
    return False


def read_scheme(path: Path) -> Scheme:
    """Read one scheme file.

    Raises UserError naming file, line and field if it is not what the schema asks for.
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
    """Read the content of a file, which must be as a schema of the spec wants it.

    Raises UserError naming file, line and field if it is not.
    """
    try:
        raw = yaml.load(text, Loader=StrictLoader)
        size = _size(raw)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise UserError(f"{path}:{line}: {error.problem}", "correct the YAML there") from None
    except yaml.YAMLError as error:
        raise UserError(f"{path}: {error}", "save it as UTF-8 text") from None
    except RecursionError:
        raise UserError(f"{path}: it is nested too deeply", "no scheme needs that") from None
    if size > MOST_VALUES:
        raise UserError(f"{path}: its aliases expand to {size:,} values", "write it out") from None
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


def _size(raw: object) -> int:
    """Count the values in a structure in which parts may be shared.

    A part counts as often as it occurs. Raises RecursionError if the structure contains itself.
    """
    sizes: dict[int, int] = {}

    def size(part: object) -> int:
        if not isinstance(part, dict | list):
            return 1
        if id(part) not in sizes:
            inner = part.values() if isinstance(part, dict) else part
            sizes[id(part)] = 1 + sum(map(size, inner))
        return sizes[id(part)]

    return size(raw)


MERGE = "tag:yaml.org,2002:merge"
COUNTED = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
LONGEST_NUMBER = 1000
_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class StrictLoader(_SafeLoader):  # type: ignore[misc]  # the fast loader exists where libyaml does
    """Safe loading that refuses what YAML lets pass, or fails on without naming a line.

    That is a key given twice, of which YAML would silently keep the last, a key that is no text,
    a date or number that cannot be, and ``<<``: mappings that are merged from others ten times over
    are short to write and take for ever to build.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[object, object]:
        """Make a mapping, if its keys are all texts and all different."""
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _unreadable("a key must be plain text", key)
            if key.tag == MERGE:
                raise _unreadable("keys are not merged from elsewhere: write them out", key)
            if key.value in seen:
                raise _unreadable(f"the key {in_line(key.value)!r} is given twice", key)
            seen.add(key.value)
        mapping: dict[object, object] = super().construct_mapping(node, deep=deep)
        return mapping

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Make a value; refuse an impossible date or number, and an integer that is too large."""
        if node.tag in COUNTED and len(node.value) > LONGEST_NUMBER:
            raise _unreadable("the number is too long", node)
        try:
            value = super().construct_object(node, deep=deep)
        except (ValueError, OverflowError) as error:
            raise _unreadable(in_line(str(error).partition(";")[0]), node) from None
        if isinstance(value, int) and abs(value) >= 2**64:
            raise _unreadable("the number is too large", node)
        return value


def _unreadable(problem: str, node: yaml.Node) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


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
    """Make the error for a field of a file, with its line."""
    field = ".".join(map(str, where)) or "the file"
    line = _line(text, where)
    return UserError(f"{path}:{line}: {field}: {problem}", f"the format is described in {schema}")


def _line(text: str, where: Sequence[str | int]) -> int:
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    for step in where:
        if isinstance(node, yaml.MappingNode):
            found = [value for key, value in node.value if key.value == str(step)]
        elif isinstance(node, yaml.SequenceNode) and str(step).isdigit():
            found = node.value[int(step) : int(step) + 1]
        else:
            found = []
        if not found:
            break
        node = found[0]
    return node.start_mark.line + 1 if node else 1
