"""Small right engines, in the plainest style and in others."""

import math
from collections.abc import Sequence
from threading import Lock

import ml_dtypes
import numpy as np

from posenc_lab.deployed.cases import right
from posenc_lab.deployed.engine import Array, Cache, Engine


@right("llama")
@right("mistral")
@right("qwen3")
@right("cohere")
@right("cohere2")
@right("gemma")
@right("gemma2")
@right("gemma3_text")
@right("glm")
@right("glm4")
@right("exaone4")
@right("ministral")
@right("olmo")
@right("seed_oss")
@right("llama4_text")
@right("olmo2")
@right("olmo3")
@right("gpt_oss")
@right("granite")
@right("ministral3")
@right("smollm3")
class Plain(Engine):
    pass


@right("deepseek_v2")
@right("deepseek_v3")
class Latent(Engine):
    """Has DeepSeek's latent attention, but caches full heads of keys and values."""

    def head_size(self) -> int:
        return int(self.config["qk_rope_head_dim"])

    def scale(self) -> float:
        return float(self.factor() / math.sqrt(self.config["qk_nope_head_dim"] + self.size))

    def factor(self) -> float:
        """Return the factor by which YaRN multiplies scores."""
        block = self.scaling(0)
        if not block.get("mscale_all_dim"):
            return 1.0
        return float((0.1 * block["mscale_all_dim"] * math.log(block["factor"]) + 1.0) ** 2)

    def attention(self, x: Array, layer: int, where: Array, cache: Cache) -> Array:
        start, still = len(cache.tokens), self.config["qk_nope_head_dim"]
        query = self.split(self.queries(x, layer))
        turned = self.turn_query(query[..., still:], where, layer)
        query = np.concatenate([query[..., :still], turned], axis=-1)
        narrow = self.linear(x, layer, "kv_a_proj_with_mqa")
        rank = self.config["kv_lora_rank"]
        rows = self.norm(narrow[:, :rank], self.named(layer, "kv_a_layernorm"))
        both = self.split(self.linear(rows, layer, "kv_b_proj"))
        shared = self.turn_key(narrow[None, :, rank:], where, layer)
        key = np.concatenate(
            [both[..., :still], np.broadcast_to(shared, (self.heads, *shared.shape[1:]))], axis=-1
        )
        keys, values = cache.extend(layer, self.rounded(key), both[..., still:])
        scores = self.rounded(query) @ keys.transpose(0, 2, 1) * self.scale()
        seen = self.seen(np.arange(start, start + len(x)), np.arange(keys.shape[1]), layer)
        weights = self.softmax(np.where(seen, scores, -np.inf))
        out = self.rounded(weights @ values).transpose(1, 0, 2).reshape(len(x), -1)
        return np.asarray(out @ self.named(layer, "o_proj").T)

    def queries(self, x: Array, layer: int) -> Array:
        """Return queries, through the low-rank projection if the configuration has one."""
        if not self.config.get("q_lora_rank"):
            return self.linear(x, layer, "q_proj")
        narrow = self.linear(x, layer, "q_a_proj")
        return self.linear(self.norm(narrow, self.named(layer, "q_a_layernorm")), layer, "q_b_proj")

    def named(self, layer: int, name: str) -> Array:
        return self.weights[f"model.layers.{layer}.self_attn.{name}.weight"]

    def linear(self, x: Array, layer: int, name: str) -> Array:
        return self.rounded(x @ self.named(layer, name).T)

    def split(self, x: Array) -> Array:
        """Return channels by head, [heads, tokens, channels]."""
        return x.reshape(len(x), self.heads, -1).transpose(1, 0, 2)


