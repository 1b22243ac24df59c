"""Rotary embeddings for longer texts: linear, NTK, dynamic, YaRN, Llama 3 and LongRoPE."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from posenc_conformance import claims, to_torch
from posenc_lab.field.implementation import FORMULA, right, wrong
from posenc_lab.field.people.adapters import FLOATS, Coded

AMPLITUDE = r"amplitude|length of|longer|shorter|attention|temperature|mscale|scaled|times"
FACTOR = r"factor"
BAND = r"ramp|band|smooth|between|share|blend|part"
BASE = r"base"


class LinearRope(Coded):
    """A module built from dim, base and factor."""

    @claims("half", dtype=FLOATS)
    def position_interpolation(self, x: Any, positions: Any, *, base: float, factor: float) -> Any:
        """Rotate."""
        return self.module(x.shape[-1], base, factor)(to_torch(x), to_torch(positions))


class NtkRope(Coded):
    """A module built from dim, base and factor."""

    @claims("half", dtype=FLOATS)
    def ntk_aware(self, x: Any, positions: Any, *, base: float, factor: float) -> Any:
        """Rotate."""
        return self.module(x.shape[-1], base, factor)(to_torch(x), to_torch(positions))


class DynamicRope(Coded):
    """A module built from dim, base, factor, original length; called with the current length."""

    @claims("half", dtype=FLOATS)
    def dynamic_ntk(
        self,
        x: Any,
        positions: Any,
        *,
        base: float,
        factor: float,
        original_max_position_embeddings: int,
        length: int,
    ) -> Any:
        """Rotate."""
        module = self.module(x.shape[-1], base, factor, original_max_position_embeddings)
        return module(to_torch(x), to_torch(positions), length)


class YarnRope(Coded):
    """A module built from dim, base, factor, original length and both betas."""

    @claims("code-half", dtype=FLOATS)
    def yarn(
        self,
        x: Any,
        positions: Any,
        *,
        base: float,
        factor: float,
        original_max_position_embeddings: int,
        beta_fast: float = 32,
        beta_slow: float = 1,
    ) -> Any:
        """Rotate."""
        scaling = base, factor, original_max_position_embeddings, beta_fast, beta_slow
        return self.module(x.shape[-1], *scaling)(to_torch(x), to_torch(positions))


class YarnUntruncated(Coded):
    """The same without rounding the bounds."""

    @claims("gpt-oss", dtype=FLOATS)
    def yarn(
        self,
        x: Any,
        positions: Any,
        *,
        base: float,
        factor: float,
        original_max_position_embeddings: int,
        beta_fast: float = 32,
        beta_slow: float = 1,
    ) -> Any:
        """Rotate."""
        scaling = base, factor, original_max_position_embeddings, beta_fast, beta_slow
        return self.module(x.shape[-1], *scaling)(to_torch(x), to_torch(positions))


class Llama3Rope(Coded):
    """A module built from dim, base and a scaling block."""

    @claims("half", dtype=FLOATS)
    def llama3(self, x: Any, positions: Any, *, base: float, **scaling: Any) -> Any:
        """Rotate."""
        return self.module(x.shape[-1], base, scaling)(to_torch(x), to_torch(positions))


class LongRope(Coded):
    """A module built from dim, base, both lists, factor and original length."""

    @claims("phi-3", dtype=FLOATS)
    def longrope(
        self,
        x: Any,
        positions: Any,
        short_factors: Any,
        long_factors: Any,
        *,
        base: float,
        factor: float,
        original_max_position_embeddings: int,
    ) -> Any:
        """Rotate."""
        lists = (
            [float(number) for number in short_factors],
            [float(number) for number in long_factors],
        )
        module = self.module(x.shape[-1], base, *lists, factor, original_max_position_embeddings)
        return module(to_torch(x), to_torch(positions))


class Turned(nn.Module):
    """Rotates in the half layout by given frequencies, and scales by an amplitude."""

    amplitude = 1.0

    def __init__(self, dim: int, base: float) -> None:
        super().__init__()
        self.dim, self.base = dim, base

    def plain(self, base: float | None = None) -> Tensor:
        exponents = torch.arange(0, self.dim, 2).float() / self.dim
        return 1.0 / ((self.base if base is None else base) ** exponents)

    def turn(self, x: Tensor, positions: Tensor, inv_freq: Tensor) -> Tensor:
        angles = positions.float()[:, None] * inv_freq
        emb = torch.cat((angles, angles), dim=-1)
        x1, x2 = x.float().chunk(2, dim=-1)
        cos, sin = self.amplify(emb.cos(), emb.sin())
        return (x.float() * cos + torch.cat((-x2, x1), dim=-1) * sin).to(x.dtype)

    def amplify(self, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
        return cos * self.amplitude, sin * self.amplitude


@right(LinearRope)
class Linear(Turned):
    """Divides frequencies by the factor."""

    def __init__(self, dim: int, base: float, factor: float) -> None:
        super().__init__(dim, base)
        self.factor = factor

    def frequencies(self) -> Tensor:
        return self.plain() / self.factor

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        return self.turn(x, positions, self.frequencies())


@right(LinearRope)
class LinearPositions(Linear):
    """Divides positions by the factor."""

    def frequencies(self) -> Tensor:
        return self.plain()

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        return super().forward(x, positions.float() / self.factor)


@wrong(LinearRope, FORMULA, FACTOR, r"not (divided|interpolated|scaled)")
class LinearIgnored(Linear):
    """Does not read the factor."""

    def frequencies(self) -> Tensor:
        return self.plain()


@wrong(LinearRope, FORMULA, r"\bmultiplied|inverse|times")
class LinearMultiplied(Linear):
    """Multiplies by the factor."""

    def frequencies(self) -> Tensor:
        return self.plain() * self.factor


@wrong(LinearRope, FORMULA, r"twice|factor")
class LinearTwice(LinearPositions):
    """Divides positions and frequencies."""

    def frequencies(self) -> Tensor:
        return self.plain() / self.factor


@wrong(LinearRope, FORMULA, r"whole|integer|round|floor|//|rows stand at|truncate")
class LinearWholePositions(LinearPositions):
    """Divides positions by floor division."""

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        return self.turn(x, positions // self.factor, self.frequencies())


@wrong(LinearRope, FORMULA, r"base|ntk")
class LinearByBase(Linear):
    """Raises the base and leaves positions alone."""

    def frequencies(self) -> Tensor:
        return self.plain(self.base * self.factor ** (self.dim / max(self.dim - 2, 1)))


@wrong(LinearRope, FORMULA, r"whole|integer|round|factor")
class LinearWholeFactor(Linear):
    """Truncates the factor to an integer."""

    def frequencies(self) -> Tensor:
        return self.plain() / int(self.factor)


@wrong(LinearRope, FORMULA, r"bfloat16|low.precision|rounded")
class LinearInDtypeOfRows(LinearPositions):
    """Divides positions in the dtype of the rows."""

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        return self.turn(x, positions.to(x.dtype) / self.factor, self.frequencies())


@right(NtkRope)
class Ntk(Linear):
    """Raises the base by factor^(d/(d-2))."""

    def raised(self) -> float:
        return self.base * self.factor ** (self.dim / max(self.dim - 2, 1))

    def frequencies(self) -> Tensor:
        return self.plain(self.raised())


@right(NtkRope)
class NtkByLambda(Ntk):
    """Slows pair t by factor^(2t/(d-2))."""

    def frequencies(self) -> Tensor:
        exponents = torch.arange(0, self.dim, 2).float() / max(self.dim - 2, 1)
        return self.plain() * self.factor**-exponents


@wrong(NtkRope, FORMULA, r"base.*factor|exponent|d/\(d ?- ?2\)|power|base [0-9]|\bB is")
class NtkWithoutExponent(Ntk):
    """Multiplies the base by the factor itself."""

    def raised(self) -> float:
        return self.base * self.factor


@wrong(NtkRope, FORMULA, r"exponent|d/\(d ?- ?2\)|power|base [0-9]|\bB is")
class NtkWithInverseExponent(Ntk):
    """Takes (d-2)/d for the exponent."""

    def raised(self) -> float:
        return self.base * self.factor ** ((self.dim - 2) / self.dim)


@wrong(NtkRope, FORMULA, r"exponent|d/2|pairs|power|base [0-9]|\bB is")
class NtkOfPairs(Ntk):
    """Uses the number of pairs instead of channels in the exponent."""

    def raised(self) -> float:
        pairs = self.dim // 2
        return self.base * self.factor ** (pairs / max(pairs - 2, 1))


@wrong(NtkRope, FORMULA, FACTOR, r"unscaled|plain rope|not (raised|scaled)")
class NtkIgnored(Ntk):
    """Leaves the base alone."""

    def raised(self) -> float:
        return self.base


@wrong(NtkRope, FORMULA, r"divided|twice|interpolat|factor")
class NtkAndLinear(Ntk):
    """Divides frequencies by the factor, too."""

    def frequencies(self) -> Tensor:
        return super().frequencies() / self.factor


@wrong(NtkRope, FORMULA, r"linear|divided|interpolat|factor")
class NtkIsLinear(Ntk):
    """Divides frequencies by the factor and leaves the base alone."""

    def frequencies(self) -> Tensor:
        return self.plain() / self.factor


@right(DynamicRope)
class Dynamic(Turned):
    """Computes the base from the length of each call."""

    def __init__(self, dim: int, base: float, factor: float, original: int) -> None:
        super().__init__(dim, base)
        self.factor, self.original = factor, original

    def growth(self, length: int) -> float:
        return self.factor * length / self.original - (self.factor - 1)

    def known(self, positions: Tensor, length: int) -> int:
        return max(length, self.original)

    def frequencies(self, length: int) -> Tensor:
        exponent = self.dim / max(self.dim - 2, 1)
        return self.plain(self.base * self.growth(length) ** exponent)

    def forward(self, x: Tensor, positions: Tensor, length: int) -> Tensor:
        return self.turn(x, positions, self.frequencies(self.known(positions, length)))


@wrong(DynamicRope, FORMULA, r"never|length|not (raised|scaled)|plain|unscaled|rope")
class DynamicNever(Dynamic):
    """Stays at the original length."""

    def known(self, positions: Tensor, length: int) -> int:
        return self.original


@wrong(DynamicRope, FORMULA, r"short|below|length|base")
class DynamicAlsoShort(Dynamic):
    """Lowers the base where the text is shorter than the original length."""

    def growth(self, length: int) -> float:
        return max(super().growth(length), 1e-3)

    def known(self, positions: Tensor, length: int) -> int:
        return length


@wrong(DynamicRope, FORMULA, r"position|length")
class DynamicByPositions(Dynamic):
    """Takes the largest position for the length."""

    def known(self, positions: Tensor, length: int) -> int:
        return max(int(positions.max()) + 1 if len(positions) else 0, self.original)


@wrong(DynamicRope, FORMULA, r"number of rows|not recomputed|never")
class DynamicByRows(Dynamic):
    """Takes the number of rows for the length."""

    def known(self, positions: Tensor, length: int) -> int:
        return max(len(positions), self.original)


@wrong(DynamicRope, FORMULA, r"factor ?- ?1|minus|subtract|term|difference is left out")
class DynamicWithoutSecondTerm(Dynamic):
    """Forgets to subtract factor - 1."""

    def growth(self, length: int) -> float:
        return self.factor * length / self.original if length > self.original else 1.0


@wrong(DynamicRope, FORMULA, r"without.*factor|factor.*(left out|ignored)|length / original")
class DynamicWithoutFactor(Dynamic):
    """Grows by length over original length alone."""

    def growth(self, length: int) -> float:
        return length / self.original


@wrong(DynamicRope, FORMULA, r"exponent|d/\(d ?- ?2\)|power|base")
class DynamicWithoutExponent(Dynamic):
    """Multiplies the base by the growth itself."""

    def frequencies(self, length: int) -> Tensor:
        return self.plain(self.base * self.growth(length))


@wrong(DynamicRope, FORMULA, r"length|original|\\bL\\b")
class DynamicFromLongLength(Dynamic):
    """Starts at factor times the original length."""

    def known(self, positions: Tensor, length: int) -> int:
        return super().known(positions, length) if length > self.factor * self.original else 1

    def frequencies(self, length: int) -> Tensor:
        return self.plain() if length == 1 else super().frequencies(length)


@wrong(DynamicRope, "state", r"earlier call|kept|keeps|longest|first call|state|length")
class DynamicNeverBack(Dynamic):
    """Keeps the base of the longest text that it has seen."""

    longest = 0

    def known(self, positions: Tensor, length: int) -> int:
        self.longest = max(self.longest, super().known(positions, length))
        return self.longest


@wrong(DynamicRope, "state", r"earlier call|kept|keeps|first call|state|length")
class DynamicFirstLong(Dynamic):
    """Raises the base once, at the first long text."""

    kept = 0

    def known(self, positions: Tensor, length: int) -> int:
        if length <= self.original:
            return self.original
        self.kept = self.kept or length
        return self.kept


@right(YarnRope)
class Yarn(Turned):
    """Blends frequencies by a ramp over pairs, and applies the attention factor."""

    def __init__(
        self,
        dim: int,
        base: float,
        factor: float,
        original: int,
        beta_fast: float,
        beta_slow: float,
    ) -> None:
        super().__init__(dim, base)
        self.factor, self.original = factor, original
        self.fast, self.slow = beta_fast, beta_slow
        self.amplitude = self.attention()

    def attention(self) -> float:
        return 0.1 * math.log(self.factor) + 1.0 if self.factor > 1 else 1.0

    def place(self, turns: float) -> float:
        wave = self.original / (turns * 2 * math.pi)
        return self.dim * math.log(wave) / (2 * math.log(self.base))

    def bounds(self) -> tuple[float, float]:
        low, high = math.floor(self.place(self.fast)), math.ceil(self.place(self.slow))
        return max(low, 0), min(high, self.dim - 1)

    def ramp(self) -> Tensor:
        low, high = self.bounds()
        high += 0.001 if low == high else 0
        return ((torch.arange(self.dim // 2).float() - low) / (high - low)).clamp(0, 1)

    def blend(self) -> Tensor:
        slowed = self.ramp()
        return self.plain() / self.factor * slowed + self.plain() * (1 - slowed)

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        return self.turn(x, positions, self.blend())


@right(YarnUntruncated)
class YarnOfGptOss(Yarn):
    """Does not round the bounds."""

    def bounds(self) -> tuple[float, float]:
        return max(self.place(self.fast), 0), min(self.place(self.slow), self.dim - 1)


@wrong(YarnRope, FORMULA, r"truncatee|cut|round|bounds|gpt-oss|untruncated|floor")
class YarnNotTruncated(YarnOfGptOss):
    """Does not round the bounds, although truncate is true by default."""


@wrong(YarnUntruncated, FORMULA, r"truncatee|cut|round|bounds|floor|index")
class YarnTruncated(Yarn):
    """Rounds the bounds although truncate is false."""


@wrong(YarnRope, FORMULA, r"ceil|round|bounds|floor|ramp|truncate")
class YarnBothFloored(Yarn):
    """Rounds both bounds down."""

    def bounds(self) -> tuple[float, float]:
        low, high = math.floor(self.place(self.fast)), math.floor(self.place(self.slow))
        return max(low, 0), min(high, self.dim - 1)


@wrong(YarnRope, FORMULA, AMPLITUDE)
class YarnWithoutAttention(Yarn):
    """Omits the attention factor."""

    def attention(self) -> float:
        return 1.0


@wrong(YarnRope, FORMULA, AMPLITUDE, r"twice|square")
class YarnAttentionSquared(Yarn):
    """Applies the attention factor to tables and to rows."""

    def attention(self) -> float:
        return super().attention() ** 2


@wrong(YarnRope, FORMULA, AMPLITUDE, r"cos|sin")
class YarnAttentionOnCosine(Yarn):
    """Applies the attention factor to the cosine alone."""

    def amplify(self, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
        return cos * self.amplitude, sin


@wrong(YarnRope, FORMULA, r"log10|decimal|base 10|pairs are [0-9.]+ (to [0-9.]+ )?times")
class YarnAttentionDecimal(Yarn):
    """Takes the logarithm to the base 10."""

    def attention(self) -> float:
        return 0.1 * math.log10(self.factor) + 1.0 if self.factor > 1 else 1.0


@wrong(YarnRope, FORMULA, r"ln L|longrope|\bsu\b|pairs are [0-9.]+ (to [0-9.]+ )?times")
class YarnAttentionOfLongrope(Yarn):
    """Takes √(1 + ln s / ln L)."""

    def attention(self) -> float:
        return math.sqrt(1 + math.log(self.factor) / math.log(self.original))


@wrong(YarnRope, FORMULA, r"beta|exchanged|swapped|ramp|bounds")
class YarnBetasExchanged(Yarn):
    """Exchanges beta_fast and beta_slow."""

    def bounds(self) -> tuple[float, float]:
        low, high = math.floor(self.place(self.slow)), math.ceil(self.place(self.fast))
        return max(low, 0), min(high, self.dim - 1)


@wrong(YarnRope, FORMULA, r"beta|default|32|ignored")
class YarnBetasFixed(Yarn):
    """Uses betas 32 and 1, whatever is passed."""

    def place(self, turns: float) -> float:
        return super().place(32 if turns == self.fast else 1)


@wrong(YarnRope, FORMULA, r"ramp|exchanged|invert|fast|mask|revers")
class YarnRampInverted(Yarn):
    """Slows the fast pairs and leaves the slow ones."""

    def ramp(self) -> Tensor:
        return 1 - super().ramp()


@wrong(YarnRope, FORMULA, r"clamp|ramp|beyond|bounds")
class YarnRampNotClamped(Yarn):
    """Lets the ramp go on beyond 0 and 1."""

    def ramp(self) -> Tensor:
        low, high = self.bounds()
        high += 0.001 if low == high else 0
        return (torch.arange(self.dim // 2).float() - low) / (high - low)


@wrong(YarnRope, FORMULA, r"base|10,?000|bounds|ramp")
class YarnBoundsOfTenThousand(Yarn):
    """Computes the bounds with base 10000."""

    def place(self, turns: float) -> float:
        wave = self.original / (turns * 2 * math.pi)
        return self.dim * math.log(wave) / (2 * math.log(10000))


@wrong(YarnRope, FORMULA, r"length|\bL\b|original|bounds")
class YarnBoundsOfLongLength(Yarn):
    """Computes the bounds with the extended length."""

    def place(self, turns: float) -> float:
        wave = self.original * self.factor / (turns * 2 * math.pi)
        return self.dim * math.log(wave) / (2 * math.log(self.base))


@wrong(YarnRope, FORMULA, r"2π|radian|bounds|ramp")
class YarnBoundsWithoutTwoPi(Yarn):
    """Mistakes turns for radians."""

    def place(self, turns: float) -> float:
        return self.dim * math.log(self.original / turns) / (2 * math.log(self.base))


@wrong(YarnRope, FORMULA, r"ramp|bounds|channels")
class YarnRampOverChannels(Yarn):
    """Counts channels where the ramp counts pairs."""

    def ramp(self) -> Tensor:
        low, high = self.bounds()
        high += 0.001 if low == high else 0
        return ((torch.arange(0, self.dim, 2).float() - low) / (high - low)).clamp(0, 1)


@wrong(YarnRope, FORMULA, r"all|linear|interpol|ramp|divided|every pair")
class YarnAllSlowed(Yarn):
    """Slows every pair."""

    def ramp(self) -> Tensor:
        return torch.ones(self.dim // 2)


@wrong(YarnRope, FORMULA, r"factor|no ramp|not slowed|plain|unscaled|left alone|rope")
class YarnNoneSlowed(Yarn):
    """Slows no pair, and only applies the attention factor."""

    def ramp(self) -> Tensor:
        return torch.zeros(self.dim // 2)


@wrong(YarnRope, FORMULA, r"twice|factor|square")
class YarnFactorTwice(Yarn):
    """Divides slow pairs by the factor twice."""

    def blend(self) -> Tensor:
        slowed = self.ramp()
        return self.plain() / self.factor**2 * slowed + self.plain() * (1 - slowed)


@wrong(YarnRope, FORMULA, r"ramp|step|hard|switch|smooth|bounds|jump")
class YarnWithoutRamp(Yarn):
    """Switches at the middle between the bounds."""

    def ramp(self) -> Tensor:
        return (super().ramp() > 0.5).float()


@wrong(YarnRope, FORMULA, r"layout|interleav|neighbour")
class YarnOfNeighbours(Yarn):
    """Rotates in the interleaved layout."""

    def turn(self, x: Tensor, positions: Tensor, inv_freq: Tensor) -> Tensor:
        angles = positions.float()[:, None] * inv_freq
        a, b = x.float()[..., ::2], x.float()[..., 1::2]
        cos, sin = self.amplify(angles.cos(), angles.sin())
        return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2).to(x.dtype)


@right(Llama3Rope)
class Llama3(Turned):
    """Chooses frequencies by wavelength, with a smooth band between."""

    def __init__(self, dim: int, base: float, scaling: dict[str, Any]) -> None:
        super().__init__(dim, base)
        self.factor = scaling["factor"]
        self.low, self.high = scaling["low_freq_factor"], scaling["high_freq_factor"]
        self.original = scaling["original_max_position_embeddings"]

    def waves(self) -> Tensor:
        return 2 * math.pi / self.plain()

    def share(self) -> Tensor:
        return (self.original / self.waves() - self.low) / (self.high - self.low)

    def mix(self, smooth: Tensor) -> Tensor:
        return (1 - smooth) * self.plain() / self.factor + smooth * self.plain()

    def frequencies(self) -> Tensor:
        waves, plain = self.waves(), self.plain()
        scaled = torch.where(waves > self.original / self.low, plain / self.factor, plain)
        between = (waves <= self.original / self.low) & (waves >= self.original / self.high)
        return torch.where(between, self.mix(self.share()), scaled)

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        return self.turn(x, positions, self.frequencies())


@right(Llama3Rope)
class Llama3InALoop(Llama3):
    """Goes through the frequencies one by one, as Meta's code."""

    def frequencies(self) -> Tensor:
        scaled = []
        for frequency in self.plain().tolist():
            wave = 2 * math.pi / frequency
            if wave < self.original / self.high:
                scaled.append(frequency)
            elif wave > self.original / self.low:
                scaled.append(frequency / self.factor)
            else:
                smooth = (self.original / wave - self.low) / (self.high - self.low)
                scaled.append((1 - smooth) * frequency / self.factor + smooth * frequency)
        return torch.tensor(scaled)


