"""Convolutional positional embedding of wav2vec 2.0.

Source: Baevski et al. 2020, "wav2vec 2.0", arXiv 2006.11477, section 2; the details are those of
its released code (fairseq, ``wav2vec2.py``), which also has the forms of HuBERT and data2vec.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from posenc import arguments, elementary
from posenc.elementary import add, pair, total
from posenc.exact import Array, Pair, two_product

__all__ = ["conv_data2vec", "conv_hubert", "conv_wav2vec2"]

EPSILON = 1e-5
"""Number added to a variance before its root is taken, as in torch.nn.BatchNorm1d and LayerNorm."""


def conv_wav2vec2(
    x: npt.ArrayLike,
    weight_v: npt.ArrayLike,
    weight_g: npt.ArrayLike,
    bias: npt.ArrayLike,
    *,
    groups: int,
) -> npt.NDArray[np.floating]:
    """Add to each frame a positional embedding: a convolution of its neighbours.

    Return ``x + GELU(z)``. Row i of z is bias plus the sum over taps t of ``w[..., t]`` times row
    ``i + t - kernel // 2`` of x, which is 0 beyond its ends. Weights are normalised for each tap:
    ``w[..., t] = weight_g[t] * weight_v[..., t] / norm(weight_v[..., t])``. GELU is exact.

    Parameters
    ----------
    x : floating array of shape [..., n, dim]
        Frames.
    weight_v : floating array of shape [dim, dim // groups, kernel]
        Directions of the weights; each output channel reads the channels of its own group.
    weight_g : floating array of shape [kernel]
        Norm of all weights of a tap.
    bias : floating array of shape [dim]
        Bias added before the GELU.
    groups : int
        Blocks of neighbouring channels; a divisor of dim.

    Returns
    -------
    array of the shape and dtype of x
        Computed beyond float64 precision and rounded once.

    Raises
    ------
    TypeError
        If an array is not floating.
    ValueError
        If shapes do not fit, or all weights of a tap are 0, so that they have no direction.
    """
    inputs = {"x": x, "weight_v": weight_v, "weight_g": weight_g, "bias": bias}
    arrays = _floating(inputs)
    dim, kernel = _shapes(arrays, "weight_v", groups)
    _demand(arrays, {"weight_g": (kernel,), "bias": (dim,)})
    rows, v, g, b = (array.astype(np.float64) for array in arrays.values())
    if not v.any(axis=(0, 1)).all():
        raise ValueError("weight_v is 0 at some tap, which leaves its weights without direction")
    moved = add(_convolved(pair(rows), _normalised(v, g), groups), pair(b))
    return np.asarray(total(add(pair(rows), elementary.gelu(moved))).astype(arrays["x"].dtype))


def conv_hubert(
    x: npt.ArrayLike,
    weight: npt.ArrayLike,
    bias: npt.ArrayLike,
    mean: npt.ArrayLike,
    variance: npt.ArrayLike,
    gain: npt.ArrayLike,
    shift: npt.ArrayLike,
    *,
    groups: int,
) -> npt.NDArray[np.floating]:
    """Add to each frame a positional embedding: a convolution of its normalised neighbours.

    Return ``x + GELU(z)``. Row i of z is bias plus the sum over taps t of ``weight[..., t]`` times
    row ``i + t - kernel // 2`` of the normalised frames, 0 beyond their ends. A normalised
    frame is ``gain * (x - mean) / sqrt(variance + 1e-5) + shift``, with the running statistics of
    evaluation, not those of this batch.

    Parameters
    ----------
    x : floating array of shape [..., n, dim]
        Frames.
    weight : floating array of shape [dim, dim // groups, kernel]
        Weights; each output channel reads the channels of its own group.
    bias : floating array of shape [dim]
        Bias added before the GELU.
    mean, variance, gain, shift : floating arrays of shape [dim]
        Parameters of the batch normalisation; no variance is below 0.
    groups : int
        Blocks of neighbouring channels; a divisor of dim.

    Returns
    -------
    array of the shape and dtype of x
        Computed beyond float64 precision and rounded once.

    Raises
    ------
    TypeError
        If an array is not floating.
    ValueError
        If shapes do not fit, or a variance is below 0.
    """
    inputs = {"x": x, "weight": weight, "bias": bias}
    inputs |= {"mean": mean, "variance": variance, "gain": gain, "shift": shift}
    arrays = _floating(inputs)
    dim, _kernel = _shapes(arrays, "weight", groups)
    _demand(arrays, dict.fromkeys(("bias", "mean", "variance", "gain", "shift"), (dim,)))
    rows, w, b, centre, spread, scale, moved_by = map(pair, arrays.values())
    if (spread.high < 0).any():
        raise ValueError("a variance is below 0")
    deviation = elementary.square_root(add(spread, pair(EPSILON)))
    centred = add(rows, elementary.negative(centre))
    ratio = elementary.divide(scale, deviation)
    normalised = add(elementary.times(centred, ratio), moved_by)
    moved = add(_convolved(normalised, w, groups), b)
    return np.asarray(total(add(rows, elementary.gelu(moved))).astype(arrays["x"].dtype))


def conv_data2vec(
    x: npt.ArrayLike, weight: npt.ArrayLike, bias: npt.ArrayLike, *, groups: int
) -> npt.NDArray[np.floating]:
    """Add to each frame a positional embedding: stacked convolutions of its neighbours.

    Return ``x + h[layers]``: ``h[0]`` is x and ``h[l]`` is ``GELU(layer_norm(z))``. Row i of z is
    the layer's bias plus the sum over taps t of ``weight[..., t]`` times row
    ``i + t - kernel // 2`` of ``h[l - 1]``, 0 beyond its ends. The layer norm is over the
    channels of a frame: ``(z - mean) / sqrt(variance + 1e-5)``, without gain and shift.

    Parameters
    ----------
    x : floating array of shape [..., n, dim]
        Frames.
    weight : floating array of shape [layers, dim, dim // groups, kernel]
        Weights; each output channel reads the channels of its own group.
    bias : floating array of shape [layers, dim]
        Bias added before the norm.
    groups : int
        Blocks of neighbouring channels; a divisor of dim.

    Returns
    -------
    array of the shape and dtype of x
        Computed beyond float64 precision and rounded once.

    Raises
    ------
    TypeError
        If an array is not floating.
    ValueError
        If shapes do not fit, or there are no layers.
    """
    arrays = _floating({"x": x, "weight": weight, "bias": bias})
    layers = arrays["weight"].shape[:1]
    dim, _kernel = _shapes(arrays, "weight", groups, layers)
    _demand(arrays, {"bias": (*layers, dim)})
    rows, *parameters = map(pair, arrays.values())
    heard = rows
    for layer in range(len(arrays["weight"])):
        w, b = (Pair(*(part[layer] for part in parameter)) for parameter in parameters)
        heard = elementary.gelu(_layer_norm(add(_convolved(heard, w, groups), b)))
    return np.asarray(total(add(rows, heard)).astype(arrays["x"].dtype))


def _floating(given: Mapping[str, npt.ArrayLike]) -> dict[str, npt.NDArray[np.floating]]:
    arrays = {name: np.asarray(value) for name, value in given.items()}
    for name, array in arrays.items():
        if array.dtype.kind not in "fV":
            raise TypeError(f"{name} is {array.dtype}; it must be floating")
    return arrays


def _shapes(
    arrays: Mapping[str, npt.NDArray[np.floating]],
    weight: str,
    groups: int,
    layers: tuple[int, ...] = (),
) -> tuple[int, int]:
    """Check that the weights fit the frames, and return the numbers of channels and of taps.

    The weights may be those of several layers.
    """
    if arrays["x"].ndim < 2 or arrays[weight].ndim != 3 + len(layers):
        shape = f"[{'layers, ' * len(layers)}dim, dim // groups, kernel]"
        raise ValueError(f"x must be [..., n, dim] and {weight} {shape}")
    dim, kernel = arrays["x"].shape[-1], arrays[weight].shape[-1]
    groups = arguments.integer("groups", groups, 1)
    if dim % groups or not arrays[weight].size:
        raise ValueError(f"groups is {groups}; it must divide dim ({dim}), and there must be taps")
    _demand(arrays, {weight: (*layers, dim, dim // groups, kernel)})
    return dim, kernel


def _demand(
    arrays: Mapping[str, npt.NDArray[np.floating]], wanted: Mapping[str, tuple[int, ...]]
) -> None:
    for name, shape in wanted.items():
        if arrays[name].shape != shape:
            raise ValueError(f"{name} has shape {arrays[name].shape}; it must be {shape}")


def _normalised(v: Array, g: Array) -> Pair:
    taps = pair(v.reshape(-1, v.shape[-1]).T)
    return elementary.divide(two_product(v, g), elementary.square_root(elementary.dots(taps, taps)))


def _layer_norm(z: Pair) -> Pair:
    """Normalise over the last axis."""
    dim = pair(float(z.high.shape[-1]))
    mean = elementary.expanded(elementary.divide(elementary.sum_last(z), dim), -1)
    centred = add(z, elementary.negative(mean))
    variance = elementary.divide(elementary.dots(centred, centred), dim)
    deviation = elementary.square_root(add(variance, pair(EPSILON)))
    return elementary.divide(centred, elementary.expanded(deviation, -1))


def _convolved(x: Pair, w: Pair, groups: int) -> Pair:
    """Sum taps times neighbours; drop the additional last frame of even kernels."""
    *leading, n, dim = x.high.shape
    kernel, width = w.high.shape[-1], dim // groups

    def windows(part: Array) -> Array:
        padded = np.zeros((*leading, n + kernel - 1, dim))
        padded[..., kernel // 2 : kernel // 2 + n, :] = part
        view = np.lib.stride_tricks.sliding_window_view(padded, kernel, axis=-2)
        return view.reshape(*leading, n, groups, 1, width * kernel)

    weights = Pair(*(part.reshape(groups, width, width * kernel) for part in w))
    sums = elementary.dots(Pair(*map(windows, x)), weights)
    return Pair(*(part.reshape(x.high.shape) for part in sums))
