"""Wrong implementations: FIRE."""

from typing import Any

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made, narrow


class Interpolated(Mistake, steps=True):
    """A network applied to normalized distances, in steps."""

    call = "fire_bias"
    claimed = ("paper",)

    def answer(
        self,
        w1: Array,
        b1: Array,
        w2: Array,
        b2: Array,
        q_len: int,
        k_len: int,
        *,
        c: float,
        threshold: float,
        normalizer: str,
    ) -> Array:
        if q_len > k_len or c <= 0 or threshold <= 0:
            raise ValueError("out of the domain")
        query = self.queries(q_len, k_len)[:, None]
        lag = self.lags(query, np.arange(k_len))
        small = self.epsilon(normalizer == "epsilon")
        largest = self.largest(query, threshold, k_len)
        part = self.ratio(self.psi(lag, c), self.psi(largest, c) + small)
        first, bias1, second, bias2 = (array.astype(np.float64) for array in (w1, b1, w2, b2))
        hidden = self.activation(part[..., None] * first + bias1)
        bias = np.moveaxis(hidden @ second.T + bias2, -1, 0)
        return self.finish(bias).astype(b2.dtype)

    def queries(self, q_len: int, k_len: int) -> Array:
        return np.arange(k_len - q_len, k_len)

    def lags(self, query: Array, key: Array) -> Array:
        return np.maximum(query - key, 0).astype(np.float64)

    def epsilon(self, wanted: bool) -> float:
        return 1e-6 if wanted else 0.0

    def largest(self, query: Array, threshold: float, k_len: int) -> Array:
        return np.maximum(query, threshold)

    def psi(self, x: Array, c: float) -> Array:
        return np.log1p(c * x)

    def ratio(self, part: Array, whole: Array) -> Array:
        return part / whole

    def activation(self, hidden: Array) -> Array:
        return np.maximum(hidden, 0)

    def finish(self, bias: Array) -> Array:
        return bias


for _claim in ("paper", "epsilon"):
    made(
        Interpolated,
        f"Interpolated {_claim} with queries from zero",
        "Query i at position i although keys come before it.",
        named="queries-from-zero",
        claimed=(_claim,),
        queries=lambda self, q_len, k_len: np.arange(q_len),
    )
    made(
        Interpolated,
        f"Interpolated {_claim} counted from 1",
        "Queries counted from 1 in the normalizer.",
        named="normalizer-from-1",
        claimed=(_claim,),
        largest=lambda self, query, threshold, k_len: np.maximum(query + 1, threshold),
    )
    made(
        Interpolated,
        f"Interpolated {_claim} without threshold",
        "Short sequences stretched over the whole range.",
        named="threshold-left-out",
        claimed=(_claim,),
        largest=lambda self, query, threshold, k_len: np.maximum(query, 1e-9),
        ratio=lambda self, part, whole: np.where(part == 0, 0, part / whole),
    )
    made(
        Interpolated,
        f"Interpolated {_claim} by the threshold",
        "The threshold's logarithm for every query.",
        named="one-normalizer",
        claimed=(_claim,),
        largest=lambda self, query, threshold, k_len: threshold + 0 * query,
    )
    made(
        Interpolated,
        f"Interpolated {_claim} by the last position",
        "The last query's normalizer for all.",
        named="one-normalizer",
        claimed=(_claim,),
        largest=lambda self, query, threshold, k_len: np.maximum(k_len - 1, threshold) + 0 * query,
    )
    made(
        Interpolated,
        f"Interpolated {_claim} without logarithms",
        "Distances divided by positions.",
        named="ratio-wrong",
        claimed=(_claim,),
        psi=lambda self, x, c: np.asarray(x, dtype=np.float64),
    )
    made(
        Interpolated,
        f"Interpolated {_claim} off by one",
        "Distances counted from 1.",
        named="distance-shifted",
        claimed=(_claim,),
        lags=lambda self, query, key: Interpolated.lags(self, query + 1, key),
    )
    made(
        Interpolated,
        f"Interpolated {_claim} without ReLU",
        "Two linear layers.",
        named="relu-left-out",
        claimed=(_claim,),
        activation=lambda self, hidden: hidden,
    )
    made(
        Interpolated,
        f"Interpolated {_claim} with the sign flipped",
        "The bias subtracted.",
        named="sign-flipped",
        claimed=(_claim,),
        finish=lambda self, bias: -bias,
    )
    made(
        Interpolated,
        f"Interpolated {_claim} of bfloat16 input",
        "The network's input in bfloat16, behind a float32 result.",
        named="narrow-input",
        claimed=(_claim,),
        ratio=lambda self, part, whole: narrow(part / whole, "bfloat16"),
    )


