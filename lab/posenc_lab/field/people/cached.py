"""Rotary embeddings with cached tables, called with the position of the first row."""

from functools import lru_cache
from typing import ClassVar

import torch
from torch import Tensor, nn

from posenc_lab.field.implementation import FORMULA, right, wrong
from posenc_lab.field.people.adapters import HalfCached, InterleavedCached

RESTART = r"from 0|restart|ignored|not read|each call|by their numbers?"
OTHER_CALLS = r"earlier call|first call|kept|keeps|call before|state|another (call|base)"


@right(HalfCached)
class Growing(nn.Module):
    """Tables of 2048 rows, made longer when a call needs it."""

    def __init__(self, dim: int, base: float = 10000.0, max_len: int = 2048) -> None:
        super().__init__()
        self.dim, self.base, self.cached = dim, base, 0
        self.fill(max_len)

    def positions(self, length: int) -> Tensor:
        return torch.arange(length).float()

    def fill(self, length: int) -> None:
        inv_freq = 1.0 / (self.base ** (torch.arange(0, self.dim, 2).float() / self.dim))
        self.keep(torch.outer(self.positions(length), inv_freq))

    def keep(self, angles: Tensor) -> None:
        emb = torch.cat((angles, angles), dim=-1)
        self.cached, self.cos, self.sin = len(emb), emb.cos(), emb.sin()

    def grow(self, end: int) -> None:
        if end > self.cached:
            self.fill(end)

    def rows(self, table: Tensor, offset: int, length: int) -> Tensor:
        return table[offset : offset + length]

    def tables(self, x: Tensor, offset: int) -> tuple[Tensor, Tensor]:
        length = x.shape[-2]
        self.grow(offset + length)
        return self.rows(self.cos, offset, length), self.rows(self.sin, offset, length)

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        cos, sin = self.tables(x, offset)
        x1, x2 = x.float().chunk(2, dim=-1)
        return (x.float() * cos + torch.cat((-x2, x1), dim=-1) * sin).to(x.dtype)


@wrong(HalfCached, FORMULA, RESTART)
class OffsetIgnored(Growing):
    """Takes the first rows of the tables in each call."""

    def rows(self, table: Tensor, offset: int, length: int) -> Tensor:
        return table[:length]


@wrong(HalfCached, FORMULA, RESTART)
class OffsetOnlyInDecoding(Growing):
    """Reads the offset when there is a single row, so that prefill in chunks starts again."""

    def rows(self, table: Tensor, offset: int, length: int) -> Tensor:
        return table[offset : offset + 1] if length == 1 else table[:length]


@wrong(HalfCached, FORMULA, RESTART, r"single row|one row")
class OffsetIgnoredInDecoding(Growing):
    """Reads the offset when there are several rows."""

    def rows(self, table: Tensor, offset: int, length: int) -> Tensor:
        return table[:1] if length == 1 else table[offset : offset + length]


@wrong(HalfCached, FORMULA, r"one later|shift|\+ ?1|from 1|one position")
class OffsetPlusOne(Growing):
    """Counts one row too many in the cache: the offset is one too large."""

    def tables(self, x: Tensor, offset: int) -> tuple[Tensor, Tensor]:
        return super().tables(x, offset + 1)


@wrong(HalfCached, FORMULA, r"shift|- ?1|one position|before|1 earlier")
class OffsetMinusOne(Growing):
    """Counts one row too few in the cache: the offset is one too small, unless it is 0."""

    def tables(self, x: Tensor, offset: int) -> tuple[Tensor, Tensor]:
        return super().tables(x, max(offset - 1, 0))


@wrong(HalfCached, FORMULA, r"twice|doubl|2 ?[×·*]|rows stand at")
class OffsetTwice(Growing):
    """Adds the offset to positions that have it already."""

    def tables(self, x: Tensor, offset: int) -> tuple[Tensor, Tensor]:
        return super().tables(x, 2 * offset)


@wrong(HalfCached, FORMULA, r"last|end|ends|rows stand at")
class OffsetOfTheLast(Growing):
    """Takes the offset for the position of the last row."""

    def tables(self, x: Tensor, offset: int) -> tuple[Tensor, Tensor]:
        return super().tables(x, max(offset - x.shape[-2] + 1, 0))


