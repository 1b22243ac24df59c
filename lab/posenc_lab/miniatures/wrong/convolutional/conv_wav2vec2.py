"""Wrong implementations: the positional convolution of wav2vec 2.0."""

import math

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made


def gelu(z: Array) -> Array:
    return z * np.vectorize(math.erfc, otypes=[float])(-z / math.sqrt(2)) / 2


def gelu_tanh(z: Array) -> Array:
    return z / 2 * (1 + np.tanh(0.7978845608028654 * (z + 0.044715 * z**3)))


class FrameConvolution(Mistake, steps=True):
    """The convolution tap by tap, in steps."""

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
        return gelu(z)

    def joined(self, x: Array, moved: Array) -> Array:
        return x + moved


class FrameConvolutionAlone(FrameConvolution):
    """The input is not added, as in transformers' module."""

    named = "residual-missing"

    def joined(self, x: Array, moved: Array) -> Array:
        return moved


class FrameConvolutionTanh(FrameConvolution):
    """GELU is the tanh approximation."""

    named = "gelu-tanh"

    def activation(self, z: Array) -> Array:
        return gelu_tanh(z)


class FrameConvolutionLinear(FrameConvolution):
    """The activation is missing."""

    named = "activation-missing"

    def activation(self, z: Array) -> Array:
        return z


class FrameConvolutionLate(FrameConvolution):
    """The first frame is dropped if the kernel is even."""

    named = "first-frame-dropped"

    def before(self, kernel: int) -> int:
        return kernel // 2 - (kernel % 2 == 0)


class FrameConvolutionCausal(FrameConvolution):
    """The convolution is causal."""

    named = "padded-before"

    def before(self, kernel: int) -> int:
        return kernel - 1


class FrameConvolutionFlipped(FrameConvolution):
    """Taps are reversed."""

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
    """Weights are not divided by their norm."""

    named = "norm-missing"

    def normed(self, v: Array, g: Array) -> Array:
        return g * v


class FrameConvolutionPlain(FrameConvolution):
    """Directions are used as weights, without norm and gain."""

    named = "norm-missing"

    def normed(self, v: Array, g: Array) -> Array:
        return v


class FrameConvolutionDealt(FrameConvolution):
    """Groups are interleaved: each reads every ``groups``-th channel."""

    named = "groups-interleaved"

    def channels(self, out: int, width: int, groups: int) -> Array:
        return out // width + groups * np.arange(width)


class FrameConvolutionSigmoid(FrameConvolution):
    """The activation is x times the sigmoid of 1.702 x."""

    def activation(self, z: Array) -> Array:
        return z / (1 + np.exp(-1.702 * z))


class FrameConvolutionShort(FrameConvolution):
    """Taps from index 127 on are 0."""

    def taps(self, w: Array) -> Array:
        return w * (np.arange(w.shape[-1]) < 127)


class FrameConvolutionReflects(FrameConvolution):
    """Ends are padded by reflection, not with zeros."""

    def answer(self, x: Array, *rest: Array, groups: int) -> Array:
        kernel, n = rest[0].shape[-1], x.shape[-2]
        width = [(0, 0)] * (x.ndim - 2) + [(kernel, kernel), (0, 0)]
        whole = super().answer(np.pad(x, width, mode="symmetric"), *rest, groups=groups)
        return whole[..., kernel : kernel + n, :]


class FrameConvolutionPairsExchanged(FrameConvolution):
    """In bfloat16, the weights of every two input channels are exchanged; float32 is right.

    Matrix units read 16-bit numbers in pairs, and the weights were packed for another unit.
    """

    dtype = ("float32", "bfloat16")

    def answer(self, x: Array, weight_v: Array, *rest: Array, groups: int) -> Array:
        self.narrow = x.dtype.itemsize == 2
        return super().answer(x, weight_v, *rest, groups=groups)

    def taps(self, w: Array) -> Array:
        if not self.narrow or w.shape[1] % 2:
            return w
        return w.reshape(len(w), -1, 2, w.shape[2])[:, :, ::-1].reshape(w.shape)


