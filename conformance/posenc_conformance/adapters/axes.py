"""Axes of arrays as functions take them, and functions that rotate queries and keys together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from typing import Any

import numpy as np

from posenc_conformance.errors import UserError
from posenc_conformance.judge.arrays import to_numpy

Function = Callable[..., Any]


def arranged(x: Any, shape: str) -> Any:
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


def restored(result: Any, shape: str, like: Any) -> Any:
    """Rearrange a result with the axes of ``shape`` to ``like``, the shape of x."""
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
        ``d`` for channels. A function for ``"sd"`` is called for each query head.
    in_place : bool
        Whether the function writes its results over q and k, and returns nothing. It is given
        copies.
    batch : int
        The number of sequences in a call. The last one is the kit's; those before it have other
        values, and their results are ignored.
    """
    return joined(*_turned(function, q, k, shape, in_place, batch))


def of_queries(function: Function, x: Any, shape: str = "bhsd", *, in_place: bool = False) -> Any:
    """Rotate x as queries, and as keys, in one call, and return the queries.

    The arguments are those of :func:`of_both`; x may have any leading axes.
    """
    return _turned(function, x, _copy(x), shape, in_place)[0]


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
    if batch > 1:
        queries, keys = (_after_others(each, shape.index("b"), batch) for each in (queries, keys))
    if in_place:
        queries, keys = _copy(queries), _copy(keys)
        function(queries, keys)
        first, second = queries, keys
    else:
        first, second = two_of(function(queries, keys))
    if batch > 1:
        last = (*[slice(None)] * shape.index("b"), slice(batch - 1, None))
        first, second = first[last], second[last]
    return restored(first, shape, q.shape), restored(second, shape, k.shape)


def _after_others(x: Any, axis: int, batch: int) -> Any:
    """Return a batch of which x is the last sequence, behind ones of 1 - x.

    Where code takes one for the other, no known mistake gives such values, as it might those of -x.
    """
    if hasattr(x, "new_zeros"):
        import torch

        return torch.cat([*[torch.ones_like(x) - x] * (batch - 1), x], axis)
    return np.concatenate([*[np.ones_like(x) - x] * (batch - 1), x], axis)


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
