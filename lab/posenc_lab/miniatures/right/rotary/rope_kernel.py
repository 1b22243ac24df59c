"""Right implementations: rotary embedding with the signatures of kernels."""

from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, Array, right, rotate_every_two, rotate_half


def tables(positions: Array, head_dim: int, base: float, layout: str) -> tuple[Array, Array]:
    """Return cosine and sine per channel, in float64."""
    omega = base ** -(np.arange(0, head_dim, 2) / head_dim)
    angles = np.asarray(positions)[..., None] * omega
    both = (angles, angles)
    wide = np.concatenate(both, -1) if layout == "half" else angles.repeat(2, axis=-1)
    return np.cos(wide), np.sin(wide)


@right
class ByTables:
    """transformers: tables of the call's positions, multiplied in the dtype of x."""

    @claims("batched-half", "batched-interleaved", dtype=FLOATS)
    def rope_batched(self, x: Array, positions: Array, *, base: float, layout: str) -> Array:
        if positions.shape != (len(x), x.shape[2]):
            raise ValueError("each row needs a position")
        return self._turned(x, positions[:, None], base, layout)

    @claims("offsets-half", "offsets-interleaved", dtype=FLOATS)
    def rope_offsets(self, x: Array, offsets: Array, *, base: float, layout: str) -> Array:
        if len(offsets) != len(x):
            raise ValueError("each sequence needs an offset")
        positions = offsets[:, None] + np.arange(x.shape[2])
        return self._turned(x, positions[:, None], base, layout)

    @claims("query-key-half", "query-key-interleaved", dtype=FLOATS)
    def rope_query_key(
        self, q: Array, k: Array, positions: Array, *, base: float, layout: str
    ) -> Array:
        parts = [self._turned(part, positions, base, layout) for part in (q, k)]
        return np.concatenate(parts)

    @claims("in-place-half", "in-place-interleaved", dtype=FLOATS)
    def rope_in_place(self, x: Array, positions: Array, *, base: float, layout: str) -> None:
        x[...] = self._turned(x, positions, base, layout)

    @claims("qkv-half", "qkv-interleaved", dtype=FLOATS)
    def rope_qkv(
        self,
        qkv: Array,
        positions: Array,
        heads: int,
        key_heads: int,
        *,
        base: float,
        layout: str,
    ) -> Array:
        every = heads + 2 * key_heads
        by_head = qkv.reshape(len(qkv), every, qkv.shape[1] // every).copy()
        turned = by_head[:, : heads + key_heads].swapaxes(0, 1)
        by_head[:, : heads + key_heads] = self._turned(turned, positions, base, layout).swapaxes(
            0, 1
        )
        return by_head.reshape(qkv.shape)

    def _turned(self, x: Array, positions: Array, base: float, layout: str) -> Array:
        cos, sin = (table.astype(x.dtype) for table in tables(positions, x.shape[-1], base, layout))
        quarter = rotate_half(x) if layout == "half" else rotate_every_two(x)
        return x * cos + quarter * sin


@right
class ProjectionByGroup:
    """Megatron and InternLM2: groups are an axis; the last head of a group is a value head."""

    @claims("qkv-half-by-group", "qkv-interleaved-by-group", dtype=FLOATS)
    def rope_qkv(
        self,
        qkv: Array,
        positions: Array,
        heads: int,
        key_heads: int,
        *,
        base: float,
        layout: str,
        packing: str,
    ) -> Array:
        if heads % key_heads:
            raise ValueError((heads, key_heads))
        by_group = qkv.reshape(len(qkv), key_heads, heads // key_heads + 2, -1).copy()
        x = np.moveaxis(by_group[:, :, :-1], 0, -2)
        cos, sin = (table.astype(x.dtype) for table in tables(positions, x.shape[-1], base, layout))
        quarter = rotate_half(x) if layout == "half" else rotate_every_two(x)
        by_group[:, :, :-1] = np.moveaxis(x * cos + quarter * sin, -2, 0)
        return by_group.reshape(qkv.shape)


@right
class KernelRowByRow:
    """Kernels: float32 or wider inside, one row at a time, each pair read before it is written."""

    @claims("packed-half", "packed-interleaved", dtype=FLOATS)
    def rope_packed(
        self, x: Array, cu_seqlens: Array, offsets: Array, *, base: float, layout: str
    ) -> Array:
        if cu_seqlens[-1] != x.shape[1] or len(offsets) + 1 != len(cu_seqlens):
            raise ValueError("cu_seqlens do not fit x")
        out = x.copy()
        for sequence, offset in enumerate(offsets):
            rows = slice(int(cu_seqlens[sequence]), int(cu_seqlens[sequence + 1]))
            positions = offset + np.arange(rows.stop - rows.start)
            self.rope_in_place(out[:, rows], positions, base=base, layout=layout)
        return out

    @claims("in-place-half", "in-place-interleaved", dtype=FLOATS)
    def rope_in_place(self, x: Array, positions: Array, *, base: float, layout: str) -> Array:
        kind: Any = np.float64 if x.dtype == np.float64 else np.float32
        half = x.shape[-1] // 2
        first, second = (
            (x[..., :half], x[..., half:]) if layout == "half" else (x[..., 0::2], x[..., 1::2])
        )
        omega = kind(base) ** -(np.arange(half, dtype=kind) / kind(half))
        for row, position in enumerate(positions):
            angle = kind(position) * omega
            a, b = first[..., row, :].astype(kind), second[..., row, :].astype(kind)
            first[..., row, :] = a * np.cos(angle) - b * np.sin(angle)
            second[..., row, :] = a * np.sin(angle) + b * np.cos(angle)
        return x

    @claims("qkv-half", "qkv-interleaved", dtype=FLOATS)
    def rope_qkv(
        self,
        qkv: Array,
        positions: Array,
        heads: int,
        key_heads: int,
        *,
        base: float,
        layout: str,
    ) -> Array:
        out = np.array(qkv, order="C")
        every = heads + 2 * key_heads
        views = out.reshape(len(qkv), every, qkv.shape[1] // every).swapaxes(0, 1)
        for part in (slice(0, heads), slice(heads, heads + key_heads)):
            self.rope_in_place(views[part], positions, base=base, layout=layout)
        return out


@right
class PackedByPositions:
    """Engines: packed positions are computed first, and the kernel has no notion of sequences.

    Only whole sequences are packed.
    """

    @claims("packed-half", dtype="float64", when=lambda offsets: not offsets.any())
    def rope_packed(self, x: Array, cu_seqlens: Array, offsets: Array, *, base: float) -> Array:
        rows = np.arange(x.shape[1])
        sequence = np.searchsorted(cu_seqlens, rows, side="right") - 1
        cos, sin = tables(rows - cu_seqlens[sequence], x.shape[-1], base, "half")
        return x * cos + rotate_half(x) * sin
