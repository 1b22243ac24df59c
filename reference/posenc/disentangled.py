"""What schemes share whose logits are sums of separate terms for content and for position."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from posenc.elementary import divide, dot, square_root, total
from posenc.exact import Array, Pair


@dataclass(frozen=True)
class Operands:
    """Floating arrays of one dtype as float64, and the length of each of their axes by name."""

    values: Mapping[str, Array]
    sizes: Mapping[str, int]
    dtype: np.dtype[Any]

    def __getitem__(self, name: str) -> Array:
        return self.values[name]


def operands(**given: tuple[npt.ArrayLike, str]) -> Operands:
    """Arrays, each given with the names of its axes, as in ``q=(q, "heads q_len head_dim")``.

    Raises TypeError if they are not floating or not of one dtype, and ValueError if an axis is
    missing or has another length than an axis of the same name.
    """
    values, sizes, dtypes = {}, dict[str, int](), set()
    for name, (value, axes) in given.items():
        array = np.asarray(value)
        if array.dtype.kind not in "fV":
            raise TypeError(f"{name} is {array.dtype}; it must be floating")
        wanted = axes.split()
        if array.ndim != len(wanted):
            raise ValueError(f"{name} has shape {array.shape}; it must be [{', '.join(wanted)}]")
        for axis, length in zip(wanted, array.shape, strict=True):
            if sizes.setdefault(axis, length) != length:
                raise ValueError(f"{name} has {axis} {length}; another array has {sizes[axis]}")
        dtypes.add(array.dtype)
        values[name] = array.astype(np.float64)
    if len(dtypes) > 1:
        raise TypeError(f"{', '.join(given)} have dtypes {', '.join(map(str, dtypes))}; use one")
    return Operands(values, sizes, dtypes.pop())


def products(rows: Array, columns: Array) -> Pair:
    """Dot product of every row of one array with every row of the other, to twice float64."""
    return dot(rows[..., :, None, :], columns[..., None, :, :])


def over_root(value: Pair, number: int, dtype: np.dtype[Any]) -> npt.NDArray[np.floating]:
    """``value / sqrt(number)``, rounded once."""
    return total(divide(value, square_root(float(number)))).astype(dtype)
