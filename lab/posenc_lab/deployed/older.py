"""A small engine for models with ALiBi, or with a table of positions."""

import math
import threading
from collections.abc import Mapping, Sequence

import ml_dtypes
import numpy as np

from posenc_lab.deployed.cases import right, wrong
from posenc_lab.deployed.engine import Array, Cache, Config, Engine

FIELDS = {
    "n_head": "num_attention_heads",
    "n_heads": "num_attention_heads",
    "n_layer": "num_hidden_layers",
    "n_layers": "num_hidden_layers",
    "n_embd": "hidden_size",
    "d_model": "hidden_size",
    "layer_norm_epsilon": "layer_norm_eps",
}
"""Field names of some types, and their usual names."""
EMBEDDINGS = {
    "bloom": "transformer.word_embeddings",
    "falcon": "transformer.word_embeddings",
    "mpt": "transformer.wte",
    "gpt2": "transformer.wte",
    "gpt_bigcode": "transformer.wte",
    "opt": "model.decoder.embed_tokens",
}
TABLES = {
    "gpt2": "transformer.wpe",
    "gpt_bigcode": "transformer.wpe",
    "opt": "model.decoder.embed_positions",
}
LAST = {
    "mpt": "transformer.norm_f",
    "opt": "model.decoder.final_layer_norm",
}
FIRST = {
    "bloom": "transformer.h.{}.input_layernorm",
    "falcon": "transformer.h.{}.input_layernorm",
    "mpt": "transformer.blocks.{}.norm_1",
    "gpt2": "transformer.h.{}.ln_1",
    "gpt_bigcode": "transformer.h.{}.ln_1",
    "opt": "model.decoder.layers.{}.self_attn_layer_norm",
}


@right("bloom")
@right("mpt")
@right("falcon_alibi")
@right("gpt2")
@right("opt")
@right("gpt_bigcode")
class Older(Engine):
    """Has biases or a table of positions, and rotates nothing."""

    def __init__(self, config: Config, weights: Mapping[str, Array], words: Sequence[str]) -> None:
        named = {FIELDS.get(name, name): value for name, value in config.items()}
        if named.get("multi_query"):
            named["num_key_value_heads"] = 1
        super().__init__({"layer_norm_eps": 1e-5, **named}, weights, words)

    def load(self) -> None:
        self.type = self.config["model_type"]
        for layer in range(self.layers):
            parts, out = self.parts(layer)
            for name, values in zip("qkv", parts, strict=True):
                self.weights[f"model.layers.{layer}.self_attn.{name}_proj.weight"] = values
            self.weights[f"model.layers.{layer}.self_attn.o_proj.weight"] = out
            name = f"{FIRST[self.type].format(layer)}.weight"
            self.weights[f"model.layers.{layer}.input_layernorm.weight"] = self.weights[name]
        last = f"{LAST.get(self.type, 'transformer.ln_f')}.weight"
        self.weights["model.norm.weight"] = self.weights[last]
        name = f"{EMBEDDINGS[self.type]}.weight"
        self.weights["model.embed_tokens.weight"] = self.weights[name]

    def parts(self, layer: int) -> tuple[Sequence[Array], Array]:
        """Return the weights of queries, keys and values, and of the output."""
        if self.type == "opt":
            place = f"model.decoder.layers.{layer}.self_attn"
            weights = [self.weights[f"{place}.{name}_proj.weight"] for name in "qkv"]
            return weights, self.weights[f"{place}.out_proj.weight"]
        if self.type == "mpt":
            place = f"transformer.blocks.{layer}.attn"
            whole = self.weights[f"{place}.Wqkv.weight"]
            return np.split(whole, 3), self.weights[f"{place}.out_proj.weight"]
        if self.type in ("gpt2", "gpt_bigcode"):
            place = f"transformer.h.{layer}.attn"
            whole, out = (self.weights[f"{place}.c_{name}.weight"] for name in ("attn", "proj"))
            if self.type == "gpt2":
                return np.split(whole.T, 3), out.T
            sizes = [self.heads * self.size, (self.heads + 1) * self.size]
            return np.split(whole, sizes), out
        place = f"transformer.h.{layer}.self_attention"
        whole = self.weights[f"{place}.query_key_value.weight"]
        whole = whole.reshape(self.heads, 3, self.size, -1)
        parts = [whole[:, part].reshape(self.heads * self.size, -1) for part in range(3)]
        return parts, self.weights[f"{place}.dense.weight"]

    def norm(self, x: Array, weight: Array) -> Array:
        return super().norm(x - x.mean(axis=-1, keepdims=True), weight)

    def turns(self, layer: int) -> bool:
        return False

    def embedded(self, tokens: Sequence[int], where: Array) -> Array:
        x = self.embeddings[np.array(tokens)]
        if self.type == "bloom":
            x = self.norm(x, self.weights["transformer.word_embeddings_layernorm.weight"])
        if self.type in TABLES:
            table = self.weights[f"{TABLES[self.type]}.weight"]
            x = x + table[np.minimum(self.rows(where), len(table) - 1)]
        return np.asarray(x)

    def rows(self, where: Array) -> Array:
        """Return the table rows of positions."""
        return where + (2 if self.type == "opt" else 0)

    def bias(self, where: Array, keys: int) -> Array:
        if self.type in TABLES:
            return super().bias(where, keys)
        places = self.keys(where, keys)
        distances = places[None, None, :] - where[None, :, None]
        bias = (self.slopes()[:, None, None] * distances).astype(np.float32)
        return self.rounded(bias * (self.scale() if self.type == "falcon" else 1))

    def keys(self, where: Array, count: int) -> Array:
        """Return the positions of keys."""
        return np.arange(count)

    def slopes(self) -> Array:
        """Return the slope of each head."""
        return alibi(self.heads)


