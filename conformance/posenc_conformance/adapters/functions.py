"""One-line adapters for functions and modules that have one of the usual signatures.

Each documents the arguments that it passes, and passes no others. Conventions are not guessed: the
claim must state them, as with ``@claims``. Parameters of the specification, such as ``base``, are
passed by keyword if the function takes a keyword with this name, or with the name that ``names``
maps it to; if not, the claim must state the value: ``base=10000.0``.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np

from posenc_conformance.adapters.claims import claims
from posenc_conformance.adapters.helpers import (
    FLOATS,
    Function,
    in_sequence,
    in_stretches,
    once,
    rows_of,
)
from posenc_conformance.errors import UserError
from posenc_conformance.judge.arrays import to_numpy, to_torch

Framework = Literal["numpy", "torch", "jax"]
"""The framework whose arrays a function takes. JAX functions get NumPy arrays."""
Names = Mapping[str, str]
"""The function's keyword for each parameter of the specification."""
ROWS = ("x", "positions")
"""The positional arguments of a call of a rotary scheme."""
WHOLE_SEQUENCES = 4095
"""Default ``max_position`` for functions that compute all positions from 0: that takes memory."""


def rope(
    function: Function,
    *,
    layout: str,
    shape: str = "bhsd",
    positions: str = "s",
    call: str = "rope",
    arrays: Framework = "numpy",
    names: Names | None = None,
    dtype: str | Iterable[str] = FLOATS,
    **claimed: Any,
) -> object:
    """Make an adapter for a function that rotates x by position: ``function(x, positions)``.

    Parameters
    ----------
    function : callable
        Takes x and positions, and the parameters of the call by keyword.
    layout : str
        The claimed layout: ``"half"``, ``"interleaved"`` or ``"interleaved-to-half"``.
    shape : str
        The axes of x, one letter each, as in ``"bshd"``: ``b`` for the batch, ``h`` for heads,
        ``s`` for the sequence and ``d`` for channels. All leading axes of a call are merged into
        ``h``, and ``b`` has length 1; without ``h`` they are merged into ``b``.
    positions : str
        The axes of positions: ``"s"`` for ``[n]``, ``"bs"`` for ``[1, n]``.
    call : str
        The call of the specification, such as ``"llama3"``.
    arrays : str
        The framework of the function's arrays: ``"numpy"``, ``"torch"`` or ``"jax"``.
    names : mapping, optional
        The function's keywords for parameters of the specification: ``{"base": "theta"}``.
    dtype, **claimed
        As :func:`posenc_conformance.claims` takes them.
    """

    def method(x: Any, where: Any, **given: Any) -> Any:
        placed = _array(arrays, where if positions == "s" else where[None])
        return _shaped(lambda rows: function(rows, placed, **given), _array(arrays, x), shape)

    _require_letters("positions", positions, ("s", "bs"))
    claimed = {"layout": layout, "dtype": dtype, **claimed}
    return _adapter(function, call, method, ROWS, names, claimed)


def rope_by_tables(
    function: Function,
    tables: Function,
    *,
    layout: str,
    shape: str = "bhsd",
    arrays: Framework = "numpy",
    names: Names | None = None,
    dtype: str | Iterable[str] = FLOATS,
    **claimed: Any,
) -> object:
    """Make an adapter for a function that takes cosines and sines: ``function(q, k, cos, sin)``.

    Both results are judged: ``rope`` judges the queries, ``rope_query_key`` queries and keys.

    Parameters
    ----------
    function : callable
        Takes queries, keys, cosines and sines, and returns rotated queries and keys.
    tables : callable
        Returns cosines and sines: ``tables(positions, dim)``, with the parameters of the call
        by keyword. Positions have shape ``[n]``.
    layout, shape, arrays, names, dtype, **claimed
        As :func:`rope` takes them.
    """

    def turned(q: Any, k: Any, where: Any, given: Mapping[str, Any]) -> tuple[Any, Any]:
        cos, sin = tables(_array(arrays, where), q.shape[-1], **given)
        rows, keys = _headed(_array(arrays, q), shape), _headed(_array(arrays, k), shape)
        first, second = function(rows, keys, cos, sin)
        return _unheaded(first, shape, q.shape), _unheaded(second, shape, k.shape)

    def alone(x: Any, where: Any, **given: Any) -> Any:
        return turned(x, x, where, given)[0]

    def together(q: Any, k: Any, where: Any, **given: Any) -> Any:
        return np.concatenate([to_numpy(result) for result in turned(q, k, where, given)])

    claimed = {"layout": layout, "dtype": dtype, **claimed}
    named = _name_of(function)
    of_rows = _method(tables, "rope", alone, ROWS, names, claimed)
    of_both = _method(tables, "rope_query_key", together, ("q", "k", "positions"), names, claimed)
    return _holding(named, {"rope": of_rows, "rope_query_key": of_both})


