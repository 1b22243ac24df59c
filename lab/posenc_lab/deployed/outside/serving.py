"""A small engine that records its requests: chunks, padded batches, reused prefixes."""

import math
from collections.abc import Iterator, Mapping, Sequence
from threading import Lock, local
from typing import Any

import numpy as np

from posenc_lab.deployed.engine import Array, Cache, Config, Engine

Text = Sequence[int]
PAD = 0
"""The token that shorter texts of a request are filled up with."""


class Now(local):
    """What one thread computes at the moment."""

    start = 0
    """Rows of the cache before these tokens."""
    count = 0
    """Tokens that are computed."""
    ends = 0
    """The row at which the prompt ends."""
    reused = 0
    """Tokens of the prompt that were found in a cache."""
    row = 0
    """The number of the text in its request."""
    texts: tuple[Text, ...] = ()
    """All texts of the request; none if it has one text only."""
    other = False
    """Whether something is computed in the other of two ways."""
    calls = 0
    """How often something was computed."""


class Served(Engine):
    """Everything right; what derives from it changes one thing.

    Positions of queries and keys may differ: ``query_places`` and ``key_places`` say where each
    token is turned to.
    """

    def __init__(self, config: Config, weights: Mapping[str, Array], words: Sequence[str]) -> None:
        self.now = Now()
        super().__init__(config, weights, words)

    # Where tokens stand.

    @property
    def cells(self) -> Array:
        """The rows of the cache that these tokens get."""
        return np.arange(self.now.start, self.now.start + self.now.count)

    @property
    def written(self) -> Array:
        """Whether each of these tokens was written by the engine, as 0 or 1."""
        return (self.cells >= self.now.ends).astype(int)

    @property
    def longest(self) -> int:
        """Tokens of the longest text of the request."""
        return max(map(len, self.now.texts), default=0)

    @property
    def text(self) -> Text:
        """The text of a request that is computed; nothing if it is the only one."""
        return self.now.texts[self.now.row] if self.now.texts else ()

    @property
    def ahead(self) -> int:
        """Rows before the text that are not of it."""
        return 0

    def positions(self, start: int, count: int, ends: int) -> Array:
        return np.maximum(np.arange(start, start + count) - self.ahead, 0)

    def query_places(self, where: Array, layer: int) -> Array:
        """Return the positions to which queries are turned."""
        return where

    def key_places(self, where: Array, layer: int) -> Array:
        """Return the positions to which keys are turned."""
        return where

    def turn_query(self, x: Array, positions: Array, layer: int) -> Array:
        turned = self.rotate(x, self.query_places(positions, layer), layer)
        return turned * self.warmth(positions, layer)

    def turn_key(self, x: Array, positions: Array, layer: int) -> Array:
        return self.rotate(x, self.key_places(positions, layer), layer)

    def warmth(self, positions: Array, layer: int) -> Array:
        return super().warmth(np.maximum(positions, 0), layer)

    def attention_factor(self, block: Config) -> float:
        if block.get("attention_factor") is not None:
            return float(block["attention_factor"])
        return super().attention_factor(block)

    def scaling(self, layer: int) -> Config:
        nested = self.config.get("rope_parameters") or {}
        if "full_attention" in nested:
            kind = "full" if self.window(layer) is None else "sliding"
            return dict(nested[f"{kind}_attention"])
        return super().scaling(layer)

    # Requests.

    def forward(self, tokens: Text, cache: Cache, ends: int) -> Array:
        self.now.start, self.now.count, self.now.ends = len(cache.tokens), len(tokens), ends
        return super().forward([*tokens], cache, ends)

    def begin(self, prompt: Text) -> Cache:
        self.now.reused = 0
        return Cache()

    def given(self, prompt: Text, cache: Cache) -> Array:
        """Compute a prompt as far as it is not in the cache; return the logits after it."""
        left, ends = [*prompt][self.now.reused :], len(cache.tokens) + len(prompt) - self.now.reused
        logits = np.zeros(len(self.words))
        while left:
            part, left = left[: self.chunk], left[self.chunk :]
            logits = self.forward(part, cache, ends)
        return logits

    def complete(self, prompt: Text, steps: int) -> Iterator[dict[str, float]]:
        cache = self.begin(prompt)
        logits = self.given(prompt, cache)
        ends = len(cache.tokens)
        for step in range(steps):
            found = chances(logits)
            order = np.argsort(-found, kind="stable")[:10]
            yield {self.words[token]: float(found[token]) for token in order}
            if step + 1 < steps:
                logits = self.forward([int(order[0])], cache, ends)
        self.keep(cache)

    def complete_all(self, prompts: Sequence[Text], steps: int) -> list[list[dict[str, float]]]:
        found = []
        for row, prompt in enumerate(prompts):
            self.now.row, self.now.texts = row, tuple(prompts)
            found.append([*self.complete(prompt, steps)])
        self.now.row, self.now.texts = 0, ()
        return found


