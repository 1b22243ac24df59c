"""Mistakes in what is used again: prefixes of earlier texts, and earlier turns."""

from typing import Any

import numpy as np

from posenc_lab.deployed.engine import Array, Cache
from posenc_lab.deployed.outside.cases import wrong
from posenc_lab.deployed.outside.serving import Pages, Slot, Text, same

AGAIN = "changes-when-repeated"
REUSED = r"(?i)(again|earlier|another|reus|prefix|cache|turn)"


class TurnsKept(Slot):
    """Turns the keys that it uses again by some positions more."""

    by = 0
    """Positions; the whole place of each key if it is 0."""

    def restored(self, cache: Cache) -> Cache:
        for layer, keys in cache.keys.items():
            count = keys.shape[1]
            places = np.full(count, self.by) if self.by else np.arange(count)
            cache.keys[layer] = self.rotate(keys, places, layer)
        return cache


@wrong("llama", AGAIN, words=REUSED)
@wrong("mistral", AGAIN, words=REUSED)
class KeptKeysTurnedTwice(TurnsKept):
    """Turns the keys of a reused prefix once more to their places."""


@wrong("llama", AGAIN, words=REUSED, report="waybarrios/vllm-mlx#311")
class KeptKeysOneAhead(TurnsKept):
    """Turns the keys of a reused prefix one position farther."""

    by = 1


@wrong("llama", AGAIN, words=REUSED)
class KeptKeysSixteenBehind(TurnsKept):
    """Turns the keys of a reused prefix back by a page."""

    by = -16


class Behind(Slot):
    """Counts what comes behind a reused prefix from another place."""

    def positions(self, start: int, count: int, ends: int) -> Array:
        found = np.arange(start, start + count)
        return self.other(found, self.now.reused) if self.now.reused else found

    def other(self, found: Array, reused: int) -> Array:
        """Return the positions of tokens behind a reused prefix."""
        return found


@wrong("llama", AGAIN, words=REUSED, report="vllm-project/vllm-metal#144")
@wrong("mistral", AGAIN, words=REUSED, report="vllm-project/vllm-metal#144")
class RestartsBehindPrefix(Behind):
    """Counts from 0 behind a reused prefix."""

    def other(self, found: Array, reused: int) -> Array:
        return found - reused


@wrong("llama", AGAIN, words=REUSED, report="tenstorrent/vllm#415")
class QueriesRestartBehindPrefix(Slot):
    """Counts given queries from 0 behind a reused prefix, and keys rightly."""

    def query_places(self, where: Array, layer: int) -> Array:
        return np.asarray(where - self.now.reused * (1 - self.written))


@wrong("llama", AGAIN, words=REUSED, report="waybarrios/vllm-mlx#311")
class OneShortBehindPrefix(Behind):
    """Counts a reused prefix as one token shorter than it is."""

    def other(self, found: Array, reused: int) -> Array:
        return found - 1


@wrong("llama", AGAIN, words=REUSED)
class OneLongBehindPrefix(Behind):
    """Counts a reused prefix as one token longer than it is."""

    def other(self, found: Array, reused: int) -> Array:
        return found + 1


@wrong("llama", AGAIN, words=REUSED)
class PagesRoundedUp(Behind):
    """Counts on from the next full page of 16 behind a reused prefix."""

    def other(self, found: Array, reused: int) -> Array:
        return found + (-reused % 16)


@wrong("llama", AGAIN, words=REUSED, report="waybarrios/vllm-mlx#311")
class GapBehindPrefix(Slot):
    """Keeps a prefix without its last token, and computes what comes behind that token."""

    def restored(self, cache: Cache) -> Cache:
        return cache.cut(max(0, self.now.reused - 1))


@wrong("llama", AGAIN, words=REUSED)
class LastTokenTwice(Slot):
    """Computes the last token of a reused prefix again, and keeps both rows."""

    def usable(self, count: int, prompt: Text) -> int:
        return count

    def begin(self, prompt: Text) -> Cache:
        cache = super().begin(prompt)
        self.now.reused = max(0, self.now.reused - 1)
        return cache


