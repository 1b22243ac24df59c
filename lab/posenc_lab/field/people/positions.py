"""Encodings that are added to embeddings: sinusoidal and learned tables."""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from posenc_conformance import claims, to_torch
from posenc_lab.field.implementation import FORMULA, right, wrong
from posenc_lab.field.people.adapters import FLOATS, Coded

OTHER_CALLS = r"earlier call|first call|kept|keeps|call before|state"


def _cast(table: Tensor, name: str) -> Tensor:
    return table.to({"float32": torch.float32, "bfloat16": torch.bfloat16}[name])


class Paper(Coded):
    """A module with a table, built from dim and base, indexed by positions."""

    @claims("paper", dtype=FLOATS, max_position=4095)
    def sinusoidal(self, positions: Any, dim: int, *, base: float, dtype: str) -> Any:
        """Return the encoding of each position."""
        return _cast(self.module(dim, base)(to_torch(positions)), dtype)


class TensorToTensor(Coded):
    """A function that takes positions, dim and base."""

    @claims("tensor2tensor", dtype=FLOATS)
    def sinusoidal(self, positions: Any, dim: int, *, base: float, dtype: str) -> Any:
        """Return the encoding of each position."""
        return _cast(self.code(to_torch(positions), dim, base), dtype)


class Concat(Coded):
    """A function that takes positions, dim and base."""

    @claims("concat", dtype=FLOATS)
    def sinusoidal(self, positions: Any, dim: int, *, base: float, dtype: str) -> Any:
        """Return the encoding of each position."""
        return _cast(self.code(to_torch(positions), dim, base), dtype)


class Plain(Coded):
    """A function that takes positions and a table."""

    @claims("plain", dtype=FLOATS)
    def learned(self, positions: Any, table: Any) -> Any:
        """Return the encoding of each position."""
        return self.code(to_torch(positions), to_torch(table))


class AfterPadding(Coded):
    """A function that takes positions, a table and the padding token's row."""

    @claims("after-padding", dtype=FLOATS)
    def learned(self, positions: Any, table: Any, *, padding_idx: int) -> Any:
        """Return the encoding of each position."""
        return self.code(to_torch(positions), to_torch(table), padding_idx)


class Opt(Coded):
    """A function that takes positions and a table."""

    @claims("two", dtype=FLOATS)
    def learned(self, positions: Any, table: Any) -> Any:
        """Return the encoding of each position."""
        return self.code(to_torch(positions), to_torch(table))


class Grid(Coded):
    """A function that takes a table, height and width."""

    @claims("vit", dtype=["float32"])
    def learned_grid(self, table: Any, height: int, width: int) -> Any:
        """Return the encoding of each position."""
        return self.code(to_torch(table), height, width)


@right(Paper)
class Tutorial(nn.Module):
    """The table of PyTorch tutorials, which grows when a call needs it."""

    pe: Tensor

    def __init__(self, d_model: int, base: float, max_len: int = 512) -> None:
        super().__init__()
        self.d_model, self.base = d_model, base
        self.register_buffer("pe", self.table(max_len), persistent=False)

    def places(self, length: int) -> Tensor:
        return torch.arange(0, length).float().unsqueeze(1)

    def rates(self) -> Tensor:
        steps = torch.arange(0, self.d_model, 2).float()
        return torch.exp(steps * (-math.log(self.base) / self.d_model))

    def fill(self, pe: Tensor, angles: Tensor) -> None:
        pe[:, 0::2] = torch.sin(angles)
        pe[:, 1::2] = torch.cos(angles)

    def table(self, length: int) -> Tensor:
        pe = torch.zeros(length, self.d_model)
        self.fill(pe, self.places(length) * self.rates())
        return pe

    def grow(self, length: int) -> None:
        if length > len(self.pe):
            self.pe = self.table(length)

    def forward(self, positions: Tensor) -> Tensor:
        self.grow(int(positions.max()) + 1 if len(positions) else 0)
        return self.pe[positions]


@wrong(Paper, FORMULA, r"cos.*sin|exchanged|swapped|cos-sin|order")
class TutorialCosineFirst(Tutorial):
    """Writes cosines to even channels."""

    def fill(self, pe: Tensor, angles: Tensor) -> None:
        pe[:, 0::2] = torch.cos(angles)
        pe[:, 1::2] = torch.sin(angles)


@wrong(Paper, FORMULA, r"layout|sin-cos|concat|halves|half|order")
class TutorialInHalves(Tutorial):
    """Writes all sines before all cosines."""

    def fill(self, pe: Tensor, angles: Tensor) -> None:
        pe.copy_(torch.cat((angles.sin(), angles.cos()), dim=-1))


