"""Wrong implementations: LongRoPE."""

import math
from typing import Any, ClassVar

import numpy as np

from posenc_lab.miniatures.base import KINDS, Array, Mistake, made, narrow
from posenc_lab.miniatures.below import below_zero


class LongRopeFrequencies(Mistake, steps=True):
    """The frequencies alone, in steps."""

    call = "longrope_frequencies"
    claimed = ("divided",)

    def answer(self, factors: Array, *, base: float, dtype: str) -> Array:
        exponents = np.arange(len(factors)) / len(factors)
        return self.scaled(self.base(base) ** -exponents, factors).astype(KINDS[dtype])

    def base(self, base: float) -> float:
        return base

    def scaled(self, plain: Array, factors: Array) -> Array:
        return plain / factors


for _name, _named, _scaled in (
    ("multiplied", "factors-multiplied", lambda self, plain, factors: plain * factors),
    ("undivided", "factors-ignored", lambda self, plain, factors: plain),
    (
        "reversed",
        "frequencies-factors-reversed",
        lambda self, plain, factors: plain / factors[::-1],
    ),
    ("added", None, lambda self, plain, factors: plain / (1 + factors)),
    ("in bfloat16", None, lambda self, plain, factors: plain / narrow(factors, "bfloat16")),
    ("sorted", None, lambda self, plain, factors: plain / np.sort(factors)),
    (
        "of one factor",
        None,
        lambda self, plain, factors: plain / np.full_like(factors, factors[-1]),
    ),
    (
        "of 48 factors",
        None,
        lambda self, plain, factors: plain / factors[np.minimum(np.arange(len(factors)), 47)],
    ),
):
    made(
        LongRopeFrequencies,
        f"LongRopeFrequencies {_name}",
        "Otherwise than divided.",
        named=_named,
        scaled=_scaled,
    )


class LongRopeFrequenciesOfOneBase(LongRopeFrequencies):
    """The base is always 10,000."""

    named = "frequencies-wrong-base"

    def base(self, base: float) -> float:
        return 10000.0


class LongRope(Mistake, steps=True):
    """Factors chosen, pairs rotated and scaled, in steps."""

    call = "longrope"
    claimed = ("phi-3",)

    def answer(
        self,
        x: Array,
        positions: Array,
        short_factors: Array,
        long_factors: Array,
        *,
        base: float,
        factor: float,
        original_max_position_embeddings: int,
        choice: str,
        amplitude: str,
        layout: str,
        rotary_dim: int | None = None,
        attention_factor: float | None = None,
    ) -> Array:
        size = x.shape[-1] if rotary_dim is None else rotary_dim
        trained = original_max_position_embeddings
        short, long = short_factors.astype(np.float64), long_factors.astype(np.float64)
        positions = positions.astype(np.int64)
        factors = self.factors(short, long, positions, trained, choice)
        plain = self.base(base) ** -self.exponents(size, x.shape[-1])
        angles = self.angles(self.places(positions)[:, None] * self.scaled(plain, factors))
        longer = self.longer(factor, trained, amplitude)
        if attention_factor is not None:
            longer = self.given(attention_factor, longer)
        cos, sin = (self.amplitude(longer) * wave(angles) for wave in (np.cos, np.sin))
        a, b = self.split(x[..., :size].astype(np.float64))
        turned = self.join(a * cos - b * sin, b * cos + a * sin).astype(x.dtype)
        return np.concatenate([turned, self.rest(x[..., size:], longer)], axis=-1)

    def factors(
        self, short: Array, long: Array, positions: Array, trained: int, choice: str
    ) -> Array:
        if choice == "long" or positions.max(initial=-1) + 1 > trained:
            return long
        return short

    def base(self, base: float) -> float:
        return base

    def exponents(self, size: int, head_dim: int) -> Array:
        return np.arange(0, size, 2) / size

    def places(self, positions: Array) -> Array:
        return positions

    def scaled(self, plain: Array, factors: Array) -> Array:
        return plain / factors

    def angles(self, angles: Array) -> Array:
        return angles

    def longer(self, factor: float, trained: int, amplitude: str) -> float:
        if factor <= 1:
            return 1.0
        if amplitude == "yarn":
            return 0.1 * math.log(factor) + 1
        return math.sqrt(1 + math.log(factor) / math.log(trained))

    def given(self, attention_factor: float, longer: float) -> float:
        return attention_factor

    def amplitude(self, longer: float) -> float:
        return longer

    def split(self, x: Array) -> tuple[Array, Array]:
        return x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]

    def join(self, a: Array, b: Array) -> Array:
        return np.concatenate([a, b], axis=-1)

    def rest(self, rest: Array, longer: float) -> Array:
        return rest


