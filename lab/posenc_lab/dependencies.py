"""The dependencies of a verdict: the code that computes it, found through imports, and versions.

The digest of a file covers only what the file does: not comments, docstrings, names of local
variables or the layout of a scheme file. A module depends on the modules that it imports, also
inside functions, and on the homes of names that it takes from ``posenc``, which loads its schemes
lazily.
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
"""The package whose modules are imported by level name."""


@dataclass(frozen=True)
class Source:
    """The parts of a Python file on which verdicts depend."""

    digest: str
    """Hash of the code without comments, docstrings and names of local variables."""
    imports: tuple[str, ...]
    """Imported modules and names, and names taken from ``posenc``."""
    offers: tuple[str, ...]
    """The file's ``__all__``."""


@cache
def files() -> dict[str, Path]:
    """Return the path of every module in PACKAGES, by module name."""
    paths = {}
    for package, home in PACKAGES.items():
        for path in (home / package).rglob("*.py"):
            parts = path.relative_to(home).with_suffix("").parts
            paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return paths


@cache
def source(module: str) -> Source:
    """Return a module's digest, imports and ``__all__``, cached: parsing all takes seconds."""
    data = files()[module].read_bytes()
    key = hashlib.sha256(
        b"what its code does, whatever its variables are called: " + module.encode() + data
    ).hexdigest()
    if cached := STORE.text(key):
        digest, imports, offers = json.loads(cached)
        return Source(digest, tuple(imports), tuple(offers))
    parsed = _parsed(module, data)
    STORE.keep_text(key, json.dumps([parsed.digest, parsed.imports, parsed.offers]))
    return parsed


def _parsed(module: str, data: bytes) -> Source:
    tree = ast.parse(data)
    imports = tuple(dict.fromkeys(_imports(module, tree)))
    offers = tuple(name for node in tree.body for name in _offers(node))
    return Source(_digest_of_tree(tree), imports, offers)


def _digest_of_tree(tree: ast.Module) -> str:
    tree.body = _sorted_imports(tree.body)
    Scopes().visit(tree)
    return hashlib.sha256("".join(shape(tree)).encode()).hexdigest()


def digest_of_code(data: bytes) -> str:
    """Return the digest of a Python file's code; comments, docstrings and locals don't count."""
    key = hashlib.sha256(b"digest of code without names of variables: " + data).hexdigest()
    if cached := STORE.text(key):
        return cached
    digest = _digest_of_tree(ast.parse(data))
    STORE.keep_text(key, digest)
    return digest