@wrong(Llama3Rope, FORMULA, r"low.*high|exchanged|swapped|smooth|ramp")
class Llama3FactorsExchanged(Llama3):
    """Exchanges low and high in the share of the band."""

    def share(self) -> Tensor:
        return (self.original / self.waves() - self.high) / (self.low - self.high)


@wrong(Llama3Rope, FORMULA, BAND, r"exchanged|revers|invert")
class Llama3MixedTheOtherWay(Llama3):
    """Exchanges smooth and 1 - smooth."""

    def mix(self, smooth: Tensor) -> Tensor:
        return smooth * self.plain() / self.factor + (1 - smooth) * self.plain()


@wrong(Llama3Rope, FORMULA, r"8,?192|length|original")
class Llama3LengthFixed(Llama3):
    """Uses 8192 as the original length."""

    def __init__(self, dim: int, base: float, scaling: dict[str, Any]) -> None:
        super().__init__(dim, base, scaling)
        self.original = 8192


@wrong(Llama3Rope, FORMULA, r"factor")
class Llama3FactorFixed(Llama3):
    """Has the factor 8 of Llama 3.1."""

    def __init__(self, dim: int, base: float, scaling: dict[str, Any]) -> None:
        super().__init__(dim, base, scaling)
        self.factor = 8.0