def chances(logits: Array) -> Array:
    """Return log-probabilities."""
    shifted = logits.astype(np.float64) - logits.max()
    return np.asarray(shifted - math.log(np.exp(shifted).sum()))


class Slot(Served):
    """Keeps what it computed for the last text, and uses its beginning again."""

    def load(self) -> None:
        self.kept = Cache()
        self.lock = Lock()

    def begin(self, prompt: Text) -> Cache:
        with self.lock:
            self.now.reused = self.usable(same(self.kept.tokens, prompt[:-1]), prompt)
            return self.restored(self.kept.cut(self.now.reused))

    def usable(self, count: int, prompt: Text) -> int:
        """Return how many of the tokens that are the same are used."""
        return count

    def restored(self, cache: Cache) -> Cache:
        """Return a cache as it is used again."""
        return cache

    def keep(self, cache: Cache) -> None:
        with self.lock:
            self.kept = cache


def same(one: Text, other: Text) -> int:
    """Return how many tokens two texts begin alike with."""
    for place, (ours, theirs) in enumerate(zip(one, other, strict=False)):
        if ours != theirs:
            return place
    return min(len(one), len(other))


class Pages(Served):
    """Keeps full pages of all texts, and finds them by all tokens up to their end."""

    page = 16
    """Tokens of a page."""

    def load(self) -> None:
        self.pages: dict[Any, dict[int, tuple[Array, Array]]] = {}
        self.lock = Lock()

    def begin(self, prompt: Text) -> Cache:
        cache = Cache()
        with self.lock:
            for end in range(self.page, len(prompt), self.page):
                found = self.pages.get(self.name_of(prompt, end))
                if found is None:
                    break
                cache.tokens += prompt[end - self.page : end]
                for layer, (keys, values) in found.items():
                    cache.extend(layer, keys, values)
        self.now.reused = len(cache.tokens)
        return self.restored(cache)

    def name_of(self, tokens: Text, end: int) -> Any:
        """Return by what a page is found that ends at a place of a text."""
        return tuple(tokens[:end])

    def restored(self, cache: Cache) -> Cache:
        """Return a cache as it is used again."""
        return cache

    def keep(self, cache: Cache) -> None:
        with self.lock:
            for end in range(self.page, len(cache.tokens) + 1, self.page):
                part = slice(end - self.page, end)
                self.pages[self.name_of(cache.tokens, end)] = {
                    layer: (keys[:, part], cache.values[layer][:, part])
                    for layer, keys in cache.keys.items()
                }


class PaddedLeft(Served):
    """Fills shorter texts of a request up on their left, and hides what it filled them with."""

    @property
    def ahead(self) -> int:
        return self.longest - len(self.text)

    def begin(self, prompt: Text) -> Cache:
        cache = super().begin(prompt)
        if self.ahead:
            self.forward([PAD] * self.ahead, cache, self.longest)
        return cache

    def seen(self, queries: Array, keys: Array, layer: int) -> Array:
        found = super().seen(queries, keys, layer)
        return np.asarray((found & self.real(keys)) | (queries[:, None] == keys))

    def real(self, keys: Array) -> Array:
        """Say which rows of the cache may be seen."""
        return keys >= self.ahead


class PaddedRight(Served):
    """Fills shorter texts of a request up on their right, and writes behind that."""

    @property
    def filled(self) -> int:
        """Rows behind the text that are not of it."""
        return self.longest - len(self.text) if self.text else 0

    def given(self, prompt: Text, cache: Cache) -> Array:
        logits = super().given(prompt, cache)
        if self.filled:
            self.forward([PAD] * self.filled, cache, len(cache.tokens) + self.filled)
        return logits

    def positions(self, start: int, count: int, ends: int) -> Array:
        found = np.arange(start, start + count)
        return found - self.skipped * (found >= self.longest) if self.text else found

    @property
    def skipped(self) -> int:
        """By how many positions what is written stands before its row."""
        return self.filled

    def seen(self, queries: Array, keys: Array, layer: int) -> Array:
        if not self.filled:
            return super().seen(queries, keys, layer)
        places, window = (self.positions(0, len(keys), 0), self.window(layer) or 1 << 30)
        far = places[queries][:, None] - places
        found = (queries[:, None] >= keys) & (far < window) & self.real(keys)
        return np.asarray(found | (queries[:, None] == keys))

    def real(self, keys: Array) -> Array:
        """Say which rows of the cache may be seen."""
        length = len(self.text)
        return (keys < length) | (keys >= length + self.filled)
