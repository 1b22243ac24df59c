"""The scheme files: read, checked against their schema, and turned into plain data."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import fastjsonschema
import yaml

from posenc_conformance import parsed
from posenc_conformance.errors import UserError

Value = str | int
Point = Mapping[str, Value]
RawArguments = Mapping[str, Any]

MARK = "posenc-scheme:"
SCHEMA_NAME = "scheme.schema.json"
LARGEST = 1_000_000
"""Values of a scheme file with its aliases written out."""


@dataclass(frozen=True)
class Convention:
    """A named axis on which right implementations differ."""

    name: str
    description: str
    values: Mapping[Value, str]
    default: Value | None
    passed: bool

    @property
    def optional(self) -> bool:
        """Whether nothing is claimed on this axis unless said."""
        return self.default is None


@dataclass(frozen=True)
class Parameter:
    """A number that a case chooses and a claim may restrict."""

    name: str
    type: str
    description: str
    of: str | None
    axis: int
    argument: bool
    when: Point

    @property
    def passed(self) -> bool:
        """Whether it is passed by keyword."""
        return self.of is None and not self.argument


@dataclass(frozen=True)
class Combination:
    """A point on the axes of conventions that has a name."""

    name: str
    conventions: Point
    used_by: str


@dataclass(frozen=True)
class Call:
    """What an adapter's method of this name takes and returns."""

    name: str
    kind: str
    returns: str
    dtype: str
    arguments: Mapping[str, str]
    parameters: Mapping[str, Parameter]
    combinations: Mapping[str, Combination]
    options: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Golden:
    """Inputs and their exact result."""

    id: str
    call: str
    combination: str
    options: Point
    kills: str
    source: str
    arguments: RawArguments
    values: Sequence[Any] | None
    probes: Sequence[Sequence[float]] | None
    provenance: Mapping[str, str]


@dataclass(frozen=True)
class Published:
    """A number as somebody printed it."""

    id: str
    call: str
    combination: str
    source: str
    note: str
    rounding: str
    arguments: RawArguments
    quantity: str
    printed: Sequence[Sequence[Value]]


@dataclass(frozen=True)
class Invariant:
    """A property that holds for all inputs."""

    id: str
    call: str
    statement: str
    proof: str
    combinations: tuple[str, ...]
    options: Point


@dataclass(frozen=True)
class Witness:
    """Two calls whose results show that a desideratum does not hold."""

    call: str
    combination: str
    arguments: tuple[RawArguments, RawArguments]
    shows: str
    printed: tuple[float, ...]
    rows: tuple[Sequence[int], ...]
    """Rows of each result that are looked at; all if empty."""


@dataclass(frozen=True)
class Desideratum:
    """Something to wish of an encoding, and whether this one has it."""

    name: str
    holds: bool
    why: str
    invariant: str | None
    witness: Witness | None


@dataclass(frozen=True)
class BadInput:
    """Arguments that must be refused."""

    id: str
    call: str
    why: str
    combinations: tuple[str, ...]
    options: Point
    arguments: RawArguments


@dataclass(frozen=True)
class Deviation:
    """A named, known mistake."""

    id: str
    call: str
    kind: str
    description: str
    effect: str
    links: tuple[str, ...]


@dataclass(frozen=True)
class Accuracy:
    """Constants of the error model."""

    rounding: int
    angle: int
    scale: str
    derivation: str


@dataclass(frozen=True, eq=False)
class Scheme:
    """One way to encode position."""

    path: Path
    id: str
    family: str
    title: str
    summary: str
    sources: Mapping[str, Mapping[str, str]]
    calls: Mapping[str, Call]
    conventions: Mapping[str, Convention]
    accuracy: Accuracy
    goldens: tuple[Golden, ...]
    published: tuple[Published, ...]
    invariants: tuple[Invariant, ...]
    desiderata: tuple[Desideratum, ...]
    bad_inputs: tuple[BadInput, ...]
    deviations: tuple[Deviation, ...]

    @property
    def module_name(self) -> str:
        """Name of the scheme's modules in the reference, the kit and the oracle."""
        return self.id.replace("-", "_")


def folder() -> Path:
    """Where the scheme files are: inside the installed package, or in the checkout."""
    here = Path(__file__).resolve()
    for candidate in (here.parent / "spec", here.parents[2] / "spec"):
        if (candidate / SCHEMA_NAME).is_file():
            return candidate
    raise UserError(
        f"the scheme files are neither in {here.parent / 'spec'} nor in a checkout",
        "reinstall posenc-conformance",
    )


def paths() -> list[Path]:
    """The scheme files, sorted by name."""
    return sorted(folder().glob("*.yaml"))


def is_scheme_file(path: Path) -> bool:
    """Whether a YAML file says of itself that it is a scheme."""
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.strip() and not line.startswith("#"):
                return line.startswith(MARK)
    return False


