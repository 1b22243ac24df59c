"""Mistakes of scalings that depend on the length of a text: LongRoPE and dynamic NTK."""

import math
from collections.abc import Sequence

import numpy as np

from posenc_lab.deployed.engine import Array
from posenc_lab.deployed.lengths import ByLength
from posenc_lab.deployed.outside.cases import wrong


@wrong("longrope", "short-list-always long-list-always", words=r"(?i)list|factor")
class ListsExchanged(ByLength):
    """Takes the long list for short texts, and the short one for long texts."""

    def length(self, text: int, given: int) -> int:
        return 1 if text > self.original else self.original + 1


@wrong("longrope", "long-list-early", words=r"(?i)list|long", report="ggml-org/llama.cpp#8995")
class ListBySizeOfCache(ByLength):
    """Takes the list for the length of the cache, which is the longest text that may come."""

    def length(self, text: int, given: int) -> int:
        return int(self.config["max_position_embeddings"])


@wrong("longrope", words=r"(?i)list|long|early|late|length", report="ggml-org/llama.cpp#24875")
class ListOneTooLate(ByLength):
    """Switches to the long list one token too late."""

    def length(self, text: int, given: int) -> int:
        return text - 1


@wrong("longrope", words=r"(?i)list|long|length", report="lablup/mlxcel#1358")
class ListAtTwiceTheLength(ByLength):
    """Switches to the long list at twice the original length."""

    def length(self, text: int, given: int) -> int:
        return text if text > 2 * self.original else 1


@wrong(
    "longrope", "length-of-prompt", words=r"(?i)list|length", report="EricLBuehler/mistral.rs#251"
)
class ListByNewTokens(ByLength):
    """Takes the list for the number of tokens that are computed now: written ones are few."""

    def length(self, text: int, given: int) -> int:
        return given if text <= given else 1


@wrong("longrope", "length-of-prompt cache-not-turned-again", words=r"(?i)list|position|length")
class ListByPosition(ByLength):
    """Takes for each position the list of a text that ends there."""

    def angles(self, positions: Array, layer: int) -> tuple[Array, Array]:
        found = [self.of_length(positions, layer, length) for length in (1, self.original + 1)]
        late = (positions >= self.original)[:, None]
        cos, sin = (np.where(late, found[1][part], found[0][part]) for part in range(2))
        return cos, sin

    def of_length(self, positions: Array, layer: int, length: int) -> tuple[Array, Array]:
        """Return angles as in a text of a length."""
        self.now = length
        return super().angles(positions, layer)


@wrong("longrope", "attention-factor-missing", words=r"(?i)factor|longer")
class ShortTextsNotLonger(ByLength):
    """Makes pairs longer in long texts only."""

    def frequencies(self, layer: int) -> tuple[Array, float]:
        found, longer = super().frequencies(layer)
        return found, longer if self.now > self.original else 1.0


@wrong("longrope", "attention-factor-missing", words=r"(?i)factor|longer")
class NeverLongerPairs(ByLength):
    """Makes pairs longer in no text."""

    def frequencies(self, layer: int) -> tuple[Array, float]:
        return super().frequencies(layer)[0], 1.0


@wrong(
    "dynamic", words=r"(?i)length|factor|base", report="vllm-project/vllm#5093", doubt="by option"
)
class DynamicAsStatic(ByLength):
    """Reckons the base for the longest text that may come, whatever the length is."""

    def length(self, text: int, given: int) -> int:
        return int(self.original * self.scaling(0)["factor"])


@wrong("dynamic", words=r"(?i)length|factor|base")
class DynamicWithoutOne(ByLength):
    """Forgets to take the factor less one from what the base grows by."""

    def frequencies(self, layer: int) -> tuple[Array, float]:
        block = self.scaling(layer)
        grown = max(self.now, self.original) / self.original
        by = block["factor"] * grown if grown > 1 else 1.0
        return self.plain(float(block["rope_theta"] * by ** (self.width / (self.width - 2)))), 1.0


@wrong("dynamic", words=r"(?i)position|doubl|factor", report="lablup/mlxcel#1324")
class DynamicDoubled(ByLength):
    """Doubles all positions where scaling is dynamic."""

    def angles(self, positions: Array, layer: int) -> tuple[Array, Array]:
        return super().angles(2 * positions, layer)


@wrong("dynamic", words=r"(?i)length|steps|power", report="QwenLM/Qwen#401")
class DynamicInPowersOfTwo(ByLength):
    """Rounds the length up to twice, four or eight times the original one."""

    def length(self, text: int, given: int) -> int:
        if text <= self.original:
            return text
        return int(self.original * 2 ** math.ceil(math.log2(text / self.original)))


@wrong("dynamic", "taken-for-linear", words=r"(?i)linear|divided")
class DynamicAsLinear(ByLength):
    """Divides positions by the factor."""

    def frequencies(self, layer: int) -> tuple[Array, float]:
        block = self.scaling(layer)
        return self.plain(float(block["rope_theta"])) / block["factor"], 1.0


@wrong("dynamic", "length-kept mixed-up", words=r"(?i)length|another|batch")
class DynamicOfTheLongest(ByLength):
    """Takes the longest text of a request for all texts of it."""

    def complete_all(
        self, prompts: Sequence[Sequence[int]], steps: int
    ) -> list[list[dict[str, float]]]:
        self.whole = max(map(len, prompts))
        found = super().complete_all(prompts, steps)
        self.whole = 0
        return found

    whole = 0

    def length(self, text: int, given: int) -> int:
        return max(text, self.whole)
