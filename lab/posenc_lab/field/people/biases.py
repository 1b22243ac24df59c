"""Biases of attention: ALiBi, T5's buckets, and Swin's tables of offsets."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from posenc_conformance import claims, to_torch
from posenc_lab.field.implementation import FORMULA, right, wrong
from posenc_lab.field.people.adapters import FLOATS, Coded

LAST_QUERIES = r"aligned|last (quer|key)|first quer|query.*position|q_len|queries|starts? at"
SLOPES = r"slope|head"


def _dtype(name: str) -> torch.dtype:
    return {"float32": torch.float32, "bfloat16": torch.bfloat16}[name]


class Slopes(Coded):
    """A function that takes the number of heads."""

    @claims("interpolated", dtype=FLOATS)
    def alibi_slopes(self, heads: int, *, dtype: str) -> Any:
        """Return slopes."""
        return torch.as_tensor(self.code(heads), dtype=torch.float32).to(_dtype(dtype))


class AlibiCausal(Coded):
    """A module built from heads, called with query and key length; its bias includes the mask."""

    @claims("causal", masked=True, dtype=FLOATS, max_position=4095)
    def alibi_bias(self, heads: int, q_len: int, k_len: int, *, dtype: str) -> Any:
        """Return the bias."""
        return self.module(heads)(q_len, k_len).to(_dtype(dtype))


class AlibiSymmetric(Coded):
    """The same for keys on both sides."""

    @claims("symmetric", dtype=FLOATS, max_position=4095)
    def alibi_bias(self, heads: int, q_len: int, k_len: int, *, dtype: str) -> Any:
        """Return the bias."""
        return self.module(heads)(q_len, k_len).to(_dtype(dtype))


class AlibiFirstKey(Coded):
    """The same, zero at the first key, with one row for all queries."""

    @claims("first-key", broadcast=True, dtype=FLOATS, max_position=4095)
    def alibi_bias(self, heads: int, q_len: int, k_len: int, *, dtype: str) -> Any:
        """Return the bias."""
        return self.module(heads)(q_len, k_len).to(_dtype(dtype))


class Bucket(Coded):
    """A function that takes relative positions."""

    @claims("bidirectional", "causal")
    def t5_bucket(
        self, relative_position: Any, *, num_buckets: int, max_distance: int, direction: str
    ) -> Any:
        """Return buckets."""
        both = direction == "bidirectional"
        return self.code(to_torch(relative_position), both, num_buckets, max_distance)


class T5Encoder(Coded):
    """A module built from a table and max_distance; both directions."""

    @claims("bidirectional", dtype=FLOATS, max_position=2047)
    def t5_bias(
        self, table: Any, q_len: int, k_len: int, *, max_distance: int, dtype: str = ""
    ) -> Any:
        """Return the bias."""
        return self.code(to_torch(table), max_distance, True)(q_len, k_len)


class T5Decoder(Coded):
    """The same for the past."""

    @claims("causal", dtype=FLOATS, max_position=2047)
    def t5_bias(
        self, table: Any, q_len: int, k_len: int, *, max_distance: int, dtype: str = ""
    ) -> Any:
        """Return the bias."""
        return self.code(to_torch(table), max_distance, False)(q_len, k_len)


class Window(Coded):
    """A module built from height and width, called with a table."""

    @claims("swin", dtype=FLOATS)
    def relative_table_2d(self, table: Any, *, height: int, width: int) -> Any:
        """Return the bias."""
        return self.module(height, width)(to_torch(table))


@right(Slopes)
def press_slopes(heads: int) -> list[float]:
    """Slopes for the power of two below, then every second slope for the next power of two."""

    def power(n: int) -> list[float]:
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start * start**i for i in range(n)]

    if math.log2(heads).is_integer():
        return power(heads)
    closest = 2 ** math.floor(math.log2(heads))
    return power(closest) + press_slopes(2 * closest)[0::2][: heads - closest]


@right(Slopes)
def bloom_slopes(heads: int) -> Tensor:
    """The same by powers of a base."""
    closest = 2 ** math.floor(math.log2(heads))
    base = torch.tensor(2 ** (-(2 ** -(math.log2(closest) - 3))), dtype=torch.float32)
    slopes = torch.pow(base, torch.arange(1, 1 + closest, dtype=torch.int32))
    if closest != heads:
        extra = torch.tensor(2 ** (-(2 ** -(math.log2(2 * closest) - 3))), dtype=torch.float32)
        powers = torch.arange(1, 1 + 2 * (heads - closest), 2, dtype=torch.int32)
        slopes = torch.cat([slopes, torch.pow(extra, powers)], dim=0)
    return slopes


@wrong(Slopes, FORMULA, r"uniform|letter|every number of heads|no power|8h/n", SLOPES)
def slopes_for_any_number(heads: int) -> list[float]:
    """Takes 2^(-8h/n) for any number of heads."""
    return [2 ** (-8 * h / heads) for h in range(1, heads + 1)]


@wrong(Slopes, FORMULA, r"from 0|first|h ?- ?1|shift|begin|one head|by one", SLOPES)
def slopes_from_zero(heads: int) -> Tensor:
    """Begins with slope 1."""
    return torch.tensor(press_slopes(heads)) * 2 ** (8 / 2 ** math.floor(math.log2(heads)))


@wrong(Slopes, FORMULA, r"every second|interleav|extra|between|no power|2P", SLOPES)
def slopes_of_the_first_extra(heads: int) -> list[float]:
    """Takes the first slopes for the next power of two, not every second one."""
    closest = 2 ** math.floor(math.log2(heads))
    more = press_slopes(2 * closest) if closest != heads else []
    return press_slopes(closest) + more[: heads - closest]


@wrong(Slopes, FORMULA, r"revers|order|backwards|last", SLOPES)
def slopes_reversed(heads: int) -> list[float]:
    """Gives the smallest slope to the first head."""
    return press_slopes(heads)[::-1]


@wrong(Slopes, FORMULA, r"sort|order|descending", SLOPES)
def slopes_sorted(heads: int) -> list[float]:
    """Puts slopes into descending order."""
    return sorted(press_slopes(heads), reverse=True)


@wrong(Slopes, FORMULA, r"8|constant|ratio|exponent|fixed|any number", SLOPES)
def slopes_of_eight_heads(heads: int) -> list[float]:
    """Halves the slope from head to head, whatever the number of heads."""
    return [2.0**-h for h in range(1, heads + 1)]


@wrong(Slopes, FORMULA, r"sign|negative", SLOPES)
def slopes_negative(heads: int) -> list[float]:
    """Returns negative slopes."""
    return [-slope for slope in press_slopes(heads)]


@right(AlibiCausal)
class Causal(nn.Module):
    """Slopes times relative positions, -inf for keys after the query."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.register_buffer("slopes", torch.tensor(self.list(heads)).view(heads, 1, 1))

    def list(self, heads: int) -> list[float]:
        return press_slopes(heads)

    def queries(self, q_len: int, k_len: int) -> Tensor:
        return torch.arange(k_len - q_len, k_len)[:, None]

    def distance(self, q_len: int, k_len: int) -> Tensor:
        return (torch.arange(k_len)[None] - self.queries(q_len, k_len)).float()

    def hidden(self, q_len: int, k_len: int) -> Tensor:
        return torch.arange(k_len)[None] > torch.arange(k_len - q_len, k_len)[:, None]

    def forward(self, q_len: int, k_len: int) -> Tensor:
        bias = self.slopes * self.distance(q_len, k_len)
        return bias.masked_fill(self.hidden(q_len, k_len), float("-inf"))


