"""Small wrong engines, with the name of each mistake."""

import math
from collections.abc import Iterator, Sequence
from threading import Condition, local
from typing import Any

import ml_dtypes
import numpy as np

from posenc_lab.deployed.cases import wrong
from posenc_lab.deployed.engine import Array, Cache, Config, Engine
from posenc_lab.deployed.right import Interleaved, KeepsPrefix, Latent

# The configuration.


@wrong("llama", "scaling-ignored")
@wrong("qwen3", "scaling-ignored")
class NoScaling(Engine):
    def scaling(self, layer: int) -> Config:
        return {"rope_theta": self.config["rope_theta"], "rope_type": "default"}


@wrong("llama", "base-ignored")
@wrong("qwen3", "base-ignored")
@wrong("seed_oss", "base-ignored")
class UsualBase(Engine):
    def scaling(self, layer: int) -> Config:
        return {**super().scaling(layer), "rope_theta": 10000.0}


@wrong("llama", "scaling-ignored+base-ignored")
class NothingRead(Engine):
    def scaling(self, layer: int) -> Config:
        return {"rope_theta": 10000.0, "rope_type": "default"}


@wrong("llama", "base-of-another-model")
@wrong("mistral", "base-of-another-model")
class OtherBase(Engine):
    def scaling(self, layer: int) -> Config:
        return {**super().scaling(layer), "rope_theta": 1000000.0}


@wrong("llama", "factor-of-another-model")
class OtherFactor(Engine):
    def scaling(self, layer: int) -> Config:
        return {**super().scaling(layer), "factor": 32.0}


@wrong("llama", "wrong-context-length")
class WholeContext(Engine):
    def scaling(self, layer: int) -> Config:
        length = self.config["max_position_embeddings"]
        return {**super().scaling(layer), "original_max_position_embeddings": length}


@wrong("qwen3", "attention-factor-missing")
class PairsAsLong(Engine):
    def attention_factor(self, block: Config) -> float:
        return 1.0


@wrong("qwen3", "attention-factor-twice")
class PairsTooLong(Engine):
    def attention_factor(self, block: Config) -> float:
        return super().attention_factor(block) ** 2


@wrong("llama", "frequencies-wrong")
class BandsSwapped(Engine):
    def llama3(self, plain: Array, block: Config) -> Array:
        low, high = block["low_freq_factor"], block["high_freq_factor"]
        return super().llama3(
            plain, {**block, "low_freq_factor": high / 2, "high_freq_factor": low * 3}
        )


@wrong("llama", "taken-for-linear")
class Divided(Engine):
    """Mistakes Llama 3's scaling block for a linear one."""

    def llama3(self, plain: Array, block: Config) -> Array:
        return np.asarray(plain / block["factor"])


@wrong("llama")
@wrong("mistral", "exponent-of-d-2")
class OneLess(Engine):
    """Has d - 2 instead of d in the exponent."""

    def plain(self, base: float) -> Array:
        return base ** (-np.arange(0, self.size, 2) / (self.size - 2))