def module(
    make: Function,
    *,
    layout: str,
    offset: str | None,
    shape: str = "bhsd",
    call: str = "rope",
    arrays: Framework = "torch",
    names: Names | None = None,
    dtype: str | Iterable[str] = FLOATS,
    **claimed: Any,
) -> object:
    """Make an adapter for a module that is built once and rotates rows at consecutive positions.

    Parameters
    ----------
    make : callable
        The class of the module, or a function that returns it: ``make(dim)``, with the parameters
        of the call by keyword. It is called once for equal arguments.
    layout : str
        The claimed layout.
    offset : str or None
        The keyword by which the module takes the position of the first row, as with a KV cache:
        ``module(x, offset=128)``. If None, the module takes only whole sequences, which begin at
        position 0; ``max_position`` is then 4095 unless claimed.
    shape, call, arrays, names, dtype, **claimed
        As :func:`rope` takes them.
    """
    built = once(make)

    def method(x: Any, where: Any, **given: Any) -> Any:
        turn = built(x.shape[-1], **given)

        rows = _array(arrays, x)
        if offset is None:
            return in_sequence(lambda part: _shaped(turn, part, shape), rows, where)

        def stretch(rows: Any, first: int) -> Any:
            return _shaped(lambda part: turn(part, **{offset: first}), rows, shape)

        return in_stretches(stretch, rows, where)

    longest = {"max_position": WHOLE_SEQUENCES} if offset is None else {}
    claimed = {"layout": layout, "dtype": dtype, **longest, **claimed}
    return _adapter(make, call, method, ROWS, names, claimed, taken=1)


def table(
    function: Function,
    *,
    call: str = "sinusoidal",
    names: Names | None = None,
    dtype: str | Iterable[str] = "float32",
    **claimed: Any,
) -> object:
    """Make an adapter for a function that returns a position table: ``function(length, dim)``.

    The table has a row for each position from 0 on; the kit selects the rows that it needs.

    Parameters
    ----------
    function : callable
        Takes the length and the number of channels, and the parameters of the call by keyword.
    call : str
        The call of the specification, which takes positions and ``dim``.
    names, dtype, **claimed
        As :func:`rope` takes them. ``max_position`` is 4095 unless claimed.
    """

    def method(positions: Any, dim: int, **given: Any) -> Any:
        return rows_of(lambda length: function(length, dim, **given), positions)

    claimed = {"max_position": WHOLE_SEQUENCES, "dtype": dtype, **claimed}
    return _adapter(function, call, method, ("positions", "dim"), names, claimed)


def bias(
    function: Function,
    *,
    call: str = "alibi_bias",
    square: bool = False,
    names: Names | None = None,
    dtype: str | Iterable[str] = "float32",
    **claimed: Any,
) -> object:
    """Make an adapter for a function that returns a bias: ``function(heads, q_len, k_len)``.

    A result of shape ``[1, heads, q_len, k_len]``, or without axes along which it repeats, is
    broadcast to the logits before it is judged.

    Parameters
    ----------
    function : callable
        Takes the numbers of heads, queries and keys, and the parameters of the call by keyword.
    call : str
        The call of the specification, which takes ``heads``, ``q_len`` and ``k_len``.
    square : bool
        Whether the function takes one length for queries and keys: ``function(heads, length)``.
    names, dtype, **claimed
        As :func:`rope` takes them. ``max_position`` is 4095 unless claimed.
    """

    def method(heads: int, q_len: int, k_len: int, **given: Any) -> Any:
        return function(heads, *_lengths(square, q_len, k_len), **given)

    claimed = _of_lengths(square, {"broadcast": True, "dtype": dtype, **claimed})
    places = ("heads", "q_len", "k_len")
    return _adapter(function, call, method, places, names, claimed, taken=3 - square)


def mask(
    function: Function,
    *,
    call: str = "causal_mask",
    square: bool = False,
    additive: bool = False,
    **claimed: Any,
) -> object:
    """Make an adapter for a function that returns an attention mask: ``function(q_len, k_len)``.

    Leading axes of length 1 are removed from the mask.

    Parameters
    ----------
    function : callable
        Takes the number of queries and of keys. Further arguments of the call, such as ``window``,
        follow by position.
    call : str
        The call of the specification, such as ``"sliding_window"``.
    square : bool
        Whether the function takes one length for queries and keys: ``function(length)``.
    additive : bool
        Whether the mask is added to logits: 0 for keys that a query may see, and far below 0 for
        all others. If False, the mask is true for keys that a query may see.
    **claimed
        As :func:`posenc_conformance.claims` takes them. ``max_position`` is 4095 unless claimed.
    """

    def method(q_len: int, k_len: int, *more: Any) -> Any:
        values = to_numpy(function(*_lengths(square, q_len, k_len), *more))
        values = values.reshape(values.shape[-2:]) if values[..., 0, 0].size == 1 else values
        return values == 0 if additive else values

    answer = _signed(method, call, [*_positional("q_len", "k_len"), MORE])
    claimed = _of_lengths(square, claimed)
    return _holding(_name_of(function), {call: claims(**claimed)(answer)})


def _lengths(square: bool, q_len: int, k_len: int) -> tuple[int, ...]:
    return (k_len,) if square else (q_len, k_len)