@wrong(AlibiCausal, FORMULA, r"sign|positive|grow|negated")
class CausalPositive(Causal):
    """Adds the distance where it should be subtracted."""

    def distance(self, q_len: int, k_len: int) -> Tensor:
        return -super().distance(q_len, k_len)


@wrong(AlibiCausal, FORMULA, LAST_QUERIES)
class CausalFromZero(Causal):
    """Places queries at 0, 1, 2, …, although keys are cached before them."""

    def queries(self, q_len: int, k_len: int) -> Tensor:
        return torch.arange(q_len)[:, None]


@wrong(AlibiCausal, FORMULA, r"mask|hidden|-inf|diagonal|tril|triu")
class CausalMaskFromZero(Causal):
    """Masks as if queries were at 0, 1, 2, …."""

    def hidden(self, q_len: int, k_len: int) -> Tensor:
        return torch.ones(q_len, k_len, dtype=torch.bool).triu(1)


@wrong(AlibiCausal, FORMULA, r"mask|hidden|-inf|diagonal|own|itself|infinite")
class CausalMasksItself(Causal):
    """Hides the query's own key."""

    def hidden(self, q_len: int, k_len: int) -> Tensor:
        return torch.arange(k_len)[None] >= self.queries(q_len, k_len)


@wrong(AlibiCausal, FORMULA, r"mask|hidden|one key|-inf|after")
class CausalMasksOneTooFew(Causal):
    """Leaves the key after the query visible."""

    def hidden(self, q_len: int, k_len: int) -> Tensor:
        return torch.arange(k_len)[None] > self.queries(q_len, k_len) + 1


