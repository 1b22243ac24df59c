"""Right engines in other ways than the plainest: products, caches, batches, tables, orders."""

import math

import ml_dtypes
import numpy as np

from posenc_lab.deployed.encoders import Encoder
from posenc_lab.deployed.engine import Array, Cache
from posenc_lab.deployed.outside.cases import FAR, right
from posenc_lab.deployed.outside.heads import Fused
from posenc_lab.deployed.outside.rounding import product
from posenc_lab.deployed.outside.serving import (
    Served,
)

TF32 = "thinking-machines-lab/batch_invariant_ops#23"
Answers = list[list[dict[str, float]]]

for config in (
    "llama-far",
    "llama-deep",
    "llama-wide",
    "mistral-deep",
    "gemma2-deep",
    "gemma3-deep",
    "gemma3-nested",
    "llama-nested",
    "linear",
    "qwen2",
    "qwen3-plain",
    "yarn-betas",
    "yarn-factor",
):
    right(config, name="plain", about="Computes everything in the plainest way.")(Served)
right("phi3", name="fused", about="Splits one matrix for queries, keys and values.")(Fused)
right("modernbert-deep", name="plain", about="Computes all in the plainest way.")(Encoder)


# Products.


class Products(Served):
    """Multiplies matrices in another way; ``multiplied`` says how."""

    def multiplied(self, x: Array, y: Array) -> Array:
        """Return the product of two matrices."""
        return np.asarray(x @ y)

    def projected(self, x: Array, layer: int, name: str, heads: int) -> Array:
        place = f"model.layers.{layer}.self_attn.{name}"
        found = self.multiplied(x, self.weights[f"{place}_proj.weight"].T)
        if f"{place}_proj.bias" in self.weights:
            found = found + self.weights[f"{place}_proj.bias"]
        found = self.rounded(found).reshape(len(x), heads, self.size).transpose(1, 0, 2)
        weight = self.weights.get(f"{place}_norm.weight")
        return found if weight is None else self.norm(found, weight)

    def attention(self, x: Array, layer: int, where: Array, cache: Cache) -> Array:
        start = len(cache.tokens)
        query = self.turn_query(self.projected(x, layer, "q", self.heads), where, layer)
        key = self.turn_key(self.projected(x, layer, "k", self.kv_heads), where, layer)
        value = self.projected(x, layer, "v", self.kv_heads)
        keys, values = cache.extend(layer, self.shortened(self.rounded(key)), self.shortened(value))
        scores = self.multiplied(self.rounded(query), self.spread(keys).transpose(0, 2, 1))
        seen = self.seen(np.arange(start, start + len(x)), np.arange(keys.shape[1]), layer)
        scores = np.where(seen, self.capped(scores * self.scale(), self.score_cap()), -np.inf)
        out = self.rounded(self.multiplied(self.shares(scores, layer), self.spread(values)))
        out = out.transpose(1, 0, 2).reshape(len(x), -1)
        place = f"model.layers.{layer}.self_attn.o_proj.weight"
        return self.multiplied(out, self.weights[place].T)


@right("llama", dtype="tf32", report=TF32)
@right("mistral", dtype="tf32", report=TF32)
@right("qwen3", dtype="tf32", report=TF32)
@right("qwen2", dtype="tf32", report=TF32)
@right("llama", name="products-in-tensor-float-as-bfloat16", dtype="bfloat16", report=TF32)
class ProductsInTensorFloat(Products):
    """Multiplies all matrices in TF32, and sums in float32."""

    def multiplied(self, x: Array, y: Array) -> Array:
        return product(x, y)


@right("llama", dtype="tf32", report=TF32)
class PrefillInTensorFloat(Products):
    """Multiplies in TF32 what has several rows, and a single row in float32."""

    def multiplied(self, x: Array, y: Array) -> Array:
        return product(x, y) if x.shape[-2] > 1 else np.asarray(x @ y)


@right("llama", dtype="bfloat16")
@right("qwen3", dtype="bfloat16")
class ProductsInBrain(Products):
    """Multiplies all matrices in bfloat16, sums in float32, and keeps all else in float32."""

    def multiplied(self, x: Array, y: Array) -> Array:
        first, second = (each.astype(ml_dtypes.bfloat16).astype(np.float32) for each in (x, y))
        return np.asarray(first @ second)


@right("llama", dtype="float16")
@right("mistral", dtype="float16")
class ProductsInHalf(Products):
    """Multiplies all matrices in float16, and sums in float32."""

    dtype = np.float16

    def multiplied(self, x: Array, y: Array) -> Array:
        first, second = (each.astype(np.float16).astype(np.float32) for each in (x, y))
        return np.asarray(first @ second)


@right("llama", dtype="bfloat16")
class StoredInBrain(Served):
    """Keeps turned keys and values in bfloat16, and computes in float32."""

    def shortened(self, x: Array) -> Array:
        return np.asarray(x.astype(ml_dtypes.bfloat16).astype(np.float32))


@right("llama", dtype="bfloat16")
@right("gemma2", dtype="bfloat16")
class SharesInBrain(Served):
    """Rounds the shares of keys to bfloat16 before they multiply values, as kernels do."""

    dtype = ml_dtypes.bfloat16

    def shares(self, scores: Array, layer: int) -> Array:
        return self.rounded(super().shares(scores, layer))


