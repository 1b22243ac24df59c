"""Wrong implementations: the positional convolution of wav2vec 2.0."""

import math

import numpy as np

from tests.miniatures.mistakes import Array, Mistake, made


class FrameConvolution(Mistake, steps=True):
    """Tap by tap, in steps."""

    call = "conv_wav2vec2"
    claimed = ("weight-norm",)

    def answer(
        self, x: Array, weight_v: Array, weight_g: Array, bias: Array, *, groups: int
    ) -> Array:
        rows, v, g, b = (a.astype(np.float64) for a in (x, weight_v, weight_g, bias))
        weights = self.taps(self.normed(v, g))
        kernel, n = v.shape[-1], x.shape[-2]
        z = np.zeros_like(rows)
        for tap in range(kernel):
            ahead = tap - self.before(kernel)
            for i in range(max(0, -ahead), min(n, n - ahead)):
                for out in range(x.shape[-1]):
                    reading = rows[..., i + ahead, self.channels(out, v.shape[1], groups)]
                    z[..., i, out] += reading @ weights[out, :, tap]
        return self.joined(rows, self.activation(z + b)).astype(x.dtype)

    def normed(self, v: Array, g: Array) -> Array:
        norm = np.sqrt((v**2).sum(axis=(0, 1)))
        return g * v / np.where(norm > 0, norm, 1)

    def taps(self, w: Array) -> Array:
        return w

    def before(self, kernel: int) -> int:
        return kernel // 2

    def channels(self, out: int, width: int, groups: int) -> Array:
        return out // width * width + np.arange(width)

    def activation(self, z: Array) -> Array:
        return z * np.vectorize(math.erfc, otypes=[float])(-z / math.sqrt(2)) / 2

    def joined(self, x: Array, moved: Array) -> Array:
        return x + moved


class FrameConvolutionAlone(FrameConvolution):
    """What transformers' module returns by itself."""

    named = "residual-missing"

    def joined(self, x: Array, moved: Array) -> Array:
        return moved


class FrameConvolutionTanh(FrameConvolution):
    """The tanh formula."""

    named = "gelu-tanh"

    def activation(self, z: Array) -> Array:
        return z / 2 * (1 + np.tanh(0.7978845608028654 * (z + 0.044715 * z**3)))


class FrameConvolutionLinear(FrameConvolution):
    """No activation."""

    named = "activation-missing"

    def activation(self, z: Array) -> Array:
        return z


class FrameConvolutionLate(FrameConvolution):
    """The first frame dropped for even kernels."""

    named = "first-frame-dropped"

    def before(self, kernel: int) -> int:
        return kernel // 2 - (kernel % 2 == 0)


class FrameConvolutionCausal(FrameConvolution):
    """Only the past."""

    named = "padded-before"

    def before(self, kernel: int) -> int:
        return kernel - 1


class FrameConvolutionFlipped(FrameConvolution):
    """Taps in reverse."""

    named = "taps-reversed"

    def taps(self, w: Array) -> Array:
        return w[..., ::-1]


for _name, _axes in {
    "per output": (1, 2),
    "per input": (0, 2),
    "overall": (0, 1, 2),
}.items():
    made(
        FrameConvolution,
        f"FrameConvolution norm {_name}",
        "The norm over other axes.",
        named="norm-axis",
        normed=lambda self, v, g, axes=_axes: g * v / np.sqrt((v**2).sum(axis=axes, keepdims=True)),
    )


class FrameConvolutionGainsOnly(FrameConvolution):
    """Not divided by the norm."""

    named = "norm-missing"

    def normed(self, v: Array, g: Array) -> Array:
        return g * v


class FrameConvolutionPlain(FrameConvolution):
    """The directions taken for the weights."""

    named = "norm-missing"

    def normed(self, v: Array, g: Array) -> Array:
        return v


class FrameConvolutionDealt(FrameConvolution):
    """Groups of every so many channels."""

    named = "groups-interleaved"

    def channels(self, out: int, width: int, groups: int) -> Array:
        return out // width + groups * np.arange(width)


class FrameConvolutionSigmoid(FrameConvolution):
    """x times the sigmoid of 1.702 x."""

    def activation(self, z: Array) -> Array:
        return z / (1 + np.exp(-1.702 * z))


class FrameConvolutionShort(FrameConvolution):
    """At most 127 taps."""

    def taps(self, w: Array) -> Array:
        return w * (np.arange(w.shape[-1]) < 127)


class FrameConvolutionReflects(FrameConvolution):
    """Reflected at the ends, not padded with zeros."""

    def answer(self, x: Array, *rest: Array, groups: int) -> Array:
        kernel, n = rest[0].shape[-1], x.shape[-2]
        width = [(0, 0)] * (x.ndim - 2) + [(kernel, kernel), (0, 0)]
        whole = super().answer(np.pad(x, width, mode="symmetric"), *rest, groups=groups)
        return whole[..., kernel : kernel + n, :]


class FrameConvolutionNormOfFirst(FrameConvolution):
    """Weights normalised once and kept, as when a state is loaded after the first call."""

    kept: Array | None = None

    def normed(self, v: Array, g: Array) -> Array:
        if self.kept is None or self.kept.shape != v.shape:
            self.kept = super().normed(v, g)
        return self.kept