@wrong(AlibiCausal, FORMULA, r"first key|first-key|zero at")
class CausalFromFirstKey(Causal):
    """Multiplies slopes by the key's position."""

    def distance(self, q_len: int, k_len: int) -> Tensor:
        return torch.arange(k_len)[None].float().expand(q_len, k_len)


@wrong(AlibiCausal, FORMULA, r"head|revers|order|slope")
class CausalHeadsReversed(Causal):
    """Gives the smallest slope to the first head."""

    def list(self, heads: int) -> list[float]:
        return press_slopes(heads)[::-1]


@wrong(AlibiCausal, FORMULA, r"uniform|letter|slope|power of two")
class CausalUniform(Causal):
    """Takes 2^(-8h/n) for any number of heads."""

    def list(self, heads: int) -> list[float]:
        return slopes_for_any_number(heads)


@wrong(AlibiCausal, FORMULA, r"bfloat16|low.precision|rounded")
class CausalDistancesInBfloat16(Causal):
    """Counts distances in bfloat16."""

    def distance(self, q_len: int, k_len: int) -> Tensor:
        keys, queries = torch.arange(k_len)[None], self.queries(q_len, k_len)
        return (keys.bfloat16() - queries.bfloat16()).float()


@wrong(AlibiCausal, FORMULA, r"factor|scale|times|√|sqrt|head_dim|slope")
class CausalScaled(Causal):
    """Divides the bias by 8, like logits of heads with 64 channels."""

    def forward(self, q_len: int, k_len: int) -> Tensor:
        return super().forward(q_len, k_len) / 8


@wrong(AlibiCausal, FORMULA, r"window|1,?024|clamp|cut|beyond|at most|largest|limit|capped")
class CausalClamped(Causal):
    """Clamps distances to 1024."""

    def distance(self, q_len: int, k_len: int) -> Tensor:
        return super().distance(q_len, k_len).clamp(min=-1024)


@right(AlibiSymmetric)
class Symmetric(nn.Module):
    """A cached matrix of biases that grows when needed; returns the rows of the last queries."""

    bias: Tensor

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.register_buffer("bias", torch.zeros(heads, 0, 0), persistent=False)

    def matrix(self, length: int) -> Tensor:
        places = torch.arange(length)
        distance = (places[:, None] - places[None]).abs()
        return torch.tensor(press_slopes(self.heads)).view(-1, 1, 1) * -distance

    def grow(self, length: int) -> None:
        if self.bias.shape[-1] < length:
            self.bias = self.matrix(length)

    def forward(self, q_len: int, k_len: int) -> Tensor:
        self.grow(k_len)
        return self.bias[:, k_len - q_len : k_len, :k_len].clone()


