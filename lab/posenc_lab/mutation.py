"""Small changes of a Python module, one at a time, like a programmer's mistakes.

These are not changed: error messages, docstrings, annotations, decorators (hence the sizes of
caches), ``__all__``, imports, and the defaults of the functions listed in ``__all__``.
"""

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType
from typing import Any

OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
}
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
OPPOSITES = (ast.Eq, ast.NotEq, ast.In, ast.NotIn, ast.Is, ast.IsNot)
COMMUTATIVE = {"add", "broadcast_arrays", "logical_and", "logical_or", "maximum", "minimum"}
NAMES = {
    "minimum": "maximum",
    "maximum": "minimum",
    "min": "max",
    "max": "min",
    "floor": "ceil",
    "rint": "floor",
    "any": "all",
    "all": "any",
    "left": "right",
    "right": "left",
}
"""Functions, methods and options that are easily confused."""
DROPPED = {"abs", "negative", "clip"}
"""Functions that a programmer forgets: the first argument replaces the call."""
FORGOTTEN = {"copy", "astype"}
"""Methods that a programmer forgets: the object replaces the call."""
SKIPPED = (ast.Raise, ast.Import, ast.ImportFrom, ast.JoinedStr, ast.Assert)
SKIPPED_FIELDS = {"annotation", "returns", "decorator_list", "bases", "ctx"}


@dataclass(frozen=True)
class Mutant:
    """One change of one node."""

    line: int
    text: str
    """The changed line, without its indentation."""
    change: str
    place: "Place"
    new: ast.AST


@dataclass(frozen=True)
class Place:
    """The place of a node in a tree: ``parent.field``, or its element at ``index``."""

    parent: ast.AST
    field: str
    index: int | None

    @contextmanager
    def holding(self, new: ast.AST) -> Iterator[None]:
        """Replace the node by ``new`` while the context lasts."""
        old = self._put(new)
        try:
            yield
        finally:
            self._put(old)

    def _put(self, new: ast.AST) -> ast.AST:
        if self.index is None:
            old: ast.AST = getattr(self.parent, self.field)
            setattr(self.parent, self.field, new)
        else:
            among: list[ast.AST] = getattr(self.parent, self.field)
            old, among[self.index] = among[self.index], new
        return old


def mutants(tree: ast.Module, source: str) -> list[Mutant]:
    """Return every change of a module, in the order of its lines."""
    lines = source.splitlines()
    collected = []
    for place, node in _nodes(tree, _public(tree)):
        for shown, new, text in _changes(place, node):
            line = lines[node.lineno - 1].strip()
            collected.append(Mutant(node.lineno, line, f"{shown} → {text}", place, new))
    return sorted(collected, key=lambda mutant: mutant.line)


def _public(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Assign) and _assigns(node, "__all__"):
            names |= set(ast.literal_eval(node.value))
    return names


def _assigns(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name


def _nodes(parent: ast.AST, public: set[str]) -> Iterator[tuple[Place, Any]]:
    """Yield every node that may change, with its place."""
    for field, value in ast.iter_fields(parent):
        if field in SKIPPED_FIELDS or (field == "args" and getattr(parent, "name", "") in public):
            continue
        if field == "body" and _is_guard(parent):
            continue  # it prepares an error message
        several = isinstance(value, list)
        for index, node in enumerate(value if several else [value]):
            if not isinstance(node, ast.AST) or _left_alone(node, parent):
                continue
            if hasattr(node, "lineno"):
                yield Place(parent, field, index if several else None), node
            if _number(node) is None:
                yield from _nodes(node, public)


def _is_guard(node: ast.AST) -> bool:
    """Return whether a node is an ``if`` without ``else`` whose body ends with a raise."""
    return isinstance(node, ast.If) and isinstance(node.body[-1], ast.Raise) and not node.orelse


def _number(node: ast.AST) -> float | None:
    """Return the value of a numeric literal, with its sign; None for any other node."""
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        sign, node = -1, node.operand
    value = node.value if isinstance(node, ast.Constant) else None
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return sign * value


def _left_alone(node: ast.AST, parent: ast.AST) -> bool:
    if isinstance(node, SKIPPED) or _assigns(node, "__all__"):
        return True
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(parent, ast.Module) and isinstance(node, ast.Assign):
        return _is_type(node.value)
    return isinstance(node, ast.keyword) and node.arg == "strict"


def _is_type(node: ast.AST) -> bool:
    union = isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr)
    return union or isinstance(node, ast.Subscript)


