"""Mistakes in what an engine writes: the key and the query of each new word."""

import numpy as np

from posenc_lab.deployed.engine import Array, Cache, Config
from posenc_lab.deployed.outside.cases import wrong
from posenc_lab.deployed.outside.serving import Served, Text
from posenc_lab.deployed.wrong import WholeHead

KEYS = r"(?i)keys? .*(writ|decod)|(writ|decod).* keys?"
QUERIES = r"(?i)quer(y|ies).*(writ|decod)|(writ|decod).*quer"
LATER = "written-otherwise"

# Keys that the engine writes.


@wrong("llama", LATER, words=KEYS)
@wrong("mistral", LATER, words=KEYS)
class WrittenKeysUnturned(Served):
    """Does not turn the keys of words that it writes."""

    def key_places(self, where: Array, layer: int) -> Array:
        return np.asarray(where * (1 - self.written))


def written_keys(name: str, about: str, by: int, report: str = "") -> None:
    """List an engine that turns the keys of what it writes to other positions."""

    class Moved(Served):
        def key_places(self, where: Array, layer: int) -> Array:
            return np.asarray(where + by * self.written)

    wrong("llama", LATER, words=KEYS, name=name, about=about, report=report)(Moved)


written_keys(
    "written-keys-one-late",
    "Turns written keys one position too far.",
    1,
    "fla-org/flash-linear-attention#766",
)
written_keys("written-keys-one-early", "Turns written keys one position too short.", -1)
written_keys("written-keys-two-early", "Turns written keys two positions too short.", -2)


@wrong("llama", LATER, words=KEYS)
class WrittenKeysBackwards(Served):
    """Turns the keys of words that it writes the other way."""

    def key_places(self, where: Array, layer: int) -> Array:
        return np.where(self.written, -where, where)


@wrong("llama", LATER, words=KEYS, report="Blaizzy/mlx-vlm#1983")
class WrittenKeysFromZero(Served):
    """Counts the keys of what it writes from 0, and the queries rightly."""

    def key_places(self, where: Array, layer: int) -> Array:
        return np.asarray(where - self.now.ends * self.written)


@wrong(
    "llama",
    LATER,
    words=KEYS,
    report="jundot/omlx#2363",
    unseen="the key is the first word that is written, and right",
)
class WrittenKeysAtTheStart(Served):
    """Turns all written keys to the position at which writing began."""

    def key_places(self, where: Array, layer: int) -> Array:
        return np.minimum(where, self.now.ends)


@wrong("llama", LATER, words=KEYS)
class WrittenKeysTurnedTwice(Served):
    """Turns written keys when they are made, and once more when they are kept."""

    def key_places(self, where: Array, layer: int) -> Array:
        return np.asarray(where * (1 + self.written))


class Later(Served):
    """Reads the configuration otherwise for what is written."""

    def turn_query(self, x: Array, positions: Array, layer: int) -> Array:
        return self.turned(x, positions, layer)

    def turn_key(self, x: Array, positions: Array, layer: int) -> Array:
        return self.turned(x, positions, layer)

    def turned(self, x: Array, positions: Array, layer: int) -> Array:
        """Turn queries or keys, those that are written in another way."""
        right = self.rotate(x, positions, layer)
        self.now.other = True
        other = self.rotate(x, positions, layer)
        self.now.other = False
        return np.asarray(np.where(self.written[:, None], other, right))

    def scaling(self, layer: int) -> Config:
        found = super().scaling(layer)
        return self.other(found) if self.now.other else found

    def other(self, block: Config) -> Config:
        """Return what is read for words that are written."""
        return {**block, "rope_theta": 10000.0}


@wrong("llama", LATER, words=KEYS)
class WrittenKeysOfUsualBase(Later):
    """Turns written keys with base 10,000, and everything else rightly."""

    def turn_query(self, x: Array, positions: Array, layer: int) -> Array:
        return Served.turn_query(self, x, positions, layer)


@wrong("llama", LATER, words=r"(?i)base.*(writ|decod)|(writ|decod).*base")
class WrittenOfUsualBase(Later):
    """Turns written keys and queries with base 10,000, given ones rightly."""


@wrong("llama", "scaling-ignored written-otherwise", words=r"(?i)scaling.*(writ|decod)")
class WrittenUnscaled(Later):
    """Turns written keys and queries without the scaling."""

    def other(self, block: Config) -> Config:
        return {**block, "rope_type": "default"}


@wrong("glm", LATER, words=KEYS)
class WrittenKeysWhole(Served):
    """Turns all channels of written keys, where a part is to be turned."""

    def load(self) -> None:
        self.whole = WholeHead(self.config, self.weights, self.words)

    def turn_key(self, x: Array, positions: Array, layer: int) -> Array:
        right = super().turn_key(x, positions, layer)
        whole = self.whole.rotate(x, positions, layer)
        return np.where(self.written[:, None], whole, right)


@wrong("qwen3", LATER, words=KEYS, report="GaijinEntertainment/daScript#3479")
class WrittenKeysNotLonger(Served):
    """Leaves YaRN's factor out of written keys."""

    def turn_key(self, x: Array, positions: Array, layer: int) -> Array:
        longer = np.where(self.written, self.frequencies(layer)[1], 1)[:, None]
        return super().turn_key(x, positions, layer) / longer


@wrong("llama", LATER, words=KEYS)
class KeysLostAtPages(Served):
    """Writes every 16th key of what it writes to nowhere."""

    def turn_key(self, x: Array, positions: Array, layer: int) -> Array:
        lost = self.written * (self.cells % 16 == 15)
        return np.asarray(super().turn_key(x, positions, layer) * (1 - lost[:, None]))