@wrong(AlibiSymmetric, FORMULA, r"absolute|after|future|sign|later keys|both sides|one side")
class SymmetricWithoutAbs(Symmetric):
    """Forgets the absolute value, so that later keys are favoured."""

    def matrix(self, length: int) -> Tensor:
        places = torch.arange(length)
        distance = places[:, None] - places[None]
        return torch.tensor(press_slopes(self.heads)).view(-1, 1, 1) * -distance


@wrong(AlibiSymmetric, FORMULA, LAST_QUERIES)
class SymmetricTopLeft(Symmetric):
    """Takes the first rows of the matrix."""

    def forward(self, q_len: int, k_len: int) -> Tensor:
        self.grow(k_len)
        return self.bias[:, :q_len, :k_len].clone()


@wrong(AlibiSymmetric, "state", r"earlier call|first call|keeps|kept|state", LAST_QUERIES)
class SymmetricFromTheEnd(Symmetric):
    """Takes the last rows of the matrix, however large it has become."""

    def forward(self, q_len: int, k_len: int) -> Tensor:
        self.grow(k_len)
        return self.bias[:, -q_len:, :k_len].clone()


@wrong(AlibiSymmetric, "memory", r"view|alias|corrupt|writ|memory")
class SymmetricView(Symmetric):
    """Returns a view of the matrix that it keeps."""

    def forward(self, q_len: int, k_len: int) -> Tensor:
        self.grow(k_len)
        return self.bias[:, k_len - q_len : k_len, :k_len]


@wrong(AlibiSymmetric, FORMULA, r"sign|positive|negated")
class SymmetricPositive(Symmetric):
    """Adds the distance instead of subtracting it."""

    def matrix(self, length: int) -> Tensor:
        return -super().matrix(length)


@wrong(AlibiSymmetric, FORMULA, r"square|logarithm|distance|grow")
class SymmetricSquared(Symmetric):
    """Squares the distance."""

    def matrix(self, length: int) -> Tensor:
        places = torch.arange(length)
        distance = (places[:, None] - places[None]) ** 2
        return torch.tensor(press_slopes(self.heads)).view(-1, 1, 1) * -distance


@right(AlibiFirstKey)
class FirstKey(nn.Module):
    """Slopes times the key's position, the same for all queries."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.slopes = bloom_slopes(heads)[:, None, None]

    def keys(self, k_len: int) -> Tensor:
        return torch.arange(k_len).float()

    def forward(self, q_len: int, k_len: int) -> Tensor:
        return self.slopes * self.keys(k_len)


@wrong(AlibiFirstKey, FORMULA, r"from 1|key-from-1|one|shift|first key")
class FirstKeyFromOne(FirstKey):
    """Counts keys from 1."""

    def keys(self, k_len: int) -> Tensor:
        return torch.arange(1, k_len + 1).float()


@wrong(AlibiFirstKey, FORMULA, r"last key|last-key|shift|zero at")
class FirstKeyIsTheLast(FirstKey):
    """Is zero at the last key."""

    def keys(self, k_len: int) -> Tensor:
        return torch.arange(1 - k_len, 1).float()


@wrong(AlibiFirstKey, FORMULA, r"bfloat16|low.precision|rounded")
class FirstKeyInBfloat16(FirstKey):
    """Counts keys in bfloat16."""

    def keys(self, k_len: int) -> Tensor:
        return torch.arange(k_len).bfloat16().float()


@wrong(AlibiFirstKey, FORMULA, r"int8|wrap|modulo|127|128|256")
class FirstKeyInInt8(FirstKey):
    """Counts keys as a cumulative sum of a mask in int8."""

    def keys(self, k_len: int) -> Tensor:
        return torch.arange(k_len).to(torch.int8).float()


def _logarithmic(distance: Tensor, exact: int, buckets: int, max_distance: int) -> Tensor:
    ratio = torch.log(distance.float().clamp(min=1) / exact) / math.log(max_distance / exact)
    return (exact + (ratio * (buckets - exact)).long()).clamp(max=buckets - 1)


@right(Bucket)
def t5_bucket(relative: Tensor, both: bool, buckets: int, max_distance: int) -> Tensor:
    """Buckets exact near the query and logarithmic beyond, as in T5's own code."""
    first = torch.zeros_like(relative)
    if both:
        buckets //= 2
        first += (relative > 0).long() * buckets
        distance = relative.abs()
    else:
        distance = -torch.minimum(relative, torch.zeros_like(relative))
    exact = buckets // 2
    large = _logarithmic(distance, exact, buckets, max_distance)
    return first + torch.where(distance < exact, distance, large)


