"""The plan of a probe: a checkpoint whose attention scores can be read from log-probabilities.

Weights are zero but for a few, nearly all powers of two. A token is a few channels of the hidden
state, all of one size, so that a norm makes known numbers of them. The key that is asked for has 1
in the first channel of every pair; the query of pair t has 1 in the first channel of that pair in
the first head, and in the second channel in the second head. The two scores of a query with the key
are then the cosine and the sine of the pair's angle, times a known number. What a head gives to the
key, and to a neutral key beside it whose score is 0, is added to channels of the hidden state that
nothing else uses, and from there to the logits of four tokens: their ratio is the exponential of
the score, whatever else the query sees. The tokens of keys tell the layers apart: a layer has
values for its own keys alone. The query that follows gets the largest logit, so that one request
asks all pairs.

Biases need no turning: queries ask heads, two at a time, and look at themselves in all others. Rows
of a table are read from the hidden state itself: each holds its number, in four digits.

Where the last matrix is that of the embeddings, a token is one channel, and the feed-forward layer
of the last layer adds the channel of the query that follows to that of a query.

Encoders give the logits of all positions at once: all queries stand in one text, and none follows.

An encoder with a decoder has a text for each. Its biases are a table, so each row of that says in
two heads which bucket it is. What the encoder reads, the decoder looks up.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np

from posenc_conformance.judge.arrays import Floats

HEADS = 2
"""The first head of a query reads cosines, the second one sines."""
GAINS = (16, 64, 512, 8192, 131072)
"""About what the share that a key gets is multiplied by to make a logit of it; each has keys of its
own, because a long text leaves a small share to each key."""
SIZE = 16.0
"""Size of a token's channels."""
SIZE_IN_ENCODERS = 256.0
"""The same in encoders: so large that it does not matter what the first norm adds to a mean square,
as some layers read what it makes, and others a norm of that."""
GAINS_OF_ENCODERS = (16, 64, 512, 4096)
"""Gains of encoders, which have no longer texts. What is read goes through an activation there."""
LARGEST_LOGIT = 64.0
"""Largest logit of a token that follows where embeddings are tied."""
LARGEST_VALUE = 0.25
"""Size of the channel that makes the value of a key of the largest gain, as a part of the others':
so small that the norm hardly feels it."""
READ_WEIGHT = 1024.0
"""Weight of the logits that are read; a power of two that float16 holds."""
CHANNELS_A_TOKEN = 64
"""A token has one channel for so many of the hidden state."""
FEWEST = 4
"""Channels of a token where all heads of a model make the hidden state as small as it can be."""
FOLLOWING = 6.0
"""Weight of the token that follows: its logit is 48, above all that is read."""
LARGEST_READ = 40.0
"""Largest logit that is read, below the one of the token that follows."""
REFUSED = 1.0
"""Minus the weight of all other tokens: their logits are -8, below all that is read."""

DIGITS_OF_ROWS = 4
"""Digits of the number of a row: as many as there are tokens that are read."""
BASES = (8, 16)
"""What such a digit may be below: as little as will do for the rows."""
DIGIT_WEIGHT = 4.0
"""Weight of the logits of digits, all of which are below that of the token that follows."""
CLEAR = 0.35
"""A digit may be read by so much too large or too small."""
LARGEST_BIAS = 4.0
"""The largest bias of a bucket is at most this, and more than half of it."""

SPECIAL = ("<unk>", "<s>", "</s>", "who", "end", "zero")
UNKNOWN, BEGIN, STOP, WHO, END, ZERO = range(len(SPECIAL))
FILLERS = 16
"""Words that nothing looks at; there are several, so that texts can begin with different ones."""
READ = ("key-first", "key-second", "neutral-first", "neutral-second")
"""Tokens whose logits say what the first and the second head give to a key and a neutral one."""

Rows = dict[int, dict[int, float]]
"""Weights by row and column; all others are zero."""


