"""Wrong implementations: rotation of keys in a KV cache to new positions."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made


class Shift(Mistake, steps=True):
    """Cached keys rotated by the deltas of their positions, in steps."""

    call = "rope_shift"
    claimed = ("shift-half",)

    def answer(self, x: Array, deltas: Array, *, base: float, layout: str) -> Any:
        if len(deltas) != x.shape[-2]:
            raise ValueError((x.shape, deltas.shape))
        wide, half = x.astype(np.float64), x.shape[-1] // 2
        angles = self.deltas(deltas)[:, None] * base ** -(np.arange(half) / half)
        first, second = self.members(half, layout)
        a, b = wide[..., first], wide[..., second]
        wide[..., first] = a * np.cos(angles) - b * np.sin(angles)
        wide[..., second] = a * np.sin(angles) + b * np.cos(angles)
        return self.finished(wide.astype(x.dtype), x, deltas)

    def deltas(self, deltas: Array) -> Array:
        return deltas

    def members(self, half: int, layout: str) -> tuple[Array, Array]:
        pairs = np.arange(half)
        return (pairs, pairs + half) if layout == "half" else (2 * pairs, 2 * pairs + 1)

    def finished(self, out: Array, x: Array, deltas: Array) -> Array:
        return out


def _other(self: Shift, half: int, layout: str) -> tuple[Array, Array]:
    return Shift.members(self, half, "half" if layout == "interleaved" else "interleaved")


for _layout in ("half", "interleaved"):
    _claimed = (f"shift-{_layout}",)
    made(
        Shift,
        f"Shift {_layout} pairs of the other layout",
        "Pairs of the other layout.",
        named="layout-swapped",
        claimed=_claimed,
        members=_other,
    )
    made(
        Shift,
        f"Shift {_layout} below 0 for 0",
        "Distances held in an unsigned type.",
        named="shift-unsigned",
        claimed=_claimed,
        deltas=lambda self, deltas: np.maximum(deltas, 0),
    )
    made(
        Shift,
        f"Shift {_layout} of the first row",
        "One distance for the cache.",
        named="first-delta-for-all",
        claimed=_claimed,
        deltas=lambda self, deltas: 0 * deltas + deltas[:1].sum(),
    )


class ShiftPartial(Shift, steps=True):
    """The first rotary_dim channels rotated, in steps."""

    limits: ClassVar[Mapping[str, Any]] = {"rotation": "partial"}

    def answer(
        self, x: Array, deltas: Array, *, base: float, layout: str, rotary_dim: int | None = None
    ) -> Any:
        width = self.width(x.shape[-1], rotary_dim or x.shape[-1])
        if width % 2:
            raise ValueError(width)
        turned = super().answer(x[..., :width], deltas, base=base, layout=layout)
        return np.concatenate([turned, x[..., width:]], axis=-1)

    def width(self, head_dim: int, rotary_dim: int) -> int:
        return rotary_dim


class ShiftWholeHead(ShiftPartial):
    """All channels of the head are rotated, ignoring rotary_dim."""

    named = "rotary-dim-ignored"

    def width(self, head_dim: int, rotary_dim: int) -> int:
        return head_dim


class ShiftWholeHeadInterleaved(ShiftWholeHead):
    """All channels of the head are rotated, in the interleaved layout."""

    named = "rotary-dim-ignored"
    claimed = ("shift-interleaved",)


class ShiftBack(Shift):
    """The delta is the old position minus the new one."""

    named = "shift-reversed"

    def deltas(self, deltas: Array) -> Array:
        return -deltas


class ShiftWithoutSign(Shift):
    """The sign of the delta is dropped."""

    named = "shift-unsigned"

    def deltas(self, deltas: Array) -> Array:
        return np.abs(deltas)


class ShiftNowhere(Shift):
    """Rows are renumbered, but keys are not rotated."""

    named = "shift-ignored"
    claimed = ("shift-interleaved",)

    def finished(self, out: Array, x: Array, deltas: Array) -> Array:
        return x.copy()


class ShiftByTheLast(Shift):
    """The last row's delta is used for all rows."""

    named = "first-delta-for-all"

    def deltas(self, deltas: Array) -> Array:
        return 0 * deltas + deltas[-1:].sum()


class ShiftRotatesAnew(Shift):
    """Keys are rotated by their new positions, as if they were not rotated yet."""

    named = "rotated-anew"

    def deltas(self, deltas: Array) -> Array:
        return np.arange(len(deltas)) + deltas


class ShiftInBlocks(Shift):
    """Rows after the last full block are not rotated."""

    named = "last-block-skipped"

    def finished(self, out: Array, x: Array, deltas: Array) -> Array:
        full = np.arange(x.shape[-2]) < x.shape[-2] // 4 * 4
        return np.where(full[:, None], out, x)


class ShiftInBlocksUnwritten(Shift):
    """Rows after the last full block are never written, if there is a full block."""

    named = "last-block-skipped"
    claimed = ("shift-interleaved",)

    def finished(self, out: Array, x: Array, deltas: Array) -> Array:
        rows = x.shape[-2]
        full = np.arange(rows) < max(rows // 64 * 64, 64)
        return np.where(full[:, None], out, 0 * x)


class ShiftRecorded(Shift):
    """Deltas of the first call of each shape are replayed, as by a captured CUDA graph."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, ...], Array] = {}

    def deltas(self, deltas: Array) -> Array:
        return self._kept.setdefault(deltas.shape, deltas.copy())


class ShiftTwice(Shift):
    """Rows of all heads but the first are returned one place late."""

    def finished(self, out: Array, x: Array, deltas: Array) -> Array:
        if x.ndim > 2 and x.shape[0] > 1:
            out[1:] = np.roll(out[1:], 1, axis=-2)
        return out


class ShiftInBytes(Shift):
    """Deltas are stored in 8 bits."""

    def deltas(self, deltas: Array) -> Array:
        return deltas.astype(np.int8).astype(np.int64)


class ShiftInHalfAngles(Shift):
    """Deltas are stored in float16."""

    def deltas(self, deltas: Array) -> Array:
        return np.clip(deltas, -60000, 60000).astype(np.float16).astype(np.float64)
