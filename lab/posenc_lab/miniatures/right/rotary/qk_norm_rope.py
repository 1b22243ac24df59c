"""Right implementations: rotary embedding of normalised queries and keys."""

from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, Array, right, rotate_every_two, rotate_half


def tables(positions: Array, width: int, base: float, layout: str) -> tuple[Array, Array]:
    """Return cosine and sine per channel, in float64."""
    angles = positions[:, None] * base ** -(np.arange(0, width, 2) / width)
    half = layout == "half"
    wide = np.concatenate([angles, angles], -1) if half else angles.repeat(2, axis=-1)
    return np.cos(wide), np.sin(wide)


@right
class NormThenRope:
    """transformers: the norm in float32 or wider, weight and rotation in the inputs' dtype."""

    @claims(
        *("normed-half", "normed-interleaved", "normed-half-one-plus"),
        dtype=FLOATS,
        rotation="partial",
    )
    def qk_norm_rope(
        self,
        q: Array,
        k: Array,
        q_weight: Array,
        k_weight: Array,
        positions: Array,
        *,
        eps: float,
        base: float,
        layout: str,
        norm_weight: str,
        rotary_dim: int | None = None,
    ) -> Array:
        if q.shape[1:] != k.shape[1:] or not len(q_weight) == len(k_weight) == q.shape[-1]:
            raise ValueError("shapes that do not fit")
        width = rotary_dim or q.shape[-1]
        cos, sin = (table.astype(q.dtype) for table in tables(positions, width, base, layout))
        quarter = rotate_half if layout == "half" else rotate_every_two
        parts = []
        for x, weight in ((q, q_weight), (k, k_weight)):
            normed = self._normed(x, weight, eps, norm_weight)
            turned = normed[..., :width]
            turned = turned * cos + quarter(turned) * sin
            parts.append(np.concatenate([turned, normed[..., width:]], axis=-1))
        return np.concatenate(parts)

    def _normed(self, x: Array, weight: Array, eps: float, norm_weight: str) -> Array:
        kind: Any = np.float64 if x.dtype == np.float64 else np.float32
        wide = x.astype(kind)
        wide = wide / np.sqrt((wide * wide).mean(axis=-1, keepdims=True) + kind(eps))
        if norm_weight == "one-plus":  # Gemma: all in float32
            return (wide * (1 + weight.astype(kind))).astype(x.dtype)
        return weight * wide.astype(x.dtype)


@right
class FusedRowByRow:
    """Kernels: one row of a head at a time, float32 or wider inside, rounded on store."""

    @claims("normed-half", "normed-interleaved", "normed-half-one-plus", dtype=FLOATS)
    def qk_norm_rope(
        self,
        q: Array,
        k: Array,
        q_weight: Array,
        k_weight: Array,
        positions: Array,
        *,
        eps: float,
        base: float,
        layout: str,
        norm_weight: str,
    ) -> Array:
        if q.shape[1:] != k.shape[1:] or not len(q_weight) == len(k_weight) == q.shape[-1]:
            raise ValueError("shapes that do not fit")
        kind: Any = np.float64 if q.dtype == np.float64 else np.float32
        half = q.shape[-1] // 2
        omega = kind(base) ** -(np.arange(half, dtype=kind) / kind(half))
        members = (
            (slice(None, half), slice(half, None))
            if layout == "half"
            else (slice(0, None, 2), slice(1, None, 2))
        )
        out = np.empty((len(q) + len(k), *q.shape[1:]), q.dtype)
        first, second = (out[..., channels] for channels in members)
        for row, position in enumerate(positions):
            angle = kind(position) * omega
            cos, sin = np.cos(angle), np.sin(angle)
            for part, x, stored in (
                (slice(None, len(q)), q, q_weight),
                (slice(len(q), None), k, k_weight),
            ):
                heads = x[:, row].astype(kind)
                weight = stored.astype(kind) + kind(norm_weight == "one-plus")
                squares = np.add.reduce(heads * heads, axis=-1, keepdims=True)
                scaled = heads * (1 / np.sqrt(squares / kind(heads.shape[-1]) + kind(eps))) * weight
                a, b = (scaled[:, channels] for channels in members)
                first[part, row] = a * cos - b * sin
                second[part, row] = a * sin + b * cos
        return out