@right(T5Encoder)
@right(T5Decoder)
class T5(nn.Module):
    """T5's bias: a table, and the bucket of each relative position."""

    def __init__(self, table: Tensor, max_distance: int, both: bool) -> None:
        super().__init__()
        self.weight, self.max_distance, self.both = table, max_distance, both

    def queries(self, q_len: int, k_len: int) -> Tensor:
        return torch.arange(k_len - q_len, k_len)[:, None]

    def relative(self, q_len: int, k_len: int) -> Tensor:
        return torch.arange(k_len)[None] - self.queries(q_len, k_len)

    def halves(self, relative: Tensor, half: int) -> Tensor:
        return (relative > 0).long() * half

    def past(self, relative: Tensor) -> Tensor:
        return (-relative).clamp(min=0)

    def exact(self, buckets: int) -> int:
        return buckets // 2

    def large(self, distance: Tensor, exact: int, buckets: int) -> Tensor:
        return _logarithmic(distance, exact, buckets, self.max_distance)

    def bucket(self, relative: Tensor) -> Tensor:
        buckets = len(self.weight)
        first = torch.zeros_like(relative)
        if self.both:
            buckets //= 2
            first, distance = self.halves(relative, buckets), relative.abs()
        else:
            distance = self.past(relative)
        exact = self.exact(buckets)
        large = self.large(distance, exact, buckets)
        return first + torch.where(distance < exact, distance, large)

    def forward(self, q_len: int, k_len: int) -> Tensor:
        return self.weight[self.bucket(self.relative(q_len, k_len))].permute(2, 0, 1)


@wrong(T5Encoder, FORMULA, r"sign|query minus key|exchanged|flipped|direction|opposite|transposed")
class T5QueryMinusKey(T5):
    """Subtracts key from query."""

    def relative(self, q_len: int, k_len: int) -> Tensor:
        return -super().relative(q_len, k_len)


@wrong(T5Decoder, FORMULA, r"sign|query minus key|flipped|direction|opposite|future|after")
class T5DecoderQueryMinusKey(T5):
    """Subtracts key from query, so that the past shares a bucket."""

    def relative(self, q_len: int, k_len: int) -> Tensor:
        return -super().relative(q_len, k_len)


@wrong(T5Decoder, FORMULA, r"bidirectional|both directions|encoder")
class T5DecoderOfBothDirections(T5):
    """Has buckets for both directions in the decoder."""

    def __init__(self, table: Tensor, max_distance: int, both: bool) -> None:
        super().__init__(table, max_distance, True)


@wrong(T5Encoder, FORMULA, r"causal|one direction|decoder|unidirectional")
class T5EncoderOfThePast(T5):
    """Has buckets only for the past in the encoder."""

    def __init__(self, table: Tensor, max_distance: int, both: bool) -> None:
        super().__init__(table, max_distance, False)


@wrong(T5Decoder, FORMULA, LAST_QUERIES)
class T5QueriesFromZero(T5):
    """Places queries at 0, 1, 2, … in decoding."""

    def queries(self, q_len: int, k_len: int) -> Tensor:
        return torch.arange(q_len)[:, None]


@wrong(T5Encoder, FORMULA, r"max_distance|128|distance")
class T5MaxDistanceFixed(T5):
    """Uses max_distance 128, whatever value is passed."""

    def __init__(self, table: Tensor, max_distance: int, both: bool) -> None:
        super().__init__(table, 128, both)


@wrong(T5Decoder, FORMULA, r"absolute|after|future|later|both|direction")
class T5PastByAbsolute(T5):
    """Takes the absolute distance, although all later keys belong to bucket 0."""

    def past(self, relative: Tensor) -> Tensor:
        return relative.abs()


