"""Wrong implementations: sinusoidal encoding."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from posenc_lab.miniatures.base import KINDS, Array, Mistake, made, narrow


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
                layout=lambda self, claimed, other=_given: other,
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
    """The base is 1 % too large, in a combination without a free base."""

    named = "wrong-base"
    claimed = ("musicgen",)
    limits: ClassVar = {"base": 10000.0}

    def base(self, base: float) -> float:
        return 10100.0


class SinusoidNegated(Sinusoid):
    """Angles have the opposite sign."""

    named = "sign-flipped"

    def angles(self, places: Array, frequencies: Array) -> Array:
        return -super().angles(places, frequencies)


class SinusoidInDegrees(Sinusoid):
    """Angles are taken as degrees."""

    named = "degrees"

    def angles(self, places: Array, frequencies: Array) -> Array:
        return np.deg2rad(super().angles(places, frequencies))


class SinusoidIntoDegrees(Sinusoid):
    """Angles are converted to degrees for a sine that takes radians."""

    named = "degrees"

    def angles(self, places: Array, frequencies: Array) -> Array:
        return np.rad2deg(super().angles(places, frequencies))


class SinusoidInDegreesConcatenated(SinusoidInDegrees):
    """Angles are taken as degrees, with sines first."""

    claimed = ("tensor2tensor",)


class SinusoidExponentDoubled(Sinusoid):
    """The exponent is 4t/d: even channel numbers are doubled again."""

    named = "exponent-doubled"

    def exponents(self, pairs: int, dim: int, rules: Mapping[str, Any]) -> Array:
        return 2 * super().exponents(pairs, dim, rules)


class SinusoidExponentHalved(Sinusoid):
    """The exponent is t/d, as with the square root of the base."""

    named = "exponent-halved"

    def exponents(self, pairs: int, dim: int, rules: Mapping[str, Any]) -> Array:
        return super().exponents(pairs, dim, rules) / 2


class SinusoidFrequenciesFlipped(Sinusoid):
    """The slowest pair comes first."""

    def exponents(self, pairs: int, dim: int, rules: Mapping[str, Any]) -> Array:
        return super().exponents(pairs, dim, rules)[::-1]


class SinusoidDividesByOneLess(Sinusoid):
    """Exponents are divided by d/2-1 where d/2 is claimed."""

    named = "denominator-swapped"

    def exponents(self, pairs: int, dim: int, rules: Mapping[str, Any]) -> Array:
        return np.arange(pairs) / max(pairs - 1, 1)


class SinusoidDividesByOneMore(Sinusoid):
    """Exponents are divided by d/2 where d/2-1 is claimed."""

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


class SinusoidChannelForPair(Sinusoid):
    """Even channels i give the exponents 2i/d for the sine and 2(i+1)/d for the cosine."""

    named = "channel-for-pair"

    def answer(self, positions: Array, dim: int, *, base: float, dtype: str, **rules: Any) -> Array:
        result = np.empty((len(positions), dim))
        for i in range(0, dim, 2):
            result[:, i] = np.sin(positions / base ** (2 * i / dim))
            result[:, i + 1] = np.cos(positions / base ** (2 * (i + 1) / dim))
        return result.astype(KINDS[dtype])


class SinusoidOfAStepRoundedDown(Sinusoid):
    """-log(base) / dim // 2 is evaluated from left to right and rounded down."""

    named = "step-rounded-down"

    def exponents(self, pairs: int, dim: int, rules: Mapping[str, Any]) -> Array:
        self.step = -math.log(10000.0) / dim // 2
        return np.arange(pairs)

    def angles(self, places: Array, frequencies: Array) -> Array:
        steps = np.exp(2 * np.arange(len(frequencies)) * self.step)
        return np.multiply.outer(places.astype(np.float64), steps)


class SinusoidOfOneRow(Sinusoid):
    """The table is indexed with the number of positions instead of sliced."""

    named = "one-row-for-all"

    def places(self, positions: Array, first: int) -> Array:
        return np.full(len(positions), len(positions) + first)


class SinusoidWavesSwapped(Sinusoid):
    """Sines and cosines are exchanged."""

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
        scale=lambda self, dim, scale, other=_factor: Sinusoid.scale(self, dim, other),
    )


class SinusoidTooLong(Sinusoid):
    """Values are multiplied by 1.2, which cosine similarity does not show."""

    named = "wrong-scale"

    def scale(self, dim: int, scale: str) -> float:
        return 1.2


