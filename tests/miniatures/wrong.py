"""Wrong implementations: the kit must reject every one, and name the mistake where it is known.

Each call has a right implementation in steps, and each class that follows gets one step wrong.
``named`` is the deviation that the kit must name first; None where the spec knows no such mistake.
"""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import ml_dtypes
import numpy as np
import numpy.typing as npt

from posenc_conformance import claims

Array = npt.NDArray[Any]

KINDS: dict[str, Any] = {
    "float64": np.float64,
    "float32": np.float32,
    "bfloat16": ml_dtypes.bfloat16,
    "float16": np.float16,
}
WRONG: list[type["Mistake"]] = []


def narrow(values: Any, kind: str) -> Array:
    """Values as they come out of a narrow dtype."""
    return np.asarray(values, dtype=np.float64).astype(KINDS[kind]).astype(np.float64)


class Mistake:
    """An adapter with one method, which claims what its class says."""

    named: ClassVar[str | None] = None
    call: ClassVar[str]
    claimed: ClassVar[tuple[str, ...]]
    dtype: ClassVar[str | tuple[str, ...]] = "float32"
    limits: ClassVar[Mapping[str, Any]] = {}

    def __init_subclass__(cls, steps: bool = False) -> None:
        if not steps:
            WRONG.append(declared(cls))

    def answer(self, *arguments: Any, **keywords: Any) -> Any:
        raise NotImplementedError


def declared(adapter: type[Mistake]) -> type[Mistake]:
    """The same class, with the method that the kit calls and what it claims."""

    def method(self: Mistake, *arguments: Any, **keywords: Any) -> Any:
        return self.answer(*arguments, **keywords)

    claim = claims(*adapter.claimed, dtype=adapter.dtype, **adapter.limits)
    setattr(adapter, adapter.call, claim(method))
    return adapter


def made(base: type, name: str, why: str, /, **attributes: Any) -> None:
    """One more mistake of a family."""
    type(name, (base,), {"__doc__": why, "__module__": __name__, **attributes})


# Sinusoidal


class Sinusoid(Mistake, steps=True):
    """Sines and cosines of positions times frequencies, in steps."""

    call = "sinusoidal"
    claimed = ("paper",)

    def answer(self, positions: Array, dim: int, *, base: float, dtype: str, **rules: Any) -> Array:
        pairs = self.pairs(dim, rules)
        if pairs < 1:
            raise ValueError(dim)
        frequencies = self.base(base) ** -self.exponents(pairs, dim, rules)
        angles = self.angles(self.places(positions, rules["first_position"]), frequencies)
        sin, cos = self.waves(angles)
        table = self.join(sin, cos, dim, rules) * self.scale(dim, rules["scale"])
        return table.astype(KINDS[dtype])

    def pairs(self, dim: int, rules: Mapping[str, Any]) -> int:
        return dim // 2 if rules.get("odd_dim") == "zero" else (dim + 1) // 2

    def base(self, base: float) -> float:
        return float(base)

    def exponents(self, pairs: int, dim: int, rules: Mapping[str, Any]) -> Array:
        steps = pairs if rules["denominator"] == "d/2" else max(pairs - 1, 1)
        return np.arange(pairs) / steps

    def places(self, positions: Array, first: int) -> Array:
        return positions + first

    def angles(self, places: Array, frequencies: Array) -> Array:
        return np.multiply.outer(places.astype(np.float64), frequencies)

    def waves(self, angles: Array) -> tuple[Array, Array]:
        return np.sin(angles), np.cos(angles)

    def scale(self, dim: int, scale: str) -> float:
        return {"1": 1.0, "d^-1/2": dim**-0.5, "(2/d)^1/2": (2 / dim) ** 0.5}[scale]

    def layout(self, claimed: str) -> str:
        return claimed

    def join(self, sin: Array, cos: Array, dim: int, rules: Mapping[str, Any]) -> Array:
        layout = self.layout(rules["layout"])
        if layout == "interleaved":
            table = np.stack([sin, cos], axis=-1).reshape(len(sin), 2 * sin.shape[1])
        else:
            both = [sin, cos] if layout == "sin-cos" else [cos, sin]
            table = np.concatenate(both, axis=1)
        return np.pad(table, ((0, 0), (0, max(0, dim - table.shape[1]))))[:, :dim]


for _claimed, _combination in (
    ("interleaved", "paper"),
    ("sin-cos", "concat"),
    ("cos-sin", "adm"),
):
    for _given in ("interleaved", "sin-cos", "cos-sin"):
        if _given != _claimed:
            made(
                Sinusoid,
                f"Sinusoid {_given} for {_claimed}",
                "Channels in the order of another layout.",
                named="layout-swapped",
                claimed=(_combination,),
                layout=lambda self, claimed, given=_given: given,
            )

for _combination, _shift in (
    ("paper", 1),
    ("paper", -1),
    ("concat", 2),
    ("fairseq", -2),
    ("fairseq", -1),
    ("opennmt", -1),
    ("ddpm", 1),
):
    made(
        Sinusoid,
        f"Sinusoid {_combination} shifted by {_shift}",
        "Positions that count from another number.",
        named="positions-shifted",
        claimed=(_combination,),
        places=lambda self, positions, first, shift=_shift: positions + first + shift,
    )

for _number in (10000.0, 12345.0, 100.0, 10000000.0):
    made(
        Sinusoid,
        f"Sinusoid with base {_number:.0f}",
        "One base, whatever is asked for.",
        named="wrong-base",
        base=lambda self, base, number=_number: number,
    )


class SinusoidSlightlyOtherBase(Sinusoid):
    """A base that is 1 % too large, in a combination without a free base."""

    named = "wrong-base"
    claimed = ("musicgen",)
    limits: ClassVar = {"base": 10000.0}

    def base(self, base: float) -> float:
        return 10100.0


class SinusoidNegated(Sinusoid):
    """Angles of the opposite sign."""

    named = "sign-flipped"

    def angles(self, places: Array, frequencies: Array) -> Array:
        return -super().angles(places, frequencies)


class SinusoidInDegrees(Sinusoid):
    """Angles taken for degrees."""

    named = "degrees"

    def angles(self, places: Array, frequencies: Array) -> Array:
        return np.deg2rad(super().angles(places, frequencies))


class SinusoidInDegreesConcatenated(SinusoidInDegrees):
    """Angles taken for degrees, sines first."""

    claimed = ("tensor2tensor",)


class SinusoidExponentDoubled(Sinusoid):
    """Steps over even numbers and doubles them again."""

    named = "exponent-doubled"

    def exponents(self, pairs: int, dim: int, rules: Mapping[str, Any]) -> Array:
        return 2 * super().exponents(pairs, dim, rules)


class SinusoidExponentHalved(Sinusoid):
    """Exponent t/d: the square root of the base."""

    named = "wrong-base"

    def exponents(self, pairs: int, dim: int, rules: Mapping[str, Any]) -> Array:
        return super().exponents(pairs, dim, rules) / 2


class SinusoidFrequenciesFlipped(Sinusoid):
    """The slowest pair first."""

    def exponents(self, pairs: int, dim: int, rules: Mapping[str, Any]) -> Array:
        return super().exponents(pairs, dim, rules)[::-1]


class SinusoidDividesByOneLess(Sinusoid):
    """Divides by d/2-1 where d/2 is claimed."""

    named = "denominator-swapped"

    def exponents(self, pairs: int, dim: int, rules: Mapping[str, Any]) -> Array:
        return np.arange(pairs) / max(pairs - 1, 1)


