"""Find the parts of a library that look like positional encodings."""

import importlib
import importlib.util
import inspect
import pkgutil
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from importlib.metadata import packages_distributions
from io import StringIO
from itertools import accumulate, islice
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar
from warnings import catch_warnings, simplefilter

from posenc_conformance.adapters.packages import bare_package
from posenc_conformance.commands.init.calls.other_schemes import scheme_told
from posenc_conformance.commands.init.calls.patience import LATE_IMPORT, NotReturned, starting
from posenc_conformance.commands.init.roles import has
from posenc_conformance.errors import UserError, in_line
from posenc_conformance.registry import load_all

LOOKS = re.compile(
    r"rope|rotary|rotat|rope_cache|freqs_cis|sinus|sin_?cos|cos_?sin|pos(ition(al)?)?_?(enc|emb)|"
    r"posemb|pos_bias|t5_|(rel|relative)_?(pos_)?bias|position(al)?_bias|alibi|slopes|"
    r"position_bucket|time_?step|time_?emb|"
    r"(window|sliding|local|causal|chunk|dilat|stride|big_?bird|fixed).*mask|"
    r"mask.*(window|causal|chunk|dilat|stride|big_?bird)|sliding_window|dilated_window|"
    r"compute_bias|position_ids|(rel|relative)_?pos(ition)?s?_(index|indices|idx)|"
    r"(^|_)pe($|_)|pe_?[12]d$"
)
NAMES_ONE = re.compile(
    r"position(?!_?wise)|(rel|relative)_?shift|axial|freqs|rope|rotary|(^|_)t_xy$|window_bias|rel_attn"
)
"""Names of further parts, which are listed and not called: no draft has their form."""
AVOID = re.compile(r"^_|test|bench|example|script|demo|setup|conftest|train|cli$|main$|convert")
QUERIES = frozenset(["x", "q", "query", "queries", "xq"])
KEYS = frozenset(["k", "key", "keys", "xk"])
PLACES = frozenset(
    [
        "positions",
        "position",
        "position_ids",
        "pos_ids",
        "pos",
        "input_pos",
        "offset",
        "start_pos",
        "position_offset",
        "pos_offset",
        "start_position",
    ]
)
BASES = frozenset(["base", "theta", "rope_theta", "rope_base", "factor", "scaling_factor"])
"""Names of the parameters of a rotation whose own name does not tell that it is one."""
ACTS = re.compile(
    r"save|write|dump|delete|remove|clear|send|post|plot|draw|show|print|log|load|read|open|train|"
    r"test|move|set_|update|insert|append"
)
"""Names of functions that may do more than compute: they are not called only for their form."""
MAKES = re.compile(r"^_|^(from|make|build|create|load|register)(_|$)")
MOST_MODULES = 80
MOST_SECONDS = 20.0
RELATIVE = re.compile(r"^\s*from\s+\.", re.MULTILINE)
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Found:
    """A public function or class, with its parameters."""

    module: str
    path: str
    """Name within the module, with a dot before the name of a static or class method."""
    value: Any
    parameters: tuple[inspect.Parameter, ...]
    framework: str
    """torch, jax or numpy."""

    @property
    def is_class(self) -> bool:
        """Whether it must be instantiated before it can be called."""
        return inspect.isclass(self.value)

    @property
    def named(self) -> str:
        """The name in snake case."""
        return _snake(self.path)

    @property
    def told(self) -> str:
        """The name, and those of a class's methods that rotate, in snake case."""
        if not self.is_class:
            return self.named
        return " ".join([self.named, *map(_snake, _turning_methods(self.value))])

    @property
    def package(self) -> str:
        """The package that contains the module."""
        return self.module.rpartition(".")[0] or self.module


@dataclass(frozen=True)
class Library:
    """A library, as far as it was searched."""

    module: ModuleType
    found: tuple[Found, ...]
    """Candidates for positional encodings, the most promising first."""
    asked: str
    """Name of the requested attribute; empty if the whole library was requested."""
    left_out: int
    """The number of modules that were not searched."""
    folder: Path | None
    """The folder from which a file is imported; None if the library is a module."""
    failed: Mapping[str, str]
    """Modules that cannot be imported, each with the reason."""
    bare: Mapping[str, str]
    """Packages whose own code fails, each with the reason: only their modules are imported."""
    by_form: tuple[Found, ...] = ()
    """Functions whose parameters alone, not their names, look like those of a rotation."""
    listed: tuple[Found, ...] = ()
    """Parts whose names speak of positions and which are not tried."""


@dataclass
class _Search:
    """What was imported of a library, and what was not."""

    bare: dict[str, str] = field(default_factory=dict)
    """Packages in place without their own code, each with the reason."""
    failed: dict[str, str] = field(default_factory=dict)
    """Modules that cannot be imported, each with the reason."""
    left_out: int = 0