@wrong("llama", AGAIN, words=REUSED, report="nicedreamzapp/claude-code-local#47")
class TailNotCut(Slot):
    """Puts a new text behind all of the last one, from where the two begin to differ."""

    def begin(self, prompt: Text) -> Cache:
        with self.lock:
            self.now.reused = same(self.kept.tokens, prompt[:-1])
            return self.kept.cut(len(self.kept.tokens) if self.now.reused else 0)


@wrong("llama", AGAIN, words=REUSED)
class OneTokenTooMany(Slot):
    """Takes the first token that differs for one that is the same."""

    def usable(self, count: int, prompt: Text) -> int:
        more = 0 < count < min(len(self.kept.tokens), len(prompt) - 1)
        return count + more


@wrong("llama", AGAIN, words=REUSED)
class LengthsCompared(Slot):
    """Uses all of the last text again if the new one is longer and begins alike."""

    def usable(self, count: int, prompt: Text) -> int:
        return min(len(self.kept.tokens), len(prompt) - 1) if count > 16 else 0


@wrong("llama", AGAIN, words=REUSED, report="vllm-project/vllm#8229")
class PagesByTheirTokens(Pages):
    """Finds a page by its own tokens, wherever it stands and whatever comes before."""

    def name_of(self, tokens: Text, end: int) -> Any:
        return tuple(tokens[end - self.page : end])


@wrong(
    "llama",
    AGAIN,
    words=REUSED,
    report="waybarrios/vllm-mlx#444",
    unseen="no two texts of a run have the same bits in all their tokens up to a key",
)
class PagesByShortHash(Pages):
    """Finds a page by the lowest four bits of its tokens."""

    def name_of(self, tokens: Text, end: int) -> Any:
        return tuple(token & 15 for token in tokens[:end])


@wrong("llama", AGAIN, words=REUSED, report="openvinotoolkit/openvino.genai#3722")
class PagesBySum(Pages):
    """Finds a page by the sum of all tokens up to its end."""

    def name_of(self, tokens: Text, end: int) -> Any:
        return end, sum(tokens[:end])


@wrong("llama", AGAIN, words=REUSED, report="ovg-project/kvcached#451")
class PagesByTheirFirstToken(Pages):
    """Finds a page by its place and the first token of it."""

    def name_of(self, tokens: Text, end: int) -> Any:
        return end, tokens[end - self.page], tuple(tokens[: end - self.page])


@wrong("llama", AGAIN, words=REUSED)
class PagesByPlace(Pages):
    """Finds the first page by its place alone."""

    page = 64

    def name_of(self, tokens: Text, end: int) -> Any:
        return tuple(tokens[self.page : end]), end


