"""Wrong implementations: dynamic position bias."""

from math import erf, sqrt
from typing import Any

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made, narrow


class Answered(Mistake, steps=True):
    """A network applied to distances, in steps."""

    call = "dynamic_position_bias"
    claimed = ("linear",)

    def answer(
        self,
        w_in: Array,
        b_in: Array,
        w_mid: Array,
        b_mid: Array,
        w_out: Array,
        b_out: Array,
        q_len: int,
        k_len: int,
        *,
        distance: str,
    ) -> Array:
        if q_len > k_len:
            raise ValueError("more queries than keys")
        lag = self.lags(self.queries(q_len, k_len)[:, None], np.arange(k_len))
        inputs = self.given(lag.astype(np.float64), distance == "log", k_len)
        hidden = self.activation(inputs[..., None] * w_in.astype(float) + b_in.astype(float))
        for weights, bias in self.middle(w_mid.astype(float), b_mid.astype(float)):
            hidden = self.activation(hidden @ weights.T + bias)
        bias = np.moveaxis(hidden @ w_out.astype(float).T + b_out.astype(float), -1, 0)
        return self.finish(bias).astype(b_out.dtype)

    def queries(self, q_len: int, k_len: int) -> Array:
        return np.arange(k_len - q_len, k_len)

    def lags(self, query: Array, key: Array) -> Array:
        return query - key

    def given(self, lag: Array, log: bool, k_len: int) -> Array:
        return self.logarithm(lag) if log else lag

    def logarithm(self, lag: Array) -> Array:
        return np.sign(lag) * np.log1p(np.abs(lag))

    def activation(self, x: Array) -> Array:
        return x * (1 + np.tanh(x / 2)) / 2

    def middle(self, weights: Array, biases: Array) -> list[Any]:
        return list(zip(weights, biases, strict=True))

    def finish(self, bias: Array) -> Array:
        return bias


def _relu(self: Any, x: Array) -> Array:
    return np.maximum(x, 0)


def _gelu(self: Any, x: Array) -> Array:
    inner = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
    return x * (1 + np.tanh(inner)) / 2


for _claim in ("linear", "log"):
    for _name, _named, _steps in (
        (
            "of the other distance",
            "distance-swapped",
            {"given": lambda self, lag, log, k_len: Answered.given(self, lag, not log, k_len)},
        ),
        (
            "of keys minus queries",
            "offset-reversed",
            {"lags": lambda self, query, key: key - query},
        ),
        ("of magnitudes", "unsigned", {"lags": lambda self, query, key: np.abs(query - key)}),
        (
            "of the past",
            "unsigned",
            {"lags": lambda self, query, key: np.maximum(query - key, 0)},
        ),
        (
            "with queries from zero",
            "queries-from-zero",
            {"queries": lambda self, q_len, k_len: np.arange(q_len)},
        ),
        ("off by one", "distance-shifted", {"lags": lambda self, query, key: query - key + 1}),
        (
            "of parts of the length",
            "normalized",
            {
                "given": lambda self, lag, log, k_len: (
                    Answered.given(self, lag, log, k_len) / max(k_len - 1, 1)
                )
            },
        ),
        ("through ReLU", "activation-wrong", {"activation": _relu}),
        ("without activation", "activation-wrong", {"activation": lambda self, x: x}),
        (
            "activated at the end",
            "activation-wrong",
            {"finish": lambda self, bias: Answered.activation(self, bias)},
        ),
        (
            "of transposed layers",
            "layers-wrong",
            {
                "middle": lambda self, weights, biases: Answered.middle(
                    self, weights.swapaxes(1, 2), biases
                )
            },
        ),
        (
            "of reversed layers",
            "layers-wrong",
            {"middle": lambda self, weights, biases: Answered.middle(self, weights, biases)[::-1]},
        ),
        ("of two layers", "layers-wrong", {"middle": lambda self, weights, biases: []}),
        (
            "of bfloat16 distances",
            "narrow-distances",
            {
                "given": lambda self, lag, log, k_len: narrow(
                    Answered.given(self, lag, log, k_len), "bfloat16"
                )
            },
        ),
        (
            "of the first head",
            None,
            {"finish": lambda self, bias: np.broadcast_to(bias[:1], bias.shape)},
        ),
        (
            "with keys ahead hidden",
            None,
            {"finish": lambda self, bias: np.where(np.tri(*bias.shape[1:]) > 0, bias, -np.inf)},
        ),
        (
            "up to 128",
            None,
            {"lags": lambda self, query, key: np.clip(query - key, -128, 128)},
        ),
        ("through an approximate GELU", None, {"activation": _gelu}),
    ):
        made(
            Answered,
            f"Answered {_claim} {_name}",
            "One step otherwise.",
            named=_named,
            claimed=(_claim,),
            **_steps,
        )


class AnsweredInBits(Answered):
    """Logarithms are to base 2."""

    named = "other-logarithm"
    claimed = ("log",)

    def logarithm(self, lag: Array) -> Array:
        return super().logarithm(lag) / np.log(2)


class AnsweredWithoutTheOne(Answered):
    """The logarithm is of the distance, not of 1 + distance."""

    named = "other-logarithm"
    claimed = ("log",)

    def logarithm(self, lag: Array) -> Array:
        return np.sign(lag) * np.log(np.maximum(np.abs(lag), 1))


class AnsweredByGelu(Answered):
    """The activation is the exact GELU."""

    named = "activation-wrong"

    def activation(self, x: Array) -> Array:
        return x * (1 + np.vectorize(erf, otypes=[float])(x / sqrt(2))) / 2


class AnsweredKeepsTheFirst(Answered):
    """Results are cached by shape, ignoring weights and biases."""

    def __init__(self) -> None:
        self._kept: dict[Any, Array] = {}

    def answer(self, *arguments: Any, **keywords: Any) -> Array:
        key = tuple(array.shape for array in arguments[:6]), arguments[6:], arguments[0].dtype
        if key not in self._kept:
            self._kept[key] = super().answer(*arguments, **keywords)
        return self._kept[key].copy()