def library(name: str) -> Library | None:
    """Return the library of a module, ``module:attribute`` or file; None if there is none.

    Raises UserError if it exists but cannot be imported, or has no such attribute.
    """
    target, _, attribute = name.partition(":")
    search, folder = _Search(), None
    if target.endswith(".py"):
        folder, module = _of_file(Path(target), search)
    else:
        sys.path.append(str(Path.cwd()))
        target = _import_name(target)
        if not _is_there(target, search):
            if attribute or "." in target:
                raise UserError(f"no module {target!r} is installed", "install it, or correct it")
            return None
        module = _imported(target, search)
    target = module.__name__
    modules = [module]
    if not attribute and folder is None and hasattr(module, "__path__"):
        modules += _inner_modules(module, search)
        if search.bare.get(target) and len(modules) == 1:
            reason = search.bare[target]
            raise UserError(f"{target} cannot be imported: {reason}", "install what it needs")
    everything = list(_of_modules(modules))
    named = {name for scheme in load_all() for name in scheme.calls if "_" in name}
    candidates = [
        each
        for each in everything
        if LOOKS.search(each.told) or each.named in named or _is_limited_mask(each)
    ]
    by_form = tuple(each for each in everything if each not in candidates and _turns(each))
    listed = [each for each in everything if each not in candidates]
    if attribute:
        try:
            value = attrgetter(attribute)(module)
        except AttributeError:
            raise UserError(
                f"{target} has no attribute {attribute!r}", "check the spelling"
            ) from None
        requested = _find_one(target, attribute, value)
        if requested is None:
            raise UserError(f"{target}.{attribute} is not a function or class", "name one that is")
        candidates = [requested, *(other for other in candidates if other.path != attribute)]
    return Library(
        module,
        tuple(candidates),
        attribute,
        search.left_out,
        folder,
        search.failed,
        search.bare,
        by_form,
        tuple(each for each in listed if _is_named(each) and not attribute),
    )


def _of_file(path: Path, search: _Search) -> tuple[Path, ModuleType]:
    """Import a file; return it with the folder from which it is imported.

    A file whose imports are relative is a module of the package that its folder is.

    Raises UserError if the file is missing, or cannot be imported.
    """
    if not path.is_file():
        raise UserError(f"there is no file {path.absolute()}", "give the path of a module")
    folder, name = path.resolve().parent, path.stem
    if not RELATIVE.search(path.read_text(encoding="utf-8", errors="replace")):
        sys.path.insert(0, str(folder))
        return folder, _imported(name, search)
    while True:
        if not folder.name.isidentifier():
            raise UserError(
                f"{path} has relative imports, and its folder {folder.name!r} names no package",
                "rename the folder, or import its modules without the dot",
            )
        folder, name = folder.parent, f"{folder.name}.{name}"
        if not (folder / "__init__.py").is_file():
            break
    sys.path.insert(0, str(folder))
    return folder, _imported(name, search)


@contextmanager
def quiet() -> Iterator[None]:
    """Hide the output and the warnings of the library's code, and give it no input."""
    usual, sys.stdin = sys.stdin, StringIO()
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()), catch_warnings():
            simplefilter("ignore")
            yield
    finally:
        sys.stdin = usual


def _import_name(name: str) -> str:
    """Return the module to import for a distribution's name, such as rotary-embedding-torch."""
    if re.fullmatch(r"[A-Za-z_][\w.]*", name) and _exists(name.partition(".")[0]):
        return name
    for module, distributions in packages_distributions().items():
        same = [other for other in distributions if _normalise(other) == _normalise(name)]
        if same and not module.startswith("_"):
            return module
    return name


