"""What code knows of a scheme: its modules in the kit, in the reference and in the oracle.

Those of the schemes that come with the kit are found in three packages by the scheme's name. Those
of a scheme file elsewhere stand beside it, as ``NAME_kit.py``, ``NAME_reference.py`` and
``NAME_oracle.py``.
"""

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from posenc_conformance.errors import UserError, told
from posenc_conformance.files import imported
from posenc_conformance.scheme_file.model import Call, Scheme
from posenc_conformance.scheme_file.read import folder


@dataclass(frozen=True)
class Part:
    """One of the modules that belong to a scheme."""

    name: str
    package: str
    home: str
    """Its folder in the repository."""


KIT = Part("kit", "posenc_conformance.schemes", "conformance/posenc_conformance/schemes")
REFERENCE = Part("reference", "posenc.schemes", "reference/posenc/schemes")
ORACLE = Part("oracle", "posenc_conformance.oracle", "conformance/posenc_conformance/oracle")
TABLES = ("ERROR_TERMS", "ARGUMENTS", "SWEEPS", "SIZES", "INVARIANTS", "DEVIATIONS")
"""What a module of the kit has for each call: see the package ``schemes``."""


def knowledge_of(scheme: Scheme) -> Any:
    """The module of the kit about a scheme.

    Raises UserError if there is none, or it cannot be imported.
    """
    return module_of(scheme, KIT)


@lru_cache(maxsize=512)
def module_of(scheme: Scheme, part: Part) -> ModuleType:
    """A module of a scheme: the file beside the scheme's own, or that of the installed package.

    Raises UserError if there is none, or it cannot be imported.
    """
    beside = own_file(scheme, part)
    if beside.is_file():
        return _from_file(beside)
    name = f"{part.package}.{scheme.module_name}"
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
    raise missing(scheme, part, f"the {part.name} has no module for the scheme {scheme.id!r}")


def own_file(scheme: Scheme, part: Part) -> Path:
    """Where a module of somebody's own scheme stands."""
    return scheme.path.with_name(f"{scheme.module_name}_{part.name}.py")


def missing(scheme: Scheme, part: Part, what: str) -> UserError:
    """The error for something that a scheme needs, with the file in which to write it."""
    shipped = scheme.path.parent == folder()
    file = f"{part.home}/{scheme.module_name}.py" if shipped else str(own_file(scheme, part))
    return UserError(
        f"{scheme.path}: {what}", f"write it in {file}: see 'Add a scheme' in CONTRIBUTING.md"
    )


def reference_of(scheme: Scheme, call: Call) -> Callable[..., Any]:
    """The reference's function for a call.

    Raises UserError if there is none.
    """
    module = module_of(scheme, REFERENCE)
    function: Callable[..., Any] | None = getattr(module, call.name, None)
    if function is None:
        raise missing(scheme, REFERENCE, f"the reference has no {call.name}()")
    return function


def demand_whole(scheme: Scheme) -> None:
    """Raise UserError for the first thing that a half-made scheme lacks."""
    known = knowledge_of(scheme)
    for golden in scheme.goldens:
        if not golden.sha256:
            raise UserError(
                f"{scheme.path}: golden {golden.id!r} is not certified: no hash stands with it",
                f"let the oracle confirm it: posenc goldens --write {scheme.path}",
            )
    for name, call in scheme.calls.items():
        reference_of(scheme, call)
        for table in TABLES:
            if name not in getattr(known, table, {}):
                raise missing(scheme, KIT, f"the kit has no {table}[{name!r}]")
        ids = {"INVARIANTS": [each.id for each in scheme.invariants if each.call == name]}
        ids["DEVIATIONS"] = [each.id for each in scheme.deviations if name in each.calls]
        for table, wanted in ids.items():
            for id in wanted:
                if id not in getattr(known, table)[name]:
                    raise missing(scheme, KIT, f"the kit has no {table}[{name!r}][{id!r}]")


def _from_file(path: Path) -> ModuleType:
    try:
        return imported(path, f"posenc_own_{path.stem}")
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [each for each in frames if each.filename == str(path)]
        line = error.lineno if isinstance(error, SyntaxError) else own[-1].lineno if own else 1
        raise UserError(f"{path}:{line}: {told(error)}", "see that line") from error
