"""Helpers for writing an adapter: axes, sequences, offsets, tables, and objects made once.

``x`` is a NumPy or JAX array or a PyTorch tensor of shape ``[..., n, dim]``, and ``positions`` are
n integers, as the kit passes them to an adapter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Positions = npt.NDArray[np.int64]
Function = Callable[..., Any]
P = ParamSpec("P")
T = TypeVar("T")

FLOATS = ("float32", "bfloat16", "float16")
"""Dtypes of models, for code that computes angles in float32: float64 inputs gain nothing."""
ALL_FLOATS = ("float64", *FLOATS)
EXACT = 2**24
"""Largest position for code that casts positions to float32, which is exact up to here."""
LONGEST = 2**30
"""Largest number of elements of a sequence: 4 GiB in float32."""


def once(make: Callable[P, T], size: int = 64) -> Callable[P, T]:
    """Return a function that makes each object once and returns it again for equal arguments.

    Use it for modules that a user builds once and calls often: a module keeps its state between
    calls. Arguments are compared by value; lists, dicts and arrays are allowed.

    Parameters
    ----------
    make : callable
        A class or function that makes the object.
    size : int
        The number of most recently used objects that are kept.
    """
    objects: dict[object, T] = {}

    def get(*arguments: P.args, **parameters: P.kwargs) -> T:
        key = _key((arguments, parameters))
        objects[key] = objects.pop(key) if key in objects else make(*arguments, **parameters)
        if len(objects) > size:
            del objects[next(iter(objects))]
        return objects[key]

    return get


def _key(value: object) -> object:
    if isinstance(value, Mapping):
        return "mapping", tuple((name, _key(value[name])) for name in sorted(value))
    if isinstance(value, list | tuple):
        return type(value), tuple(map(_key, value))
    if isinstance(value, np.ndarray):
        return value.shape, str(value.dtype), value.tobytes()
    return type(value), value


def by_heads(function: Function, *arrays: Any, form: str = "bhnd") -> Any:
    """Apply a function that takes a fixed number of axes to arrays with any leading axes.

    Parameters
    ----------
    function : callable
        Takes the arrays in ``form`` and returns one in the same form, whose n and dim may differ
        from theirs.
    arrays : array or tensor of shape ``[..., n, dim]``
        Arrays with the same leading axes, such as x alone, or query, key and value.
    form : str
        ``"bhnd"`` for ``[1, heads, n, dim]``, ``"bnhd"`` for ``[1, n, heads, dim]``, ``"hnd"`` for
        ``[heads, n, dim]``. All leading axes together count as heads.

    Returns
    -------
    array or tensor of shape ``[..., n, dim]``
        The result of the function, with the leading axes of the arrays.
    """
    result = function(*(headed(array, form) for array in arrays))
    if form == "bnhd":
        result = result.swapaxes(1, 2)
    return result.reshape(*arrays[0].shape[:-2], *result.shape[-2:])


def headed(x: Any, form: str = "bhnd") -> Any:
    """Reshape the array x of shape ``[..., n, dim]`` to one of the forms of :func:`by_heads`."""
    *leading, rows, dim = x.shape
    if form not in ("bhnd", "bnhd", "hnd"):
        raise ValueError(f"form {form!r} is not one of bhnd, bnhd and hnd")
    heads = x.reshape(*[1] * (len(form) - 3), math.prod(leading), rows, dim)
    return heads.swapaxes(1, 2) if form == "bnhd" else heads


def in_sequence(function: Function, x: Any, positions: Positions, length: int | None = None) -> Any:
    """Apply a function that takes whole sequences, and no positions, to rows at ``positions``.

    The rows are put into a sequence at their positions, with zeros elsewhere. The function is
    called with this sequence, and the rows are selected from its result. A repeated position needs
    another sequence, and so another call.

    The claim's ``max_position`` limits the length of the sequence.

    Parameters
    ----------
    function : callable
        Takes a sequence of shape ``[..., length, dim]`` and returns one. The sequence is a PyTorch
        tensor if x is one, and may then be differentiated; else it is a NumPy array.
    x : array or tensor of shape ``[..., n, dim]``
        The rows.
    positions : array of shape ``[n]``
        The positions of the rows, in any order.
    length : int, optional
        Length of the sequence; one more than the largest position if left out.

    Raises
    ------
    NotImplementedError
        If the numbers of rows and positions differ.
    ValueError
        If the sequence would have more than 2**30 elements.
    """
    positions = _indices(positions)
    _require_a_position_each(x, positions)
    length = span(positions) if length is None else length
    _demand_room((*x.shape[:-2], length, x.shape[-1]))
    parts, rows = [], []
    for chosen in _without_repeats(positions):
        at = positions[chosen]
        sequence = _zeros(x, length)
        sequence[..., at, :] = x[..., chosen, :]
        parts.append(_like(x, function(sequence))[..., at, :])
        rows.append(chosen)
    return _joined(x, parts)[..., np.argsort(np.concatenate(rows)), :]


def in_stretches(function: Function, x: Any, positions: Positions) -> Any:
    """Apply a function that takes consecutive rows and an offset to rows at ``positions``.

    Parameters
    ----------
    function : callable
        Takes rows of shape ``[..., m, dim]`` and the position of the first one, and returns as
        many rows. It is called once for each run of consecutive positions, as in prefill and
        decode.
    x : array or tensor of shape ``[..., n, dim]``
        The rows.
    positions : array of shape ``[n]``
        The positions of the rows, in any order.

    Raises
    ------
    NotImplementedError
        If the numbers of rows and positions differ.
    """
    positions = _indices(positions)
    _require_a_position_each(x, positions)
    if not len(positions):
        return function(x, 0)
    breaks = np.flatnonzero(np.diff(positions) != 1) + 1
    edges = [0, *breaks.tolist(), len(positions)]
    parts = [_like(x, function(x[..., a:b, :], int(positions[a]))) for a, b in pairwise(edges)]
    return _joined(x, parts)


def rows_of(table: Callable[[int], Any], positions: Positions, length: int | None = None) -> Any:
    """Make a table for positions 0 to length - 1, and return its rows at ``positions``.

    Parameters
    ----------
    table : callable
        Takes the length and returns an array or tensor of shape ``[length, dim]``.
    positions : array of shape ``[n]``
        The positions, in any order.
    length : int, optional
        Length of the table; one more than the largest position if left out.
    """
    return table(span(positions) if length is None else length)[_indices(positions)]


def span(positions: Positions, power_of_two: bool = False) -> int:
    """Return the length of the shortest sequence from position 0 that contains ``positions``.

    With ``power_of_two``, the length is rounded up to a power of two, at least 64, so that code
    that is compiled for each length is compiled for few.
    """
    longest = int(positions.max()) + 1 if positions.size else 0
    return max(64, 1 << (longest - 1).bit_length()) if power_of_two else longest


def _require_a_position_each(x: Any, positions: Positions) -> None:
    """Raise NotImplementedError unless there is one position per row.

    The function itself takes no positions, so it cannot refuse them.
    """
    if len(positions) != x.shape[-2]:
        raise NotImplementedError("the function takes no positions, so there cannot be too few")


def _indices(positions: Positions) -> Positions:
    """Convert to int64: narrower dtypes overflow, and PyTorch treats a uint8 index as a mask."""
    return positions.astype(np.int64)


def _without_repeats(positions: Positions) -> list[npt.NDArray[np.intp]]:
    """Group the indices of rows so that the positions within a group differ.

    There are as many groups as the most frequent position has rows.
    """
    order = np.argsort(positions, kind="stable")
    ranked = positions[order]
    times = np.empty(len(positions), np.intp)
    times[order] = np.arange(len(positions)) - np.searchsorted(ranked, ranked)
    return [np.flatnonzero(times == time) for time in range(int(times.max(initial=0)) + 1)]


def _demand_room(shape: tuple[int, ...]) -> None:
    if math.prod(shape) > LONGEST:
        raise ValueError(
            f"a sequence of shape {[*shape]} is too large to hold: claim a smaller max_position"
        )


def _zeros(x: Any, length: int) -> Any:
    shape = (*x.shape[:-2], length, x.shape[-1])
    return x.new_zeros(shape) if hasattr(x, "new_zeros") else np.zeros(shape, x.dtype)


def _like(x: Any, result: Any) -> Any:
    return result if hasattr(x, "new_zeros") else np.asarray(result)


def _joined(x: Any, parts: list[Any]) -> Any:
    if hasattr(x, "new_zeros"):
        import torch

        return torch.cat(parts, dim=-2)
    return np.concatenate(parts, axis=-2)
