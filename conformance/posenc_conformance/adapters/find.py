"""Finding the implementation that ``--impl`` names."""

import importlib
import importlib.util
import inspect
import os
import re
import sys
import sysconfig
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, version
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from posenc_conformance.adapters.claims import claims_on
from posenc_conformance.errors import UserError, describe_exception, in_line
from posenc_conformance.files import import_adapter, name_module

GROUP = "posenc.implementations"
REFERENCE = ("posenc", "reference")
"""The package that registers the reference implementation, and its registered name."""
OURS = tuple(str(Path(__file__).parents[1] / room) for room in ("adapters", "judge"))
"""Folders of the kit, whose lines are never reported as those of an implementation."""


@dataclass(frozen=True)
class Implementation:
    """An adapter, ready to be called, and facts about its library."""

    name: str
    adapter: object
    versions: dict[str, str]
    end: Callable[[], None] = lambda: None
    """Ends the implementation's process, if it has one of its own."""
    limits: str = ""
    """The limits of its process, in words; empty if it has no process of its own."""
    notes: tuple[str, ...] = ()
    """Further lines on it, to be printed first."""
    text: str = ""
    """Source of an adapter that is in no file."""

    def __post_init__(self) -> None:
        """Make names and versions printable, since a program may send any text."""
        shown = {in_line(name): in_line(version) for name, version in self.versions.items()}
        object.__setattr__(self, "versions", shown)


def registered() -> dict[str, EntryPoint]:
    """Return the entry points of implementations, by the names that packages registered."""
    return {point.name: point for point in sorted(entry_points(group=GROUP))}


def is_reference(name: str) -> bool:
    """Return whether ``name`` is the reference implementation, which the kit itself registers."""
    point = registered().get(name)
    return point is not None and point.dist is not None and (point.dist.name, name) == REFERENCE


def load_adapter(name: str, point: str = "") -> Implementation:
    """Load the implementation with a registered name, at ``module:attribute`` or in a file.

    ``point`` is the registered entry point, for an interpreter that cannot look up the name.

    Raises UserError if there is no implementation, or it cannot be imported or instantiated.
    """
    return implementation_of(name, target(name, point))


def implementation_of(name: str, named: Any) -> Implementation:
    """Return the implementation of an adapter that was found by its name.

    Raises UserError if a class cannot be instantiated.
    """
    adapter = _make(name, named) if inspect.isclass(named) else named
    return Implementation(name, adapter, versions(named))


def made_of(target: object) -> Implementation:
    """Return the implementation for an adapter: a class, an object or a module.

    Raises UserError if the class cannot be instantiated.
    """
    named = target if inspect.isclass(target) or inspect.ismodule(target) else type(target)
    adapter = _make(named.__name__, target) if inspect.isclass(target) else target
    return Implementation(named.__name__, adapter, versions(target))


def blank(target: object) -> object:
    """Return an adapter for reading its claims, without the imports that its constructor makes."""
    return object.__new__(target) if inspect.isclass(target) else target


def versions(target: Any) -> dict[str, str]:
    """Return the version of each package that an adapter requires; empty if not installed.

    Raises UserError if its attribute ``requires`` contains anything but package names.
    """
    required = getattr(target, "requires", ())
    packages = [required] if isinstance(required, str) else required
    if not isinstance(packages, Sequence) or not all(
        isinstance(package, str) and package for package in packages
    ):
        raise UserError(
            f"the adapter's attribute 'requires' cannot be {required!r}",
            'give the names of packages: requires = ("numpy", "mylib")',
        )
    return {package: _version(package) for package in packages}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def target(name: str, point: str = "") -> Any:
    """Find the class, object or module that ``name`` means; its library need not be installed.

    Raises UserError if there is none, or it cannot be imported.
    """
    by_name = registered()
    if point:
        return _importing(name, EntryPoint(name, point, GROUP).load)
    if name in by_name:
        return _importing(name, by_name[name].load)
    if file := re.fullmatch(r"(.+\.py)(?::(\w+))?", name):
        return _from_file(name, Path(file[1]), file[2] or "")
    module, _, attribute = name.partition(":")
    if attribute:
        return _from_module(name, module, attribute)
    if is_module(name):
        sys.path.insert(0, str(Path.cwd()))
        return _adapter_of(Path(name), _importing(name, lambda: importlib.import_module(name)))
    near = get_close_matches(name, by_name, n=1)
    guess = f"did you mean {near[0]!r}? " if near else ""
    shown, here = in_line(name), lying_by(name)
    guess = f"--impl={in_line(here)} judges the adapter that lies here; " if here else guess
    own = f"for a file of your own say --impl={shown}.py, for a module --impl={shown}:Adapter"
    raise UserError(
        f"no implementation is called {in_line(repr(name))}; "
        f"registered are {', '.join(by_name) or 'none'}",
        guess + own,
    )


def lying_by(name: str) -> Path | None:
    """Return the adapter of a library in the current folder, or beside the library's file.

    It has the name that ``posenc init`` gives it. Returns None if there is no such file.
    """
    library, _, attribute = name.partition(":")
    file = Path(library) if library.endswith(".py") else None
    stem = attribute or (file.stem if file else library.rpartition(".")[2])
    own = re.sub(r"[-.]", "_", stem) + "_adapter.py"
    places = (Path(own), *((file.with_name(own),) if file else ()))
    return next((place for place in places if os.path.isfile(place)), None)


