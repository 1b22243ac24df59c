"""A small engine for T5, an encoder with a decoder and buckets of distances."""

import math
from collections.abc import Iterator, Mapping, Sequence

import ml_dtypes
import numpy as np

from posenc_lab.deployed.cases import right, wrong
from posenc_lab.deployed.engine import Array, Cache, Config, Engine

Text = Sequence[int]


@right("t5")
@right("t5-far")
class TwoTexts(Engine):
    """A right engine in the plainest style."""

    def __init__(self, config: Config, weights: Mapping[str, Array], words: Sequence[str]) -> None:
        named = {
            **config,
            "num_attention_heads": config["num_heads"],
            "num_hidden_layers": config["num_layers"],
            "head_dim": config["d_kv"],
        }
        super().__init__(named, weights, words)
        self.decoder_layers = config.get("num_decoder_layers", self.layers)

    # Buckets.

    def bucket(self, relative: Array, *, both_sides: bool) -> Array:
        """Return the bucket of each relative position (key minus query)."""
        count = self.config["relative_attention_num_buckets"]
        after = np.zeros_like(relative)
        if both_sides:
            count //= 2
            after = np.where(relative > 0, count, 0)
            distance = np.abs(relative)
        else:
            distance = np.maximum(-relative, 0)
        exact = count // 2
        whole = np.trunc(self.steps(np.maximum(distance, 1) / exact, count - exact))
        far = np.minimum(exact + whole.astype(int), count - 1)
        return np.asarray(after + np.where(distance < exact, distance, far))

    def steps(self, ratio: Array, count: int) -> Array:
        """Return each distance's fractional index among the logarithmic buckets."""
        exact = self.exact(count)
        farthest = self.config["relative_attention_max_distance"] / exact
        return np.asarray(np.log(ratio.astype(np.float32)) / np.float32(math.log(farthest)) * count)

    def exact(self, wide: int) -> int:
        """Return the number of buckets with a single distance, given that of logarithmic ones."""
        return wide

    def biases(self, part: str, queries: Array, keys: Array, layer: int) -> Array:
        """Return the bias of scores, [heads, queries, keys]."""
        place = "block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        table = self.weights[f"{part}.{place}"]
        relative = self.relative(queries, keys)
        bias = table[self.bucket(relative, both_sides=part == "encoder")]
        return np.asarray(bias.transpose(2, 0, 1))

    def relative(self, queries: Array, keys: Array) -> Array:
        """Return positions of keys minus those of queries."""
        return np.asarray(keys[None, :] - queries[:, None])

    # Layers.

    def scale(self) -> float:
        return 1.0

    def norm(self, x: Array, weight: Array) -> Array:
        mean = (x.astype(np.float32) ** 2).mean(axis=-1, keepdims=True)
        return self.rounded(x / np.sqrt(mean + self.config["layer_norm_epsilon"]) * weight)

    def linear(self, x: Array, place: str) -> Array:
        return self.rounded(x @ self.weights[f"{place}.weight"].T)

    def split(self, x: Array) -> Array:
        """Return channels by head, [heads, tokens, channels]."""
        return x.reshape(len(x), self.heads, self.size).transpose(1, 0, 2)

    def given(self, place: str, query: Array, keys: Array, values: Array, bias: Array) -> Array:
        """Return the output of attention; a bias of minus infinity hides a key."""
        scores = query @ keys.transpose(0, 2, 1) * self.scale() + bias
        out = self.rounded(self.softmax(self.rounded(scores)) @ values)
        return self.linear(out.transpose(1, 0, 2).reshape(out.shape[1], -1), f"{place}.o")

    def read_text(self, text: Text) -> Array:
        """Return the encoder's output for a text, [tokens, channels]."""
        x = self.rounded(self.weights["shared.weight"][np.array(text)])
        where = np.arange(len(text))
        for layer in range(self.layers):
            place = f"encoder.block.{layer}.layer.0"
            normed = self.norm(x, self.weights[f"{place}.layer_norm.weight"])
            attention = f"{place}.SelfAttention"
            query, key, value = (
                self.split(self.linear(normed, f"{attention}.{name}")) for name in "qkv"
            )
            bias = self.biases("encoder", where, where, layer) + self.hidden(where)
            x = self.rounded(x + self.given(attention, query, key, value, bias))
        return self.norm(x, self.weights["encoder.final_layer_norm.weight"])

    def hidden(self, where: Array) -> Array:
        """Return the encoder's mask, which hides no key."""
        return np.zeros((len(where), len(where)), dtype=np.float32)

    def write(self, tokens: Text, read: Array, cache: Cache, ends: int) -> Array:
        """Return the logits after the last token, and add the tokens to the cache."""
        start = len(cache.tokens)
        x = self.rounded(self.weights["shared.weight"][np.array(tokens)])
        where = self.positions(start, len(tokens), ends)
        for layer in range(self.decoder_layers):
            place = f"decoder.block.{layer}.layer"
            normed = self.norm(x, self.weights[f"{place}.0.layer_norm.weight"])
            attention = f"{place}.0.SelfAttention"
            query, key, value = (
                self.split(self.linear(normed, f"{attention}.{name}")) for name in "qkv"
            )
            keys, values = cache.extend(layer, key, value)
            count = keys.shape[1]
            bias = self.biases("decoder", where, self.positions(0, count, ends), layer)
            after = np.arange(count)[None, :] > np.arange(start, start + len(tokens))[:, None]
            bias = np.where(after, -np.inf, self.kept(bias, start))
            x = self.rounded(x + self.given(attention, query, keys, values, bias))
            normed = self.norm(x, self.weights[f"{place}.1.layer_norm.weight"])
            attention = f"{place}.1.EncDecAttention"
            query = self.split(self.linear(normed, f"{attention}.q"))
            keys, values = self.looked_at(read, attention, -1 - layer, cache)
            none = np.zeros((1, 1, 1), dtype=np.float32)
            x = self.rounded(x + self.given(attention, query, keys, values, none))
        cache.tokens += tokens
        last = self.norm(x[-1:], self.weights["decoder.final_layer_norm.weight"])
        return np.asarray((last @ self.weights["lm_head.weight"].T)[0])

    def looked_at(
        self, read: Array, attention: str, layer: int, cache: Cache
    ) -> tuple[Array, Array]:
        """Return keys and values of the encoder's output, computed once per cache."""
        if layer not in cache.keys:
            keys, values = (self.split(self.linear(read, f"{attention}.{name}")) for name in "kv")
            cache.keys[layer], cache.values[layer] = keys, values
        return cache.keys[layer], cache.values[layer]

    def kept(self, bias: Array, start: int) -> Array:
        """Return the decoder's bias to use after ``start`` cached tokens; here unchanged."""
        return bias

    # Requests.

    def logits(self, text: Text, begun: Text) -> Array:
        """Return the logits after the begun output, like a model adapter's function."""
        return self.write([*begun], self.read_text(text), Cache(), len(begun))

    def _translated(self, text: Text, begun: Text, steps: int) -> Iterator[dict[str, float]]:
        read, cache = self.read_text(text), Cache()
        tokens = [*begun]
        for _ in range(steps):
            logits = self.write(tokens, read, cache, len(begun)).astype(np.float64)
            shifted = logits - logits.max()
            log_probabilities = shifted - math.log(np.exp(shifted).sum())
            yield dict(zip(self.words, map(float, log_probabilities), strict=True))
            tokens = [int(logits.argmax())]

    def translate(
        self, both: Sequence[tuple[Text, Text]], steps: int
    ) -> list[list[dict[str, float]]]:
        return [[*self._translated(text, begun, steps)] for text, begun in both]