@wrong(Llama3Rope, FORMULA, r"low|high|1 and 4|default|band")
class Llama3BandFixed(Llama3):
    """Has the band from 1 to 4."""

    def __init__(self, dim: int, base: float, scaling: dict[str, Any]) -> None:
        super().__init__(dim, base, scaling)
        self.low, self.high = 1.0, 4.0


@wrong(Llama3Rope, FORMULA, BAND, r"no |step|hard|without")
class Llama3WithoutBand(Llama3):
    """Divides the band's frequencies by the factor, without blending."""

    def mix(self, smooth: Tensor) -> Tensor:
        return self.plain() / self.factor


@wrong(Llama3Rope, FORMULA, r"2π|wavelength|radian")
class Llama3WavesWithoutTwoPi(Llama3):
    """Takes one over the frequency for the wavelength."""

    def waves(self) -> Tensor:
        return 1 / self.plain()


@wrong(Llama3Rope, FORMULA, BAND, r"wavelength")
class Llama3LinearInWavelength(Llama3):
    """Makes the share linear in the wavelength."""

    def share(self) -> Tensor:
        longest, shortest = self.original / self.low, self.original / self.high
        return (longest - self.waves()) / (longest - shortest)


@wrong(Llama3Rope, FORMULA, r"fast|slow|exchanged|revers|other|invert|high|low")
class Llama3FastOnesSlowed(Llama3):
    """Slows the fast pairs and leaves the slow ones."""

    def frequencies(self) -> Tensor:
        waves, plain = self.waves(), self.plain()
        scaled = torch.where(waves < self.original / self.high, plain / self.factor, plain)
        between = (waves <= self.original / self.low) & (waves >= self.original / self.high)
        return torch.where(between, self.mix(self.share()), scaled)