class SinusoidDividesByOneMore(Sinusoid):
    """Divides by d/2 where d/2-1 is claimed."""

    named = "denominator-swapped"
    claimed = ("whisper",)

    def exponents(self, pairs: int, dim: int, rules: Mapping[str, Any]) -> Array:
        return np.arange(pairs) / pairs


class SinusoidOddChannelExponent(Sinusoid):
    """The cosine of channel 2t+1 has the exponent (2t+1)/d."""

    named = "odd-channel-exponent"

    def answer(self, positions: Array, dim: int, *, base: float, dtype: str, **rules: Any) -> Array:
        angles = positions[:, None] / base ** (np.arange(dim) / dim)
        waves = np.where(np.arange(dim) % 2, np.cos(angles), np.sin(angles))
        return waves.astype(KINDS[dtype])


class SinusoidWavesSwapped(Sinusoid):
    """Cosine where the sine belongs."""

    named = "waves-swapped"

    def waves(self, angles: Array) -> tuple[Array, Array]:
        return np.cos(angles), np.sin(angles)


for _combination, _factor in (
    ("mlx", "1"),
    ("mlx", "d^-1/2"),
    ("x-transformers", "1"),
    ("paper", "d^-1/2"),
):
    made(
        Sinusoid,
        f"Sinusoid {_combination} scaled by {_factor}",
        "A factor of another convention, or none.",
        named="wrong-scale",
        claimed=(_combination,),
        scale=lambda self, dim, scale, given=_factor: Sinusoid.scale(self, dim, given),
    )


class SinusoidTooLong(Sinusoid):
    """Every value times 1.2, which a comparison of directions does not see."""

    named = "wrong-scale"

    def scale(self, dim: int, scale: str) -> float:
        return 1.2


class SinusoidScaledLikeEmbeddings(Sinusoid):
    """Multiplied by sqrt(d), which belongs to the embeddings."""

    named = "wrong-scale"
    claimed = ("concat",)

    def scale(self, dim: int, scale: str) -> float:
        return math.sqrt(dim)


for _rows in (4096, 131072):
    _far = {"max_position": 2**20}
    made(
        Sinusoid,
        f"Sinusoid wrapped at {_rows}",
        "A table that begins again.",
        places=lambda self, positions, first, rows=_rows: (positions + first) % rows,
        limits=_far,
    )
    made(
        Sinusoid,
        f"Sinusoid clamped at {_rows}",
        "A table whose last row serves for all positions beyond.",
        places=lambda self, positions, first, rows=_rows: np.minimum(positions + first, rows - 1),
        limits=_far,
    )

for _kind in ("bfloat16", "float16"):
    _near = {"max_position": 2**15}
    made(
        Sinusoid,
        f"Sinusoid of {_kind} positions",
        "Positions held in a narrow dtype.",
        named="low-precision-angles",
        limits=_near,
        angles=lambda self, places, frequencies, kind=_kind: np.outer(
            narrow(places, kind), frequencies
        ),
    )
    made(
        Sinusoid,
        f"Sinusoid of {_kind} frequencies",
        "Frequencies held in a narrow dtype.",
        named="low-precision-angles",
        limits=_near,
        angles=lambda self, places, frequencies, kind=_kind: np.outer(
            places, narrow(frequencies, kind)
        ),
    )
    made(
        Sinusoid,
        f"Sinusoid of {_kind} angles",
        "Angles rounded to a narrow dtype, of exact factors.",
        named="low-precision-angles",
        limits=_near,
        angles=lambda self, places, frequencies, kind=_kind: narrow(
            np.outer(places, frequencies), kind
        ),
    )
    made(
        Sinusoid,
        f"Sinusoid all in {_kind}",
        "Positions, frequencies and angles in the dtype of the result.",
        named="low-precision-angles",
        dtype=_kind,
        limits=_near,
        angles=lambda self, places, frequencies, kind=_kind: narrow(
            np.outer(narrow(places, kind), narrow(frequencies, kind)), kind
        ),
    )


class SinusoidOfPolynomials(Sinusoid):
    """A sine that is off by up to 1e-6, as from a short polynomial."""

    def waves(self, angles: Array) -> tuple[Array, Array]:
        return self._sine(angles), self._sine(angles + np.pi / 2)

    @staticmethod
    def _sine(angles: Array) -> Array:
        x = np.remainder(angles + np.pi / 2, 2 * np.pi) - np.pi / 2
        x = np.where(x > np.pi / 2, np.pi - x, x)
        return x * (1 - x**2 / 6 * (1 - x**2 / 20 * (1 - x**2 / 42 * (1 - x**2 / 72.02))))


class SinusoidOfCoarsePi(Sinusoid):
    """Angles reduced by 3.14159, too few digits for float32."""

    limits: ClassVar = {"max_position": 2**20}

    def angles(self, places: Array, frequencies: Array) -> Array:
        return np.remainder(super().angles(places, frequencies), 2 * 3.14159)


class SinusoidOfShortPi(Sinusoid):
    """Angles reduced by 3.14159265, too few digits for float64."""

    dtype = "float64"

    def angles(self, places: Array, frequencies: Array) -> Array:
        return np.remainder(super().angles(places, frequencies), 2 * 3.14159265)


class SinusoidOfFloat32AnglesAsFloat64(Sinusoid):
    """Float32 angles behind a float64 result."""

    dtype = "float64"

    def angles(self, places: Array, frequencies: Array) -> Array:
        return np.outer(places.astype(np.float32), frequencies.astype(np.float32)).astype(float)


class SinusoidRoundedTwice(Sinusoid):
    """A bfloat16 table behind a float32 result."""

    def waves(self, angles: Array) -> tuple[Array, Array]:
        return narrow(np.sin(angles), "bfloat16"), narrow(np.cos(angles), "bfloat16")


