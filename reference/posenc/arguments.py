"""Validation of arguments, with messages that name the argument and its valid values."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from posenc.exact import LARGEST_POSITION, Array


def choice(name: str, value: str, allowed: Iterable[str]) -> None:
    """Refuse a value that is not one of ``allowed``."""
    if value not in (allowed := tuple(allowed)):
        raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(map(repr, allowed))}")


def integer(name: str, value: Any, minimum: int) -> int:
    """Return ``value`` as an int of at least ``minimum``; refuse booleans and floats."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} is {value!r}; it must be an integer")
    if value < minimum:
        raise ValueError(f"{name} is {value}; it must be at least {minimum}")
    return int(value)


def base(value: float) -> float:
    """Return the base of the frequencies as a float; refuse one that is not finite and above 0."""
    number = float(value)
    if not (np.isfinite(number) and number > 0):
        raise ValueError(f"base is {value!r}; it must be a finite number above 0")
    return number


def floating(name: str, value: npt.ArrayLike, axes: int) -> npt.NDArray[np.floating]:
    """Check that an array is floating and has ``axes`` axes, and return it."""
    array = np.asarray(value)
    if array.dtype.kind not in "fV":
        raise TypeError(f"{name} is {array.dtype}; it must hold floating-point numbers")
    if array.ndim != axes:
        raise ValueError(f"{name} has shape {array.shape}; it must have {axes} axes")
    return array


def finite(**arrays: npt.NDArray[np.floating]) -> None:
    """Refuse arrays that are not floating or not finite."""
    for name, array in arrays.items():
        if array.dtype.kind not in "fV":
            raise TypeError(f"{name} is {array.dtype}; it must hold floating-point numbers")
        if not np.all(np.isfinite(array.astype(np.float64))):
            raise ValueError(f"{name} must be finite")


def positions(value: npt.ArrayLike, *, real: bool = False) -> Array:
    """Convert positions to float64 exactly; refuse non-integer dtypes unless ``real``."""
    array = np.asarray(value)
    if array.size == 0:
        return array.astype(np.float64)
    whole = np.issubdtype(array.dtype, np.integer)
    if not whole and not (real and array.dtype.kind in "fV"):
        kind = "integers or real numbers" if real else "integers"
        raise TypeError(f"positions are {array.dtype}; they must be {kind}")
    exact = array.astype(np.float64)
    if not np.all(np.isfinite(exact)) or np.any(np.abs(exact) > LARGEST_POSITION):
        raise ValueError("positions must be finite and at most 2**53 in magnitude")
    return exact


def bias_gradient(gradient: npt.ArrayLike) -> npt.NDArray[np.floating]:
    """Check the gradient of a loss with respect to a bias, and return it.

    Its shape is [heads, q_len, k_len], with q_len at most k_len.
    """
    values = np.asarray(gradient)
    if values.dtype.kind not in "fV":
        raise TypeError(f"gradient is {values.dtype}; it must hold floating-point numbers")
    if values.ndim != 3 or values.shape[1] > values.shape[2]:
        raise ValueError(
            f"gradient has shape {values.shape}; it must be [heads, q_len, k_len] "
            "with q_len at most k_len"
        )
    return values