@wrong(Llama3Rope, FORMULA, r"not (read|scaled)|plain|unscaled|factor|rope|ignored")
class Llama3Ignored(Llama3):
    """Ignores the scaling, and rotates by unscaled frequencies."""

    def frequencies(self) -> Tensor:
        return self.plain()


@wrong(Llama3Rope, FORMULA, r"all|linear|every pair|divided|band")
class Llama3AllSlowed(Llama3):
    """Divides every frequency."""

    def frequencies(self) -> Tensor:
        return self.plain() / self.factor


@wrong(Llama3Rope, FORMULA, r"clamp|band|beyond|share|smooth")
class Llama3MixedEverywhere(Llama3):
    """Blends all frequencies, with shares beyond 0 and 1."""

    def frequencies(self) -> Tensor:
        return self.mix(self.share())


@right(LongRope)
class Phi(Turned):
    """Two lists of factors, one for short and one for long texts."""

    def __init__(
        self,
        dim: int,
        base: float,
        short: list[float],
        long: list[float],
        factor: float,
        original: int,
    ) -> None:
        super().__init__(dim, base)
        self.short, self.long = torch.tensor(short), torch.tensor(long)
        self.factor, self.original = factor, original
        self.amplitude = self.attention()

    def attention(self) -> float:
        if self.factor <= 1:
            return 1.0
        return math.sqrt(1 + math.log(self.factor) / math.log(self.original))

    def is_long(self, positions: Tensor) -> bool:
        return bool(len(positions)) and int(positions.max()) + 1 > self.original

    def chosen(self, positions: Tensor) -> Tensor:
        return self.long if self.is_long(positions) else self.short

    def frequencies(self, factors: Tensor) -> Tensor:
        exponents = torch.arange(0, self.dim, 2).float() / self.dim
        return 1.0 / (factors * self.base**exponents)

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        return self.turn(x, positions, self.frequencies(self.chosen(positions)))


