"""Helpers for schemes whose logits are sums of separate terms for content and for position."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from posenc.elementary import add, divide, dot, negative, square_root, summed, times, total
from posenc.exact import Array, Pair, SinCos, two_product


@dataclass(frozen=True)
class Operands:
    """Arrays of one floating dtype, converted to float64, and the lengths of their axes by name."""

    values: Mapping[str, Array]
    sizes: Mapping[str, int]
    dtype: np.dtype[Any]

    def __getitem__(self, name: str) -> Array:
        return self.values[name]


def operands(**given: tuple[npt.ArrayLike, str]) -> Operands:
    """Read arrays of one floating dtype, each passed with the names of its axes.

    For example, ``q=(q, "heads q_len head_dim")``.

    Raises TypeError if the arrays are not floating or not of one dtype, and ValueError if an axis
    is missing or differs in length from another axis of the same name.
    """
    values, sizes, dtypes = {}, dict[str, int](), set()
    for name, (value, axes) in given.items():
        array = np.asarray(value)
        if array.dtype.kind not in "fV":
            raise TypeError(f"{name} is {array.dtype}; it must be floating")
        names = axes.split()
        if array.ndim != len(names):
            raise ValueError(f"{name} has shape {array.shape}; it must be [{', '.join(names)}]")
        for axis, length in zip(names, array.shape, strict=True):
            if sizes.setdefault(axis, length) != length:
                raise ValueError(f"{name} has {axis} {length}; another array has {sizes[axis]}")
        dtypes.add(array.dtype)
        values[name] = array.astype(np.float64)
    if len(dtypes) > 1:
        raise TypeError(f"{', '.join(given)} have dtypes {', '.join(map(str, dtypes))}; use one")
    return Operands(values, sizes, dtypes.pop())


def products(rows: Array, columns: Array) -> Pair:
    """Compute the dot product of every row of one array with every row of the other.

    The result has twice the precision of float64.
    """
    return dot(rows[..., :, None, :], columns[..., None, :, :])


def turned_products(q: Array, k: Array, waves: SinCos, layout: str) -> Pair:
    """Compute dot products of queries with keys whose channel pairs are rotated back by a distance.

    q has shape [heads, q_len, channels], k [heads or 1, k_len, channels], waves
    [q_len, k_len, channels / 2]. The layout is ``"interleaved"`` or ``"half"``.
    """
    if layout == "half":
        half = q.shape[-1] // 2
        (a, b), (c, d) = (q[..., :half], q[..., half:]), (k[..., :half], k[..., half:])
    else:
        (a, b), (c, d) = (q[..., 0::2], q[..., 1::2]), (k[..., 0::2], k[..., 1::2])
    a, b, c, d = a[:, :, None], b[:, :, None], c[:, None], d[:, None]
    return summed(_turned_product, a, b, c, d, *waves.cos, *waves.sin)


def _turned_product(
    a: Array, b: Array, c: Array, d: Array, cos: Array, cos_low: Array, sin: Array, sin_low: Array
) -> Pair:
    """Return the real part of ``(a + ib) * (c - id) * (cos + i sin)``."""
    along = add(two_product(a, c), two_product(b, d))
    across = add(two_product(a, d), negative(two_product(b, c)))
    return add(times(along, Pair(cos, cos_low)), times(across, Pair(sin, sin_low)))


def over_root(value: Pair, number: int, dtype: np.dtype[Any]) -> npt.NDArray[np.floating]:
    """Return ``value / sqrt(number)``, rounded once."""
    return total(divide(value, square_root(float(number)))).astype(dtype)