# Right in other styles.


@right("t5")
class ByTable(TwoTexts):
    """Finds buckets by their edges, computed in integers."""

    def bucket(self, relative: Array, *, both_sides: bool) -> Array:
        count, farthest = 32 // (1 + both_sides), 128
        exact = count // 2
        edges = [*range(exact), exact]
        for wide in range(1, count - exact):
            distance = edges[-1]
            while distance ** (count - exact) * exact**wide < farthest**wide * exact ** (
                count - exact
            ):
                distance += 1
            edges.append(distance)
        distance = np.abs(relative) if both_sides else np.maximum(-relative, 0)
        index = np.searchsorted(edges, distance, side="right") - 1
        return np.asarray(index + count * (both_sides & (relative > 0)))


@right("t5", "bfloat16")
@right("t5-far", "bfloat16")
class ShortTwoTexts(TwoTexts):
    """Computes everything except buckets in bfloat16."""

    dtype = ml_dtypes.bfloat16

    def softmax(self, scores: Array) -> Array:
        return self.rounded(super().softmax(scores))


@right("t5", "float16")
class HalfTwoTexts(TwoTexts):
    """Computes everything except buckets in float16."""

    dtype = np.float16

    def softmax(self, scores: Array) -> Array:
        return self.rounded(super().softmax(scores))


# Wrong buckets.


@wrong("t5", "direction-swapped")
class BothSidesEverywhere(TwoTexts):
    """Has two-sided buckets in the decoder, too."""

    def bucket(self, relative: Array, *, both_sides: bool) -> Array:
        return super().bucket(relative, both_sides=True)


@wrong("t5", "direction-swapped")
class OneSideEverywhere(TwoTexts):
    """Has one-sided buckets in the encoder, too."""

    def bucket(self, relative: Array, *, both_sides: bool) -> Array:
        return super().bucket(relative, both_sides=False)


