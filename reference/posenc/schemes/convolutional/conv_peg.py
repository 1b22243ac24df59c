"""Positional encoding generator of conditional positional encodings.

Source: Chu et al. 2021, "Conditional Positional Encodings for Vision Transformers",
arXiv 2102.10882, section 3; the details are those of the authors' code for Twins (``gvt.py``).
"""

import numpy as np
import numpy.typing as npt

from posenc import arguments, elementary
from posenc.elementary import add, pair, total
from posenc.exact import Array

__all__ = ["conv_peg"]

CLASS_TOKENS = ("none", "first")


def conv_peg(
    x: npt.ArrayLike,
    weight: npt.ArrayLike,
    bias: npt.ArrayLike,
    height: int,
    width: int,
    *,
    class_token: str = "none",
) -> npt.NDArray[np.floating]:
    """Add to each patch a convolution of its neighbours in the picture.

    Patch (r, c) is row ``r * width + c``. To each of its channels is added the bias plus the sum of
    ``weight[:, s, t]`` times patch ``(r + s - kernel // 2, c + t - kernel // 2)``, which is 0
    outside the picture.

    Parameters
    ----------
    x : floating array of shape [..., height * width, dim]
        Patches, row by row; with a class token, one more row at the beginning.
    weight : floating array of shape [dim, kernel, kernel]
        One square kernel of odd size per channel; 3 in released code.
    bias : floating array of shape [dim]
        Bias added to every patch.
    height, width : int
        Size of the picture in patches.
    class_token : "none" or "first"
        Whether the first row is a class token, which stays unchanged.

    Returns
    -------
    array of the shape and dtype of x
        Computed beyond float64 precision and rounded once.

    Raises
    ------
    TypeError
        If an array is not floating, or height or width is not an integer.
    ValueError
        If shapes do not fit.
    """
    arguments.choice("class_token", class_token, CLASS_TOKENS)
    height, width = (
        arguments.integer(name, value, 1) for name, value in (("height", height), ("width", width))
    )
    tokens, kernels, biases = (np.asarray(array) for array in (x, weight, bias))
    for name, array in (("x", tokens), ("weight", kernels), ("bias", biases)):
        if array.dtype.kind not in "fV":
            raise TypeError(f"{name} is {array.dtype}; it must be floating")
    first = 0 if class_token == "none" else 1
    if tokens.ndim < 2 or tokens.shape[-2] != height * width + first:
        raise ValueError(
            f"x has shape {tokens.shape}; it must have {height * width + first} rows for a picture "
            f"of {height} by {width}"
        )
    dim, size = tokens.shape[-1], kernels.shape[-1] if kernels.ndim else 0
    if kernels.shape != (dim, size, size) or size % 2 == 0:
        raise ValueError(f"weight has shape {kernels.shape}; it must be [{dim}, k, k] with k odd")
    if biases.shape != (dim,):
        raise ValueError(f"bias has shape {biases.shape}; it must be ({dim},)")
    out = np.array(tokens)
    patches = tokens[..., first:, :]
    picture = patches.reshape(*patches.shape[:-2], height, width, dim)
    gained = _gained(picture, kernels, biases)
    out[..., first:, :] = gained.reshape(patches.shape)
    return out


def _gained(picture: Array, weight: Array, bias: Array) -> Array:
    *leading, height, width, dim = picture.shape
    size = weight.shape[-1]
    half = size // 2
    padded = np.zeros((*leading, height + 2 * half, width + 2 * half, dim))
    padded[..., half : half + height, half : half + width, :] = picture
    windows = np.lib.stride_tricks.sliding_window_view(padded, (size, size), axis=(-3, -2))
    flat = windows.reshape(*picture.shape, size * size)
    sums = elementary.dots(pair(flat), pair(weight.reshape(dim, -1)))
    return total(add(add(sums, pair(bias)), pair(picture)))
