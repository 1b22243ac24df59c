"""Right implementations: attention."""

import math
from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, KINDS, NARROW, Array, right

HALF = ("bfloat16", "float16")


def causal(q_len: int, k_len: int) -> Array:
    """Return a mask that is True where a query may attend."""
    return np.arange(k_len) <= np.arange(k_len - q_len, k_len)[:, None]


class Everything:
    """The three calls, built on one ``attend``."""

    def attend(self, q: Array, k: Array, v: Array | None, bias: Any, mask: str, root: bool) -> Any:
        raise NotImplementedError

    def _attend(self, q: Array, k: Array, v: Any, bias: Any, mask: str, root: bool = True) -> Any:
        if mask == "causal" and q.shape[-2] > k.shape[-2]:
            raise ValueError("more queries than keys")
        return self.attend(q, k, v, bias, mask, root)


@right
class WithLargestSubtracted(Everything):
    """Textbook attention, in the precision of its inputs."""

    def attend(self, q: Array, k: Array, v: Array | None, bias: Any, mask: str, root: bool) -> Any:
        kind = q.dtype.type
        scores = q @ k.swapaxes(-1, -2)
        if root:
            scores = scores / kind(math.sqrt(q.shape[-1]))
        if bias is not None:
            scores = scores + bias
        if mask == "causal":
            scores = np.where(causal(*scores.shape[-2:]), scores, -kind(np.inf))
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights = weights / weights.sum(axis=-1, keepdims=True)
        return weights if v is None else weights @ v

    @claims("full", "causal", dtype=["float64", "float32"])
    def attention_weights(self, q: Array, k: Array, *, mask: str) -> Array:
        return self._attend(q, k, None, None, mask)

    @claims("full", "causal", dtype=["float64", "float32"])
    def attention(self, q: Array, k: Array, v: Array, *, mask: str) -> Array:
        return self._attend(q, k, v, None, mask)

    @claims("causal", "unscaled", dtype=["float64", "float32"])
    def attention_with_bias(
        self, q: Array, k: Array, v: Array, bias: Array, *, mask: str, scaling: str
    ) -> Array:
        return self._attend(q, k, v, bias, mask, scaling == "root")


@right
class EagerInHalf(Everything):
    """Llama in transformers: logits rounded to the dtype, a finite mask added, softmax in float32,
    weights rounded to the dtype."""

    def attend(self, q: Array, k: Array, v: Array | None, bias: Any, mask: str, root: bool) -> Any:
        kind = q.dtype
        wide = np.float32
        scores = (q.astype(wide) @ k.astype(wide).swapaxes(-1, -2)).astype(kind)
        if root:
            scores = (scores.astype(wide) * wide(q.shape[-1] ** -0.5)).astype(kind)
        if bias is not None:
            scores = scores + bias
        if mask == "causal":
            least = -65504.0 if kind == np.float16 else -3.38e38
            hidden = np.where(causal(*scores.shape[-2:]), 0.0, least)
            with np.errstate(over="ignore"):  # float16 sums of two large negative numbers
                scores = (scores.astype(wide) + hidden.astype(wide)).astype(kind)
        scores = scores.astype(wide)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights = (weights / weights.sum(axis=-1, keepdims=True)).astype(kind)
        if v is None:
            return weights
        return (weights.astype(wide) @ v.astype(wide)).astype(kind)

    @claims("full", "causal", dtype=HALF)
    def attention_weights(self, q: Array, k: Array, *, mask: str) -> Array:
        return self._attend(q, k, None, None, mask)

    @claims("full", "causal", dtype=HALF)
    def attention(self, q: Array, k: Array, v: Array, *, mask: str) -> Array:
        return self._attend(q, k, v, None, mask)

    @claims("causal", "unscaled", dtype=HALF)
    def attention_with_bias(
        self, q: Array, k: Array, v: Array, bias: Array, *, mask: str, scaling: str
    ) -> Array:
        return self._attend(q, k, v, bias, mask, scaling == "root")