class LongRopeOfNeighbours(LongRope):
    """Neighbouring channels are paired."""

    named = "layout-swapped"

    def split(self, x: Array) -> tuple[Array, Array]:
        return x[..., 0::2], x[..., 1::2]

    def join(self, a: Array, b: Array) -> Array:
        return np.stack([a, b], axis=-1).reshape(*a.shape[:-1], 2 * a.shape[-1])


class LongRopeAlwaysLong(LongRope):
    """Long factors are used at every length."""

    named = "choice-swapped"

    def factors(
        self, short: Array, long: Array, positions: Array, trained: int, choice: str
    ) -> Array:
        return long


class LongRopeAlwaysShort(LongRope):
    """Short factors are used at every length."""

    named = "choice-swapped"

    def factors(
        self, short: Array, long: Array, positions: Array, trained: int, choice: str
    ) -> Array:
        return short


class LongRopeByLength(LongRope):
    """The length chooses the factors although long ones are claimed."""

    named = "choice-swapped"
    claimed = ("long",)

    def factors(
        self, short: Array, long: Array, positions: Array, trained: int, choice: str
    ) -> Array:
        return super().factors(short, long, positions, trained, "length")


class LongRopeByRow(LongRope):
    """Each row's own position chooses its factors."""

    named = "choice-by-row"

    def factors(
        self, short: Array, long: Array, positions: Array, trained: int, choice: str
    ) -> Array:
        return np.where(positions[:, None] >= trained, long, short)


class LongRopeByNumberOfRows(LongRope):
    """The number of rows, which is 1 in decoding, chooses the factors."""

    named = "choice-swapped"

    def factors(
        self, short: Array, long: Array, positions: Array, trained: int, choice: str
    ) -> Array:
        return long if len(positions) > trained else short


class LongRopeByTheLastRow(LongRope):
    """The last row's position, which need not be the largest, chooses the factors."""

    def factors(
        self, short: Array, long: Array, positions: Array, trained: int, choice: str
    ) -> Array:
        return super().factors(short, long, positions[-1:], trained, choice)


class LongRopeOneEarly(LongRope):
    """Long factors start at length L, not at L + 1."""

    def factors(
        self, short: Array, long: Array, positions: Array, trained: int, choice: str
    ) -> Array:
        return super().factors(short, long, positions, trained - 1, choice)


class LongRopeStaysLong(LongRope):
    """Once long, the factors stay long."""

    been_long = False

    def factors(
        self, short: Array, long: Array, positions: Array, trained: int, choice: str
    ) -> Array:
        self.been_long |= bool(positions.max(initial=0) >= trained)
        return long if self.been_long else short


for _name, _named, _scaled in (
    ("multiplied", "factors-multiplied", lambda self, plain, factors: plain * factors),
    ("undivided", "factors-ignored", lambda self, plain, factors: plain),
    ("divided by roots", None, lambda self, plain, factors: plain / np.sqrt(factors)),
):
    made(
        LongRope,
        f"LongRope {_name}",
        "Otherwise than divided.",
        named=_named,
        scaled=_scaled,
    )

for _name, _named, _amplitude in (
    ("not longer", "amplitude-missing", lambda self, longer: 1.0),
    ("longer twice", "amplitude-squared", lambda self, longer: longer**2),
    ("shorter", None, lambda self, longer: 1 / longer),
):
    made(
        LongRope,
        f"LongRope {_name}",
        "Pairs of another length.",
        named=_named,
        amplitude=_amplitude,
    )

for _claimed, _policy in (("long", "yarn"), ("long-yarn", "su")):
    made(
        LongRope,
        f"LongRope {_policy} for {_claimed}",
        "The other policy.",
        named="amplitude-swapped",
        claimed=(_claimed,),
        longer=lambda self, factor, trained, amplitude, policy=_policy: LongRope.longer(
            self, factor, trained, policy
        ),
    )


class LongRopeOfExtendedLength(LongRope):
    """The amplitude has the denominator ln(s L), not ln L."""

    named = "amplitude-of-extended-length"

    def longer(self, factor: float, trained: int, amplitude: str) -> float:
        return super().longer(factor, int(trained * factor), amplitude)


class LongRopeIgnoresAttentionFactor(LongRope):
    """The derived factor is used although one is given."""

    named = "attention-ignored"
    limits: ClassVar = {"attention": "explicit"}

    def given(self, attention_factor: float, longer: float) -> float:
        return longer


