"""Mistakes in the chunks of a long prompt."""

import numpy as np

from posenc_lab.deployed.engine import Array, Cache
from posenc_lab.deployed.outside.cases import CONTEXT, FAR, wrong
from posenc_lab.deployed.outside.serving import Served, Text

CHUNK = r"(?i)chunk|anew|part of (a|the) prompt|every [\d,]+"
GIVEN = "given-otherwise keys-misplaced"
MISPLACED = "keys-misplaced"
LAST_ONLY = "only the last query of a prompt answers, and it is the last of its chunk"
KEYS = r"(?i)keys?.*(chunk|every|beyond|from|anew)"


class InChunks(Served):
    """Computes a prompt in parts of the same size, the last one of what is left."""

    chunk = 128

    @property
    def given_rows(self) -> Array:
        """Whether each of these tokens is of the prompt, as 0 or 1."""
        return 1 - self.written

    @property
    def part(self) -> int:
        """The number of the chunk."""
        return self.now.start // self.chunk


def keys_restart(size: int, context: int) -> None:
    """List an engine whose keys begin at 0 in each chunk."""

    class Restart(InChunks):
        chunk = size

        def key_places(self, where: Array, layer: int) -> Array:
            return np.asarray(where - self.now.start * self.given_rows)

    name, about = f"keys-restart-every-{size}", f"Counts keys from 0 in each chunk of {size}."
    wrong(
        "llama-far",
        f"chunks-restart {MISPLACED}",
        words=KEYS,
        name=name,
        about=about,
        report="Blaizzy/mlx-vlm#1755",
        context=context,
    )(Restart)


for size, context in ((128, CONTEXT), (512, CONTEXT), (511, CONTEXT), (1024, FAR), (2048, FAR)):
    keys_restart(size, context)


def both_restart(size: int, context: int) -> None:
    """List an engine whose keys and queries begin at 0 in each chunk."""

    class Restart(InChunks):
        chunk = size

        def positions(self, start: int, count: int, ends: int) -> Array:
            return np.arange(count) + (start if start >= ends else 0)

    name, about = f"chunks-of-{size}-restart", f"Counts from 0 in each chunk of {size}."
    wrong(
        "llama-far",
        f"chunks-restart {GIVEN}",
        words=CHUNK,
        name=name,
        about=about,
        report="Blaizzy/mlx-vlm#1741",
        context=context,
    )(Restart)


for size, context in ((96, CONTEXT), (500, CONTEXT), (1024, FAR)):
    both_restart(size, context)


@wrong("llama-far", f"chunks-restart {GIVEN}", words=CHUNK, report="mlx-node/mlx-node#33")
class ChunksCountedTwice(InChunks):
    """Adds the tokens of earlier chunks to an offset that has them already."""

    chunk = 256

    def positions(self, start: int, count: int, ends: int) -> Array:
        found = np.arange(start, start + count)
        return found + start * (found < ends)


@wrong("llama-far", GIVEN, words=CHUNK)
class ChunksOneAhead(InChunks):
    """Begins each chunk behind the first one position too late."""

    chunk = 256

    def positions(self, start: int, count: int, ends: int) -> Array:
        found = np.arange(start, start + count)
        return found + self.part * (found < ends)


@wrong("llama-far", GIVEN, words=CHUNK)
class ChunksOneBehind(InChunks):
    """Begins each chunk at the last position of the one before."""

    chunk = 256

    def positions(self, start: int, count: int, ends: int) -> Array:
        found = np.arange(start, start + count)
        return found - self.part * (found < ends)


@wrong("llama-far", MISPLACED, words=KEYS)
class KeysOneAheadInChunks(InChunks):
    """Turns keys of all chunks but the first one position too far."""

    chunk = 512

    def key_places(self, where: Array, layer: int) -> Array:
        return np.asarray(where + self.given_rows * (self.now.start > 0))


@wrong("llama-far", MISPLACED, words=KEYS, context=FAR)
class ThirdChunkAsSecond(InChunks):
    """Counts chunks up to two: the third one begins where the second one did."""

    chunk = 512

    def key_places(self, where: Array, layer: int) -> Array:
        return np.asarray(where - 512 * self.given_rows * max(0, self.part - 1))


@wrong("llama-far", "written-otherwise", words=CHUNK)
class LastChunkAsFull(InChunks):
    """Counts the last chunk as one of full size: what is written stands too far behind."""

    chunk = 256

    def positions(self, start: int, count: int, ends: int) -> Array:
        found = np.arange(start, start + count)
        return found + (-ends % self.chunk) * (found >= ends)