class SinusoidScaledLikeEmbeddings(Sinusoid):
    """The table is multiplied by sqrt(d), which belongs to the embeddings."""

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
    """Sines are off by up to 1e-6, as from a short polynomial."""

    def waves(self, angles: Array) -> tuple[Array, Array]:
        return self._sine(angles), self._sine(angles + np.pi / 2)

    @staticmethod
    def _sine(angles: Array) -> Array:
        x = np.remainder(angles + np.pi / 2, 2 * np.pi) - np.pi / 2
        x = np.where(x > np.pi / 2, np.pi - x, x)
        return x * (1 - x**2 / 6 * (1 - x**2 / 20 * (1 - x**2 / 42 * (1 - x**2 / 72.02))))


class SinusoidOfCoarsePi(Sinusoid):
    """Angles are reduced with π = 3.14159, too few digits for float32."""

    limits: ClassVar = {"max_position": 2**20}

    def angles(self, places: Array, frequencies: Array) -> Array:
        return np.remainder(super().angles(places, frequencies), 2 * 3.14159)


class SinusoidOfShortPi(Sinusoid):
    """Angles are reduced with π = 3.14159265, too few digits for float64."""

    dtype = "float64"

    def angles(self, places: Array, frequencies: Array) -> Array:
        return np.remainder(super().angles(places, frequencies), 2 * 3.14159265)


class SinusoidOfFloat32AnglesAsFloat64(Sinusoid):
    """Angles are float32 for a float64 result."""

    dtype = "float64"

    def angles(self, places: Array, frequencies: Array) -> Array:
        return np.outer(places.astype(np.float32), frequencies.astype(np.float32)).astype(float)


class SinusoidRoundedTwice(Sinusoid):
    """Sines and cosines are rounded to bfloat16 for a float32 result."""

    def waves(self, angles: Array) -> tuple[Array, Array]:
        return narrow(np.sin(angles), "bfloat16"), narrow(np.cos(angles), "bfloat16")