Change = tuple[str, ast.AST, str]
"""The text of the old node, the new node, and its text."""


def _changes(place: Place, node: Any) -> Iterator[Change]:
    rules: dict[type[ast.AST], Callable[[Any], Iterator[ast.AST]]] = {
        ast.BinOp: _operators,
        ast.AugAssign: _augmented,
        ast.Compare: _comparisons,
        ast.BoolOp: _conjunctions,
        ast.UnaryOp: _signs,
        ast.If: _conditions,
        ast.IfExp: _conditions,
        ast.Slice: _bounds,
        ast.Call: _calls,
        ast.Expr: _statements,
        ast.Attribute: _names,
        ast.Name: _names,
    }
    if isinstance(node, ast.Constant) or _number(node) is not None:
        for value in _constants(node, place.parent):
            constant = ast.copy_location(ast.Constant(value), node)
            yield _around(place), constant, _around(place, constant)
    elif isinstance(node, ast.List | ast.Tuple):
        if swapped := _swapped(place, node):
            yield _render(node, swapped)
    elif type(node) in rules:
        for new in rules[type(node)](node):
            yield _render(node, ast.copy_location(new, node))


def _render(old: ast.AST, new: ast.AST) -> Change:
    return _headline(old), ast.fix_missing_locations(new), _headline(new)


def _headline(node: ast.AST) -> str:
    """Return the source text of a node; of an ``if`` only its condition."""
    if isinstance(node, ast.If):
        return f"if {ast.unparse(node.test)}"
    return ast.unparse(node)


def _around(place: Place, new: ast.AST | None = None) -> str:
    """Return a constant's surrounding expression, so that a reader can see which constant it is."""
    alone = not isinstance(place.parent, ast.expr | ast.Slice | ast.keyword)
    if new is None:
        if not alone:
            return ast.unparse(place.parent)
        value = getattr(place.parent, place.field)
        return ast.unparse(value if place.index is None else value[place.index])
    if alone:
        return ast.unparse(new)
    with place.holding(new):
        return ast.unparse(place.parent)


def _constants(node: ast.Constant | ast.UnaryOp, parent: ast.AST) -> Iterator[Any]:
    number, value = _number(node), ast.literal_eval(node)
    if number is not None:
        yield from (number + 1, number - 1)
        if number < 0 and isinstance(number, float):
            yield -number  # only for floats: a negated index or axis is just another index
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, str) and isinstance(parent, ast.keyword) and value in NAMES:
        yield NAMES[value]


def _operators(node: ast.BinOp) -> Iterator[ast.expr]:
    if type(node.op) in OPERATORS:
        yield ast.BinOp(node.left, OPERATORS[type(node.op)](), node.right)


def _augmented(node: ast.AugAssign) -> Iterator[ast.stmt]:
    if type(node.op) in OPERATORS:
        yield ast.AugAssign(node.target, OPERATORS[type(node.op)](), node.value)
    yield ast.Pass()


def _comparisons(node: ast.Compare) -> Iterator[ast.expr]:
    for index, operator in enumerate(node.ops):
        changed = list(node.ops)
        changed[index] = COMPARISONS[type(operator)]()
        yield ast.Compare(node.left, changed, node.comparators)


def _conjunctions(node: ast.BoolOp) -> Iterator[ast.expr]:
    yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)


