"""Arrays on their way to an implementation and back."""

import sys
from math import prod
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
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
"""Largest relative error of rounding to a dtype; ``integer`` stands for any integer dtype."""
UNDERFLOW = {"float16": 2.0**-25}
"""Largest error of rounding where numbers are too small for a relative one. The other floating
dtypes reach down to 1e-38, below anything that is judged."""


def to_torch(array: Any) -> Any:
    """A torch tensor with a copy of the array; bfloat16 of ``ml_dtypes`` is understood.

    A tensor is returned as it is, so that it may be one that is differentiated.
    """
    import torch

    if isinstance(array, torch.Tensor):
        return array
    values = np.array(array)
    if values.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(values.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(values)


def to_numpy(value: Any) -> Array:
    """A NumPy array of whatever an implementation returned.

    Raises TypeError if it is neither a tensor of torch nor anything that NumPy or DLPack converts.
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        tensor = value.detach().cpu().contiguous()
        if tensor.dtype == torch.bfloat16:
            return np.asarray(tensor.view(torch.int16).numpy()).view(ml_dtypes.bfloat16)
        return np.asarray(tensor.numpy())
    array = np.asarray(value)
    if array.dtype.kind == "O":
        if not hasattr(value, "__dlpack__"):
            raise TypeError(f"a {type(value).__name__} cannot be made a NumPy array")
        array = np.from_dlpack(value)
    return array


_PERIOD = ((37 * np.arange(63) + 11) % 63 - 31) / 32
_PERIODS = np.tile(_PERIOD, 2**10)
"""Enough for most arrays, so that they are a slice."""
_FINE = _PERIODS * (np.sqrt(3) - 1)
for _each in (_PERIODS, _FINE):
    _each.flags.writeable = False


def lattice(shape: tuple[int, ...], start: int = 0) -> npt.NDArray[np.float64]:
    """Input values that any language can rebuild, exact in every dtype of the kit.

    Element i in row-major order is ``((37 * (start + i) + 11) mod 63 - 31) / 32``. They may share
    their memory with others, and are not to be written to.
    """
    return _repeated(_PERIODS, shape, start)


def _repeated(
    periods: npt.NDArray[np.float64], shape: tuple[int, ...], start: int
) -> npt.NDArray[np.float64]:
    """Its values from the start-th on, over and over; where possible in its own memory."""
    first, count = start % len(_PERIOD), prod(shape)
    # A slice with a negative end would be an array of another shape; NumPy refuses the shape below.
    if 0 <= count <= len(periods) - first:
        return periods[first : first + count].reshape(shape)
    return np.resize(periods[first : first + len(_PERIOD)], shape)


def narrowed(values: npt.NDArray[np.float64], dtype: str) -> npt.NDArray[np.float64]:
    """The values as a dtype holds them."""
    if dtype == "float64":
        return values
    return np.asarray(values.astype(DTYPES[dtype]).astype(np.float64))


def fine(shape: tuple[int, ...], start: int = 0) -> npt.NDArray[np.float64]:
    """The same of full precision, which no narrower dtype holds; for the drawn checks."""
    return _repeated(_FINE, shape, start)


def around(array: Array) -> bytes:
    """What lies between the elements of a view, and around them, in the array that it looks into.

    Nothing for an array that is no view.
    """
    whole = array
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    if whole is array or not whole.flags.c_contiguous:
        return b""
    copy = whole.copy().reshape(-1).view(np.uint8)
    start = array.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    view: Array = np.ndarray(array.shape, array.dtype, copy, start, array.strides)
    view[...] = 0
    return copy.tobytes()


def dtype_name(array: Array) -> str:
    """Name of the dtype as the spec writes it."""
    return "bfloat16" if array.dtype == ml_dtypes.bfloat16 else array.dtype.name