def alibi(heads: int) -> Array:
    """Return the ALiBi slopes of ``heads`` heads."""
    below = 2 ** int(math.log2(heads))
    first = 2.0 ** (-8 * np.arange(1, below + 1) / below)
    more = 2.0 ** (-4 * np.arange(1, 2 * below + 1, 2) / below)
    return np.concatenate([first, more[: heads - below]])


# Right in other styles.


@right("bloom")
@right("falcon_alibi")
class FromTheFirstKey(Older):
    """Adds slopes times key positions, independent of the query's position."""

    def bias(self, where: Array, keys: int) -> Array:
        return super().bias(0 * where, keys)


@right("falcon_alibi")
class SlopesAsReleased(Older):
    """Rounds Falcon's slopes to bfloat16, like its released code."""

    def slopes(self) -> Array:
        return np.asarray(super().slopes().astype(ml_dtypes.bfloat16).astype(np.float32))


@right("bloom", "bfloat16")
@right("mpt", "bfloat16")
@right("gpt2", "bfloat16")
@right("opt", "bfloat16")
class ShortOlder(Older):
    """Computes everything in bfloat16."""

    dtype = ml_dtypes.bfloat16

    def softmax(self, scores: Array) -> Array:
        return self.rounded(super().softmax(scores))


@right("mpt", "float16")
class HalfOlder(Older):
    """Computes everything in float16."""

    dtype = np.float16

    def softmax(self, scores: Array) -> Array:
        return self.rounded(super().softmax(scores))


@right("bloom")
@right("opt")
class PartByPart(Older):
    """Prefills a prompt in chunks."""

    chunk = 96


# Wrong biases.


@wrong("bloom", "bias-missing")
@wrong("mpt", "bias-missing")
@wrong("falcon_alibi", "bias-missing")
class NoBias(Older):
    def slopes(self) -> Array:
        return np.zeros(self.heads)


@wrong("bloom", "bias-reversed")
@wrong("mpt", "bias-reversed")
class FarKeysFirst(Older):
    """Flips the sign of the bias, so that it favours far keys."""

    def slopes(self) -> Array:
        return -super().slopes()


@wrong("mpt", "slopes-uniform")
class Uniform(Older):
    def slopes(self) -> Array:
        return np.asarray(2.0 ** (-8 * np.arange(1, self.heads + 1) / self.heads))


@wrong("mpt", "slopes-of-next-power")
class NextPower(Older):
    """Takes the first slopes of the next power of two."""

    def slopes(self) -> Array:
        return alibi(2 ** math.ceil(math.log2(self.heads)))[: self.heads]


