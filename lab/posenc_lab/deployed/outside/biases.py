"""Mistakes in biases of distances: ALiBi's slopes and T5's buckets."""

from collections.abc import Sequence

import ml_dtypes
import numpy as np

from posenc_lab.deployed.engine import Array, Cache
from posenc_lab.deployed.older import Older, alibi
from posenc_lab.deployed.outside.cases import wrong
from posenc_lab.deployed.outside.serving import Served
from posenc_lab.deployed.two_texts import Text, TwoTexts

SLOPES = r"(?i)slopes?"
BIAS = r"(?i)bias|slope|distance"
BUCKETS = r"(?i)bucket|bias|distance"
LATER = "bias-missing-later written-otherwise keys-misplaced"


class Biased(Older, Served):
    """Has biases, and records its requests."""


# ALiBi.


@wrong("mpt", words=SLOPES, report="NVIDIA/TensorRT-LLM#1611")
class SlopesSorted(Biased):
    """Sorts slopes, so that they fall from head to head."""

    def slopes(self) -> Array:
        return np.sort(super().slopes())[::-1].copy()


@wrong("mpt", "slopes-of-another-count", words=SLOPES)
class LowerPowerRepeated(Biased):
    """Begins again with the first slopes behind the lower power of two."""

    def slopes(self) -> Array:
        return np.resize(alibi(8), self.heads)


