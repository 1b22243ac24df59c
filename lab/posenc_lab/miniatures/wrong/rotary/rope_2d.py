"""Wrong implementations: 2D rotary embedding, by row and column."""

from typing import Any, ClassVar

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made, narrow
from posenc_lab.miniatures.below import below_zero


class Patches(Mistake, steps=True):
    """Half of the pairs rotated by the row and half by the column, in steps."""

    call = "rope_2d"
    claimed = ("rope-vit",)

    def answer(
        self,
        x: Array,
        positions: Array,
        *,
        base: float,
        layout: str,
        order: str,
        progression: str,
    ) -> Array:
        first, second = self.frequencies(x.shape[-1], self.base(base), progression)
        rows, columns = self.places(positions)
        axes = [(rows, first), (columns, second)]
        if self.order(order) != "row-first":
            axes = [(columns, first), (rows, second)]
        angles = self.arranged([self.angles(place, omega) for place, omega in axes], order)
        firsts, seconds = self.channels(x.shape[-1], layout)
        out = np.empty_like(x)
        a, b = self.read(x)[..., firsts], self.read(x)[..., seconds]
        table = np.empty((len(angles), x.shape[-1]))
        for written in self.table(x.shape[-1], layout):
            table[:, written] = angles
        (sin, cos), (sins, coss) = (self.waves(table[:, each]) for each in (firsts, seconds))
        out[..., firsts], _ = self.turned(a, b, sin, cos)
        _, out[..., seconds] = self.turned(a, b, sins, coss)
        return out

    def read(self, x: Array) -> Array:
        return x.astype(np.float64)

    def base(self, base: float) -> float:
        return base

    def frequencies(self, width: int, base: float, progression: str) -> tuple[Array, Array]:
        quarter = width // 4
        if progression == "shared":
            omega = base ** (-np.arange(quarter) / quarter)
            return omega, omega
        omega = base ** (-np.arange(2 * quarter) / (2 * quarter))
        return omega[0::2], omega[1::2]

    def places(self, positions: Array) -> Array:
        return positions

    def order(self, claimed: str) -> str:
        return claimed

    def angles(self, place: Array, omega: Array) -> Array:
        return np.multiply.outer(place.astype(np.float64), omega)

    def arranged(self, angles: list[Array], order: str) -> Array:
        if self.order(order) == "alternating":
            return np.stack(angles, axis=-1).reshape(len(angles[0]), 2 * angles[0].shape[1])
        return np.concatenate(angles, axis=-1)

    def channels(self, width: int, layout: str) -> tuple[Array, Array]:
        every = np.arange(width)
        if layout == "interleaved":
            return every[0::2], every[1::2]
        if layout == "half":
            return every[: width // 2], every[width // 2 :]
        blocks = every.reshape(2, 2, width // 4)
        return blocks[:, 0].ravel(), blocks[:, 1].ravel()

    def table(self, width: int, layout: str) -> tuple[Array, Array]:
        """Return the channels of a table that have the angle of each pair."""
        return self.channels(width, layout)

    def waves(self, angles: Array) -> tuple[Array, Array]:
        return np.sin(angles), np.cos(angles)

    def turned(self, a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
        return a * cos - b * sin, b * cos + a * sin


for _claimed, _table, _pairs in (
    ("rope-vit", "half", "interleaved"),
    ("eva", "half", "interleaved"),
    ("rope-vit", "interleaved", "half"),
    ("qwen2-vl", "interleaved", "half"),
    ("qwen2-vl", "half", "half-per-axis"),
):
    made(
        Patches,
        f"Patches of a table {_table} with pairs {_pairs} for {_claimed}",
        "The table is that of one layout, and the pairs are those of another.",
        named="tables-mixed",
        claimed=(_claimed,),
        table=lambda self, width, layout, of=_table: Patches.channels(self, width, of),
        channels=lambda self, width, layout, of=_pairs: Patches.channels(self, width, of),
    )

for _claimed in ("rope-vit", "eva", "qwen2-vl", "pixtral", "moonvit"):
    made(
        Patches,
        f"Patches transposed {_claimed}",
        "Positions taken for columns and rows.",
        named="axes-swapped",
        claimed=(_claimed,),
        places=lambda self, positions: positions[::-1],
    )

for _claimed, _given in (
    ("rope-vit", "alternating"),
    ("rope-vit", "row-first"),
    ("gemma-4", "row-first"),
    ("moonvit", "column-first"),
):
    made(
        Patches,
        f"Patches {_given} for {_claimed}",
        "The pairs of the two axes in another order.",
        named="axes-swapped",
        claimed=(_claimed,),
        order=lambda self, claimed, given=_given: given,
    )

for _claimed, _given in (
    ("rope-vit", "half"),
    ("qwen2-vl", "half-per-axis"),
    ("croco", "half"),
    ("pixtral-half", "interleaved"),
):
    made(
        Patches,
        f"Patches {_given} layout for {_claimed}",
        "Pairs of the channels of another layout.",
        named="layout-swapped",
        claimed=(_claimed,),
        channels=lambda self, width, layout, given=_given: Patches.channels(self, width, given),
    )

for _claimed, _given in (("pixtral", "shared"), ("pixtral-half", "shared"), ("qwen2-vl", "split")):
    made(
        Patches,
        f"Patches {_given} for {_claimed}",
        "The progression shared where it is split, or the reverse.",
        named="progression-swapped",
        claimed=(_claimed,),
        frequencies=lambda self, width, base, progression, given=_given: Patches.frequencies(
            self, width, base, given
        ),
    )

for _claimed, _shift in (("rope-vit", 1), ("qwen2-vl", -1)):
    made(
        Patches,
        f"Patches shifted {_shift} {_claimed}",
        "Rows and columns counted from another number.",
        named="positions-shifted",
        claimed=(_claimed,),
        places=lambda self, positions, shift=_shift: positions + shift,
    )

for _claimed, _base in (("rope-vit", 10000.0), ("croco", 100.0), ("pixtral", 1000.0)):
    made(
        Patches,
        f"Patches with base {_base:.0f} {_claimed}",
        "One base, whatever is asked for.",
        named="wrong-base",
        claimed=(_claimed,),
        base=lambda self, base, given=_base: given,
    )


class PatchesBackwards(Patches):
    """The rotation has the opposite sign."""

    named = "sign-flipped"

    def turned(self, a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
        return a * cos + b * sin, b * cos - a * sin


for _claimed in ("rope-vit", "croco"):
    made(
        Patches,
        f"Patches of head_dim {_claimed}",
        "Exponents 2t/d on an axis that has half of the head.",
        named="head-dim-frequencies",
        claimed=(_claimed,),
        frequencies=lambda self, width, base, progression: Patches.frequencies(
            self, width, base**0.5, progression
        ),
    )

for _claimed in ("pixtral", "qwen2-vl"):
    made(
        Patches,
        f"Patches of a progression cut in two {_claimed}",
        "The first half of the frequencies for one axis, the second for the other.",
        named="progression-halved",
        claimed=(_claimed,),
        frequencies=lambda self, width, base, progression: np.split(
            base ** (-2 * np.arange(width // 2) / width), 2
        ),
    )

for _axis in (0, 1):
    made(
        Patches,
        f"Patches of axis {_axis}",
        "The same coordinate for both axes.",
        named="one-axis-for-both",
        claimed=("eva",),
        places=lambda self, positions, axis=_axis: positions[[axis, axis]],
    )


class PatchesUnrotated(Patches):
    """x is not rotated."""

    named = "unrotated"

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        return x.copy()


_NEAR: dict[str, Any] = {"max_position": 2**15}

for _kind, _claimed in (("bfloat16", "rope-vit"), ("float16", "qwen2-vl")):
    made(
        Patches,
        f"Patches with angles in {_kind}",
        "Angles in a narrow dtype.",
        named="low-precision-angles",
        claimed=(_claimed,),
        limits=_NEAR,
        angles=lambda self, place, omega, kind=_kind: narrow(
            Patches.angles(self, place, omega), kind
        ),
    )


class PatchesWithPositionsInBfloat16(Patches):
    """Rows and columns are rounded to bfloat16, which is exact up to 256."""

    named = "low-precision-angles"
    limits: ClassVar = _NEAR

    def places(self, positions: Array) -> Array:
        return narrow(positions, "bfloat16")


class PatchesWithFrequenciesInBfloat16(Patches):
    """Frequencies are cast to bfloat16 with the model."""

    named = "low-precision-angles"
    claimed = ("pixtral",)
    limits: ClassVar = _NEAR

    def angles(self, place: Array, omega: Array) -> Array:
        return super().angles(place, narrow(omega, "bfloat16"))


class PatchesReflected(Patches):
    """One sign is wrong: a reflection instead of a rotation."""

    def turned(self, a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
        return a * cos + b * sin, b * cos + a * sin


class PatchesOfOneAxisOnly(Patches):
    """Pairs of the second axis are not rotated."""

    def arranged(self, angles: list[Array], order: str) -> Array:
        return super().arranged([angles[0], 0 * angles[1]], order)


class PatchesWithTheFirstHalfTwice(Patches):
    """The kernel reads the first half of the tables for both axes."""

    named = "one-axis-for-both"

    claimed = ("croco",)

    def arranged(self, angles: list[Array], order: str) -> Array:
        return super().arranged([angles[0], angles[0]], order)


class PatchesOfASquare(Patches):
    """Rows and columns are derived from the number of patches, ignoring positions."""

    def places(self, positions: Array) -> Array:
        count = positions.shape[1]
        side = max(1, int(np.ceil(np.sqrt(count))))
        return np.stack([np.arange(count) // side, np.arange(count) % side])


class PatchesAfterAClassToken(Patches):
    """Each patch but the first gets the position of the previous patch."""

    claimed = ("eva",)

    def places(self, positions: Array) -> Array:
        return np.concatenate([0 * positions[:, :1], positions[:, :-1]], axis=1)


class PatchesFromTheFirst(Patches):
    """Rows and columns are counted from those of the first patch."""

    def places(self, positions: Array) -> Array:
        return positions - positions[:, :1]


class PatchesCutAt14(Patches):
    """Tables end after 14 rows and columns; later ones get the last entry."""

    def places(self, positions: Array) -> Array:
        return np.minimum(positions, 13)


class PatchesCutAt1024(Patches):
    """Tables end after 1,024 rows and columns; later ones get the last entry."""

    claimed = ("qwen2-vl",)

    def places(self, positions: Array) -> Array:
        return np.minimum(positions, 1023)


class PatchesCutInColumns(Patches):
    """Columns are clamped at 1,023."""

    def places(self, positions: Array) -> Array:
        return np.stack([positions[0], np.minimum(positions[1], 1023)])


class PatchesOfFlooredQuarters(Patches):
    """The last pair of each axis is not rotated if the axis has an odd number of pairs above 1."""

    def angles(self, place: Array, omega: Array) -> Array:
        angles = super().angles(place, omega)
        if len(omega) % 2 and len(omega) > 1:
            angles[:, -1] = 0
        return angles


class PatchesWrongFromChannel128(Patches):
    """Channels from index 128 on are not rotated."""

    claimed = ("pixtral-half",)

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        out = super().answer(x, positions, **keywords)
        out[..., 128:] = x[..., 128:]
        return out


class PatchesWrongFrom1024(Patches):
    """Patches from index 1,024 on are not rotated."""

    claimed = ("gemma-4",)

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        out = super().answer(x, positions, **keywords)
        out[..., 1024:, :] = x[..., 1024:, :]
        return out


class PatchesOfTheFirstImage(Patches):
    """Only the first head of the first batch element is rotated."""

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        out = x.copy()
        first = (0,) * (x.ndim - 2)
        out[first] = super().answer(x[first], positions, **keywords)
        return out


class PatchesInPlace(Patches):
    """x is overwritten."""

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        x[...] = super().answer(x, positions, **keywords)
        return x


class PatchesCachedByNumber(Patches):
    """Tables are cached by the number of patches, ignoring positions."""

    def __init__(self) -> None:
        self.kept: dict[tuple[int, ...], Array] = {}

    def arranged(self, angles: list[Array], order: str) -> Array:
        return self.kept.setdefault(angles[0].shape, super().arranged(angles, order))


class PatchesInNarrowTables(Patches):
    """Sines and cosines are in bfloat16 for a float32 x."""

    def waves(self, angles: Array) -> tuple[Array, Array]:
        return narrow(np.sin(angles), "bfloat16"), narrow(np.cos(angles), "bfloat16")


class PatchesFloat32AsFloat64(Patches):
    """Angles are float32 for a float64 x."""

    dtype = "float64"

    def angles(self, place: Array, omega: Array) -> Array:
        return np.multiply.outer(place.astype("f4"), omega.astype("f4")).astype(np.float64)


class Mixture(Mistake, steps=True):
    """Every pair rotated by a learned combination of column and row, in steps."""

    call = "rope_2d_mixed"
    claimed = ("rope-vit",)

    def answer(
        self, x: Array, positions: Array, frequencies: Array, *, layout: str, order: str
    ) -> Array:
        rows, columns = self.places(positions).astype(np.float64)
        weights = self.weights(frequencies.astype(np.float64))
        angles = self.angles(
            columns[:, None] * weights[0][:, None, :], rows[:, None] * weights[1][:, None, :]
        )
        pairs = self.pairs(x.astype(np.float64)) * np.exp(1j * angles)
        return self.written(pairs, x.dtype)

    def places(self, positions: Array) -> Array:
        return positions

    def weights(self, frequencies: Array) -> Array:
        return frequencies

    def angles(self, by_column: Array, by_row: Array) -> Array:
        return by_column + by_row

    def pairs(self, x: Array) -> Array:
        return x[..., 0::2] + 1j * x[..., 1::2]

    def written(self, pairs: Array, dtype: Any) -> Array:
        parts = np.stack([pairs.real, pairs.imag], axis=-1)
        return parts.reshape(*pairs.shape[:-1], 2 * pairs.shape[-1]).astype(dtype)


class MixtureTransposed(Mixture):
    """The frequencies of column and row are swapped."""

    named = "mixed-axes-swapped"

    def weights(self, frequencies: Array) -> Array:
        return frequencies[::-1]


class MixtureOfHalves(Mixture):
    """Channels t and t + head_dim/2 are paired."""

    named = "mixed-layout-swapped"

    def pairs(self, x: Array) -> Array:
        half = x.shape[-1] // 2
        return x[..., :half] + 1j * x[..., half:]

    def written(self, pairs: Array, dtype: Any) -> Array:
        return np.concatenate([pairs.real, pairs.imag], axis=-1).astype(dtype)


class MixtureOfTheFirstHead(Mixture):
    """The first head's frequencies are used for all heads."""

    named = "mixed-one-head-for-all"

    def weights(self, frequencies: Array) -> Array:
        return np.broadcast_to(frequencies[:, :1], frequencies.shape)


class MixtureAxial(Mixture):
    """The first half of the pairs ignores the row, and the second half ignores the column."""

    named = "mixed-axial"

    def angles(self, by_column: Array, by_row: Array) -> Array:
        half = by_row.shape[-1] // 2
        return np.concatenate([by_column[..., :half], by_row[..., half:]], axis=-1)


for _kind in ("bfloat16", "float16"):
    made(
        Mixture,
        f"Mixture with angles in {_kind}",
        "Angles in a narrow dtype.",
        named="mixed-low-precision-angles",
        limits=_NEAR,
        angles=lambda self, by_column, by_row, kind=_kind: narrow(by_column + by_row, kind),
    )


class MixtureWithPositionsInBfloat16(Mixture):
    """Rows and columns are rounded to bfloat16."""

    named = "mixed-low-precision-angles"
    limits: ClassVar = _NEAR

    def places(self, positions: Array) -> Array:
        return narrow(positions, "bfloat16")


class MixtureOfTheColumnOnly(Mixture):
    """The row is ignored."""

    def angles(self, by_column: Array, by_row: Array) -> Array:
        return by_column


class MixtureOfDifferences(Mixture):
    """The row's angle is subtracted."""

    def angles(self, by_column: Array, by_row: Array) -> Array:
        return by_column - by_row


class MixtureShifted(Mixture):
    """Rows and columns are counted from 1."""

    def places(self, positions: Array) -> Array:
        return positions + 1


class MixtureCutAt14(Mixture):
    """Rows and columns are clamped at 13, the end of the trained resolution."""

    def places(self, positions: Array) -> Array:
        return np.minimum(positions, 13)


class MixtureByBatch(Mixture):
    """Frequencies are chosen along the first axis of x, which is the batch if there is one."""

    def answer(self, x: Array, positions: Array, frequencies: Array, **keywords: Any) -> Array:
        if x.ndim == 4 and x.shape[0] == x.shape[1]:
            swapped = super().answer(np.swapaxes(x, 0, 1), positions, frequencies, **keywords)
            return np.swapaxes(swapped, 0, 1)
        return super().answer(x, positions, frequencies, **keywords)


class MixtureWrongFromHead9(Mixture):
    """Heads from index 9 on are not rotated."""

    def answer(self, x: Array, positions: Array, frequencies: Array, **keywords: Any) -> Array:
        out = super().answer(x, positions, frequencies, **keywords)
        out[..., 9:, :, :] = x[..., 9:, :, :]
        return out


class PatchesBack(Patches, steps=True):
    """Upstream gradients rotated back, in steps."""

    call = "rope_2d_vjp"

    def waves(self, angles: Array) -> tuple[Array, Array]:
        return -np.sin(angles), np.cos(angles)


for _name, _named, _claimed, _steps in (
    ("forward", "backward-is-forward", "rope-vit", {"waves": Patches.waves}),
    ("forward of two halves", "backward-is-forward", "croco", {"waves": Patches.waves}),
    (
        "transposed",
        "backward-axes-swapped",
        "qwen2-vl",
        {"places": lambda self, positions: positions[::-1]},
    ),
    (
        "columns first",
        "backward-axes-swapped",
        "eva",
        {"order": lambda self, claimed: "column-first"},
    ),
    (
        "of halves",
        "backward-layout-swapped",
        "gemma-4",
        {"channels": lambda self, width, layout: Patches.channels(self, width, "half")},
    ),
    (
        "half forward",
        None,
        "pixtral-half",
        {"arranged": lambda self, angles, order: np.concatenate([angles[0], -angles[1]], axis=-1)},
    ),
    ("from the first", None, "rope-vit", {"places": lambda self, p: p - p[:, :1]}),
):
    made(
        PatchesBack,
        f"PatchesBack {_name}",
        "One step otherwise.",
        named=_named,
        claimed=(_claimed,),
        **_steps,
    )


class Image(Mistake, steps=True):
    """All patches of an image rotated by coordinates from -1 to 1, in steps."""

    call = "rope_2d_image"
    claimed = ("dinov3",)

    def answer(
        self,
        x: Array,
        height: int,
        width: int,
        *,
        base: float,
        layout: str,
        order: str,
        extent: str,
    ) -> Array:
        omega = self.frequencies(x.shape[-1], self.base(base))
        sides = self.sides(height, width, extent)
        rows, columns = (
            self.coordinates(np.arange(count), side)
            for count, side in zip((height, width), sides, strict=True)
        )
        places = self.axes(np.repeat(rows, width), np.tile(columns, height))
        angles = np.concatenate([self.angles(place, omega) for place in places], axis=-1)
        firsts, seconds = self.channels(x.shape[-1])
        out, wide = np.empty_like(x), x.astype(np.float64)
        a, b = wide[..., firsts], wide[..., seconds]
        ahead, behind = self.given_out(angles)
        out[..., firsts] = a * np.cos(ahead) - b * np.sin(ahead)
        out[..., seconds] = b * np.cos(behind) + a * np.sin(behind)
        return out

    def given_out(self, angles: Array) -> tuple[Array, Array]:
        """Return the angles of the first and of the second channels of pairs."""
        return angles, angles

    def base(self, base: float) -> float:
        return base

    def frequencies(self, head_dim: int, base: float) -> Array:
        return base ** (-np.arange(0, head_dim, 4) / head_dim)

    def sides(self, height: int, width: int, extent: str) -> tuple[int, int]:
        longer = max(height, width)
        return (longer, longer) if extent == "longer-side" else (height, width)

    def coordinates(self, patch: Array, side: int) -> Array:
        return 2 * (patch + 0.5) / side - 1

    def axes(self, rows: Array, columns: Array) -> tuple[Array, Array]:
        return rows, columns

    def angles(self, place: Array, omega: Array) -> Array:
        return np.asarray(2 * np.pi * np.multiply.outer(place, omega))

    def channels(self, head_dim: int) -> tuple[Array, Array]:
        every = np.arange(head_dim)
        return every[: head_dim // 2], every[head_dim // 2 :]


_BOTH = ("dinov3", "vggt-omega")
_IMAGES: tuple[tuple[str, str | None, tuple[str, ...], dict[str, Any]], ...] = (
    (
        "counted from 0",
        "image-counted",
        _BOTH,
        {"coordinates": lambda self, patch, side: patch / (2 * np.pi)},
    ),
    (
        "counted from 1",
        "image-counted",
        ("dinov3",),
        {"coordinates": lambda self, patch, side: (patch + 1) / (2 * np.pi)},
    ),
    (
        "of corners",
        "image-corners",
        _BOTH,
        {"coordinates": lambda self, patch, side: 2 * patch / side - 1},
    ),
    (
        "with both ends",
        "image-corners",
        ("dinov3",),
        {"coordinates": lambda self, patch, side: 2 * patch / max(side - 1, 1) - 1},
    ),
    (
        "from 0 to 1",
        "image-unit-range",
        _BOTH,
        {"coordinates": lambda self, patch, side: (patch + 0.5) / side},
    ),
    (
        "in radians",
        "image-radians",
        _BOTH,
        {"angles": lambda self, place, omega: np.multiply.outer(place, omega)},
    ),
    (
        "of the longer side",
        "image-extent-swapped",
        ("dinov3",),
        {"sides": lambda self, height, width, extent: [max(height, width)] * 2},
    ),
    (
        "of the shorter side",
        "image-extent-swapped",
        _BOTH,
        {"sides": lambda self, height, width, extent: [min(height, width)] * 2},
    ),
    (
        "of each side",
        "image-extent-swapped",
        ("vggt-omega",),
        {"sides": lambda self, height, width, extent: (height, width)},
    ),
    (
        "of the width",
        "image-extent-swapped",
        ("vggt-omega",),
        {"sides": lambda self, height, width, extent: (width, width)},
    ),
    (
        "of the height",
        None,
        ("vggt-omega",),
        {"sides": lambda self, height, width, extent: (height, height)},
    ),
    (
        "of neighbours",
        "image-layout-swapped",
        _BOTH,
        {"channels": lambda self, d: (np.arange(0, d, 2), np.arange(1, d, 2))},
    ),
    (
        "of halves of each axis",
        "image-layout-swapped",
        ("dinov3",),
        {"channels": lambda self, d: Patches.channels(Patches(), d, "half-per-axis")},
    ),
    (
        "of a table with each angle twice in a row",
        "image-layout-swapped",
        _BOTH,
        {
            "given_out": lambda self, angles: tuple(
                np.split(np.repeat(angles, 2, axis=-1), 2, axis=-1)
            )
        },
    ),
    (
        "with columns first",
        "image-axes-swapped",
        _BOTH,
        {"axes": lambda self, rows, columns: (columns, rows)},
    ),
    ("with base 10000", "image-wrong-base", _BOTH, {"base": lambda self, base: 10000.0}),
    (
        "of head_dim",
        "image-head-dim-frequencies",
        ("dinov3",),
        {"base": lambda self, base: base**0.5},
    ),
    (
        "with coordinates in bfloat16",
        "image-low-precision-angles",
        _BOTH,
        {
            "coordinates": lambda self, patch, side: narrow(
                2 * narrow((patch + 0.5) / side, "bfloat16") - 1, "bfloat16"
            )
        },
    ),
    (
        "with the frequencies of released weights",
        "image-low-precision-angles",
        ("dinov3",),
        {
            "frequencies": lambda self, head_dim, base: (
                1 / narrow(1 / Image.frequencies(self, head_dim, base), "bfloat16")
            )
        },
    ),
    (
        "all in bfloat16",
        "image-low-precision-angles",
        ("dinov3",),
        {
            "coordinates": lambda self, patch, side: narrow(
                2 * narrow((patch + 0.5) / side, "bfloat16") - 1, "bfloat16"
            ),
            "frequencies": lambda self, head_dim, base: (
                1 / narrow(1 / Image.frequencies(self, head_dim, base), "bfloat16")
            ),
        },
    ),
    (
        "with angles in float16",
        "image-low-precision-angles",
        ("vggt-omega",),
        {"angles": lambda self, place, omega: narrow(Image.angles(self, place, omega), "float16")},
    ),
    (
        "cut at 14",
        None,
        ("dinov3",),
        {
            "coordinates": lambda self, patch, side: Image.coordinates(
                self, np.minimum(patch, 13), side
            )
        },
    ),
    (
        "turned backwards",
        None,
        _BOTH,
        {"angles": lambda self, place, omega: -Image.angles(self, place, omega)},
    ),
    (
        "with the row for both axes",
        None,
        ("dinov3",),
        {"axes": lambda self, rows, columns: (rows, rows)},
    ),
)
for _name, _named, _places, _changed in _IMAGES:
    for _claimed in _places:
        made(
            Image,
            f"Image {_name} {_claimed}",
            "One step otherwise.",
            named=_named,
            claimed=(_claimed,),
            **_changed,
        )


class ImageAfterAClassToken(Image):
    """The first patch is taken for a class token and not rotated."""

    def answer(self, x: Array, *arguments: Any, **keywords: Any) -> Array:
        out = super().answer(x, *arguments, **keywords)
        out[..., 0, :] = x[..., 0, :]
        return out


class ImageOfTheFirstSize(Image):
    """Coordinates are cached by the number of patches, ignoring the sides."""

    def __init__(self) -> None:
        self.kept: dict[int, tuple[Array, Array]] = {}

    def axes(self, rows: Array, columns: Array) -> tuple[Array, Array]:
        return self.kept.setdefault(len(rows), (rows, columns))


class ImageFloat32AsFloat64(Image):
    """Angles are float32 for a float64 x."""

    dtype = "float64"

    def angles(self, place: Array, omega: Array) -> Array:
        return super().angles(place.astype("f4"), omega.astype("f4")).astype("f4")


below_zero(Patches, "pixtral")
below_zero(Mixture, "rope-vit")
below_zero(PatchesBack, "rope-vit")