@dataclass(frozen=True)
class Instrument:
    """Which token and which channel of a probe means what."""

    name: str
    """The word by which the probe says who it is."""
    layers: int
    head_dim: int
    pairs: tuple[tuple[int, int], ...]
    """What is asked in one step: two channels of a head that are turned together."""
    hidden: int
    """Channels of the hidden state, a multiple of 64."""
    heads: int
    kv_heads: int
    centred: bool = False
    """Whether norms take the mean away: a token's channels add up to 0 then."""
    gains: tuple[int, ...] = GAINS
    """The gains that have keys of their own."""
    tied: bool = False
    """Whether the last matrix is that of the embeddings, and a query is followed by another one."""
    encoder: bool = False
    """Whether all positions are read at once. The last matrix is that of the embeddings then."""
    asks: ClassVar[str] = "pairs"
    """What people call what is asked in each step."""

    @property
    def channels_of_token(self) -> int:
        """How many channels of the hidden state a token has, besides those of values."""
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
        """What a channel has of a weight that it may share with its mirror."""
        return 0.5 if self.centred else 1.0

    # Channels of the hidden state: one for each pair, then these.

    @property
    def asking(self) -> int:
        """The channel that all queries have."""
        return len(self.pairs)

    @property
    def key(self) -> int:
        """The channel that all keys have that are asked for."""
        return self.asking + 1

    def value(self, layer: int, *, neutral: bool = False) -> int:
        """Return the channel of which a layer makes the value of its key, or of the neutral one."""
        return self.key + 1 + 2 * layer + neutral

    @property
    def read(self) -> int:
        """The first of the channels that hold what keys get."""
        return self.value(self.layers)

    def mirror(self, channel: int) -> int:
        """Return the channel that holds a value, or what is read, with the other sign.

        They are there for a mean of 0. What both are off by, if it is not quite 0, is in neither
        difference.
        """
        return channel + 2 * self.layers + len(READ)

    @property
    def asked_who(self) -> int:
        """The channel of the question who the probe is; the next one is that of the answer."""
        last = self.read + len(READ)
        return self.mirror(last) if self.centred else last

    @property
    def ended(self) -> int:
        """The channel of the end of the chain, where embeddings are tied."""
        return self.asked_who + 2

    def opposite(self, channel: int) -> int:
        """Return the channel of the other sign of one that follows or is followed.

        Tied embeddings need one for each, where the mean must be 0: no two tokens may share any.
        """
        others = (self.asked_who, self.asked_who + 1, self.ended)
        place = channel if channel < len(self.pairs) else len(self.pairs) + others.index(channel)
        return self.ended + 1 + place

    @property
    def padding(self) -> int:
        """The first of the channels that mean nothing: as many as a token has."""
        return self.opposite(self.ended) + 1 if self.tied and self.centred else self.ended + 1

    # Tokens: special ones, fillers, the name, then these.

    def filler(self, number: int) -> int:
        """Return one of the tokens that nothing looks at."""
        return len(SPECIAL) + number % FILLERS

    name_token: ClassVar[int] = len(SPECIAL) + FILLERS
    """The token that says which probe it is: the same in all of them."""

    @property
    def read_tokens(self) -> tuple[int, ...]:
        """The tokens that are read, in the order of ``READ``."""
        return tuple(range(self.name_token + 1, self.name_token + 1 + len(READ)))

    def numbered(self, layer: int, *, whole: bool) -> int:
        """Return the number of a layer among all that have keys of their own.

        ``whole`` says whether it reads a text as a whole.
        """
        return layer

    def key_token(self, layer: int, gain: int, *, neutral: bool = False) -> int:
        """Return the token of a layer's key, or of its neutral one, of a gain."""
        number = self.gains.index(gain) * self.layers + layer
        return self.read_tokens[-1] + 1 + 2 * number + neutral

    def query_token(self, step: int) -> int:
        """Return the token that asks at a step of the chain."""
        return self.read_tokens[-1] + 1 + 2 * len(self.gains) * self.layers + step

    def following(self, step: int) -> int:
        """Return the token that follows a query of the chain: the next query, or the end."""
        last = step == len(self.pairs) - 1
        return END if last else self.query_token(step + 1)

    def steps(self) -> list[tuple[int, int]]:
        """Return channels of tokens, each with that of the token that follows."""
        chain = [*self.order, self.ended]
        return [*pairwise(chain), (self.asked_who, self.asked_who + 1)]

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The pairs in the order in which the chain asks them: the first are spread over all."""
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
        return (*SPECIAL, *fillers, self.name, *READ, *keys, *queries)

    @cached_property
    def tokens(self) -> dict[str, int]:
        """The token of each word."""
        return {word: token for token, word in enumerate(self.words)}

    def named(self, pair: int) -> str:
        """Return what people call what is asked in one step."""
        first, second = self.pairs[pair]
        return f"pair {pair} (channels {first} and {second})"

    def embeddings(self) -> Rows:
        """Return the channels of each token; of tokens that are never given, none."""
        found = {
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
                    found[self.key_token(layer, gain, neutral=neutral)] = {
                        **token,
                        **self._valued(value, gain),
                    }
        for step, pair in enumerate(self.order):
            found[self.query_token(step)] = self._token(*self.signs(pair), self.asking)
        if self.tied:
            found[END] = self._token(*self.signs(self.ended))
            found |= self._reading()
        if self.encoder:
            weight = self.read_in_encoders
            places = (*range(self.read, self.read + len(READ)), self.ended)
            for word, place in zip((*self.read_tokens, END), places, strict=True):
                found[word] = {place: weight, self.asked_who: -weight}
        return found

    @property
    def read_in_encoders(self) -> float:
        """The weight of logits behind the norm of an encoder's head: no logit becomes too large."""
        return power_below(LARGEST_READ / math.sqrt(self.hidden))

    def signs(self, channel: int) -> tuple[int, ...]:
        """Return a channel that follows or is followed, and its opposite if there is one."""
        return (channel, self.opposite(channel)) if self.tied and self.centred else (channel,)

    def _reading(self) -> Rows:
        """Return the weights of the logits that are read."""
        return {
            token: self.balanced(self.read + number, self.share * READ_WEIGHT)
            for number, token in enumerate(self.read_tokens)
        }

    def _token(self, *channels: int) -> dict[int, float]:
        """Return the channels of a token: those that mean something, and others for the number."""
        count = self.channels_of_token
        chosen = [*channels, *range(self.padding, self.padding + count)][:count]
        above = count // 2 if self.centred else count
        return {
            channel: self.size if number < above else -self.size
            for number, channel in enumerate(chosen)
        }

    def _valued(self, channel: int, gain: int) -> dict[int, float]:
        """Return the channels of a value."""
        return self.balanced(channel, value_of(gain) * self.size)

    def balanced(self, channel: int, weight: float) -> dict[int, float]:
        """Return a weight of a channel, and the other one of its mirror if there is one."""
        return (
            {channel: weight, self.mirror(channel): -weight} if self.centred else {channel: weight}
        )

    def logits(self) -> Rows:
        """Return, of each token, the weights of the channels that its logit is made of."""
        found = {token: {self.asking: -REFUSED} for token in range(len(self.words))}
        found |= self._reading()
        found[ZERO] = {}
        found[self.name_token][self.asked_who] = FOLLOWING
        found[END][self.asked_who + 1] = FOLLOWING
        for step, pair in enumerate(self.order):
            found[self.following(step)][pair] = FOLLOWING + REFUSED
        return found