class SinusoidOneChannelLess(Sinusoid):
    """The last channel is missing if dim is odd."""

    limits: ClassVar = {"odd_dim": "cut"}

    def answer(self, positions: Array, dim: int, **keywords: Any) -> Array:
        return super().answer(positions, dim // 2 * 2, **keywords)


class SinusoidZerosFirst(Sinusoid):
    """The column of zeros comes before the sines."""

    claimed = ("tensor2tensor",)

    def answer(self, positions: Array, dim: int, **keywords: Any) -> Array:
        return np.roll(super().answer(positions, dim, **keywords), dim % 2, axis=1)


class SinusoidZerosBetween(Sinusoid):
    """The column of zeros is between cosines and sines."""

    claimed = ("adm",)

    def join(self, sin: Array, cos: Array, dim: int, rules: Mapping[str, Any]) -> Array:
        return np.concatenate([cos, np.zeros((len(sin), dim % 2)), sin], axis=1)


class SinusoidCutForZeros(Sinusoid):
    """An odd dim ends with the sine of one more pair, not with a column of zeros."""

    limits: ClassVar = {"odd_dim": "zero"}

    def pairs(self, dim: int, rules: Mapping[str, Any]) -> int:
        return (dim + 1) // 2


class SinusoidZerosBetweenHalves(Sinusoid):
    """The column of zeros is between sines and cosines."""

    claimed = ("concat",)
    limits: ClassVar = {"odd_dim": "zero"}

    def join(self, sin: Array, cos: Array, dim: int, rules: Mapping[str, Any]) -> Array:
        return np.concatenate([sin, np.zeros((len(sin), dim % 2)), cos], axis=1)


class SinusoidCutsTheSine(Sinusoid):
    """The last sine is cut, not the last cosine."""

    claimed = ("concat",)
    limits: ClassVar = {"odd_dim": "cut"}

    def join(self, sin: Array, cos: Array, dim: int, rules: Mapping[str, Any]) -> Array:
        return np.concatenate([sin[:, : dim // 2], cos], axis=1)


class SinusoidCosinesEarly(SinusoidCutsTheSine):
    """Cosines start one column early if dim is odd."""

    limits: ClassVar = {"odd_dim": "uneven"}

    def exponents(self, pairs: int, dim: int, rules: Mapping[str, Any]) -> Array:
        return 2 * np.arange(pairs) / dim


class SinusoidCutForUneven(Sinusoid):
    """Exponents are those of d+1 channels instead of d."""

    limits: ClassVar = {"odd_dim": "uneven"}


class SinusoidNotANumber(Sinusoid):
    """Sines at position 0 are 0/0, which is NaN."""

    def waves(self, angles: Array) -> tuple[Array, Array]:
        with np.errstate(invalid="ignore"):
            return np.sin(angles) * (angles / angles), np.cos(angles)


class SinusoidPadding(Sinusoid):
    """Position 0 has a row of zeros, as if it were padding."""

    def answer(self, positions: Array, dim: int, **keywords: Any) -> Array:
        return super().answer(positions, dim, **keywords) * (positions != 0)[:, None]


class SinusoidTransposed(Sinusoid):
    """Channels come before positions."""

    def answer(self, positions: Array, dim: int, **keywords: Any) -> Array:
        return super().answer(positions, dim, **keywords).T


class SinusoidWithBatchAxis(Sinusoid):
    """The result has a leading axis of length 1."""

    def answer(self, positions: Array, dim: int, **keywords: Any) -> Array:
        return super().answer(positions, dim, **keywords)[None]


class SinusoidInFloat64(Sinusoid):
    """dtype is ignored: the result is float64."""

    def answer(self, positions: Array, dim: int, **keywords: Any) -> Array:
        return super().answer(positions, dim, **(keywords | {"dtype": "float64"}))


class SinusoidWrongBeyond2048(Sinusoid):
    """Positions beyond 2,048 are one too small."""

    def places(self, positions: Array, first: int) -> Array:
        return np.where(positions > 2048, positions - 1, positions) + first


class SinusoidWrongFromChannel256(Sinusoid):
    """Channels from index 256 on repeat the first 256, as in a kernel for smaller models."""

    claimed = ("tensor2tensor",)

    def answer(self, positions: Array, dim: int, **keywords: Any) -> Array:
        return super().answer(positions, dim, **keywords)[:, np.arange(dim) % 256]


class SinusoidWrongUnlessDivisibleBy4(Sinusoid):
    """Channels after the last multiple of 4 are 0."""

    claimed = ("x-transformers",)

    def answer(self, positions: Array, dim: int, **keywords: Any) -> Array:
        table = super().answer(positions, dim, **keywords)
        table[:, dim // 4 * 4 :] = 0
        return table


class SinusoidWrongFromRow128(Sinusoid):
    """Rows from index 128 on are 0, as in a kernel with one block."""

    def answer(self, positions: Array, dim: int, **keywords: Any) -> Array:
        table = super().answer(positions, dim, **keywords)
        table[128:] = 0
        return table


class SinusoidOfTheNextPowerOfTwo(Sinusoid):
    """Frequencies are those of the next power of two, as in a kernel that pads."""

    def exponents(self, pairs: int, dim: int, rules: Mapping[str, Any]) -> Array:
        return np.arange(pairs) / 2 ** (pairs - 1).bit_length()


class SinusoidNumbersRows(Sinusoid):
    """Rows are numbered from 0, ignoring positions."""

    def places(self, positions: Array, first: int) -> Array:
        return np.arange(len(positions)) + first


class SinusoidCountsOn(Sinusoid):
    """Positions are assumed to be consecutive from the first one."""

    def places(self, positions: Array, first: int) -> Array:
        return np.arange(len(positions)) + first + (positions[0] if positions.size else 0)


class SinusoidSorts(Sinusoid):
    """Positions are sorted first."""

    def places(self, positions: Array, first: int) -> Array:
        return np.sort(positions) + first


class SinusoidOverflows(Sinusoid):
    """Positions are cast to int32."""

    limits: ClassVar = {"max_position": 2**31}

    def places(self, positions: Array, first: int) -> Array:
        return positions.astype(np.int32) + first


class SinusoidOfShortIntegers(Sinusoid):
    """Positions are cast to int16."""

    def places(self, positions: Array, first: int) -> Array:
        return positions.astype(np.int16) + first


class SinusoidCutsRealPositions(Sinusoid):
    """Real positions are rounded down."""

    limits: ClassVar = {"domain": "real"}

    def places(self, positions: Array, first: int) -> Array:
        return np.floor(positions) + first


for _combination in ("adm", "ddpm"):
    made(
        Sinusoid,
        f"Sinusoid {_combination} of whole steps",
        "Steps between whole ones cut to them.",
        claimed=(_combination,),
        limits={"domain": "real"},
        places=lambda self, positions, first: np.trunc(positions) + first,
    )


class SinusoidOfMagnitudes(Sinusoid):
    """Negative positions lose their sign."""

    limits: ClassVar = {"domain": "negative"}

    def places(self, positions: Array, first: int) -> Array:
        return np.abs(positions) + first


class SinusoidNoisy(Sinusoid):
    """Results differ from call to call, within the bound."""

    calls = 0

    def scale(self, dim: int, scale: str) -> float:
        self.calls += 1
        return 1 + (self.calls % 2) * 1e-7


class SinusoidWarmsUp(Sinusoid):
    """The first call reads an empty table and returns zeros."""

    warm = False

    def scale(self, dim: int, scale: str) -> float:
        was_warm, self.warm = self.warm, True
        return float(was_warm)


class SinusoidRefusesInt32(Sinusoid):
    """Positions that are not int64 are refused."""

    def places(self, positions: Array, first: int) -> Array:
        if positions.dtype != np.int64:
            raise TypeError(positions.dtype)
        return positions + first


class SinusoidChangesPositions(Sinusoid):
    """``first_position`` is added to the caller's array in place."""

    claimed = ("opennmt",)

    def places(self, positions: Array, first: int) -> Array:
        positions += first
        return positions


class SinusoidLendsItsTable(Sinusoid):
    """The cached table itself is returned, not a copy."""

    def __init__(self) -> None:
        self._tables: dict[Any, Array] = {}

    def answer(self, positions: Array, dim: int, **keywords: Any) -> Array:
        key = (positions.tobytes(), positions.dtype, dim, *sorted(keywords.items()))
        if key not in self._tables:
            self._tables[key] = super().answer(positions, dim, **keywords)
        return self._tables[key]


class SinusoidKeepsTheFirstBase(Sinusoid):
    """The base of the first call is used for all."""

    kept: float | None = None

    def base(self, base: float) -> float:
        self.kept = self.kept or base
        return self.kept


class SinusoidCachesByLength(Sinusoid):
    """Results are cached by shape and base, ignoring positions."""

    def __init__(self) -> None:
        self._rows: dict[Any, Array] = {}

    def answer(self, positions: Array, dim: int, **keywords: Any) -> Array:
        key = len(positions), dim, keywords["base"]
        if key not in self._rows:
            self._rows[key] = super().answer(positions, dim, **keywords)
        return self._rows[key].copy()


class SinusoidKeepsTheFirstDtype(Sinusoid):
    """The dtype of the first call is used for all."""

    dtype = ("float32", "float16")
    kept: str | None = None

    def answer(self, positions: Array, dim: int, **keywords: Any) -> Array:
        self.kept = self.kept or keywords["dtype"]
        return super().answer(positions, dim, **(keywords | {"dtype": self.kept}))


# Two mistakes in one


made(
    Sinusoid,
    "Sinusoid sin-cos for interleaved, from 1",
    "Another layout, and positions from 1.",
    named="layout-swapped+positions-shifted",
    layout=lambda self, claimed: "sin-cos",
    places=lambda self, positions, first: positions + first + 1,
)
made(
    Sinusoid,
    "Sinusoid sin-cos for interleaved, times 3",
    "Another layout, and a scale.",
    named="layout-swapped+wrong-scale",
    layout=lambda self, claimed: "sin-cos",
    scale=lambda self, dim, scale: 3.0,
)
made(
    Sinusoid,
    "Sinusoid from 1, times 3",
    "Positions from 1, and a scale.",
    named="positions-shifted+wrong-scale",
    places=lambda self, positions, first: positions + first + 1,
    scale=lambda self, dim, scale: 3.0,
)
made(
    Sinusoid,
    "Sinusoid of the opposite sign, in degrees",
    "Angles negated, and degrees.",
    named="sign-flipped+degrees",
    angles=lambda self, places, frequencies: -np.deg2rad(np.multiply.outer(places, frequencies)),
)


class SinusoidCancelsLogarithms(Sinusoid):
    """Frequencies are exp((1 - e) L - L) in float32, as in mlx."""

    named = "cancelling-logarithms"
    claimed = ("tensor2tensor",)

    def answer(self, positions: Array, dim: int, *, base: float, dtype: str, **rules: Any) -> Array:
        pairs, whole = self.pairs(dim, rules), np.float32(np.log(base))
        share = np.float32(1) - self.exponents(pairs, dim, rules).astype(np.float32)
        frequencies = np.exp(share * whole - whole)
        angles = positions.astype(np.float32)[:, None] * frequencies
        sin, cos = self.waves(angles.astype(np.float64))
        return self.join(sin, cos, dim, rules).astype(KINDS[dtype])


class SinusoidIteratesFrequencies(Sinusoid):
    """Each frequency is the previous one times a ratio, in float32."""

    named = "iterated-frequencies"

    def angles(self, places: Array, frequencies: Array) -> Array:
        factors = np.ones(len(frequencies), np.float32)
        factors[1:] = frequencies[1:2] / frequencies[:1]
        return np.multiply.outer(places.astype(np.float32), np.cumprod(factors)).astype(np.float64)
