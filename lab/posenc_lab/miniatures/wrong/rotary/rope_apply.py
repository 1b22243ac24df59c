"""Wrong implementations: rotation by given tables."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made, narrow
from posenc_lab.miniatures.styles import rotate_every_two, rotate_half


class Applied(Mistake, steps=True):
    """x times cosines, plus sines times x with each pair turned by 90 degrees, in steps."""

    call = "rope_apply"
    claimed = ("interleaved",)
    limits: ClassVar[Mapping[str, Any]] = {"rotation": "partial"}

    def answer(self, x: Array, cos: Array, sin: Array, *, layout: str, table: str) -> Array:
        if table == "doubled":
            cos, sin = self.undoubled(cos, layout), self.undoubled(sin, layout)
        return self.applied(x, cos, sin, layout)

    def applied(self, x: Array, cos: Array, sin: Array, layout: str) -> Array:
        if len(cos) != x.shape[-2] or cos.shape != sin.shape:
            raise ValueError((x.shape, cos.shape, sin.shape))
        kind, x = x.dtype, x.astype(np.float64)
        cos, sin = self.prepared(cos.astype(np.float64)), self.prepared(sin.astype(np.float64))
        cos, sin = self.signed(*self.looked_up(cos, sin))
        width = self.width(2 * cos.shape[-1], x.shape[-1])
        rotated, tail = x[..., :width], x[..., width:]
        cos, sin = (self.spread(table, layout) for table in (cos, sin))
        out = self.joined(rotated, self.quarter(rotated, layout), cos, sin)
        return np.concatenate([out, tail], axis=-1).astype(kind)

    def undoubled(self, table: Array, layout: str) -> Array:
        return table[:, ::2] if layout == "interleaved" else table[:, : table.shape[1] // 2]

    def prepared(self, table: Array) -> Array:
        return table

    def looked_up(self, cos: Array, sin: Array) -> tuple[Array, Array]:
        return cos, sin

    def signed(self, cos: Array, sin: Array) -> tuple[Array, Array]:
        return cos, sin

    def width(self, width: int, head_dim: int) -> int:
        return width

    def spread(self, table: Array, layout: str) -> Array:
        return table.repeat(2, axis=-1) if layout == "interleaved" else np.tile(table, 2)

    def quarter(self, x: Array, layout: str) -> Array:
        return rotate_every_two(x) if layout == "interleaved" else rotate_half(x)

    def joined(self, x: Array, quarter: Array, cos: Array, sin: Array) -> Array:
        return x * cos + quarter * sin


class AppliedPairs(Applied, steps=True):
    """Rotation by tables of complex numbers, in steps."""

    call = "rope_apply_pairs"
    claimed = ("pairs-interleaved",)

    def answer(self, x: Array, cis: Array, *, layout: str, table: str) -> Array:
        return self.applied(x, cis[..., 0], cis[..., 1], layout)


class AppliedCache(Applied, steps=True):
    """Rotation by rows of a cached table, in steps."""

    call = "rope_apply_cache"
    claimed = ("cache-half",)

    def answer(self, x: Array, rows: Array, cache: Array, *, layout: str, table: str) -> Array:
        if len(rows) and rows.max() >= len(cache):
            raise IndexError(rows.max())
        entries = cache[self.rows(rows, len(cache))]
        half = entries.shape[1] // 2
        return self.applied(x, entries[:, :half], entries[:, half:], layout)

    def rows(self, rows: Array, length: int) -> Array:
        return rows


def _other(layout: str) -> str:
    return "half" if layout == "interleaved" else "interleaved"


_CLAIMS = (
    (Applied, "half"),
    (Applied, "interleaved"),
    (Applied, "half-doubled"),
    (Applied, "interleaved-doubled"),
    (AppliedPairs, "pairs-interleaved"),
    (AppliedCache, "cache-half"),
    (AppliedCache, "cache-interleaved"),
)
for _base, _claimed in _CLAIMS:
    for _name, _named, _attributes in (
        (
            "tiled under neighbours",
            "tables-mixed",
            {"spread": lambda self, table, layout: Applied.spread(self, table, _other(layout))},
        ),
        (
            "pairs of the other layout",
            "layout-swapped",
            {
                "spread": lambda self, table, layout: Applied.spread(self, table, _other(layout)),
                "quarter": lambda self, x, layout: Applied.quarter(self, x, _other(layout)),
            },
        ),
        ("backwards", "sine-sign-flipped", {"signed": lambda self, cos, sin: (cos, -sin)}),
        ("sines first", "sin-cos-exchanged", {"signed": lambda self, cos, sin: (sin, cos)}),
        (
            "of bfloat16",
            "tables-narrowed",
            {"prepared": lambda self, table: narrow(table, "bfloat16")},
        ),
        (
            "of float16",
            "tables-narrowed",
            {"prepared": lambda self, table: narrow(table, "float16")},
        ),
        ("forgotten", "unrotated", {"joined": lambda self, x, quarter, cos, sin: x}),
    ):
        made(
            _base,
            f"{_base.__name__} {_claimed} {_name}",
            "Another use of the tables.",
            named=_named,
            claimed=(_claimed,),
            **_attributes,
        )


class AppliedFirstRow(Applied):
    """The first table row is used for all rows, as after a broadcast."""

    named = "wrong-row"

    def looked_up(self, cos: Array, sin: Array) -> tuple[Array, Array]:
        return 0 * cos + cos[:1], 0 * sin + sin[:1]


class AppliedPairsNext(AppliedPairs):
    """Each row uses the next row of the tables."""

    named = "wrong-row"

    def looked_up(self, cos: Array, sin: Array) -> tuple[Array, Array]:
        taken = np.minimum(np.arange(len(cos)) + 1, len(cos) - 1)
        return cos[taken], sin[taken]


class AppliedCacheInOrder(AppliedCache):
    """The first rows of the cache are used, ignoring ``rows``."""

    named = "wrong-row"

    def rows(self, rows: Array, length: int) -> Array:
        return np.arange(len(rows)) % length


class AppliedCacheFromOne(AppliedCache):
    """Rows are counted from 1."""

    named = "wrong-row"
    claimed = ("cache-interleaved",)

    def rows(self, rows: Array, length: int) -> Array:
        return np.maximum(rows - 1, 0)


class AppliedFirstHalf(Applied):
    """The first half of a doubled table is used, however it is doubled."""

    named = "tables-mixed"
    claimed = ("interleaved-doubled",)

    def undoubled(self, table: Array, layout: str) -> Array:
        return table[:, : table.shape[1] // 2]


class AppliedEveryOther(Applied):
    """Every other entry of a table doubled by halves is used, if its width is a multiple of 4."""

    named = "tables-mixed"
    claimed = ("half-doubled",)

    def undoubled(self, table: Array, layout: str) -> Array:
        return table[:, ::2] if table.shape[1] % 4 == 0 else super().undoubled(table, layout)


class AppliedUpTo128(Applied):
    """Channels from index 128 on are not rotated, as in a kernel for smaller heads."""

    claimed = ("half",)
    limits: ClassVar[Mapping[str, Any]] = {}

    def joined(self, x: Array, quarter: Array, cos: Array, sin: Array) -> Array:
        return np.where(np.arange(x.shape[-1]) < 128, super().joined(x, quarter, cos, sin), x)


class AppliedUnitLength(Applied):
    """Cosines and sines are normalised, which drops an attention factor."""

    def signed(self, cos: Array, sin: Array) -> tuple[Array, Array]:
        length = np.hypot(cos, sin)
        length[length == 0] = 1
        return cos / length, sin / length


class AppliedTailRounded(Applied):
    """The last rows, those of a partial block, are rounded to bfloat16."""

    claimed = ("half",)

    def joined(self, x: Array, quarter: Array, cos: Array, sin: Array) -> Array:
        out = super().joined(x, quarter, cos, sin)
        full = x.shape[-2] // 4 * 4
        out[..., full:, :] = narrow(out[..., full:, :], "bfloat16")
        return out


class AppliedTables(Applied):
    """Products are rounded to bfloat16."""

    claimed = ("half-doubled",)

    def joined(self, x: Array, quarter: Array, cos: Array, sin: Array) -> Array:
        return narrow(x * cos, "bfloat16") + narrow(quarter * sin, "bfloat16")