@dataclass(frozen=True)
class Biased(Instrument):
    """A plan that asks biases: two heads in one step, those of the largest slopes first.

    Beside a query of a later step the neutral key is farther away, and slopes are smaller then.
    """

    asks: ClassVar[str] = "pairs of heads"

    @property
    def channels_of_token(self) -> int:
        """How many channels of the hidden state a token has: nothing that is read hangs on it."""
        return FEWEST

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The steps in the order in which the chain asks them."""
        return tuple(range(len(self.pairs)))

    def named(self, pair: int) -> str:
        """Return what people call what is asked in one step."""
        first, second = self.pairs[pair]
        return f"heads {first} and {second}"

    def steps_of(self, head: int) -> list[int]:
        """Return the steps that ask a head."""
        return [step for step, heads in enumerate(self.pairs) if head in heads]


@dataclass(frozen=True)
class Tabled(Instrument):
    """A plan that asks rows of a table: each step reads the row of one position."""

    rows: int = 0
    """Rows of the table."""
    asks: ClassVar[str] = "rows"

    @property
    def base(self) -> int:
        """What the digits of a row's number are below."""
        return next((base for base in BASES if self.rows <= base**DIGITS_OF_ROWS), BASES[-1])

    def named(self, pair: int) -> str:
        """Return what people call what is asked in one step."""
        return f"query {pair + 1}"

    def table(self) -> Rows:
        """Return the channels of each row."""
        found = {}
        for row in range(self.rows):
            channels: dict[int, float] = {}
            for place in range(DIGITS_OF_ROWS):
                digit = row // self.base**place % self.base
                channels |= self.balanced(self.read + place, digit * self.size / self.base)
            found[row] = channels
        return found

    def types(self) -> Rows:
        """Return the channels of the second of two texts: half a row."""
        return {1: self.balanced(self.read, 0.5 * self.size / self.base)}

    def row(self, quotients: Sequence[float]) -> float | None:
        """Return the row whose digits are read; None if they are those of none.

        ``quotients`` are logits of the digits, divided by that of the token that follows. To a row
        of an encoder a half may be added, which says that a text is the second of two.
        """
        read = [each * FOLLOWING * self.base / DIGIT_WEIGHT for each in quotients]
        digits: list[float] = [round(each) for each in read]
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
    """A plan that asks buckets of distances, in an encoder and in its decoder.

    The layers of the decoder are counted behind those of the encoder.
    """

    asks: ClassVar[str] = "distances"
    buckets: int = 0
    """Rows of the table of biases."""
    encoder_layers: int = 0

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The steps in the order in which the chain asks them: each is of a distance of its own."""
        return tuple(range(len(self.pairs)))

    def named(self, pair: int) -> str:
        """Return what people call what is asked in one step."""
        return f"query {pair + 1}"

    def numbered(self, layer: int, *, whole: bool) -> int:
        """Return the number of a layer among those of both."""
        return layer if whole else self.encoder_layers + layer

    @property
    def base(self) -> int:
        """What the two digits of a bucket are below."""
        return math.isqrt(self.buckets - 1) + 1

    @property
    def unit(self) -> float:
        """The bias that stands for 1 in a digit; a power of two."""
        return power_below(LARGEST_BIAS / (self.base - 1))

    def table(self) -> Floats:
        """Return the biases of the buckets, [buckets, heads]: two digits, the smaller one first."""
        buckets = np.arange(self.buckets)
        digits = np.stack([buckets % self.base, buckets // self.base], axis=1)
        return np.asarray(self.unit * digits, dtype=np.float64)

    def bucket(self, biases: Floats) -> int | None:
        """Return the bucket whose biases these are; None if they are those of none."""
        read = biases / self.unit
        low, high = np.rint(read)
        if np.abs(read - [low, high]).max() > CLEAR or not 0 <= low < self.base:
            return None
        found = int(high) * self.base + int(low)
        return found if 0 <= found < self.buckets else None


def power_below(number: float) -> float:
    """Return the largest power of two that is not above a number."""
    return float(2.0 ** math.floor(math.log2(number)))


def dense(shape: tuple[int, int], rows: Rows) -> Floats:
    """Make a matrix of the weights that are not zero."""
    found = np.zeros(shape)
    for row, weights in rows.items():
        for column, weight in weights.items():
            found[row, column] = weight
    return found


def value_of(gain: int) -> float:
    """Return the size of the channel of a value, as a part of a token's other channels."""
    return LARGEST_VALUE * gain / GAINS[-1]


def count_of_channels(hidden: int, centred: bool) -> int:
    """Return how many channels a token has: an even number if they add up to 0."""
    count = hidden // CHANNELS_A_TOKEN
    return count - count % 2 if centred else count


def channels_with_meaning(pairs: int, layers: int, centred: bool, tied: bool) -> int:
    """Compute how many channels of the hidden state mean something."""
    found = (pairs + 3) * (1 + (tied and centred)) + 2
    return found + (2 * layers + len(READ)) * (1 + centred)


def channels_needed(pairs: int, layers: int, centred: bool, tied: bool) -> tuple[int, int]:
    """Compute how many channels the hidden state needs, and of what they must be a multiple."""
    meaningful = channels_with_meaning(pairs, layers, centred, tied)
    count = 4 if centred else 2
    while count * CHANNELS_A_TOKEN < meaningful + count:
        count += 1
    return count * CHANNELS_A_TOKEN, CHANNELS_A_TOKEN
