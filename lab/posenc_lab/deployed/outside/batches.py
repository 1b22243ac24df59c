"""Mistakes in requests of several texts: padding, rows, lengths."""

from collections.abc import Sequence

import ml_dtypes
import numpy as np

from posenc_lab.deployed.engine import Array, Cache
from posenc_lab.deployed.outside.cases import FAR, wrong
from posenc_lab.deployed.outside.serving import PaddedLeft, PaddedRight, Served, Text

BATCH = "wrong-in-batch"
ROWS = r"(?i)(request|batch|padding|filled|row)"
Answers = list[list[dict[str, float]]]


@wrong("llama", BATCH, words=ROWS, report="turboderp-org/exllamav2#606")
@wrong("mistral", BATCH, words=ROWS, report="turboderp-org/exllamav2#606")
class PaddingLeftSeen(PaddedLeft):
    """Sees what shorter texts are filled up with on their left."""

    def real(self, keys: Array) -> Array:
        return keys >= 0


@wrong("llama", BATCH, words=ROWS, report="thu-nics/C2C#19")
class PaddingLeftSeenLater(PaddedLeft):
    """Sees the padding on the left once it writes."""

    def real(self, keys: Array) -> Array:
        return (keys >= self.ahead) | (self.now.start >= self.now.ends)


@wrong("llama", BATCH, words=ROWS)
class PaddingRightSeen(PaddedRight):
    """Sees what shorter texts are filled up with on their right, once it writes."""

    def real(self, keys: Array) -> Array:
        return keys >= 0


@wrong("llama", BATCH, words=ROWS, report="Comfy-Org/ComfyUI#15698")
@wrong("mistral", BATCH, words=ROWS, report="Comfy-Org/ComfyUI#15698")
class PaddingRightCounted(PaddedRight):
    """Counts padding on the right once it writes."""

    @property
    def skipped(self) -> int:
        return 0


@wrong("llama", BATCH, words=ROWS)
class LogitsOfThePadding(PaddedRight):
    """Reads the first word from the last row of the longest text, which is padding in others."""

    def given(self, prompt: Text, cache: Cache) -> Array:
        logits = Served.given(self, prompt, cache)
        if self.filled:
            logits = self.forward([0] * self.filled, cache, len(cache.tokens) + self.filled)
        return logits


@wrong("llama", BATCH, words=ROWS, report="unslothai/unsloth#3803")
class KeysAndQueriesCountedApart(PaddedLeft):
    """Counts padding on the left in queries that it writes, and in nothing else."""

    def query_places(self, where: Array, layer: int) -> Array:
        return np.asarray(where + self.ahead * self.written)


@wrong("llama", BATCH, words=ROWS, report="scouzi1966/maclocal-api#92")
class MergedAfterReading(PaddedLeft):
    """Counts padding once it writes, since texts were read alone and then put together."""

    def positions(self, start: int, count: int, ends: int) -> Array:
        found = np.arange(start, start + count)
        return found - self.ahead * (found < ends)


@wrong("llama4_text", BATCH, words=ROWS)
class TemperatureOfPadding(PaddedLeft):
    """Counts padding on the left for the temperature of queries."""

    def warmth(self, positions: Array, layer: int) -> Array:
        return super().warmth(positions + self.ahead, layer)


@wrong("llama", BATCH, words=ROWS, report="rasbt/reasoning-from-scratch#33")
class LengthOfTheFirst(Served):
    """Counts written words of all texts from the end of the first text of the request."""

    def positions(self, start: int, count: int, ends: int) -> Array:
        found = np.arange(start, start + count)
        more = len(self.now.texts[0]) - len(self.text) if self.now.texts else 0
        return found + more * (found >= ends)


@wrong("llama", BATCH, words=ROWS, report="raullenchai/Rapid-MLX#1365")
class LengthOfTheNeighbour(Served):
    """Counts written words of each text from the end of the one before."""

    def positions(self, start: int, count: int, ends: int) -> Array:
        found = np.arange(start, start + count)
        texts = self.now.texts
        more = len(texts[self.now.row - 1]) - len(self.text) if texts else 0
        return found + more * (found >= ends)


@wrong("llama", BATCH, words=ROWS, report="Blaizzy/mlx-vlm#1155")
class WrittenKeysOfTheFirstLength(Served):
    """Turns written keys of all texts to where those of the first text stand."""

    def key_places(self, where: Array, layer: int) -> Array:
        more = len(self.now.texts[0]) - len(self.text) if self.now.texts else 0
        return np.asarray(where + more * self.written)


@wrong("llama", BATCH, words=ROWS)
class FirstTwoExchanged(Served):
    """Gives the answers to the first two texts of a request to each other."""

    def complete_all(self, prompts: Sequence[Text], steps: int) -> Answers:
        found = super().complete_all(prompts, steps)
        return [*found[1::-1], *found[2:]]


@wrong("llama", BATCH, words=ROWS)
class SortedByLength(Served):
    """Sorts the texts of a request by their length, and gives the answers in that order."""

    def complete_all(self, prompts: Sequence[Text], steps: int) -> Answers:
        return super().complete_all(sorted(prompts, key=len), steps)