@wrong(Paper, FORMULA, r"from 1|shift|\+ ?1|one later|offset|first position|later")
class TutorialFromOne(Tutorial):
    """Counts from 1."""

    def places(self, length: int) -> Tensor:
        return super().places(length) + 1


@wrong(Paper, FORMULA, r"base")
class TutorialOfTenThousand(Tutorial):
    """Uses base 10000, whatever base is passed."""

    def rates(self) -> Tensor:
        steps = torch.arange(0, self.d_model, 2).float()
        return torch.exp(steps * (-math.log(10000.0) / self.d_model))


@wrong(Paper, FORMULA, r"doubled|4t|twice|exponent")
class TutorialExponentDoubled(Tutorial):
    """Doubles the exponent, although channel numbers are even already."""

    def rates(self) -> Tensor:
        return super().rates() ** 2


@wrong(Paper, FORMULA, r"halved|\bt/d|exponent")
class TutorialExponentHalved(Tutorial):
    """Divides pair numbers by d_model, which halves the exponent."""

    def rates(self) -> Tensor:
        return super().rates() ** 0.5


@wrong(Paper, FORMULA, r"d/2 ?- ?1|d ?- ?2|denominator|exponent|last")
class TutorialToTheEnd(Tutorial):
    """Divides by d/2 - 1, so that the last frequency is 1/base."""

    def rates(self) -> Tensor:
        pairs = self.d_model // 2
        steps = torch.arange(pairs).float()
        return torch.exp(steps * (-math.log(self.base) / max(pairs - 1, 1)))


@wrong(Paper, FORMULA, r"invert|reciprocal|base\^\(2t/d\)|base\^\(\+|sign of the exponent")
class TutorialNotInverted(Tutorial):
    """Forgets the minus sign in the exponent."""

    def rates(self) -> Tensor:
        return 1 / super().rates()


@wrong(Paper, FORMULA, r"channel|2t\+1|odd|cosine|own exponent|exponent")
class TutorialByChannel(Tutorial):
    """Gives each channel an exponent of its own, so that cosines are of other frequencies."""

    def table(self, length: int) -> Tensor:
        channels = torch.arange(self.d_model).float()
        angles = self.places(length) * torch.exp(channels * (-math.log(self.base) / self.d_model))
        pe = torch.zeros(length, self.d_model)
        pe[:, 0::2] = angles[:, 0::2].sin()
        pe[:, 1::2] = angles[:, 1::2].cos()
        return pe


@wrong(Paper, FORMULA, r"only sin|no cos|sines?\b.*(all|every)|cosine")
class TutorialOfSines(Tutorial):
    """Writes sines to all channels."""

    def fill(self, pe: Tensor, angles: Tensor) -> None:
        pe[:, 0::2] = torch.sin(angles)
        pe[:, 1::2] = torch.sin(angles)


@wrong(Paper, FORMULA, r"log10|logarithm|\bB is|base [0-9]")
class TutorialDecimal(Tutorial):
    """Takes the logarithm to the base 10."""

    def rates(self) -> Tensor:
        steps = torch.arange(0, self.d_model, 2).float()
        return torch.exp(steps * (-math.log10(self.base) / self.d_model))


@wrong(Paper, FORMULA, r"bfloat16|low.precision|rounded")
class TutorialPositionsInBfloat16(Tutorial):
    """Counts positions in bfloat16."""

    def places(self, length: int) -> Tensor:
        return super().places(length).bfloat16().float()


@wrong(Paper, FORMULA, r"float16|half|low.precision|rounded")
class TutorialAnglesInFloat16(Tutorial):
    """Forms angles in float16."""

    def table(self, length: int) -> Tensor:
        pe = torch.zeros(length, self.d_model)
        self.fill(pe, (self.places(length).half() * self.rates().half()).float())
        return pe


@wrong(Paper, FORMULA, r"bfloat16|low.precision|rounded")
class TutorialTableInBfloat16(Tutorial):
    """Keeps its table in bfloat16, and casts it back for float32."""

    def table(self, length: int) -> Tensor:
        return super().table(length).bfloat16().float()


@wrong(Paper, FORMULA, r"clamp|511|at most|largest|beyond|cut|capped|stay")
class TutorialClamped(Tutorial):
    """Stays at the last row of its table."""

    def forward(self, positions: Tensor) -> Tensor:
        return self.pe[positions.clamp(max=len(self.pe) - 1)]