class FrameConvolutionNormOfFirst(FrameConvolution):
    """Normalised weights are cached, as when a state is loaded after the first call."""

    kept: Array | None = None

    def normed(self, v: Array, g: Array) -> Array:
        if self.kept is None or self.kept.shape != v.shape:
            self.kept = super().normed(v, g)
        return self.kept


class FrameNorm(Mistake, steps=True):
    """HuBERT's frames normalised, padded and convolved, in steps."""

    call = "conv_hubert"
    claimed = ("batch-norm",)

    def answer(
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
        rows, w, *parameters = (
            a.astype(np.float64) for a in (x, weight, bias, mean, variance, gain, shift)
        )
        bias, *norm = parameters
        if (variance < 0).any():
            raise ValueError("variance")
        padded = self.ready(rows, w.shape[-1], *norm)
        z = np.zeros_like(rows)
        for tap in range(w.shape[-1]):
            read = padded[..., tap : tap + x.shape[-2], :]
            for out in range(x.shape[-1]):
                first = out // w.shape[1] * w.shape[1]
                z[..., out] += read[..., first : first + w.shape[1]] @ w[out, :, tap]
        return self.joined(rows, self.activation(z + bias), *norm).astype(x.dtype)

    def ready(self, rows: Array, kernel: int, *norm: Array) -> Array:
        return self.padded(self.normed(rows, *norm), kernel)

    def padded(self, rows: Array, kernel: int) -> Array:
        ends = [(0, 0)] * (rows.ndim - 2) + [(self.before(kernel), kernel), (0, 0)]
        return np.pad(rows, ends)

    def before(self, kernel: int) -> int:
        return kernel // 2

    def normed(self, x: Array, mean: Array, variance: Array, gain: Array, shift: Array) -> Array:
        return (x - mean) / self.deviation(variance) * gain + shift

    def deviation(self, variance: Array) -> Array:
        return np.sqrt(variance + 1e-5)

    def activation(self, z: Array) -> Array:
        return gelu(z)

    def joined(self, x: Array, moved: Array, *norm: Array) -> Array:
        return x + moved


class FrameNormAlone(FrameNorm):
    """The input is not added, as in transformers' module."""

    named = "hubert-residual-missing"

    def joined(self, x: Array, moved: Array, *norm: Array) -> Array:
        return moved


class FrameNormAdded(FrameNorm):
    """The normalised frames are added, not the input."""

    named = "hubert-residual-missing"

    def joined(self, x: Array, moved: Array, *norm: Array) -> Array:
        return self.normed(x, *norm) + moved


class FrameNormMissing(FrameNorm):
    """The norm is missing, as with weights loaded into a plain convolution."""

    named = "hubert-norm-missing"

    def normed(self, x: Array, mean: Array, variance: Array, gain: Array, shift: Array) -> Array:
        return x


class FrameNormOfTheBatch(FrameNorm):
    """Mean and variance are the batch's, as in a module left in training mode."""

    named = "hubert-batch-statistics"

    def normed(self, x: Array, mean: Array, variance: Array, gain: Array, shift: Array) -> Array:
        over = tuple(range(x.ndim - 1))
        return (x - x.mean(axis=over)) / np.sqrt(x.var(axis=over) + 1e-5) * gain + shift


class FrameNormFolded(FrameNorm):
    """The norm is folded into weights and bias, so zeros beyond the ends are normalised."""

    named = "hubert-ends-normalised"

    def ready(self, rows: Array, kernel: int, *norm: Array) -> Array:
        return self.normed(self.padded(rows, kernel), *norm)


class FrameNormWithoutEpsilon(FrameNorm):
    """Epsilon is not added to the variance, which is 0 in some channels."""

    named = "hubert-epsilon"

    def deviation(self, variance: Array) -> Array:
        return np.sqrt(np.maximum(variance, 1e-12))


class FrameNormEpsilonOfAnother(FrameNorm):
    """Epsilon is 1e-3, as in Keras."""

    named = "hubert-epsilon"

    def deviation(self, variance: Array) -> Array:
        return np.sqrt(variance + 1e-3)


class FrameNormEpsilonOutside(FrameNorm):
    """1e-5 is added to the square root, not to the variance."""

    named = "hubert-epsilon"

    def deviation(self, variance: Array) -> Array:
        return np.sqrt(variance) + 1e-5


class FrameNormTanh(FrameNorm):
    """GELU is the tanh approximation."""

    named = "hubert-gelu-tanh"

    def activation(self, z: Array) -> Array:
        return gelu_tanh(z)


class FrameNormLate(FrameNorm):
    """The first frame is dropped if the kernel is even."""

    named = "hubert-first-frame-dropped"

    def before(self, kernel: int) -> int:
        return kernel // 2 - (kernel % 2 == 0)


class FrameNormOfVariance(FrameNorm):
    """Frames are divided by the variance, not by its square root."""

    def deviation(self, variance: Array) -> Array:
        return variance + 1e-5


class FrameNormRelu(FrameNorm):
    """The activation is ReLU."""

    def activation(self, z: Array) -> Array:
        return np.maximum(z, 0)


class FrameStack(Mistake, steps=True):
    """data2vec's layers, in steps."""

    call = "conv_data2vec"
    claimed = ("layer-norm",)

    def answer(self, x: Array, weight: Array, bias: Array, *, groups: int) -> Array:
        if bias.shape != weight.shape[:2]:
            raise ValueError("bias")
        x, weights, biases = (a.astype(np.float64) for a in (x, weight, bias))
        rows = self.ready(x, weights)
        for w, b in self.layers(list(zip(weights, biases, strict=True))):
            rows = self.then(rows, self.layer(rows, w, b, groups))
        return self.joined(x, self.cut(rows, x)).astype(weight.dtype)

    def layer(self, rows: Array, w: Array, b: Array, groups: int) -> Array:
        return self.activation(self.normed(self.convolved(rows, w, groups) + b, groups))

    def convolved(self, rows: Array, w: Array, groups: int) -> Array:
        dim, width, kernel = w.shape
        ends = [(0, 0)] * (rows.ndim - 2) + [(self.before(kernel), kernel), (0, 0)]
        padded, z = np.pad(rows, ends), np.zeros_like(rows)
        for tap in range(kernel):
            read = padded[..., tap : tap + rows.shape[-2], :]
            for out in range(dim):
                z[..., out] += read[..., self.channels(out, width, groups)] @ w[out, :, tap]
        return z

    def ready(self, x: Array, weights: Array) -> Array:
        return x

    def cut(self, rows: Array, x: Array) -> Array:
        return rows

    def layers(self, layers: list[tuple[Array, Array]]) -> list[tuple[Array, Array]]:
        return layers

    def then(self, rows: Array, heard: Array) -> Array:
        return heard

    def before(self, kernel: int) -> int:
        return kernel // 2

    def channels(self, out: int, width: int, groups: int) -> Array:
        return out // width * width + np.arange(width)

    def normed(self, z: Array, groups: int) -> Array:
        return self.over(z, (-1,))

    def over(self, z: Array, axes: tuple[int, ...]) -> Array:
        return (z - z.mean(axis=axes, keepdims=True)) / self.deviation(z, axes)

    def deviation(self, z: Array, axes: tuple[int, ...]) -> Array:
        return np.sqrt(z.var(axis=axes, keepdims=True) + 1e-5)

    def activation(self, z: Array) -> Array:
        return gelu(z)

    def joined(self, x: Array, heard: Array) -> Array:
        return x + heard


class FrameStackAlone(FrameStack):
    """The input is not added, as in transformers' module."""

    named = "data2vec-residual"

    def joined(self, x: Array, heard: Array) -> Array:
        return heard


class FrameStackOfResiduals(FrameStack):
    """Every layer adds its input."""

    named = "data2vec-residual"

    def then(self, rows: Array, heard: Array) -> Array:
        return rows + heard

    def joined(self, x: Array, heard: Array) -> Array:
        return heard


for _name, _some in {
    "first alone": lambda self, every: every[:1],
    "all but the last": lambda self, every: every[:-1] or every,
    "backwards": lambda self, every: every[::-1],
    "shared": lambda self, every: every[:1] * len(every),
}.items():
    made(
        FrameStack,
        f"FrameStack layers {_name}",
        "Other layers than those given.",
        named="data2vec-layers",
        layers=_some,
    )


class FrameStackOfFour(FrameStack):
    """Layers after the fourth are skipped."""

    def layers(self, layers: list[tuple[Array, Array]]) -> list[tuple[Array, Array]]:
        return layers[:4]


class FrameStackWithoutNorm(FrameStack):
    """The norm is missing."""

    named = "data2vec-norm-missing"

    def normed(self, z: Array, groups: int) -> Array:
        return z


class FrameStackNormLast(FrameStack):
    """The norm follows the GELU."""

    named = "data2vec-norm-last"

    def layer(self, rows: Array, w: Array, b: Array, groups: int) -> Array:
        return self.normed(self.activation(self.convolved(rows, w, groups) + b), groups)


class FrameStackInstanceNorm(FrameStack):
    """The norm runs over frames, as in a layer norm of channels before frames."""

    named = "data2vec-norm-axis"

    def normed(self, z: Array, groups: int) -> Array:
        return self.over(z, (-2,))


class FrameStackGroupNorm(FrameStack):
    """The norm runs over frames and channels, as in a group norm with one group."""

    named = "data2vec-norm-axis"

    def normed(self, z: Array, groups: int) -> Array:
        return self.over(z, (-2, -1))


class FrameStackNormOfGroups(FrameStack):
    """Each group of channels of the convolution is normalised separately."""

    named = "data2vec-norm-axis"

    def normed(self, z: Array, groups: int) -> Array:
        return self.over(z.reshape(*z.shape[:-1], groups, -1), (-1,)).reshape(z.shape)


class FrameStackOfSamples(FrameStack):
    """The variance divides by one less, as torch.var does by default."""

    named = "data2vec-variance"

    def deviation(self, z: Array, axes: tuple[int, ...]) -> Array:
        count = z.shape[-1]
        return np.sqrt(z.var(axis=axes, keepdims=True) * count / max(count - 1, 1) + 1e-5)


class FrameStackOfBert(FrameStack):
    """Epsilon is 1e-12, as in BERT."""

    named = "data2vec-epsilon"

    def deviation(self, z: Array, axes: tuple[int, ...]) -> Array:
        return np.sqrt(z.var(axis=axes, keepdims=True) + 1e-12)


class FrameStackOfKeras(FrameStack):
    """Epsilon is 1e-3, as in Keras."""

    named = "data2vec-epsilon"

    def deviation(self, z: Array, axes: tuple[int, ...]) -> Array:
        return np.sqrt(z.var(axis=axes, keepdims=True) + 1e-3)


class FrameStackEpsilonOutside(FrameStack):
    """1e-5 is added to the square root, not to the variance."""

    named = "data2vec-epsilon"

    def deviation(self, z: Array, axes: tuple[int, ...]) -> Array:
        return z.std(axis=axes, keepdims=True) + 1e-5


class FrameStackKept(FrameStack):
    """Standard deviations are at least 0.01."""

    def deviation(self, z: Array, axes: tuple[int, ...]) -> Array:
        return np.maximum(super().deviation(z, axes), 0.01)


class FrameStackPaddedOnce(FrameStack):
    """Frames are padded once for all layers, so later layers do not read zeros beyond the ends."""

    named = "data2vec-padded-once"

    def ready(self, x: Array, weights: Array) -> Array:
        self.far = len(weights) * weights.shape[-1]
        return np.pad(x, [(0, 0)] * (x.ndim - 2) + [(self.far, self.far), (0, 0)])

    def cut(self, rows: Array, x: Array) -> Array:
        return rows[..., self.far : self.far + x.shape[-2], :]


class FrameStackTanh(FrameStack):
    """GELU is the tanh approximation."""

    named = "data2vec-gelu-tanh"

    def activation(self, z: Array) -> Array:
        return gelu_tanh(z)


class FrameStackLate(FrameStack):
    """The first frame is dropped if the kernel is even."""

    named = "data2vec-first-frame-dropped"

    def before(self, kernel: int) -> int:
        return kernel // 2 - (kernel % 2 == 0)


class FrameStackDealt(FrameStack):
    """Groups are interleaved: each reads every ``groups``-th channel."""

    def channels(self, out: int, width: int, groups: int) -> Array:
        return out // width + groups * np.arange(width)
