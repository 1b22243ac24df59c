"""Right implementations: dynamic position bias."""

from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, NARROW, Array, right


@right
class AnsweredOncePerDistance:
    """x-transformers' steps in float32: the network on all distances, then a gather."""

    @claims("linear", "log", dtype=NARROW)
    def dynamic_position_bias(self, *given: Any, distance: str) -> Array:
        *weights, q_len, k_len = given
        w_in, b_in, w_mid, b_mid, w_out, b_out = (array.astype(np.float32) for array in weights)
        index = np.arange(k_len - q_len, k_len)[:, None] - np.arange(k_len) + k_len - 1
        if q_len > k_len:
            raise ValueError("more queries than keys")
        part = np.arange(1 - k_len, k_len, dtype=np.float32)[:, None]
        if distance == "log":
            part = np.sign(part) * np.log(np.abs(part) + 1)
        layers = [(w_in[:, None], b_in), *zip(w_mid, b_mid, strict=True)]
        for weight, bias in layers:
            part = part @ weight.T + bias
            part = part / (1 + np.exp(-part))
        out = part @ w_out.T + b_out
        return out[index].transpose(2, 0, 1).astype(weights[0].dtype)


@right
class AnsweredPairByPair:
    """One query and one key at a time, in float64."""

    @claims("linear", "log", dtype=FLOATS, q_len=1)
    def dynamic_position_bias(self, *given: Any, distance: str) -> Array:
        *weights, q_len, k_len = given
        w_in, b_in, w_mid, b_mid, w_out, b_out = (array.astype(float) for array in weights)
        out = np.empty((len(w_out), q_len, k_len))
        for row in range(q_len):
            for key in range(k_len):
                d = k_len - q_len + row - key
                part = np.copysign(np.log1p(abs(d)), d) if distance == "log" else float(d)
                hidden = self._silu(w_in * part + b_in)
                for weight, bias in zip(w_mid, b_mid, strict=True):
                    hidden = self._silu(weight.dot(hidden) + bias)
                out[:, row, key] = w_out.dot(hidden) + b_out
        return out.astype(weights[0].dtype)

    def _silu(self, x: Array) -> Array:
        return 0.5 * x * (1 + np.tanh(0.5 * x))


@right
class AnsweredInTheModelsDtype:
    """Every layer rounded to the dtype of the weights, with sums in float32."""

    @claims("linear", "log", dtype=NARROW)
    def dynamic_position_bias(self, *given: Any, distance: str) -> Array:
        *weights, q_len, k_len = given
        kind, single = weights[0].dtype, np.float32
        w_in, b_in, w_mid, b_mid, w_out, b_out = (array.astype(single) for array in weights)

        def held(x: Array) -> Array:
            return x.astype(kind).astype(single)

        part = (np.arange(k_len - q_len, k_len)[:, None] - np.arange(k_len)).astype(single)
        if distance == "log":
            part = np.sign(part) * np.log1p(np.abs(part))
        hidden = held(held(part)[..., None] * w_in + b_in)
        hidden = held(hidden / (1 + np.exp(-hidden)))
        for weight, bias in zip(w_mid, b_mid, strict=True):
            hidden = held(hidden @ weight.T + bias)
            hidden = held(hidden / (1 + np.exp(-hidden)))
        return np.moveaxis(hidden @ w_out.T + b_out, -1, 0).astype(kind)