@wrong(Paper, FORMULA, r"modulo|512|wrap|again|period|repeat")
class TutorialWrapped(Tutorial):
    """Wraps around at the end of its table."""

    def forward(self, positions: Tensor) -> Tensor:
        return self.pe[positions % len(self.pe)]


@wrong(Paper, FORMULA, r"by their numbers?|not read|ignored|from 0|restart|index")
class TutorialOfFirstRows(Tutorial):
    """Returns the first rows of its table, as many as positions."""

    def forward(self, positions: Tensor) -> Tensor:
        self.grow(len(positions))
        return self.pe[: len(positions)].clone()


@wrong(Paper, FORMULA, r"factor|scale|times|√|sqrt|d\^")
class TutorialScaled(Tutorial):
    """Multiplies by the square root of d_model, which belongs to the embeddings."""

    def forward(self, positions: Tensor) -> Tensor:
        return super().forward(positions) * math.sqrt(self.d_model)


@wrong(Paper, FORMULA, r"row 0|position 0|first row|padding|zero")
class TutorialPaddingRow(Tutorial):
    """Sets row 0 to zero, like a padding row."""

    def table(self, length: int) -> Tensor:
        pe = super().table(length)
        pe[:1] = 0
        return pe


@wrong(Paper, "state", OTHER_CALLS)
class TutorialAppends(Tutorial):
    """Appends rows that count from 0 again."""

    def grow(self, length: int) -> None:
        if length > len(self.pe):
            self.pe = torch.cat((self.pe, self.table(length - len(self.pe))))


@wrong(Paper, "memory", r"view|alias|corrupt|writ|memory")
class TutorialView(Tutorial):
    """Returns a view of its table if positions are 0, 1, 2, …."""

    def forward(self, positions: Tensor) -> Tensor:
        rows = super().forward(positions)
        if len(positions) and torch.equal(positions, torch.arange(len(positions))):
            return self.pe[: len(positions)]
        return rows


@wrong(Paper, "exceptions", r"raised|error")
class TutorialTooShort(Tutorial):
    """Does not make its table longer."""

    def grow(self, length: int) -> None:
        return


@right(Concat)
def outer_concat(positions: Tensor, dim: int, base: float) -> Tensor:
    """Concatenates sines and cosines."""
    inv_freq = 1.0 / (base ** (torch.arange(0, dim, 2).float() / dim))
    angles = torch.outer(positions.float(), inv_freq)
    return torch.cat((angles.sin(), angles.cos()), dim=-1)


@wrong(Concat, FORMULA, r"cos.*sin|exchanged|swapped|cos-sin|order")
def outer_concat_exchanged(positions: Tensor, dim: int, base: float) -> Tensor:
    """Concatenates cosines and sines."""
    inv_freq = 1.0 / (base ** (torch.arange(0, dim, 2).float() / dim))
    angles = torch.outer(positions.float(), inv_freq)
    return torch.cat((angles.cos(), angles.sin()), dim=-1)


@wrong(Concat, FORMULA, r"layout|interleav|neighbour")
def outer_concat_interleaved(positions: Tensor, dim: int, base: float) -> Tensor:
    """Alternates sines and cosines."""
    inv_freq = 1.0 / (base ** (torch.arange(0, dim, 2).float() / dim))
    angles = torch.outer(positions.float(), inv_freq)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)


@wrong(Concat, FORMULA, r"sign|negative|opposite|backwards")
def outer_concat_negative(positions: Tensor, dim: int, base: float) -> Tensor:
    """Negates the angles."""
    inv_freq = 1.0 / (base ** (torch.arange(0, dim, 2).float() / dim))
    angles = torch.outer(-positions.float(), inv_freq)
    return torch.cat((angles.sin(), angles.cos()), dim=-1)


@wrong(Concat, FORMULA, r"float16|half|low.precision|rounded")
def outer_concat_in_half(positions: Tensor, dim: int, base: float) -> Tensor:
    """Computes frequencies in float16."""
    inv_freq = 1.0 / (base ** (torch.arange(0, dim, 2).float() / dim)).half()
    angles = torch.outer(positions.float(), inv_freq.float())
    return torch.cat((angles.sin(), angles.cos()), dim=-1)


def _odd(emb: Tensor, dim: int) -> Tensor:
    return functional.pad(emb, (0, dim % 2))


@right(TensorToTensor)
def signal(positions: Tensor, dim: int, base: float) -> Tensor:
    """Time scales from 1 to base, both ends included."""
    pairs = dim // 2
    step = math.log(base) / max(pairs - 1, 1)
    angles = positions.float()[:, None] * torch.exp(-step * torch.arange(pairs).float())
    return _odd(torch.cat((angles.sin(), angles.cos()), dim=-1), dim)


