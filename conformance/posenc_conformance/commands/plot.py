"""``posenc plot``: an encoding to look at: its table, curves and distances, as one SVG."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from posenc_conformance.commands.identify.saved_arrays import read_tables
from posenc_conformance.errors import UserError, in_line
from posenc_conformance.files import Writer, is_sealed, sealed, shown
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.call_kinds import KINDS
from posenc_conformance.judge.invocation import materialise
from posenc_conformance.pictures.picture import Lines, Picture, line, map_values
from posenc_conformance.pictures.svg import STACKED, describe, stack
from posenc_conformance.testing.check import expected, show
from posenc_conformance.testing.question import COMBINATION
from posenc_conformance.testing.signatures import Misuse, Signature, find_signature
from posenc_conformance.testing.words import translate

ROWS, CHANNELS = 64, 64
USUAL: Mapping[str, Any] = {
    "positions": np.arange(ROWS),
    "x": np.tile([1.0, 0.0], (ROWS, CHANNELS // 2)),
    "relative_position": np.arange(-ROWS, ROWS + 1),
    **{"dim": CHANNELS, "rotary_dim": CHANNELS, "heads": 8, "base": 10000.0},
    **{"q_len": ROWS, "k_len": ROWS, "height": 8, "width": 8},
}
"""Arguments that a plot chooses where a call needs them and nobody has given them."""
FOREIGN = "is no plot of posenc, or was changed, and would be overwritten"
LARGEST = 2**22
"""Largest result, in values, that is drawn: larger ones would cost minutes and show no more."""
EXAMPLE = "--param=positions=[0,1,2] --param=dim=64"
CURVES = 4
"""Number of channels or heads that are drawn as curves."""


def plot(
    name: str, parameters: Sequence[str], saved: str | None, out: str | None, *, force: bool
) -> Iterator[str]:
    """Draw a call of a scheme, write the picture, and yield what it shows.

    ``saved`` names a file with a table to draw beside it, as the result of the same call.

    Raises UserError for arguments that do not fit, and for a file that would be lost.
    """
    signature = find_signature(name)
    try:
        wanted = translate(signature, _given(parameters), -2)
        table = None if saved is None else _saved(saved)
        given, result = _chosen(signature, wanted, () if table is None else table.shape)
        pictures = [*_pictures(signature, result)]
        if table is not None:
            pictures += show(table, signature.call.name, **given).pictures
    except Misuse as problem:
        usual = "give an argument, parameter or convention as --param=NAME=VALUE"
        (hint, *_) = problem.hint.split("\nwrite ")
        raise UserError(problem.cause, usual if hint.startswith("write ") else hint) from None
    except AssertionError as problem:  # the table has another shape, or values that are not finite
        (why, *_) = str(problem).splitlines()
        hint = f"identify it, or give the arguments it was made with: {EXAMPLE}"
        raise UserError(f"{shown(saved or '')}: {in_line(why)}", hint) from None
    path = Path(out or f"{signature.call.name}.svg")
    Writer(_is_plot, FOREIGN, force).write({path: sealed(stack(pictures))})
    yield from (f"{picture.title}: {describe(picture)}" for picture in pictures)
    yield f"wrote {shown(path)}"


def _given(parameters: Sequence[str]) -> dict[str, Any]:
    """Return the arguments that the user gives."""
    given = {}
    for text in parameters:
        name, sign, value = text.partition("=")
        if not sign:
            raise UserError(f"--param={in_line(text)} has no value", "write --param=NAME=VALUE")
        given[name] = _value(value)
    return given


def _usual(shape: Sequence[int]) -> Mapping[str, Any]:
    """Return the usual arguments, for a table of this shape if it has rows and columns."""
    if len(shape) < 2:
        return USUAL
    rows, columns = shape[-2:]
    sizes = {"positions": np.arange(rows), "dim": columns, "q_len": rows, "k_len": columns}
    heads = {"heads": shape[-3]} if len(shape) > 2 else {}
    turned = {"x": np.tile([1.0, 0.0], (rows, -(-columns // 2)))[:, :columns]}
    return {**USUAL, **sizes, **heads, **turned, "rotary_dim": columns}


def _choices(
    signature: Signature, given: Mapping[str, Any], shape: Sequence[int]
) -> Iterator[dict[str, Any]]:
    """Yield arguments to try, those of goldens last: they fit, but may be of few rows."""
    call, combination = signature.call, given.get(COMBINATION)
    fitting = _usual(shape)
    usual = {name: fitting[name] for name in (*call.arguments, *call.parameters) if name in fitting}
    yield {**usual, **given}
    for golden in signature.scheme.goldens:
        if golden.call != call.name or combination not in (None, golden.combination):
            continue
        own = materialise(golden.arguments)
        point = call.combinations[golden.combination].conventions
        named = {} if point.keys() & given.keys() else {COMBINATION: golden.combination}
        yield {**named, **golden.options, **own, **usual, **given}
        yield {**named, **golden.options, **own, **given}


def _chosen(
    signature: Signature, given: Mapping[str, Any], shape: Sequence[int]
) -> tuple[dict[str, Any], Floats]:
    """Return arguments that fit the call, of the sizes of a table of this shape, and its result.

    Raises Misuse if none do: the problem with the arguments that were tried last.
    """
    problem: Misuse | None = None
    _demand_small(signature, given)
    for arguments in _choices(signature, given, shape):
        try:
            result = expected(signature.call.name, **arguments)
            return arguments, np.asarray(result, np.float64)
        except Misuse as error:
            problem = error
    assert problem is not None  # at least one choice was tried
    raise problem


def _demand_small(signature: Signature, given: Mapping[str, Any]) -> None:
    """Raise Misuse for sizes of which a plot would take minutes."""
    sizes = {**USUAL, **given}
    for name in ("heads", "dim", "q_len", "k_len", "height", "width"):
        size = sizes[name]
        if name in given and isinstance(size, int) and size * ROWS * CHANNELS > LARGEST:
            words = f"{name}={size} is too large to be drawn"
            raise Misuse(f"{signature.call.name}: {words}", f"up to {LARGEST // ROWS // CHANNELS}")


def _value(text: str) -> Any:
    """Return a number, a list of numbers as an array, or else the text."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    return np.asarray(value) if isinstance(value, list | tuple) else value


