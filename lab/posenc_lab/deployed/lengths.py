"""Small engines for models whose frequencies depend on the length of the text."""

import math
from collections.abc import Iterator, Sequence
from threading import Lock

import numpy as np

from posenc_lab.deployed.cases import right, wrong
from posenc_lab.deployed.engine import Array, Cache, Engine


@right("dynamic")
@right("longrope")
class ByLength(Engine):
    """Caches unrotated keys, and rotates all of them for the current length of the text."""

    now = 0
    """The length for which queries and keys are rotated."""

    def load(self) -> None:
        self.lock = Lock()

    def complete(self, prompt: Sequence[int], steps: int) -> Iterator[dict[str, float]]:
        with self.lock:
            return iter([*super().complete(prompt, steps)])

    def length(self, text: int, given: int) -> int:
        """Return the length to rotate for: ``text`` tokens now, ``given`` in the prompt."""
        return text

    def forward(self, tokens: Sequence[int], cache: Cache, ends: int) -> Array:
        self.now = self.length(len(cache.tokens) + len(tokens), ends)
        return super().forward(tokens, cache, ends)

    @property
    def original(self) -> int:
        """The longest text that counts as short."""
        whole = self.config["max_position_embeddings"]
        return int(self.scaling(0).get("original_max_position_embeddings", whole))

    def frequencies(self, layer: int) -> tuple[Array, float]:
        block = self.scaling(layer)
        if block["rope_type"] == "longrope":
            name = "long_factor" if self.now > self.original else "short_factor"
            factors = np.array(block[name], dtype=np.float64)
            longer = math.sqrt(1 + math.log(block["factor"]) / math.log(self.original))
            return self.plain(float(block["rope_theta"])) / factors, longer
        grown = max(self.now, self.original) / self.original
        by = block["factor"] * grown - (block["factor"] - 1)
        base = block["rope_theta"] * by ** (self.width / (self.width - 2))
        return self.plain(float(base)), 1.0

    def attention(self, x: Array, layer: int, where: Array, cache: Cache) -> Array:
        start = len(cache.tokens)
        query = self.turn_query(self.projected(x, layer, "q", self.heads), where, layer)
        key, value = (self.projected(x, layer, name, self.kv_heads) for name in "kv")
        keys, values = self.kept(key, value, layer, where, cache)
        scores = self.rounded(query) @ self.spread(keys).transpose(0, 2, 1) * self.scale()
        seen = self.seen(np.arange(start, start + len(x)), np.arange(keys.shape[1]), layer)
        weights = self.softmax(np.where(seen, scores, -np.inf))
        out = self.rounded(weights @ self.spread(values)).transpose(1, 0, 2).reshape(len(x), -1)
        return np.asarray(out @ self.weights[f"model.layers.{layer}.self_attn.o_proj.weight"].T)

    def kept(
        self, key: Array, value: Array, layer: int, where: Array, cache: Cache
    ) -> tuple[Array, Array]:
        """Return all keys, rotated, and all values."""
        bare, values = cache.extend(layer, key, value)
        return self.turn_key(bare, np.arange(bare.shape[1]), layer), values


@right("longrope")
class ByAllowedLength(ByLength):
    """Rotates everything for the final length of the text, prompt and steps, from the start."""

    def complete(self, prompt: Sequence[int], steps: int) -> Iterator[dict[str, float]]:
        self.whole = len(prompt) + steps
        return super().complete(prompt, steps)

    def length(self, text: int, given: int) -> int:
        return max(text, self.whole - 1)


@wrong("dynamic", "cache-not-turned-again")
@wrong("longrope", "cache-not-turned-again")
class CacheAsItWas(ByLength):
    """Caches keys as they were first rotated."""

    def kept(
        self, key: Array, value: Array, layer: int, where: Array, cache: Cache
    ) -> tuple[Array, Array]:
        return cache.extend(layer, self.turn_key(key, where, layer), value)


@wrong("dynamic", "length-of-prompt")
@wrong("longrope", "length-of-prompt")
class DecidedOnce(ByLength):
    """Chooses frequencies by the length of the prompt, and keeps them."""

    def length(self, text: int, given: int) -> int:
        return given


@wrong("dynamic", "length-kept")
@wrong("longrope", "length-kept")
class LongestSoFar(ByLength):
    """Keeps the frequencies of the longest text so far."""

    def length(self, text: int, given: int) -> int:
        return max(text, self.now)


@wrong("dynamic", "scaling-ignored")
@wrong("longrope", "short-list-always")
class NeverLonger(ByLength):
    """Rotates texts of any length like short ones."""

    def length(self, text: int, given: int) -> int:
        return 1


@wrong("longrope", "long-list-always")
class AlwaysLonger(ByLength):
    def length(self, text: int, given: int) -> int:
        return 1 << 20