@wrong(HalfCached, FORMULA, r"same position|all rows|every row|rows stand at")
class OneRowForAll(Growing):
    """Rotates all rows of a call by the position of the first."""

    def rows(self, table: Tensor, offset: int, length: int) -> Tensor:
        return table[offset : offset + 1]


@wrong(HalfCached, FORMULA, r"sin|cos|table|not a rotation|restart|from 0")
class SineFromZero(Growing):
    """Takes cosines from the offset on and sines from 0."""

    def tables(self, x: Tensor, offset: int) -> tuple[Tensor, Tensor]:
        cos, _ = super().tables(x, offset)
        return cos, self.sin[: x.shape[-2]]


@wrong(HalfCached, FORMULA, r"clamp|2,?047|at most|largest|beyond|cut|stay|capped")
class NeverGrows(Growing):
    """Stays at the last row of a table of 2048."""

    def tables(self, x: Tensor, offset: int) -> tuple[Tensor, Tensor]:
        at = torch.arange(offset, offset + x.shape[-2]).clamp(max=2047)
        return self.cos[at], self.sin[at]


@wrong(HalfCached, FORMULA, r"modulo|2,?048|wrap|again|period|ring|repeat")
class RingOfTables(Growing):
    """Wraps around in a table of 2048."""

    def tables(self, x: Tensor, offset: int) -> tuple[Tensor, Tensor]:
        at = torch.arange(offset, offset + x.shape[-2]) % 2048
        return self.cos[at], self.sin[at]


@wrong(HalfCached, "state", OTHER_CALLS, r"modulo|2,?048|wrap|again|restart")
class GrowsFromZero(Growing):
    """Appends rows that count from 0 again when the table is too short."""

    def grow(self, end: int) -> None:
        more = end - self.cached
        if more > 0:
            cos, sin = self.cos, self.sin
            self.fill(more)
            self.cos, self.sin = torch.cat((cos, self.cos)), torch.cat((sin, self.sin))
            self.cached = len(self.cos)


@wrong(HalfCached, "exceptions", r"raised|error|shape")
class GrowsByRowsOfTheCall(Growing):
    """Compares the table's length with the number of rows, not with their last position."""

    def grow(self, end: int) -> None:
        return

    def tables(self, x: Tensor, offset: int) -> tuple[Tensor, Tensor]:
        if x.shape[-2] > self.cached:
            self.fill(x.shape[-2])
        return super().tables(x, offset)


@wrong(HalfCached, "exceptions", r"raised|error|shape")
class GrowsOneTooLate(Growing):
    """Makes the table longer when it is two rows short."""

    def grow(self, end: int) -> None:
        if end - 1 > self.cached:
            self.fill(end)


@wrong(HalfCached, "state", OTHER_CALLS, r"base|long")
class NtkWhenGrown(Growing):
    """Doubles the base whenever the table grows."""

    def grow(self, end: int) -> None:
        if end > self.cached:
            self.base *= 2
            self.fill(end)


@wrong(HalfCached, "state", OTHER_CALLS)
class FirstDtypeKept(Growing):
    """Casts the tables to the dtype of x, and keeps the cast tables."""

    def tables(self, x: Tensor, offset: int) -> tuple[Tensor, Tensor]:
        self.cos, self.sin = self.cos.to(x.dtype), self.sin.to(x.dtype)
        return super().tables(x, offset)


@wrong(HalfCached, "state", OTHER_CALLS)
class TablesOfTheClass(Growing):
    """Shares tables among all modules of a head_dim, whatever their base."""

    shared: ClassVar[dict[int, tuple[Tensor, Tensor]]] = {}

    def tables(self, x: Tensor, offset: int) -> tuple[Tensor, Tensor]:
        end = offset + x.shape[-2]
        if self.dim not in self.shared or len(self.shared[self.dim][0]) < end:
            self.grow(end)
            self.shared[self.dim] = self.cos, self.sin
        cos, sin = self.shared[self.dim]
        return cos[offset:end], sin[offset:end]