@wrong("t5", "sign-flipped bias-missing")
class QueryLessKey(TwoTexts):
    """Counts distances from the key: in the decoder all are in bucket 0, as without a bias."""

    def relative(self, queries: Array, keys: Array) -> Array:
        return -super().relative(queries, keys)


@wrong("t5", "distance-shifted")
class OneFarther(TwoTexts):
    def relative(self, queries: Array, keys: Array) -> Array:
        return super().relative(queries, keys) - 1


@wrong("t5", "distance-shifted")
class OneNearer(TwoTexts):
    def relative(self, queries: Array, keys: Array) -> Array:
        return super().relative(queries, keys) + 1


@wrong("t5-far", "wrong-max-distance")
class UsualDistance(TwoTexts):
    """Uses a farthest distance of 128 for every configuration."""

    def steps(self, ratio: Array, count: int) -> Array:
        self.config = {**self.config, "relative_attention_max_distance": 128}
        return super().steps(ratio, count)


@wrong("t5", "inexact-logarithm")
class ShortLogarithm(TwoTexts):
    """Finds logarithmic buckets with a logarithm in bfloat16."""

    def steps(self, ratio: Array, count: int) -> Array:
        farthest = self.config["relative_attention_max_distance"] / count
        logarithm = np.log(ratio).astype(ml_dtypes.bfloat16).astype(np.float64)
        return np.asarray(logarithm / math.log(farthest) * count)


@wrong("t5", "inexact-logarithm")
class NearestBucket(TwoTexts):
    """Rounds to the nearest bucket instead of down."""

    def steps(self, ratio: Array, count: int) -> Array:
        return np.round(super().steps(ratio, count))


# Wrong biases.


@wrong("t5", "bias-missing")
class NoBuckets(TwoTexts):
    def biases(self, part: str, queries: Array, keys: Array, layer: int) -> Array:
        return 0 * super().biases(part, queries, keys, layer)


@wrong("t5", "bias-missing")
class FirstLayerBiased(TwoTexts):
    """Adds the bias only in the layer that has the table."""

    def biases(self, part: str, queries: Array, keys: Array, layer: int) -> Array:
        return (layer == 0) * super().biases(part, queries, keys, layer)


@wrong("t5", "bias-missing-later")
class NoBiasWithCache(TwoTexts):
    """Adds no bias when the cache is not empty."""

    def looked_at(
        self, read: Array, attention: str, layer: int, cache: Cache
    ) -> tuple[Array, Array]:
        """Return keys and values of the encoder's output, computed once per cache."""
        if layer not in cache.keys:
            keys, values = (self.split(self.linear(read, f"{attention}.{name}")) for name in "kv")
            cache.keys[layer], cache.values[layer] = keys, values
        return cache.keys[layer], cache.values[layer]

    def kept(self, bias: Array, start: int) -> Array:
        return bias * (start == 0)


@wrong("t5", "scores-multiplied")
class ScoresDivided(TwoTexts):
    """Divides scores by the root of the number of channels, like other models."""

    def scale(self) -> float:
        return 1 / math.sqrt(self.size)


@wrong("t5", "scores-multiplied")
class BiasDivided(TwoTexts):
    """Divides biases by the root of the number of channels."""

    def biases(self, part: str, queries: Array, keys: Array, layer: int) -> Array:
        return super().biases(part, queries, keys, layer) / math.sqrt(self.size)


@wrong("t5", "causal")
class CausalEncoder(TwoTexts):
    """Hides keys after the query from the encoder."""

    def hidden(self, where: Array) -> Array:
        return np.where(where[None, :] > where[:, None], -np.inf, 0.0)


# Wrong positions.


@wrong("t5", "bias-missing-later")
class QueriesFromZero(TwoTexts):
    """Takes a single query's position for 0, as after a cache: all keys have bucket 0 then."""

    def biases(self, part: str, queries: Array, keys: Array, layer: int) -> Array:
        if part == "decoder" and len(queries) == 1:
            queries = 0 * queries
        return super().biases(part, queries, keys, layer)


@wrong("t5", "positions-ahead")
class WrittenOneAhead(TwoTexts):
    """Counts the positions of generated words one too far."""

    def positions(self, start: int, count: int, ends: int) -> Array:
        counted = np.arange(start, start + count)
        return np.where(counted >= ends, counted + 1, counted)


@wrong("t5", "wrong-in-batch")
class LooksAtTheNext(TwoTexts):
    """Lets the decoder of each text of a request read the next text."""

    def translate(
        self, both: Sequence[tuple[Text, Text]], steps: int
    ) -> list[list[dict[str, float]]]:
        texts, begun = zip(*both, strict=True)
        return super().translate([*zip((*texts[1:], texts[0]), begun, strict=True)], steps)
