"""Parts of small networks, with derivatives: convolutions over frames, GELU, layer norm."""

from collections.abc import Callable
from math import erf

import numpy as np

from posenc_conformance.judge.arrays import Floats

Step = Callable[[Floats], Floats]

EPSILON = 1e-5
"""The number added to a variance before its root is taken, as in torch's normalisations."""

_erf = np.frompyfunc(erf, 1, 1)


def convolved(x: Floats, w: Floats, groups: int, before: int | None = None) -> Floats:
    """Convolve frames: row i sums over the kernel's taps, from frame ``i - before`` on.

    By default, ``before`` is half the kernel's width, rounded down.
    """
    *leading, n, dim = x.shape
    kernel = w.shape[-1]
    start = kernel // 2 if before is None else before
    padded = np.zeros((*leading, n + kernel, dim))
    padded[..., start : start + n, :] = x
    windows = np.lib.stride_tricks.sliding_window_view(padded, kernel, axis=-2)[..., :n, :, :]
    reading = windows.reshape(*leading, n, groups, 1, w.shape[1] * kernel)
    weights = w.reshape(groups, dim // groups, -1).swapaxes(-1, -2)
    return np.asarray((reading @ weights).reshape(x.shape))


def convolved_back(slope: Floats, weight: Floats, groups: int) -> Floats:
    """Compute the gradient with respect to a convolution's input from its upstream gradient."""
    width, kernel = weight.shape[1:]
    turned = weight.reshape(groups, width, width, kernel).swapaxes(1, 2)[..., ::-1]
    return convolved(slope, turned.reshape(weight.shape), groups, kernel - 1 - kernel // 2)


def gelu(z: Floats) -> Floats:
    """Compute exact GELU, from the error function."""
    curve: Floats = _erf(z / np.sqrt(2)).astype(np.float64)
    return np.asarray(z * (1 + curve) / 2)


def gelu_slope(z: Floats) -> Floats:
    """Compute the derivative of GELU."""
    density = np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
    return np.asarray((1 + _erf(z / np.sqrt(2)).astype(np.float64)) / 2 + z * density)


def tanh_formula(z: Floats) -> Floats:
    """Compute the tanh formula, a fast approximation of GELU."""
    return np.asarray(z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3))) / 2)


def centred(z: Floats, over: tuple[int, ...]) -> Floats:
    """Subtract from z its mean over the axes ``over``."""
    return np.asarray(z - z.mean(axis=over, keepdims=True))


def layer_norm(z: Floats, epsilon: float = EPSILON) -> Floats:
    """Normalise each frame over its channels, to mean 0 and variance 1."""
    return np.asarray(centred(z, (-1,)) / np.sqrt(z.var(axis=-1, keepdims=True) + epsilon))
