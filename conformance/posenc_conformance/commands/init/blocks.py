"""Sizes at which code may switch, read from its source: blocks, chunks and limits."""

import ast
import inspect
import re
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache

from posenc_conformance.commands.init.candidates import Found

BLOCKS = re.compile(
    r"^_?(block|chunk|tile)(_?(size|len|length|m|n|rows?|seq|s|t))?$", re.IGNORECASE
)
"""Names for sizes of blocks of rows. BLOCK_D and BLOCK_K are channels."""
LEAST, MOST = 2, 2**14
"""Smaller sizes are no switch; calls just above larger ones take longer than all others."""
SHOWN = 3
"""The number of sizes claimed, the largest ones: the usual calls cover smaller blocks."""


def sizes_of(parts: Sequence[Found]) -> tuple[int, ...]:
    """Read sizes of blocks, and limits of sizes, from the modules of some functions or classes."""
    sizes: set[int] = set()
    for module in dict.fromkeys(each.module for each in parts):
        sizes |= _of_module(module)
    return tuple(sorted(each for each in sizes if LEAST <= each <= MOST)[-SHOWN:])


@lru_cache(maxsize=128)
def _of_module(name: str) -> frozenset[int]:
    try:
        tree = ast.parse(inspect.getsource(sys.modules[name]))
    except (OSError, TypeError, KeyError, SyntaxError, ValueError):
        return frozenset()  # compiled, or made while running
    constants = dict(_constants(tree))
    return frozenset(_blocks(tree, constants)) | frozenset(_limits(tree, constants))


def _constants(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the whole numbers that a module assigns to names at its top level."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            target, value = node.target, node.value
        else:
            continue
        number = _number(value, {})
        if isinstance(target, ast.Name) and number is not None:
            yield target.id, number


def _number(node: ast.AST | None, constants: dict[str, int]) -> int | None:
    """Return the value of an expression of whole numbers; None for any other expression."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name):
        return constants.get(node.id)
    if isinstance(node, ast.Call) and len(node.args) == 1:  # tl.constexpr(128)
        return _number(node.args[0], constants)
    if isinstance(node, ast.BinOp):
        left, right = (_number(side, constants) for side in (node.left, node.right))
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, ast.LShift | ast.Pow) and 0 <= right < 64:
            return left << right if isinstance(node.op, ast.LShift) else int(left**right)
    return None


def _blocks(tree: ast.Module, constants: dict[str, int]) -> Iterator[int]:
    """Yield the values of names for block sizes: assigned, passed by keyword, or defaults."""
    for node in ast.walk(tree):
        named: list[tuple[str, ast.AST | None]] = []
        if isinstance(node, ast.Assign):
            named = [(item.id, node.value) for item in node.targets if isinstance(item, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            named = [(node.target.id, node.value)]
        elif isinstance(node, ast.keyword):
            named = [(node.arg or "", node.value)]
        elif isinstance(node, ast.arguments):
            last = [*node.posonlyargs, *node.args][::-1]
            named = [(a.arg, b) for a, b in zip(last, node.defaults[::-1], strict=False)]
            named += [(a.arg, b) for a, b in zip(node.kwonlyargs, node.kw_defaults, strict=True)]
        elif isinstance(node, ast.Dict):  # triton.Config({"BLOCK": 128})
            keys = [item.value if isinstance(item, ast.Constant) else "" for item in node.keys]
            named = [(str(a), b) for a, b in zip(keys, node.values, strict=True)]
        for name, value in named:
            number = _number(value, constants)
            if BLOCKS.match(name) and number is not None:
                yield number


def _limits(tree: ast.Module, constants: dict[str, int]) -> Iterator[int]:
    """Yield the numbers with which code compares a number of rows."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            sides = (node.left, node.comparators[0])
            for side, other in (sides, sides[::-1]):
                number = _number(other, constants)
                if number is not None and _is_rows(side):
                    yield number


def _is_rows(node: ast.AST) -> bool:
    """Return whether an expression counts rows, as x.shape[-2], len(positions) and seq_len do."""
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
        return node.value.attr == "shape" and _is_axis_of_rows(node.slice)
    if isinstance(node, ast.Call) and node.args:
        called = node.func
        if isinstance(called, ast.Name) and called.id == "len":
            return isinstance(node.args[0], ast.Name) and "pos" in node.args[0].id
        return (
            isinstance(called, ast.Attribute)
            and called.attr == "size"
            and _is_axis_of_rows(node.args[0])
        )
    return isinstance(node, ast.Name) and bool(re.search(r"seq_?len|n_?(rows|tokens)", node.id))


def _is_axis_of_rows(node: ast.AST) -> bool:
    """Return whether an index is that of the axis before the channels, from the end."""
    return ast.unparse(node) == "-2"