def _normalise(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _exists(name: str) -> bool:
    """Return whether a module exists; looking for one within a package imports the package.

    Raises UserError if that fails for any reason but a missing module.
    """
    try:
        with quiet(), starting():
            return importlib.util.find_spec(name) is not None
    except (Exception, SystemExit) as error:
        if isinstance(error, ValueError) and (not name or name in sys.modules):
            return False  # it has no spec, as __main__ has none
        missing = getattr(error, "name", None)
        if isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{missing}."):
            return False
        raise _not_imported(name, error) from error


def _is_there(name: str, search: _Search) -> bool:
    """Return whether a module exists, in a package whose own code may not run."""
    return any(_tried(name, search, _exists))


def _imported(name: str, search: _Search) -> ModuleType:
    """Import a module, in a package whose own code may not run."""
    (module,) = _tried(name, search, _import)
    return module


def _tried(name: str, search: _Search, action: Callable[[str], T]) -> list[T]:
    """Do something with a module; where a package above it fails, do it without its own code.

    Raises UserError if that fails, too.
    """
    try:
        return [action(name)]
    except UserError as error:
        first, reason = error, _reason(error.__cause__ or error)
    for package in accumulate(name.split("."), "{}.{}".format):
        if package in sys.modules:
            continue
        try:
            with quiet():
                bare_package(package)
        except ModuleNotFoundError:  # a module, not a package
            break
        search.bare[package] = reason
        with suppress(UserError):
            return [action(name)]
    raise first


def _import(name: str) -> ModuleType:
    try:
        with quiet(), starting():
            return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise _not_imported(name, error) from error


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {in_line(str(error))}"


def _not_imported(name: str, error: BaseException) -> UserError:
    hint = "see that error"
    if isinstance(error, ModuleNotFoundError):
        hint = f"install what provides {error.name!r}"
    if isinstance(error, NotReturned):
        hint = LATE_IMPORT
    return UserError(f"{name} cannot be imported: {type(error).__name__}: {error}", hint)


def _inner_modules(package: ModuleType, search: _Search) -> list[ModuleType]:
    """Import the modules within a package, as far as that is quick; note the others."""
    names = list(islice(_names_in(package.__name__, package.__path__), 20 * MOST_MODULES))
    start = time.monotonic()
    modules: list[ModuleType] = []
    for name in sorted(names, key=lambda name: not LOOKS.search(name.lower())):
        if len(modules) >= MOST_MODULES or time.monotonic() - start > MOST_SECONDS:
            search.left_out += 1
            continue
        try:
            modules.append(_imported(name, search))
        except UserError as error:
            search.failed[name] = _reason(error.__cause__ or error)
    return modules


def _names_in(package: str, folders: Iterable[str]) -> Iterator[str]:
    """Yield the names of modules within a package, without importing any."""
    for info in pkgutil.iter_modules(list(folders)):
        if AVOID.search(info.name):
            continue
        name = f"{package}.{info.name}"
        yield name
        if info.ispkg:
            yield from _names_in(name, [str(Path(folder) / info.name) for folder in folders])


def _of_modules(modules: Sequence[ModuleType]) -> Iterator[Found]:
    root = modules[0].__name__.partition(".")[0]
    seen: set[int] = set()
    for module in modules:
        for name, value in list(vars(module).items()):
            home = getattr(value, "__module__", None) or ""
            if name.startswith("_") or id(value) in seen or home.partition(".")[0] != root:
                continue
            if len(modules) == 1 and home != module.__name__ and not hasattr(module, "__path__"):
                continue
            for candidate in _all_of(module.__name__, name, value):
                seen.add(id(value))
                yield candidate


def _turns(found: Found) -> bool:
    """Return whether a function, or a method of a class, has the parameters of a rotation."""
    if found.is_class:
        return bool(_turning_methods(found.value))
    return not ACTS.search(found.named) and turns(found.parameters)


def _is_named(found: Found) -> bool:
    return bool(NAMES_ONE.search(found.named) or scheme_told(found.named))


def _is_limited_mask(found: Found) -> bool:
    """Return whether a function makes a mask of a length, with a window or chunks."""
    given = found.parameters
    limited = has(given, "window") or has(given, "chunk_size")
    return not found.is_class and "mask" in found.named and limited and has(given, "k_len")


def turns(parameters: Iterable[inspect.Parameter]) -> bool:
    """Return whether there are queries, perhaps keys, and places, and nothing else is needed."""
    given = list(parameters)
    names = {each.name.lower() for each in given}
    needed = {each.name.lower() for each in given if each.default is each.empty}
    return bool(names & QUERIES and names & PLACES) and needed <= QUERIES | KEYS | PLACES | BASES


def _turning_methods(cls: type) -> Iterator[str]:
    """Yield the names of a class's methods that have the parameters of a rotation."""
    for name, value in vars(cls).items():
        if name.startswith("_") or ACTS.search(name) or not inspect.isfunction(value):
            continue
        if turns(list(inspect.signature(value).parameters.values())[1:]):
            yield name


def _all_of(module: str, name: str, value: Any) -> Iterator[Found]:
    candidate = _find_one(module, name, value)
    if candidate is not None:
        yield candidate
    if inspect.isclass(value):
        for inner in ("_relative_position_bucket", *_functions_in(value)):
            if isinstance(inspect.getattr_static(value, inner, None), staticmethod | classmethod):
                method = _find_one(module, f"{name}.{inner}", getattr(value, inner))
                if method is not None:
                    yield method


def _functions_in(cls: type) -> Iterator[str]:
    """Yield the names of public static and class methods, other than those that make objects."""
    for name, value in vars(cls).items():
        if isinstance(value, staticmethod | classmethod) and not MAKES.search(name):
            yield name


def _find_one(module: str, path: str, value: Any) -> Found | None:
    if not (inspect.isfunction(value) or inspect.isclass(value) or callable(value)):
        return None
    try:
        parameters = tuple(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):
        return None
    home = sys.modules.get(getattr(value, "__module__", "") or "") or sys.modules[module]
    return Found(module, path, value, parameters, _framework(home))


def _framework(module: ModuleType) -> str:
    """Return the array library from which a module's names come."""
    origins = {
        (each.__name__ if inspect.ismodule(each) else getattr(each, "__module__", None) or "")
        for each in vars(module).values()
    }
    roots = {str(each).partition(".")[0] for each in origins}
    return next((name for name in ("torch", "jax") if name in roots), "numpy")


def _snake(name: str) -> str:
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return re.sub("a_?li_?bi", "alibi", words.lower().replace("ro_pe", "rope"))