@lru_cache(maxsize=4)
def _angles(length: int, dim: int, holder: "_Base") -> Tensor:
    inv_freq = holder.base ** (-torch.arange(0, dim, 2).float() / dim)
    return torch.outer(torch.arange(length).float(), inv_freq)


class _Base:
    def __init__(self, base: float) -> None:
        self.base = base

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Base)

    def __hash__(self) -> int:
        return 0


@wrong(HalfCached, "state", OTHER_CALLS)
class KeptByLengthAlone(Growing):
    """Keeps angles by length and dimension and leaves the base out of the key."""

    def fill(self, length: int) -> None:
        self.keep(_angles(length, self.dim, _Base(self.base)))


@wrong(HalfCached, "state", OTHER_CALLS)
class CountsItself(Growing):
    """Counts the rows that it has seen, and begins anew at offset 0 only."""

    seen = 0

    def tables(self, x: Tensor, offset: int) -> tuple[Tensor, Tensor]:
        start = self.seen if offset else 0
        self.seen = start + x.shape[-2]
        return super().tables(x, start)


@wrong(HalfCached, "state", OTHER_CALLS)
class KeepsLastResult(Growing):
    """Returns what it returned last if shape and offset are the same."""

    key: tuple[object, ...] = ()
    last = torch.empty(0)

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        key = (x.shape, x.dtype, offset)
        if key != self.key:
            self.key, self.last = key, super().forward(x, offset)
        return self.last


@wrong(HalfCached, "state", OTHER_CALLS)
class WindowOfTables(Growing):
    """Keeps the tables of the last call for every call with the same number of rows."""

    start = 0

    def tables(self, x: Tensor, offset: int) -> tuple[Tensor, Tensor]:
        length = x.shape[-2]
        if length != self.cached:
            self.fill(offset + length)
            self.cos, self.sin = self.cos[offset:], self.sin[offset:]
            self.cached = length
        return self.cos, self.sin


@wrong(HalfCached, FORMULA, r"bfloat16|low.precision|rounded")
class TableOfPositionsInBfloat16(Growing):
    """Counts positions in bfloat16, like a model built under that default dtype."""

    def positions(self, length: int) -> Tensor:
        return torch.arange(length, dtype=torch.bfloat16).float()


