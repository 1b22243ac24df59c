"""Axes of arrays as functions take them, and functions that rotate queries and keys together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from functools import partial
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
    positions: Any = None,
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
    positions : array of shape ``[n]``, optional
        Passed to the function in a third argument of shape ``[batch, n]``, where the other
        sequences of a batch, of 2 unless ``batch`` says another size, have other positions.
    """
    if positions is None:
        return joined(*_turned(function, q, k, shape, in_place, batch))
    batch = max(batch, 2)
    results = [
        _turned_among(partial(function, at=at), q, k, shape, in_place, place, batch)
        for place, at in enumerate(_places(positions, batch))
    ]
    return joined(*_both_in_turn(results, len(q)))


def in_batch(
    function: Function, x: Any, positions: Any, shape: str = "bhsd", *, batch: int = 2
) -> Any:
    """Rotate x by a function that takes several sequences with their own positions.

    Parameters
    ----------
    function : callable
        Takes x in the axes of ``shape`` and positions of shape ``[batch, n]``. It is called once
        with x at each place of the batch. The other sequences have other values and positions, and
        the heads of the result come from these calls in turn.
    x : array or tensor of shape ``[..., n, dim]``
        The rows, whose leading axes become heads.
    positions : array of shape ``[n]``
        The positions of x.
    shape : str
        The axes of x, as in :func:`of_both`.
    batch : int
        The number of sequences in a call.
    """
    heads, axis, results = arranged(x, shape), shape.index("b"), []
    for place, at in enumerate(_places(positions, batch)):
        result = function(_among_others(heads, axis, place, batch), at)
        own = restored(result[_place(axis, place)], shape, x.shape)
        results.append(own.reshape(-1, *x.shape[-2:]))
    return _in_turn(results, batch - 1).reshape(x.shape)


def _places(positions: Any, batch: int) -> Iterator[Any]:
    """Yield positions of a batch for each place in it: those given there, and others elsewhere."""
    others = positions.max(initial=0) - positions
    for place in range(batch):
        yield np.stack([positions if each == place else others for each in range(batch)])


def of_queries(function: Function, x: Any, shape: str = "bhsd", *, in_place: bool = False) -> Any:
    """Rotate x as queries, and as keys, in one call, and return the queries.

    The arguments are those of :func:`of_both`; x may have any leading axes.
    """
    return _turned(function, x, _copy(x), shape, in_place)[0]


def of_keys(function: Function, x: Any, shape: str = "bhsd", *, in_place: bool = False) -> Any:
    """Rotate x as keys, and as queries, in one call, and return the keys.

    The arguments are those of :func:`of_both`; x may have any leading axes.
    """
    return _turned(function, x, _copy(x), shape, in_place)[1]


def of_each(function: Function, x: Any, shape: str = "bhsd", *, in_place: bool = False) -> Any:
    """Rotate x as queries, and -x as keys, in one call, and return rows of both in turn.

    The arguments are those of :func:`of_both`; x may have any leading axes. Rows of keys have their
    sign turned back. The first row of the first head is one of the queries, and neighbours in a
    sequence, or in a row of heads, come from different sides.
    """
    queries, keys = _turned(function, x, -x, shape, in_place)
    whole, heads = _copy(queries), x.reshape(-1, *x.shape[-2:]).shape[0]
    rows, turned = whole.reshape(heads, *x.shape[-2:]), -keys.reshape(heads, *x.shape[-2:])
    for head in range(heads):
        own = slice((head + 1) % 2, None, 2)
        rows[head, own] = turned[head, own]
    return rows.reshape(x.shape)


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
    if batch == 1:
        queries, keys = arranged(q, shape), arranged(k, shape)
        first, second = _both(function, queries, keys, in_place)
        return restored(first, shape, q.shape), restored(second, shape, k.shape)
    results = [
        _turned_among(function, q, k, shape, in_place, place, batch) for place in range(batch)
    ]
    return _both_in_turn(results, len(q))


def _turned_among(
    function: Function, q: Any, k: Any, shape: str, in_place: bool, place: int, batch: int
) -> tuple[Any, Any]:
    """Rotate queries and keys at one place of a batch."""
    axis = shape.index("b")
    queries, keys = (_among_others(arranged(each, shape), axis, place, batch) for each in (q, k))
    both = _both(function, queries, keys, in_place)
    first, second = (each[_place(axis, place)] for each in both)
    return restored(first, shape, q.shape), restored(second, shape, k.shape)


def _place(axis: int, place: int) -> tuple[slice, ...]:
    return (*[slice(None)] * axis, slice(place, place + 1))


def _both_in_turn(results: Sequence[tuple[Any, Any]], heads: int) -> tuple[Any, Any]:
    return (
        _in_turn([first for first, _ in results]),
        _in_turn([second for _, second in results], heads),
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
    return x.clone() if hasattr(x, "new_zeros") else np.array(x)
