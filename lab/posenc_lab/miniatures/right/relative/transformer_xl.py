"""Right implementations: Transformer-XL's relative attention."""

import math
from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, Array, even, right

EVERY = ("transformer-xl", "xlnet", "conformer")


def as_released(x: Array) -> Array:
    """Prepend a column of zeros, reshape, and drop the first row; mask nothing."""
    rows, columns = x.shape[-2:]
    padded = np.concatenate([np.zeros_like(x[..., :1]), x], axis=-1)
    padded = padded.reshape(*x.shape[:-2], columns + 1, rows)
    return padded[..., 1:, :].reshape(x.shape)


def as_xlnet(x: Array, k_len: int) -> Array:
    """Apply XLNet's shift to columns that include padding; keep ``k_len`` columns."""
    *batch, rows, columns = x.shape
    turned = x.reshape(*batch, columns, rows)[..., 1:, :]
    return turned.reshape(*batch, rows, columns - 1)[..., :k_len]


@right
class ReleasedShift:
    """Transformer-XL and the Conformer: the released reshape, with the view copied."""

    @claims("transformer-xl", dtype=FLOATS)
    @claims("conformer", dtype=FLOATS)
    def relative_shift(self, x: Array, *, distances: str) -> Array:
        q_len, columns = x.shape[-2:]
        k_len = columns if distances == "past" else columns - q_len + 1
        if k_len < q_len:
            raise ValueError("more queries than keys")
        return as_released(x)[..., :k_len].copy()


@right
class StridedShift:
    """A strided view with rows one element shorter, copied; later keys overwritten."""

    @claims(*EVERY, dtype=FLOATS)
    def relative_shift(self, x: Array, *, distances: str) -> Array:
        *_, q_len, columns = x.shape
        flat = np.ascontiguousarray(x)
        k_len = columns - {"past": 0, "full": q_len - 1, "padded": q_len}[distances]
        if k_len < q_len:
            raise ValueError("more queries than keys")
        first = q_len if distances == "padded" else q_len - 1
        *outer, row, element = flat.strides
        view = np.lib.stride_tricks.as_strided(
            flat.reshape(*x.shape[:-2], -1)[..., first:],
            (*x.shape[:-2], q_len, k_len),
            (*outer, row - element, element),
        )
        shifted = view.copy()
        if distances == "past":
            ahead = np.arange(k_len) > np.arange(k_len - q_len, k_len)[:, None]
            shifted[..., ahead] = -1e4
        return shifted


@right
class LoopedShift:
    """Row by row."""

    @claims(*EVERY, dtype=["float64", "bfloat16"])
    def relative_shift(self, x: Array, *, distances: str) -> Array:
        q_len, columns = x.shape[-2:]
        ahead = 0 if distances == "past" else q_len - 1
        k_len = columns - ahead - (distances == "padded")
        if k_len < q_len:
            raise ValueError("more queries than keys")
        out = np.zeros((*x.shape[:-1], k_len), x.dtype)
        for i in range(q_len):
            start = columns - (k_len + ahead - (q_len - 1 - i))
            row = x[..., i, start : start + k_len]
            out[..., i, : row.shape[-1]] = row
        return out


@right
class ReleasedAttention:
    """Released code, every step in the dtype of the model except the distances."""

    @claims("transformer-xl", dtype=FLOATS, clamping="clamped")
    @claims("xlnet", dtype=FLOATS, clamping="clamped")
    @claims("conformer", dtype=FLOATS, clamping="clamped")
    def transformer_xl_scores(
        self,
        q: Array,
        k: Array,
        w_kr: Array,
        u: Array,
        v: Array,
        *,
        direction: str,
        layout: str,
        clamp_len: int = -1,
    ) -> Array:
        kind, (q_len, k_len) = q.dtype, (q.shape[1], k.shape[1])
        if q_len > k_len:
            raise ValueError("more queries than keys")
        even(w_kr.shape[1])
        inner: type[np.floating] = np.float64 if kind == np.float64 else np.float32

        def to(values: Array) -> Array:
            return np.asarray(values).astype(kind).astype(inner)

        q, k, w_kr, u, v = (array.astype(inner) for array in (q, k, w_kr, u, v))
        last = -1 if direction == "causal" else -q_len
        places = np.arange(k_len, last, -1).astype(inner)
        if direction == "causal":
            places = places[1:]
        if clamp_len > 0:
            places = np.clip(places, -clamp_len, clamp_len)
        waves = to(self._waves(places, w_kr.shape[1], layout, inner))
        keys = to(np.einsum("nt,htc->hnc", waves, w_kr))
        ac = to(np.einsum("hic,hjc->hij", to(q + u[:, None]), k))
        bd = to(np.einsum("hic,hnc->hin", to(q + v[:, None]), keys))
        bd = as_released(bd) if direction == "causal" else as_xlnet(bd, k_len)
        factor = inner(kind.type(1 / math.sqrt(q.shape[2])))
        return (to(ac + bd) * factor).astype(kind)

    @staticmethod
    def _waves(places: Array, dim: int, layout: str, inner: Any) -> Array:
        frequencies = 1 / (inner(10000) ** (np.arange(0, dim, 2).astype(inner) / inner(dim)))
        angle = np.outer(places, frequencies)
        if layout == "concatenated":
            return np.concatenate([np.sin(angle), np.cos(angle)], axis=-1)
        waves = np.empty((len(places), dim), inner)
        waves[:, 0::2], waves[:, 1::2] = np.sin(angle), np.cos(angle)
        return waves