@lru_cache(maxsize=128)
def load(path: Path) -> Scheme:
    """One scheme file.

    Raises UserError naming file, line and field if it is not what the schema asks for.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {error}", "give a scheme file") from None
    name = parsed.key(text, _schema())
    raw = parsed.recall(name)
    if raw is None:
        raw = _valid(path, text)
        parsed.keep(name, raw)
    scheme = _scheme(path, raw)
    for place, problem in _inconsistencies(scheme):
        raise _located(path, text, place, problem)
    return scheme


def _valid(path: Path, text: str) -> Any:
    """The content of a file, as the schema wants it."""
    try:
        raw = yaml.load(text, Loader=StrictLoader)
        size = _size(raw)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise UserError(f"{path}:{line}: {error.problem}", "mend the YAML there") from None
    except yaml.YAMLError as error:
        raise UserError(f"{path}: {error}", "save it as UTF-8 text") from None
    except RecursionError:
        raise UserError(f"{path}: it is nested too deeply", "no scheme needs that") from None
    if size > LARGEST:
        raise UserError(f"{path}: its aliases expand to {size:,} values", "write it out") from None
    try:
        _validator()(raw)
    except fastjsonschema.JsonSchemaValueException as error:
        where: list[str | int] = list(error.path[1:])
        raise _located(path, text, where, error.message.replace("data.", "", 1)) from None
    return raw


def _size(raw: Any) -> int:
    """Number of values in a structure in which parts may be shared.

    Raises RecursionError if it contains itself.
    """
    sizes: dict[int, int] = {}

    def size(part: Any) -> int:
        if not isinstance(part, dict | list):
            return 1
        if id(part) not in sizes:
            inner = part.values() if isinstance(part, dict) else part
            sizes[id(part)] = 1 + sum(map(size, inner))
        return sizes[id(part)]

    return size(raw)


def load_all() -> list[Scheme]:
    """Every scheme of the installed spec."""
    return [load(path) for path in paths()]


_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class StrictLoader(_SafeLoader):  # type: ignore[misc]  # the fast loader exists where libyaml does
    """Safe loading that refuses what YAML lets pass, or fails on without naming a line.

    That is a key given twice, of which YAML would silently keep the last, a key that is no text,
    and a date or number that cannot be.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A mapping, if its keys are all texts and all different."""
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _unreadable("a key must be plain text", key)
            if key.value in seen:
                raise _unreadable(f"the key {key.value!r} is given twice", key)
            seen.add(key.value)
        mapping: dict[Any, Any] = super().construct_mapping(node, deep=deep)
        return mapping

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """A value, if there is one."""
        try:
            value = super().construct_object(node, deep=deep)
        except (ValueError, OverflowError) as error:
            raise _unreadable(str(error).partition(";")[0], node) from None
        if isinstance(value, int) and abs(value) >= 2**64:
            raise _unreadable("the number is too large", node)
        return value


def _unreadable(problem: str, node: yaml.Node) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


@lru_cache(maxsize=1)
def _schema() -> str:
    return (folder() / SCHEMA_NAME).read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _validator() -> Callable[[Any], Any]:
    schema = json.loads(_schema())
    validate: Callable[[Any], Any] = fastjsonschema.compile(schema)
    return validate


def _located(path: Path, text: str, where: Sequence[str | int], problem: str) -> UserError:
    field = ".".join(map(str, where)) or "the file"
    line = _line(text, where)
    return UserError(
        f"{path}:{line}: {field}: {problem}", f"the format is described in {SCHEMA_NAME}"
    )


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


def _scheme(path: Path, raw: Mapping[str, Any]) -> Scheme:
    accuracy = raw["accuracy"]
    return Scheme(
        path=path,
        id=raw["id"],
        family=raw["family"],
        title=raw["title"],
        summary=raw["summary"],
        sources=raw["sources"],
        calls={name: _call(name, call) for name, call in raw["calls"].items()},
        conventions={name: _convention(name, axis) for name, axis in raw["conventions"].items()},
        accuracy=Accuracy(**accuracy),
        goldens=tuple(map(_golden, raw["goldens"])),
        published=tuple(Published(**({"note": ""} | item)) for item in raw["published"]),
        invariants=tuple(Invariant(**_scoped(item)) for item in raw["invariants"]),
        desiderata=tuple(_desideratum(*item) for item in raw.get("desiderata", {}).items()),
        bad_inputs=tuple(BadInput(**_scoped(item)) for item in raw["bad_inputs"]),
        deviations=tuple(map(_deviation, raw["deviations"])),
    )


def _scoped(item: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **item,
        "combinations": tuple(item.get("combinations", ())),
        "options": item.get("options", {}),
    }


def _call(name: str, raw: Mapping[str, Any]) -> Call:
    return Call(
        name=name,
        kind=raw["kind"],
        returns=raw["returns"],
        dtype=raw.get("dtype", "keyword"),
        arguments=raw["arguments"],
        parameters={
            key: Parameter(
                key,
                value["type"],
                value["description"],
                value.get("of"),
                value.get("axis", -1),
                value.get("argument", False),
                value.get("when", {}),
            )
            for key, value in raw["parameters"].items()
        },
        combinations={
            key: Combination(key, value["conventions"], value["used_by"])
            for key, value in raw["combinations"].items()
        },
        options=tuple(raw.get("options", ())),
    )


def _convention(name: str, raw: Mapping[str, Any]) -> Convention:
    values = {item["value"]: item["description"] for item in raw["values"]}
    return Convention(name, raw["description"], values, raw.get("default"), raw.get("passed", True))


def _golden(raw: Mapping[str, Any]) -> Golden:
    return Golden(
        id=raw["id"],
        call=raw["call"],
        combination=raw["combination"],
        options=raw.get("options", {}),
        kills=raw["kills"],
        source=raw["source"],
        arguments=raw["arguments"],
        values=raw["expect"].get("values"),
        probes=raw["expect"].get("probes"),
        provenance=raw.get("provenance", {}),
    )


def _deviation(raw: Mapping[str, Any]) -> Deviation:
    rest = {key: raw[key] for key in ("id", "call", "description", "effect")}
    return Deviation(kind=raw["class"], links=tuple(raw.get("links", ())), **rest)


def _desideratum(name: str, raw: Mapping[str, Any]) -> Desideratum:
    witness = raw.get("witness")
    if witness is not None:
        arguments = tuple(witness["arguments"])
        printed = tuple(witness.get("printed", ()))
        rows = tuple(witness.get("rows", ()))
        witness = Witness(**{**witness, "arguments": arguments, "printed": printed, "rows": rows})
    return Desideratum(name, raw["holds"], raw["why"], raw.get("invariant"), witness)


Problem = tuple[Sequence[str | int], str]


def _inconsistencies(scheme: Scheme) -> Iterator[Problem]:
    """What a JSON Schema cannot say: names that refer to nothing, ids given twice."""
    if scheme.path.stem != scheme.id:
        yield ("id",), f"is {scheme.id!r}, but the file is called {scheme.path.name!r}"
    for name, axis in scheme.conventions.items():
        if axis.default is not None and axis.default not in axis.values:
            yield ("conventions", name, "default"), f"{axis.default!r} is not among its values"
    for name, call in scheme.calls.items():
        for combination in call.combinations.values():
            where = ("calls", name, "combinations", combination.name, "conventions")
            yield from _bad_point(scheme, where, combination.conventions)
        for option in call.options:
            if option not in scheme.conventions or not scheme.conventions[option].optional:
                yield ("calls", name, "options"), f"{option!r} is not an optional convention"
    lists: dict[str, Sequence[Any]] = {
        "goldens": scheme.goldens,
        "published": scheme.published,
        "invariants": scheme.invariants,
        "bad_inputs": scheme.bad_inputs,
        "deviations": scheme.deviations,
    }
    for key, items in lists.items():
        seen: set[str] = set()
        for index, item in enumerate(items):
            if item.id in seen:
                yield (key, index, "id"), f"{item.id!r} is used twice"
            seen.add(item.id)
            yield from _dangling(scheme, (key, index), item)
    yield from _unproved(scheme)


def _unproved(scheme: Scheme) -> Iterator[Problem]:
    """Desiderata that point to nothing, or that deny without showing."""
    for wish in scheme.desiderata:
        where = ("desiderata", wish.name)
        if wish.invariant is not None and wish.invariant not in {i.id for i in scheme.invariants}:
            yield (*where, "invariant"), f"{wish.invariant!r} is not among the invariants"
        if wish.witness is not None:
            yield from _dangling(scheme, (*where, "witness"), wish.witness)


def _dangling(scheme: Scheme, where: tuple[str | int, ...], item: Any) -> Iterator[Problem]:
    call = scheme.calls.get(item.call)
    if call is None:
        yield (*where, "call"), f"{item.call!r} is not among the calls"
        return
    known = ", ".join(call.combinations)
    if hasattr(item, "combination") and item.combination not in call.combinations:
        yield (*where, "combination"), f"{item.combination!r} is not one of {known}"
    for name in getattr(item, "combinations", ()):
        if name not in call.combinations:
            yield (*where, "combinations"), f"{name!r} is not one of {known}"
    if hasattr(item, "source") and item.source not in scheme.sources:
        yield (*where, "source"), f"{item.source!r} is not among the sources"
    yield from _bad_point(scheme, (*where, "options"), getattr(item, "options", {}))
    for name in getattr(item, "options", {}):
        if name not in call.options:
            yield (*where, "options"), f"{item.call} has no option {name!r}"
    given = getattr(item, "arguments", {})
    for name in chain.from_iterable(given) if isinstance(given, tuple) else given:
        if name not in call.arguments and name not in call.parameters:
            yield (*where, "arguments", name), f"{item.call} has no such argument"


def _bad_point(scheme: Scheme, where: tuple[str | int, ...], point: Point) -> Iterator[Problem]:
    for name, value in point.items():
        axis = scheme.conventions.get(name)
        if axis is None:
            yield where, f"{name!r} is not among the conventions"
        elif value not in axis.values:
            yield (*where, name), f"{value!r} is not one of {', '.join(map(repr, axis.values))}"