@wrong("bloom", "slopes-of-another-count slopes-of-a-rank", words=SLOPES)
class SlopesOfAQuarter(Biased):
    """Takes the slopes of a rank's heads for each of four ranks."""

    def slopes(self) -> Array:
        return np.tile(alibi(self.heads // 4), 4)


@wrong("bloom", words=SLOPES, report="flashinfer-ai/flashinfer#1606")
class SecondRankShifted(Biased):
    """Begins with the second slope in the second of two ranks."""

    def slopes(self) -> Array:
        found, half = super().slopes().copy(), self.heads // 2
        found[half:] = found[1 : half + 1]
        return found


@wrong("bloom", words=SLOPES)
class LastSlopeMissing(Biased):
    """Adds nothing to the scores of the last head."""

    def slopes(self) -> Array:
        found = super().slopes().copy()
        found[-1] = 0
        return found


@wrong("bloom", words=SLOPES)
class FirstSlopesExchanged(Biased):
    """Exchanges the slopes of the first two heads."""

    def slopes(self) -> Array:
        found = super().slopes().copy()
        found[:2] = found[1::-1]
        return found


@wrong("bloom", "scores-multiplied", words=SLOPES)
class SlopesTenPercentOff(Biased):
    """Makes all slopes steeper by a tenth."""

    def slopes(self) -> Array:
        return np.asarray(super().slopes() * 1.1)


@wrong("bloom", LATER, words=BIAS)
class DistancesFromThePrompt(Biased):
    """Counts keys that it writes from the end of the prompt."""

    def keys(self, where: Array, count: int) -> Array:
        found = np.arange(count)
        return np.where(found >= self.now.ends, found - self.now.ends, found)


@wrong("bloom", LATER, words=BIAS)
@wrong("mpt", LATER, words=BIAS)
class WrittenKeysWithoutBias(Biased):
    """Adds no bias to the scores of keys that it wrote."""

    def bias(self, where: Array, keys: int) -> Array:
        found = super().bias(where, keys)
        return np.asarray(found * (np.arange(keys) < self.now.ends))


@wrong("bloom", "positions-restart written-otherwise", words=BIAS)
class DistancesOfOneQuery(Biased):
    """Takes the number of keys less one for the query, and the whole cache for its keys."""

    def keys(self, where: Array, count: int) -> Array:
        late = self.now.start >= self.now.ends
        return np.arange(count) * (1 + late)


@wrong("bloom", "chunks-restart given-otherwise", words=BIAS)
class KeysOfAChunk(Biased):
    """Counts keys from 0 in each chunk of 128."""

    chunk = 128

    def keys(self, where: Array, count: int) -> Array:
        return np.arange(count) % 128


@wrong("bloom", "rows-clamped", words=BIAS)
class BiasEndsAtFourHundred(Biased):
    """Has biases of distances up to 400, and that of 400 beyond."""

    def bias(self, where: Array, keys: int) -> Array:
        distances = np.minimum(where[None, :, None] - np.arange(keys), 400)
        return np.asarray(-self.slopes()[:, None, None] * distances, dtype=np.float32)


@wrong("bloom", "wrong-in-batch", words=r"(?i)batch|request|padding")
class BiasOfPadding(Biased):
    """Counts distances from the longest text of a request, for written queries alone."""

    def bias(self, where: Array, keys: int) -> Array:
        more = self.longest - len(self.text) if self.now.texts else 0
        late = self.now.start >= self.now.ends
        places = np.arange(keys) * (1 + (more > 0) * late)
        distances = places[None, None, :] - where[None, :, None]
        return np.asarray(self.slopes()[:, None, None] * distances, dtype=np.float32)


@wrong("bloom", "layers-mistaken", words=r"(?i)layers?")
class MiddleLayerWithout(Biased):
    """Adds no bias in the middle layer."""

    def attention(self, x: Array, layer: int, where: Array, cache: Cache) -> Array:
        self.now.other = layer == self.layers // 2
        return super().attention(x, layer, where, cache)

    def bias(self, where: Array, keys: int) -> Array:
        return np.asarray(super().bias(where, keys) * (not self.now.other))


@wrong("bloom", "positions-in-bfloat16 slopes-in-bfloat16", words=r"(?i)bfloat16")
class BiasInBrain(Biased):
    """Rounds biases of keys, not of distances, to bfloat16."""

    def bias(self, where: Array, keys: int) -> Array:
        found = super().bias(0 * where, keys)
        return found.astype(ml_dtypes.bfloat16).astype(np.float32)


@wrong("falcon_alibi", words=r"(?i)head|fused|layout", report="tenstorrent/tt-metal#38321")
class FusedByKind(Biased):
    """Takes all queries, all keys, all values, where the rows go from head to head."""

    def parts(self, layer: int) -> tuple[Sequence[Array], Array]:
        place = f"transformer.h.{layer}.self_attention.query_key_value.weight"
        return np.split(self.weights[place], 3), super().parts(layer)[1]


# T5.


@wrong("t5", "wrong-max-distance", words=BUCKETS)
class FarthestOfHundred(TwoTexts):
    """Takes 100 for the farthest distance."""

    def load(self) -> None:
        self.config = {**self.config, "relative_attention_max_distance": 100}


@wrong("t5-far", words=r"(?i)number of buckets|half")
class HalfOfTheBuckets(TwoTexts):
    """Has half as many buckets as the configuration says."""

    def load(self) -> None:
        count = self.config["relative_attention_num_buckets"] // 2
        self.config = {**self.config, "relative_attention_num_buckets": count}


# A decoder with twice the buckets, cut to the last one, has the very same ones.
@wrong("t5", "number-of-buckets", words=r"(?i)exact|logarithm")
class ExactBucketsOfAll(TwoTexts):
    """Gives each distance a bucket of its own, and the last one to all beyond."""

    def steps(self, ratio: Array, count: int) -> Array:
        return np.asarray((ratio - 1) * count)


@wrong("t5", "inexact-logarithm wrong-max-distance", words=r"(?i)logarithm")
class LogarithmOfTwo(TwoTexts):
    """Takes logarithms to base 2 of distances, and natural ones of the farthest."""

    def steps(self, ratio: Array, count: int) -> Array:
        return np.asarray(super().steps(ratio, count) / np.log(2))


@wrong(
    "t5",
    "first-key bias-missing",
    words=BUCKETS,
    report="huggingface/transformers#8518",
    unseen="what the decoder reads of the encoder are ratios, which no share of other keys changes",
)
class CrossAttentionBiased(TwoTexts):
    """Adds the decoder's bias of bucket 0 to a part of the keys of cross-attention too."""

    def given(self, place: str, query: Array, keys: Array, values: Array, bias: Array) -> Array:
        if place.endswith("EncDecAttention"):
            where = np.arange(keys.shape[1])
            found = self.biases("decoder", np.array([len(where)]), where, 0)
            bias = np.broadcast_to(found, (self.heads, query.shape[1], len(where)))
        return super().given(place, query, keys, values, bias)


@wrong("t5", "direction-swapped sign-flipped", words=BUCKETS)
class SidesExchanged(TwoTexts):
    """Exchanges the buckets of the two sides in the encoder."""

    def bucket(self, relative: Array, *, both_sides: bool) -> Array:
        return super().bucket(-relative if both_sides else relative, both_sides=both_sides)


@wrong("t5", "bias-missing", words=BUCKETS)
class EncoderWithout(TwoTexts):
    """Adds no bias in the encoder."""

    def biases(self, part: str, queries: Array, keys: Array, layer: int) -> Array:
        return (part == "decoder") * super().biases(part, queries, keys, layer)


@wrong("t5", "table-of-another", words=BUCKETS)
class DecoderOfTheEncoder(TwoTexts):
    """Takes the encoder's table for the decoder."""

    def biases(self, part: str, queries: Array, keys: Array, layer: int) -> Array:
        place = "block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        table = self.weights[f"encoder.{place}"]
        relative = self.relative(queries, keys)
        found = table[self.bucket(relative, both_sides=part == "encoder")]
        return np.asarray(found.transpose(2, 0, 1))


@wrong("t5", "bias-missing-later written-otherwise", words=BUCKETS, report="huggingface/candle#899")
class BiasOfTheFirstQuery(TwoTexts):
    """Adds biases of written queries from the last key to the first one."""

    def biases(self, part: str, queries: Array, keys: Array, layer: int) -> Array:
        if part == "decoder" and len(queries) == 1 and len(keys) > 1:
            keys = keys[::-1]
        return super().biases(part, queries, keys, layer)


@wrong("t5", words=r"(?i)head")
class HeadsOfBiasReversed(TwoTexts):
    """Gives heads the biases of the last to the first one."""

    def biases(self, part: str, queries: Array, keys: Array, layer: int) -> Array:
        return super().biases(part, queries, keys, layer)[::-1]


@wrong("t5", "layers-mistaken", words=r"(?i)layers?")
class LastLayerUnbiased(TwoTexts):
    """Adds no bias in the last layer of the encoder."""

    def biases(self, part: str, queries: Array, keys: Array, layer: int) -> Array:
        last = part == "encoder" and layer == self.layers - 1
        return (not last) * super().biases(part, queries, keys, layer)


@wrong("t5", "wrong-in-batch", words=r"(?i)batch|request")
class EncoderPadded(TwoTexts):
    """Fills the texts of the encoder up on the right, and sees what it filled them with."""

    def translate(
        self, both: Sequence[tuple[Text, Text]], steps: int
    ) -> list[list[dict[str, float]]]:
        longest = max(len(text) for text, _ in both)
        filled = [([*text, *[0] * (longest - len(text))], begun) for text, begun in both]
        return super().translate(filled, steps)
