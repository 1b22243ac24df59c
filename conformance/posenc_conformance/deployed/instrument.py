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
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

HEADS = 2
"""The first head of a query reads cosines, the second one sines."""
GAINS = (64, 512, 8192, 131072)
"""What the share that a key gets is multiplied by to make a logit of it; each has queries of its
own, because a long text leaves a small share to each key."""
READ_WEIGHT = 1024.0
"""Weight of the logits that are read; a power of two that float16 holds."""
NORMALISED = 8.0
"""About what a norm makes of a token's channels: the square root of CHANNELS_A_TOKEN."""
CHANNELS_A_TOKEN = 64
"""A token has one channel for so many of the hidden state."""
FOLLOWING = 6.0
"""Weight of the token that follows: its logit is 48, above all that is read."""
LARGEST_READ = 40.0
"""Largest logit that is read, below the one of the token that follows."""
REFUSED = 1.0
"""Minus the weight of all other tokens: their logits are -8, below all that is read."""

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
    """Channels of a head that are turned together."""
    hidden: int
    """Channels of the hidden state, a multiple of 64."""
    heads: int
    kv_heads: int
    centred: bool = False
    """Whether norms take the mean away: a token's channels add up to 0 then."""

    @property
    def channels_of_token(self) -> int:
        """How many channels of the hidden state a token has."""
        count = self.hidden // CHANNELS_A_TOKEN
        return count - count % 2 if self.centred else count

    # Channels of the hidden state: one for each pair, then these.

    def asking(self, gain: int) -> int:
        """Return the channel that all queries of a gain have."""
        return len(self.pairs) + GAINS.index(gain)

    @property
    def key(self) -> int:
        """The channel that all keys have that are asked for."""
        return len(self.pairs) + len(GAINS)

    def value(self, layer: int, *, neutral: bool = False) -> int:
        """Return the channel of which a layer makes the value of its key, or of the neutral one."""
        return self.key + 1 + 2 * layer + neutral

    @property
    def read(self) -> int:
        """The first of the channels that hold what keys get."""
        return self.value(self.layers)

    @property
    def mirror(self) -> int:
        """The first of the channels that hold the same with the other sign, for a mean of 0."""
        return self.read + len(READ)

    @property
    def asked_who(self) -> int:
        """The channel of the question who the probe is; the next one is that of the answer."""
        return self.mirror + len(READ)

    @property
    def padding(self) -> int:
        """The first of the channels that mean nothing: as many as a token has."""
        return self.asked_who + 2

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

    def key_token(self, layer: int, *, neutral: bool = False) -> int:
        """Return the token of a layer's key, or of its neutral one."""
        return self.read_tokens[-1] + 1 + 2 * layer + neutral

    def query_token(self, gain: int, step: int) -> int:
        """Return the token that asks at a step of the chain of a gain."""
        return self.key_token(self.layers) + GAINS.index(gain) * len(self.pairs) + step

    def following(self, gain: int, step: int) -> int:
        """Return the token that follows a query of a chain: the next query, or the end."""
        last = step == len(self.pairs) - 1
        return END if last else self.query_token(gain, step + 1)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The pairs in the order in which a chain asks them: the first few are spread over all."""
        bits = (len(self.pairs) - 1).bit_length()
        spread = sorted(range(len(self.pairs)), key=lambda pair: f"{pair:0{bits}b}"[::-1])
        return tuple(spread)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The word of each token."""
        keys = [f"{kind}-{layer}" for layer in range(self.layers) for kind in ("key", "neutral")]
        queries = [f"query-{gain}-{step}" for gain in GAINS for step in range(len(self.pairs))]
        fillers = [f"fill-{number}" for number in range(FILLERS)]
        return (*SPECIAL, *fillers, self.name, *READ, *keys, *queries)

    @cached_property
    def tokens(self) -> dict[str, int]:
        """The token of each word."""
        return {word: token for token, word in enumerate(self.words)}

    def embeddings(self) -> Rows:
        """Return the channels of each token; of tokens that are never given, none."""
        count = self.channels_of_token

        def made(size: float, *channels: int) -> dict[int, float]:
            padding = range(self.padding, self.padding + count)
            chosen = [*channels, *padding][:count]
            below = count // 2 if self.centred else 0
            return {
                channel: size if number < count - below else -size
                for number, channel in enumerate(chosen)
            }

        usual = size_of(GAINS[1])
        found = {
            BEGIN: made(usual),
            **{self.filler(number): made(usual) for number in range(FILLERS)},
            WHO: made(usual, self.asked_who),
            self.name_token: made(usual, self.asked_who + 1),
        }
        for layer in range(self.layers):
            found[self.key_token(layer)] = made(usual, self.key, self.value(layer))
            neutral = self.value(layer, neutral=True)
            found[self.key_token(layer, neutral=True)] = made(usual, neutral)
        for gain in GAINS:
            for step, pair in enumerate(self.order):
                token = self.query_token(gain, step)
                found[token] = made(size_of(gain), pair, self.asking(gain))
        return found

    def logits(self) -> Rows:
        """Return, of each token, the weights of the channels that its logit is made of."""
        refused = {self.asking(gain): -REFUSED for gain in GAINS}
        found = {token: dict(refused) for token in range(len(self.words))}
        for number, token in enumerate(self.read_tokens):
            found[token] = {self.read + number: READ_WEIGHT}
        found[ZERO] = {}
        found[self.name_token][self.asked_who] = FOLLOWING
        found[END] |= {self.asked_who + 1: FOLLOWING, self.order[-1]: FOLLOWING + REFUSED}
        for gain in GAINS:
            others = {self.asking(other): -FOLLOWING - 2 * REFUSED for other in GAINS}
            for step, pair in enumerate(self.order[:-1]):
                found[self.query_token(gain, step + 1)] = {
                    **others,
                    self.asking(gain): -REFUSED,
                    pair: FOLLOWING + REFUSED,
                }
        return found


def size_of(gain: int) -> float:
    """Return the size of a query's channels from which what is read gets a gain.

    The last norm makes queries of all sizes alike, and what attention has added to a small one
    large.
    """
    return READ_WEIGHT * NORMALISED / gain


def channels_needed(pairs: int, layers: int, centred: bool) -> tuple[int, int]:
    """Compute how many channels the hidden state needs, and of what they must be a multiple."""
    meaningful = pairs + len(GAINS) + 1 + 2 * layers + 2 * len(READ) + 2
    count = 4 if centred else 2
    while count * CHANNELS_A_TOKEN < meaningful + count:
        count += 1
    return count * CHANNELS_A_TOKEN, CHANNELS_A_TOKEN
