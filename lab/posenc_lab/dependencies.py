"""What a verdict hangs on: the code that comes to it, found through its imports, and its versions.

A digest of a file is one of what it does: comments and docstrings are left out, and the layout of a
scheme file. What a module needs are the modules that it imports, wherever the import stands, and
those of the names that it takes from ``posenc``, which finds its schemes only when they are asked
for.
"""

import ast
import hashlib
import json
import os
import platform
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import distributions, requires, version
from pathlib import Path

from packaging.requirements import Requirement

from posenc_conformance.report.machine import cpu_features
from posenc_conformance.scheme_file.scheme import Scheme
from posenc_conformance.scheme_file.strict_yaml import load_yaml
from posenc_lab.store import STORE

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "posenc": ROOT / "reference",
    "posenc_conformance": ROOT / "conformance",
    "posenc_lab": ROOT / "lab",
    "tests": ROOT,
}
SHIPPED = ("conformance", "harness", "pyproject.toml", "reference", "spec")
LABORATORY = "lab/posenc_lab"
LEVELS = "posenc_conformance.checks"
"""The package whose modules are imported by the names of levels."""


@dataclass(frozen=True)
class Source:
    """What is read of a file of Python."""

    digest: str
    """Of what it does, without comments and docstrings."""
    imports: tuple[str, ...]
    """Modules and names that it imports, and names that it takes from ``posenc``."""
    offers: tuple[str, ...]
    """Its ``__all__``."""


@cache
def files() -> dict[str, Path]:
    """Every module of the packages, by its name."""
    found = {}
    for package, home in PACKAGES.items():
        for path in (home / package).rglob("*.py"):
            parts = path.relative_to(home).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def source(module: str) -> Source:
    """What a module is made of; remembered by its bytes, for parsing all of them takes seconds."""
    data = files()[module].read_bytes()
    key = hashlib.sha256(
        b"what its code does, wherever that is: " + module.encode() + data
    ).hexdigest()
    if known := STORE.text(key):
        digest, imports, offers = json.loads(known)
        return Source(digest, tuple(imports), tuple(offers))
    found = _parsed(module, data)
    STORE.keep_text(key, json.dumps([found.digest, found.imports, found.offers]))
    return found


def _parsed(module: str, data: bytes) -> Source:
    tree = ast.parse(data)
    imports = tuple(dict.fromkeys(_imports(module, tree)))
    offers = tuple(name for node in tree.body for name in _offers(node))
    tree.body = _sorted_imports(tree.body)
    digest = hashlib.sha256("".join(shape(tree)).encode()).hexdigest()
    return Source(digest, imports, offers)