@wrong("bloom", "slopes-of-another-count")
class HeadsOfAShare(Older):
    """Computes the slopes for half of the heads, as on one of two ranks, and uses them twice."""

    def slopes(self) -> Array:
        return np.tile(alibi(self.heads // 2), 2)


@wrong("bloom", "slopes-of-another-count")
class TwiceAsMany(Older):
    def slopes(self) -> Array:
        return alibi(2 * self.heads)[: self.heads]


@wrong("bloom", "slopes-reversed")
class OtherOrder(Older):
    def slopes(self) -> Array:
        return np.asarray(super().slopes()[::-1])


@wrong("bloom", "slopes-from-1")
class FromOne(Older):
    def slopes(self) -> Array:
        return np.asarray(2.0 ** (-8 * np.arange(self.heads) / self.heads))


@wrong("bloom", "slopes-of-another-maximum")
class MaximumOfSixteen(Older):
    def slopes(self) -> Array:
        return np.asarray(super().slopes() ** 2)


@wrong("mpt", "scores-multiplied")
class ScaledLikeScores(Older):
    """Multiplies biases by the scale of scores."""

    def bias(self, where: Array, keys: int) -> Array:
        return np.asarray(super().bias(where, keys) * self.scale())


@wrong("falcon_alibi", "scores-multiplied")
class FalconUnscaled(Older):
    """Adds Falcon's bias to scores that are already scaled."""

    def bias(self, where: Array, keys: int) -> Array:
        return np.asarray(super().bias(where, keys) / self.scale())


@wrong("mpt", "slopes-in-bfloat16")
class ShortSlopes(Older):
    def slopes(self) -> Array:
        return np.asarray(super().slopes().astype(ml_dtypes.bfloat16).astype(np.float32))


@wrong("mpt", "positions-in-bfloat16")
class ShortKeys(Older):
    def keys(self, where: Array, count: int) -> Array:
        return np.asarray(np.arange(count).astype(ml_dtypes.bfloat16).astype(np.float32))


@wrong("bloom", "bias-missing-later written-otherwise")
class NoBiasLater(Older):
    """Omits the bias while decoding."""

    def bias(self, where: Array, keys: int) -> Array:
        return np.asarray(super().bias(where, keys) * (len(where) > 1))


@wrong("bloom", "bias-missing")
class LastLayerWithout(Older):
    def load(self) -> None:
        super().load()
        self.now = threading.local()  # two requests may be computed at the same time

    def attention(self, x: Array, layer: int, where: Array, cache: Cache) -> Array:
        self.now.last = layer == self.layers - 1
        return super().attention(x, layer, where, cache)

    def bias(self, where: Array, keys: int) -> Array:
        return np.asarray(super().bias(where, keys) * (not self.now.last))


# Wrong rows.


@wrong("opt", "offset-missing")
class NoOffset(Older):
    def rows(self, where: Array) -> Array:
        return where


@wrong("opt", "offset-twice")
class OffsetTwice(Older):
    """Adds the offset to positions that already include it."""

    def rows(self, where: Array) -> Array:
        return where + 4


@wrong("gpt2", "rows-shifted")
class FromOneOn(Older):
    """Counts positions from 1."""

    def rows(self, where: Array) -> Array:
        return where + 1


@wrong("gpt2", "rows-clamped")
@wrong("opt", "rows-clamped")
class Clamped(Older):
    """Has half of the table, and reads its last row beyond the end."""

    def rows(self, where: Array) -> Array:
        return np.minimum(super().rows(where), 255)


@wrong("gpt2", "rows-start-anew")
class Anew(Older):
    """Has half of the table, and wraps around at its end."""

    def rows(self, where: Array) -> Array:
        return where % 256


@wrong("gpt2", "positions-restart")
@wrong("opt", "positions-restart")
class OlderRestarts(Older):
    def positions(self, start: int, count: int, ends: int) -> Array:
        counted = np.arange(start, start + count)
        return np.where(counted >= ends, counted - ends, counted)


@wrong("gpt2", "positions-stand-still")
class OlderStandsStill(Older):
    def positions(self, start: int, count: int, ends: int) -> Array:
        return np.minimum(np.arange(start, start + count), ends - 1)


@wrong("opt", "chunks-restart")
class OlderChunks(Older):
    """Counts from 0 in each part of a prompt."""

    chunk = 64

    def positions(self, start: int, count: int, ends: int) -> Array:
        return np.arange(count) + (start if start >= ends else 0)


@wrong("gpt2")
class Mixed(Older):
    """Adds the mean of the rows of two neighbouring positions."""

    def embedded(self, tokens: Sequence[int], where: Array) -> Array:
        both = [super(Mixed, self).embedded(tokens, rows) for rows in (where, where + 1)]
        return np.asarray((both[0] + both[1]) / 2)


@wrong("gpt2", "wrong-in-batch")
@wrong("opt", "wrong-in-batch")
class PaddingCounted(Older):
    """Pads shorter texts of a request on the left, and counts the padding."""

    filled = 0

    def complete_all(
        self, prompts: Sequence[Sequence[int]], steps: int
    ) -> list[list[dict[str, float]]]:
        longest, answers = max(map(len, prompts)), []
        for prompt in prompts:
            self.filled = longest - len(prompt)
            answers.append([*self.complete(prompt, steps)])
        self.filled = 0
        return answers

    def rows(self, where: Array) -> Array:
        return super().rows(where) + self.filled