@wrong("llama", BATCH, words=ROWS, report="ml-explore/mlx#3795")
class OtherRowsStand(Served):
    """Turns written queries of all texts but the first as those of the first."""

    def query_places(self, where: Array, layer: int) -> Array:
        more = len(self.now.texts[0]) - len(self.text) if self.now.texts else 0
        return np.asarray(where + more * self.written)


@wrong("llama", BATCH, words=ROWS, report="ml-explore/mlx#3795")
class OtherRowsUnturned(Served):
    """Turns written keys and queries of the first text of a request, and of no other."""

    def rotate(self, x: Array, positions: Array, layer: int) -> Array:
        turned = super().rotate(x, positions, layer)
        late = self.now.row > 0 and self.now.start >= self.now.ends
        return x if late else turned


class Packed(Served):
    """Has all texts of a request one behind the other, and sees its own text alone."""

    reach = 0
    """Tokens of the text before that a text sees."""

    @property
    def earlier(self) -> Text:
        """The tokens before a text that it sees by mistake."""
        earlier = [token for text in self.now.texts[: self.now.row] for token in text]
        return earlier[len(earlier) - self.reach :] if self.reach else []

    @property
    def ahead(self) -> int:
        return len(self.earlier)

    def begin(self, prompt: Text) -> Cache:
        cache = super().begin(prompt)
        if self.earlier:
            self.forward(self.earlier, cache, len(self.earlier) + len(prompt))
        return cache


@wrong("llama", BATCH, words=ROWS, report="huggingface/nanoVLM#204")
class PackedAndSeen(Packed):
    """Sees the texts of a request that come before, where each is to see itself."""

    reach = 1 << 30

    @property
    def earlier(self) -> Text:
        return [token for text in self.now.texts[: self.now.row] for token in text]


@wrong("llama", BATCH, words=ROWS, report="Dao-AILab/flash-attention#1104")
class PackedOneEarly(Packed):
    """Sees the last token of the text before: the sums of lengths are one too small."""

    reach = 1


@wrong("llama", BATCH, words=ROWS)
class PackedOneLate(Served):
    """Does not see its first token: the sums of lengths are one too large."""

    def seen(self, queries: Array, keys: Array, layer: int) -> Array:
        found = super().seen(queries, keys, layer)
        hidden = (keys == 0) & (self.now.row > 0)
        return np.asarray(found & (~hidden | (queries[:, None] == keys)))


@wrong("llama", BATCH, words=ROWS)
class PackedCountedOn(Served):
    """Counts written words of a text from the end of all texts of the request."""

    def positions(self, start: int, count: int, ends: int) -> Array:
        found = np.arange(start, start + count)
        total = sum(map(len, self.now.texts)) or ends
        return found + (total - ends) * (found >= ends)


@wrong("llama", BATCH, words=ROWS)
class PagesOfTheNextRow(Served):
    """Reads from the second page on the pages of the next text of the request."""

    def complete_all(self, prompts: Sequence[Text], steps: int) -> Answers:
        if len(prompts) < 2:
            return super().complete_all(prompts, steps)
        following = [*prompts[1:], prompts[0]]
        mixed = [
            [*ours[:16], *theirs[16 : len(ours) - 1], *ours[min(len(theirs), len(ours) - 1) :]]
            for ours, theirs in zip(prompts, following, strict=True)
        ]
        return super().complete_all(mixed, steps)


@wrong(
    "llama-far",
    "positions-in-float16",
    words=r"(?i)TF32|11 bits|request",
    context=FAR,
    unseen="no request of several texts has one beyond 2,048: it would take minutes",
)
class OtherRowsInTensorFloat(Served):
    """Multiplies positions and frequencies in TF32 if a request has several texts."""

    chunk = 512

    def positions(self, start: int, count: int, ends: int) -> Array:
        found = np.arange(start, start + count)
        return found.astype(np.float16).astype(np.float32) if self.now.texts else found


@wrong("llama", BATCH, words=ROWS)
class ShortRowsInBrain(Served):
    """Counts positions in bfloat16 in requests of several texts."""

    def positions(self, start: int, count: int, ends: int) -> Array:
        found = np.arange(start, start + count)
        short = found.astype(ml_dtypes.bfloat16).astype(np.float32)
        return short if self.now.texts else found


@wrong("mistral", BATCH, words=ROWS)
class WindowFromTheLongest(PaddedLeft):
    """Measures the window in rows from the end of the longest text, padding included."""

    def seen(self, queries: Array, keys: Array, layer: int) -> Array:
        found = super().seen(queries, keys, layer)
        window = self.window(layer) or 1 << 30
        late = self.now.start >= self.now.ends
        near = queries[:, None] - keys < window - self.ahead * late
        return np.asarray(found & (near | (queries[:, None] == keys)))


@wrong("llama", "mixed-up wrong-in-batch", words=ROWS)
class AnswersOfTheFirst(Served):
    """Gives the first word of the first text to all texts of a request."""

    def complete_all(self, prompts: Sequence[Text], steps: int) -> Answers:
        found = super().complete_all(prompts, steps)
        return [[found[0][0], *each[1:]] for each in found]