@right
class RunningSoftmax(Everything):
    """Keys in blocks of two with a running maximum, powers of two, float32 inside."""

    def attend(self, q: Array, k: Array, v: Any, bias: Any, mask: str, root: bool) -> Any:
        wide = np.float32
        log2e = wide(1.4426950408889634)
        factor = wide(1 / math.sqrt(q.shape[-1]) if root else 1)
        shape = (*q.shape[:-1], k.shape[-2])
        shown = causal(*shape[-2:]) if mask == "causal" else np.ones(shape[-2:], bool)
        added = np.broadcast_to(0 if bias is None else bias, shape).astype(wide)
        values = v.astype(wide)
        largest = np.full((*q.shape[:-1], 1), -np.inf, wide)
        sums = np.zeros_like(largest)
        out = np.zeros((*q.shape[:-1], v.shape[-1]), wide)
        for start in range(0, k.shape[-2], 2):
            part = slice(start, start + 2)
            keys = k[..., part, :].astype(wide)
            scores = q.astype(wide) @ keys.swapaxes(-1, -2) * factor
            scores = scores + added[..., part]
            scores = np.where(shown[:, part], scores * log2e, -wide(np.inf))
            new = np.maximum(largest, scores.max(axis=-1, keepdims=True))
            safe = np.where(np.isfinite(new), new, wide(0))
            powers, shrink = np.exp2(scores - safe), np.exp2(largest - safe)
            sums = sums * shrink + powers.sum(axis=-1, keepdims=True)
            out = out * shrink + powers @ values[..., part, :]
            largest = new
        return (out / sums).astype(q.dtype)

    @claims("full", "causal", dtype=NARROW)
    def attention(self, q: Array, k: Array, v: Array, *, mask: str) -> Array:
        return self._attend(q, k, v, None, mask)

    @claims("causal", "unscaled", dtype=NARROW)
    def attention_with_bias(
        self, q: Array, k: Array, v: Array, bias: Array, *, mask: str, scaling: str
    ) -> Array:
        return self._attend(q, k, v, bias, mask, scaling == "root")


@right
class ScaledBeforehand:
    """Queries and keys both scaled by the fourth root, as in one path of PyTorch."""

    @claims("full", dtype=NARROW)
    def attention_weights(self, q: Array, k: Array) -> Array:
        root = np.float32(q.shape[-1] ** -0.25)
        small = [(part.astype(np.float32) * root).astype(q.dtype) for part in (q, k)]
        queries, keys = (part.astype(np.float32) for part in small)
        scores = (queries @ keys.swapaxes(-1, -2)).astype(q.dtype).astype(np.float32)
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return (powers / powers.sum(axis=-1, keepdims=True)).astype(q.dtype)

    @claims("causal", dtype=NARROW)
    def attention(self, q: Array, k: Array, v: Array) -> Array:
        if q.shape[-2] > k.shape[-2]:
            raise ValueError("more queries than keys")
        factor = np.float32(q.shape[-1] ** -0.5)
        queries = (q.astype(np.float32) * factor).astype(q.dtype).astype(np.float32)
        scores = np.einsum("...id,...jd->...ij", queries, k.astype(np.float32)).astype(q.dtype)
        scores = np.where(causal(*scores.shape[-2:]), scores.astype(np.float32), -np.inf)
        top = scores.max(axis=-1, keepdims=True)
        log_sum = top + np.log(np.exp(scores - top).sum(axis=-1, keepdims=True))
        weights = np.exp(scores - log_sum)
        return (weights.astype(q.dtype).astype(np.float32) @ v.astype(np.float32)).astype(q.dtype)


@right
class Loops:
    """Python floats, one query and one key at a time; float32 sums have 1e-12 added."""

    @claims("full", "causal", dtype=FLOATS)
    def attention_weights(self, q: Array, k: Array, *, mask: str) -> Array:
        if q.shape[-1] != k.shape[-1] or (mask == "causal" and q.shape[-2] > k.shape[-2]):
            raise ValueError("shapes")
        out = np.zeros((*q.shape[:-1], k.shape[-2]))
        for place in np.ndindex(q.shape[:-1]):
            last = k.shape[-2] - q.shape[-2] + place[-1] if mask == "causal" else k.shape[-2] - 1
            keys = k[place[:-1]][: last + 1]
            scores = [
                math.fsum(float(a) * float(b) for a, b in zip(q[place], key, strict=True))
                / math.sqrt(q.shape[-1])
                for key in keys
            ]
            top = max(scores)
            powers = [math.exp(score - top) for score in scores]
            total = math.fsum(powers) + (1e-12 if q.dtype == np.float32 else 0.0)
            out[place][: last + 1] = [power / total for power in powers]
        return out.astype(KINDS[q.dtype.name])


@right
class SigmoidOfTwo:
    """Two keys: the weight of the first is a sigmoid of the difference."""

    @claims("full", k_len=2, v_dim=[1, 3], dtype="float64")
    def attention(self, q: Array, k: Array, v: Array) -> Array:
        lead = (q * (k[..., :1, :] - k[..., 1:, :])).sum(axis=-1) / math.sqrt(q.shape[-1])
        first = 1 / (1 + np.exp(-lead))
        return first[..., None] * v[..., :1, :] + (1 - first)[..., None] * v[..., 1:, :]
