"""The plan of a probe: a checkpoint whose attention scores can be read from log-probabilities.

Weights are zero except for a few, nearly all of them powers of two. A token is a few channels of
the hidden state, all of one size, so that a norm turns them into known numbers. The measured key
has 1 in the first channel of every pair; the query of pair t has 1 in the first channel of that
pair in the first head, and in the second channel in the second head. The two scores of a query with
the key are then the cosine and the sine of the pair's angle, times a known number. The share that a
head gives to the key, and to a neutral key next to it whose score is 0, is added to channels of the
hidden state that nothing else uses, and from there to the logits of four tokens: their ratio is the
exponential of the score, whatever else the query sees. The tokens of keys tell the layers apart: a
layer has values for its own keys only. The next query gets the largest logit, so that one request
measures all pairs.

Biases need no rotation: each query measures two heads, and attends to itself in all others. Rows of
a table are read from the hidden state itself: each row encodes its number in four digits.

With tied embeddings, a token is one channel, and the feed-forward layer of the last layer adds the
channel of the next query to that of a query.

Encoders return the logits of all positions at the same time: all queries are in one text, and none
is generated.

An encoder with a decoder has a text for each. Its biases are a table, each row of which encodes its
bucket in two heads. The decoder looks up the encoder's readings.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, Self

import numpy as np

from posenc_conformance.judge.arrays import Floats

HEADS = 2
"""Heads that measure: the first reads cosines, the second one sines."""
GAINS = (16, 64, 512, 8192, 131072)
"""Approximate ratios of a key's logit to its attention share. Each gain has keys of its own,
because in a long text each key has a small share."""
SIZE = 16.0
"""Size of a token's channels."""
SIZE_IN_ENCODERS = 256.0
"""Size of a token's channels in encoders: so large that the eps of the first norm does not matter,
because some layers read the output of that norm, and others a norm of it."""
GAINS_OF_ENCODERS = (16, 64, 512, 4096)
"""Gains of encoders, whose texts are shorter, and whose readings go through an activation."""
LARGEST_LOGIT = 64.0
"""Largest logit of the next token if embeddings are tied."""
LARGEST_VALUE = 0.25
"""Size of the channel of a value for the largest gain, as a part of the token's other channels: so
small that it hardly affects the norm."""
READ_WEIGHT = 1024.0
"""Weight of the logits that are read; a power of two that float16 represents."""
CHANNELS_A_TOKEN = 64
"""Channels of the hidden state for each channel of a token."""
FEWEST = 4
"""Channels of a token if the probe has all heads of a model, and as small a hidden state as
possible."""
FOLLOWING = 6.0
"""Weight of the next token: its logit is 48, above all logits that are read."""
LARGEST_READ = 40.0
"""Largest logit that is read, below that of the next token."""
REFUSED = 1.0
"""Minus the weight of all other tokens: their logits are -8, below all logits that are read."""

DIGITS_OF_ROWS = 4
"""Number of digits of a row's number, which equals the number of tokens that are read."""
BASES = (8, 16)
"""Possible bases of these digits: the smallest that suffices for the rows is used."""
DIGIT_WEIGHT = 4.0
"""Weight of the logits of digits, all of which are below that of the next token."""
CLEAR = 0.35
"""Largest error of a digit that is read."""
LARGEST_BIAS = 4.0
"""Upper bound of the largest bias of a bucket; the bias is more than half of it."""

SPECIAL = ("<unk>", "<s>", "</s>", "who", "end", "zero")
UNKNOWN, BEGIN, STOP, WHO, END, ZERO = range(len(SPECIAL))
FILLERS = 16
"""Number of tokens without effect; there are several, so that texts can begin differently."""
READ = ("key-first", "key-second", "neutral-first", "neutral-second")
"""Tokens whose logits encode the shares of a key and a neutral one in the first and second head."""

Rows = dict[int, dict[int, float]]
"""Weights by row and column; all others are zero."""