def _sorted_imports(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Put imports first, sorted by imported names: ruff sorts them by module names."""
    imports = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    others = [node for node in body if node not in imports]
    return [*sorted(imports, key=lambda node: "".join(shape(node))), *others]


SCOPES = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)


NAMING = (ast.Name, ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.Global, *SCOPES[:3])


class Scopes(ast.NodeVisitor):
    """Number the local variables of each outermost function, lambda and comprehension."""

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, SCOPES):
            _number_locals(node)
        else:
            self.generic_visit(node)


def _number_locals(scope: ast.AST) -> None:
    """Replace names that a scope or a scope within it binds by numbers; parameters stay.

    A caller may pass a function's parameter by its name; here nobody does so with a lambda's.
    """
    nodes = [node for node in ast.walk(scope) if isinstance(node, NAMING)]
    names = [name for node in nodes for name in _bound(node)]
    stay = {name for node in nodes for name in _fixed(node)}
    numbers = {name: f"{at}" for at, name in enumerate(dict.fromkeys(names)) if name not in stay}
    for node in nodes:
        if isinstance(node, ast.Name):
            node.id = numbers.get(node.id, node.id)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            node.name = numbers.get(node.name, node.name)
        elif isinstance(node, ast.Lambda):
            for parameter in _parameters(node):
                parameter.arg = numbers.get(parameter.arg, parameter.arg)


def _bound(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node binds as variables."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
        yield node.name
    elif isinstance(node, ast.Lambda):
        yield from (parameter.arg for parameter in _parameters(node))


def _fixed(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node binds, or refers to, elsewhere than in its own function."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield from (node.name, *(parameter.arg for parameter in _parameters(node)))
    elif isinstance(node, ast.Global):
        yield from node.names


def _parameters(
    function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
) -> list[ast.arg]:
    listed = function.args
    several = [each for each in (listed.vararg, listed.kwarg) if each]
    return [*listed.posonlyargs, *listed.args, *listed.kwonlyargs, *several]


def shape(node: object) -> Iterator[str]:
    """Yield a tree without comments, docstrings and empty fields.

    Empty fields differ between versions of Python. An import from our own packages keeps its names
    but not its module: ``closure`` finds the module, and moving one doesn't change what it does.
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
    """Return whether a statement is only a string: a docstring, also of a constant."""
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
    """Return the module of each name that ``posenc`` loads from its schemes."""
    homes = [module for module in files() if module.startswith("posenc.schemes.")]
    return {f"posenc.{name}": module for module in homes for name in source(module).offers}


@cache
def needed(module: str) -> tuple[str, ...]:
    """Return the modules that a module imports directly, with their parent packages."""
    modules = set()
    for name in (module, *source(module).imports):
        name = offered().get(name, name)
        if name not in files():  # a function or class of a module
            name = name.rpartition(".")[0]
        parts = name.split(".")
        modules |= {".".join(parts[: end + 1]) for end in range(len(parts))} & files().keys()
    if module == LEVELS:
        modules |= {name for name in files() if name.startswith(f"{LEVELS}.")}
    return tuple(sorted(modules - {module}))


def closure(modules: Iterable[str], without: tuple[str, ...] = ()) -> list[str]:
    """Return modules and all their transitive imports, sorted, except packages in ``without``."""
    left_out = tuple(f"{package}." for package in without)
    reached: set[str] = set()
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        if module not in reached and not f"{module}.".startswith(left_out):
            reached.add(module)
            waiting += needed(module)
    return sorted(reached)


def modules_of(scheme: Scheme) -> list[str]:
    """Return the scheme's modules in the reference and in the kit, if they exist."""
    names = (
        f"posenc.schemes.{scheme.package_name}.{scheme.module_name}",
        f"posenc_conformance.schemes.{scheme.package_name}.{scheme.module_name}",
    )
    return [name for name in names if name in files()]


@cache
def versions() -> tuple[str, ...]:
    """Return the versions of Python and requirements, and the processor: they affect results."""
    requirements = map(Requirement, requires("posenc") or ())
    names = sorted(
        {requirement.name for requirement in requirements if "extra" not in str(requirement.marker)}
    )
    packages = [f"{name} {version(name)}" for name in names]
    return (platform.python_version(), platform.machine(), *packages, *sorted(cpu_features()))


@cache
def installed() -> str:
    """Return the version of every installed package, and the browser's modification time."""
    packages = sorted(f"{package.name} {package.version}" for package in distributions())
    return "\n".join([*packages, _build_of_browser()])


def browser() -> str:
    """Return the browser for the site's tests: the CHROMIUM variable, or a default name."""
    return os.environ.get("CHROMIUM", "chromium-headless-shell")


def _build_of_browser() -> str:
    path = shutil.which(browser())
    return f"{path} {Path(path).resolve().stat().st_mtime_ns}" if path else ""


@cache
def digest_of_files(names: tuple[str, ...]) -> str:
    """Hash the repository's files in ``names``, and all files in its folders in ``names``."""
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
    """Hash the files of the built site that match ``patterns``."""
    return _digest_of(site, (path for pattern in patterns for path in sorted(site.glob(pattern))))


def _digest_of(home: Path, paths: Iterable[Path]) -> str:
    hasher = hashlib.sha256()
    for path in paths:
        if path.is_file():
            hasher.update(path.relative_to(home).as_posix().encode() + path.read_bytes())
    return hasher.hexdigest()


@cache
def digest_of_spec(path: Path) -> str:
    """Hash the content of a scheme file, independent of its layout; cached by its bytes.

    Keys are sorted, and numbers are written as JSON, so that 1 differs from 1.0. ``known-use`` is
    ignored: it affects no result.
    """
    data = path.read_bytes()
    key = hashlib.sha256(b"what its data say of numbers: " + data).hexdigest()
    if cached := STORE.text(key):
        return cached
    content = load_yaml(path, data.decode())
    content.pop("known-use", None)
    hashed = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    STORE.keep_text(key, hashed)
    return hashed


def digest(modules: Iterable[str], schemes: Sequence[Scheme], *also: str) -> str:
    """Hash the code of modules and their imports, the schemes' files, versions, and ``also``."""
    roots = [*modules, *(name for scheme in schemes for name in modules_of(scheme))]
    code = [f"{module} {source(module).digest}" for module in closure(roots)]
    specs = [digest_of_spec(scheme.path) for scheme in schemes]
    text = json.dumps([code, specs, versions(), also])
    return hashlib.sha256(text.encode()).hexdigest()
