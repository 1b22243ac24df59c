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

from posenc_conformance.adapters.axes import arranged, joined, of_both, of_queries, restored
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
"""The framework whose arrays a function takes. JAX functions get NumPy arrays; give them as
``jax.jit(function)``, since each new shape is compiled, and otherwise operation by operation."""
Names = Mapping[str, str]
"""The function's keyword for each parameter of the specification."""
ROWS = ("x", "positions")
"""The positional arguments of a call of a rotary scheme."""
QUERY_KEY = "rope_query_key"
QUERIES_AND_KEYS = ("q", "k", "positions")
"""The call that judges queries and keys, and its positional arguments."""
WHOLE_SEQUENCES = 4095
"""Default ``max_position`` for functions that compute all positions from 0: that takes memory."""


def rope(
    function: Function,
    *,
    layout: str,
    shape: str = "bhsd",
    positions: str = "s",
    keys: bool = False,
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
    keys : bool
        Whether the function takes queries and keys, ``function(q, k, positions)``, and returns
        both. Both results are judged, the keys with fewer heads too.
    call : str
        The call of the specification, such as ``"llama3"``; with ``keys``, it is ``"rope"``.
    arrays : str
        The framework of the function's arrays: ``"numpy"``, ``"torch"`` or ``"jax"``.
    names : mapping, optional
        The function's keywords for parameters of the specification: ``{"base": "theta"}``.
    dtype, **claimed
        As :func:`posenc_conformance.claims` takes them.
    """

    def method(x: Any, where: Any, **given: Any) -> Any:
        placed = _array(arrays, where if positions == "s" else where[None])
        values = _array(arrays, x)
        if keys:
            return of_queries(lambda q, k: function(q, k, placed, **given), values, shape)
        return _shaped(lambda rows: function(rows, placed, **given), values, shape)

    def together(q: Any, k: Any, where: Any, **given: Any) -> Any:
        placed = _array(arrays, where if positions == "s" else where[None])
        queries, others = _array(arrays, q), _array(arrays, k)
        return of_both(lambda q, k: function(q, k, placed, **given), queries, others, shape)

    _require_letters("positions", positions, ("s", "bs"))
    claimed = {"layout": layout, "dtype": dtype, **claimed}
    if keys:
        return _adapter_of_both(function, call, method, together, names, claimed, taken=3)
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

    def turn(q: Any, where: Any, given: Mapping[str, Any]) -> Function:
        cos, sin = tables(_array(arrays, where), q.shape[-1], **given)
        return lambda queries, keys: function(queries, keys, cos, sin)

    def alone(x: Any, where: Any, **given: Any) -> Any:
        return of_queries(turn(x, where, given), _array(arrays, x), shape)

    def together(q: Any, k: Any, where: Any, **given: Any) -> Any:
        return of_both(turn(q, where, given), _array(arrays, q), _array(arrays, k), shape)

    claimed = {"layout": layout, "dtype": dtype, **claimed}
    of_rows = _method(tables, "rope", alone, ROWS, names, claimed)
    of_heads = _method(tables, QUERY_KEY, together, QUERIES_AND_KEYS, names, claimed)
    return _holding(_name_of(function), {"rope": of_rows, QUERY_KEY: of_heads})


def module(
    make: Function,
    *,
    layout: str,
    offset: str | None,
    shape: str = "bhsd",
    keys: bool = False,
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
    keys : bool
        Whether the module takes queries and keys, ``module(q, k, offset=128)``, and returns both.
        Both results are judged.
    shape, call, arrays, names, dtype, **claimed
        As :func:`rope` takes them.
    """
    built = once(make)

    def stretches(turn: Function, rows: Any, where: Any) -> Any:
        """Rotate rows with a function that takes them and the keywords of the module."""
        if offset is None:
            return in_sequence(lambda part: turn(part, {}), rows, where)
        return in_stretches(lambda part, first: turn(part, {offset: first}), rows, where)

    def method(x: Any, where: Any, **given: Any) -> Any:
        called = built(x.shape[-1], **given)

        def turn(rows: Any, place: Mapping[str, int]) -> Any:
            if keys:
                return of_queries(lambda q, k: called(q, k, **place), rows, shape)
            return _shaped(lambda part: called(part, **place), rows, shape)

        return stretches(turn, _array(arrays, x), where)

    def together(q: Any, k: Any, where: Any, **given: Any) -> Any:
        called, heads = built(q.shape[-1], **given), len(q)

        def turn(rows: Any, place: Mapping[str, int]) -> Any:
            return of_both(lambda q, k: called(q, k, **place), rows[:heads], rows[heads:], shape)

        return stretches(turn, joined(_array(arrays, q), _array(arrays, k)), where)

    longest = {"max_position": WHOLE_SEQUENCES} if offset is None else {}
    claimed = {"layout": layout, "dtype": dtype, **longest, **claimed}
    if keys:
        return _adapter_of_both(make, call, method, together, names, claimed, taken=1)
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
    return restored(function(arranged(x, shape)), shape, x.shape)


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


def _adapter_of_both(
    function: Function,
    call: str,
    alone: Function,
    together: Function,
    names: Names | None,
    claimed: Mapping[str, Any],
    taken: int,
) -> object:
    """Make an adapter with a method for queries and one for queries and keys."""
    if call != "rope":
        raise UserError(
            f"keys=True does not go with call={call!r}",
            "keys are judged by rope_query_key, which has no scaling: leave keys out",
        )
    of_rows = _method(function, "rope", alone, ROWS, names, claimed, taken)
    of_heads = _method(function, QUERY_KEY, together, QUERIES_AND_KEYS, names, claimed, taken)
    return _holding(_name_of(function), {"rope": of_rows, QUERY_KEY: of_heads})


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