@wrong(T5Encoder, FORMULA, r"own|query itself|distance 0|zero|>=|same position|bucket")
class T5ZeroIsLater(T5):
    """Counts the query itself among later keys."""

    def halves(self, relative: Tensor, half: int) -> Tensor:
        return (relative >= 0).long() * half


@wrong(T5Encoder, FORMULA, r"half|halves|upper|earlier|past|sign|exchanged|flipped|direction")
class T5HalvesExchanged(T5):
    """Gives the upper half to earlier keys."""

    def halves(self, relative: Tensor, half: int) -> Tensor:
        return (relative < 0).long() * half


@wrong(T5Decoder, FORMULA, r"exact|bucket|quarter|num_buckets|half")
class T5ExactQuarter(T5):
    """Uses a quarter of the buckets, not half, for single distances."""

    def exact(self, buckets: int) -> int:
        return max(buckets // 4, 1)


@wrong(T5Decoder, FORMULA, r"round|truncate|cut|nearest|bucket")
class T5Rounded(T5):
    """Rounds to the nearest bucket."""

    def large(self, distance: Tensor, exact: int, buckets: int) -> Tensor:
        ratio = torch.log(distance.float().clamp(min=1) / exact)
        ratio = ratio / math.log(self.max_distance / exact)
        return (exact + (ratio * (buckets - exact)).round().long()).clamp(max=buckets - 1)


@wrong(T5Decoder, FORMULA, r"log|base|logarithm|bucket")
class T5LogarithmsMixed(T5):
    """Divides a logarithm to the base 2 by a natural one."""

    def large(self, distance: Tensor, exact: int, buckets: int) -> Tensor:
        ratio = torch.log2(distance.float().clamp(min=1) / exact)
        ratio = ratio / math.log(self.max_distance / exact)
        return (exact + (ratio * (buckets - exact)).long()).clamp(max=buckets - 1)


@wrong(T5Decoder, FORMULA, r"linear|logarithm|clip|clamp|bucket")
class T5Linear(T5):
    """Uses distances as buckets, clipped to the last one."""

    def large(self, distance: Tensor, exact: int, buckets: int) -> Tensor:
        return distance.clamp(max=buckets - 1)


@wrong(T5Decoder, FORMULA, r"float16|bfloat16|half|low.precision|logarithm|bucket|rounded")
class T5LogarithmInBfloat16(T5):
    """Takes logarithms in bfloat16."""

    def large(self, distance: Tensor, exact: int, buckets: int) -> Tensor:
        ratio = torch.log(distance.bfloat16().clamp(min=1) / exact)
        ratio = ratio / math.log(self.max_distance / exact)
        return (exact + (ratio * (buckets - exact)).long()).clamp(max=buckets - 1)


@wrong(T5Encoder, "shapes", r"shape|axis|axes|transposed|head")
class T5HeadsLast(T5):
    """Forgets to bring heads to the front."""

    def forward(self, q_len: int, k_len: int) -> Tensor:
        return self.weight[self.bucket(self.relative(q_len, k_len))]


@wrong(T5Encoder, FORMULA, r"transposed|quer.*key|exchanged|swapped|sign|opposite|shape")
class T5Transposed(T5):
    """Exchanges queries and keys where heads are brought to the front."""

    def forward(self, q_len: int, k_len: int) -> Tensor:
        return super().forward(q_len, k_len).transpose(1, 2).reshape(-1, q_len, k_len)


@right(Window)
class Swin(nn.Module):
    """A buffer with the table row of each pair of patches."""

    index: Tensor

    def __init__(self, height: int, width: int) -> None:
        super().__init__()
        self.height, self.width = height, width
        self.register_buffer("index", self.rows(), persistent=False)

    def coordinates(self) -> Tensor:
        axes = torch.arange(self.height), torch.arange(self.width)
        return torch.stack(torch.meshgrid(*axes, indexing="ij")).flatten(1)

    def relative(self) -> tuple[Tensor, Tensor]:
        c = self.coordinates()
        down, across = c[:, :, None] - c[:, None, :]
        return down, across

    def combine(self, down: Tensor, across: Tensor) -> Tensor:
        return (down + self.height - 1) * (2 * self.width - 1) + across + self.width - 1

    def rows(self) -> Tensor:
        return self.combine(*self.relative())

    def forward(self, table: Tensor) -> Tensor:
        n = self.height * self.width
        return table[self.index.view(-1)].view(n, n, -1).permute(2, 0, 1).contiguous()


@wrong(Window, FORMULA, r"width|height|row length|2 ?· ?height|exchanged|stride|columns")
class SwinHeightForWidth(Swin):
    """Multiplies by 2 height - 1 instead of 2 width - 1."""

    def combine(self, down: Tensor, across: Tensor) -> Tensor:
        return (down + self.height - 1) * (2 * self.height - 1) + across + self.width - 1

    def forward(self, table: Tensor) -> Tensor:
        self.index = self.index.clamp(max=len(table) - 1)
        return super().forward(table)


@wrong(Window, FORMULA, r"sign|transposed|exchanged|key.*query|opposite|flipped|revers")
class SwinKeyMinusQuery(Swin):
    """Subtracts queries from keys."""

    def relative(self) -> tuple[Tensor, Tensor]:
        down, across = super().relative()
        return -down, -across


@wrong(Window, FORMULA, r"shift|from 0|negative|wrap|centre|offset|zero")
class SwinNotShifted(Swin):
    """Forgets to shift offsets to numbers from 0 on, and reads from the table's other end."""

    def combine(self, down: Tensor, across: Tensor) -> Tensor:
        return down * (2 * self.width - 1) + across


@wrong(Window, FORMULA, r"column|row by row|transposed|order|xy|exchanged|height|width")
class SwinByColumns(Swin):
    """Numbers patches column by column."""

    def coordinates(self) -> Tensor:
        down, across = torch.meshgrid(
            torch.arange(self.height), torch.arange(self.width), indexing="xy"
        )
        return torch.stack((down, across)).flatten(1)


@wrong(Window, FORMULA, r"exchanged|axes|height|width|transposed|swapped")
class SwinAxesExchanged(Swin):
    """Numbers the table's rows by column offset first."""

    def combine(self, down: Tensor, across: Tensor) -> Tensor:
        return (across + self.width - 1) * (2 * self.height - 1) + down + self.height - 1


@wrong(Window, FORMULA, r"absolute|sign|both|distance|mirror")
class SwinAbsolute(Swin):
    """Takes absolute offsets."""

    def relative(self) -> tuple[Tensor, Tensor]:
        down, across = super().relative()
        return down.abs(), across.abs()


@wrong(Window, FORMULA, r"head|axes|axis|order|shape|mixed|reshape")
class SwinViewedForPermuted(Swin):
    """Reshapes to heads first, where the axes must be permuted."""

    def forward(self, table: Tensor) -> Tensor:
        n = self.height * self.width
        return table[self.index.view(-1)].reshape(-1, n, n)


@right(AlibiSymmetric)
class SymmetricOfEachCall(Symmetric):
    """Forms the matrix in each call."""

    def forward(self, q_len: int, k_len: int) -> Tensor:
        return self.matrix(k_len)[:, k_len - q_len :]


@right(T5Decoder)
class T5ByEmbedding(T5):
    """Looks buckets up in an embedding, as a model does."""

    def forward(self, q_len: int, k_len: int) -> Tensor:
        buckets = self.bucket(self.relative(q_len, k_len))
        return nn.functional.embedding(buckets, self.weight).permute(2, 0, 1)


@wrong(T5Decoder, FORMULA, r"last|same row|all queries|every query|quer")
class T5LastQueryOnly(T5ByEmbedding):
    """Returns the last query's row for all queries, as when decoding one token."""

    def forward(self, q_len: int, k_len: int) -> Tensor:
        return super().forward(q_len, k_len)[:, -1:].expand(-1, q_len, -1).clone()