@wrong(
    "llama",
    AGAIN,
    words=REUSED,
    unseen="keys keep their rotations, and attention does not depend on the order of rows",
)
class PagesInTheOtherOrder(Pages):
    """Puts reused pages into the cache from the last one to the first."""

    def restored(self, cache: Cache) -> Cache:
        for kept in (cache.keys, cache.values):
            for layer, rows in kept.items():
                heads, count, size = rows.shape
                pages = rows.reshape(heads, count // self.page, self.page, size)
                kept[layer] = pages[:, ::-1].reshape(rows.shape)
        return cache


@wrong("llama-deep", AGAIN, words=REUSED, report="ovg-project/kvcached#362")
class OneLayerStale(Slot):
    """Keeps in layer 3 the keys of the text before the last one."""

    def load(self) -> None:
        super().load()
        self.older = Cache()

    def restored(self, cache: Cache) -> Cache:
        old = self.older.keys.get(3)
        if old is not None and 3 in cache.keys and old.shape[1] >= self.now.reused > 0:
            cache.keys[3] = old[:, : self.now.reused].copy()
        return cache

    def keep(self, cache: Cache) -> None:
        with self.lock:
            self.older, self.kept = self.kept, cache


# Earlier turns of a conversation.


class Turns(Slot):
    """Treats what it wrote in an earlier turn otherwise when the conversation goes on."""

    def load(self) -> None:
        super().load()
        self.prompt_ends = 0

    def keep(self, cache: Cache) -> None:
        self.prompt_ends = self.now.ends
        super().keep(self.kept_as(cache))

    def kept_as(self, cache: Cache) -> Cache:
        """Return what is kept of a text."""
        return cache

    def written_rows(self, count: int) -> Array:
        """Return which of ``count`` reused rows the engine generated, as 0 or 1."""
        return (np.arange(count) >= self.prompt_ends).astype(int)


@wrong("llama", AGAIN, words=REUSED, report="ikawrakow/ik_llama.cpp#1661")
class LastWordNeverComputed(Turns):
    """Takes the last word that it wrote for one that is in the cache: the row is of no key."""

    def restored(self, cache: Cache) -> Cache:
        if len(cache.tokens) > self.prompt_ends > 0:
            for kept in (cache.keys, cache.values):
                for layer, rows in kept.items():
                    kept[layer] = np.concatenate([rows[:, :-1], 0 * rows[:, -1:]], axis=1)
        return cache


@wrong("llama", AGAIN, words=REUSED, report="nntrainer/nntrainer#3814")
class TurnsStartAtZero(Turns):
    """Turns the keys that it wrote as if its answer had begun at 0, once they are reused."""

    def restored(self, cache: Cache) -> Cache:
        back = -self.prompt_ends * self.written_rows(len(cache.tokens))
        for layer, keys in cache.keys.items():
            cache.keys[layer] = self.rotate(keys, back, layer)
        return cache


@wrong("llama", AGAIN, words=REUSED)
class WrittenKeysKeptUnturned(Turns):
    """Keeps the keys that it wrote before they are turned, and uses them so later."""

    def restored(self, cache: Cache) -> Cache:
        count = len(cache.tokens)
        back = -np.arange(count) * self.written_rows(count)
        for layer, keys in cache.keys.items():
            cache.keys[layer] = self.rotate(keys, back, layer)
        return cache


@wrong("llama", AGAIN, words=REUSED, report="tenstorrent/tt-inference-server#3968")
class RewindsOneRowTooFar(Turns):
    """Begins a second turn one position before the end of the first one."""

    def positions(self, start: int, count: int, ends: int) -> Array:
        found = np.arange(start, start + count)
        return found - (0 < self.prompt_ends < self.now.reused)


@wrong("llama", AGAIN, words=REUSED, report="tenstorrent/tt-inference-server#3826")
class ThoughtsCounted(Turns):
    """Counts 8 words of an answer that are no longer there in the second turn."""

    def positions(self, start: int, count: int, ends: int) -> Array:
        found = np.arange(start, start + count)
        return found + 8 * (0 < self.prompt_ends < self.now.reused)


class Moves(Slot):
    """Uses what comes later in the last text again if a part before it was dropped."""

    LEAST = 64
    """Tokens that must be the same."""

    def begin(self, prompt: Text) -> Cache:
        with self.lock:
            first = same(self.kept.tokens, prompt[:-1])
            cache, by = self.kept.cut(first), self.dropped(prompt, first)
            if by:
                self.move(cache, first, by, prompt)
            self.now.reused = len(cache.tokens)
            return cache

    def dropped(self, prompt: Text, first: int) -> int:
        """Return how many tokens of the last text are missing in the new one."""
        kept = self.kept.tokens
        for by in range(1, len(kept) - first - self.LEAST):
            if same(kept[first + by :], prompt[first:-1]) >= self.LEAST:
                return by
        return 0

    def move(self, cache: Cache, first: int, by: int, prompt: Text) -> None:
        """Add what follows the dropped part."""
        count = same(self.kept.tokens[first + by :], prompt[first:-1])
        rows = slice(first + by, first + by + count)
        cache.tokens += self.kept.tokens[rows]
        for layer in self.kept.keys:
            keys = self.kept.keys[layer][:, rows]
            cache.extend(layer, self.moved(keys, by, layer), self.kept.values[layer][:, rows])

    def moved(self, keys: Array, by: int, layer: int) -> Array:
        """Return keys rotated ``by`` positions towards the beginning."""
        return self.rotate(keys, np.full(keys.shape[1], -by), layer)


@wrong("llama", AGAIN, words=REUSED, report="ggml-org/llama.cpp#4097")
class MovedKeysStay(Moves):
    """Lets keys stay where they were when a part before them is dropped from the text."""

    def moved(self, keys: Array, by: int, layer: int) -> Array:
        return keys


@wrong("llama", AGAIN, words=REUSED)
class MovedKeysTheOtherWay(Moves):
    """Turns keys farther, not back, when a part before them is dropped from the text."""

    def moved(self, keys: Array, by: int, layer: int) -> Array:
        return super().moved(keys, -by, layer)