@wrong("llama", "positions-ahead", words=KEYS, report="microsoft/onnxruntime-genai#2354")
class HoleBehindThePrompt(Served):
    """Leaves one row of the cache empty behind the prompt, and counts on from behind it."""

    def given(self, prompt: Text, cache: Cache) -> Array:
        logits = super().given(prompt, cache)
        for layer, keys in cache.keys.items():
            empty = np.zeros_like(keys[:, :1])
            cache.extend(layer, empty, empty)
        cache.tokens.append(0)
        return logits


@wrong(
    "llama",
    "positions-ahead written-otherwise",
    words=r"(?i)one too (large|far)",
    report="skyzh/tiny-llm#46",
)
class JumpsAtTheFirstWord(Served):
    """Counts the length of the prompt twice once it writes."""

    def positions(self, start: int, count: int, ends: int) -> Array:
        found = np.arange(start, start + count)
        return np.where(found > ends, found + ends, found)


def drifts(by: int) -> type[Served]:
    """Move positions by ``by`` more after each 8th token that is written."""

    class Drifts(Served):
        def positions(self, start: int, count: int, ends: int) -> Array:
            found = np.arange(start, start + count)
            return np.asarray(found + by * (np.maximum(found - ends + 1, 0) // 8))

    return Drifts


for by, name, about in (
    (1, "skips-one-of-eight", "Skips a position after each 8th word that it writes."),
    (-1, "repeats-one-of-eight", "Repeats a position after each 8th word that it writes."),
):
    wrong("llama-far", LATER, words=r"(?i)writ|decod", name=name, about=about)(drifts(by))


# Queries that the engine writes.


@wrong("llama", LATER, words=QUERIES)
class WrittenQueriesUnturned(Served):
    """Does not turn the queries of words that it writes."""

    def query_places(self, where: Array, layer: int) -> Array:
        return np.asarray(where * (1 - self.written))


@wrong("llama", "positions-ahead", words=QUERIES, report="ml-explore/mlx-lm#1805")
@wrong("mistral", "positions-ahead", words=QUERIES, report="ml-explore/mlx-lm#1805")
class WrittenQueriesOneLate(Served):
    """Reads the position of a query after the cache has counted it."""

    def query_places(self, where: Array, layer: int) -> Array:
        return where + self.written


@wrong("llama", "positions-stand-still", words=QUERIES, report="flashinfer-ai/flashinfer#847")
class WrittenQueriesOfThePrompt(Served):
    """Turns written queries to the last position of the prompt."""

    def query_places(self, where: Array, layer: int) -> Array:
        return np.minimum(where, self.now.ends - 1)


@wrong(
    "llama-deep",
    "positions-ahead layers-mistaken",
    words=r"(?i)layers? .*(one|ahead)",
    report="fla-org/flash-linear-attention#766",
)
class UpperLayersAhead(Served):
    """Counts one too many in all layers but the first once it writes."""

    def positions(self, start: int, count: int, ends: int) -> Array:
        return super().positions(start, count, ends)

    def query_places(self, where: Array, layer: int) -> Array:
        return np.asarray(where + self.written * (layer > 0))

    def key_places(self, where: Array, layer: int) -> Array:
        return np.asarray(where + self.written * (layer > 0))


# Attention of what is written.


@wrong("llama", f"{LATER} keys-miscounted", words=KEYS, report="thu-nics/C2C#19")
class SeesNotItself(Served):
    """Hides the key of a word from its own query once it writes."""

    def seen(self, queries: Array, keys: Array, layer: int) -> Array:
        found = super().seen(queries, keys, layer)
        itself = (queries[:, None] == keys) & (queries[:, None] >= self.now.ends)
        return np.asarray(found & ~itself)


@wrong(
    "llama",
    f"{LATER} keys-miscounted",
    words=r"(?i)(middle|sees|drop|evict)",
    report="rajveer43/VeloxQuant-MLX#389",
)
class ForgetsTheMiddle(Served):
    """Sees the first 4 tokens and the last 256 once it writes."""

    def seen(self, queries: Array, keys: Array, layer: int) -> Array:
        found = super().seen(queries, keys, layer)
        near = queries[:, None] - keys < 256
        return np.asarray(found & (near | (keys < 4) | (queries[:, None] < self.now.ends)))


@wrong("llama", f"{LATER} keys-miscounted", words=r"(?i)(middle|sees|drop|evict)")
class SeesNotWhatItWrote(Served):
    """Shows to a written query the prompt and itself, and no other written word."""

    def seen(self, queries: Array, keys: Array, layer: int) -> Array:
        found = super().seen(queries, keys, layer)
        itself = queries[:, None] == keys
        return np.asarray(found & ((keys < self.now.ends) | itself))


@wrong("gemma2", LATER, words=r"(?i)cap", report="vllm-project/vllm-metal#665")
class WrittenUncapped(Served):
    """Caps no scores once it writes."""

    def capped(self, x: Array, cap: float | None) -> Array:
        late = self.now.start >= self.now.ends and x.ndim == 3
        return super().capped(x, None if late else cap)


@wrong("gpt_oss", LATER, words=r"(?i)sinks?", report="vllm-project/vllm-metal#550")
class SinksWhileReadingOnly(Served):
    """Leaves the sinks out once it writes."""

    def shares(self, scores: Array, layer: int) -> Array:
        late = self.now.start >= self.now.ends
        return self.softmax(scores) if late else super().shares(scores, layer)


@wrong("gemma3_text", LATER, words=r"(?i)scale|multiplied")
class WrittenOfAnotherScale(Served):
    """Scales written scores by the root of head_dim, whatever the configuration says."""

    def scale(self) -> float:
        late = self.now.start >= self.now.ends
        return float(self.size**-0.5) if late else super().scale()