def _of_lengths(square: bool, claimed: Mapping[str, Any]) -> dict[str, Any]:
    """Add the default ``max_position`` to a claim, and the condition that ``square`` implies."""
    limited = {"max_position": WHOLE_SEQUENCES, **claimed}
    return {"when": _are_equal, **limited} if square else limited


def _are_equal(q_len: int, k_len: int) -> bool:
    return q_len == k_len


def _array(arrays: Framework, values: Any) -> Any:
    """Convert a NumPy array to an array that the function takes."""
    _require_letters("arrays", arrays, ("numpy", "torch", "jax"))
    return to_torch(values) if arrays == "torch" else values


def _require_letters(what: str, given: str, known: tuple[str, ...]) -> None:
    if given not in known:
        raise UserError(f"{what}={given!r} is not known", f"give one of {', '.join(known)}")


def _shaped(function: Function, x: Any, shape: str) -> Any:
    """Apply a function that takes the axes of ``shape`` to x of shape [..., n, dim]."""
    return _unheaded(function(_headed(x, shape)), shape, x.shape)


def _headed(x: Any, shape: str) -> Any:
    """Rearrange x of shape [..., n, dim] to the axes of ``shape``; leading axes become heads."""
    if sorted(shape) not in (sorted("bhsd"), sorted("hsd"), sorted("bsd"), sorted("sd")):
        raise UserError(
            f"shape={shape!r} names no order of axes",
            "write s for the sequence, d for channels, and b and h if there are a batch and heads",
        )
    *leading, rows, channels = x.shape
    many = int(np.prod(leading))
    most = "h" if "h" in shape else "b" if "b" in shape else ""
    if not most and many != 1:
        raise UserError(
            f"shape={shape!r} has no axis for the {many} sequences that the kit asks for at once",
            "claim what the function can do: when=lambda x: x.ndim == 2",
        )
    sizes = {"b": 1, "h": 1, most: many, "s": rows, "d": channels}
    ordered = [letter for letter in "bhsd" if letter in shape]
    values = x.reshape([sizes[letter] for letter in ordered])
    axes = [ordered.index(letter) for letter in shape]
    return values.permute(*axes) if hasattr(values, "permute") else values.transpose(axes)


def _unheaded(result: Any, shape: str, like: Any) -> Any:
    """Rearrange a result with the axes of ``shape`` to ``like``, the shape of x."""
    ordered = [letter for letter in "bhsd" if letter in shape]
    axes = [shape.index(letter) for letter in ordered]
    turned = result.permute(*axes) if hasattr(result, "permute") else result.transpose(axes)
    return turned.reshape(tuple(like))


def _adapter(
    function: Function,
    call: str,
    method: Function,
    places: tuple[str, ...],
    names: Names | None,
    claimed: Mapping[str, Any],
    taken: int = 2,
) -> object:
    """Make an adapter with one method; ``function`` takes ``taken`` arguments by position."""
    answer = _method(function, call, method, places, names, claimed, taken)
    return _holding(_name_of(function), {call: answer})


def _method(
    function: Function,
    call: str,
    method: Function,
    places: tuple[str, ...],
    names: Names | None,
    claimed: Mapping[str, Any],
    taken: int = 2,
) -> Function:
    """Make the adapter's method for a call, which takes the function's keywords and no others.

    The method passes them under the function's own names.
    """
    renamed = names or {}

    def answer(*arguments: Any, **given: Any) -> Any:
        return method(*arguments, **{renamed.get(name, name): item for name, item in given.items()})

    keywords = _keywords(function, taken, renamed)
    return claims(**claimed)(_signed(answer, call, [*_positional(*places), *keywords]))


def _positional(*names: str) -> list[inspect.Parameter]:
    return [inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in names]


MORE = inspect.Parameter("more", inspect.Parameter.VAR_POSITIONAL)
"""The parameter for further positional arguments of a call."""


def _signed(function: Function, name: str, parameters: list[inspect.Parameter]) -> Function:
    """Set the name and the signature by which the kit calls a function, and return it."""
    function.__name__ = name
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # a Callable
    return function


def _keywords(function: Function, taken: int, names: Names) -> list[inspect.Parameter]:
    """List the parameters of the specification that a function takes by keyword.

    Its first ``taken`` parameters are passed by position.
    """
    kinds = inspect.Parameter
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # compiled code may have no signature
        return [kinds("given", kinds.VAR_KEYWORD)]
    if any(parameter.kind is kinds.VAR_KEYWORD for parameter in parameters):
        return [kinds("given", kinds.VAR_KEYWORD)]
    ours = {theirs: name for name, theirs in names.items()}
    called = [ours.get(parameter.name, parameter.name) for parameter in parameters[taken:]]
    return [kinds(name, kinds.KEYWORD_ONLY, default=None) for name in called]


def _name_of(function: Function) -> str:
    """Return the name of a function or class, or of the class of an object with ``__call__``."""
    named = function if inspect.isroutine(function) or inspect.isclass(function) else type(function)
    return named.__name__


def _holding(name: str, methods: Mapping[str, Function]) -> object:
    """Make an adapter with these methods, whose class is called ``name``."""
    return type(name, (SimpleNamespace,), {})(**methods)