@right("llama")
@right("qwen3")
class Interleaved(Engine):
    """Rotates neighbouring channels, with permuted weights."""

    permuted: tuple[str, ...] = ("q_proj.weight", "k_proj.weight", "q_norm.weight", "k_norm.weight")
    """The weights whose channels are permuted."""

    def load(self) -> None:
        for name, weight in self.weights.items():
            if name.endswith(self.permuted):
                halves = weight.reshape(len(weight) // self.size, 2, self.size // 2, -1)
                self.weights[name] = halves.swapaxes(1, 2).reshape(weight.shape)

    def rotate(self, x: Array, positions: Array, layer: int) -> Array:
        cos, sin = self.angles(positions, layer)
        turned = (x[..., 0::2] + 1j * x[..., 1::2]) * (cos + 1j * sin)
        return np.stack([turned.real, turned.imag], axis=-1).reshape(x.shape).astype(np.float32)


@right("llama")
class Tables(Engine):
    """Precomputes cosines and sines of all positions."""

    def load(self) -> None:
        every = np.arange(self.config["max_position_embeddings"])
        self.tables = [super(Tables, self).angles(every, layer) for layer in range(self.layers)]

    def angles(self, positions: Array, layer: int) -> tuple[Array, Array]:
        cos, sin = self.tables[layer]
        return cos[positions], sin[positions]


@right("llama", "float16")
@right("mistral", "float16")
class HalfCache(Engine):
    """Caches keys and values in float16."""

    def attention(self, x: Array, layer: int, where: Array, cache: Cache) -> Array:
        out = super().attention(x, layer, where, cache)
        for stored in (cache.keys, cache.values):
            stored[layer] = stored[layer].astype(np.float16).astype(np.float32)
        return out


@right("llama", "bfloat16")
@right("qwen3", "bfloat16")
@right("cohere", "bfloat16")
@right("cohere2", "bfloat16")
@right("gemma", "bfloat16")
@right("gemma2", "bfloat16")
@right("gemma3_text", "bfloat16")
@right("glm", "bfloat16")
@right("glm4", "bfloat16")
@right("llama4_text", "bfloat16")
@right("olmo2", "bfloat16")
@right("olmo3", "bfloat16")
@right("gpt_oss", "bfloat16")
@right("granite", "bfloat16")
@right("ministral3", "bfloat16")
class Short(Engine):
    """Computes everything except angles in bfloat16."""

    dtype = ml_dtypes.bfloat16

    def softmax(self, scores: Array) -> Array:
        return self.rounded(super().softmax(scores))


@right("llama")
@right("mistral")
class Chunks(Engine):
    """Prefills a prompt in chunks."""

    chunk = 96


class KeepsPrefix(Engine):
    """Reuses the cache of the prefix shared with the last text."""

    def load(self) -> None:
        self.kept = Cache()
        self.lock = Lock()

    def begin(self, prompt: Sequence[int]) -> Cache:
        with self.lock:
            same = 0
            for ours, theirs in zip(self.kept.tokens, prompt[:-1], strict=False):
                if ours != theirs:
                    break
                same += 1
            return self.kept.cut(same)

    def keep(self, cache: Cache) -> None:
        with self.lock:
            self.kept = cache


right("llama")(KeepsPrefix)
right("qwen3")(KeepsPrefix)


@right("mistral")
@right("llama")
class KeysAsTheyAre(Engine):
    """Caches unrotated keys, rotates them in each pass, and reads only those in the window."""

    def attention(self, x: Array, layer: int, where: Array, cache: Cache) -> Array:
        start = len(cache.tokens)
        query = self.turn_query(self.projected(x, layer, "q", self.heads), where, layer)
        key, value = (self.projected(x, layer, name, self.kv_heads) for name in "kv")
        bare, values = cache.extend(layer, key, value)
        keys = self.turn_key(bare, np.arange(bare.shape[1]), layer)
        window, group = self.window(layer), self.heads // self.kv_heads
        heads = np.zeros((len(x), self.heads, self.size), dtype=np.float32)
        for row in range(len(x)):
            last = start + row + 1
            first = max(0, last - window) if window else 0
            for head in range(self.heads):
                scores = keys[head // group, first:last] @ query[head, row] * self.scale()
                shares = self.softmax(scores)
                heads[row, head] = shares @ values[head // group, first:last]
        out = self.weights[f"model.layers.{layer}.self_attn.o_proj.weight"]
        return np.asarray(heads.reshape(len(x), -1) @ out.T)
