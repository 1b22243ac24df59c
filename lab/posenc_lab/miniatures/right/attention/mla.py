"""Right implementations: logits of multi-head latent attention."""

import math
from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.scaled import by_parts
from posenc_lab.miniatures.styles import (
    FLOATS,
    NARROW,
    Array,
    even,
    right,
    rotate_half,
)


def fitting(q: Array, k_nope: Array, k_rope: Array) -> tuple[int, int]:
    """Return the channels of both parts; refuse mismatched shapes and more queries than keys."""
    nope, rope = k_nope.shape[-1], k_rope.shape[-1]
    even(rope)
    if q.shape[-1] != nope + rope or q.shape[1] > len(k_rope):
        raise ValueError(f"queries {q.shape}, keys {k_nope.shape} and {k_rope.shape}")
    return nope, rope


def inverse_frequencies(rope: int, base: float, yarn: dict[str, Any]) -> Array:
    """Return the frequencies in float64, with YaRN's scaling if ``yarn`` is not empty."""
    if not yarn:
        return np.asarray(1.0 / base ** (np.arange(0, rope, 2) / rope))
    return by_parts(rope, base, yarn["factor"], yarn["original_max_position_embeddings"])


def mscale(yarn: dict[str, Any], name: str) -> float:
    """Return what transformers calls mscale; 1 without YaRN."""
    return 0.1 * yarn[name] * math.log(yarn["factor"]) + 1.0 if yarn else 1.0


@right
class ComplexParts:
    """DeepSeek's steps: complex product in float32, cast, two contractions, one factor."""

    @claims("deepseek", dtype=NARROW, scaling="yarn")
    def mla_scores(
        self, q: Array, k_nope: Array, k_rope: Array, *, base: float, layout: str, **yarn: Any
    ) -> Array:
        nope, rope = fitting(q, k_nope, k_rope)
        inverse = inverse_frequencies(rope, base, yarn).astype(np.float32)
        angles = np.outer(np.arange(len(k_rope), dtype=np.float32), inverse)
        ratio = np.float32(mscale(yarn, "mscale") / mscale(yarn, "mscale_all_dim"))
        cis = (ratio * np.exp(1j * angles)).astype(np.complex64)

        def turned(x: Array, waves: Array) -> Array:
            pairs = np.ascontiguousarray(x, dtype=np.float32).view(np.complex64)
            return np.ascontiguousarray(pairs * waves).view(np.float32).astype(x.dtype)

        first = len(k_rope) - q.shape[1]
        q_pe, k_pe = turned(q[..., nope:], cis[first:]), turned(k_rope, cis)
        scale = np.float32((nope + rope) ** -0.5 * mscale(yarn, "mscale_all_dim") ** 2)
        content = np.einsum("hic,hjc->hij", q[..., :nope].astype("f4"), k_nope.astype("f4")).astype(
            q.dtype
        )
        position = np.einsum("hir,jr->hij", q_pe.astype("f4"), k_pe.astype("f4")).astype(q.dtype)
        return ((content + position) * q.dtype.type(scale)).astype(q.dtype)


@right
class JoinedKeys:
    """transformers: rotated parts stored as halves, concatenated with the content, one product."""

    @claims("deepseek", "half", dtype=FLOATS, scaling="yarn")
    def mla_scores(
        self, q: Array, k_nope: Array, k_rope: Array, *, base: float, layout: str, **yarn: Any
    ) -> Array:
        nope, rope = fitting(q, k_nope, k_rope)
        kind: type[np.floating] = np.float64 if q.dtype == np.float64 else np.float32
        inverse = inverse_frequencies(rope, base, yarn).astype(kind)
        angles = np.outer(np.arange(len(k_rope), dtype=kind), inverse)
        emb = np.concatenate([angles, angles], axis=-1)
        longer = kind(mscale(yarn, "mscale") / mscale(yarn, "mscale_all_dim"))
        cos, sin = ((wave(emb) * longer).astype(q.dtype) for wave in (np.cos, np.sin))

        def turned(x: Array, rows: slice) -> Array:
            if layout == "interleaved":
                x = np.concatenate([x[..., 0::2], x[..., 1::2]], axis=-1)
            return x * cos[rows] + rotate_half(x) * sin[rows]

        heads, q_len, _ = q.shape
        k_rot = np.broadcast_to(turned(k_rope, slice(None)), (heads, *k_rope.shape))
        query = np.concatenate(
            [q[..., :nope], turned(q[..., nope:], slice(len(k_rope) - q_len, None))], axis=-1
        )
        key = np.concatenate([k_nope, k_rot], axis=-1)
        logits = (query.astype(kind) @ np.swapaxes(key.astype(kind), 1, 2)).astype(q.dtype)
        scaling = (nope + rope) ** -0.5
        if yarn:
            scaling = scaling * mscale(yarn, "mscale_all_dim") * mscale(yarn, "mscale_all_dim")
        return logits * q.dtype.type(scaling)


@right
class TurnedByOffsets:
    """Pair by pair, the key rotated by its offset from the query, in Python floats."""

    @claims("deepseek", "half", dtype=["float64"], heads=[1, 2], nope=[2, 3], rope=[2, 4])
    def mla_scores(
        self, q: Array, k_nope: Array, k_rope: Array, *, base: float, layout: str
    ) -> Array:
        nope, rope = fitting(q, k_nope, k_rope)
        heads, q_len, _ = q.shape
        out = np.empty((heads, q_len, len(k_rope)))
        for h, i, j in np.ndindex(*out.shape):
            offset = j - (len(k_rope) - q_len + i)
            logit = sum(float(a) * float(b) for a, b in zip(q[h, i], k_nope[h, j], strict=False))
            for t in range(rope // 2):
                a, b = (t, t + rope // 2) if layout == "half" else (2 * t, 2 * t + 1)
                angle = offset * base ** (-2 * t / rope)
                x, y = float(k_rope[j, a]), float(k_rope[j, b])
                logit += float(q[h, i, nope + a]) * (x * math.cos(angle) - y * math.sin(angle))
                logit += float(q[h, i, nope + b]) * (y * math.cos(angle) + x * math.sin(angle))
            out[h, i, j] = logit / math.sqrt(nope + rope)
        return out


@right
class QueriesScaledFirst:
    """Queries scaled before the products, in float64."""

    @claims("deepseek", "half", dtype=["float64", "float32"], scaling="yarn")
    def mla_scores(
        self, q: Array, k_nope: Array, k_rope: Array, *, base: float, layout: str, **yarn: Any
    ) -> Array:
        nope, rope = fitting(q, k_nope, k_rope)
        ratio = (mscale(yarn, "mscale") / mscale(yarn, "mscale_all_dim")) ** 2
        inverse = inverse_frequencies(rope, base, yarn)
        wide = q.astype(np.float64) * mscale(yarn, "mscale_all_dim") ** 2 / math.sqrt(nope + rope)
        places = np.arange(len(k_rope))
        pairs = [
            part[..., 0::2] + 1j * part[..., 1::2]
            if layout == "interleaved"
            else part[..., : rope // 2] + 1j * part[..., rope // 2 :]
            for part in (wide[..., nope:], k_rope.astype(np.float64))
        ]
        query = pairs[0] * np.exp(1j * np.outer(places[len(places) - q.shape[1] :], inverse))
        key = pairs[1] * np.exp(1j * np.outer(places, inverse))
        position = ratio * (query @ key.conj().T).real
        content = wide[..., :nope] @ np.swapaxes(k_nope.astype(np.float64), 1, 2)
        return (content + position).astype(q.dtype)