def _signs(node: ast.UnaryOp) -> Iterator[ast.expr]:
    if isinstance(node.op, ast.USub | ast.Not):
        yield node.operand


def _conditions(node: ast.If | ast.IfExp) -> Iterator[ast.AST]:
    """Negate the condition, unless another change does so; replace a guard's by ``False``."""
    test: ast.expr = ast.UnaryOp(ast.Not(), node.test)
    if _is_guard(node):
        test = ast.Constant(False)
    elif isinstance(node.test, ast.UnaryOp) or (
        isinstance(node.test, ast.Compare) and isinstance(node.test.ops[0], OPPOSITES)
    ):
        return
    yield type(node)(test, node.body, node.orelse)  # type: ignore[arg-type]  # both have these


def _bounds(node: ast.Slice) -> Iterator[ast.AST]:
    for name in ("lower", "upper"):
        bound = getattr(node, name)
        if bound is not None and _number(bound) is None:
            for moved in _move(bound):
                yield ast.Slice(**{**dict(ast.iter_fields(node)), name: moved})


def _move(bound: ast.expr) -> Iterator[ast.expr]:
    yield ast.BinOp(bound, ast.Add(), ast.Constant(1))
    yield ast.BinOp(bound, ast.Sub(), ast.Constant(1))


def _calls(node: ast.Call) -> Iterator[ast.AST]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
    numpy = ast.unparse(node.func).startswith("np.")
    plain = not any(isinstance(argument, ast.Starred) for argument in node.args)
    if len(node.args) > 1 and _is_text(node.args[0]) and isinstance(node.args[1], ast.Name):
        yield node.args[1]  # the argument of a checking function, unchecked
    if name in FORGOTTEN and isinstance(node.func, ast.Attribute) and not numpy:
        yield node.func.value
    if name in DROPPED and node.args:
        yield node.args[0]
    if name in ("range", "arange") and len(node.args) == 1:
        for moved in _move(node.args[0]):
            yield ast.Call(node.func, [moved], node.keywords)
    if numpy and name == "array" and isinstance(node.args[0], ast.Name):
        yield ast.Call(
            ast.Attribute(ast.Name("np", ast.Load()), "asarray", ast.Load()), node.args, []
        )
    if numpy and plain and name not in COMMUTATIVE:
        if len(node.args) == 2:
            yield ast.Call(node.func, node.args[::-1], node.keywords)
        if name == "where" and len(node.args) == 3:
            test, yes, no = node.args
            yield ast.Call(node.func, [test, no, yes], node.keywords)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _names(node: ast.Attribute | ast.Name) -> Iterator[ast.AST]:
    if not isinstance(node.ctx, ast.Load):
        return
    if isinstance(node, ast.Attribute) and node.attr in NAMES:
        yield ast.Attribute(node.value, NAMES[node.attr], node.ctx)
    elif isinstance(node, ast.Name) and node.id in ("min", "max"):
        yield ast.Name(NAMES[node.id], node.ctx)


def _statements(node: ast.Expr) -> Iterator[ast.AST]:
    if isinstance(node.value, ast.Call):
        yield ast.Pass()


def _swapped(place: Place, node: ast.List | ast.Tuple) -> ast.AST | None:
    """Return the node with its first two elements swapped, if their order can matter."""
    if not isinstance(node.ctx, ast.Load) or len(node.elts) < 2:
        return None
    if isinstance(place.parent, ast.Compare | ast.Subscript) or place.field == "iter":
        return None  # a choice, an index, an iterable
    if all(isinstance(element, ast.Constant) for element in node.elts):
        return None  # a list of choices
    first, second, *others = node.elts
    return ast.copy_location(type(node)([second, first, *others], ast.Load()), node)


def code_of(tree: ast.Module, mutant: Mutant, filename: str) -> CodeType:
    """Return the code of a module with one change."""
    with mutant.place.holding(mutant.new):
        code: CodeType = compile(tree, filename, "exec")
    return code
