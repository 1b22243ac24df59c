"""Right implementations: FIRE."""

import math

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, NARROW, Array, right


@right
class InterpolatedAsListed:
    """The paper's listing in float32, with absolute distances, also on later keys."""

    @claims("epsilon", dtype=NARROW)
    def fire_bias(
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
    ) -> Array:
        w1, b1, w2, wide = (array.astype(np.float32) for array in (w1, b1, w2, b2))
        positions = np.arange(k_len, dtype=np.float32)
        relative = positions[k_len - q_len :, None] - positions[None, :]
        largest = np.maximum(positions[k_len - q_len :], np.float32(abs(threshold)))[:, None]
        relative = np.log(np.abs(np.float32(c) * relative) + 1)
        largest = np.log(np.abs(np.float32(c) * largest) + 1) + np.float32(1e-6)
        part = (relative / largest)[..., None]
        hidden = np.maximum(part * w1 + b1, 0)
        return (hidden @ w2.T + wide).transpose(2, 0, 1).astype(b2.dtype)


@right
class InterpolatedUnitByUnit:
    """A loop over units in float64, with biases added last."""

    @claims("paper", "epsilon", dtype=FLOATS)
    def fire_bias(
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
        if q_len > k_len:
            raise ValueError("more queries than keys")
        small = 1e-6 if normalizer == "epsilon" else 0
        i, j = np.ogrid[k_len - q_len : k_len, :k_len]
        whole = np.log1p(c * np.maximum(i, threshold)) + small
        part = np.log1p(c * np.where(j > i, 0, i - j)) / whole
        out = np.zeros((len(b2), q_len, k_len))
        for unit in range(len(w1)):
            active = np.clip(part * float(w1[unit]) + float(b1[unit]), 0, None)
            out += w2[:, unit].astype(float)[:, None, None] * active
        out += b2.astype(float)[:, None, None]
        out[:, j > i] = -np.inf
        return out.astype(b2.dtype)


@right
class InterpolatedInTheModelsDtype:
    """The input in float32, the network in the model's dtype with sums in float32."""

    @claims("paper", dtype=NARROW)
    def fire_bias(
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
    ) -> Array:
        kind, single = b2.dtype, np.float32
        query = np.arange(k_len - q_len, k_len, dtype=single)
        lag = np.maximum(query[:, None] - np.arange(k_len, dtype=single), 0)
        whole = np.log1p(single(c) * np.maximum(query, single(threshold)))
        part = (np.log1p(single(c) * lag) / whole[:, None]).astype(kind).astype(single)
        hidden = part[..., None] * w1.astype(single) + b1.astype(single)
        hidden = np.maximum(hidden.astype(kind), kind.type(0)).astype(single)
        bias = (
            np.einsum("qku,hu->hqk", hidden, w2.astype(single)) + b2.astype(single)[:, None, None]
        )
        return bias.astype(kind)


@right
class InterpolatedElementByElement:
    """One visible element at a time, with binary logarithms."""

    @claims("paper", dtype="float64", q_len=1)
    def fire_bias(
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
    ) -> Array:
        out = np.full((len(b2), q_len, k_len), np.nan)
        for row in range(q_len):
            i = k_len - q_len + row
            whole = math.log2(c * max(threshold, i) + 1)
            for j in range(i + 1):
                hidden = np.maximum(w1 * (math.log2(c * (i - j) + 1) / whole) + b1, 0)
                out[:, row, j] = w2 @ hidden + b2
        return out


@right
class SecondLayerByMatrices:
    """One matrix product in float32: gradients times the first layer's units and a constant 1."""

    @claims("paper", "epsilon", dtype=NARROW)
    def fire_bias_vjp(
        self,
        gradient: Array,
        w1: Array,
        b1: Array,
        *,
        c: float,
        threshold: float,
        normalizer: str,
    ) -> Array:
        heads, q_len, k_len = gradient.shape
        single = np.float32
        query = np.arange(k_len)[k_len - q_len :, None].astype(single)
        lag = query - np.arange(k_len, dtype=single)
        whole = np.log(single(c) * np.maximum(query, single(threshold)) + single(1))
        small = single(1e-6 if normalizer == "epsilon" else 0)
        part = np.log(single(c) * np.maximum(lag, 0) + single(1)) / (whole + small)
        hidden = np.maximum(part[..., None] * w1.astype(single) + b1.astype(single), 0)
        inputs = np.concatenate([hidden, np.ones((q_len, k_len, 1), single)], axis=-1)
        seen = np.where(lag < 0, single(0), gradient.astype(single))
        product = seen.reshape(heads, -1) @ inputs.reshape(q_len * k_len, -1)
        return product.astype(gradient.dtype)


@right
class SecondLayerPairByPair:
    """A loop over queries and keys, in float64."""

    @claims("paper", "epsilon", dtype=FLOATS)
    def fire_bias_vjp(
        self,
        gradient: Array,
        w1: Array,
        b1: Array,
        *,
        c: float,
        threshold: float,
        normalizer: str,
    ) -> Array:
        heads, q_len, k_len = gradient.shape
        small = 1e-6 if normalizer == "epsilon" else 0.0
        out = np.zeros((heads, len(w1) + 1))
        weights, biases, wide = (array.astype(np.float64) for array in (w1, b1, gradient))
        for row in range(q_len):
            i = k_len - q_len + row
            for j in range(i + 1):
                part = math.log1p(c * (i - j)) / (math.log1p(c * max(i, threshold)) + small)
                units = np.append(np.maximum(part * weights + biases, 0), 1)
                out += np.multiply.outer(wide[:, row, j], units)
        return out.astype(gradient.dtype)