@wrong(LongRope, FORMULA, r"short")
class PhiAlwaysShort(Phi):
    """Takes the short list always."""

    def is_long(self, positions: Tensor) -> bool:
        return False


@wrong(LongRope, FORMULA, r"long")
class PhiAlwaysLong(Phi):
    """Takes the long list always."""

    def is_long(self, positions: Tensor) -> bool:
        return True


@wrong(LongRope, FORMULA, r"exchanged|swapped|short.*long|long.*short")
class PhiListsExchanged(Phi):
    """Takes the long list for short texts."""

    def is_long(self, positions: Tensor) -> bool:
        return not super().is_long(positions)


@wrong(LongRope, FORMULA, r"by rows|number of rows|short|choice|list")
class PhiByRows(Phi):
    """Chooses the list by the number of rows."""

    def is_long(self, positions: Tensor) -> bool:
        return len(positions) > self.original


@wrong(LongRope, FORMULA, r"last|largest|order|choice|list|short|long")
class PhiByLastPosition(Phi):
    """Chooses the list by the last position, which need not be the largest."""

    def is_long(self, positions: Tensor) -> bool:
        return bool(len(positions)) and int(positions[-1]) + 1 > self.original


@wrong(LongRope, FORMULA, r"first|largest|order|choice|list|short|long")
class PhiByFirstPosition(Phi):
    """Chooses the list by the first position."""

    def is_long(self, positions: Tensor) -> bool:
        return bool(len(positions)) and int(positions[0]) + 1 > self.original