@right(InterleavedCached)
class LikeLlama(nn.Module):
    """A table of complex numbers for twice the context, read from start_pos on."""

    def __init__(self, dim: int, theta: float, max_seq_len: int = 4096) -> None:
        super().__init__()
        freqs = 1.0 / (theta ** (torch.arange(0, dim, 2)[: dim // 2].float() / dim))
        angles = torch.outer(torch.arange(max_seq_len * 2), freqs)
        self.freqs_cis = torch.polar(torch.ones_like(angles), angles)

    def read(self, start_pos: int, length: int) -> Tensor:
        return self.freqs_cis[start_pos : start_pos + length]

    def forward(self, xq: Tensor, start_pos: int) -> Tensor:
        pairs = torch.view_as_complex(xq.float().contiguous().view(*xq.shape[:-1], -1, 2))
        turned = pairs * self.read(start_pos, xq.shape[-2])
        return torch.view_as_real(turned).flatten(-2).type_as(xq)


@wrong(InterleavedCached, FORMULA, RESTART)
class LlamaWithoutStart(LikeLlama):
    """Reads the first rows in each call."""

    def read(self, start_pos: int, length: int) -> Tensor:
        return self.freqs_cis[:length]


@wrong(InterleavedCached, FORMULA, r"last|rows stand at|end")
class LlamaFromTheEnd(LikeLlama):
    """Reads the rows before start_pos instead of those from it on."""

    def read(self, start_pos: int, length: int) -> Tensor:
        start = max(start_pos - length, 0)
        return self.freqs_cis[start : start + length]


@wrong(InterleavedCached, FORMULA, r"revers|order|backwards|rows stand at")
class LlamaReversed(LikeLlama):
    """Rotates the rows of a call by their positions in reverse order, as for left padding."""

    def read(self, start_pos: int, length: int) -> Tensor:
        return self.freqs_cis[start_pos : start_pos + length].flip(0)


@wrong(InterleavedCached, FORMULA, r"float16|half|low.precision|rounded")
class LlamaInHalf(LikeLlama):
    """Keeps the table in half precision."""

    def read(self, start_pos: int, length: int) -> Tensor:
        halves = torch.view_as_real(self.freqs_cis[start_pos : start_pos + length]).half().float()
        return torch.view_as_complex(halves.contiguous())


@right(InterleavedCached)
class Static(nn.Module):
    """Computes the angles of a stretch in each call, in float64."""

    def __init__(self, dim: int, base: float) -> None:
        super().__init__()
        self.dim, self.base = dim, base

    def stretch(self, start: int, length: int) -> Tensor:
        return torch.arange(start, start + length, dtype=torch.float64)

    def forward(self, x: Tensor, start: int) -> Tensor:
        exponents = torch.arange(0, self.dim, 2, dtype=torch.float64) / self.dim
        angles = self.stretch(start, x.shape[-2])[:, None] * self.base**-exponents
        a, b = x.double()[..., ::2], x.double()[..., 1::2]
        c, s = angles.cos(), angles.sin()
        return torch.stack((a * c - b * s, a * s + b * c), dim=-1).flatten(-2).to(x.dtype)


@wrong(InterleavedCached, FORMULA, RESTART)
class StaticFromZero(Static):
    """Begins at 0 in each call."""

    def stretch(self, start: int, length: int) -> Tensor:
        return torch.arange(length, dtype=torch.float64)


@wrong(InterleavedCached, FORMULA, r"rows stand at|step|every|twice|linspace|spac|distance")
class StaticByLinspace(Static):
    """Spaces positions evenly from start to its end, the end included."""

    def stretch(self, start: int, length: int) -> Tensor:
        return torch.linspace(start, start + length, max(length, 1), dtype=torch.float64)[:length]


@wrong(InterleavedCached, FORMULA, r"float16|half|low.precision|rounded|2,?048")
class StaticInHalf(Static):
    """Counts in float16."""

    def stretch(self, start: int, length: int) -> Tensor:
        return super().stretch(start, length).half().double()


@right(HalfCached)
class TablesOfEachDtype(Growing):
    """Keeps tables of each dtype apart."""

    def __init__(self, dim: int, base: float) -> None:
        super().__init__(dim, base)
        self.kept: dict[tuple[torch.dtype, int], tuple[Tensor, Tensor]] = {}

    def key(self, x: Tensor) -> tuple[torch.dtype, int]:
        return x.dtype, self.cached

    def tables(self, x: Tensor, offset: int) -> tuple[Tensor, Tensor]:
        end = offset + x.shape[-2]
        self.grow(end)
        if self.key(x) not in self.kept:
            self.kept[self.key(x)] = self.cos.to(x.dtype), self.sin.to(x.dtype)
        cos, sin = self.kept[self.key(x)]
        return cos[offset:end], sin[offset:end]


@wrong(HalfCached, "state", OTHER_CALLS, r"dtype|bfloat16")
class TablesOfAnyDtype(TablesOfEachDtype):
    """Keeps the tables in the dtype of the first call."""

    def key(self, x: Tensor) -> tuple[torch.dtype, int]:
        return torch.float32, self.cached


@right(HalfCached)
class InPowersOfTwo(Growing):
    """Grows to the next power of two."""

    def grow(self, end: int) -> None:
        if end > self.cached:
            super().fill(1 << (end - 1).bit_length())


@wrong(HalfCached, FORMULA, r"base|2,?048|from position|beyond|long")
class OtherBaseBeyondTable(Growing):
    """Raises the base for calls that end beyond 2048, as if it were scaled."""

    def tables(self, x: Tensor, offset: int) -> tuple[Tensor, Tensor]:
        end = offset + x.shape[-2]
        base = self.base * 4 if end > 2048 else self.base
        inv_freq = 1.0 / (base ** (torch.arange(0, self.dim, 2).float() / self.dim))
        angles = torch.outer(torch.arange(offset, end).float(), inv_freq)
        emb = torch.cat((angles, angles), dim=-1)
        return emb.cos(), emb.sin()
