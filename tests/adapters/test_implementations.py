"""Adapters of libraries follow one pattern, registered or not."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from posenc_conformance.adapters.find import registered
from scoreboard.table import BOARD, IMPLEMENTATIONS

MODULES = sorted(
    path
    for path in IMPLEMENTATIONS.rglob("*.py")
    if path.name != "__init__.py" and path.stem != "reference"
)
NEEDED = {*sys.stdlib_module_names, "posenc_conformance", "ml_dtypes", "numpy", "mlx_adapter"}
"""Modules that an adapter may import at the top; mlx-lm's adapter uses that of mlx."""


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_an_adapter_imports_its_library_when_it_is_constructed(path: Path) -> None:
    modules = {name.partition(".")[0] for name in _imports(_tree(path).body)}
    assert modules <= NEEDED, f"{path.name} imports {modules - NEEDED} before its class is made"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_an_adapter_says_which_release_was_seen_and_what_it_requires(path: Path) -> None:
    for node in _tree(path).body:
        if not isinstance(node, ast.ClassDef) or not node.name.endswith("Adapter"):
            continue
        if not node.bases:  # a derived adapter has both from its base
            assert "(seen: " in (ast.get_docstring(node) or ""), f"{node.name} names no release"
            assert "requires" in _assigned(node), f"{node.name} requires nothing"


def test_an_adapter_is_either_registered_or_part_of_the_board() -> None:
    """Parts of a package count as registered with it."""
    modules = {point.module for point in registered().values()}
    for path in MODULES:
        name = ".".join(path.relative_to(IMPLEMENTATIONS.parents[1]).with_suffix("").parts)
        is_registered = any(f"{name}.".startswith(f"{module}.") for module in modules)
        assert is_registered != (BOARD in path.parents), name


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _imports(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "posenc_conformance"


def _assigned(node: ast.ClassDef) -> set[str]:
    return {
        target.id
        for statement in node.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