@wrong(LongRope, FORMULA, r"one|at L|from L|already|earlier|choice|list|long")
class PhiOneTooEarly(Phi):
    """Takes the long list as soon as the text has the original length."""

    def is_long(self, positions: Tensor) -> bool:
        return bool(len(positions)) and int(positions.max()) + 1 >= self.original


@wrong(LongRope, FORMULA, r"one|late|choice|list|short")
class PhiOneTooLate(Phi):
    """Compares the largest position with the original length."""

    def is_long(self, positions: Tensor) -> bool:
        return bool(len(positions)) and int(positions.max()) > self.original


@wrong(LongRope, FORMULA, r"per row|each row|row|own position|short")
class PhiRowByRow(Phi):
    """Chooses the list for each row by itself."""

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        short = self.turn(x, positions, self.frequencies(self.short))
        long = self.turn(x, positions, self.frequencies(self.long))
        return torch.where((positions >= self.original)[:, None], long, short)


@wrong(LongRope, FORMULA, AMPLITUDE)
class PhiWithoutAttention(Phi):
    """Omits the attention factor."""

    def attention(self) -> float:
        return 1.0


@wrong(LongRope, FORMULA, AMPLITUDE, r"root|√")
class PhiWithoutRoot(Phi):
    """Forgets the square root."""

    def attention(self) -> float:
        return super().attention() ** 2


@wrong(LongRope, FORMULA, AMPLITUDE, r"yarn")
class PhiWithAttentionOfYarn(Phi):
    """Takes 0.1 ln s + 1."""

    def attention(self) -> float:
        return 0.1 * math.log(self.factor) + 1.0 if self.factor > 1 else 1.0


@wrong(LongRope, FORMULA, AMPLITUDE, r"short|long")
class PhiAttentionOnlyLong(Phi):
    """Applies the attention factor only to long texts."""

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        turned = super().forward(x, positions)
        return turned if self.is_long(positions) else turned / self.amplitude


@wrong(LongRope, FORMULA, r"\bmultiplied|inverse|reciprocal")
class PhiMultiplies(Phi):
    """Multiplies frequencies by the factors."""

    def frequencies(self, factors: Tensor) -> Tensor:
        return super().frequencies(1 / factors)


@wrong(LongRope, "state", r"earlier call|kept|keeps|first call|state|long")
class PhiStaysLong(Phi):
    """Stays with the long list once it has taken it."""

    been_long = False

    def is_long(self, positions: Tensor) -> bool:
        self.been_long = self.been_long or super().is_long(positions)
        return self.been_long