# Attention in other orders.


class Tiles(Served):
    """Goes over keys in tiles, and corrects the sum of shares when a larger score comes."""

    tile = 64

    def softmax(self, scores: Array) -> Array:
        largest = np.full((*scores.shape[:-1], 1), -np.inf, dtype=scores.dtype)
        total = np.zeros_like(largest)
        for start in range(0, scores.shape[-1], self.tile):
            part = scores[..., start : start + self.tile]
            higher = np.maximum(largest, part.max(axis=-1, keepdims=True))
            safe = np.where(np.isneginf(higher), 0, higher)
            total = total * np.exp(largest - safe) + np.exp(part - safe).sum(axis=-1, keepdims=True)
            largest = higher
        return np.asarray(np.exp(scores - largest) / total)


right("llama")(Tiles)
right("mistral")(Tiles)
right("gpt_oss")(Tiles)


@right("llama")
@right("gemma2")
class PowersOfTwo(Served):
    """Takes powers of 2 of scores that are divided by the logarithm of 2."""

    def softmax(self, scores: Array) -> Array:
        scaled = scores * np.float32(1 / math.log(2))
        raised = np.exp2(scaled - scaled.max(axis=-1, keepdims=True))
        return np.asarray(raised / raised.sum(axis=-1, keepdims=True))


@right("llama")
class FromTheLastChannel(Served):
    """Sums channels of scores from the last one to the first."""

    def turn_query(self, x: Array, positions: Array, layer: int) -> Array:
        return super().turn_query(x, positions, layer)[..., ::-1]

    def turn_key(self, x: Array, positions: Array, layer: int) -> Array:
        return super().turn_key(x, positions, layer)[..., ::-1]


@right("llama")
@right("qwen3-plain")
class ScaledBeforehand(Served):
    """Multiplies queries by the scale, and scores not."""

    def turn_query(self, x: Array, positions: Array, layer: int) -> Array:
        return super().turn_query(x, positions, layer) * np.float32(super().scale())

    def scale(self) -> float:
        return 1.0


# Rotations in other ways.


@right("llama")
@right("gemma3_text")
class TurnsInDouble(Served):
    """Turns in float64."""

    def angles(self, positions: Array, layer: int) -> tuple[Array, Array]:
        frequencies, longer = self.frequencies(layer)
        angle = np.asarray(positions, np.float64)[:, None] * frequencies
        return longer * np.cos(angle), longer * np.sin(angle)

    def rotate(self, x: Array, positions: Array, layer: int) -> Array:
        return super().rotate(x.astype(np.float64), positions, layer).astype(np.float32)


@right("llama")
@right("glm")
class TurnsComplex(Served):
    """Multiplies complex numbers."""

    def rotate(self, x: Array, positions: Array, layer: int) -> Array:
        cos, sin = self.angles(positions, layer)
        first, second = self.pairs(x[..., : self.width])
        turned = (first + 1j * second) * (cos + 1j * sin)
        parts = self.joined(turned.real.astype(np.float32), turned.imag.astype(np.float32))
        return np.concatenate([parts, x[..., self.width :]], axis=-1)


@right("llama-far", context=FAR)
class FrequenciesInverted(Served):
    """Divides positions by periods in float32, where others multiply by frequencies."""

    chunk = 512

    def angles(self, positions: Array, layer: int) -> tuple[Array, Array]:
        frequencies, longer = self.frequencies(layer)
        periods = (1 / frequencies).astype(np.float32)
        angle = positions[:, None].astype(np.float32) / periods
        return longer * np.cos(angle), longer * np.sin(angle)


@right("llama-far", context=FAR, report="karpathy/nanochat#612")
class TablesThatGrow(Served):
    """Keeps tables of 256 positions, and doubles them when more are asked for."""

    chunk = 512

    def load(self) -> None:
        self.tables: dict[int, tuple[Array, Array]] = {}

    def angles(self, positions: Array, layer: int) -> tuple[Array, Array]:
        needed, table = int(positions.max()) + 1, self.tables.get(layer)
        if table is None or len(table[0]) < needed:
            rows = 256 * 2 ** max(0, math.ceil(math.log2(needed / 256)))
            table = super().angles(np.arange(rows), layer)
            self.tables[layer] = table
        return table[0][positions], table[1][positions]


@right("llama", report="NVIDIA/TensorRT-LLM#18774")
class TablesByPowers(Served):
    """Reckons frequencies as powers in float32."""

    def plain(self, base: float) -> Array:
        exponents = np.arange(0, self.width, 2, dtype=np.float32) / np.float32(self.width)
        return np.float32(1) / np.float32(base) ** exponents


@right("llama")
@right("mistral")
class CountsFromFive(Served):
    """Counts positions of keys and queries from 5."""

    def positions(self, start: int, count: int, ends: int) -> Array:
        return np.arange(start, start + count) + 5


@right("llama-far", context=FAR)
class AnglesWithinATurn(Served):
    """Takes whole turns away from angles in float64 before their cosines."""

    chunk = 512

    def angles(self, positions: Array, layer: int) -> tuple[Array, Array]:
        frequencies, longer = self.frequencies(layer)
        angle = np.mod(positions[:, None] * frequencies, 2 * np.pi).astype(np.float32)
        return longer * np.cos(angle), longer * np.sin(angle)
