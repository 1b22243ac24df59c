"""Load schemes together with the kit's knowledge of them.

The modules of a scheme that ships with the kit are in three packages, under the names of its family
and of the scheme. The modules of any other scheme file are next to it, as ``NAME_kit.py``,
``NAME_reference.py`` and ``NAME_oracle.py``.
"""

import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

from posenc_conformance.errors import UserError, describe_exception
from posenc_conformance.files import import_file
from posenc_conformance.judge.knowledge import CallKnowledge, Knowledge, KnownScheme, Reference
from posenc_conformance.scheme_file import read
from posenc_conformance.scheme_file.scheme import Call, Scheme


@dataclass(frozen=True)
class Part:
    """One of the modules that belong to a scheme."""

    name: str
    package: str
    home: str
    """The package's folder in the repository."""


KIT = Part("kit", "posenc_conformance.schemes", "conformance/posenc_conformance/schemes")
REFERENCE = Part("reference", "posenc.schemes", "reference/posenc/schemes")
ORACLE = Part("oracle", "posenc_conformance.oracle", "conformance/posenc_conformance/oracle")


@lru_cache(maxsize=512)
def load_scheme(path: Path) -> KnownScheme:
    """Read a scheme file, and add the kit's knowledge of the scheme.

    Raises UserError naming file, line and field if the file does not match the schema.
    """
    return with_knowledge(read.read_scheme(path))


def with_knowledge(scheme: Scheme) -> KnownScheme:
    """Add the kit's knowledge to a scheme."""
    values = {field.name: getattr(scheme, field.name) for field in fields(Scheme)}
    return KnownScheme(**values, find_knowledge=knowledge_of, find_reference=reference_of)


def load_all(folders: Sequence[str] = ()) -> list[KnownScheme]:
    """Read every scheme of the installed spec, of other installed packages, and in ``folders``.

    Raises UserError for the first invalid file.
    """
    return [load_scheme(path) for path in (*read.scheme_paths(), *read.scheme_files_in(folders))]


def load_readable() -> list[KnownScheme]:
    """Read every valid scheme, skipping those that cannot be read."""
    schemes = []
    for path in read.scheme_paths():
        with suppress(UserError):
            schemes.append(load_scheme(path))
    return schemes


def knowledge_of(scheme: Scheme) -> Knowledge:
    """Look up the kit's knowledge of each call of a scheme.

    Raises UserError if the scheme has no module in the kit, or if importing its own file fails.
    """
    module = module_of(scheme, KIT)
    knowledge = vars(module).get("KNOWLEDGE", {})
    if isinstance(knowledge, Mapping) and all(
        isinstance(entry, CallKnowledge) for entry in knowledge.values()
    ):
        return knowledge
    raise UserError(
        f"{module.__file__}: KNOWLEDGE holds something that is no CallKnowledge",
        "map the name of each call to a posenc_conformance.judge.knowledge.CallKnowledge",
    )


def reference_of(scheme: Scheme, call: Call) -> Reference:
    """Look up the reference's function for a call.

    Raises UserError if it is missing.
    """
    module = module_of(scheme, REFERENCE)
    function: Reference | None = getattr(module, call.name, None)
    if function is None:
        raise missing(scheme, REFERENCE, f"the reference has no {call.name}()")
    return function


@lru_cache(maxsize=512)
def module_of(scheme: Scheme, part: Part) -> ModuleType:
    """Import a module of a scheme: the file next to the scheme file, or the installed module.

    Raises UserError if it is missing, or if importing the file fails.
    """
    beside = own_file(scheme, part)
    if beside.is_file():
        return _from_file(beside)
    name = f"{part.package}.{scheme.package_name}.{scheme.module_name}"
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
    raise missing(scheme, part, f"the {part.name} has no module for the scheme {scheme.id!r}")


def own_file(scheme: Scheme, part: Part) -> Path:
    """Return the path of a scheme's module if the scheme does not ship with the kit."""
    return scheme.path.with_name(f"{scheme.module_name}_{part.name}.py")


def missing(scheme: Scheme, part: Part, what: str) -> UserError:
    """Make the error for a missing part of a scheme, naming the file in which to write it."""
    own = f"{part.home}/{scheme.package_name}/{scheme.module_name}.py"
    file = own if read.is_shipped(scheme.path) else str(own_file(scheme, part))
    return UserError(
        f"{scheme.path}: {what}", f"write it in {file}: see 'Add a scheme' in CONTRIBUTING.md"
    )


def require_complete(scheme: KnownScheme) -> None:
    """Raise UserError for the first part that an incomplete scheme lacks."""
    for golden in scheme.goldens:
        if not golden.sha256:
            raise UserError(
                f"{scheme.path}: golden {golden.id!r} is not certified: it has no hash",
                f"let the oracle confirm it: posenc goldens --write {scheme.path}",
            )
    for name, call in scheme.calls.items():
        reference_of(scheme, call)
        if name not in scheme.knowledge:
            raise missing(scheme, KIT, f"the kit has no KNOWLEDGE[{name!r}]")
        knowledge = scheme.knowledge[name]
        invariants = [entry.id for entry in scheme.invariants if entry.call == name]
        deviations = [entry.id for entry in scheme.deviations if name in entry.calls]
        lacking = [
            *(("invariants", id) for id in invariants if id not in knowledge.invariants),
            *(("deviations", id) for id in deviations if id not in knowledge.deviations),
        ]
        for table, id in lacking:
            problem = f"the kit has no KNOWLEDGE[{name!r}].{table}[{id!r}]"
            raise missing(scheme, KIT, problem)


def _from_file(path: Path) -> ModuleType:
    try:
        return import_file(path, f"posenc_own_{path.stem}")
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if frame.filename == str(path)]
        line = error.lineno if isinstance(error, SyntaxError) else own[-1].lineno if own else 1
        raise UserError(f"{path}:{line}: {describe_exception(error)}") from error
