"""Right implementations: causal attention without positions."""

import math

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, NARROW, Array, right


@right
class MatricesAtOnce:
    """Textbook attention, in the precision of its inputs."""

    @claims("causal", dtype=["float64", "float32"])
    def nope_layer(self, x: Array, w_q: Array, w_k: Array, w_v: Array) -> Array:
        q, k, v = x @ w_q, x @ w_k, x @ w_v
        scores = q @ k.swapaxes(-1, -2) / x.dtype.type(math.sqrt(w_q.shape[1]))
        scores = np.where(np.tri(x.shape[-2], dtype=bool), scores, x.dtype.type(-np.inf))
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return (weights / weights.sum(axis=-1, keepdims=True)) @ v


@right
class HalfThroughout:
    """Projections, logits and weights rounded to the dtype, as eager code does."""

    @claims("causal", dtype=NARROW)
    def nope_layer(self, x: Array, w_q: Array, w_k: Array, w_v: Array) -> Array:
        def product(a: Array, b: Array) -> Array:
            return (a.astype(np.float32) @ b.astype(np.float32)).astype(x.dtype)

        q, k, v = (product(x, w) for w in (w_q, w_k, w_v))
        q = (q.astype(np.float32) * np.float32(w_q.shape[1] ** -0.5)).astype(x.dtype)
        scores = product(q, k.swapaxes(-1, -2)).astype(np.float32)
        scores = np.where(np.tri(x.shape[-2], dtype=bool), scores, np.float32(-np.inf))
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return product((powers / powers.sum(axis=-1, keepdims=True)).astype(x.dtype), v)


@right
class RowByRow:
    """A decoder with a KV cache: one row at a time, with a running maximum."""

    @claims("causal", dtype=FLOATS)
    def nope_layer(self, x: Array, w_q: Array, w_k: Array, w_v: Array) -> Array:
        rows = x.astype(np.float64).reshape(-1, *x.shape[-2:])
        wide = [w.astype(np.float64) for w in (w_q, w_k, w_v)]
        out = np.zeros_like(rows)
        for sequence, result in zip(rows, out, strict=True):
            cache: list[tuple[Array, Array]] = []
            for i, row in enumerate(sequence):
                query, key, value = (row @ w for w in wide)
                cache.append((key, value))
                top, total, mean = -math.inf, 0.0, np.zeros(x.shape[-1])
                for seen, carried in cache:
                    score = float(query @ seen) / math.sqrt(len(query))
                    new = max(top, score)
                    shrink, power = math.exp(top - new), math.exp(score - new)
                    total, mean, top = total * shrink + power, mean * shrink + power * carried, new
                result[i] = mean / total
        return out.reshape(x.shape).astype(x.dtype)


@right
class MergedProjections:
    """No queries or keys: one matrix between the rows, w_q w_k^T."""

    @claims("causal", dtype="float64")
    def nope_layer(self, x: Array, w_q: Array, w_k: Array, w_v: Array) -> Array:
        between = w_q @ w_k.T / math.sqrt(w_q.shape[1])
        logits = x @ between @ x.swapaxes(-1, -2)
        logits = np.where(np.tri(x.shape[-2]) > 0, logits, -np.inf)
        powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
        return (powers / powers.sum(axis=-1, keepdims=True)) @ x @ w_v
