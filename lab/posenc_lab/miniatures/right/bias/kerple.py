"""Right implementations: KERPLE."""

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, NARROW, Array, right


@right
class KernelsOfALowerTriangle:
    """The authors' steps in float32: a lower triangle of distances, 0 on later keys."""

    @claims("log", "power", dtype=NARROW)
    def kerple_bias(self, r1: Array, r2: Array, q_len: int, k_len: int, *, form: str) -> Array:
        steps = np.arange(k_len)[k_len - q_len :, None] - np.arange(k_len)
        distance = np.tril(steps, k_len - q_len).astype(np.float32)
        outer, inner = (array.astype(np.float32)[:, None, None] for array in (r1, r2))
        if form == "log":
            bias = -outer * np.log(1 + inner * distance)
        else:
            bias = -np.power(distance, inner) * outer
        return bias.astype(r1.dtype)


@right
class KernelsOfEachDistance:
    """A row of biases by distance for each head, gathered; -inf on later keys."""

    @claims("log", dtype=FLOATS)
    def kerple_bias(self, r1: Array, r2: Array, q_len: int, k_len: int) -> Array:
        if q_len > k_len:
            raise ValueError("more queries than keys")
        wide = r2.astype(np.float64)[:, None] * np.arange(k_len)
        row = r1.astype(np.float64)[:, None] * -np.log1p(wide)
        lag = np.arange(k_len - q_len, k_len)[:, None] - np.arange(k_len)[None]
        bias = row[:, np.where(lag < 0, 0, lag)]
        bias[:, lag < 0] = -np.inf
        return bias.astype(r1.dtype)


@right
class KernelsByExponentials:
    """Powers as exponentials of logarithms in float32; hidden keys get -65504."""

    @claims("power", dtype=NARROW)
    def kerple_bias(self, r1: Array, r2: Array, q_len: int, k_len: int) -> Array:
        i, j = np.ogrid[k_len - q_len : k_len, :k_len]
        distance = np.maximum(i - j, 1).astype(np.float32)
        exponent = r2.astype(np.float32).reshape(-1, 1, 1) * np.log(distance)
        loss = r1.astype(np.float32).reshape(-1, 1, 1) * np.exp(exponent)
        loss = np.where(i == j, 0, np.where(i < j, 65504, loss))
        return (-loss).astype(r1.dtype)


@right
class KernelsHeadByHead:
    """A loop over heads and rows, in float64."""

    @claims("power", "log", dtype=["float64", "bfloat16", "float16"])
    def kerple_bias(self, r1: Array, r2: Array, q_len: int, k_len: int, *, form: str) -> Array:
        out = np.full((len(r1), q_len, k_len), np.nan, dtype=np.float64)
        for head, (outer, inner) in enumerate(zip(r1.tolist(), r2.tolist(), strict=True)):
            for row in range(q_len):
                own = k_len - q_len + row
                distance = own - np.arange(own + 1.0)
                loss = np.log1p(inner * distance) if form == "log" else distance**inner
                out[head, row, : own + 1] = 0 - outer * loss
        return out.astype(r1.dtype)


@right
class KernelsDifferentiated:
    """The chain rule in float32, step by step; masked keys get no gradient."""

    @claims("log", "power", dtype=NARROW)
    def kerple_bias_vjp(self, gradient: Array, r1: Array, r2: Array, *, form: str) -> Array:
        _, q_len, k_len = gradient.shape
        steps = np.arange(k_len)[k_len - q_len :, None] - np.arange(k_len)
        distance = np.maximum(steps, 0).astype(np.float32)
        outer, inner = (factor.astype(np.float32)[:, None, None] for factor in (r1, r2))
        seen = np.where(steps < 0, np.float32(0), gradient.astype(np.float32))
        if form == "log":
            inside = 1 + inner * distance
            by_outer, by_inner = -np.log(inside), -outer * (distance / inside)
        else:
            power = np.power(distance, inner)
            logarithm = np.log(np.where(distance > 0, distance, 1))
            by_outer, by_inner = -power, -(outer * (power * logarithm))
        sums = [(seen * factor).sum(axis=(1, 2)) for factor in (by_outer, by_inner)]
        return np.stack(sums).astype(gradient.dtype)


@right
class KernelsDistanceByDistance:
    """The gradient summed by distance, then the derivative of each distance, in float64."""

    @claims("log", "power", dtype=FLOATS)
    def kerple_bias_vjp(self, gradient: Array, r1: Array, r2: Array, *, form: str) -> Array:
        heads, q_len, k_len = gradient.shape
        late, wide = k_len - q_len, gradient.astype(np.float64)
        out = np.zeros((2, heads))
        for distance in range(1, k_len):
            total = np.trace(wide, late - distance, axis1=1, axis2=2)
            for head, (outer, inner) in enumerate(zip(r1.tolist(), r2.tolist(), strict=True)):
                if form == "log":
                    slopes = np.log1p(inner * distance), outer / (inner + 1 / distance)
                else:
                    power = np.exp(inner * np.log(distance))
                    slopes = power, outer * power * np.log(distance)
                out[:, head] -= total[head] * np.array(slopes)
        return out.astype(gradient.dtype)
