"""Right implementations: rotary embedding of keys in a KV cache."""

from typing import Any

import numpy as np

from posenc_conformance import claims
from posenc_lab.miniatures.styles import FLOATS, Array, right, rotate_every_two, rotate_half


@right
class ShiftByTables:
    """Cosine and sine of each row's delta, multiplied in the dtype of x."""

    @claims("shift-half", "shift-interleaved", dtype=FLOATS)
    def rope_shift(self, x: Array, deltas: Array, *, base: float, layout: str) -> Array:
        if len(deltas) != x.shape[-2] or x.shape[-1] % 2:
            raise ValueError("each row needs a distance, each channel another one")
        angles = deltas[:, None] * base ** -(np.arange(0, x.shape[-1], 2) / x.shape[-1])
        half = layout == "half"
        wide = np.concatenate([angles, angles], -1) if half else angles.repeat(2, axis=-1)
        quarter = rotate_half(x) if half else rotate_every_two(x)
        return x * np.cos(wide).astype(x.dtype) + quarter * np.sin(wide).astype(x.dtype)


@right
class ShiftByRerotation:
    """SinkCache: the rotation to the new position divided by that to the old one."""

    @claims("shift-half", dtype="float64", max_position=2**13, when=lambda x: x.shape[-1] > 1)
    def rope_shift(self, x: Array, deltas: Array, *, base: float) -> Array:
        if len(deltas) != x.shape[-2]:
            raise ValueError("each row needs a distance")
        half = x.shape[-1] // 2
        omega = base ** -(np.arange(half) / half)
        old = np.maximum(-deltas, 0)[:, None]
        new = old + deltas[:, None]
        turn = np.exp(1j * new * omega) * np.exp(1j * old * omega).conj()
        out = (x[..., :half] + 1j * x[..., half:]) * turn
        return np.concatenate([out.real, out.imag], axis=-1)


@right
class ShiftOfFirstChannels:
    """Engines: rotation of a view of the leading channels."""

    @claims("shift-half", "shift-interleaved", dtype=FLOATS, rotation="partial")
    def rope_shift(
        self, x: Array, deltas: Array, *, base: float, layout: str, rotary_dim: int | None = None
    ) -> Array:
        out, width = x.copy(), rotary_dim or x.shape[-1]
        if len(deltas) != x.shape[-2] or width % 2 or width > x.shape[-1]:
            raise ValueError("each row needs a distance, each channel another one")
        turned = ShiftRowByRow().rope_shift(out[..., :width], deltas, base=base, layout=layout)
        out[..., :width] = turned
        return out


@right
class ShiftRowByRow:
    """Engines: float32 or wider inside, one row at a time; rows with delta 0 are left untouched."""

    @claims("shift-half", "shift-interleaved", dtype=FLOATS)
    def rope_shift(self, x: Array, deltas: Array, *, base: float, layout: str) -> Array:
        if len(deltas) != x.shape[-2]:
            raise ValueError("each row needs a distance")
        kind: Any = np.float64 if x.dtype == np.float64 else np.float32
        out, half = np.array(x, order="C"), x.shape[-1] // 2
        first, second = (
            (out[..., :half], out[..., half:])
            if layout == "half"
            else (out[..., 0::2], out[..., 1::2])
        )
        omega = kind(base) ** -(np.arange(half, dtype=kind) / kind(half))
        for row, delta in enumerate(deltas):
            if delta:
                angle = kind(delta) * omega
                a, b = first[..., row, :].astype(kind), second[..., row, :].astype(kind)
                first[..., row, :] = a * np.cos(angle) - b * np.sin(angle)
                second[..., row, :] = a * np.sin(angle) + b * np.cos(angle)
        return out