class LongRopeOneAhead(LongRope):
    """Positions are counted from 1."""

    named = "positions-shifted"
    claimed = ("long",)

    def places(self, positions: Array) -> Array:
        return positions + 1


class LongRopeBackwards(LongRope):
    """The rotation has the opposite sign."""

    named = "sign-flipped"

    def angles(self, angles: Array) -> Array:
        return -angles


class LongRopeOfBfloat16Angles(LongRope):
    """Angles are rounded to bfloat16."""

    named = "low-precision-angles"

    def angles(self, angles: Array) -> Array:
        return narrow(angles, "bfloat16")


class LongRopeOfOneBase(LongRope):
    """The base is always 10,000."""

    named = "wrong-base"

    def base(self, base: float) -> float:
        return 10000.0


class LongRopeOfHeadDim(LongRope):
    """Exponents are divided by the whole head's size."""

    named = "head-dim-frequencies"
    limits: ClassVar = {"rotation": "partial"}

    def exponents(self, size: int, head_dim: int) -> Array:
        return np.arange(0, size, 2) / head_dim


class LongRopeLengthensTheRest(LongRope):
    """Unrotated channels are scaled as well."""

    limits: ClassVar = {"rotation": "partial"}

    def rest(self, rest: Array, longer: float) -> Array:
        return (rest * longer).astype(rest.dtype)


class LongRopeKeepsTables(LongRope):
    """Angles are cached by shape, whatever the positions and factors."""

    def __init__(self) -> None:
        self._kept: dict[Any, Array] = {}

    def angles(self, angles: Array) -> Array:
        return self._kept.setdefault(angles.shape, angles)


class LongRopeWrongFromRow128(LongRope):
    """Rows from index 128 on are not rotated, as by a kernel launched for one block."""

    def answer(self, x: Array, *arguments: Any, **keywords: Any) -> Array:
        out = super().answer(x, *arguments, **keywords)
        out[..., 128:, :] = x[..., 128:, :]
        return out


class LongRopeBack(LongRope, steps=True):
    """Upstream gradients rotated back and scaled, in steps."""

    call = "longrope_vjp"

    def angles(self, angles: Array) -> Array:
        return -angles


for _name, _claimed, _named, _steps in (
    ("forward", "phi-3", "backward-is-forward", {"angles": LongRope.angles}),
    ("inverted", "phi-3", "backward-inverse", {"amplitude": lambda self, longer: 1 / longer}),
    ("inverted long", "long", "backward-inverse", {"amplitude": lambda self, longer: 1 / longer}),
    ("not longer", "long", "backward-factor-missing", {"amplitude": lambda self, longer: 1.0}),
    ("undivided", "phi-3", "backward-unscaled", {"scaled": lambda self, plain, factors: plain}),
    (
        "of neighbours",
        "long",
        "backward-layout-swapped",
        {"split": LongRopeOfNeighbours.split, "join": LongRopeOfNeighbours.join},
    ),
    ("always short", "phi-3", None, {"factors": LongRopeAlwaysShort.factors}),
    ("longer twice", "phi-3", None, {"amplitude": lambda self, longer: longer**2}),
):
    made(
        LongRopeBack,
        f"LongRopeBack {_name}",
        "One step otherwise.",
        named=_named,
        claimed=(_claimed,),
        **_steps,
    )


class LongRopeBackDropsTheRest(LongRopeBack):
    """Unrotated channels get no gradient."""

    limits: ClassVar = {"rotation": "partial"}

    def rest(self, rest: Array, longer: float) -> Array:
        return np.zeros_like(rest)


class LongRopeBackIgnoresAttentionFactor(LongRopeBack):
    """The explicit attention factor is not passed to the backward pass."""

    limits: ClassVar = {"attention": "explicit"}

    def given(self, attention_factor: float, longer: float) -> float:
        return longer


class LongRopeBackChoosesByNegatedPositions(LongRopeBack):
    """The factors are chosen by negated positions, and so are always the short ones."""

    def answer(self, x: Array, positions: Array, *lists: Array, **keywords: Any) -> Array:
        self.seen = -positions
        return super().answer(x, positions, *lists, **keywords)

    def factors(
        self, short: Array, long: Array, positions: Array, trained: int, choice: str
    ) -> Array:
        return super().factors(short, long, self.seen, trained, choice)


below_zero(LongRope, "phi-3")
below_zero(LongRopeBack, "phi-3")