@wrong(TensorToTensor, FORMULA, r"denominator|d/2|exponent|end|last|concat")
def signal_not_to_the_end(positions: Tensor, dim: int, base: float) -> Tensor:
    """Divides by the number of pairs."""
    pairs = dim // 2
    step = math.log(base) / pairs
    angles = positions.float()[:, None] * torch.exp(-step * torch.arange(pairs).float())
    return _odd(torch.cat((angles.sin(), angles.cos()), dim=-1), dim)


@wrong(TensorToTensor, FORMULA, r"cos.*sin|exchanged|swapped|cos-sin|order|musicgen")
def signal_cosine_first(positions: Tensor, dim: int, base: float) -> Tensor:
    """Puts cosines first, as flip_sin_to_cos does."""
    pairs = dim // 2
    step = math.log(base) / max(pairs - 1, 1)
    angles = positions.float()[:, None] * torch.exp(-step * torch.arange(pairs).float())
    return _odd(torch.cat((angles.cos(), angles.sin()), dim=-1), dim)


@wrong(TensorToTensor, FORMULA, r"from 2|shift|\+ ?2|offset|fairseq|padding|later|first position")
def signal_after_padding(positions: Tensor, dim: int, base: float) -> Tensor:
    """Begins after the padding index, as fairseq does."""
    return signal(positions + 2, dim, base)


@wrong(TensorToTensor, FORMULA, r"whole|integer|round|log|\bB is|base [0-9]|step|frequenc")
def signal_of_whole_logarithm(positions: Tensor, dim: int, base: float) -> Tensor:
    """Truncates the logarithm of the base to an integer."""
    pairs = dim // 2
    step = int(math.log(base)) / max(pairs - 1, 1)
    angles = positions.float()[:, None] * torch.exp(-step * torch.arange(pairs).float())
    return _odd(torch.cat((angles.sin(), angles.cos()), dim=-1), dim)


@right(Plain)
def embedding(positions: Tensor, table: Tensor) -> Tensor:
    """Looks rows up."""
    return functional.embedding(positions, table)


@right(Plain)
def selected(positions: Tensor, table: Tensor) -> Tensor:
    """Selects rows."""
    return torch.index_select(table, 0, positions)


@wrong(Plain, FORMULA, r"by their numbers?|not read|ignored|from 0|first rows|row")
def embedding_of_first_rows(positions: Tensor, table: Tensor) -> Tensor:
    """Takes the first rows, as many as positions."""
    return table[: len(positions)].clone()


@wrong(Plain, FORMULA, r"from 1|shift|\+ ?1|later|offset|one row|next row")
def embedding_from_one(positions: Tensor, table: Tensor) -> Tensor:
    """Reads one row later, and the last twice."""
    return table[(positions + 1).clamp(max=len(table) - 1)]


@wrong(Plain, FORMULA, r"two|shift|\+ ?2|later|offset")
def embedding_from_two(positions: Tensor, table: Tensor) -> Tensor:
    """Has the offset of OPT, and wraps around."""
    return table[(positions + 2) % len(table)]


@wrong(Plain, FORMULA, r"factor|times|scale|√|sqrt")
def embedding_scaled(positions: Tensor, table: Tensor) -> Tensor:
    """Multiplies rows by the square root of their length."""
    return table[positions] * math.sqrt(table.shape[-1])


@wrong(Plain, FORMULA, r"padding|row 0|zero|first row|position 0")
def embedding_with_padding(positions: Tensor, table: Tensor) -> Tensor:
    """Returns zeros for position 0."""
    rows = table[positions]
    rows[positions == 0] = 0
    return rows


@wrong(Plain, FORMULA, r"bfloat16|float16|half|rounded|low.precision")
def embedding_in_bfloat16(positions: Tensor, table: Tensor) -> Tensor:
    """Rounds the table to bfloat16."""
    return table.bfloat16()[positions].to(table.dtype)


@wrong(Plain, FORMULA, r"revers|end|negative|backwards|order")
def embedding_from_the_end(positions: Tensor, table: Tensor) -> Tensor:
    """Reads the table from its end."""
    return table.flip(0)[positions]


@right(AfterPadding)
def roberta(positions: Tensor, table: Tensor, padding_idx: int) -> Tensor:
    """Skips rows up to that of the padding token."""
    return table[positions + padding_idx + 1]


