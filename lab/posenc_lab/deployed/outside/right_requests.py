"""Right engines that keep, fill up and go on in other ways: chunks, caches, batches, drafts."""

import math
from collections.abc import Iterator, Sequence

import ml_dtypes
import numpy as np

from posenc_lab.deployed.caches import symmetric
from posenc_lab.deployed.encoders import Encoder
from posenc_lab.deployed.engine import Array, Cache
from posenc_lab.deployed.older import Older
from posenc_lab.deployed.outside.biases import Biased
from posenc_lab.deployed.outside.cases import FAR, right
from posenc_lab.deployed.outside.reuse import Moves
from posenc_lab.deployed.outside.serving import PaddedLeft, PaddedRight, Pages, Served, Slot, Text
from posenc_lab.deployed.outside.tables import Rows

Answers = list[list[dict[str, float]]]

# Chunks.


def in_chunks(size: int, config: str, context: int) -> None:
    """List an engine that computes a prompt in parts."""

    class Chunked(Served):
        chunk = size

    name, about = f"chunks-of-{size}", f"Computes a prompt in parts of {size} tokens."
    right(config, name=name, about=about, context=context)(Chunked)


in_chunks(128, "llama-far", 1024)
in_chunks(511, "llama-far", FAR)
in_chunks(512, "llama-far", FAR)
in_chunks(128, "mistral-deep", 1024)
in_chunks(100, "gemma3_text", 1024)
in_chunks(96, "llama4_text", 1024)
in_chunks(1, "llama", 512)


# Caches.


right("llama")(Slot)
right("mistral")(Slot)
right("gemma2")(Slot)
right("llama", name="pages-of-16")(Pages)
right("mistral", name="pages-of-16")(Pages)


@right("llama")
class PagesOfSixtyFour(Pages):
    """Keeps pages of 64."""

    page = 64


@right(
    "llama",
    report="ggml-org/llama.cpp#12253",
    doubt="its keys saw what was dropped, as llama.cpp's do",
)
class MovesKeys(Moves):
    """Moves keys when a part before them is dropped from a text, and turns them again."""


@right("llama")
class WholeTextsKept(Slot):
    """Keeps whole texts, and uses one again only if all of it comes again."""

    def usable(self, count: int, prompt: Text) -> int:
        return count if count == len(self.kept.tokens) else 0


class Static(Served):
    """Has a cache of a fixed length, and hides the rows that are not written yet."""

    length = 1200

    def attention(self, x: Array, layer: int, where: Array, cache: Cache) -> Array:
        start = len(cache.tokens)
        query = self.turn_query(self.projected(x, layer, "q", self.heads), where, layer)
        key = self.turn_key(self.projected(x, layer, "k", self.kv_heads), where, layer)
        value = self.projected(x, layer, "v", self.kv_heads)
        for kept, new in ((cache.keys, self.rounded(key)), (cache.values, value)):
            if layer not in kept:
                kept[layer] = np.full((self.kv_heads, self.length, self.size), 7, np.float32)
            kept[layer][:, start : start + len(x)] = new
        scores = query @ self.spread(cache.keys[layer]).transpose(0, 2, 1) * self.scale()
        seen = self.seen(np.arange(start, start + len(x)), np.arange(self.length), layer)
        weights = self.shares(np.where(seen, scores, -np.inf), layer)
        out = (weights @ self.spread(cache.values[layer])).transpose(1, 0, 2).reshape(len(x), -1)
        return np.asarray(out @ self.weights[f"model.layers.{layer}.self_attn.o_proj.weight"].T)


right("llama")(Static)
right("mistral")(Static)


@right("mistral", report="ollama/ollama#14912")
class Ring(Served):
    """Keeps as many rows as the window has, and writes over the oldest one; reads word by word."""

    chunk = 1

    def attention(self, x: Array, layer: int, where: Array, cache: Cache) -> Array:
        window, row = int(self.config["sliding_window"]), len(cache.tokens)
        query = self.turn_query(self.projected(x, layer, "q", self.heads), where, layer)
        key = self.turn_key(self.projected(x, layer, "k", self.kv_heads), where, layer)
        value = self.projected(x, layer, "v", self.kv_heads)
        for kept, new in ((cache.keys, self.rounded(key)), (cache.values, value)):
            if row < window:
                old = kept.get(layer, new[:, :0])
                kept[layer] = np.concatenate([old, new], axis=1)
            else:
                kept[layer][:, row % window] = new[:, 0]
        scores = query @ self.spread(cache.keys[layer]).transpose(0, 2, 1) * self.scale()
        weights = self.softmax(scores)
        out = (weights @ self.spread(cache.values[layer])).transpose(1, 0, 2).reshape(len(x), -1)
        return np.asarray(out @ self.weights[f"model.layers.{layer}.self_attn.o_proj.weight"].T)