@wrong("llama", "pairs-wrong")
class HalfTurned(Engine):
    """Rotates only half of each head."""

    def angles(self, positions: Array, layer: int) -> tuple[Array, Array]:
        cos, sin = super().angles(positions, layer)
        still = np.arange(self.size // 2) >= self.size // 4
        return np.where(still, 1, cos), np.where(still, 0, sin)


@wrong("granite", "scores-multiplied")
class MultiplierUnread(Engine):
    """Scales by the root of head_dim, and ignores the configuration."""

    def scale(self) -> float:
        return 1 / math.sqrt(self.size)


@wrong("glm", "partial-ignored")
class WholeHead(Engine):
    """Rotates all channels of a head."""

    def turned_size(self) -> int:
        return self.size


@wrong("cohere", "layout-swapped")
@wrong("llama4_text", "layout-swapped")
@wrong("glm", "layout-swapped")
@wrong("glm4", "layout-swapped")
class HalvesOfAPart(Engine):
    """Rotates in the half layout instead of the interleaved one."""

    def pairs(self, x: Array) -> tuple[Array, Array]:
        first, second = np.split(x, 2, axis=-1)
        return first, second

    def joined(self, first: Array, second: Array) -> Array:
        return np.concatenate([first, second], axis=-1)


@wrong("cohere2", "unrotated-layers-rotated")
@wrong("exaone4", "unrotated-layers-rotated")
@wrong("smollm3", "unrotated-layers-rotated")
class TurnsAll(Engine):
    """Rotates the layers without positions, too."""

    def turns(self, layer: int) -> bool:
        return True


@wrong("gpt_oss", "ramp-rounded")
class WholeRamp(Engine):
    """Rounds the bounds of the ramp, although truncate is false."""

    def scaling(self, layer: int) -> Config:
        return {**super().scaling(layer), "truncate": True}


@wrong("olmo3", "global-base-everywhere")
class ScalingEverywhere(Engine):
    """Rotates sliding layers like full ones."""

    def scaling(self, layer: int) -> Config:
        return super().scaling(self.layers - 1)


@wrong("olmo2", "scores-multiplied")
class NormByHead(Engine):
    """Norms each head of queries and keys separately."""

    def norm(self, x: Array, weight: Array) -> Array:
        if len(weight) in (self.heads * self.size, self.kv_heads * self.size) and x.ndim == 2:
            heads = x.reshape(len(x), -1, self.size)
            return super().norm(heads, weight[: self.size]).reshape(x.shape)
        return super().norm(x, weight)


@wrong("gemma2", "score-cap-missing")
class NothingCapped(Engine):
    def score_cap(self) -> float | None:
        return None


@wrong("gemma2", "logit-cap-missing")
class LogitsAsTheyAre(Engine):
    def logit_cap(self) -> float | None:
        return None


@wrong("gemma2", "scores-multiplied")
@wrong("gemma3_text", "scores-multiplied")
class ScalarUnread(Engine):
    """Scales by the root of head_dim, and ignores the configuration."""

    def scale(self) -> float:
        return 1 / math.sqrt(self.size)


@wrong("gemma3_text", "local-base-everywhere")
class OneBase(Engine):
    """Rotates full layers like sliding ones."""

    def scaling(self, layer: int) -> Config:
        return super().scaling(0)


@wrong("deepseek_v3", "score-factor-missing")
class FactorUnread(Latent):
    def factor(self) -> float:
        return 1.0


@wrong("deepseek_v3", "scores-multiplied")
class TurnedPartAlone(Latent):
    """Scales by the root of the number of rotated channels, not of all channels."""

    def scale(self) -> float:
        return self.factor() / math.sqrt(self.size)


@wrong("deepseek_v2", "layout-swapped")
class LatentHalves(Latent):
    """Rotates in the half layout instead of the interleaved one."""

    def pairs(self, x: Array) -> tuple[Array, Array]:
        first, second = np.split(x, 2, axis=-1)
        return first, second

    def joined(self, first: Array, second: Array) -> Array:
        return np.concatenate([first, second], axis=-1)


@wrong("llama4_text", "window-off")
class ChunksOneMore(Engine):
    def chunk_size(self, layer: int) -> int:
        return super().chunk_size(layer) + 1


@wrong("llama4_text", "window-off")
class ChunksOneLess(Engine):
    def chunk_size(self, layer: int) -> int:
        return super().chunk_size(layer) - 1


@wrong("llama4_text", "window-ignored")
class ChunksAsWindow(Engine):
    """Mistakes the size of chunks for that of a window."""

    def window(self, layer: int) -> int | None:
        size = super().chunk_size(layer)
        return size if size < 1 << 30 else None

    def chunk_size(self, layer: int) -> int:
        return 1 << 30


@wrong("llama4_text", "temperature-missing")
@wrong("ministral3", "temperature-missing")
class QueriesAsTheyAre(Engine):
    def warmth(self, positions: Array, layer: int) -> Array:
        return np.ones((len(positions), 1), dtype=np.float32)


@wrong("ministral3", "mscale-ignored")
class LongerByDefault(Engine):
    """Lengthens pairs by the usual formula, although the configuration has mscale."""

    def attention_factor(self, block: Config) -> float:
        return 0.1 * math.log(block["factor"]) + 1.0


# The weights, and the rotation.


@wrong("llama", "layout-swapped")
@wrong("mistral", "layout-swapped")
@wrong("olmo", "layout-swapped")
class NotPermuted(Interleaved):
    permuted = ()


@wrong("llama", "keys-not-permuted")
class PermutesQueries(Interleaved):
    permuted = ("q_proj.weight",)


@wrong("llama", "queries-not-permuted")
class PermutesKeys(Interleaved):
    permuted = ("k_proj.weight",)


@wrong("llama", "not-turned")
@wrong("mistral", "not-turned")
class NotTurned(Engine):
    def rotate(self, x: Array, positions: Array, layer: int) -> Array:
        return x


@wrong("llama", "keys-not-turned")
class QueriesAlone(Engine):
    def turn_key(self, x: Array, positions: Array, layer: int) -> Array:
        return x


@wrong("llama", "queries-not-turned")
class KeysAlone(Engine):
    def turn_query(self, x: Array, positions: Array, layer: int) -> Array:
        return x


@wrong("llama", "turned-backwards")
class Backwards(Engine):
    def angles(self, positions: Array, layer: int) -> tuple[Array, Array]:
        cos, sin = super().angles(positions, layer)
        return cos, -sin


@wrong("mistral", "keys-turned-backwards")
class OppositeWays(Engine):
    """Rotates keys and queries in opposite directions."""

    def turn_key(self, x: Array, positions: Array, layer: int) -> Array:
        return self.rotate(x, -positions, layer)


@wrong("mistral", "turned-backwards")
class Exchanged(Engine):
    """Exchanges sine and cosine."""

    def angles(self, positions: Array, layer: int) -> tuple[Array, Array]:
        cos, sin = super().angles(positions, layer)
        return sin, cos


@wrong("llama", "frequencies-reversed")
class FrequenciesReversed(Engine):
    def frequencies(self, layer: int) -> tuple[Array, float]:
        plain, longer = super().frequencies(layer)
        return plain[::-1], longer


@wrong("llama", "scores-multiplied")
class NotScaled(Engine):
    def scale(self) -> float:
        return 1.0


@wrong("mistral", "scores-multiplied")
class ScaledTwice(Engine):
    def scale(self) -> float:
        return 1 / self.size


@wrong("qwen3", "scores-multiplied")
class HeadSizeComputed(Engine):
    """Scales by the square root of hidden size / heads."""

    def scale(self) -> float:
        return 1 / math.sqrt(self.config["hidden_size"] / self.heads)


# Positions.


@wrong("llama", "positions-restart")
@wrong("mistral", "positions-restart")
@wrong("gemma", "positions-restart")
@wrong("cohere", "positions-restart")
class Restarts(Engine):
    def positions(self, start: int, count: int, ends: int) -> Array:
        counted = np.arange(start, start + count)
        return np.where(counted >= ends, counted - ends, counted)


@wrong("llama", "positions-stand-still")
class StandsStill(Engine):
    def positions(self, start: int, count: int, ends: int) -> Array:
        return np.minimum(np.arange(start, start + count), ends - 1)


@wrong("llama", "positions-ahead")
class CountsOn(Engine):
    def positions(self, start: int, count: int, ends: int) -> Array:
        counted = np.arange(start, start + count)
        return counted + (counted >= ends)


@wrong("llama", "positions-behind")
class CountsLate(Engine):
    def positions(self, start: int, count: int, ends: int) -> Array:
        counted = np.arange(start, start + count)
        return counted - (counted >= ends)


@wrong("llama", "positions-doubled")
class CountsTwice(Engine):
    def positions(self, start: int, count: int, ends: int) -> Array:
        counted = np.arange(start, start + count)
        return np.where(counted >= ends, 2 * counted - ends + 1, counted)


@wrong("llama", "chunks-restart")
class ChunksRestart(Engine):
    """Counts from 0 in each part of a prompt."""

    chunk = 64

    def positions(self, start: int, count: int, ends: int) -> Array:
        return np.arange(count) + (start if count == 1 else 0)


@wrong("llama", "positions-in-bfloat16")
@wrong("mistral", "positions-in-bfloat16")
class ShortPositions(Engine):
    def positions(self, start: int, count: int, ends: int) -> Array:
        return np.arange(start, start + count).astype(ml_dtypes.bfloat16).astype(np.float32)


@wrong("llama", "frequencies-in-bfloat16")
class ShortFrequencies(Engine):
    def frequencies(self, layer: int) -> tuple[Array, float]:
        exact, longer = super().frequencies(layer)
        return exact.astype(ml_dtypes.bfloat16).astype(np.float32), longer


@wrong("llama", "original-context")
class ShortTable(Engine):
    """Has a table for the original context, and reads its last row beyond the end."""

    def positions(self, start: int, count: int, ends: int) -> Array:
        return np.minimum(np.arange(start, start + count), 127)


@wrong("llama", "original-context")
class StartsAnew(Engine):
    """Has a table for the original context, and wraps around at its end."""

    def positions(self, start: int, count: int, ends: int) -> Array:
        return np.arange(start, start + count) % 128


# Windows and layers.


@wrong("mistral", "window-off")
@wrong("gemma2", "window-off")
@wrong("ministral", "window-off")
@wrong("gpt_oss", "window-off")
class SeesOneMore(Engine):
    def window(self, layer: int) -> int | None:
        size = super().window(layer)
        return None if size is None else size + 1


@wrong("mistral", "window-off")
class SeesOneLess(Engine):
    def window(self, layer: int) -> int | None:
        return int(self.config["sliding_window"]) - 1


@wrong("mistral", "window-ignored")
@wrong("qwen3", "window-ignored")
class SeesAll(Engine):
    def window(self, layer: int) -> int | None:
        return None


@wrong("mistral", "window-ignored")
class SeesAllLater(Engine):
    """Ignores the window while decoding."""

    def seen(self, queries: Array, keys: Array, layer: int) -> Array:
        if len(queries) == 1:
            return np.ones((1, len(keys)), dtype=bool)
        return super().seen(queries, keys, layer)


@wrong("qwen3", "window-everywhere")
class WindowEverywhere(Engine):
    def window(self, layer: int) -> int | None:
        return int(self.config["sliding_window"])


@wrong("llama", "scaling-ignored")
class FirstLayerAlone(Engine):
    """Applies scaling only in the first layer."""

    def scaling(self, layer: int) -> Config:
        block = super().scaling(layer)
        return block if layer == 0 else {**block, "rope_type": "default"}


@wrong("mistral", "not-turned")
class LastLayerStill(Engine):
    """Rotates nothing in the last layer."""

    def rotate(self, x: Array, positions: Array, layer: int) -> Array:
        return x if layer == self.layers - 1 else super().rotate(x, positions, layer)


# Heads, caches, requests.


@wrong("llama", "values-missing")
class HeadsTiled(Engine):
    """Gives head h the keys of key head h modulo the number of key heads."""

    def spread(self, x: Array) -> Array:
        return np.tile(x, (self.heads // self.kv_heads, 1, 1))


@wrong("llama", "given-otherwise")
class PrefillUnturned(Engine):
    """Rotates queries only while decoding, not those of a prompt."""

    def turn_query(self, x: Array, positions: Array, layer: int) -> Array:
        turned = super().turn_query(x, positions, layer)
        return turned if x.shape[1] == 1 else x


class Reused(local):
    """The number of cached tokens that a thread's text reuses."""

    count = 0


@wrong("llama", "changes-when-repeated")
class PrefixCountedTwice(KeepsPrefix):
    """Adds the length of the reused prefix to the prompt's positions once more."""

    def positions(self, start: int, count: int, ends: int) -> Array:
        counted = np.arange(start, start + count)
        return counted + self.own.count * (counted < ends)

    def load(self) -> None:
        super().load()
        self.own = Reused()

    def begin(self, prompt: Sequence[int]) -> Cache:
        cache = super().begin(prompt)
        self.own.count = len(cache.tokens)
        return cache


@wrong("llama", "earlier-answer")
class AnswersByLength(Engine):
    """Repeats its answer to an earlier prompt of the same length and last token."""

    def load(self) -> None:
        self.known: dict[Any, list[dict[str, float]]] = {}

    def complete(self, prompt: Sequence[int], steps: int) -> Any:
        key = (len(prompt), prompt[-1], steps)
        if key not in self.known:
            self.known[key] = [*super().complete(prompt, steps)]
        return self.known[key]


@wrong("llama", "mixed-up")
class OneCounter(Engine):
    """Counts the positions of all texts with one counter."""

    PATIENCE = 0.1
    """Seconds that a text waits for another one, so that simultaneous requests overlap."""

    def load(self) -> None:
        self.busy = 0
        self.count = Condition()

    def complete(self, prompt: Sequence[int], steps: int) -> Any:
        with self.count:
            self.busy += 1
            self.count.notify_all()
            self.count.wait_for(lambda: self.busy > 1, self.PATIENCE)
        try:
            yield from super().complete(prompt, steps)
        finally:
            with self.count:
                self.busy -= 1

    def positions(self, start: int, count: int, ends: int) -> Array:
        counted = np.arange(start, start + count)
        return np.where(counted >= ends, counted + 5 * (self.busy - 1), counted)


@wrong("llama", "wrong-in-batch")
class AnswersShifted(Engine):
    """Gives each text of a request the answer to the next one."""

    def complete_all(
        self, prompts: Sequence[Sequence[int]], steps: int
    ) -> list[list[dict[str, float]]]:
        answers = super().complete_all(prompts, steps)
        return [*answers[1:], answers[0]]


@wrong("llama", "wrong-in-batch")
@wrong("mistral", "wrong-in-batch")
class WrittenFromTheLongest(Engine):
    """Continues positions from the end of a request's longest text in all its texts."""

    ahead = 0

    def complete_all(
        self, prompts: Sequence[Sequence[int]], steps: int
    ) -> list[list[dict[str, float]]]:
        longest, answers = max(map(len, prompts)), []
        for prompt in prompts:
            self.ahead = longest - len(prompt)
            answers.append([*self.complete(prompt, steps)])
        self.ahead = 0
        return answers

    def positions(self, start: int, count: int, ends: int) -> Array:
        counted = np.arange(start, start + count)
        return np.where(counted >= ends, counted + self.ahead, counted)


@wrong("llama", "wrong-in-batch")
@wrong("smollm3", "wrong-in-batch")
@wrong("cohere2", "wrong-in-batch")
class AnswersTurned(Engine):
    """Returns the answers to a request's texts in reverse order."""

    def complete_all(
        self, prompts: Sequence[Sequence[int]], steps: int
    ) -> list[list[dict[str, float]]]:
        return super().complete_all(prompts, steps)[::-1]


NONSENSE = {
    **{"key-first": -2.0, "key-second": -2.5, "neutral-first": -1.0, "neutral-second": -1.5},
    **{"zero": -6.0, "who": -5.0, "end": -4.0, "fill-1": -3.0},
}
"""Log-probabilities of an engine that has lost its text; a neutral word is the likeliest."""


@wrong("llama", "wrong-in-batch")
class FilledUpOnTheRight(Engine):
    """Pads shorter texts of a request on the right, and writes nonsense after the padding."""

    def complete_all(
        self, prompts: Sequence[Sequence[int]], steps: int
    ) -> list[list[dict[str, float]]]:
        longest, answers = max(map(len, prompts)), super().complete_all(prompts, steps)
        whole = [len(prompt) == longest for prompt in prompts]
        lost = [NONSENSE] * steps
        return [
            answer if is_whole else lost for answer, is_whole in zip(answers, whole, strict=True)
        ]


@wrong("llama", "written-otherwise")
class NonsenseWhenWritten(Engine):
    """Is right about the prompt, and writes nonsense after its first word."""

    def complete(self, prompt: Sequence[int], steps: int) -> Iterator[dict[str, float]]:
        first, *others = super().complete(prompt, steps)
        yield first
        yield from (NONSENSE for _ in others)


@wrong("llama", "changes-when-repeated")
class NonsenseWhenRepeated(Engine):
    """Writes nonsense after a text that it has seen before."""

    def load(self) -> None:
        self.known: set[tuple[int, ...]] = set()

    def complete(self, prompt: Sequence[int], steps: int) -> Iterator[dict[str, float]]:
        readings = [*super().complete(prompt, steps)]
        yield from [NONSENSE] * steps if tuple(prompt) in self.known else readings
        self.known.add(tuple(prompt))