class SinusoidOneChannelLess(Sinusoid):
    """The last channel of an odd number is lost."""

    limits: ClassVar = {"odd_dim": "cut"}

    def answer(self, positions: Array, dim: int, **keywords: Any) -> Array:
        return super().answer(positions, dim // 2 * 2, **keywords)


class SinusoidZerosFirst(Sinusoid):
    """The column of zeros before the sines."""

    claimed = ("tensor2tensor",)

    def answer(self, positions: Array, dim: int, **keywords: Any) -> Array:
        return np.roll(super().answer(positions, dim, **keywords), dim % 2, axis=1)


class SinusoidZerosBetween(Sinusoid):
    """The column of zeros between cosines and sines."""

    claimed = ("adm",)

    def join(self, sin: Array, cos: Array, dim: int, rules: Mapping[str, Any]) -> Array:
        return np.concatenate([cos, np.zeros((len(sin), dim % 2)), sin], axis=1)


class SinusoidCutForUneven(Sinusoid):
    """Exponents of d+1 channels where those of d are claimed."""

    limits: ClassVar = {"odd_dim": "uneven"}


class SinusoidNotANumber(Sinusoid):
    """0/0 at position 0."""

    def waves(self, angles: Array) -> tuple[Array, Array]:
        with np.errstate(invalid="ignore"):
            return np.sin(angles) * (angles / angles), np.cos(angles)


class SinusoidPadding(Sinusoid):
    """A row of zeros at position 0, as if it were padding."""

    def answer(self, positions: Array, dim: int, **keywords: Any) -> Array:
        return super().answer(positions, dim, **keywords) * (positions != 0)[:, None]


class SinusoidTransposed(Sinusoid):
    """Channels first."""

    def answer(self, positions: Array, dim: int, **keywords: Any) -> Array:
        return super().answer(positions, dim, **keywords).T


class SinusoidWithBatchAxis(Sinusoid):
    """An axis of length 1 in front."""

    def answer(self, positions: Array, dim: int, **keywords: Any) -> Array:
        return super().answer(positions, dim, **keywords)[None]


class SinusoidInFloat64(Sinusoid):
    """The dtype asked for is ignored."""

    def answer(self, positions: Array, dim: int, **keywords: Any) -> Array:
        return super().answer(positions, dim, **(keywords | {"dtype": "float64"}))


class SinusoidWrongBeyond2048(Sinusoid):
    """Right up to position 2,048."""

    def places(self, positions: Array, first: int) -> Array:
        return np.where(positions > 2048, positions - 1, positions) + first


class SinusoidWrongFromChannel256(Sinusoid):
    """Channels from 256 on repeat the first 256, as in a kernel for smaller models."""

    claimed = ("tensor2tensor",)

    def answer(self, positions: Array, dim: int, **keywords: Any) -> Array:
        return super().answer(positions, dim, **keywords)[:, np.arange(dim) % 256]


class SinusoidWrongUnlessDivisibleBy4(Sinusoid):
    """The last channels of a size that is no multiple of four are left at zero."""

    claimed = ("x-transformers",)

    def answer(self, positions: Array, dim: int, **keywords: Any) -> Array:
        table = super().answer(positions, dim, **keywords)
        table[:, dim // 4 * 4 :] = 0
        return table


class SinusoidWrongFromRow128(Sinusoid):
    """Rows from 128 on are left at zero, as by a kernel launched for one block."""

    def answer(self, positions: Array, dim: int, **keywords: Any) -> Array:
        table = super().answer(positions, dim, **keywords)
        table[128:] = 0
        return table


class SinusoidOfTheNextPowerOfTwo(Sinusoid):
    """Frequencies of the next power of two, as in a kernel that pads."""

    def exponents(self, pairs: int, dim: int, rules: Mapping[str, Any]) -> Array:
        return np.arange(pairs) / 2 ** (pairs - 1).bit_length()


class SinusoidNumbersRows(Sinusoid):
    """Rows numbered from 0; the positions are not looked at."""

    def places(self, positions: Array, first: int) -> Array:
        return np.arange(len(positions)) + first


class SinusoidCountsOn(Sinusoid):
    """Positions assumed to count on from the first one given."""

    def places(self, positions: Array, first: int) -> Array:
        return np.arange(len(positions)) + first + (positions[0] if positions.size else 0)


class SinusoidSorts(Sinusoid):
    """Positions sorted on the way."""

    def places(self, positions: Array, first: int) -> Array:
        return np.sort(positions) + first


class SinusoidOverflows(Sinusoid):
    """Positions cast to int32."""

    limits: ClassVar = {"max_position": 2**31}

    def places(self, positions: Array, first: int) -> Array:
        return positions.astype(np.int32) + first


class SinusoidOfShortIntegers(Sinusoid):
    """Positions cast to int16."""

    def places(self, positions: Array, first: int) -> Array:
        return positions.astype(np.int16) + first


class SinusoidCutsRealPositions(Sinusoid):
    """Real positions cut to whole ones."""

    limits: ClassVar = {"domain": "real"}

    def places(self, positions: Array, first: int) -> Array:
        return np.floor(positions) + first


class SinusoidOfMagnitudes(Sinusoid):
    """Negative positions lose their sign."""

    limits: ClassVar = {"domain": "negative"}

    def places(self, positions: Array, first: int) -> Array:
        return np.abs(positions) + first


class SinusoidNoisy(Sinusoid):
    """Another result at every call, within the bound."""

    calls = 0

    def scale(self, dim: int, scale: str) -> float:
        self.calls += 1
        return 1 + (self.calls % 2) * 1e-7


class SinusoidWarmsUp(Sinusoid):
    """The first call finds an empty table."""

    warm = False

    def scale(self, dim: int, scale: str) -> float:
        was_warm, self.warm = self.warm, True
        return float(was_warm)


class SinusoidRefusesInt32(Sinusoid):
    """Positions of another integer type are refused."""

    def places(self, positions: Array, first: int) -> Array:
        if positions.dtype != np.int64:
            raise TypeError(positions.dtype)
        return positions + first


class SinusoidRefusesNothing(Sinusoid):
    """No positions have no largest one."""

    def places(self, positions: Array, first: int) -> Array:
        return np.arange(positions.max() + 1)[positions] + first


class SinusoidChangesPositions(Sinusoid):
    """Adds the first position to the caller's own array."""

    claimed = ("opennmt",)

    def places(self, positions: Array, first: int) -> Array:
        positions += first
        return positions


class SinusoidLendsItsTable(Sinusoid):
    """Results are views of a cached table."""

    def __init__(self) -> None:
        self._tables: dict[Any, Array] = {}

    def answer(self, positions: Array, dim: int, **keywords: Any) -> Array:
        key = (positions.tobytes(), positions.dtype, dim, *sorted(keywords.items()))
        if key not in self._tables:
            self._tables[key] = super().answer(positions, dim, **keywords)
        return self._tables[key]


class SinusoidKeepsTheFirstBase(Sinusoid):
    """The base of the first call serves for all."""

    kept: float | None = None

    def base(self, base: float) -> float:
        self.kept = self.kept or base
        return self.kept


class SinusoidCachesByLength(Sinusoid):
    """One result per number of rows and channels, whatever the positions."""

    def __init__(self) -> None:
        self._rows: dict[Any, Array] = {}

    def answer(self, positions: Array, dim: int, **keywords: Any) -> Array:
        key = len(positions), dim, keywords["base"]
        if key not in self._rows:
            self._rows[key] = super().answer(positions, dim, **keywords)
        return self._rows[key].copy()


class SinusoidKeepsTheFirstDtype(Sinusoid):
    """The dtype of the first call serves for all."""

    dtype = ("float32", "float16")
    kept: str | None = None

    def answer(self, positions: Array, dim: int, **keywords: Any) -> Array:
        self.kept = self.kept or keywords["dtype"]
        return super().answer(positions, dim, **(keywords | {"dtype": self.kept}))


# Rotary


class Rotary(Mistake, steps=True):
    """Pairs of channels turned by positions times frequencies, in steps."""

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
    """Read as halves, written to pairs, which no convention does."""

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
    """Rotation in the opposite sense."""

    named = "sign-flipped"

    def turn(self, a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
        return a * cos + b * sin, b * cos - a * sin


class RotaryInverseOfPairs(RotaryInverse):
    """Rotation in the opposite sense, of neighbouring channels."""

    claimed = ("interleaved",)


class RotaryReflects(Rotary):
    """One sign wrong: a reflection instead of a rotation."""

    def turn(self, a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
        return a * cos + b * sin, b * cos + a * sin


class RotaryTransposesPairs(Rotary):
    """The two members of each pair written in exchanged places."""

    def turn(self, a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
        return b * cos + a * sin, a * cos - b * sin


class RotarySwapsWaves(Rotary):
    """Sine and cosine exchanged."""

    def waves(self, angles: Array, dtype: Any) -> tuple[Array, Array]:
        return np.cos(angles), np.sin(angles)


class RotaryMixesTables(Rotary):
    """Tables repeated per pair, used with halves."""

    def turn(self, a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
        n = a.shape[-1]
        sin, cos = np.repeat(sin, 2, axis=-1), np.repeat(cos, 2, axis=-1)
        return a * cos[..., :n] - b * sin[..., :n], b * cos[..., n:] + a * sin[..., n:]


class RotaryMixesTablesOfPairs(Rotary):
    """Tables tiled in halves, used with neighbouring channels."""

    claimed = ("interleaved",)

    def turn(self, a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
        sin, cos = np.tile(sin, 2), np.tile(cos, 2)
        return a * cos[..., 0::2] - b * sin[..., 0::2], b * cos[..., 1::2] + a * sin[..., 1::2]


class RotaryOfHeadDim(Rotary):
    """Frequencies follow from head_dim although fewer channels are rotated."""

    named = "head-dim-frequencies"
    limits: ClassVar = {"rotation": "partial"}

    def exponents(self, size: int, head_dim: int) -> Array:
        return np.arange(0, size, 2) / head_dim


class RotaryOfHeadDimInterleaved(RotaryOfHeadDim):
    """Frequencies follow from head_dim, in pairs of neighbours."""

    claimed = ("interleaved",)


class RotaryOfAllChannels(Rotary):
    """rotary_dim ignored."""

    named = "rotary-dim-ignored"
    limits: ClassVar = {"rotation": "partial"}

    def size(self, x: Array, rotary_dim: int | None) -> int:
        return x.shape[-1]


class RotaryOfAllChannelsInterleaved(RotaryOfAllChannels):
    """rotary_dim ignored, in pairs of neighbours."""

    claimed = ("interleaved-to-half",)


class RotaryOfLastChannels(Rotary):
    """The trailing channels are rotated instead of the leading ones."""

    limits: ClassVar = {"rotation": "partial"}

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        skipped = x.shape[-1] - (keywords.get("rotary_dim") or x.shape[-1])
        turned = super().answer(np.roll(x, -skipped, axis=-1), positions, **keywords)
        return np.roll(turned, skipped, axis=-1)


class RotaryDropsTheRest(Rotary):
    """Channels beyond rotary_dim are set to zero."""

    limits: ClassVar = {"rotation": "partial"}

    def finish(self, turned: Array, rest: Array) -> Array:
        return np.concatenate([turned, np.zeros_like(rest)], axis=-1)


class RotaryTouchesTheRest(Rotary):
    """Channels beyond rotary_dim are off by one unit in the last place."""

    limits: ClassVar = {"rotation": "partial"}

    def finish(self, turned: Array, rest: Array) -> Array:
        return np.concatenate([turned, np.nextafter(rest, np.float32(np.inf))], axis=-1)


class RotaryRoundsTheRest(Rotary):
    """Channels beyond rotary_dim go through bfloat16, behind a float32 result."""

    limits: ClassVar = {"rotation": "partial"}

    def finish(self, turned: Array, rest: Array) -> Array:
        return np.concatenate([turned, narrow(rest, "bfloat16").astype(np.float32)], axis=-1)


class RotaryUnrotated(Rotary):
    """x as it came."""

    named = "unrotated"

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        return x.copy()


class RotaryInDegrees(Rotary):
    """Angles taken for degrees."""

    named = "degrees"

    def angles(self, places: Array, frequencies: Array) -> Array:
        return np.deg2rad(super().angles(places, frequencies))


class RotaryExponentHalved(Rotary):
    """Exponent t/d instead of 2t/d."""

    named = "exponent-halved"

    def exponents(self, size: int, head_dim: int) -> Array:
        return np.arange(size // 2) / size


class RotaryExponentHalvedInterleaved(RotaryExponentHalved):
    """Exponent t/d instead of 2t/d, in pairs of neighbours."""

    claimed = ("interleaved",)


class RotaryExponentDoubled(Rotary):
    """Exponent 4t/d: the square of the base."""

    named = "wrong-base"

    def exponents(self, size: int, head_dim: int) -> Array:
        return np.arange(0, 2 * size, 4) / size


class RotaryDividesByOneLess(Rotary):
    """Exponent t/(d/2-1), as some sinusoids have."""

    def exponents(self, size: int, head_dim: int) -> Array:
        return np.arange(size // 2) / max(size // 2 - 1, 1)


class RotaryOfTheNextPowerOfTwo(Rotary):
    """Frequencies of the next power of two, as in a kernel that pads the head."""

    def exponents(self, size: int, head_dim: int) -> Array:
        return np.arange(0, size, 2) / 2 ** (size - 1).bit_length()


class RotaryStretched(Rotary):
    """Positions divided by two, as for a longer context."""

    def places(self, positions: Array) -> Array:
        return positions / 2


class RotaryNumbersRows(Rotary):
    """Rows numbered from 0; the positions are not looked at."""

    def places(self, positions: Array) -> Array:
        return np.arange(len(positions))


class RotaryFromTheFirst(Rotary):
    """Positions counted from the first one given."""

    claimed = ("interleaved",)

    def places(self, positions: Array) -> Array:
        return positions - positions[:1]


class RotaryAlongHeads(Rotary):
    """The heads are numbered instead of the rows, where there are heads."""

    def angles(self, places: Array, frequencies: Array) -> Array:
        self.frequencies = frequencies
        return super().angles(places, frequencies)

    def turn(self, a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
        if a.ndim > 2:
            angles = np.arange(a.shape[-3])[:, None, None] * self.frequencies
            sin, cos = np.sin(angles), np.cos(angles)
        return super().turn(a, b, sin, cos)


class RotaryFirstElementOnly(Rotary):
    """Only the first element of a batch is rotated."""

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        out = x.copy()
        first = (0,) * (x.ndim - 2)
        out[first] = super().answer(x[first], positions, **keywords)
        return out


class RotaryWrongFromBatch2(Rotary):
    """Elements of a batch from index 2 on are returned unrotated."""

    claimed = ("interleaved",)

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        out = super().answer(x, positions, **keywords)
        if x.ndim > 2:
            out[2:] = x[2:]
        return out


class RotaryWrongFromHead9(Rotary):
    """Heads from index 9 on are returned unrotated."""

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        out = super().answer(x, positions, **keywords)
        if x.ndim > 2:
            out[..., 9:, :, :] = x[..., 9:, :, :]
        return out


class RotaryWrongFromRow128(Rotary):
    """Rows from 128 on are returned unrotated, as by a kernel launched for one block."""

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        out = super().answer(x, positions, **keywords)
        out[..., 128:, :] = x[..., 128:, :]
        return out


class RotaryWrongFromChannel128(Rotary):
    """Channels from 128 on are returned unrotated."""

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        out = super().answer(x, positions, **keywords)
        out[..., 128:] = x[..., 128:]
        return out


class RotaryWrongUnlessDivisibleBy4(Rotary):
    """The last pair of a size that is no multiple of four is left out."""

    claimed = ("interleaved-to-half",)

    def angles(self, places: Array, frequencies: Array) -> Array:
        angles = super().angles(places, frequencies)
        if len(frequencies) % 2 and len(frequencies) > 1:
            angles[:, -1] = 0
        return angles


class RotaryWrongBeyond2048(Rotary):
    """Right up to position 2,048."""

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
    """Positions cast to int32."""

    limits: ClassVar = {"max_position": 2**31}

    def places(self, positions: Array) -> Array:
        return positions.astype(np.int32)


class RotaryOfNarrowTables(Rotary):
    """Sines and cosines cast to bfloat16 for a float32 x."""

    def waves(self, angles: Array, dtype: Any) -> tuple[Array, Array]:
        return narrow(np.sin(angles), "bfloat16"), narrow(np.cos(angles), "bfloat16")


class RotaryOfFloat16Tables(Rotary):
    """Sines and cosines cast to float16 for a float32 x."""

    claimed = ("interleaved",)

    def waves(self, angles: Array, dtype: Any) -> tuple[Array, Array]:
        return narrow(np.sin(angles), "float16"), narrow(np.cos(angles), "float16")


class RotaryRoundsX(Rotary):
    """x cast to bfloat16 before it is rotated in float32."""

    def split(self, x: Array, layout: str) -> tuple[Array, Array]:
        return super().split(narrow(x, "bfloat16"), layout)


class RotaryRoundsResults(Rotary):
    """Results cast to bfloat16 on the way, behind a float32 result."""

    def turn(self, a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
        turned = super().turn(a, b, sin, cos)
        return narrow(turned[0], "bfloat16"), narrow(turned[1], "bfloat16")


class RotaryFloat32AsFloat64(Rotary):
    """Float32 angles for a float64 x."""

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
    """x divided by sqrt(head_dim) on the way."""

    def turn(self, a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
        scale = (2 * a.shape[-1]) ** -0.5
        return super().turn(a * scale, b * scale, sin, cos)


class RotaryNormalised(Rotary):
    """Rows brought to length 1 before they are rotated."""

    def turn(self, a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
        length = np.sqrt((a**2 + b**2).sum(axis=-1, keepdims=True))
        return super().turn(a / length, b / length, sin, cos)


class RotaryInPlace(Rotary):
    """x is overwritten."""

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        x[...] = super().answer(x, positions, **keywords)
        return x.copy()


class RotaryReturnsX(Rotary):
    """At position 0 x itself is returned, not a copy."""

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
    """x read in the order of memory."""

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        return super().answer(x.ravel(order="K").reshape(x.shape), positions, **keywords)


class RotaryIgnoresStridesOfPositions(Rotary):
    """Positions read from their first byte on, as if they were contiguous."""

    def places(self, positions: Array) -> Array:
        return np.lib.stride_tricks.as_strided(positions, strides=(positions.itemsize,))


class RotaryKeepsTheFirstBase(Rotary):
    """The base of the first call serves for all."""

    kept: float | None = None

    def base(self, base: float) -> float:
        self.kept = self.kept or base
        return self.kept


class RotaryCachesByLength(Rotary):
    """Tables kept by number of rows and channels, whatever the positions."""

    def __init__(self) -> None:
        self._tables: dict[Any, Array] = {}

    def angles(self, places: Array, frequencies: Array) -> Array:
        key = (len(places), tuple(frequencies))
        return self._tables.setdefault(key, super().angles(places, frequencies))


class RotaryCachesByPosition(Rotary):
    """Tables kept by positions and channels, whatever the base."""

    def __init__(self) -> None:
        self._tables: dict[Any, Array] = {}

    def angles(self, places: Array, frequencies: Array) -> Array:
        key = (places.tobytes(), len(frequencies))
        return self._tables.setdefault(key, super().angles(places, frequencies))


class RotaryKeepsTheFirstDtype(Rotary):
    """Tables in the dtype of the first call serve for all."""

    dtype = ("bfloat16", "float32")
    kept: Any = None

    def waves(self, angles: Array, dtype: Any) -> tuple[Array, Array]:
        self.kept = self.kept or ("bfloat16" if dtype == ml_dtypes.bfloat16 else dtype.name)
        return narrow(np.sin(angles), self.kept), narrow(np.cos(angles), self.kept)

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        if self.kept is None:  # somebody else's warm-up
            super().answer(x.astype(ml_dtypes.bfloat16), positions, **keywords)
        return super().answer(x, positions, **keywords)


class RotaryIntoFloat32(Rotary):
    """Results are float32, whatever x is."""

    dtype = "bfloat16"

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        return super().answer(x.astype(np.float32), positions, **keywords)


class RotaryRefusesNothing(Rotary):
    """No positions have no largest one."""

    def places(self, positions: Array) -> Array:
        return np.arange(positions.max() + 1)[positions]


class RotaryNeedsHeads(Rotary):
    """x without leading axes is refused."""

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        batch, heads, rows, channels = (1,) * (4 - x.ndim) + x.shape if x.ndim > 2 else x.shape
        turned = super().answer(x.reshape(batch, heads, rows, channels), positions, **keywords)
        return turned.reshape(x.shape)


class RotaryNotANumber(Rotary):
    """Divides by the length of the pair, which may be 0."""

    def turn(self, a: Array, b: Array, sin: Array, cos: Array) -> tuple[Array, Array]:
        length = np.hypot(a, b)
        with np.errstate(invalid="ignore"):
            turned = super().turn(a / length, b / length, sin, cos)
        return turned[0] * length, turned[1] * length


# Linear biases


def plain_slopes(n: int, count: int | None = None) -> Array:
    """2^(-8h/n) for the first heads."""
    return 2.0 ** (-8 * np.arange(1, (count or n) + 1) / n)


def interpolated(heads: int) -> Array:
    """Slopes of the power of two below, then every second one of twice as many."""
    power = 1 << (heads.bit_length() - 1)
    return np.r_[plain_slopes(power), plain_slopes(2 * power)[0::2][: heads - power]]


class Slopes(Mistake, steps=True):
    """The slopes of all heads."""

    call = "alibi_slopes"
    claimed = ("interpolated",)

    def answer(self, heads: int, *, dtype: str, head_rule: str) -> Array:
        rule = plain_slopes if head_rule == "uniform" else interpolated
        return self.change(rule(heads)).astype(KINDS[dtype])

    def change(self, right: Array) -> Array:
        return right


class SlopesReversed(Slopes):
    """Steepest last."""

    named = "slopes-spread-wrongly"

    def change(self, right: Array) -> Array:
        return right[::-1]


class SlopesSorted(Slopes):
    """The second part sorted into the first."""

    named = "slopes-spread-wrongly"

    def change(self, right: Array) -> Array:
        return np.sort(right)[::-1]


class SlopesNegated(Slopes):
    """The sign of the bias already in the slope."""

    named = "slopes-spread-wrongly"

    def change(self, right: Array) -> Array:
        return -right


class SlopesFromZero(Slopes):
    """Heads counted from 0: the first slope is 1."""

    named = "slopes-spread-wrongly"
    claimed = ("uniform",)

    def change(self, right: Array) -> Array:
        return 2.0 ** (-8 * np.arange(len(right)) / len(right))


class SlopesOfNInTheSecondPart(Slopes):
    """The number of heads in place of the power of two below it, in the second part."""

    named = "slopes-spread-wrongly"

    def change(self, right: Array) -> Array:
        heads = len(right)
        power = 1 << (heads.bit_length() - 1)
        odd = 2 * np.arange(1, heads - power + 1) - 1
        return np.r_[plain_slopes(power), 2.0 ** (-4 * odd / heads)]


class SlopesUniformForInterpolated(Slopes):
    """2^(-8h/n) for any number of heads."""

    named = "head-rule-swapped"

    def change(self, right: Array) -> Array:
        return plain_slopes(len(right))


class SlopesInterpolatedForUniform(Slopes):
    """Interpolated where the paper's text is claimed to the letter."""

    named = "head-rule-swapped"
    claimed = ("uniform",)

    def change(self, right: Array) -> Array:
        return interpolated(len(right))


class SlopesOfTwiceAsMany(Slopes):
    """The first slopes of the power of two above."""

    def change(self, right: Array) -> Array:
        return plain_slopes(1 << (len(right) - 1).bit_length(), len(right))


class SlopesOfEvenPlaces(Slopes):
    """The second part from the even places of the longer list."""

    def change(self, right: Array) -> Array:
        power = 1 << (len(right).bit_length() - 1)
        return np.r_[right[:power], plain_slopes(2 * power)[1::2][: len(right) - power]]


class SlopesEndEarlier(Slopes):
    """The last slope is 2^-4 instead of 2^-8."""

    def change(self, right: Array) -> Array:
        return np.sqrt(right)


class SlopesOfBfloat16(Slopes):
    """Slopes held in bfloat16 behind a float32 result."""

    named = "narrow-slopes"

    def change(self, right: Array) -> Array:
        return narrow(right, "bfloat16")


class SlopesOfFloat32AsFloat64(Slopes):
    """Slopes held in float32 behind a float64 result."""

    dtype = "float64"

    def change(self, right: Array) -> Array:
        return narrow(right, "float32")


class SlopesRepeatFromHead9(Slopes):
    """Heads from index 9 on have the slope of head 8."""

    def change(self, right: Array) -> Array:
        return right[np.minimum(np.arange(len(right)), 8)]


class SlopesRepeatFromHead64(Slopes):
    """Heads from 64 on repeat the first ones; BLOOM has 112."""

    def change(self, right: Array) -> Array:
        return right[np.arange(len(right)) % 64]


class SlopesAsColumn(Slopes):
    """Of a shape ready for broadcasting, not as claimed."""

    def change(self, right: Array) -> Array:
        return right[:, None, None]


class Linear(Mistake, steps=True):
    """A slope times a distance, in steps."""

    call = "alibi_bias"
    claimed = ("causal",)

    def answer(
        self, heads: int, q_len: int, k_len: int, *, dtype: str, form: str, head_rule: str
    ) -> Array:
        slopes = self.slopes(heads, head_rule)[:, None, None]
        return self.finish(slopes * self.distances(q_len, k_len, form)).astype(KINDS[dtype])

    def slopes(self, heads: int, head_rule: str) -> Array:
        return plain_slopes(heads) if head_rule == "uniform" else interpolated(heads)

    def queries(self, q_len: int, k_len: int) -> Array:
        return np.arange(k_len - q_len, k_len)

    def distances(self, q_len: int, k_len: int, form: str) -> Array:
        key, query = np.arange(k_len), self.queries(q_len, k_len)[:, None]
        distance = {
            "causal": np.minimum(key - query, 0),
            "symmetric": -np.abs(key - query),
            "first-key": key + 0 * query,
            "last-key": key - (k_len - 1) + 0 * query,
        }[form]
        return distance.astype(np.float64)

    def finish(self, bias: Array) -> Array:
        return bias


for _claimed in ("causal", "symmetric", "first-key", "last-key"):
    for _given in ("symmetric", "first-key", "last-key"):
        # What a causal bias holds for keys after the query is nobody's business.
        if _given != _claimed and (_claimed, _given) != ("causal", "symmetric"):
            made(
                Linear,
                f"Linear {_given} for {_claimed}",
                "The bias of another form.",
                named="form-swapped",
                claimed=(_claimed,),
                distances=lambda self, q_len, k_len, form, given=_given: Linear.distances(
                    self, q_len, k_len, given
                ),
            )


class LinearOneSided(Linear):
    """Keys after the query not penalised, where both sides are claimed."""

    claimed = ("symmetric",)

    def distances(self, q_len: int, k_len: int, form: str) -> Array:
        return super().distances(q_len, k_len, "causal")


class LinearUnmasked(Linear):
    """m (j - i) on both sides, where -m |i - j| is claimed: the future is favoured."""

    named = "form-swapped"
    claimed = ("symmetric",)

    def distances(self, q_len: int, k_len: int, form: str) -> Array:
        return np.subtract.outer(-self.queries(q_len, k_len), -np.arange(k_len))


for _form in ("causal", "symmetric", "first-key", "last-key"):
    made(
        Linear,
        f"Linear {_form} with the sign flipped",
        "Far keys favoured, or near ones.",
        named="bias-sign-flipped",
        claimed=(_form,),
        finish=lambda self, bias: -bias,
    )
    made(
        Linear,
        f"Linear {_form} off by one",
        "Zero is lost, or one key late.",
        named="distance-shifted",
        claimed=(_form,),
        distances=lambda self, q_len, k_len, form: Linear.distances(self, q_len, k_len, form) - 1,
    )
    made(
        Linear,
        f"Linear {_form} with slopes reversed",
        "Steepest head last.",
        named="bias-slopes-spread-wrongly",
        claimed=(_form,),
        slopes=lambda self, heads, head_rule: interpolated(heads)[::-1],
    )
    made(
        Linear,
        f"Linear {_form} uniform",
        "2^(-8h/n) for any number of heads.",
        named="bias-head-rule-swapped",
        claimed=(_form,),
        slopes=lambda self, heads, head_rule: plain_slopes(heads),
    )

for _form in ("causal", "symmetric"):
    made(
        Linear,
        f"Linear {_form} with queries from zero",
        "Query i taken to stand at position i although keys come before it.",
        named="queries-from-zero",
        claimed=(_form,),
        queries=lambda self, q_len, k_len: np.arange(q_len),
    )


class LinearInterpolatedForUniform(Linear):
    """Interpolated where the paper's text is claimed to the letter."""

    named = "bias-head-rule-swapped"
    claimed = ("causal-uniform",)

    def slopes(self, heads: int, head_rule: str) -> Array:
        return interpolated(heads)


class LinearFromHeadZero(Linear):
    """Heads counted from 0."""

    named = "bias-slopes-spread-wrongly"
    claimed = ("causal-uniform",)

    def slopes(self, heads: int, head_rule: str) -> Array:
        return 2.0 ** (-8 * np.arange(heads) / heads)


class LinearSlopesSorted(Linear):
    """The second part of the slopes sorted into the first."""

    named = "bias-slopes-spread-wrongly"
    claimed = ("first-key",)

    def slopes(self, heads: int, head_rule: str) -> Array:
        return np.sort(interpolated(heads))[::-1]


class LinearMissingOne(Linear):
    """The last key is one nearer than it is, and the query's own key too."""

    claimed = ("last-key",)

    def distances(self, q_len: int, k_len: int, form: str) -> Array:
        return np.minimum(super().distances(q_len, k_len, form) + 1, 0)


class LinearLosesZero(Linear):
    """The diagonal is a distance of one as well."""

    claimed = ("symmetric",)

    def distances(self, q_len: int, k_len: int, form: str) -> Array:
        return np.minimum(super().distances(q_len, k_len, form), -1)


class LinearCapped(Linear):
    """Distances stop growing at 2,048."""

    def distances(self, q_len: int, k_len: int, form: str) -> Array:
        return np.maximum(super().distances(q_len, k_len, form), -2048)


class LinearOfShortIntegers(Linear):
    """Distances held in int16."""

    claimed = ("first-key",)

    def distances(self, q_len: int, k_len: int, form: str) -> Array:
        return super().distances(q_len, k_len, form).astype(np.int64).astype(np.int16)


class LinearOfBfloat16Distances(Linear):
    """Distances held in bfloat16, behind a float32 result."""

    named = "narrow-bias"

    def distances(self, q_len: int, k_len: int, form: str) -> Array:
        return narrow(super().distances(q_len, k_len, form), "bfloat16")


class LinearOfBfloat16Slopes(Linear):
    """Slopes held in bfloat16, behind a float32 result."""

    named = "narrow-bias"
    claimed = ("symmetric",)

    def slopes(self, heads: int, head_rule: str) -> Array:
        return narrow(interpolated(heads), "bfloat16")


class LinearOfBfloat16Products(Linear):
    """Products of exact slopes and distances held in bfloat16, behind a float32 result."""

    named = "narrow-bias"
    claimed = ("last-key",)

    def finish(self, bias: Array) -> Array:
        return narrow(bias, "bfloat16")


class LinearSquared(Linear):
    """The distance squared."""

    def distances(self, q_len: int, k_len: int, form: str) -> Array:
        return -(super().distances(q_len, k_len, form) ** 2)


class LinearLogarithmic(Linear):
    """The logarithm of the distance."""

    claimed = ("symmetric",)

    def distances(self, q_len: int, k_len: int, form: str) -> Array:
        return -np.log1p(-super().distances(q_len, k_len, form))


class LinearScaled(Linear):
    """Divided by sqrt(heads), as logits are by sqrt(head_dim)."""

    def finish(self, bias: Array) -> Array:
        return bias / math.sqrt(len(bias))


class LinearTransposed(Linear):
    """Keys before queries, which squares of a symmetric form do not show."""

    claimed = ("symmetric",)

    def finish(self, bias: Array) -> Array:
        return np.swapaxes(bias, 1, 2)


class LinearOneRow(Linear):
    """A single row for all queries."""

    claimed = ("last-key",)

    def finish(self, bias: Array) -> Array:
        return bias[:, :1]


class LinearWrongFromHead9(Linear):
    """Heads from index 9 on are left without a bias."""

    claimed = ("first-key",)

    def finish(self, bias: Array) -> Array:
        return bias * (np.arange(len(bias)) < 9)[:, None, None]


class LinearWrongFromKey512(Linear):
    """Keys from 512 on are left without a bias, as by a kernel launched for one block."""

    claimed = ("first-key",)

    def finish(self, bias: Array) -> Array:
        return bias * (np.arange(bias.shape[-1]) < 512)


class LinearWrongFromQuery128(Linear):
    """Queries from 128 on are left without a bias, as by a kernel launched for one block."""

    def finish(self, bias: Array) -> Array:
        return bias * (np.arange(bias.shape[1]) < 128)[:, None]


class LinearLendsItsTable(Linear):
    """Results are the cached table itself."""

    def __init__(self) -> None:
        self._tables: dict[Any, Array] = {}

    def answer(self, heads: int, q_len: int, k_len: int, **keywords: Any) -> Array:
        key = heads, q_len, k_len, keywords["dtype"]
        if key not in self._tables:
            self._tables[key] = super().answer(heads, q_len, k_len, **keywords)
        return self._tables[key]


class LinearKeepsTheFirstSlopes(Linear):
    """Slopes of the largest number of heads met so far serve for all."""

    claimed = ("symmetric",)
    kept: Array = np.empty(0)

    def slopes(self, heads: int, head_rule: str) -> Array:
        if len(self.kept) < heads:
            self.kept = super().slopes(heads, head_rule)
        return self.kept[:heads]


# Relative position bias of T5


class Buckets(Mistake, steps=True):
    """The released rule, in steps."""

    call = "t5_bucket"
    claimed = ("bidirectional",)

    def answer(
        self, relative_position: Array, *, num_buckets: int, max_distance: int, direction: str
    ) -> Array:
        return self.bucket(relative_position, num_buckets, max_distance, direction)

    def bucket(self, relative: Array, buckets: int, limit: int, direction: str) -> Array:
        two_sided = direction == "bidirectional"
        side = buckets // 2 if two_sided else buckets
        distance = np.abs(relative) if two_sided else -np.minimum(relative, 0)
        exact = side // 2
        if not 0 < exact < limit:
            raise ValueError(f"{buckets} buckets up to {limit}")
        logarithm = self.logarithm(np.maximum(distance, 1) / exact, limit / exact)
        large = self.clip(exact + self.whole(logarithm * (side - exact)), side)
        return self.ahead(relative, side) * two_sided + np.where(distance < exact, distance, large)

    def logarithm(self, ratio: Array, limit: float) -> Array:
        return np.log(ratio) / np.log(limit)

    def whole(self, values: Array) -> Array:
        return np.floor(values).astype(np.int64)

    def clip(self, bucket: Array, side: int) -> Array:
        return np.minimum(bucket, side - 1)

    def ahead(self, relative: Array, side: int) -> Array:
        return np.where(relative > 0, side, 0)


class BucketBias(Buckets, steps=True):
    """The same buckets, looked up in a table."""

    call = "t5_bias"

    def answer(
        self, table: Array, q_len: int, k_len: int, *, max_distance: int, direction: str
    ) -> Array:
        relative = np.arange(k_len) - self.queries(q_len, k_len)[:, None]
        return self.look_up(table, self.bucket(relative, len(table), max_distance, direction))

    def queries(self, q_len: int, k_len: int) -> Array:
        return np.arange(k_len - q_len, k_len)

    def look_up(self, table: Array, buckets: Array) -> Array:
        return np.ascontiguousarray(np.moveaxis(table[buckets], -1, 0))


def _other_direction(direction: str) -> str:
    return "causal" if direction == "bidirectional" else "bidirectional"


def _with(change: Any) -> Any:
    """A bucket method that changes the arguments of the right one."""

    def bucket(self: Any, *arguments: Any) -> Array:
        return Buckets.bucket(self, *change(*arguments))

    return bucket


def _narrow_logarithm(kind: str) -> dict[str, Any]:
    """Steps that round to a narrow dtype after each operation, with whole numbers from outside."""

    def logarithm(self: Any, ratio: Array, limit: float) -> Array:
        return narrow(narrow(np.log(narrow(ratio, kind)), kind) / math.log(limit), kind)

    def whole(self: Any, values: Array) -> Array:
        return np.floor(narrow(values, kind)).astype(np.int64)

    return {"logarithm": logarithm, "whole": whole}


def _rounded(self: Any, values: Array) -> Array:
    return np.round(values).astype(np.int64)


for _base, _prefix in ((Buckets, ""), (BucketBias, "bias-")):
    for _direction in ("bidirectional", "causal"):
        _of = f"{_base.__name__} {_direction}"
        made(
            _base,
            f"{_of} for the other direction",
            "Bidirectional buckets where causal ones belong, or the reverse.",
            named=f"{_prefix}direction-swapped",
            claimed=(_direction,),
            bucket=_with(lambda r, n, limit, d: (r, n, limit, _other_direction(d))),
        )
        made(
            _base,
            f"{_of} with the sign flipped",
            "Query minus key for key minus query.",
            named=f"{_prefix}sign-flipped",
            claimed=(_direction,),
            bucket=_with(lambda r, n, limit, d: (-r, n, limit, d)),
        )
        for _shift in (1, -1):
            made(
                _base,
                f"{_of} shifted by {_shift}",
                "Distances off by one.",
                named=f"{_prefix}distance-shifted",
                claimed=(_direction,),
                bucket=_with(lambda r, n, limit, d, shift=_shift: (r + shift, n, limit, d)),
            )
        made(
            _base,
            f"{_of} up to 128",
            "max_distance ignored.",
            named=f"{_prefix}wrong-max-distance",
            claimed=(_direction,),
            bucket=_with(lambda r, n, limit, d: (r, n, 128, d)),
        )
        made(
            _base,
            f"{_of} rounded",
            "Logarithms rounded to the nearest bucket instead of cut.",
            named=f"{_prefix}inexact-logarithm",
            claimed=(_direction,),
            whole=_rounded,
        )
        made(
            _base,
            f"{_of} by a bfloat16 logarithm",
            "Bucket edges from a logarithm in bfloat16.",
            named=f"{_prefix}inexact-logarithm",
            claimed=(_direction,),
            **_narrow_logarithm("bfloat16"),
        )
    made(
        _base,
        f"{_base.__name__} by a float16 logarithm",
        "Bucket edges from a logarithm in float16: wrong at 279, 362, 469 and 789 of up to 1,024.",
        named=f"{_prefix}inexact-logarithm",
        claimed=("causal",),
        **_narrow_logarithm("float16"),
    )
    made(
        _base,
        f"{_base.__name__} up to twice the distance",
        "max_distance counted in both directions.",
        named=f"{_prefix}wrong-max-distance",
        bucket=_with(lambda r, n, limit, d: (r, n, 2 * limit, d)),
    )


class BucketsRoundedUp(Buckets):
    """Logarithms rounded up."""

    def whole(self, values: Array) -> Array:
        return np.ceil(values).astype(np.int64)


class BucketsEndEarly(Buckets):
    """The last bucket of a side is never used."""

    def clip(self, bucket: Array, side: int) -> Array:
        return np.minimum(bucket, side - 2)


class BucketsEndLate(Buckets):
    """A bucket too many, beyond the table."""

    claimed = ("causal",)

    def clip(self, bucket: Array, side: int) -> Array:
        return np.minimum(bucket, side)


class BucketsUnclipped(Buckets):
    """Far distances run out of the table."""

    def clip(self, bucket: Array, side: int) -> Array:
        return bucket


class BucketsOf32(Buckets):
    """num_buckets ignored."""

    bucket = _with(lambda r, n, limit, d: (r, 32, limit, d))


class BucketsCountZeroAhead(Buckets):
    """The query itself counted to the keys ahead."""

    def ahead(self, relative: Array, side: int) -> Array:
        return np.where(relative >= 0, side, 0)


class BucketsBehindAbove(Buckets):
    """A causal side with the magnitudes of both."""

    claimed = ("causal",)
    bucket = _with(lambda r, n, limit, d: (-np.abs(r), n, limit, d))


class BucketsOfShortIntegers(Buckets):
    """Distances cast to int16."""

    bucket = _with(lambda r, n, limit, d: (r.astype(np.int16).astype(np.int64), n, limit, d))


class BucketsAsFloats(Buckets):
    """Whole numbers in a float dtype."""

    def answer(self, relative_position: Array, **keywords: Any) -> Array:
        return super().answer(relative_position, **keywords).astype(np.float32)


class BucketsRefuseNothing(Buckets):
    """No distances have no largest one."""

    def answer(self, relative_position: Array, **keywords: Any) -> Array:
        if relative_position.max() > 2**40:
            raise ValueError
        return super().answer(relative_position, **keywords)


class BucketsFlatten(Buckets):
    """A row of buckets, whatever the shape of the distances."""

    def answer(self, relative_position: Array, **keywords: Any) -> Array:
        return super().answer(relative_position.ravel(), **keywords)


class BucketsChangeDistances(Buckets):
    """Magnitudes written into the caller's own array."""

    claimed = ("causal",)

    def answer(self, relative_position: Array, **keywords: Any) -> Array:
        np.minimum(relative_position, 0, out=relative_position)
        return super().answer(relative_position, **keywords)


class BucketsLinear(Buckets):
    """Equal steps instead of logarithmic ones."""

    def logarithm(self, ratio: Array, limit: float) -> Array:
        return (ratio - 1) / (limit - 1)


class BucketBiasFromZero(BucketBias):
    """Query i taken to stand at position i although keys come before it."""

    named = "bias-queries-from-zero"

    def queries(self, q_len: int, k_len: int) -> Array:
        return np.arange(q_len)


class BucketBiasFromZeroCausal(BucketBiasFromZero):
    """Query i taken to stand at position i, in a decoder."""

    claimed = ("causal",)


class BucketBiasHeadsReversed(BucketBias):
    """Heads in reverse order."""

    def look_up(self, table: Array, buckets: Array) -> Array:
        return super().look_up(table, buckets)[::-1]


class BucketBiasHeadsMixed(BucketBias):
    """The table read as [heads, num_buckets]."""

    def look_up(self, table: Array, buckets: Array) -> Array:
        return super().look_up(table.reshape(table.shape[::-1]).T, buckets)


class BucketBiasFirstHead(BucketBias):
    """The first head's column for all heads."""

    claimed = ("causal",)

    def look_up(self, table: Array, buckets: Array) -> Array:
        return super().look_up(table[:, :1].repeat(table.shape[1], axis=1), buckets)


class BucketBiasTransposed(BucketBias):
    """Keys before queries, which squares do not show in the shape."""

    def look_up(self, table: Array, buckets: Array) -> Array:
        return np.swapaxes(super().look_up(table, buckets), 1, 2)


class BucketBiasHeadsLast(BucketBias):
    """[q_len, k_len, heads], as gathered."""

    def look_up(self, table: Array, buckets: Array) -> Array:
        return table[buckets]


class BucketBiasScaled(BucketBias):
    """Multiplied by 8, the square root of a head's size."""

    def look_up(self, table: Array, buckets: Array) -> Array:
        return super().look_up(table, buckets) * np.float32(8)


class BucketBiasThroughBfloat16(BucketBias):
    """The table cast to bfloat16 on the way, behind a float32 result."""

    def look_up(self, table: Array, buckets: Array) -> Array:
        return super().look_up(table.astype(ml_dtypes.bfloat16), buckets).astype(table.dtype)


class BucketBiasForgetsTheLast(BucketBias):
    """The table's last row is never read."""

    def look_up(self, table: Array, buckets: Array) -> Array:
        return super().look_up(table, np.minimum(buckets, len(table) - 2))


class BucketBiasKeepsTheFirstTable(BucketBias):
    """Results kept by sizes, whatever the table holds."""

    def __init__(self) -> None:
        self._kept: dict[Any, Array] = {}

    def answer(self, table: Array, q_len: int, k_len: int, **keywords: Any) -> Array:
        key = table.shape, q_len, k_len, keywords["max_distance"]
        if key not in self._kept:
            self._kept[key] = super().answer(table, q_len, k_len, **keywords)
        return self._kept[key].copy()


class BucketBiasOfOneQuery(BucketBias):
    """A single query is taken to stand at position 0."""

    def queries(self, q_len: int, k_len: int) -> Array:
        return super().queries(q_len, k_len) if q_len > 1 else np.zeros(q_len, dtype=int)
