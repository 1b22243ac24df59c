"""Wrong implementations: YaRN."""

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from posenc_lab.miniatures.base import KINDS, Array, Mistake, made, narrow
from posenc_lab.miniatures.below import below_zero


class Frequencies:
    """YaRN frequencies in steps, shared by both calls."""

    def base(self, base: float) -> float:
        return base

    def factor(self, factor: float) -> float:
        return factor

    def length(self, length: float, factor: float) -> float:
        return length

    def betas(self, fast: float, slow: float) -> tuple[float, float]:
        return fast, slow

    def rule(self, claimed: str) -> str:
        return claimed

    def last(self, size: int) -> int:
        return size - 1

    def bounds_size(self, size: int, head_dim: int) -> int:
        return size

    def size(self, size: int, head_dim: int) -> int:
        return size

    def extrapolated(self, size: int, base: float, factor: float) -> Array:
        return base ** (-2 * np.arange(size // 2) / size)

    def interpolated(self, size: int, base: float, factor: float) -> Array:
        return base ** (-2 * np.arange(size // 2) / size) / factor

    def mask(self, kept: Array) -> Array:
        return kept

    def blend(self, fast: Array, slow: Array, kept: Array) -> Array:
        return slow * (1 - kept) + fast * kept

    def inverse_frequencies(
        self,
        size: int,
        head_dim: int,
        *,
        base: float,
        factor: float,
        original_max_position_embeddings: int,
        ramp: str,
        beta_fast: float = 32.0,
        beta_slow: float = 1.0,
    ) -> Array:
        base, factor = self.base(base), self.factor(factor)
        length = self.length(original_max_position_embeddings, factor)
        of_bounds = self.bounds_size(size, head_dim)
        size = self.size(size, head_dim)
        fast, slow = self.betas(beta_fast, beta_slow)
        rule = self.rule(ramp)
        if rule == "rotations":
            turns = length * base ** (-2 * np.arange(size // 2) / size) / math.tau
            weights = np.clip((turns - slow) / (fast - slow), 0, 1)
        else:
            low, high = (of_bounds * math.log(length / (beta * math.tau)) for beta in (fast, slow))
            low, high = self.bounds(low, high, 2 * math.log(base), rule == "index")
            low, high = max(low, 0), min(high, self.last(of_bounds))
            high = self.apart(low, high)
            with np.errstate(invalid="ignore", divide="ignore"):
                weights = 1 - np.clip((np.arange(size // 2) - low) / np.float64(high - low), 0, 1)
        return self.blend(
            self.extrapolated(size, base, factor),
            self.interpolated(size, base, factor),
            self.mask(weights),
        )

    def bounds(self, low: float, high: float, divisor: float, whole: bool) -> tuple[float, float]:
        low, high = low / divisor, high / divisor
        return (math.floor(low), math.ceil(high)) if whole else (low, high)

    def apart(self, low: float, high: float) -> float:
        return high + 0.001 if low == high else high


class YarnFrequencies(Frequencies, Mistake, steps=True):
    """The frequencies alone, in steps."""

    call = "yarn_frequencies"
    claimed = ("code",)

    def answer(self, rotary_dim: int, *, dtype: str, **recipe: Any) -> Array:
        return self.inverse_frequencies(rotary_dim, rotary_dim, **recipe).astype(KINDS[dtype])


class Yarn(Frequencies, Mistake, steps=True):
    """Pairs rotated at YaRN frequencies and scaled, in steps."""

    call = "yarn"
    claimed = ("code-half",)

    def answer(
        self,
        x: Array,
        positions: Array,
        *,
        layout: str,
        temperature: str,
        factor: float,
        rotary_dim: int | None = None,
        attention_factor: float | None = None,
        mscale: float | None = None,
        mscale_all_dim: float | None = None,
        **recipe: Any,
    ) -> Array:
        size = self.rotated(x, rotary_dim)
        omega = self.inverse_frequencies(size, x.shape[-1], factor=factor, **recipe)[: size // 2]
        angles = self.places(positions)[:, None] * omega
        longer = self.longer(factor, temperature, attention_factor, mscale, mscale_all_dim)
        a, b = self.split(x[..., :size].astype(np.float64), layout)
        cos, sin = (wave * self.amplitude(longer) for wave in self.waves(angles))
        turned = self.join(a * cos - b * sin, b * cos + a * sin, layout)
        return np.concatenate([turned.astype(x.dtype), self.rest(x[..., size:], longer)], axis=-1)

    def rotated(self, x: Array, rotary_dim: int | None) -> int:
        return x.shape[-1] if rotary_dim is None else rotary_dim

    def places(self, positions: Array) -> Array:
        return positions

    def longer(
        self,
        factor: float,
        temperature: str,
        attention_factor: float | None,
        mscale: float | None,
        mscale_all_dim: float | None,
    ) -> float:
        if attention_factor is not None:
            return attention_factor
        if temperature == "none":
            return 1.0
        grown = self.weight(temperature) * math.log(factor)
        if mscale is None or mscale_all_dim is None:
            return grown + 1
        return (grown * mscale + 1) / (grown * mscale_all_dim + 1)

    def weight(self, temperature: str) -> float:
        return 0.07 if temperature == "seven-hundredths" else 0.1

    def amplitude(self, longer: float) -> float:
        return longer

    def waves(self, angles: Array) -> tuple[Array, Array]:
        return np.cos(angles), np.sin(angles)

    def rest(self, rest: Array, longer: float) -> Array:
        return rest

    def paired(self, claimed: str) -> str:
        return claimed

    def split(self, x: Array, layout: str) -> tuple[Array, Array]:
        if self.paired(layout) == "interleaved":
            return x[..., 0::2], x[..., 1::2]
        return x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]

    def join(self, a: Array, b: Array, layout: str) -> Array:
        if self.paired(layout) == "half":
            return np.concatenate([a, b], axis=-1)
        return np.stack([a, b], axis=-1).reshape(*a.shape[:-1], 2 * a.shape[-1])


# Mistakes in the frequencies, which both calls can make.


def both(
    deviation: str, why: str, claimed: tuple[str, str] = ("code", "code-half"), **steps: Any
) -> None:
    """Register the same mistake for both calls."""
    name = deviation.replace("-", " ")
    made(
        YarnFrequencies,
        f"YarnFrequencies {name} {claimed[0]}",
        why,
        named=deviation,
        claimed=claimed[:1],
        **steps,
    )
    made(Yarn, f"Yarn {name} {claimed[1]}", why, named=deviation, claimed=claimed[1:], **steps)


RAMPS = {
    "rotations": ("paper", "paper"),
    "index": ("code", "code-half"),
    "untruncated": ("gpt-oss", "gpt-oss"),
}
for _claimed, _names in RAMPS.items():
    for _given in RAMPS:
        if _given != _claimed:
            made(
                YarnFrequencies,
                f"YarnFrequencies {_given} for {_claimed}",
                "Another ramp.",
                named="frequencies-ramp-swapped",
                claimed=_names[:1],
                rule=lambda self, claimed, given=_given: given,
            )
            made(
                Yarn,
                f"Yarn {_given} for {_claimed}",
                "Another ramp.",
                named="ramp-swapped",
                claimed=_names[1:],
                rule=lambda self, claimed, given=_given: given,
            )

for _names in RAMPS.values():
    both("ramp-inverted", "Fast pairs slowed down.", _names, mask=lambda self, kept: 1 - kept)
both("betas-swapped", "Exchanged.", betas=lambda self, fast, slow: (slow, fast))
both("end-clamped-to-pairs", "At most the last pair.", last=lambda self, size: size // 2 - 1)
both(
    "bounds-rounded-early",
    "Numerators rounded.",
    bounds=lambda self, low, high, divisor, whole: (
        math.floor(low) / divisor,
        math.ceil(high) / divisor,
    ),
)
both(
    "extended-length",
    "Turns within the extended length.",
    length=lambda self, length, factor: length * factor,
)
both(
    "extended-length",
    "Turns within the extended length.",
    RAMPS["rotations"],
    length=lambda self, length, factor: length * factor,
)
both(
    "factor-squared",
    "Divided twice.",
    interpolated=lambda self, size, base, factor: (
        base ** (-2 * np.arange(size // 2) / size) / factor**2
    ),
)
both("factor-ignored", "RoPE.", blend=lambda self, fast, slow, kept: fast)
both("interpolated-everywhere", "All divided.", blend=lambda self, fast, slow, kept: slow)
both(
    "factor-in-power",
    "The base multiplied in place of the result.",
    interpolated=lambda self, size, base, factor: (
        (base * factor) ** (-2 * np.arange(size // 2) / size)
    ),
)
both(
    "ntk-base",
    "Fast pairs of the raised base.",
    extrapolated=lambda self, size, base, factor: (
        (base * factor ** (size / max(size - 2, 1))) ** (-2 * np.arange(size // 2) / size)
    ),
)
both(
    "wavelengths-blended",
    "The straight line between wavelengths.",
    blend=lambda self, fast, slow, kept: 1 / (kept / fast + (1 - kept) / slow),
)
both("wrong-base", "10,000 whatever is asked for.", base=lambda self, base: 10000.0)


class YarnFrequenciesOfRoundedBounds(YarnFrequencies):
    """Bounds are rounded to the nearest integer."""

    def inverse_frequencies(self, size: int, head_dim: int, **recipe: Any) -> Array:
        base, length = recipe["base"], recipe["original_max_position_embeddings"]
        betas = recipe.get("beta_fast", 32.0), recipe.get("beta_slow", 1.0)
        low, high = (
            round(size * math.log(length / (beta * math.tau)) / (2 * math.log(base)))
            for beta in betas
        )
        low, high = max(low, 0), min(high, size - 1)
        t = np.arange(size // 2)
        weights = 1 - np.clip((t - low) / (high - low + 1e-3), 0, 1)
        theta = base ** (-2 * t / size)
        return np.asarray(theta * (weights + (1 - weights) / recipe["factor"]))


class YarnFrequenciesInBfloat16(YarnFrequencies):
    """Frequencies in a float32 result are rounded to bfloat16."""

    def blend(self, fast: Array, slow: Array, kept: Array) -> Array:
        return narrow(super().blend(fast, slow, kept), "bfloat16")


class YarnFrequenciesWithSmoothRamp(YarnFrequencies):
    """The ramp is a cosine instead of a straight line."""

    def mask(self, kept: Array) -> Array:
        return (1 - np.cos(np.pi * kept)) / 2


class YarnFrequenciesKeepTheFirst(YarnFrequencies):
    """The first recipe's ramp is used for all recipes of the same size."""

    def __init__(self) -> None:
        self._kept: dict[int, Array] = {}

    def mask(self, kept: Array) -> Array:
        return self._kept.setdefault(len(kept), kept)


class YarnFrequenciesIgnoreBetaSlow(YarnFrequencies):
    """beta_slow is always 1."""

    claimed = ("paper",)

    def betas(self, fast: float, slow: float) -> tuple[float, float]:
        return fast, 1.0


class YarnFrequenciesWrongFrom64(YarnFrequencies):
    """Pairs from 64 on get the frequency of pair 63."""

    def blend(self, fast: Array, slow: Array, kept: Array) -> Array:
        return super().blend(fast, slow, kept)[np.minimum(np.arange(len(kept)), 63)]


# Mistakes in the rotation and in the attention factor.

for _claimed, _given in (
    ("code-half", "interleaved"),
    ("code-interleaved", "half"),
):
    made(
        Yarn,
        f"Yarn {_given} for {_claimed}",
        "Pairs of another layout.",
        named="layout-swapped",
        claimed=(_claimed,),
        paired=lambda self, claimed, given=_given: given,
    )


def length_mistake(
    name: str, why: str, named: str, change: Callable[[float], float], **more: Any
) -> None:
    made(
        Yarn,
        f"Yarn {name}",
        why,
        named=named,
        amplitude=lambda self, longer: change(longer),
        **more,
    )


for _claimed, _weight in (("telechat3", 0.1), ("code-half", 0.07)):
    made(
        Yarn,
        f"Yarn of {_weight} for {_claimed}",
        "The weight of another model.",
        named="temperature-swapped",
        claimed=(_claimed,),
        weight=lambda self, temperature, given=_weight: given,
    )
length_mistake("not longer", "Amplitude 1.", "temperature-swapped", lambda m: 1.0)
length_mistake("twice as long", "Squared.", "temperature-squared", lambda m: m * m)
length_mistake("shorter", "Divided.", "temperature-inverted", lambda m: 1 / m)
length_mistake("half longer", "A root.", "temperature-inverted", math.sqrt)
length_mistake("temperature", "t itself.", "temperature-inverted", lambda m: m**-0.5)


class YarnByPartsLonger(Yarn):
    """The attention factor is applied although only NTK-by-parts is claimed."""

    named = "temperature-swapped"
    claimed = ("by-parts",)

    def longer(self, factor: float, *given: Any) -> float:
        return 0.1 * math.log(factor) + 1


class YarnIgnoresAttentionFactor(Yarn):
    """The derived factor is used although one is given."""

    named = "attention-ignored"
    limits: ClassVar = {"attention": "explicit"}

    def longer(self, factor: float, temperature: str, attention_factor: Any, *rest: Any) -> float:
        return super().longer(factor, temperature, None, *rest)


class YarnIgnoresMscale(Yarn):
    """The derived factor is used although mscale and mscale_all_dim are given."""

    named = "attention-ignored"
    claimed = ("code-interleaved",)
    limits: ClassVar = {"attention": "mscale"}

    def longer(self, factor: float, temperature: str, *given: Any) -> float:
        return super().longer(factor, temperature, None, None, None)


class YarnMultipliesAttentionFactor(Yarn):
    """A given attention factor is multiplied by the derived one."""

    named = "attention-on-top"
    limits: ClassVar = {"attention": "explicit"}

    def longer(self, factor: float, temperature: str, attention_factor: Any, *rest: Any) -> float:
        return super().longer(factor, temperature, None, *rest) * (attention_factor or 1.0)


class YarnTakesAttentionFactorForMscale(Yarn):
    """A given attention factor multiplies the logarithm."""

    named = "attention-in-logarithm"
    limits: ClassVar = {"attention": "explicit"}

    def longer(self, factor: float, temperature: str, attention_factor: Any, *rest: Any) -> float:
        if attention_factor is None:
            return super().longer(factor, temperature, None, *rest)
        return 0.1 * float(attention_factor) * math.log(factor) + 1


class YarnUsesMscaleAllDimAlone(Yarn):
    """mscale_all_dim, which scales the logits, scales sines and cosines too."""

    named = "mscale-all-dim-alone"
    claimed = ("code-interleaved",)
    limits: ClassVar = {"attention": "mscale"}

    def longer(
        self, factor: float, temperature: str, attention_factor: Any, mscale: Any, below: Any
    ) -> float:
        return super().longer(factor, temperature, None, 1.0 if below is None else below, 0.0)


class YarnUsesMscaleAlone(Yarn):
    """The term with mscale is not divided by the term with mscale_all_dim."""

    claimed = ("code-interleaved",)
    limits: ClassVar = {"attention": "mscale"}

    def longer(
        self, factor: float, temperature: str, attention_factor: Any, mscale: Any, below: Any
    ) -> float:
        return 0.1 * (mscale or 1.0) * math.log(factor) + 1


class YarnTakesEqualMscalesForNone(Yarn):
    """Equal mscale and mscale_all_dim are treated as missing."""

    claimed = ("code-interleaved",)
    limits: ClassVar = {"attention": "mscale"}

    def longer(
        self, factor: float, temperature: str, attention_factor: Any, mscale: Any, below: Any
    ) -> float:
        if mscale == below:
            mscale = below = None
        return super().longer(factor, temperature, attention_factor, mscale, below)


class YarnDecimalLogarithm(Yarn):
    """log10 replaces ln."""

    def longer(self, factor: float, *given: Any) -> float:
        return 0.1 * math.log10(factor) + 1


class YarnRotatesTwice(Yarn):
    """x is rotated twice, once before the kernel and once in it."""

    named = "rotated-twice"

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        return super().answer(super().answer(x, positions, **keywords), positions, **keywords)


class YarnOneAhead(Yarn):
    """Positions are counted from 1."""

    named = "positions-shifted"

    def places(self, positions: Array) -> Array:
        return positions + 1


class YarnBackwards(Yarn):
    """The rotation has the opposite sign."""

    named = "sign-flipped"
    claimed = ("gpt-oss",)

    def waves(self, angles: Array) -> tuple[Array, Array]:
        return np.cos(angles), -np.sin(angles)


class YarnOfBfloat16Angles(Yarn):
    """Angles are rounded to bfloat16."""

    named = "low-precision-angles"
    claimed = ("paper",)

    def waves(self, angles: Array) -> tuple[Array, Array]:
        return super().waves(narrow(angles, "bfloat16"))


class YarnBoundsOfHeadDim(Yarn):
    """The bounds of the ramp are those of the whole head."""

    named = "head-dim-bounds"
    limits: ClassVar = {"rotation": "partial"}

    def bounds_size(self, size: int, head_dim: int) -> int:
        return head_dim


class YarnOfHeadDim(YarnBoundsOfHeadDim):
    """Frequencies and ramp are those of the whole head."""

    named = "head-dim-frequencies"

    def size(self, size: int, head_dim: int) -> int:
        return head_dim


class YarnOfHeadDimInTurns(YarnOfHeadDim):
    """Frequencies are those of the whole head, with the paper's ramp."""

    claimed = ("paper",)


class YarnRotatesAll(Yarn):
    """rotary_dim is ignored."""

    named = "rotary-dim-ignored"
    limits: ClassVar = {"rotation": "partial"}

    def rotated(self, x: Array, rotary_dim: int | None) -> int:
        return x.shape[-1]


class YarnLengthensTheRest(Yarn):
    """Unrotated channels are scaled as well."""

    limits: ClassVar = {"rotation": "partial"}

    def rest(self, rest: Array, longer: float) -> Array:
        return (rest * longer).astype(rest.dtype)


class YarnOnlyBeyondTheOriginalLength(Yarn):
    """Short texts are not scaled, as with dynamic scaling."""

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        if positions.max(initial=0) < keywords["original_max_position_embeddings"]:
            keywords |= {"factor": 1.0}
        return super().answer(x, positions, **keywords)


class YarnClampedAtTheExtendedLength(Yarn):
    """Tables end at factor times the original length; later positions get the last row."""

    limits: ClassVar = {"factor": 4.0, "original_max_position_embeddings": 4096}

    def places(self, positions: Array) -> Array:
        return np.minimum(positions, 4 * 4096 - 1)


class YarnKeepsTables(Yarn):
    """Frequencies are cached by size, ignoring the recipe."""

    def __init__(self) -> None:
        self._kept: dict[int, Array] = {}

    def inverse_frequencies(self, size: int, head_dim: int, **recipe: Any) -> Array:
        frequencies = super().inverse_frequencies(size, head_dim, **recipe)
        return self._kept.setdefault(size, frequencies)


class YarnDividesByZero(Yarn):
    """Equal bounds are not moved apart."""

    claimed = ("code-interleaved",)

    def apart(self, low: float, high: float) -> float:
        return high


class YarnWrongFromRow128(Yarn):
    """Rows from index 128 on are not rotated, as by a kernel launched for one block."""

    claimed = ("code-interleaved",)

    def answer(self, x: Array, positions: Array, **keywords: Any) -> Array:
        out = super().answer(x, positions, **keywords)
        out[..., 128:, :] = x[..., 128:, :]
        return out


# Mistakes in the backward pass.


class YarnBack(Yarn, steps=True):
    """Upstream gradients rotated back and scaled, in steps."""

    call = "yarn_vjp"

    def waves(self, angles: Array) -> tuple[Array, Array]:
        return np.cos(angles), -np.sin(angles)


for _name, _claimed, _named, _steps in (
    ("forward", "code-half", "backward-is-forward", {"waves": Yarn.waves}),
    ("forward neighbours", "code-interleaved", "backward-is-forward", {"waves": Yarn.waves}),
    (
        "inverted",
        "code-half",
        "backward-inverse",
        {"amplitude": lambda self, longer: 1 / longer},
    ),
    (
        "inverted neighbours",
        "code-interleaved",
        "backward-inverse",
        {"amplitude": lambda self, longer: 1 / longer},
    ),
    (
        "not longer",
        "gpt-oss",
        "backward-factor-missing",
        {"amplitude": lambda self, longer: 1.0},
    ),
    (
        "unscaled",
        "gpt-oss",
        "backward-unscaled",
        {"blend": lambda self, fast, slow, kept: fast},
    ),
    (
        "of neighbours",
        "code-half",
        "backward-layout-swapped",
        {"paired": lambda self, claimed: "interleaved"},
    ),
    ("longer twice", "code-half", None, {"amplitude": lambda self, longer: longer**2}),
    ("interpolated", "code-half", None, {"blend": lambda self, fast, slow, kept: slow}),
):
    made(
        YarnBack,
        f"YarnBack {_name}",
        "One step otherwise.",
        named=_named,
        claimed=(_claimed,),
        **_steps,
    )


class YarnBackIgnoresAttentionFactor(YarnBack):
    """The explicit attention factor is not passed to the backward pass."""

    limits: ClassVar = {"attention": "explicit"}

    def longer(self, factor: float, temperature: str, attention_factor: Any, *rest: Any) -> float:
        return super().longer(factor, temperature, None, *rest)


class YarnBackExchangesMscales(YarnBack):
    """mscale and mscale_all_dim are swapped, as positional arguments may be."""

    claimed = ("code-interleaved",)
    limits: ClassVar = {"attention": "mscale"}

    def longer(
        self, factor: float, temperature: str, attention_factor: Any, mscale: Any, below: Any
    ) -> float:
        return super().longer(factor, temperature, attention_factor, below, mscale)


class YarnBackDropsTheRest(YarnBack):
    """Unrotated channels get no gradient."""

    limits: ClassVar = {"rotation": "partial"}

    def rest(self, rest: Array, longer: float) -> Array:
        return np.zeros_like(rest)


below_zero(Yarn, "by-parts")
below_zero(YarnBack, "code-half")