def is_module(name: str) -> bool:
    """Return whether a name is that of a module, installed or in the current folder."""
    if not all(part.isidentifier() for part in name.split(".")):
        return False
    root = name.partition(".")[0]
    here = any(map(os.path.exists, (f"{root}.py", f"{root}/__init__.py")))
    try:
        return here or importlib.util.find_spec(root) is not None
    except ValueError:  # of __main__
        return False


def _from_file(name: str, path: Path, attribute: str) -> Any:
    if not os.path.isfile(path):  # Path.is_file raises for a name that is too long
        raise UserError(
            f"there is no file {in_line(path.absolute())}", "--impl takes the path of an adapter"
        )
    sys.path.append(str(path.resolve().parent))  # last: an adapter may have its library's name
    module = _importing(name, lambda: import_adapter(path))
    return _attribute(name, module, attribute) if attribute else _adapter_of(path, module)


def _from_module(name: str, module_name: str, attribute: str) -> Any:
    sys.path.insert(0, str(Path.cwd()))
    module = _importing(name, lambda: importlib.import_module(module_name))
    return _attribute(name, module, attribute)


def _attribute(name: str, module: ModuleType, attribute: str) -> Any:
    if not hasattr(module, attribute):
        public = [item for item in vars(module) if not item.startswith("_")]
        near = get_close_matches(attribute, public, n=1)
        raise UserError(
            f"--impl={in_line(name)}: {name_module(module)} has no attribute {in_line(attribute)}",
            f"did you mean {near[0]!r}?" if near else f"it has {', '.join(public)}",
        )
    return getattr(module, attribute)


def _adapter_of(path: Path, module: ModuleType) -> Any:
    """Return a file's only class with claims, or the module if its functions have claims.

    Base classes of other candidates do not count, nor do imported classes if the file has its own.
    Without either, return the adapter that a function of ``posenc_conformance.adapters`` made.
    Raises UserError if several candidates remain.
    """
    classes = {id(kind): kind for kind in vars(module).values() if inspect.isclass(kind)}
    claiming = [kind for kind in classes.values() if claims_on(kind)]
    own = [kind for kind in claiming if kind.__module__ == module.__name__]
    meant = [
        kind
        for kind in own or claiming
        if not any(other is not kind and issubclass(other, kind) for other in own or claiming)
    ]
    functions = list(claims_on(module))
    found = [(kind.__name__, kind) for kind in meant]
    if not found and not functions:
        found = _ready_adapters(module)
    if len(found) + bool(functions) > 1:
        names = " or ".join(f"{path}:{name}" for name, _ in found)
        also = f", and functions that claim something: {', '.join(functions)}" if functions else ""
        raise UserError(
            f"{path} has {len(found)} adapter{'s' * (len(found) != 1)}{also}",
            f"say which: --impl={names}" + ("; move the functions into it" if functions else ""),
        )
    return found[0][1] if found else module


def _ready_adapters(module: ModuleType) -> list[tuple[str, Any]]:
    """Return a module's adapters that one line has made, each object once, with their names."""
    ready = {
        id(value): (name, value)
        for name, value in vars(module).items()
        if isinstance(value, SimpleNamespace) and claims_on(value)
    }
    return list(ready.values())


def _make(name: str, target: Callable[[], object]) -> object:
    missing = [package for package, installed in versions(target).items() if not installed]
    if missing:
        raise UserError(
            f"--impl={in_line(name)} judges a library that is not installed: {', '.join(missing)}",
            f"install it, for instance with: pip install {' '.join(missing)}",
        )
    made: object = _importing(name, target)
    _importing(name, lambda: made.__class__)  # an object may refuse this, like any attribute
    return made


def _importing(name: str, action: Callable[[], Any]) -> Any:
    """Run code of an implementation, and raise UserError with the line of its code that fails."""
    try:
        return action()
    except (UserError, KeyboardInterrupt):
        raise
    except BaseException as error:  # sys.exit and pytest.skip too: nothing can be judged then
        frames = traceback.extract_tb(error.__traceback__)
        own = [f for f in frames if not f.filename.startswith((*OURS, "<frozen"))]
        if isinstance(error, SyntaxError):
            place = f"{error.filename}:{error.lineno}"
        else:
            place = f"{own[-1].filename}:{own[-1].lineno}" if own else "before it is reached"
        hint = "look there for the cause"
        if isinstance(error, ModuleNotFoundError):
            hint = f"install what provides {error.name!r}, or correct its name"
        if not isinstance(error, Exception):
            place = next((at for at in map(_own_place, reversed(own)) if at), place)
            hint = "an adapter must not exit or skip: raise an exception that says what is wrong"
        raise UserError(
            f"--impl={in_line(name)} cannot be loaded: {describe_exception(error)} ({place})", hint
        ) from error


def _own_place(frame: traceback.FrameSummary) -> str:
    """Return the file and line of a frame; empty for a frame in an installed library."""
    libraries = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "purelib"))
    return "" if frame.filename.startswith(libraries) else f"{frame.filename}:{frame.lineno}"