@wrong("llama-far", MISPLACED, words=KEYS)
class LastChunkFromItsEnd(InChunks):
    """Counts the keys of the last chunk so that a full one would end where it ends."""

    chunk = 256

    def key_places(self, where: Array, layer: int) -> Array:
        short = self.chunk - self.now.count
        return np.asarray(where - short * self.given_rows * (self.now.start > 0))


@wrong("llama-far", MISPLACED, words=CHUNK, report="tinygrad/tinygrad#15182")
class ChunksExchanged(InChunks):
    """Computes the second chunk of a prompt before the first one."""

    chunk = 256

    def given(self, prompt: Text, cache: Cache) -> Array:
        first, second = prompt[: self.chunk], prompt[self.chunk : 2 * self.chunk]
        full = len(prompt) > 2 * self.chunk
        rest = prompt[2 * self.chunk :]
        return super().given([*second, *first, *rest] if full else prompt, cache)


@wrong("llama-far", f"{GIVEN} key-not-seen", words=CHUNK, report="GeeeekExplorer/nano-vllm#218")
class ChunksAlone(InChunks):
    """Shows to the tokens of a chunk that chunk alone, and all to what is written."""

    chunk = 256

    def seen(self, queries: Array, keys: Array, layer: int) -> Array:
        found = super().seen(queries, keys, layer)
        late = queries[:, None] >= self.now.ends
        return np.asarray(found & (late | (keys >= self.now.start)))


@wrong("llama-far", f"{MISPLACED} keys-lost", words=CHUNK)
class LastRowOfChunksLost(InChunks):
    """Writes the last key of each chunk to nowhere."""

    chunk = 128

    def turn_key(self, x: Array, positions: Array, layer: int) -> Array:
        lost = self.given_rows * (self.cells % self.chunk == self.chunk - 1)
        return np.asarray(super().turn_key(x, positions, layer) * (1 - lost[:, None]))


@wrong("mistral", "window-off given-otherwise", words=r"(?i)window", report="lablup/mlxcel#413")
class WindowWithinChunks(InChunks):
    """Lets the window of a query reach back to the beginning of its chunk and no farther."""

    chunk = 128

    def seen(self, queries: Array, keys: Array, layer: int) -> Array:
        found = super().seen(queries, keys, layer)
        late = queries[:, None] >= self.now.ends
        return np.asarray(found & (late | (keys >= self.now.start)))


@wrong(
    "mistral",
    "window-off given-otherwise",
    words=r"(?i)window",
    report="pytorch/executorch#20346",
    unseen=LAST_ONLY,
)
class RingShorterThanChunks(InChunks):
    """Keeps as many rows as the window has: a chunk pushes out what its first queries must see."""

    chunk = 128

    def seen(self, queries: Array, keys: Array, layer: int) -> Array:
        found = super().seen(queries, keys, layer)
        window, late = self.window(layer) or 1 << 30, queries[:, None] >= self.now.ends
        return np.asarray(found & (late | (keys > self.cells[-1] - window)))


@wrong(
    "mistral",
    "window-off given-otherwise",
    words=r"(?i)window",
    report="lablup/mlxcel#408",
    unseen=LAST_ONLY,
)
class WindowFromTheEndOfChunks(InChunks):
    """Measures the window from the last query of a chunk for all queries of it."""

    chunk = 64

    def seen(self, queries: Array, keys: Array, layer: int) -> Array:
        window, late = self.window(layer) or 1 << 30, queries[:, None] >= self.now.ends
        causal = queries[:, None] >= keys
        last = causal & (keys > self.cells[-1] - window)
        return np.where(late, super().seen(queries, keys, layer), last)


@wrong(
    "mistral", "window-off given-otherwise", words=r"(?i)window", report="Lightning-AI/litgpt#2182"
)
class WindowFromTheStartOfChunks(InChunks):
    """Measures the window from the first query of a chunk for all queries of it."""

    chunk = 64

    def seen(self, queries: Array, keys: Array, layer: int) -> Array:
        window, late = self.window(layer) or 1 << 30, queries[:, None] >= self.now.ends
        causal = queries[:, None] >= keys
        first = causal & (keys > self.now.start - window)
        return np.where(late, super().seen(queries, keys, layer), first)


@wrong(
    "llama4_text",
    "window-off given-otherwise",
    words=r"(?i)chunk",
    report="vllm-project/vllm#21694",
)
class LocalChunksOfTheRest(InChunks):
    """Counts chunks of attention from the first token of the part that is computed."""

    chunk = 200

    def seen(self, queries: Array, keys: Array, layer: int) -> Array:
        size = self.chunk_size(layer)
        if size >= 1 << 30 or self.now.start >= self.now.ends:
            return super().seen(queries, keys, layer)
        since = self.now.start
        alike = (queries[:, None] - since) // size == (keys - since) // size
        return np.asarray((queries[:, None] >= keys) & alike)