@dataclass(frozen=True)
class Heads:
    """Layers whose heads are of another size than in the first group of layers."""

    layers: tuple[int, ...]
    head_dim: int
    pairs: tuple[tuple[int, int], ...]
    """Two channels for each query of the chain; a pair stands there twice if heads have fewer."""


@dataclass(frozen=True)
class Instrument:
    """The meaning of each token and channel of a probe."""

    name: str
    """The word with which the probe identifies itself."""
    layers: int
    head_dim: int
    pairs: tuple[tuple[int, int], ...]
    """The measurement of each step: two channels of a head that are rotated together."""
    hidden: int
    """Channels of the hidden state, a multiple of 64."""
    heads: int
    kv_heads: int
    centred: bool = False
    """Whether norms subtract the mean: a token's channels then add up to 0."""
    gains: tuple[int, ...] = GAINS
    """The gains, each of which has keys of its own."""
    tied: bool = False
    """Whether a decoder ties its embeddings: its last layer then adds the next token's channel."""
    encoder: bool = False
    """Whether all positions are read at the same time. Embeddings are then tied."""
    silent: tuple[int, ...] = ()
    """Layers without positions that no text asks: linear attention, attention to images."""
    sizes: tuple[Heads, ...] = ()
    """Other sizes of heads, where not all layers have the same."""
    with_biases: bool = False
    """Whether queries and keys have biases. All tokens then have one channel in common, and its
    weights take the biases back: in a right engine they change no score."""
    asks: ClassVar[str] = "pairs"
    """The name of what the steps measure, for people."""

    @property
    def channels_of_token(self) -> int:
        """Channels of the hidden state that a token has, besides those of values."""
        if self.tied:
            return 1 + self.centred
        return count_of_channels(self.hidden, self.centred)

    @property
    def size(self) -> float:
        """Size of a token's channels in the embeddings."""
        if self.encoder:
            return SIZE_IN_ENCODERS
        if not self.tied:
            return SIZE
        return power_below(LARGEST_LOGIT / math.sqrt(self.hidden * self.channels_of_token))

    @property
    def share(self) -> float:
        """The part of a weight that a channel has if it shares the weight with its mirror."""
        return 0.5 if self.centred else 1.0

    def at(self, layer: int) -> Self:
        """Return the plan with the heads of a layer."""
        own = next((size for size in self.sizes if layer in size.layers), None)
        return self if own is None else replace(self, head_dim=own.head_dim, pairs=own.pairs)

    # Channels of the hidden state: one for each pair, then the following.

    @property
    def asking(self) -> int:
        """The channel that all queries have."""
        return len(self.pairs)

    @property
    def key(self) -> int:
        """The channel that all measured keys have."""
        return self.asking + 1

    def value(self, layer: int, *, neutral: bool = False) -> int:
        """Return the channel that a layer reads for the value of its key, or of the neutral one."""
        return self.key + 1 + 2 * layer + neutral

    @property
    def read(self) -> int:
        """The first of the channels that receive the shares of keys."""
        return self.value(self.layers)

    def mirror(self, channel: int) -> int:
        """Return the channel that contains a value, or a reading, with the opposite sign.

        Mirrors keep the mean at 0. If the mean is not exactly 0, both channels have the same error,
        which cancels in differences.
        """
        return channel + 2 * self.layers + len(READ)

    @property
    def asked_who(self) -> int:
        """The channel of the question which probe this is; the next channel is the answer's."""
        last = self.read + len(READ)
        return self.mirror(last) if self.centred else last

    @property
    def ended(self) -> int:
        """The channel of the end of the chain, if embeddings are tied."""
        return self.asked_who + 2

    def opposite(self, channel: int) -> int:
        """Return the channel of opposite sign for a channel of the chain.

        With tied embeddings and a mean of 0, each needs its own: no two tokens may share any.
        """
        others = (self.asked_who, self.asked_who + 1, self.ended)
        place = channel if channel < len(self.pairs) else len(self.pairs) + others.index(channel)
        return self.ended + 1 + place

    @property
    def padding(self) -> int:
        """The first of the channels without meaning: as many as a token has."""
        if self.writes:
            return self.writing(self.layers - 1) + 1
        return self.opposite(self.ended) + 1 if self.tied and self.centred else self.ended + 1

    @property
    def common(self) -> int:
        """The channel that all tokens have if there are biases: the last one without meaning."""
        return self.padding + self.channels_of_token - 1

    @property
    def sign_of_common(self) -> float:
        """The sign of that channel."""
        return -1.0 if self.centred else 1.0

    @property
    def writes(self) -> bool:
        """Whether there are tokens that a key follows, so that an engine generates the key.

        With tied embeddings all keys are alike but for their values, and an encoder generates none.
        """
        return not (self.tied or self.encoder)

    @property
    def written_gains(self) -> tuple[int, ...]:
        """The gains for which an engine can generate a key."""
        return self.gains if self.writes else ()

    def writing_gain(self, gain: int) -> int:
        """Return the channel of tokens that a key of a gain follows."""
        return self.ended + 1 + self.written_gains.index(gain)

    def writing(self, layer: int) -> int:
        """Return the channel of tokens that a key of a layer follows."""
        return self.ended + 1 + len(self.written_gains) + layer

    def heads_of(self, layer: int) -> tuple[int, int]:
        """Return the two heads that measure in a layer: layers take turns over all heads.

        Fewer layers than pairs of heads are spread over them.
        """
        pairs = self.heads // HEADS
        first = HEADS * (layer * max(1, pairs // self.layers) % pairs)
        return first, first + 1

    # Tokens: special ones, fillers, the name, then the following.

    def filler(self, number: int) -> int:
        """Return one of the tokens without effect."""
        return len(SPECIAL) + number % FILLERS

    name_token: ClassVar[int] = len(SPECIAL) + FILLERS
    """The token whose word identifies the probe: the same id in all probes."""

    @property
    def read_tokens(self) -> tuple[int, ...]:
        """The tokens that are read, in the order of ``READ``."""
        return tuple(range(self.name_token + 1, self.name_token + 1 + len(READ)))

    def numbered(self, layer: int, *, whole: bool) -> int:
        """Return the number of a layer among all that have keys of their own.

        ``whole`` says whether the layer reads complete texts.
        """
        return layer

    def key_token(self, layer: int, gain: int, *, neutral: bool = False) -> int:
        """Return the token of a layer's key, or of its neutral one, for a gain."""
        number = self.gains.index(gain) * self.layers + layer
        return self.read_tokens[-1] + 1 + 2 * number + neutral

    def query_token(self, step: int) -> int:
        """Return the query token of a step of the chain."""
        return self.read_tokens[-1] + 1 + 2 * len(self.gains) * self.layers + step

    def write_token(self, layer: int, gain: int) -> int:
        """Return the token that a layer's key of a gain follows."""
        number = self.written_gains.index(gain) * self.layers + layer
        return self.query_token(len(self.pairs)) + number

    def following(self, step: int) -> int:
        """Return the token after a query of the chain: the next query, or the end."""
        last = step == len(self.pairs) - 1
        return END if last else self.query_token(step + 1)

    def steps(self) -> list[tuple[int, int]]:
        """Return the channels of tokens, each with the channel of the next token."""
        chain = [*self.order, self.ended]
        return [*pairwise(chain), (self.asked_who, self.asked_who + 1)]

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The pairs in the order of the chain: its first ones are spread over all pairs."""
        bits = (len(self.pairs) - 1).bit_length()
        spread = sorted(range(len(self.pairs)), key=lambda pair: f"{pair:0{bits}b}"[::-1])
        return tuple(spread)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The word of each token."""
        keys = [
            f"{kind}-{gain}-{layer}"
            for gain in self.gains
            for layer in range(self.layers)
            for kind in ("key", "neutral")
        ]
        queries = [f"query-{step}" for step in range(len(self.pairs))]
        fillers = [f"fill-{number}" for number in range(FILLERS)]
        writing = [
            f"write-{gain}-{layer}" for gain in self.written_gains for layer in range(self.layers)
        ]
        return (*SPECIAL, *fillers, self.name, *READ, *keys, *queries, *writing)

    @cached_property
    def tokens(self) -> dict[str, int]:
        """The token of each word."""
        return {word: token for token, word in enumerate(self.words)}

    def named(self, pair: int) -> str:
        """Return the name of the measurement of one step, for people."""
        first, second = self.pairs[pair]
        return f"pair {pair} (channels {first} and {second})"

    def embeddings(self) -> Rows:
        """Return the channels of each token; tokens that no prompt has get none."""
        rows = {
            UNKNOWN: self._padding(),
            BEGIN: self._token(),
            **{self.filler(number): self._token() for number in range(FILLERS)},
            WHO: self._token(*self.signs(self.asked_who)),
            self.name_token: self._token(*self.signs(self.asked_who + 1)),
        }
        for gain in self.gains:
            for layer in range(self.layers):
                for neutral in (False, True):
                    token = self._token(*(() if neutral else (self.key,)))
                    value = self.value(layer, neutral=neutral)
                    rows[self.key_token(layer, gain, neutral=neutral)] = {
                        **token,
                        **self._valued(value, gain),
                    }
                if gain in self.written_gains:
                    before = self._token(self.writing(layer), self.writing_gain(gain))
                    rows[self.write_token(layer, gain)] = before
        for step, pair in enumerate(self.order):
            rows[self.query_token(step)] = self._token(*self.signs(pair), self.asking)
        if self.tied:
            rows[END] = self._token(*self.signs(self.ended))
            rows |= self._reading()
        if self.encoder:
            weight = self.read_in_encoders
            places = (*range(self.read, self.read + len(READ)), self.ended)
            for word, place in zip((*self.read_tokens, END), places, strict=True):
                rows[word] = {place: weight, self.asked_who: -weight}
        return rows

    @property
    def read_in_encoders(self) -> float:
        """The weight of logits after the norm of an encoder's head: no logit becomes too large."""
        return power_below(LARGEST_READ / math.sqrt(self.hidden))

    def signs(self, channel: int) -> tuple[int, ...]:
        """Return a channel of the chain, and its opposite if there is one."""
        return (channel, self.opposite(channel)) if self.tied and self.centred else (channel,)

    def _reading(self) -> Rows:
        """Return the weights of the logits that are read."""
        return {
            token: self.balanced(self.read + number, self.share * READ_WEIGHT)
            for number, token in enumerate(self.read_tokens)
        }

    def _token(self, *channels: int) -> dict[int, float]:
        """Return the channels of a token: the given ones, filled up with meaningless ones."""
        count = self.channels_of_token
        chosen = [*channels, *range(self.padding, self.padding + count)][: count - self.with_biases]
        chosen += [self.common] if self.with_biases else []
        above = count // 2 if self.centred else count
        return {
            channel: self.size if number < above else -self.size
            for number, channel in enumerate(chosen)
        }

    def _valued(self, channel: int, gain: int) -> dict[int, float]:
        """Return the channels of a value."""
        return self.balanced(channel, value_of(gain) * self.size)

    def _padding(self) -> dict[int, float]:
        """Return the channels of padding: a query that sees it takes it for neutral keys."""
        row = self._token()
        for layer in range(self.padded_layers):
            row |= self._valued(self.value(layer, neutral=True), self.gains[-1])
        return row

    @property
    def padded_layers(self) -> int:
        """The first layers, for which padding is a neutral key."""
        return self.layers

    def balanced(self, channel: int, weight: float) -> dict[int, float]:
        """Return a weight of a channel, and the opposite weight of its mirror if there is one."""
        return (
            {channel: weight, self.mirror(channel): -weight} if self.centred else {channel: weight}
        )

    def logits(self) -> Rows:
        """Return the weights of the channels in each token's logit."""
        weights = {token: {self.asking: -REFUSED} for token in range(len(self.words))}
        weights |= self._reading()
        weights[ZERO] = {}
        weights[self.name_token][self.asked_who] = FOLLOWING
        weights[END][self.asked_who + 1] = FOLLOWING
        for step, pair in enumerate(self.order):
            weights[self.following(step)][pair] = FOLLOWING + REFUSED
        if self.writes:
            weights[self.query_token(0)][self.key] = FOLLOWING
            for gain in self.written_gains:
                for layer in range(self.layers):
                    weight = weights[self.key_token(layer, gain)]
                    weight[self.writing(layer)] = weight[self.writing_gain(gain)] = FOLLOWING / 2
        return weights


@dataclass(frozen=True)
class Biased(Instrument):
    """A plan that measures biases: two heads per step, those of the largest slopes first.

    In later steps the neutral key is farther from the query, but slopes are smaller.
    """

    asks: ClassVar[str] = "pairs of heads"

    @property
    def written_gains(self) -> tuple[int, ...]:
        """The smallest gain: a generated key is near, and so is the token before it."""
        return self.gains[:1]

    @property
    def channels_of_token(self) -> int:
        """Channels of the hidden state that a token has: no reading depends on their number."""
        return FEWEST

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The steps in the order of the chain."""
        return tuple(range(len(self.pairs)))

    def named(self, pair: int) -> str:
        """Return the name of the measurement of one step, for people."""
        first, second = self.pairs[pair]
        return f"heads {first} and {second}"

    def steps_of(self, head: int) -> list[int]:
        """Return the steps that measure a head."""
        return [step for step, heads in enumerate(self.pairs) if head in heads]


@dataclass(frozen=True)
class Tabled(Instrument):
    """A plan that measures rows of a table: each step reads the row of one position."""

    rows: int = 0
    """Rows of the table."""
    asks: ClassVar[str] = "rows"

    @property
    def writes(self) -> bool:
        """Return False: the key of such a text is not generated."""
        return False

    @property
    def padded_layers(self) -> int:
        """None: no key is read."""
        return 0

    @property
    def base(self) -> int:
        """The base of the digits of a row's number."""
        return next((base for base in BASES if self.rows <= base**DIGITS_OF_ROWS), BASES[-1])

    def named(self, pair: int) -> str:
        """Return the name of the measurement of one step, for people."""
        return f"query {pair + 1}"

    def table(self) -> Rows:
        """Return the channels of each row."""
        rows = {}
        for row in range(self.rows):
            channels: dict[int, float] = {}
            for place in range(DIGITS_OF_ROWS):
                digit = row // self.base**place % self.base
                channels |= self.balanced(self.read + place, digit * self.size / self.base)
            rows[row] = channels
        return rows

    def types(self) -> Rows:
        """Return the channels of the token type of the second of two texts: half a row."""
        return {1: self.balanced(self.read, 0.5 * self.size / self.base)}

    def row(self, quotients: Sequence[float]) -> float | None:
        """Return the row with the digits that are read; None if there is no such row.

        ``quotients`` are logits of the digits, divided by that of the next token. In an encoder the
        row may be half too large, which means that the text counts as the second of two.
        """
        read = [value * FOLLOWING * self.base / DIGIT_WEIGHT for value in quotients]
        digits: list[float] = [round(value) for value in read]
        if self.encoder and abs(read[0] % 1 - 0.5) < 0.5 - CLEAR:
            digits[0] = math.floor(read[0]) + 0.5
        clear = all(abs(a - b) < CLEAR for a, b in zip(read, digits, strict=True))
        row = sum(digit * self.base**place for place, digit in enumerate(digits))
        return float(row) if clear and row < self.rows else None

    def _reading(self) -> Rows:
        """Return the weights of the logits that are read."""
        return {
            token: self.balanced(self.read + number, self.share * DIGIT_WEIGHT)
            for number, token in enumerate(self.read_tokens)
        }


@dataclass(frozen=True)
class Bucketed(Instrument):
    """A plan that measures buckets of distances, in an encoder and in its decoder.

    The layers of the decoder are numbered after those of the encoder.
    """

    asks: ClassVar[str] = "distances"
    buckets: int = 0
    """Rows of the table of biases."""
    encoder_layers: int = 0

    @property
    def writes(self) -> bool:
        """Return False: the key of such a text is not generated."""
        return False

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The steps in the order of the chain: each measures another distance."""
        return tuple(range(len(self.pairs)))

    def named(self, pair: int) -> str:
        """Return the name of the measurement of one step, for people."""
        return f"query {pair + 1}"

    @property
    def padded_layers(self) -> int:
        """The encoder's layers: a decoder's text begins with the padding token."""
        return self.encoder_layers

    def numbered(self, layer: int, *, whole: bool) -> int:
        """Return the number of a layer among those of the encoder and the decoder."""
        return layer if whole else self.encoder_layers + layer

    @property
    def base(self) -> int:
        """The base of the two digits of a bucket."""
        return math.isqrt(self.buckets - 1) + 1

    @property
    def unit(self) -> float:
        """The bias that encodes 1 in a digit; a power of two."""
        return power_below(LARGEST_BIAS / (self.base - 1))

    def table(self, *, whole: bool) -> Floats:
        """Return the biases of the buckets, [buckets, heads]: two digits, the smaller one first.

        ``whole`` says whether the table is the encoder's. The decoder's has the buckets in reverse.
        """
        buckets = np.arange(self.buckets)[:: 1 if whole else -1]
        digits = np.stack([buckets % self.base, buckets // self.base], axis=1)
        return np.asarray(self.unit * digits, dtype=np.float64)

    def bucket(self, biases: Floats, *, whole: bool) -> int | None:
        """Return the bucket with these biases; None if there is no such bucket."""
        read = biases / self.unit
        low, high = np.rint(read)
        if np.abs(read - [low, high]).max() > CLEAR or not 0 <= low < self.base:
            return None
        bucket = int(high) * self.base + int(low)
        if not 0 <= bucket < self.buckets:
            return None
        return bucket if whole else self.buckets - 1 - bucket


def power_below(number: float) -> float:
    """Return the largest power of two that is not above ``number``."""
    return float(2.0 ** math.floor(math.log2(number)))


def dense(shape: tuple[int, int], rows: Rows) -> Floats:
    """Make a matrix from its nonzero weights."""
    matrix = np.zeros(shape)
    for row, weights in rows.items():
        for column, weight in weights.items():
            matrix[row, column] = weight
    return matrix


def value_of(gain: int) -> float:
    """Return the size of the channel of a value, as a part of a token's other channels."""
    return LARGEST_VALUE * gain / GAINS[-1]


def count_of_channels(hidden: int, centred: bool) -> int:
    """Return the number of channels of a token: even if they add up to 0."""
    count = hidden // CHANNELS_A_TOKEN
    return count - count % 2 if centred else count


def channels_with_meaning(
    pairs: int, layers: int, centred: bool, tied: bool, gains: int = 0
) -> int:
    """Compute the number of channels of the hidden state that have a meaning.

    ``gains`` is the number of gains for which an engine can generate keys.
    """
    count = (pairs + 3) * (1 + (tied and centred)) + 2 + (layers + gains if gains else 0)
    return count + (2 * layers + len(READ)) * (1 + centred)


def channels_needed(
    pairs: int, layers: int, centred: bool, tied: bool, gains: int = 0
) -> tuple[int, int]:
    """Compute the least number of channels of the hidden state, and its divisor."""
    meaningful = channels_with_meaning(pairs, layers, centred, tied, gains)
    count = 4 if centred else 2
    while count * CHANNELS_A_TOKEN < meaningful + count:
        count += 1
    return count * CHANNELS_A_TOKEN, CHANNELS_A_TOKEN
