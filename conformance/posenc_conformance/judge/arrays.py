"""Arrays passed to an implementation, and arrays returned by it."""

import sys
from collections.abc import Sequence
from math import prod
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from posenc_conformance.errors import in_line

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

DTYPES: dict[str, np.dtype[Any]] = {
    "float64": np.dtype(np.float64),
    "float32": np.dtype(np.float32),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float16": np.dtype(np.float16),
}
UNIT_ROUNDOFF = {
    "float64": 2.0**-53,
    "float32": 2.0**-24,
    "bfloat16": 2.0**-8,
    "float16": 2.0**-11,
    "integer": 0.0,
    "boolean": 0.0,
}
"""Largest relative error of rounding to a dtype: 2^-p for p significant bits. ``integer`` means any
integer dtype; integers and booleans are not rounded."""
PRECISE = ("float64", "float32")
"""Dtypes precise enough for a few values to reveal how they were computed."""
UNDERFLOW = {"float16": 2.0**-25, "float32": 2.0**-150, "bfloat16": 2.0**-134}
"""Largest error of rounding numbers too small for a relative error: half the smallest number."""


def to_torch(array: Any) -> Any:
    """Make a torch tensor that shares an array's memory; ``ml_dtypes.bfloat16`` is supported.

    The tensor keeps the strides of a view, and writes to it reach the array. A read-only array is
    copied together with the gaps between its elements, because torch has no read-only tensors. A
    tensor is returned unchanged, so that it may require gradients.

    The tensor is on torch's default device: after ``torch.set_default_device("cuda")`` it is a copy
    on the GPU with the array's strides, and writes to it do not reach the array.
    """
    import torch

    if isinstance(array, torch.Tensor):
        return array
    values = np.asarray(array)
    if not values.flags.writeable or not _has_strides_of_torch(values):
        values = _copied_as_it_lies(values)
    is_short = values.dtype == ml_dtypes.bfloat16
    whole, start = _memory_of(values)
    if whole.dtype != values.dtype:
        whole = values
    # Convert the whole memory, so that a view has a storage offset, as views in torch do.
    tensor = torch.from_numpy(whole.view(np.int16) if is_short else whole)
    tensor = tensor.to(torch.empty(0).device)
    if whole is not values:
        steps = [step // values.itemsize for step in values.strides]
        tensor = tensor.reshape(-1).as_strided(values.shape, steps, start // values.itemsize)
    return tensor.view(torch.bfloat16) if is_short else tensor


def _memory_of(array: Array) -> tuple[Array, int]:
    """Return the array behind a view, and the view's offset in it, in bytes.

    Returns the array itself if it is no view, or a view of an array that is not in row-major order.
    """
    whole = array
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    if not whole.flags.c_contiguous:
        return array, 0
    start = array.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    return whole, start


def _copied_as_it_lies(array: Array) -> Array:
    """Copy an array together with the memory between its elements.

    An array whose strides torch does not support, negative or of partial elements, is copied
    densely.
    """
    size = array.itemsize
    if not array.size or not _has_strides_of_torch(array):
        return np.array(array, order="C")
    last = last_of(array.shape, array.strides)
    memory = np.lib.stride_tricks.as_strided(array, (last // size + 1,), (size,)).copy()
    return np.ndarray(array.shape, array.dtype, memory, 0, array.strides)


def last_of(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Return the offset from an array's first element to its last, in the units of ``strides``."""
    return sum((n - 1) * step for n, step in zip(shape, strides, strict=True))


def _has_strides_of_torch(array: Array) -> bool:
    """Return whether all strides are non-negative and whole elements."""
    return all(step >= 0 and step % array.itemsize == 0 for step in array.strides)


def placed(values: Array, strides: Sequence[int]) -> Array:
    """Copy values into new memory with these strides, which count elements."""
    steps = [step * values.itemsize for step in strides]
    memory = np.zeros(last_of(values.shape, strides) + 1, values.dtype)
    view = np.lib.stride_tricks.as_strided(memory, values.shape, steps)
    view[...] = values
    return view


def to_numpy(value: Any) -> Array:
    """Convert an implementation's return value to a NumPy array.

    Raises TypeError if it is neither a torch tensor nor convertible by NumPy or DLPack.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        tensor = value.detach().cpu().resolve_conj().resolve_neg()
        if tensor.dtype == torch.bfloat16:
            return np.asarray(tensor.view(torch.int16).numpy()).view(ml_dtypes.bfloat16)
        return np.asarray(tensor.numpy())
    array = np.asarray(value)
    if array.dtype.kind == "O":
        if not hasattr(value, "__dlpack__"):
            raise TypeError(f"a {in_line(type(value).__name__)} cannot be made a NumPy array")
        array = np.from_dlpack(value)
    return array


_PERIOD = ((37 * np.arange(63) + 11) % 63 - 31) / 32
_PERIODS = np.tile(_PERIOD, 2**10)
"""The values of :func:`lattice`, repeated so often that most arrays are a slice of them."""
_FINE = _PERIODS * (np.sqrt(3) - 1)
"""The same values times sqrt(3) - 1, for :func:`fine`: no dtype narrower than float64 represents
them."""
for _each in (_PERIODS, _FINE):
    _each.flags.writeable = False


def lattice(shape: tuple[int, ...], start: int = 0) -> npt.NDArray[np.float64]:
    """Return input values that any language can rebuild, exact in every dtype of the kit.

    Element i in row-major order is ``((37 * (start + i) + 11) mod 63 - 31) / 32``. The result may
    share memory with other arrays; do not write to it.
    """
    return _repeated(_PERIODS, shape, start)


def _repeated(
    periods: npt.NDArray[np.float64], shape: tuple[int, ...], start: int
) -> npt.NDArray[np.float64]:
    """Fill ``shape`` with periodic values from ``start`` on; without copying if possible."""
    first, count = start % len(_PERIOD), prod(shape)
    # A negative count would slice an array of another shape; np.resize below refuses it.
    if 0 <= count <= len(periods) - first:
        return periods[first : first + count].reshape(shape)
    return np.resize(periods[first : first + len(_PERIOD)], shape)


def round_to(values: npt.NDArray[np.float64], dtype: str) -> npt.NDArray[np.float64]:
    """Round float64 values to a dtype, and return them as float64."""
    if dtype == "float64":
        return values
    return np.asarray(values.astype(DTYPES[dtype]).astype(np.float64))


def fine(shape: tuple[int, ...], start: int = 0) -> npt.NDArray[np.float64]:
    """Return float64 values that no narrower dtype represents, for the drawn checks.

    They are the values of :func:`lattice` times sqrt(3) - 1; do not write to them either.
    """
    return _repeated(_FINE, shape, start)


def around(array: Array) -> bytes:
    """Return the bytes between and around the elements of a view, in the array behind it.

    The view's own elements count as 0. The result is empty for an array that is no view, or a view
    of an array that is not in row-major order.
    """
    whole, start = _memory_of(array)
    if whole is array:
        return b""
    copy = whole.copy().reshape(-1).view(np.uint8)
    view: Array = np.ndarray(array.shape, array.dtype, copy, start, array.strides)
    view[...] = 0
    return copy.tobytes()


def dtype_name(array: Array) -> str:
    """Return the spec's name of an array's dtype."""
    return "bfloat16" if array.dtype == ml_dtypes.bfloat16 else array.dtype.name
