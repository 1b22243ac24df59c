"""Right implementations: the positional convolution of wav2vec 2.0."""

import math

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, NARROW, Array, right

ERFC = np.vectorize(math.erfc, otypes=[float])


def exact_gelu(z: Array) -> Array:
    return (z * ERFC(-z.astype(np.float64) / math.sqrt(2)) / 2).astype(z.dtype)


def by_windows(x: Array, weight: Array, bias: Array, groups: int) -> Array:
    """Convolve by windows as rows of a matrix; for an even kernel, drop the last frame."""
    _dim, width, kernel = weight.shape
    half = kernel // 2
    padded = np.pad(x, [(0, 0)] * (x.ndim - 2) + [(half, half), (0, 0)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, kernel, axis=-2)
    blocks = [slice(g * width, (g + 1) * width) for g in range(groups)]
    out = [np.einsum("...nik,oik->...no", windows[..., part, :], weight[part]) for part in blocks]
    z: Array = np.concatenate(out, axis=-1) + bias
    return z[..., :-1, :] if kernel % 2 == 0 else z


def by_taps(x: Array, weight: Array, bias: Array) -> Array:
    """Convolve by one dense block-diagonal matrix per tap, in the precision of the inputs."""
    dim, width, kernel = weight.shape
    z, n = np.zeros_like(x), x.shape[-2]
    for tap in range(kernel):
        dense = np.zeros((dim, dim), x.dtype)
        for out in range(dim):
            first = out // width * width
            dense[first : first + width, out] = weight[out, :, tap]
        ahead = tap - kernel // 2
        low, high = max(0, -ahead), min(n, n - ahead)
        if low < high:
            z[..., low:high, :] += x[..., low + ahead : high + ahead, :] @ dense
    return z + bias


@right
class ColumnsToMatrix:
    """Weights times gain over norm, then a sum over windows."""

    @claims("weight-norm", dtype=["float64", "float32"])
    def conv_wav2vec2(
        self, x: Array, weight_v: Array, weight_g: Array, bias: Array, *, groups: int
    ) -> Array:
        dim, width, kernel = weight_v.shape
        if dim != groups * width:
            raise ValueError("groups")
        norm = np.sqrt(np.square(weight_v).sum(axis=(0, 1), keepdims=True))
        if not norm.all():
            raise ValueError("a tap without direction")
        weight = weight_v * (weight_g.reshape(1, 1, kernel) / norm)
        return x + exact_gelu(by_windows(x, weight, bias, groups))


@right
class DenseAndRounded:
    """Weights, argument and GELU rounded to the dtype; tap by tap."""

    @claims("weight-norm", dtype=NARROW)
    def conv_wav2vec2(
        self, x: Array, weight_v: Array, weight_g: Array, bias: Array, *, groups: int
    ) -> Array:
        kind, wide = x.dtype, np.float32
        norm = np.sqrt((weight_v.astype(wide) ** 2).sum(axis=(0, 1))).astype(kind)
        if not norm.all():
            raise ValueError("a tap without direction")
        ratio = (weight_g.astype(wide) / norm.astype(wide)).astype(kind)
        weight = (weight_v.astype(wide) * ratio.astype(wide)).astype(kind).astype(wide)
        z = by_taps(x.astype(wide), weight, bias.astype(wide)).astype(kind)
        return x + exact_gelu(z.astype(wide)).astype(kind)


@right
class ByFourier:
    """Correlation as a product of spectra, in float64."""

    @claims("weight-norm", dtype=["float32", "bfloat16", "float16"])
    def conv_wav2vec2(
        self, x: Array, weight_v: Array, weight_g: Array, bias: Array, *, groups: int
    ) -> Array:
        rows, v = x.astype(np.float64), weight_v.astype(np.float64)
        _, width, kernel = v.shape
        norm = np.linalg.norm(v.reshape(-1, kernel), axis=0)
        if not norm.all():
            raise ValueError("a tap without direction")
        weight = weight_g.astype(np.float64) * v / norm
        n = x.shape[-2]
        length = n + 2 * kernel
        spectrum = np.fft.rfft(rows, length, axis=-2)
        taps = np.conj(np.fft.rfft(weight, length, axis=-1))
        parts = []
        for g in range(groups):
            block = slice(g * width, (g + 1) * width)
            part = np.einsum("...fi,oif->...fo", spectrum[..., block], taps[block])
            parts.append(np.fft.irfft(part, length, axis=-2))
        # Row i of the correlation starts at frame i; it belongs half a kernel later.
        whole = np.roll(np.concatenate(parts, axis=-1), kernel // 2, axis=-2)[..., :n, :]
        return (rows + exact_gelu(whole + bias.astype(np.float64))).astype(x.dtype)


@right
class OneValueAtATime:
    """Python floats."""

    @claims("weight-norm", dtype=FLOATS, kernel=[2, 3, 4], groups=[1, 2])
    def conv_wav2vec2(
        self, x: Array, weight_v: Array, weight_g: Array, bias: Array, *, groups: int
    ) -> Array:
        v = weight_v.astype(float)
        _, width, kernel = v.shape
        norms = [math.sqrt(math.fsum((v[..., t] ** 2).ravel())) for t in range(kernel)]
        out = np.zeros(x.shape)
        for place in np.ndindex(x.shape):
            *leading, i, o = place
            terms = [float(bias[o])]
            for t in range(kernel):
                j = i + t - kernel // 2
                if 0 <= j < x.shape[-2]:
                    first = o // width * width
                    reading = x[(*leading, j)][first : first + width].astype(float)
                    terms += list(float(weight_g[t]) / norms[t] * v[o, :, t] * reading)
            z = math.fsum(terms)
            out[place] = float(x[place]) + z * math.erfc(-z / math.sqrt(2)) / 2
        return out.astype(x.dtype)


def fitting(x: Array, weight: Array, variance: Array, groups: int) -> None:
    if weight.shape[:2] != (x.shape[-1], x.shape[-1] // groups) or x.shape[-1] % groups:
        raise ValueError("groups")
    if (variance < 0).any():
        raise ValueError("variance")


@right
class NormThenWindows:
    """torch's order: difference, root, gain and shift, each rounded; then a sum over windows."""

    @claims("batch-norm", dtype=["float64", "float32"])
    def conv_hubert(
        self,
        x: Array,
        weight: Array,
        bias: Array,
        mean: Array,
        variance: Array,
        gain: Array,
        shift: Array,
        *,
        groups: int,
    ) -> Array:
        fitting(x, weight, variance, groups)
        rows = (x - mean) / np.sqrt(variance + x.dtype.type(1e-5)) * gain + shift
        return x + exact_gelu(by_windows(rows, weight, bias, groups))


@right
class ScaleAndOffset:
    """A scale and an offset per channel, then tap by tap; rounded to the dtype in between."""

    @claims("batch-norm", dtype=FLOATS)
    def conv_hubert(
        self,
        x: Array,
        weight: Array,
        bias: Array,
        mean: Array,
        variance: Array,
        gain: Array,
        shift: Array,
        *,
        groups: int,
    ) -> Array:
        fitting(x, weight, variance, groups)
        wide = np.dtype(np.float64 if x.dtype == np.float64 else np.float32)
        deviation = np.sqrt(variance.astype(wide) + np.asarray(1e-5, wide))
        scale = gain.astype(wide) / deviation
        offset = shift.astype(wide) - mean.astype(wide) * scale
        rows = (x.astype(wide) * scale + offset).astype(x.dtype).astype(wide)
        z = by_taps(rows, weight.astype(wide), bias.astype(wide)).astype(x.dtype).astype(wide)
        return (x.astype(wide) + exact_gelu(z)).astype(x.dtype)


def stack_fits(x: Array, weight: Array, bias: Array, groups: int) -> None:
    if weight.shape[1:3] != (x.shape[-1], x.shape[-1] // groups) or x.shape[-1] % groups:
        raise ValueError("groups")
    if bias.shape != weight.shape[:2]:
        raise ValueError("bias")


@right
class LayerUponLayer:
    """torch's order, mean first; all in the precision of the inputs."""

    @claims("layer-norm", dtype=["float64", "float32"])
    def conv_data2vec(self, x: Array, weight: Array, bias: Array, *, groups: int) -> Array:
        stack_fits(x, weight, bias, groups)
        rows = x
        for w, b in zip(weight, bias, strict=True):
            z = by_windows(rows, w, b, groups)
            z = z - z.mean(axis=-1, keepdims=True)
            variance = np.square(z).mean(axis=-1, keepdims=True)
            rows = exact_gelu(z / np.sqrt(variance + x.dtype.type(1e-5)))
        return x + rows


@right
class MomentsInOnePass:
    """Variance as the mean of squares minus the squared mean; rounded after every step."""

    @claims("layer-norm", dtype=FLOATS)
    def conv_data2vec(self, x: Array, weight: Array, bias: Array, *, groups: int) -> Array:
        stack_fits(x, weight, bias, groups)
        wide = np.dtype(np.float64 if x.dtype == np.float64 else np.float32)
        rows = x.astype(wide)
        for w, b in zip(weight.astype(wide), bias.astype(wide), strict=True):
            z = by_taps(rows, w, b).astype(x.dtype).astype(wide)
            mean = z.mean(axis=-1, keepdims=True)
            variance = np.maximum(np.square(z).mean(axis=-1, keepdims=True) - mean * mean, 0)
            normed = (z - mean) * (1 / np.sqrt(variance + np.asarray(1e-5, wide)))
            normed = normed.astype(x.dtype).astype(wide)
            rows = exact_gelu(normed).astype(x.dtype).astype(wide)
        return (x.astype(wide) + rows).astype(x.dtype)
