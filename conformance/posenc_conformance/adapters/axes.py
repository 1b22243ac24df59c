"""Axes of arrays as functions take them, and functions that rotate queries and keys together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from typing import Any

import numpy as np

from posenc_conformance.errors import UserError
from posenc_conformance.judge.arrays import to_numpy

Function = Callable[..., Any]
FLAT = "(hd)"
"""The end of a shape in which the channels of all heads are one axis."""


def arranged(x: Any, shape: str) -> Any:
    """Rearrange x of shape [..., n, dim] to the axes of ``shape``; leading axes become heads."""
    if shape.endswith(FLAT):
        whole = arranged(x, shape.replace(FLAT, "hd"))
        return whole.reshape(*whole.shape[:-2], whole.shape[-2] * whole.shape[-1])
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


def restored(result: Any, shape: str, like: Any) -> Any:
    """Rearrange a result with the axes of ``shape`` to ``like``, the shape of x."""
    if shape.endswith(FLAT):
        heads = result.reshape(*result.shape[:-1], int(np.prod(like[:-2])), like[-1])
        return restored(heads, shape.replace(FLAT, "hd"), like)
    ordered = [letter for letter in "bhsd" if letter in shape]
    axes = [shape.index(letter) for letter in ordered]
    turned = result.permute(*axes) if hasattr(result, "permute") else result.transpose(axes)
    return turned.reshape(tuple(like))


def of_both(
    function: Function,
    q: Any,
    k: Any,
    shape: str = "bhsd",
    *,
    in_place: bool = False,
    batch: int = 1,
) -> Any:
    """Rotate queries and keys in one call, and return the heads of both, those of q first.

    Parameters
    ----------
    function : callable
        Takes queries and keys in the axes of ``shape`` and returns both, rotated: as a tuple or
        list, stacked, or in a mapping or dataclass whose names begin with q and k. Further
        results are ignored.
    q, k : array or tensor of shape ``[heads, n, dim]`` and ``[key_heads, n, dim]``
        Queries and keys. The number of key heads may be smaller.
    shape : str
        The axes, one letter each: ``b`` for the batch, ``h`` for heads, ``s`` for the sequence,
        ``d`` for channels. A function for ``"sd"`` is called for each query head. In ``"s(hd)"``
        and ``"bs(hd)"``, the channels of all heads are one axis.
    in_place : bool
        Whether the function writes its results over q and k, and returns nothing. It is given
        copies.
    batch : int
        The number of sequences in a call. One is the kit's, and the others have other values. The
        function is called once with the kit's sequence at each place, and the heads of the result
        come from these calls in turn, so that a sequence that is treated unlike others shows.
    """
    return joined(*_turned(function, q, k, shape, in_place, batch))


def of_queries(function: Function, x: Any, shape: str = "bhsd", *, in_place: bool = False) -> Any:
    """Rotate x as queries, and as keys, in one call, and return the queries.

    The arguments are those of :func:`of_both`; x may have any leading axes.
    """
    return _turned(function, x, _copy(x), shape, in_place)[0]


def written_over(function: Function, x: Any) -> Any:
    """Return a copy of x over which a function wrote its result.

    Parameters
    ----------
    function : callable
        Takes the copy and changes it; what it returns is ignored.
    x : array or tensor
        Stays as it is.
    """
    copy = _copy(x)
    function(copy)
    return copy


def joined(queries: Any, keys: Any) -> Any:
    """Return the heads of queries, then those of keys, in one array or tensor."""
    if hasattr(queries, "new_zeros") and hasattr(keys, "new_zeros"):
        import torch

        return torch.cat([queries, keys])
    return np.concatenate([to_numpy(queries), to_numpy(keys)])


def _turned(
    function: Function, q: Any, k: Any, shape: str, in_place: bool, batch: int = 1
) -> tuple[Any, Any]:
    if shape == "sd" and not in_place:
        return _head_by_head(function, q, k)
    queries, keys = arranged(q, shape), arranged(k, shape)
    if batch == 1:
        first, second = _both(function, queries, keys, in_place)
        return restored(first, shape, q.shape), restored(second, shape, k.shape)
    axis, results = shape.index("b"), []
    for place in range(batch):
        among, with_them = (_among_others(each, axis, place, batch) for each in (queries, keys))
        both = _both(function, among, with_them, in_place)
        own = (*[slice(None)] * axis, slice(place, place + 1))
        first, second = (each[own] for each in both)
        results.append((restored(first, shape, q.shape), restored(second, shape, k.shape)))
    return _in_turn([first for first, _ in results]), _in_turn(
        [second for _, second in results], len(q)
    )


def _both(function: Function, queries: Any, keys: Any, in_place: bool) -> tuple[Any, Any]:
    if not in_place:
        return two_of(function(queries, keys))
    queries, keys = _copy(queries), _copy(keys)
    function(queries, keys)
    return queries, keys


def _among_others(x: Any, axis: int, place: int, batch: int) -> Any:
    """Return a batch of which x is the sequence at ``place``, among ones of 1 - x.

    Where code takes one for the other, no known mistake gives such values, as it might those of -x.
    """
    if hasattr(x, "new_zeros"):
        import torch

        other = torch.ones_like(x) - x
        return torch.cat([x if each == place else other for each in range(batch)], axis)
    other = np.ones_like(x) - x
    return np.concatenate([x if each == place else other for each in range(batch)], axis)


def _in_turn(results: Sequence[Any], start: int = 0) -> Any:
    """Return an array whose heads come from several results in turn, head 0 from ``start``."""
    whole = _copy(results[0])
    for place, result in enumerate(results):
        own = slice((place - start) % len(results), None, len(results))
        whole[own] = result[own]
    return whole


def _head_by_head(function: Function, q: Any, k: Any) -> tuple[Any, Any]:
    """Call a function for single heads; each key head is given with some of the query heads."""
    rows, keys = (each.reshape(-1, *each.shape[-2:]) for each in (q, k))
    turned = [two_of(function(row, keys[i % len(keys)])) for i, row in enumerate(rows)]
    first = [to_numpy(each) for each, _ in turned]
    second = [to_numpy(each) for _, each in turned[: len(keys)]]
    return np.stack(first).reshape(q.shape), np.stack(second).reshape(k.shape)


def two_of(result: Any) -> tuple[Any, Any]:
    """Return the rotated queries and keys in a result, however it holds them.

    Raises TypeError for a result that does not hold two.
    """
    if is_dataclass(result):
        result = vars(result)
    if isinstance(result, Mapping):
        result = [result[name] for name in sorted(result, key=_rank)]
    if result is None or len(result) < 2:
        raise TypeError("a call that takes queries and keys returned less than both")
    return result[0], result[1]


def _rank(name: object) -> int:
    """Sort names of queries first, then those of keys; all others keep their order."""
    text = str(name).lower().removeprefix("x")
    return next((place for place, letter in enumerate("qk") if text.startswith(letter)), 2)


def _copy(x: Any) -> Any:
    return x.clone() if hasattr(x, "clone") else np.array(x)
