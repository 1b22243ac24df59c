"""Wrong implementations: rotary embedding."""

from typing import Any, ClassVar

import ml_dtypes
import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made, narrow
from posenc_lab.miniatures.below import below_zero


class Rotary(Mistake, steps=True):
    """Pairs of channels rotated by positions times frequencies, in steps."""

    call = "rope"
    claimed = ("half",)

    def answer(
        self,
        x: Array,
        positions: Array,
        *,
        base: float,
        layout: str,
        rotary_dim: int | None = None,
    ) -> Array:
        size = self.size(x, rotary_dim)
        frequencies = self.base(base) ** -self.exponents(size, x.shape[-1])
        angles = self.angles(self.places(positions), frequencies)
        first, second = self.split(x[..., :size].astype(np.float64), layout)
        turned = self.turn(first, second, *self.waves(angles, x.dtype))
        return self.finish(self.join(*turned, layout).astype(x.dtype), x[..., size:])

    def size(self, x: Array, rotary_dim: int | None) -> int:
        return x.shape[-1] if rotary_dim is None else rotary_dim

    def base(self, base: float) -> float:
        return float(base)

    def exponents(self, size: int, head_dim: int) -> Array:
        return np.arange(0, size, 2) / size

    def places(self, positions: Array) -> Array:
        return positions

    def angles(self, places: Array, frequencies: Array) -> Array:
        return np.multiply.outer(places.astype(np.float64), frequencies)

    def waves(self, angles: Array, dtype: Any) -> tuple[Array, Array]:
        return np.sin(angles), np.cos(angles)

    def read(self, claimed: str) -> str:
        return "half" if claimed == "half" else "interleaved"

    def written(self, claimed: str) -> str:
        return "interleaved" if claimed == "interleaved" else "half"

    def split(self, x: Array, layout: str) -> tuple[Array, Array]:
        if self.read(layout) == "interleaved":
            return x[..., 0::2], x[..., 1::2]
        half = x.shape[-1] // 2
        return x[..., :half], x[..., half:]

    def turn(self, a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
        return a * cos - b * sin, b * cos + a * sin

    def join(self, a: Array, b: Array, layout: str) -> Array:
        if self.written(layout) == "half":
            return np.concatenate([a, b], axis=-1)
        return np.stack([a, b], axis=-1).reshape(*a.shape[:-1], 2 * a.shape[-1])

    def finish(self, turned: Array, rest: Array) -> Array:
        return np.concatenate([turned, rest], axis=-1)


class RotaryWritesInterleaved(Rotary):
    """Channels are read in the half layout and written interleaved, which no convention does."""

    def written(self, claimed: str) -> str:
        return "interleaved"


for _claimed in ("interleaved", "half", "interleaved-to-half"):
    for _given in ("interleaved", "half", "interleaved-to-half"):
        if _given != _claimed:
            made(
                Rotary,
                f"Rotary {_given} for {_claimed}",
                "Pairs taken from, or written to, the channels of another layout.",
                named="layout-swapped",
                claimed=(_claimed,),
                read=lambda self, claimed, given=_given: Rotary.read(self, given),
                written=lambda self, claimed, given=_given: Rotary.written(self, given),
            )

for _layout, _number in (
    ("half", 10000.0),
    ("half", 12345.0),
    ("interleaved", 1000.0),
    ("interleaved-to-half", 500000.0),
):
    made(
        Rotary,
        f"Rotary {_layout} with base {_number:.0f}",
        "One base, whatever is asked for.",
        named="wrong-base",
        claimed=(_layout,),
        base=lambda self, base, number=_number: number,
    )

for _layout, _shift in (("half", 1), ("interleaved", -1), ("interleaved-to-half", 2)):
    made(
        Rotary,
        f"Rotary {_layout} shifted by {_shift}",
        "Positions that count from another number.",
        named="positions-shifted",
        claimed=(_layout,),
        places=lambda self, positions, shift=_shift: positions + shift,
    )


class RotaryInverse(Rotary):
    """The rotation has the opposite sign."""

    named = "sign-flipped"

    def turn(self, a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
        return a * cos + b * sin, b * cos - a * sin


class RotaryInverseOfPairs(RotaryInverse):
    """The rotation of interleaved pairs has the opposite sign."""

    claimed = ("interleaved",)


class RotaryReflects(Rotary):
    """One sign is wrong: a reflection instead of a rotation."""

    def turn(self, a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
        return a * cos + b * sin, b * cos + a * sin


class RotaryTransposesPairs(Rotary):
    """The two members of each pair are written to swapped places."""

    def turn(self, a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
        return b * cos + a * sin, a * cos - b * sin


class RotarySwapsWaves(Rotary):
    """Sine and cosine are swapped."""

    def waves(self, angles: Array, dtype: Any) -> tuple[Array, Array]:
        return np.cos(angles), np.sin(angles)


class RotaryMixesTables(Rotary):
    """Tables with each entry repeated, as for interleaved pairs, are used with the half layout."""

    named = "tables-mixed"

    def turn(self, a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
        n = a.shape[-1]
        sin, cos = np.repeat(sin, 2, axis=-1), np.repeat(cos, 2, axis=-1)
        return a * cos[..., :n] - b * sin[..., :n], b * cos[..., n:] + a * sin[..., n:]


class RotaryMixesTablesOfPairs(Rotary):
    """Tables tiled for the half layout are used with interleaved pairs."""

    named = "tables-mixed"
    claimed = ("interleaved",)

    def turn(self, a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
        sin, cos = np.tile(sin, 2), np.tile(cos, 2)
        return a * cos[..., 0::2] - b * sin[..., 0::2], b * cos[..., 1::2] + a * sin[..., 1::2]


class RotaryTurnsNeighbours(RotaryMixesTablesOfPairs):
    """Neighbours are rotated by tables for halves, as by a ``rotate_half`` of the other layout."""

    claimed = ("half",)

    def split(self, x: Array, layout: str) -> tuple[Array, Array]:
        return super().split(x, "interleaved")

    def join(self, a: Array, b: Array, layout: str) -> Array:
        return super().join(a, b, "interleaved")


class RotaryTableCountsInBfloat16(Rotary):
    """A table in bfloat16 whose positions were counted in it as well.

    Small calls show the table alone.
    """

    def places(self, positions: Array) -> Array:
        return narrow(positions.astype(np.float64), "bfloat16")

    def waves(self, angles: Array, dtype: Any) -> tuple[Array, Array]:
        return narrow(np.sin(angles), "bfloat16"), narrow(np.cos(angles), "bfloat16")


class RotaryOfHeadDim(Rotary):
    """Frequencies depend on head_dim although fewer channels are rotated."""

    named = "head-dim-frequencies"
    limits: ClassVar = {"rotation": "partial"}

    def exponents(self, size: int, head_dim: int) -> Array:
        return np.arange(0, size, 2) / head_dim


class RotaryOfHeadDimInterleaved(RotaryOfHeadDim):
    """Frequencies depend on head_dim, in the interleaved layout."""

    claimed = ("interleaved",)


class RotaryOfAllChannels(Rotary):
    """rotary_dim is ignored."""

    named = "rotary-dim-ignored"
    limits: ClassVar = {"rotation": "partial"}

    def size(self, x: Array, rotary_dim: int | None) -> int:
        return x.shape[-1]


class RotaryOfAllChannelsInterleaved(RotaryOfAllChannels):
    """rotary_dim is ignored, in the interleaved-to-half layout."""

    claimed = ("interleaved-to-half",)


class RotaryOfLastChannels(Rotary):
    """The trailing channels are rotated instead of the leading ones."""

    limits: ClassVar = {"rotation": "partial"}

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        skipped = x.shape[-1] - (keywords.get("rotary_dim") or x.shape[-1])
        turned = super().answer(np.roll(x, -skipped, axis=-1), positions, **keywords)
        return np.roll(turned, skipped, axis=-1)


class RotaryDropsTheRest(Rotary):
    """Channels beyond rotary_dim are set to 0."""

    limits: ClassVar = {"rotation": "partial"}

    def finish(self, turned: Array, rest: Array) -> Array:
        return np.concatenate([turned, np.zeros_like(rest)], axis=-1)


class RotaryTouchesTheRest(Rotary):
    """Channels beyond rotary_dim are off by one unit in the last place."""

    limits: ClassVar = {"rotation": "partial"}

    def finish(self, turned: Array, rest: Array) -> Array:
        return np.concatenate([turned, np.nextafter(rest, np.float32(np.inf))], axis=-1)


class RotaryRoundsTheRest(Rotary):
    """Channels beyond rotary_dim are rounded to bfloat16 in a float32 result."""

    limits: ClassVar = {"rotation": "partial"}

    def finish(self, turned: Array, rest: Array) -> Array:
        return np.concatenate([turned, narrow(rest, "bfloat16").astype(np.float32)], axis=-1)


class RotaryUnrotated(Rotary):
    """x is not rotated."""

    named = "unrotated"

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        return x.copy()


class RotaryInDegrees(Rotary):
    """Angles are taken for degrees."""

    named = "degrees"

    def angles(self, places: Array, frequencies: Array) -> Array:
        return np.deg2rad(super().angles(places, frequencies))


class RotaryIntoDegrees(Rotary):
    """Angles are converted to degrees for a sine that expects radians."""

    named = "degrees"

    def angles(self, places: Array, frequencies: Array) -> Array:
        return np.rad2deg(super().angles(places, frequencies))


class RotaryExponentHalved(Rotary):
    """The exponent is t/d instead of 2t/d."""

    named = "exponent-halved"

    def exponents(self, size: int, head_dim: int) -> Array:
        return np.arange(size // 2) / size


class RotaryExponentHalvedInterleaved(RotaryExponentHalved):
    """The exponent is t/d instead of 2t/d, in the interleaved layout."""

    claimed = ("interleaved",)


class RotaryExponentDoubled(Rotary):
    """The exponent is 4t/d: the base squared."""

    named = "exponent-doubled"

    def exponents(self, size: int, head_dim: int) -> Array:
        return np.arange(0, 2 * size, 4) / size


class RotaryDividesByOneLess(Rotary):
    """The exponent is t/(d/2-1), as in some sinusoids."""

    named = "exponent-to-the-end"

    def exponents(self, size: int, head_dim: int) -> Array:
        return np.arange(size // 2) / max(size // 2 - 1, 1)


class RotaryFromALinspace(RotaryDividesByOneLess):
    """The exponents are a linspace up to 1, in the interleaved layout."""

    claimed = ("interleaved",)

    def exponents(self, size: int, head_dim: int) -> Array:
        return np.linspace(0.0, 1.0, size // 2)


class RotaryOfTheNextPowerOfTwo(Rotary):
    """The exponents' denominator is the next power of two, as in a kernel that pads the head."""

    def exponents(self, size: int, head_dim: int) -> Array:
        return np.arange(0, size, 2) / 2 ** (size - 1).bit_length()


class RotaryStretched(Rotary):
    """Positions are divided by two, as for a longer context."""

    def places(self, positions: Array) -> Array:
        return positions / 2


class RotaryNumbersRows(Rotary):
    """Rows are numbered from 0, ignoring positions."""

    def places(self, positions: Array) -> Array:
        return np.arange(len(positions))


class RotaryFromTheFirst(Rotary):
    """Positions are counted from that of the first row."""

    claimed = ("interleaved",)

    def places(self, positions: Array) -> Array:
        return positions - positions[:1]


class RotaryAlongHeads(Rotary):
    """Rows are rotated by the index of their head, if there are heads."""

    def angles(self, places: Array, frequencies: Array) -> Array:
        self.frequencies = frequencies
        return super().angles(places, frequencies)

    def turn(self, a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
        if a.ndim > 2:
            angles = np.arange(a.shape[-3])[:, None, None] * self.frequencies
            sin, cos = np.sin(angles), np.cos(angles)
        return super().turn(a, b, sin, cos)


class RotaryFirstElementOnly(Rotary):
    """Only the first head of the first batch element is rotated."""

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        out = x.copy()
        first = (0,) * (x.ndim - 2)
        out[first] = super().answer(x[first], positions, **keywords)
        return out


class RotaryWrongFromBatch2(Rotary):
    """Batch elements from index 2 on are not rotated."""

    claimed = ("interleaved",)

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        out = super().answer(x, positions, **keywords)
        if x.ndim > 2:
            out[2:] = x[2:]
        return out


class RotaryWrongFromHead9(Rotary):
    """Heads from index 9 on are not rotated."""

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        out = super().answer(x, positions, **keywords)
        if x.ndim > 2:
            out[..., 9:, :, :] = x[..., 9:, :, :]
        return out


class RotaryWrongFromRow128(Rotary):
    """Rows from index 128 on are not rotated, as by a kernel launched for one block."""

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        out = super().answer(x, positions, **keywords)
        out[..., 128:, :] = x[..., 128:, :]
        return out


class RotaryWrongFromChannel128(Rotary):
    """Channels from index 128 on are not rotated."""

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        out = super().answer(x, positions, **keywords)
        out[..., 128:] = x[..., 128:]
        return out


class RotaryWrongUnlessDivisibleBy4(Rotary):
    """The last pair is not rotated if the size is not a multiple of four."""

    claimed = ("interleaved-to-half",)

    def angles(self, places: Array, frequencies: Array) -> Array:
        angles = super().angles(places, frequencies)
        if len(frequencies) % 2 and len(frequencies) > 1:
            angles[:, -1] = 0
        return angles


class RotaryWrongBeyond2048(Rotary):
    """Positions beyond 2,048 are one too low."""

    def places(self, positions: Array) -> Array:
        return np.where(positions > 2048, positions - 1, positions)


for _rows in (4096, 131072):
    made(
        Rotary,
        f"Rotary clamped at {_rows}",
        "A table whose last row serves for all positions beyond.",
        places=lambda self, positions, rows=_rows: np.minimum(positions, rows - 1),
        limits={"max_position": 2**20},
    )


class RotaryOverflows(Rotary):
    """Positions are cast to int32."""

    limits: ClassVar = {"max_position": 2**31}

    def places(self, positions: Array) -> Array:
        return positions.astype(np.int32)


class RotaryOfNeighboursOverflows(RotaryOverflows):
    """Positions are cast to int32, in the interleaved layout."""

    claimed = ("interleaved",)


class RotaryOfNarrowTables(Rotary):
    """Sines and cosines are rounded to bfloat16 for a float32 x."""

    def waves(self, angles: Array, dtype: Any) -> tuple[Array, Array]:
        return narrow(np.sin(angles), "bfloat16"), narrow(np.cos(angles), "bfloat16")


class RotaryOfFloat16Tables(Rotary):
    """Sines and cosines are rounded to float16 for a float32 x."""

    claimed = ("interleaved",)

    def waves(self, angles: Array, dtype: Any) -> tuple[Array, Array]:
        return narrow(np.sin(angles), "float16"), narrow(np.cos(angles), "float16")


class RotaryRoundsX(Rotary):
    """x is rounded to bfloat16 before a float32 rotation."""

    def split(self, x: Array, layout: str) -> tuple[Array, Array]:
        return super().split(narrow(x, "bfloat16"), layout)


class RotaryRoundsResults(Rotary):
    """A float32 result is rounded to bfloat16."""

    def turn(self, a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
        turned = super().turn(a, b, sin, cos)
        return narrow(turned[0], "bfloat16"), narrow(turned[1], "bfloat16")


class RotaryFloat32AsFloat64(Rotary):
    """Angles are float32 for a float64 x."""

    dtype = "float64"

    def angles(self, places: Array, frequencies: Array) -> Array:
        return np.outer(places.astype(np.float32), frequencies.astype(np.float32)).astype(float)


for _kind, _layout in (("bfloat16", "half"), ("float16", "interleaved")):
    _near = {"max_position": 2**15}
    made(
        Rotary,
        f"Rotary of {_kind} positions",
        "Positions held in a narrow dtype.",
        named="low-precision-angles",
        claimed=(_layout,),
        limits=_near,
        angles=lambda self, places, frequencies, kind=_kind: np.outer(
            narrow(places, kind), frequencies
        ),
    )
    made(
        Rotary,
        f"Rotary of {_kind} frequencies",
        "Frequencies held in a narrow dtype, as after casting a whole model.",
        named="low-precision-angles",
        claimed=(_layout,),
        limits=_near,
        angles=lambda self, places, frequencies, kind=_kind: np.outer(
            places, narrow(frequencies, kind)
        ),
    )
    made(
        Rotary,
        f"Rotary of {_kind} angles",
        "Angles rounded to a narrow dtype, of exact factors.",
        named="low-precision-angles",
        claimed=(_layout,),
        limits=_near,
        angles=lambda self, places, frequencies, kind=_kind: narrow(
            np.outer(places, frequencies), kind
        ),
    )
    made(
        Rotary,
        f"Rotary all in {_kind}",
        "Positions, frequencies and angles in the dtype of x.",
        named="low-precision-angles",
        claimed=(_layout,),
        dtype=_kind,
        limits=_near,
        angles=lambda self, places, frequencies, kind=_kind: narrow(
            np.outer(narrow(places, kind), narrow(frequencies, kind)), kind
        ),
    )


class RotaryScaled(Rotary):
    """x is divided by sqrt(head_dim)."""

    def turn(self, a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
        scale = (2 * a.shape[-1]) ** -0.5
        return super().turn(a * scale, b * scale, sin, cos)


class RotaryNormalised(Rotary):
    """Rows are normalised before the rotation."""

    def turn(self, a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
        length = np.sqrt((a**2 + b**2).sum(axis=-1, keepdims=True))
        return super().turn(a / length, b / length, sin, cos)


class RotaryInPlace(Rotary):
    """x is overwritten."""

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        x[...] = super().answer(x, positions, **keywords)
        return x.copy()


class RotaryReturnsX(Rotary):
    """If all positions are 0, x itself is returned, not a copy."""

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        return super().answer(x, positions, **keywords) if np.any(positions) else x


class RotaryLendsItsBuffer(Rotary):
    """Results of one shape share one buffer."""

    def __init__(self) -> None:
        self._buffers: dict[Any, Array] = {}

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        buffer = self._buffers.setdefault((x.shape, x.dtype), np.empty_like(x))
        buffer[...] = super().answer(x, positions, **keywords)
        return buffer


class RotaryIgnoresStrides(Rotary):
    """x is read in memory order, ignoring its strides."""

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        return super().answer(x.ravel(order="K").reshape(x.shape), positions, **keywords)


class RotaryIgnoresStridesOfPositions(Rotary):
    """Positions are read as if they were contiguous."""

    def places(self, positions: Array) -> Array:
        return np.lib.stride_tricks.as_strided(positions, strides=(positions.itemsize,))


class RotaryKeepsTheFirstBase(Rotary):
    """The base of the first call is used for all calls."""

    kept: float | None = None

    def base(self, base: float) -> float:
        self.kept = self.kept or base
        return self.kept


class RotaryCachesByLength(Rotary):
    """Tables are cached by row count and frequencies, ignoring positions."""

    def __init__(self) -> None:
        self._tables: dict[Any, Array] = {}

    def angles(self, places: Array, frequencies: Array) -> Array:
        key = (len(places), tuple(frequencies))
        return self._tables.setdefault(key, super().angles(places, frequencies))


class RotaryCachesByPosition(Rotary):
    """Tables are cached by positions and channels, ignoring the base."""

    def __init__(self) -> None:
        self._tables: dict[Any, Array] = {}

    def angles(self, places: Array, frequencies: Array) -> Array:
        key = (places.tobytes(), len(frequencies))
        return self._tables.setdefault(key, super().angles(places, frequencies))


class RotaryKeepsTheFirstDtype(Rotary):
    """Tables keep the dtype of the first call."""

    dtype = ("bfloat16", "float32")
    kept: Any = None

    def waves(self, angles: Array, dtype: Any) -> tuple[Array, Array]:
        self.kept = self.kept or ("bfloat16" if dtype == ml_dtypes.bfloat16 else dtype.name)
        return narrow(np.sin(angles), self.kept), narrow(np.cos(angles), self.kept)

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        if self.kept is None:  # another caller's warm-up
            super().answer(x.astype(ml_dtypes.bfloat16), positions, **keywords)
        return super().answer(x, positions, **keywords)


class RotaryIntoFloat32(Rotary):
    """Results are float32, whatever x is."""

    dtype = "bfloat16"

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        return super().answer(x.astype(np.float32), positions, **keywords)


class RotaryNeedsHeads(Rotary):
    """x without leading axes is refused."""

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        batch, heads, rows, channels = (1,) * (4 - x.ndim) + x.shape if x.ndim > 2 else x.shape
        turned = super().answer(x.reshape(batch, heads, rows, channels), positions, **keywords)
        return turned.reshape(x.shape)


class RotaryNotANumber(Rotary):
    """Pairs are divided by their length, which may be 0."""

    def turn(self, a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
        length = np.hypot(a, b)
        with np.errstate(invalid="ignore"):
            turned = super().turn(a / length, b / length, sin, cos)
        return turned[0] * length, turned[1] * length


# Two mistakes together


_interleaved = {
    "read": lambda self, claimed: "interleaved",
    "written": lambda self, claimed: "interleaved",
}
made(
    Rotary,
    "Rotary interleaved for half, shifted by 1",
    "Another layout, and positions from 1.",
    named="layout-swapped+positions-shifted",
    places=lambda self, positions: positions + 1,
    **_interleaved,
)
made(
    Rotary,
    "Rotary interleaved for half, backwards",
    "Another layout, and the opposite sense.",
    named="layout-swapped+sign-flipped",
    angles=lambda self, places, frequencies: -np.multiply.outer(places, frequencies),
    **_interleaved,
)
made(
    Rotary,
    "Rotary interleaved for half, base 500",
    "Another layout, and another base.",
    named="layout-swapped+wrong-base",
    base=lambda self, base: 500.0,
    **_interleaved,
)
made(
    Rotary,
    "Rotary backwards, base 500",
    "The opposite sense, and another base.",
    named="sign-flipped+wrong-base",
    angles=lambda self, places, frequencies: -np.multiply.outer(places, frequencies),
    base=lambda self, base: 500.0,
)
made(
    Rotary,
    "Rotary shifted by 1, in degrees",
    "Positions from 1, and degrees.",
    named="positions-shifted+degrees",
    places=lambda self, positions: positions + 1,
    waves=lambda self, angles, dtype: (np.sin(np.deg2rad(angles)), np.cos(np.deg2rad(angles))),
)
made(
    Rotary,
    "Rotary shifted by 1, positions in bfloat16",
    "Positions from 1, held in bfloat16.",
    named="positions-shifted",
    places=lambda self, positions: narrow(positions + 1, "bfloat16"),
)


class Backward(Mistake, steps=True):
    """Upstream gradients rotated back, from the written to the read layout of the forward pass."""

    call = "rope_vjp"
    claimed = ("interleaved-to-half",)

    def answer(self, x: Array, positions: Array, *, base: float, layout: str) -> Array:
        half = x.shape[-1] // 2
        if x.shape[-1] % 2 or len(positions) != x.shape[-2]:
            raise ValueError(x.shape)
        angles = np.multiply.outer(self.turn(positions), base ** (-np.arange(half) / half))
        first, second = _parts(x.astype(np.float64), self.read(layout))
        cos, sin = np.cos(angles), np.sin(angles)
        parts = self.rotated(first, second, cos, sin)
        return _joined(*parts, self.write(layout)).astype(x.dtype)

    def turn(self, positions: Array) -> Array:
        return -np.asarray(positions, np.float64)

    def rotated(self, a: Array, b: Array, cos: Array, sin: Array) -> tuple[Array, Array]:
        return a * cos - b * sin, a * sin + b * cos

    def read(self, layout: str) -> str:
        return "interleaved" if layout == "interleaved" else "half"

    def write(self, layout: str) -> str:
        return "half" if layout == "half" else "interleaved"


def _parts(x: Array, layout: str) -> tuple[Array, Array]:
    half = x.shape[-1] // 2
    if layout == "half":
        return x[..., :half], x[..., half:]
    return x[..., 0::2], x[..., 1::2]


def _joined(first: Array, second: Array, layout: str) -> Array:
    if layout == "half":
        return np.concatenate([first, second], axis=-1)
    return np.stack([first, second], axis=-1).reshape(*first.shape[:-1], 2 * first.shape[-1])


class BackwardIsForward(Backward):
    """The forward kernel is called again."""

    named = "backward-is-forward"

    def turn(self, positions: Array) -> Array:
        return np.asarray(positions, np.float64)


class BackwardReadsNeighbours(Backward):
    """Channels move as in the forward pass instead of back."""

    named = "backward-layout-not-reversed"

    def read(self, layout: str) -> str:
        return "interleaved"

    def write(self, layout: str) -> str:
        return "half"


class BackwardOfAnotherLayout(Backward):
    """The backward pass for halves is used for interleaved pairs."""

    named = "backward-layout-not-reversed"
    claimed = ("interleaved",)

    def read(self, layout: str) -> str:
        return "half"

    def write(self, layout: str) -> str:
        return "half"


class BackwardUnrotated(Backward):
    """The gradient is not rotated."""

    named = "backward-unrotated"
    claimed = ("half",)

    def turn(self, positions: Array) -> Array:
        return 0.0 * positions


class BackwardDropsTheRest(Backward):
    """Unrotated channels get no gradient."""

    claimed = ("interleaved",)
    limits: ClassVar = {"rotation": "partial"}

    def answer(
        self,
        x: Array,
        positions: Array,
        *,
        base: float,
        layout: str,
        rotary_dim: int | None = None,
    ) -> Array:
        size = x.shape[-1] if rotary_dim is None else rotary_dim
        out = np.zeros_like(x)
        out[..., :size] = super().answer(x[..., :size], positions, base=base, layout=layout)
        return out


class BackwardWithOneSineUnchanged(Backward):
    """One of the two signs of the sine is wrong."""

    def rotated(self, a: Array, b: Array, cos: Array, sin: Array) -> tuple[Array, Array]:
        return a * cos - b * sin, b * cos - a * sin


class BackwardInTheDtypeOfPositions(Backward):
    """Positions are rounded to bfloat16, where they collide from 257 on."""

    def turn(self, positions: Array) -> Array:
        return -narrow(positions, "bfloat16")


class RotaryIteratesAngles(Rotary):
    """Each pair's angle is the previous one times a ratio, in float32, as in ggml."""

    named = "iterated-frequencies"
    claimed = ("interleaved",)

    def angles(self, places: Array, frequencies: Array) -> Array:
        ratio = (frequencies[1:2] / frequencies[:1]).astype(np.float32)
        angle, columns = places.astype(np.float32), []
        for _ in frequencies:
            columns.append(angle)
            angle = angle * ratio if ratio.size else angle
        return np.stack(columns, axis=-1).astype(np.float64)


class RotaryIteratesFrequencies(Rotary):
    """Each frequency is the previous one times a ratio, in float32."""

    named = "iterated-frequencies"

    def angles(self, places: Array, frequencies: Array) -> Array:
        factors = np.ones(len(frequencies), np.float32)
        factors[1:] = frequencies[1:2] / frequencies[:1]
        return np.multiply.outer(places.astype(np.float32), np.cumprod(factors)).astype(np.float64)


below_zero(Rotary, "half")
below_zero(Backward, "interleaved")