@right("llama", dtype="float16", cache="int8")
@right("qwen2", dtype="float16", cache="int8")
class EightOfKeysAlone(Served):
    """Keeps keys in 8 bits, and values in float16."""

    def turn_key(self, x: Array, positions: Array, layer: int) -> Array:
        return symmetric(super().turn_key(x, positions, layer), 127)


@right("llama", dtype="float16", cache="int8")
class EightOfSlot(Slot):
    """Keeps keys and values in 8 bits, and uses them again."""

    def shortened(self, x: Array) -> Array:
        return symmetric(x, 127)


@right("llama", dtype="bfloat16", cache="float8_e4m3")
class ShortEightOfPages(Pages):
    """Keeps pages in float8."""

    def shortened(self, x: Array) -> Array:
        return np.asarray(x.astype(ml_dtypes.float8_e4m3fn).astype(np.float32))


@right("llama", dtype="bfloat16", cache="float8_e5m2")
class ShorterEightOfStatic(Served):
    """Keeps keys and values in the other float8."""

    def shortened(self, x: Array) -> Array:
        return np.asarray(x.astype(ml_dtypes.float8_e5m2).astype(np.float32))


# Batches.


right("llama")(PaddedLeft)
right("mistral")(PaddedLeft)
right("llama")(PaddedRight)
right("mistral")(PaddedRight)


@right("llama", doubt="a rotation sees differences only: padding that is counted alike is right")
class PaddingCountedAlike(PaddedLeft):
    """Counts padding on the left in keys and queries alike."""

    def positions(self, start: int, count: int, ends: int) -> Array:
        return np.arange(start, start + count)


@right("llama")
@right("qwen3")
class LongestFirst(Served):
    """Computes the longest text of a request first, and gives the answers as they were asked."""

    def complete_all(self, prompts: Sequence[Text], steps: int) -> Answers:
        order = sorted(range(len(prompts)), key=lambda each: -len(prompts[each]))
        found = super().complete_all([prompts[each] for each in order], steps)
        return [found[order.index(each)] for each in range(len(prompts))]


class PaddedOlder(Older, PaddedLeft):
    """Fills texts up on their left, hides it, and counts biases or rows without it."""

    def keys(self, where: Array, count: int) -> Array:
        return np.arange(count) - self.ahead

    def rows(self, where: Array) -> Array:
        return super().rows(np.maximum(where, 0))


right("bloom")(PaddedOlder)
right("gpt2")(PaddedOlder)
right("bloom", name="plain-biased")(Biased)
right("gpt2", name="plain-rows")(Rows)


@right("modernbert")
@right("bert")
class FilledAndHidden(Encoder):
    """Fills shorter texts of a request up on their right, and hides what it filled them with."""

    hidden = 0

    def say(self, texts: Sequence[Sequence[int]], places: Sequence[Sequence[int]]) -> Answers:
        longest, found = max(map(len, texts)), []
        for text, asked in zip(texts, places, strict=True):
            self.hidden = len(text)
            filled = [*text, *[0] * (longest - len(text))]
            found += super().say([filled], [asked])
        self.hidden = 0
        return found

    def seen(self, queries: Array, keys: Array, layer: int) -> Array:
        found = super().seen(queries, keys, layer)
        return np.asarray(
            found & ((keys < (self.hidden or len(keys))) | (queries[:, None] == keys))
        )


# Words that are written.


@right("llama")
@right("mistral")
class Drafts(Served):
    """Tries three words at once, keeps those that are the likeliest, and drops the rest."""

    def complete(self, prompt: Text, steps: int) -> Iterator[dict[str, float]]:
        cache = self.begin(prompt)
        logits = self.given(prompt, cache)
        ends, made = len(cache.tokens), 0
        while True:
            found = self.likeliest(logits)
            yield found
            made += 1
            if made == steps:
                break
            word, length = self.words.index(next(iter(found))), len(cache.tokens)
            self.forward([word, word, word], cache, ends)  # two of them are guesses
            cut = cache.cut(length)
            cache.tokens, cache.keys, cache.values = cut.tokens, cut.keys, cut.values
            logits = self.forward([word], cache, ends)
        self.keep(cache)

    def likeliest(self, logits: Array) -> dict[str, float]:
        """Return log-probabilities of the likeliest words."""
        shifted = logits.astype(np.float64) - logits.max()
        found = shifted - math.log(np.exp(shifted).sum())
        order = np.argsort(-found, kind="stable")[:10]
        return {self.words[token]: float(found[token]) for token in order}


@right("llama")
@right("qwen3")
class ComputesAllAnew(Served):
    """Has no cache: computes the whole text for each word."""

    def complete(self, prompt: Text, steps: int) -> Iterator[dict[str, float]]:
        text = [*prompt]
        for _ in range(steps):
            (found,) = super().complete(text, 1)
            yield found
            text.append(self.words.index(next(iter(found))))
