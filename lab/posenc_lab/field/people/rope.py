"""Rotary embeddings without a cache: modules, functions, partial rotation."""

import math
from functools import lru_cache

import torch
from torch import Tensor, nn

from posenc_lab.field.implementation import FORMULA, right, wrong
from posenc_lab.field.people.adapters import (
    Half,
    HalfByHeads,
    HalfByRows,
    HalfFunction,
    HalfFunctionInMemory,
    HalfInMemory,
    HalfOfModel,
    HalfPartial,
    HalfTrained,
    Interleaved,
    InterleavedFunction,
)

FREQUENCIES = r"frequenc|exponent"
AXES = r"\baxis|\baxes|heads?\b.*position|position.*\bheads?\b"


@right(Half)
@right(HalfInMemory)
@right(HalfTrained)
class Neox(nn.Module):
    """Keeps frequencies in a buffer and forms tables in each call; half layout."""

    def __init__(self, dim: int, base: float = 10000.0) -> None:
        super().__init__()
        self.dim, self.base = dim, base
        self.register_buffer("inv_freq", self.frequencies(), persistent=False)

    def frequencies(self) -> Tensor:
        return 1.0 / (self.base ** (self.exponents() / self.dim))

    def exponents(self) -> Tensor:
        return torch.arange(0, self.dim, 2).float()

    def angles(self, positions: Tensor) -> Tensor:
        return torch.outer(positions.float(), self.inv_freq)

    def doubled(self, angles: Tensor) -> Tensor:
        return torch.cat((angles, angles), dim=-1)

    def tables(self, x: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        emb = self.doubled(self.angles(positions))
        return emb.cos(), emb.sin()

    def rotate_half(self, x: Tensor) -> Tensor:
        x1, x2 = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
        return torch.cat((-x2, x1), dim=-1)

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        cos, sin = self.tables(x, positions)
        wide = x.float()
        return (wide * cos + self.rotate_half(wide) * sin).to(x.dtype)


@wrong(Half, FORMULA, r"invert|reciprocal|base\^\(2t/d\)|base\^\(\+|growing frequenc")
class FrequenciesNotInverted(Neox):
    """Multiplies by base^(2t/d) and forgets the 1 over it."""

    def frequencies(self) -> Tensor:
        return torch.as_tensor(self.base ** (self.exponents() / self.dim))


@wrong(Half, FORMULA, r"base.*10,?000|10,?000.*base|base.*(fixed|ignored|not used)|base of its own")
class BaseHardCoded(Neox):
    """Uses base 10000, whatever base is passed."""

    def frequencies(self) -> Tensor:
        return torch.as_tensor(10000.0 ** (-self.exponents() / self.dim))


@wrong(Half, FORMULA, r"base.*2|twice.*base|base")
class BaseDoubled(Neox):
    """Takes twice the base."""

    def frequencies(self) -> Tensor:
        return torch.as_tensor((2 * self.base) ** (-self.exponents() / self.dim))


@wrong(Half, FORMULA, r"integer division|frequenc|exponent|all pairs|base\^")
class ExponentByIntegerDivision(Neox):
    """Divides integers, so that every exponent is 0."""

    def frequencies(self) -> Tensor:
        return 1.0 / (self.base ** (torch.arange(0, self.dim, 2) // self.dim))


@wrong(Half, FORMULA, r"4t|doubled|twice|exponent")
class ExponentDoubled(Neox):
    """Counts channels in twos and then doubles them again."""

    def exponents(self) -> Tensor:
        return 2 * torch.arange(0, self.dim, 2).float()


@wrong(Half, FORMULA, r"halv|\bt/d|half of the exponent|exponent")
class ExponentHalved(Neox):
    """Uses pair numbers instead of channel numbers: base^(-t/d)."""

    def exponents(self) -> Tensor:
        return torch.arange(0, self.dim // 2).float()


@wrong(Half, FORMULA, r"d ?- ?2|d/2 ?- ?1|denominator|exponent")
class LastPairReachesBase(Neox):
    """Divides by d - 2, so that the last frequency is 1/base."""

    def frequencies(self) -> Tensor:
        return 1.0 / (self.base ** (self.exponents() / max(self.dim - 2, 1)))


@wrong(Half, FORMULA, r"t ?\+ ?1|from 1|shifted|next pair|exponent|frequenc")
class PairsFromOne(Neox):
    """Numbers pairs from 1, as the paper's indices do."""

    def exponents(self) -> Tensor:
        return torch.arange(2, self.dim + 2, 2).float()


@wrong(Half, FORMULA, r"order|revers|backwards|frequenc|d/2-1-t")
class FrequenciesReversed(Neox):
    """Gives the slowest frequency to the first pair."""

    def exponents(self) -> Tensor:
        return torch.arange(0, self.dim, 2).float().flip(0)


@wrong(Half, FORMULA, r"cos.*sin.*(exchanged|swapped)|exchanged|swapped cos|90|π/2|quarter")
class CosSinExchanged(Neox):
    """Unpacks sin, cos where cos, sin is returned."""

    def tables(self, x: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        sin, cos = super().tables(x, positions)
        return cos, sin


@wrong(Half, FORMULA, r"sign|other way|backwards|negative|inverse|opposite")
class TurnsBackwards(Neox):
    """Puts the minus sign on the wrong half, which rotates backwards."""

    def rotate_half(self, x: Tensor) -> Tensor:
        return -super().rotate_half(x)


@wrong(Half, FORMULA, r"reflect|sign|minus|plus|not a rotation|no rotation")
class MinusForgotten(Neox):
    """Exchanges halves and forgets the minus sign."""

    def rotate_half(self, x: Tensor) -> Tensor:
        x1, x2 = x.chunk(2, dim=-1)
        return torch.cat((x2, x1), dim=-1)


@wrong(Half, FORMULA, r"layout|interleav|neighbour")
class TurnsNeighbours(Neox):
    """Pairs channels 2t and 2t+1 throughout."""

    def doubled(self, angles: Tensor) -> Tensor:
        return angles.repeat_interleave(2, dim=-1)

    def rotate_half(self, x: Tensor) -> Tensor:
        return torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)


@wrong(Half, FORMULA, r"table|mixed|layout|interleav")
class TablesOfNeighbours(Neox):
    """Has tables for the interleaved layout, but rotates in the half layout."""

    def doubled(self, angles: Tensor) -> Tensor:
        return angles.repeat_interleave(2, dim=-1)


@wrong(Half, FORMULA, r"table|mixed|layout|interleav")
class TurnsNeighboursByTablesOfHalves(Neox):
    """Has tables for the half layout, but rotates in the interleaved layout."""

    def rotate_half(self, x: Tensor) -> Tensor:
        return torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)


@wrong(Half, FORMULA, r"from 1|one later|shift|\+ ?1|offset|one position")
class PositionsFromOne(Neox):
    """Counts positions from 1."""

    def angles(self, positions: Tensor) -> Tensor:
        return torch.outer(positions.float() + 1, self.inv_freq)


@wrong(Half, FORMULA, r"- ?1|before|shift|offset|one position|earlier position|late")
class PositionsOneBehind(Neox):
    """Uses each position minus one, but not below 0."""

    def angles(self, positions: Tensor) -> Tensor:
        return torch.outer((positions - 1).clamp(min=0).float(), self.inv_freq)


@wrong(Half, FORMULA, r"from 0|index|restart|number of the row|positions? (are )?ignored|row")
class PositionsByRow(Neox):
    """Uses row numbers 0, 1, 2, … and ignores positions."""

    def angles(self, positions: Tensor) -> Tensor:
        return torch.outer(torch.arange(len(positions)).float(), self.inv_freq)


@wrong(Half, FORMULA, r"consecutive|first position|follow|in a row|from the first|count")
class PositionsFromTheFirst(Neox):
    """Takes the first position and counts on from it."""

    def angles(self, positions: Tensor) -> Tensor:
        start = int(positions[0]) if len(positions) else 0
        return torch.outer(start + torch.arange(len(positions)).float(), self.inv_freq)


@wrong(Half, FORMULA, r"sort|order|ascending")
class PositionsSorted(Neox):
    """Sorts positions first, as for a table of unique ones."""

    def angles(self, positions: Tensor) -> Tensor:
        return torch.outer(positions.sort().values.float(), self.inv_freq)


@wrong(Half, FORMULA, r"clamp|cut|at most|largest|2,?047|limit|capped|beyond|stay")
class PositionsClamped(Neox):
    """Clamps positions to a table of 2048."""

    def angles(self, positions: Tensor) -> Tensor:
        return torch.outer(positions.clamp(max=2047).float(), self.inv_freq)


@wrong(Half, FORMULA, r"modulo|wrap|4,?096|start again|repeat|period")
class PositionsWrapped(Neox):
    """Takes positions modulo 4096."""

    def angles(self, positions: Tensor) -> Tensor:
        return torch.outer((positions % 4096).float(), self.inv_freq)


@wrong(Half, FORMULA, r"int16|wrap|16 bits|32,?76[78]|modulo|65,?536|overflow")
class PositionsInInt16(Neox):
    """Casts positions to 16-bit integers."""

    def angles(self, positions: Tensor) -> Tensor:
        return torch.outer(positions.short().float(), self.inv_freq)


@wrong(Half, FORMULA, r"positions?.*(float16|half)|float16|2,?048|fp16|low|rounded")
class PositionsInFloat16(Neox):
    """Counts positions in float16, whatever the dtype of x."""

    def angles(self, positions: Tensor) -> Tensor:
        return torch.outer(positions.half().float(), self.inv_freq)


@wrong(Half, FORMULA, r"bfloat16|low.precision|rounded")
class FrequenciesInBfloat16(Neox):
    """Rounds frequencies to bfloat16, as when they are loaded."""

    def frequencies(self) -> Tensor:
        return super().frequencies().bfloat16().float()


@wrong(Half, FORMULA, r"bfloat16|low.precision|rounded")
class TablesInBfloat16(Neox):
    """Keeps cosines and sines in bfloat16, also for float32."""

    def tables(self, x: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        cos, sin = super().tables(x, positions)
        return cos.bfloat16().float(), sin.bfloat16().float()


@wrong(Half, FORMULA, r"bfloat16|low.precision|rounded")
class AnglesInDtypeOfRows(Neox):
    """Multiplies positions by frequencies in the dtype of x."""

    def tables(self, x: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        angles = positions.to(x.dtype)[:, None] * self.inv_freq.to(x.dtype)
        emb = self.doubled(angles)
        return emb.cos(), emb.sin()


@wrong(Half, FORMULA, r"3\.14|2π|\bpi\b|modulo|turn|frequenc")
class AnglesByRoughPi(Neox):
    """Reduces angles by 6.28 to keep them small."""

    def angles(self, positions: Tensor) -> Tensor:
        return super().angles(positions) % 6.28


@wrong(Half, FORMULA, r"degree|π/180|180|frequenc.*factor|factor")
class AnglesInDegrees(Neox):
    """Converts angles as if they were degrees."""

    def angles(self, positions: Tensor) -> Tensor:
        return torch.deg2rad(super().angles(positions))


@wrong(Half, FORMULA, r"2π|6\.28|turns|factor")
class AnglesInTurns(Neox):
    """Multiplies angles by 2π."""

    def angles(self, positions: Tensor) -> Tensor:
        return 2 * math.pi * super().angles(positions)


@wrong(Half, FORMULA, r"factor|times|scale|amplitude|shorter|0\.7|√")
class ScaledByRootOfHalf(Neox):
    """Divides by the square root of 2, as tables of other encodings do."""

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        return super().forward(x, positions) / math.sqrt(2)


@wrong(Half, FORMULA, r"factor|times|scale|amplitude|shorter|√|head_dim|d\^")
class ScaledByRootOfDim(Neox):
    """Multiplies by the attention scale, 1 / √head_dim."""

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        return super().forward(x, positions) * x.shape[-1] ** -0.5


@wrong(Half, FORMULA, r"added|plus|rest|residual|as well|x \+")
class RotationAdded(Neox):
    """Adds the rotated rows to the rows."""

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        return x + super().forward(x, positions)


@wrong(Half, FORMULA, r"first half|overwritten|already|in place|second half|not a rotation")
class FirstHalfOverwritten(Neox):
    """Rotates the second half with the new values of the first half."""

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        angles = self.angles(positions)
        cos, sin = angles.cos(), angles.sin()
        x1, x2 = x.float().chunk(2, dim=-1)
        x1 = x1 * cos - x2 * sin
        x2 = x2 * cos + x1 * sin
        return torch.cat((x1, x2), dim=-1).to(x.dtype)


@wrong(Half, FORMULA, r"first|part|half of|not (turned|rotated)|unrotated|rotary_dim|pass|only")
class HalfOfChannels(Neox):
    """Rotates only the first half of the channels, as if rotary_pct were 0.5."""

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        turned = x.shape[-1] // 4 * 2
        if not turned:
            return super().forward(x, positions)
        head, passed = x[..., :turned], x[..., turned:]
        part = Neox(turned, self.base)
        return torch.cat((part(head, positions), passed), dim=-1)


@wrong(Half, FORMULA, r"64|pairs?.*beyond|not (turned|rotated)|unrotated|only|channel")
class PairsBeyondSixtyFour(Neox):
    """Rotates 64 pairs, those of heads with 128 channels, and leaves further pairs unrotated."""

    def angles(self, positions: Tensor) -> Tensor:
        angles = super().angles(positions)
        angles[:, 64:] = 0
        return angles


@wrong(Half, FORMULA, r"single row|one row|not (turned|rotated)|of a single|one position")
class OneRowLeftAlone(Neox):
    """Leaves a single row unrotated, as if it had no other row to relate to."""

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        return x.clone() if x.shape[-2] == 1 else super().forward(x, positions)


@wrong(Half, FORMULA, r"last row|last position|position 0|not (turned|rotated)|row")
class LastRowLeftAlone(Neox):
    """Turns all rows but the last."""

    def angles(self, positions: Tensor) -> Tensor:
        angles = super().angles(positions)
        angles[-1:] = 0
        return angles


@wrong(Half, FORMULA, r"8,?192|beyond|from position|base|long")
class OtherBaseWhenLong(Neox):
    """Takes four times the base if any position is 8192 or more."""

    def angles(self, positions: Tensor) -> Tensor:
        if len(positions) and int(positions.max()) >= 8192:
            frequencies = (4 * self.base) ** (-self.exponents() / self.dim)
            return torch.outer(positions.float(), frequencies)
        return super().angles(positions)


@wrong(HalfInMemory, "memory", r"input|caller|modif|in place|chang")
class TurnsInPlace(Neox):
    """Writes the result into the rows that it was given."""

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        return x.copy_(super().forward(x, positions))


@wrong(Half, "shapes", r"dtype|float32")
class StaysInFloat32(Neox):
    """Forgets to cast back."""

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        return super().forward(x.float(), positions)


@wrong(Half, "shapes", r"shape|axis|squeez")
class Squeezes(Neox):
    """Squeezes every axis of length 1."""

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        return super().forward(x, positions).squeeze()


@wrong(Half, "exceptions", r"raised|error")
class AssertsSquareShape(Neox):
    """Takes rows of two axes only."""

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        rows, dim = x.shape
        return super().forward(x, positions).view(rows, dim)


@wrong(Half, "exceptions", r"raised|error")
class ViewsWhatIsStrided(Neox):
    """Takes a view where rows may not be contiguous."""

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        flat = x.view(-1, *x.shape[-2:])
        return super().forward(flat, positions).view(x.shape)


@wrong(Half, "shapes", r"batch|leading|first")
class FirstOfBatch(Neox):
    """Turns the first of the batch and repeats it."""

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        flat = x.reshape(-1, *x.shape[-2:])
        return super().forward(flat[:1], positions).expand_as(flat).reshape(x.shape).clone()


@wrong(HalfTrained, "gradients", r"gradient|vjp|backward")
class Detached(Neox):
    """Cuts the autograd graph."""

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        return super().forward(x.detach(), positions) + 0 * x


class _TurnsGradientsForward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, cos, sin):  # type: ignore[no-untyped-def]  # as PyTorch has it
        ctx.save_for_backward(cos, sin)
        x1, x2 = x.chunk(2, dim=-1)
        return torch.cat((x1 * cos - x2 * sin, x2 * cos + x1 * sin), dim=-1)

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def]  # as PyTorch has it
        cos, sin = ctx.saved_tensors
        g1, g2 = gradient.chunk(2, dim=-1)
        return torch.cat((g1 * cos - g2 * sin, g2 * cos + g1 * sin), dim=-1), None, None


class _TurnsGradientsBack(_TurnsGradientsForward):
    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def]  # as PyTorch has it
        cos, sin = ctx.saved_tensors
        g1, g2 = gradient.chunk(2, dim=-1)
        return torch.cat((g1 * cos + g2 * sin, g2 * cos - g1 * sin), dim=-1), None, None


@right(HalfTrained)
class OwnBackward(Neox):
    """An autograd function that rotates upstream gradients back."""

    function: type[torch.autograd.Function] = _TurnsGradientsBack

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        angles = self.angles(positions)
        return self.function.apply(x.float(), angles.cos(), angles.sin()).to(x.dtype)


@wrong(HalfTrained, "gradients", r"sign|gradient|forward|backward")
class OwnBackwardForgetsSign(OwnBackward):
    """Rotates upstream gradients forward, like rows."""

    function = _TurnsGradientsForward


@wrong(HalfOfModel, FORMULA, r"bfloat16|float16|low.precision|rounded")
class CastWithModel(Neox):
    """Keeps frequencies in a buffer that is cast with the model."""

    def angles(self, positions: Tensor) -> Tensor:
        return torch.outer(positions.to(self.inv_freq.dtype), self.inv_freq).float()


@right(HalfOfModel)
class KeptInFloat32(Neox):
    """Computes frequencies when it is called, so that no cast reaches them."""

    def angles(self, positions: Tensor) -> Tensor:
        return torch.outer(positions.float(), self.frequencies())


@wrong(HalfOfModel, FORMULA, r"bfloat16|float16|low.precision|rounded|position")
class PositionsCastWithModel(KeptInFloat32):
    """Counts positions in the model's dtype."""

    def angles(self, positions: Tensor) -> Tensor:
        return torch.outer(positions.to(self.inv_freq.dtype).float(), self.frequencies())


@right(HalfByHeads)
class LikeTransformers(nn.Module):
    """Takes position_ids per sequence; tables are cast to the dtype of the queries."""

    def __init__(self, head_dim: int, rope_theta: float = 10000.0) -> None:
        super().__init__()
        exponents = torch.arange(0, head_dim, 2, dtype=torch.int64).float() / head_dim
        self.register_buffer("inv_freq", 1.0 / (rope_theta**exponents), persistent=False)

    def tables(self, x: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        wide = self.inv_freq[None, :, None].float().expand(position_ids.shape[0], -1, 1)
        freqs = (wide @ position_ids[:, None, :].float()).transpose(1, 2)
        emb = torch.cat((freqs, freqs), dim=-1)
        return emb.cos().to(x.dtype), emb.sin().to(x.dtype)

    def forward(self, q: Tensor, position_ids: Tensor, unsqueeze_dim: int = 1) -> Tensor:
        cos, sin = (table.unsqueeze(unsqueeze_dim) for table in self.tables(q, position_ids))
        half = q.shape[-1] // 2
        return q * cos + torch.cat((-q[..., half:], q[..., :half]), dim=-1) * sin


@wrong(HalfByHeads, "shapes", AXES, r"raised")
class UnsqueezesWrongAxis(LikeTransformers):
    """Broadcasts tables over positions, and rotates each head by its index."""

    def forward(self, q: Tensor, position_ids: Tensor, unsqueeze_dim: int = 2) -> Tensor:
        return super().forward(q, position_ids, unsqueeze_dim)


@wrong(HalfByHeads, FORMULA, AXES, r"number of the head|head")
class HeadsForPositions(LikeTransformers):
    """Mistakes [batch, heads, n, head_dim] for [batch, n, heads, head_dim]."""

    def forward(self, q: Tensor, position_ids: Tensor, unsqueeze_dim: int = 2) -> Tensor:
        heads = torch.arange(q.shape[1])[None]
        return super().forward(q, heads, unsqueeze_dim)


@wrong(HalfByHeads, FORMULA, r"bfloat16|low.precision|rounded")
class TablesByMatmulInHalf(LikeTransformers):
    """Multiplies frequencies by positions as autocast does, in the dtype of the queries."""

    def tables(self, x: Tensor, position_ids: Tensor) -> tuple[Tensor, Tensor]:
        freqs = position_ids[..., None].to(x.dtype) @ self.inv_freq[None].to(x.dtype)
        emb = torch.cat((freqs, freqs), dim=-1)
        return emb.cos(), emb.sin()


@wrong(HalfByHeads, FORMULA, r"first head|leading index|head")
class FirstHeadOnly(LikeTransformers):
    """Turns the first head and leaves the others."""

    def forward(self, q: Tensor, position_ids: Tensor, unsqueeze_dim: int = 1) -> Tensor:
        turned = super().forward(q, position_ids, unsqueeze_dim)
        return torch.cat((turned[:, :1], q[:, 1:]), dim=1)


@right(InterleavedFunction)
def complex_rope(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Multiplies interleaved pairs, as complex numbers, by e^(i angle)."""
    dim = x.shape[-1]
    freqs = 1.0 / (base ** (torch.arange(0, dim, 2)[: dim // 2].float() / dim))
    cis = torch.polar(torch.ones(len(positions), dim // 2), torch.outer(positions.float(), freqs))
    pairs = torch.view_as_complex(x.float().contiguous().view(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * cis).flatten(-2).type_as(x)


@wrong(InterleavedFunction, FORMULA, r"sign|other way|backwards|conjug|negative|inverse|opposite")
def complex_rope_conjugated(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Multiplies by the conjugate."""
    dim = x.shape[-1]
    freqs = 1.0 / (base ** (torch.arange(0, dim, 2)[: dim // 2].float() / dim))
    cis = torch.polar(torch.ones(len(positions), dim // 2), torch.outer(positions.float(), freqs))
    pairs = torch.view_as_complex(x.float().contiguous().view(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * cis.conj()).flatten(-2).type_as(x)


@wrong(InterleavedFunction, FORMULA, r"layout|half|halves")
def complex_rope_of_halves(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Forms complex numbers from the two halves, as in the half layout."""
    dim = x.shape[-1]
    freqs = 1.0 / (base ** (torch.arange(0, dim, 2)[: dim // 2].float() / dim))
    cis = torch.polar(torch.ones(len(positions), dim // 2), torch.outer(positions.float(), freqs))
    turned = torch.complex(*x.float().chunk(2, dim=-1)) * cis
    return torch.cat((turned.real, turned.imag), dim=-1).type_as(x)


@wrong(InterleavedFunction, FORMULA, r"layout|interleaved-to-half|written|order")
def complex_rope_written_in_halves(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Reads interleaved pairs, but writes all real parts before all imaginary ones."""
    dim = x.shape[-1]
    freqs = 1.0 / (base ** (torch.arange(0, dim, 2)[: dim // 2].float() / dim))
    cis = torch.polar(torch.ones(len(positions), dim // 2), torch.outer(positions.float(), freqs))
    pairs = torch.view_as_complex(x.float().contiguous().view(*x.shape[:-1], -1, 2))
    turned = pairs * cis
    return torch.cat((turned.real, turned.imag), dim=-1).type_as(x)


@wrong(InterleavedFunction, "exceptions", r"raised|error")
def complex_rope_of_strided_rows(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Views interleaved pairs as complex numbers, even if they are not adjacent in memory."""
    dim = x.shape[-1]
    freqs = 1.0 / (base ** (torch.arange(0, dim, 2)[: dim // 2].float() / dim))
    cis = torch.polar(torch.ones(len(positions), dim // 2), torch.outer(positions.float(), freqs))
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * cis).flatten(-2).type_as(x)


@right(InterleavedFunction)
def gptj_rope(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Rotates interleaved pairs, with each angle repeated for both channels."""
    inv_freq = base ** -(torch.arange(0, x.shape[-1], 2).float() / x.shape[-1])
    angles = torch.einsum("i,j->ij", positions.float(), inv_freq).repeat_interleave(2, dim=1)
    rotated = torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)
    return (x.float() * angles.cos() + rotated.float() * angles.sin()).to(x.dtype)


@wrong(InterleavedFunction, FORMULA, r"table|mixed|layout|half")
def gptj_rope_repeated_wrongly(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Repeats the row of angles and not each of them."""
    inv_freq = base ** -(torch.arange(0, x.shape[-1], 2).float() / x.shape[-1])
    angles = torch.einsum("i,j->ij", positions.float(), inv_freq).repeat(1, 2)
    rotated = torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)
    return (x.float() * angles.cos() + rotated.float() * angles.sin()).to(x.dtype)


@wrong(InterleavedFunction, FORMULA, r"cos.*sin|exchanged|swapped|90|π/2|quarter")
def gptj_rope_with_sine_first(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Splits the table of sine and cosine in the other order."""
    inv_freq = base ** -(torch.arange(0, x.shape[-1], 2).float() / x.shape[-1])
    angles = torch.einsum("i,j->ij", positions.float(), inv_freq)
    cos, sin = torch.cat((angles.sin(), angles.cos()), dim=-1).chunk(2, dim=-1)
    cos, sin = cos.repeat_interleave(2, dim=1), sin.repeat_interleave(2, dim=1)
    rotated = torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)
    return (x.float() * cos + rotated.float() * sin).to(x.dtype)


@wrong(InterleavedFunction, FORMULA, r"float16|half|low.precision|rounded|bfloat16")
def gptj_rope_in_half(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Forms angles in float16 to save memory."""
    inv_freq = base ** -(torch.arange(0, x.shape[-1], 2).float() / x.shape[-1])
    angles = torch.einsum("i,j->ij", positions.half().float(), inv_freq.half().float())
    angles = angles.repeat_interleave(2, dim=1)
    rotated = torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)
    return (x.float() * angles.cos() + rotated.float() * angles.sin()).to(x.dtype)


@wrong(InterleavedFunction, FORMULA, r"base.*10,?000|10,?000.*base|base")
def gptj_rope_of_ten_thousand(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Has the base of GPT-J."""
    inv_freq = 10000 ** -(torch.arange(0, x.shape[-1], 2).float() / x.shape[-1])
    angles = torch.einsum("i,j->ij", positions.float(), inv_freq).repeat_interleave(2, dim=1)
    rotated = torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)
    return (x.float() * angles.cos() + rotated.float() * angles.sin()).to(x.dtype)


@right(HalfFunction)
def rope_by_stack(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Rotates in the half layout by 2 x 2 matrices."""
    dim = x.shape[-1]
    omega = torch.exp(-math.log(base) * torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    angles = (positions.double()[:, None] * omega).float()
    c, s = angles.cos(), angles.sin()
    matrices = torch.stack((torch.stack((c, -s), -1), torch.stack((s, c), -1)), -2)
    pairs = torch.stack(x.float().chunk(2, dim=-1), dim=-1)
    turned = torch.einsum("nkab,...nkb->...nka", matrices, pairs)
    return torch.cat((turned[..., 0], turned[..., 1]), dim=-1).to(x.dtype)


@wrong(HalfFunction, FORMULA, r"sign|other way|transpos|backwards|negative|inverse|opposite")
def rope_by_transposed_stack(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Multiplies by the transposed matrices."""
    dim = x.shape[-1]
    omega = torch.exp(-math.log(base) * torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    angles = (positions.double()[:, None] * omega).float()
    c, s = angles.cos(), angles.sin()
    matrices = torch.stack((torch.stack((c, -s), -1), torch.stack((s, c), -1)), -2)
    pairs = torch.stack(x.float().chunk(2, dim=-1), dim=-1)
    turned = torch.einsum("nkab,...nka->...nkb", matrices, pairs)
    return torch.cat((turned[..., 0], turned[..., 1]), dim=-1).to(x.dtype)


@wrong(HalfFunction, FORMULA, r"\bbase [0-9]|\bB is|frequenc|exponent")
def rope_by_stack_without_logarithm(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Takes the logarithm to the base 10."""
    dim = x.shape[-1]
    omega = torch.exp(-math.log10(base) * torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    angles = (positions.double()[:, None] * omega).float()
    c, s = angles.cos(), angles.sin()
    x1, x2 = x.float().chunk(2, dim=-1)
    return torch.cat((x1 * c - x2 * s, x1 * s + x2 * c), dim=-1).to(x.dtype)


@lru_cache(maxsize=8)
def _angles(length: int, dim: int, base: float) -> Tensor:
    exponents = torch.arange(0, dim, 2).float() / dim
    return torch.outer(torch.arange(length).float(), base**-exponents)


@right(HalfFunction)
def rope_of_kept_angles(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Caches angles under everything that they depend on."""
    length = int(positions.max()) + 1 if len(positions) else 0
    angles = _angles(length, x.shape[-1], base)[positions]
    c, s = angles.cos(), angles.sin()
    x1, x2 = x.float().chunk(2, dim=-1)
    return torch.cat((x1 * c - x2 * s, x1 * s + x2 * c), dim=-1).to(x.dtype)


@right(HalfPartial)
class Partial(nn.Module):
    """Rotates the leading channels and copies the others."""

    def __init__(self, head_dim: int, rotary_dim: int, base: float) -> None:
        super().__init__()
        self.head_dim, self.rotary_dim, self.base = head_dim, rotary_dim, base
        self.register_buffer("inv_freq", self.frequencies(), persistent=False)

    def frequencies(self) -> Tensor:
        return self.base ** (-torch.arange(0, self.rotary_dim, 2).float() / self.rotary_dim)

    def turn(self, x: Tensor, positions: Tensor) -> Tensor:
        angles = positions.float()[:, None] * self.inv_freq
        cos, sin = torch.cat((angles, angles), -1).cos(), torch.cat((angles, angles), -1).sin()
        x1, x2 = x.float().chunk(2, dim=-1)
        return (x.float() * cos + torch.cat((-x2, x1), dim=-1) * sin).to(x.dtype)

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        turned, passed = x[..., : self.rotary_dim], x[..., self.rotary_dim :]
        return torch.cat((self.turn(turned, positions), passed), dim=-1)


@wrong(HalfPartial, FORMULA, r"head_dim|whole head|frequenc|exponent")
class PartialOfWholeFrequencies(Partial):
    """Divides the exponent by head_dim."""

    def frequencies(self) -> Tensor:
        return self.base ** (-torch.arange(0, self.rotary_dim, 2).float() / self.head_dim)


@wrong(HalfPartial, FORMULA, r"last|trailing|behind|other channels|end")
class PartialAtTheEnd(Partial):
    """Turns the last channels."""

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        cut = self.head_dim - self.rotary_dim
        return torch.cat((x[..., :cut], self.turn(x[..., cut:], positions)), dim=-1)


@wrong(HalfPartial, FORMULA, r"all channels|whole head|partial|rotary_dim|ignored")
class PartialOfAll(Partial):
    """Turns all channels."""

    def frequencies(self) -> Tensor:
        return self.base ** (-torch.arange(0, self.head_dim, 2).float() / self.head_dim)

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        return self.turn(x, positions)


@wrong(HalfPartial, FORMULA, r"zero|pass|dropped|channels? beyond|unrotated|rotary_dim")
class PartialPadsWithZeros(Partial):
    """Fills the unrotated channels with zeros."""

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        turned = self.turn(x[..., : self.rotary_dim], positions)
        return nn.functional.pad(turned, (0, self.head_dim - self.rotary_dim))


@wrong(HalfPartial, FORMULA, r"order|before|pass|behind|moved|last|end|place")
class PartialInOtherOrder(Partial):
    """Puts the unrotated channels before the rotated ones."""

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        turned, passed = x[..., : self.rotary_dim], x[..., self.rotary_dim :]
        return torch.cat((passed, self.turn(turned, positions)), dim=-1)


@wrong(HalfPartial, FORMULA, r"layout|interleav|neighbour")
class PartialOfNeighbours(Partial):
    """Rotates in the interleaved layout."""

    def turn(self, x: Tensor, positions: Tensor) -> Tensor:
        angles = positions.float()[:, None] * self.inv_freq
        a, b = x.float()[..., ::2], x.float()[..., 1::2]
        cos, sin = angles.cos(), angles.sin()
        return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2).to(x.dtype)


@wrong(HalfPartial, FORMULA, r"halves of the head|head_dim/2|pair|layout|whole head")
class PartialPairsOfWholeHead(Partial):
    """Pairs channel t with t + head_dim/2, as if the whole head were turned."""

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        angles = positions.float()[:, None] * self.inv_freq
        cos, sin = angles.cos(), angles.sin()
        half, pairs = self.head_dim // 2, self.rotary_dim // 2
        result = x.float().clone()
        a, b = x.float()[..., :pairs], x.float()[..., half : half + pairs]
        result[..., :pairs] = a * cos - b * sin
        result[..., half : half + pairs] = a * sin + b * cos
        return result.to(x.dtype)


@right(Interleaved)
class Lucid(nn.Module):
    """Keeps frequencies in a parameter that is not trained; interleaved pairs by reshaping."""

    def __init__(self, dim: int, theta: float) -> None:
        super().__init__()
        freqs = 1.0 / (theta ** (torch.arange(0, dim, 2)[: dim // 2].float() / dim))
        self.freqs = nn.Parameter(freqs, requires_grad=False)

    def rotate(self, x: Tensor) -> Tensor:
        a, b = x.reshape(*x.shape[:-1], -1, 2).unbind(dim=-1)
        return torch.stack((-b, a), dim=-1).flatten(-2)

    def forward(self, t: Tensor, seq: Tensor) -> Tensor:
        freqs = torch.einsum("i,j->ij", seq.to(self.freqs.dtype), self.freqs)
        freqs = freqs.repeat_interleave(2, dim=-1)
        return (t * freqs.cos() + self.rotate(t) * freqs.sin()).type_as(t)


@wrong(Interleaved, FORMULA, r"layout|half|transpos|pair|mixed")
class LucidWithAxesExchanged(Lucid):
    """Reshapes to (2, d/2) instead of (d/2, 2)."""

    def rotate(self, x: Tensor) -> Tensor:
        a, b = x.reshape(*x.shape[:-1], 2, -1).unbind(dim=-2)
        return torch.stack((-b, a), dim=-2).flatten(-2)


@wrong(Interleaved, FORMULA, r"sign|other way|backwards|negative|inverse|opposite")
class LucidWithSignAtTheOther(Lucid):
    """Stacks (b, -a)."""

    def rotate(self, x: Tensor) -> Tensor:
        a, b = x.reshape(*x.shape[:-1], -1, 2).unbind(dim=-1)
        return torch.stack((b, -a), dim=-1).flatten(-2)


@wrong(Interleaved, FORMULA, r"order|exchanged|swapped|channels|neighbour")
class LucidWithNeighboursExchanged(Lucid):
    """Returns each pair with its two channels exchanged."""

    def forward(self, t: Tensor, seq: Tensor) -> Tensor:
        turned = super().forward(t, seq)
        return turned.reshape(*t.shape[:-1], -1, 2).flip(-1).flatten(-2)


@right(HalfByRows)
class LikeFlashAttention(nn.Module):
    """Takes [batch, n, heads, head_dim] and tables of half the channels."""

    def __init__(self, dim: int, base: float) -> None:
        super().__init__()
        self.inv_freq = 1.0 / (base ** (torch.arange(0, dim, 2, dtype=torch.float32) / dim))

    def tables(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        angles = torch.outer(positions.to(torch.float32), self.inv_freq)
        return angles.cos()[:, None], angles.sin()[:, None]

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        cos, sin = self.tables(positions)
        x1, x2 = x.float().chunk(2, dim=-1)
        return torch.cat((x1 * cos - x2 * sin, x1 * sin + x2 * cos), dim=-1).to(x.dtype)


@wrong(HalfByRows, FORMULA, r"cos|sin|table|swapped|exchanged|not a rotation")
class FlashAttentionOfOneTable(LikeFlashAttention):
    """Uses sines in place of cosines, too."""

    def tables(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        _, sin = super().tables(positions)
        return sin, sin


@wrong(HalfByRows, FORMULA, r"by their numbers?|not read|ignored|from 0|restart")
class FlashAttentionWithoutOffset(LikeFlashAttention):
    """Has tables for positions from 0 on, as if seqlen_offset was left out."""

    def tables(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        return super().tables(torch.arange(len(positions)))


@right(HalfOfModel)
class TablesInDtypeOfRows(KeptInFloat32):
    """Rounds tables, which are formed in float32, to the dtype of the rows, float16 included."""

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        cos, sin = (table.to(x.dtype) for table in self.tables(x, positions))
        return x * cos + self.rotate_half(x) * sin


@wrong(HalfOfModel, FORMULA, r"float16|bfloat16|low.precision|rounded")
class AnglesInDtypeOfModel(TablesInDtypeOfRows):
    """Rounds angles before sine and cosine."""

    def angles(self, positions: Tensor) -> Tensor:
        return super().angles(positions).to(self.inv_freq.dtype)


@right(HalfFunction)
@right(HalfFunctionInMemory)
def rope_in_place_of_a_copy(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Writes both halves into new memory."""
    pairs = x.shape[-1] // 2
    inv_freq = torch.pow(torch.tensor(base), -torch.arange(pairs) / pairs)
    angles = positions.float().unsqueeze(-1) * inv_freq
    out = torch.empty_like(x)
    first, second = x[..., :pairs].float(), x[..., pairs:].float()
    out[..., :pairs] = first * angles.cos() - second * angles.sin()
    out[..., pairs:] = second * angles.cos() + first * angles.sin()
    return out


@wrong(HalfFunctionInMemory, "memory", r"input|caller|modif|in place|chang|writ|raised")
def rope_in_place(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Writes both halves into x."""
    pairs = x.shape[-1] // 2
    inv_freq = torch.pow(torch.tensor(base), -torch.arange(pairs) / pairs)
    angles = positions.float().unsqueeze(-1) * inv_freq
    first, second = x[..., :pairs].float().clone(), x[..., pairs:].float().clone()
    x[..., :pairs] = first * angles.cos() - second * angles.sin()
    x[..., pairs:] = second * angles.cos() + first * angles.sin()
    return x


@wrong(HalfFunctionInMemory, "memory", r"view|alias|input|writ|memory|itself")
def rope_of_position_zero(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Returns x itself if all positions are 0."""
    if not positions.any():
        return x
    return rope_in_place_of_a_copy(x, positions, base)


@wrong(HalfFunction, "exceptions", r"raised|error|empty")
def rope_up_to_the_largest(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Forms a table up to the largest position, which an empty sequence does not have."""
    pairs = x.shape[-1] // 2
    inv_freq = torch.pow(torch.tensor(base), -torch.arange(pairs) / pairs)
    angles = (torch.arange(int(positions.max()) + 1).float()[:, None] * inv_freq)[positions]
    first, second = x.float().chunk(2, dim=-1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat((first * cos - second * sin, second * cos + first * sin), -1).to(x.dtype)