def _sorted_imports(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Put imports first, by what they import: their order hangs on the names of modules."""
    imports = [each for each in body if isinstance(each, ast.Import | ast.ImportFrom)]
    rest = [each for each in body if each not in imports]
    return [*sorted(imports, key=lambda each: "".join(shape(each))), *rest]


def shape(node: object) -> Iterator[str]:
    """Yield a tree without comments, texts that document, and fields that are empty.

    Empty fields differ between versions of Python. Of an import of our own it has the names, not
    the module: ``closure`` finds that, and a module that is moved does what it did.
    """
    if isinstance(node, list):
        for each in node:
            yield from shape(each)
    elif isinstance(node, ast.AST):
        yield f"({type(node).__name__}"
        for name, value in ast.iter_fields(node):
            if name == "body" and isinstance(value, list):
                value = [each for each in value if not _is_documentation(each)]
            if name == "module" and str(value).partition(".")[0] in PACKAGES:
                value = None
            if value not in (None, []):
                yield f" {name}="
                yield from shape(value)
        yield ")"
    else:
        yield repr(node)


def _is_documentation(node: ast.AST) -> bool:
    """Return whether a statement is a text alone: a docstring, or one below a name."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _imports(module: str, tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module} has a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "posenc":
            yield f"posenc.{node.attr}"


def _offers(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
        yield from ast.literal_eval(node.value)


@cache
def offered() -> dict[str, str]:
    """The names that ``posenc`` finds in its schemes, and where."""
    homes = [module for module in files() if module.startswith("posenc.schemes.")]
    return {f"posenc.{name}": module for module in homes for name in source(module).offers}


@cache
def needed(module: str) -> tuple[str, ...]:
    """The modules that one imports itself, with the packages that they are in."""
    found = set()
    for name in (module, *source(module).imports):
        name = offered().get(name, name)
        if name not in files():  # a function or class of a module
            name = name.rpartition(".")[0]
        parts = name.split(".")
        found |= {".".join(parts[: end + 1]) for end in range(len(parts))} & files().keys()
    if module == LEVELS:
        found |= {name for name in files() if name.startswith(f"{LEVELS}.")}
    return tuple(sorted(found - {module}))


def closure(modules: Iterable[str], without: tuple[str, ...] = ()) -> list[str]:
    """Modules, what they import, and so on, in order; some packages may be left out."""
    left_out = tuple(f"{each}." for each in without)
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        if module not in found and not f"{module}.".startswith(left_out):
            found.add(module)
            waiting += needed(module)
    return sorted(found)


def modules_of(scheme: Scheme) -> list[str]:
    """The modules of the reference and of the kit that are found by a scheme's names."""
    names = (
        f"posenc.schemes.{scheme.package_name}.{scheme.module_name}",
        f"posenc_conformance.schemes.{scheme.package_name}.{scheme.module_name}",
    )
    return [name for name in names if name in files()]


@cache
def versions() -> tuple[str, ...]:
    """What else decides on numbers: Python, what the kit requires, and what the processor can."""
    asked = map(Requirement, requires("posenc") or ())
    names = sorted({each.name for each in asked if "extra" not in str(each.marker)})
    packages = [f"{name} {version(name)}" for name in names]
    return (platform.python_version(), platform.machine(), *packages, *sorted(cpu_features()))


@cache
def installed() -> str:
    """Every package that is installed, and the browser: what else may change outside."""
    packages = sorted(f"{each.name} {each.version}" for each in distributions())
    return "\n".join([*packages, _build_of_browser()])


def browser() -> str:
    """Return the browser for the tests of the site: a name, or a path that CHROMIUM says."""
    return os.environ.get("CHROMIUM", "chromium-headless-shell")


def _build_of_browser() -> str:
    path = shutil.which(browser())
    return f"{path} {Path(path).resolve().stat().st_mtime_ns}" if path else ""


@cache
def digest_of_files(names: tuple[str, ...]) -> str:
    """Hash files of the repository, and all files in folders of it."""
    return _digest_of(
        ROOT,
        (
            path
            for name in names
            for path in sorted([ROOT / name, *(ROOT / name).rglob("*")])
            if "__pycache__" not in path.parts
        ),
    )


@cache
def digest_of_site(site: Path, patterns: tuple[str, ...]) -> str:
    """Hash files of the built site."""
    return _digest_of(site, (path for each in patterns for path in sorted(site.glob(each))))


def _digest_of(home: Path, paths: Iterable[Path]) -> str:
    found = hashlib.sha256()
    for path in paths:
        if path.is_file():
            found.update(path.relative_to(home).as_posix().encode() + path.read_bytes())
    return found.hexdigest()


@cache
def digest_of_spec(path: Path) -> str:
    """Hash what a scheme file says, however it is laid out; remembered by its bytes.

    Keys are sorted, and numbers are as JSON writes them, so that 1 differs from 1.0. Who uses the
    scheme decides no number.
    """
    data = path.read_bytes()
    key = hashlib.sha256(b"what its data say of numbers: " + data).hexdigest()
    if known := STORE.text(key):
        return known
    content = load_yaml(path, data.decode())
    content.pop("known-use", None)
    found = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    STORE.keep_text(key, found)
    return found


def digest(modules: Iterable[str], schemes: Sequence[Scheme], *also: str) -> str:
    """Hash of all that modules do, with what the schemes' files say, and other words."""
    roots = [*modules, *(name for scheme in schemes for name in modules_of(scheme))]
    code = [f"{module} {source(module).digest}" for module in closure(roots)]
    specs = [digest_of_spec(scheme.path) for scheme in schemes]
    text = json.dumps([code, specs, versions(), also])
    return hashlib.sha256(text.encode()).hexdigest()