class InterpolatedByDifference(Interpolated):
    """The input is the logarithm of the ratio, not the ratio of the logarithms."""

    named = "ratio-wrong"

    def ratio(self, part: Array, whole: Array) -> Array:
        return part - whole


class InterpolatedWithoutC(Interpolated):
    """c is ignored."""

    named = "ratio-wrong"

    def psi(self, x: Array, c: float) -> Array:
        return np.log1p(x)


class InterpolatedWithEpsilon(Interpolated):
    """1e-6 is added although the equation has none, which shows in float64."""

    named = "epsilon-swapped"
    dtype = "float64"

    def epsilon(self, wanted: bool) -> float:
        return 1e-6


class InterpolatedWithoutEpsilon(Interpolated):
    """The code's 1e-6 is missing, which shows in float64."""

    named = "epsilon-swapped"
    dtype = "float64"
    claimed = ("epsilon",)

    def epsilon(self, wanted: bool) -> float:
        return 0.0


class InterpolatedWithinTheLogarithm(Interpolated):
    """The logarithm is of c x + 0.01, not of c x + 1."""

    def psi(self, x: Array, c: float) -> Array:
        return np.log(c * x + 0.01)


class InterpolatedOfAbsoluteUnits(Interpolated):
    """The activation is the magnitude, not ReLU."""

    def activation(self, hidden: Array) -> Array:
        return np.abs(hidden)


class InterpolatedWithLeaks(Interpolated):
    """The activation is a leaky ReLU with slope 0.01."""

    claimed = ("epsilon",)

    def activation(self, hidden: Array) -> Array:
        return np.where(hidden > 0, hidden, 0.01 * hidden)


class InterpolatedTwiceActivated(Interpolated):
    """ReLU follows the second layer too."""

    def finish(self, bias: Array) -> Array:
        return np.maximum(bias, 0)


class InterpolatedByKeys(Interpolated):
    """The normalizer uses the key's position."""

    def largest(self, query: Array, threshold: float, k_len: int) -> Array:
        return np.maximum(np.arange(k_len)[None], threshold)


class InterpolatedAlwaysAt512(Interpolated):
    """The threshold is always 512."""

    claimed = ("epsilon",)

    def largest(self, query: Array, threshold: float, k_len: int) -> Array:
        return np.maximum(query, 512.0)


class InterpolatedOfTheFirstHead(Interpolated):
    """The first head's bias is used for all."""

    def finish(self, bias: Array) -> Array:
        return np.broadcast_to(bias[:1], bias.shape)


class InterpolatedHeadsLast(Interpolated):
    """The result is [q_len, k_len, heads], as the network returns it."""

    def finish(self, bias: Array) -> Array:
        return np.moveaxis(bias, 0, -1)


class InterpolatedWrongFromUnit32(Interpolated):
    """Units from index 32 on are 0."""

    claimed = ("epsilon",)

    def activation(self, hidden: Array) -> Array:
        return np.maximum(hidden, 0) * (np.arange(hidden.shape[-1]) < 32)


class InterpolatedUpTo128(Interpolated):
    """Distances are clamped at 128."""

    def lags(self, query: Array, key: Array) -> Array:
        return np.minimum(super().lags(query, key), 128)