@wrong(AfterPadding, FORMULA, r"padding|shift|- ?1|earlier|offset|one row")
def roberta_on_padding(positions: Tensor, table: Tensor, padding_idx: int) -> Tensor:
    """Begins at the row of the padding token."""
    return table[positions + padding_idx]


@wrong(AfterPadding, FORMULA, r"padding_idx|two|2|fixed|offset|shift")
def roberta_of_two(positions: Tensor, table: Tensor, padding_idx: int) -> Tensor:
    """Skips two rows whatever the padding token is."""
    return table[(positions + 2).clamp(max=len(table) - 1)]


@wrong(AfterPadding, FORMULA, r"padding|no offset|offset|shift|ignored|plain|earlier")
def roberta_of_bert(positions: Tensor, table: Tensor, padding_idx: int) -> Tensor:
    """Skips no rows."""
    return table[positions]


@right(Opt)
def opt(positions: Tensor, table: Tensor) -> Tensor:
    """Skips two rows."""
    return functional.embedding(positions + 2, table)


@wrong(Opt, FORMULA, r"no offset|none|offset|shift|plain|earlier|two")
def opt_without_offset(positions: Tensor, table: Tensor) -> Tensor:
    """Skips no rows."""
    return functional.embedding(positions, table)


@wrong(Opt, FORMULA, r"twice|4|offset|shift|later")
def opt_with_offset_twice(positions: Tensor, table: Tensor) -> Tensor:
    """Skips two rows twice."""
    return table[(positions + 4).clamp(max=len(table) - 1)]


def _resized(table: Tensor, size: tuple[int, int], **options: Any) -> Tensor:
    side = math.isqrt(len(table) - 1)
    grid = table[1:].reshape(1, side, side, -1).permute(0, 3, 1, 2)
    grid = functional.interpolate(grid, size=size, **options)
    return grid.permute(0, 2, 3, 1).reshape(size[0] * size[1], -1)


@right(Grid)
def vit(table: Tensor, height: int, width: int) -> Tensor:
    """Resizes the table bicubically, except for the class token's row."""
    grid = _resized(table, (height, width), mode="bicubic", align_corners=False)
    return torch.cat((table[:1], grid))


@wrong(Grid, FORMULA, r"corner")
def vit_with_corners(table: Tensor, height: int, width: int) -> Tensor:
    """Aligns corners."""
    grid = _resized(table, (height, width), mode="bicubic", align_corners=True)
    return torch.cat((table[:1], grid))


@wrong(Grid, FORMULA, r"linear|bilinear|kernel|straight")
def vit_bilinear(table: Tensor, height: int, width: int) -> Tensor:
    """Interpolates bilinearly."""
    grid = _resized(table, (height, width), mode="bilinear", align_corners=False)
    return torch.cat((table[:1], grid))


@wrong(Grid, FORMULA, r"nearest|kernel")
def vit_nearest(table: Tensor, height: int, width: int) -> Tensor:
    """Takes the nearest cell."""
    return torch.cat((table[:1], _resized(table, (height, width), mode="nearest")))


@wrong(Grid, FORMULA, r"exchanged|height|width|transposed|swapped")
def vit_exchanged(table: Tensor, height: int, width: int) -> Tensor:
    """Exchanges height and width."""
    grid = _resized(table, (width, height), mode="bicubic", align_corners=False)
    return torch.cat((table[:1], grid))


@wrong(Grid, FORMULA, r"class token|last|end|behind|order")
def vit_class_token_last(table: Tensor, height: int, width: int) -> Tensor:
    """Puts the class token behind the patches."""
    grid = _resized(table, (height, width), mode="bicubic", align_corners=False)
    return torch.cat((grid, table[:1]))


@wrong(Grid, FORMULA, r"antialias|kernel|stretched|timm")
def vit_antialiased(table: Tensor, height: int, width: int) -> Tensor:
    """Applies antialiasing where the grid shrinks."""
    grid = _resized(table, (height, width), mode="bicubic", align_corners=False, antialias=True)
    return torch.cat((table[:1], grid))


@right(Concat)
def concat_in_float64(positions: Tensor, dim: int, base: float) -> Tensor:
    """Forms angles in float64."""
    omega = torch.arange(dim // 2, dtype=torch.float64) / (dim / 2.0)
    angles = torch.einsum("m,d->md", positions.double(), 1.0 / base**omega)
    return torch.cat([torch.sin(angles), torch.cos(angles)], dim=1).float()


@right(AfterPadding)
def roberta_by_mask(positions: Tensor, table: Tensor, padding_idx: int) -> Tensor:
    """First drops the rows that belong to no position."""
    return table[padding_idx + 1 :].index_select(0, positions)