def _pictures(signature: Signature, result: Floats) -> Iterator[Picture]:
    name = signature.call.name
    if not result.size or not result.ndim:
        raise Misuse(f"{name}: there is nothing to draw")
    axes = KINDS[signature.call.kind].axis_names(min(result.ndim, 3))
    if result.ndim == 1:
        values = line(name, range(len(result)), result)
        yield Lines(f"{name}: values", axes[-1], "value", (values,))
        return
    tables = result.reshape(-1, *result.shape[-2:])
    labels = range(tables.shape[1]), range(tables.shape[2])
    group = axes[-3] if len(axes) > 2 else "table"
    of_first = f" of {group} 0" if len(tables) > 1 else ""
    yield map_values(f"{name}: table{of_first}", tables[0], (axes[-2], axes[-1]), labels)
    if axes[-1] != "channel":
        lines = [line(f"{group} {n}", labels[1], table[-1]) for n, table in enumerate(tables)]
        title = f"{name}: the last {axes[-2]}, by {axes[-1]}"
        yield Lines(title, axes[-1], "value", tuple(lines[:CURVES]))
        return
    channels = dict.fromkeys(np.linspace(0, tables.shape[2] - 1, CURVES).astype(int).tolist())
    curves = [line(f"channel {n}", labels[0], tables[0][:, n]) for n in channels]
    yield Lines(f"{name}: curves", axes[-2], "value", tuple(curves))
    alike = line("alike", labels[0], tables[0] @ tables[0][0])
    title = f"{name}: product of the first row with each, by distance"
    yield Lines(title, "distance", "product", (alike,))


def _saved(name: str) -> Any:
    """Read the only array of a file."""
    (table, *others) = [*read_tables(Path(name))]
    if isinstance(table, UserError):
        raise table
    if others:
        raise UserError(f"{shown(name)} has several arrays", "save the one to draw by itself")
    array = _without_ones(table.array)
    if array.dtype == np.float64 and np.array_equal(array.astype(np.float32), array):
        return array.astype(np.float32)  # printed with all digits of a float32
    return array


def _without_ones(array: Any) -> Any:
    """Return a table of two axes without others of length 1.

    PyTorch's tutorial has its table as [n, 1, dim], and models as [1, n, dim].
    """
    if array.ndim < 3:
        return array
    ones = tuple(axis for axis in range(array.ndim - 1) if array.shape[axis] == 1)
    return array.squeeze(ones) if array.ndim - len(ones) == 2 else array


def _is_plot(path: Path) -> bool:
    return is_sealed(path, STACKED)