class InterpolatedKeepsTheFirst(Interpolated):
    """Results are cached by shape, ignoring weights and biases."""

    def __init__(self) -> None:
        self._kept: dict[Any, Array] = {}

    def answer(self, *arguments: Any, **keywords: Any) -> Array:
        key = arguments[2].shape, arguments[2].dtype, arguments[4:]
        if key not in self._kept:
            self._kept[key] = super().answer(*arguments, **keywords)
        return self._kept[key].copy()


class LayerGradients(Mistake, steps=True):
    """Gradients with respect to the second layer, in steps."""

    call = "fire_bias_vjp"
    claimed = ("paper",)

    def answer(
        self,
        gradient: Array,
        w1: Array,
        b1: Array,
        *,
        c: float,
        threshold: float,
        normalizer: str,
    ) -> Array:
        _, q_len, k_len = gradient.shape
        query = np.arange(k_len - q_len, k_len)[:, None]
        lag = query - np.arange(k_len)
        small = self.epsilon(normalizer == "epsilon")
        whole = np.log1p(c * self.largest(query, threshold)) + small
        part = np.log1p(c * np.maximum(lag, 0)) / whole
        units = self.activation(part[..., None] * w1.astype(np.float64) + b1.astype(np.float64))
        inputs = np.concatenate([units, np.ones((*lag.shape, 1))], axis=-1)
        seen = self.seen(gradient.astype(np.float64), lag)
        return self.gathered(seen, inputs).astype(gradient.dtype)

    def epsilon(self, wanted: bool) -> float:
        return 1e-6 if wanted else 0.0

    def largest(self, query: Array, threshold: float) -> Array:
        return np.maximum(query, threshold)

    def activation(self, hidden: Array) -> Array:
        return np.maximum(hidden, 0)

    def seen(self, gradient: Array, lag: Array) -> Array:
        return np.where(lag < 0, 0.0, gradient)

    def gathered(self, seen: Array, inputs: Array) -> Array:
        return np.einsum("hij,iju->hu", seen, inputs)


for _claim in ("paper", "epsilon"):
    made(
        LayerGradients,
        f"LayerGradients {_claim} unmasked",
        "Keys after the query taken along.",
        named="gradient-mask-ignored",
        claimed=(_claim,),
        seen=lambda self, gradient, lag: gradient,
    )
    made(
        LayerGradients,
        f"LayerGradients {_claim} without ReLU",
        "What the ReLU is given, not what it returns.",
        named="gradient-relu-left-out",
        claimed=(_claim,),
        activation=lambda self, hidden: hidden,
    )

for _name, _named, _steps in (
    (
        "by the threshold",
        "gradient-threshold-left-out",
        {"largest": lambda self, query, threshold: threshold + 0 * query},
    ),
    (
        "averaged",
        "gradient-averaged",
        {
            "gathered": lambda self, seen, inputs: (
                LayerGradients.gathered(self, seen, inputs) / seen[0].size
            )
        },
    ),
    (
        "of the mask of units",
        None,
        {"activation": lambda self, hidden: (hidden > 0).astype(np.float64)},
    ),
    (
        "in bfloat16",
        None,
        {
            "gathered": lambda self, seen, inputs: narrow(
                LayerGradients.gathered(self, seen, inputs), "bfloat16"
            )
        },
    ),
    (
        "of the first head",
        None,
        {
            "gathered": lambda self, seen, inputs: LayerGradients.gathered(
                self, np.broadcast_to(seen[:1], seen.shape), inputs
            )
        },
    ),
    (
        "of the first 64 queries",
        None,
        {
            "gathered": lambda self, seen, inputs: LayerGradients.gathered(
                self, seen[:, :64], inputs[:64]
            )
        },
    ),
):
    made(LayerGradients, f"LayerGradients {_name}", "One step otherwise.", named=_named, **_steps)


class LayerGradientsWithoutEpsilon(LayerGradients):
    """The denominator is the paper's, without the claimed epsilon."""

    claimed = ("epsilon",)

    def epsilon(self, wanted: bool) -> float:
        return 0.0