@right
class FourTermsInComplexNumbers:
    """Each term separately; sinusoids are powers of unit numbers, projected by conjugates."""

    @claims(*EVERY, dtype=["float64", "float32"], clamping="clamped")
    def transformer_xl_scores(
        self,
        q: Array,
        k: Array,
        w_kr: Array,
        u: Array,
        v: Array,
        *,
        direction: str,
        layout: str,
        clamp_len: int | None = None,
    ) -> Array:
        (_, q_len, head_dim), k_len, dim = q.shape, k.shape[1], w_kr.shape[1]
        if dim % 2 or q_len > k_len:
            raise ValueError(f"{dim} channels, {q_len} queries, {k_len} keys")
        wide = [array.astype(np.float64) for array in (q, k, w_kr, u, v)]
        queries, keys, weight, u, v = wide
        if layout == "concatenated":
            sines, cosines = weight[:, : dim // 2], weight[:, dim // 2 :]
        else:
            sines, cosines = weight[:, 0::2], weight[:, 1::2]
        distance = np.arange(k_len - q_len, k_len)[:, None] - np.arange(k_len)
        if clamp_len is not None:
            distance = np.sign(distance) * np.minimum(abs(distance), clamp_len)
        turn = np.exp(1j * distance[..., None] * 10000.0 ** (np.arange(0, -dim, -2) / dim))
        projected = (
            turn[:, :, None, :] * (cosines - 1j * sines).swapaxes(1, 2)[:, None, None]
        ).real
        relative = projected.sum(axis=-1)
        a = np.einsum("hic,hjc->hij", queries, keys)
        b = np.einsum("hic,hijc->hij", queries, relative)
        c = np.einsum("hc,hjc->hj", u, keys)[:, None]
        d = np.einsum("hc,hijc->hij", v, relative)
        out = ((a + b + c + d) / math.sqrt(head_dim)).astype(q.dtype)
        if direction == "causal":
            out[:, distance < 0] = np.finfo(q.dtype).min
        return out


@right
class SideBySide:
    """Content and sinusoids concatenated, one float32 product per query."""

    @claims("transformer-xl", "xlnet", dtype=["float32", "bfloat16", "float16"])
    def transformer_xl_scores(
        self, q: Array, k: Array, w_kr: Array, u: Array, v: Array, *, direction: str
    ) -> Array:
        (heads, q_len, head_dim), k_len, dim = q.shape, k.shape[1], w_kr.shape[1]
        if q_len > k_len or dim % 2:
            raise ValueError("shapes")
        single = [array.astype(np.float32) for array in (q, k, w_kr, u, v)]
        queries, keys, weight, u, v = single
        frequencies = np.exp(
            np.arange(0, dim, 2, dtype=np.float32) * np.float32(-math.log(1e4) / dim)
        )
        out = np.empty((heads, q_len, k_len), np.float32)
        for i in range(q_len):
            place = np.float32(k_len - q_len + i) - np.arange(k_len, dtype=np.float32)
            angle = place[:, None] * frequencies
            waves = np.concatenate([np.sin(angle), np.cos(angle)], axis=1)
            for h in range(heads):
                ahead = np.concatenate([queries[h, i] + u[h], weight[h] @ (queries[h, i] + v[h])])
                out[h, i] = np.concatenate([keys[h], waves], axis=1) @ ahead
        return (out * np.float32(head_dim**-0.5)).astype(q.dtype)
