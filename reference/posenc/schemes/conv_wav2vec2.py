"""Convolutional positional embedding of wav2vec 2.0.

Source: Baevski et al. 2020, "wav2vec 2.0", arXiv 2006.11477, section 2; the details are those of
its released code (fairseq, ``wav2vec2.py``).
"""

import numpy as np
import numpy.typing as npt

from posenc import arguments, elementary
from posenc.elementary import add, pair, total
from posenc.exact import Array, Pair, two_product

__all__ = ["conv_wav2vec2"]


def conv_wav2vec2(
    x: npt.ArrayLike,
    weight_v: npt.ArrayLike,
    weight_g: npt.ArrayLike,
    bias: npt.ArrayLike,
    *,
    groups: int,
) -> npt.NDArray[np.floating]:
    """Frames, each with what a convolution over its neighbours says about where it stands.

    ``x + GELU(z)``, where row i of z is bias plus the sum over taps t of ``w[..., t]`` times row
    ``i + t - kernel // 2`` of x, and 0 beyond its ends. The weights are normalised tap by tap:
    ``w[..., t] = weight_g[t] * weight_v[..., t] / norm(weight_v[..., t])``. GELU is the exact one.

    Parameters
    ----------
    x : floating array of shape [..., n, dim]
        Frames.
    weight_v : floating array of shape [dim, dim // groups, kernel]
        Directions of the weights; each output channel reads the channels of its own group.
    weight_g : floating array of shape [kernel]
        Norm of all weights of a tap.
    bias : floating array of shape [dim]
        Added before the GELU.
    groups : int
        Blocks of neighbouring channels; a divisor of dim.

    Returns
    -------
    array of the shape and dtype of x
        Computed in more than float64 and rounded once.

    Raises
    ------
    TypeError
        If an array is not floating.
    ValueError
        If shapes do not fit, or all weights of a tap are 0, so that they have no direction.
    """
    given = {"x": x, "weight_v": weight_v, "weight_g": weight_g, "bias": bias}
    arrays = {name: np.asarray(value) for name, value in given.items()}
    for name, array in arrays.items():
        if array.dtype.kind not in "fV":
            raise TypeError(f"{name} is {array.dtype}; it must be floating")
    if arrays["x"].ndim < 2 or arrays["weight_v"].ndim != 3:
        raise ValueError("x must be [..., n, dim] and weight_v [dim, dim // groups, kernel]")
    dim, kernel = arrays["x"].shape[-1], arrays["weight_v"].shape[-1]
    groups = arguments.integer("groups", groups, 1)
    if dim % groups or not dim or not kernel:
        raise ValueError(f"groups is {groups}; it must divide dim ({dim}), and there must be taps")
    wanted = {"weight_v": (dim, dim // groups, kernel), "weight_g": (kernel,), "bias": (dim,)}
    for name, shape in wanted.items():
        if arrays[name].shape != shape:
            raise ValueError(f"{name} has shape {arrays[name].shape}; it must be {shape}")
    rows, v, g, b = (array.astype(np.float64) for array in arrays.values())
    if not v.any(axis=(0, 1)).all():
        raise ValueError("weight_v is 0 at some tap, which leaves its weights without direction")
    moved = add(_convolved(rows, _normalised(v, g), groups), pair(b))
    return np.asarray(total(add(pair(rows), elementary.gelu(moved))).astype(arrays["x"].dtype))


def _normalised(v: Array, g: Array) -> Pair:
    taps = pair(v.reshape(-1, v.shape[-1]).T)
    return elementary.divide(two_product(v, g), elementary.square_root(elementary.dots(taps, taps)))


def _convolved(x: Array, w: Pair, groups: int) -> Pair:
    """Sums of taps times neighbours; the last frame that even kernels yield is left out."""
    *leading, n, dim = x.shape
    kernel, width = w.high.shape[-1], dim // groups
    padded = np.zeros((*leading, n + kernel - 1, dim))
    padded[..., kernel // 2 : kernel // 2 + n, :] = x
    windows = np.lib.stride_tricks.sliding_window_view(padded, kernel, axis=-2)
    per_group = windows.reshape(*leading, n, groups, 1, width * kernel)
    weights = Pair(*(part.reshape(groups, width, width * kernel) for part in w))
    sums = elementary.dots(pair(per_group), weights)
    return Pair(*(part.reshape(x.shape) for part in sums))
