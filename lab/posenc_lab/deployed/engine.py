"""A small but typical inference engine in NumPy: configuration, weights, cache, decoding.

It shares no code with the kit or the reference. The other small engines derive from it.
"""

import json
import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Config = Mapping[str, Any]
SAFETENSORS = {"F32": np.float32, "F16": np.float16}
NEIGHBOURS = (
    "cohere",
    "cohere2",
    "deepseek_v2",
    "deepseek_v3",
    "glm",
    "glm4",
    "kimi_k2",
    "llama4_text",
)
"""Types that rotate pairs of neighbouring channels (the interleaved layout)."""
LOCAL = ("gemma3_text", "olmo3")
"""Types whose sliding layers rotate without scaling."""
ADDS_ONE = ("gemma", "gemma2", "gemma3_text")
"""Types whose norms add 1 to their weights."""
GEMMA = (*ADDS_ONE, "gemma4_text")
COHERE = ("cohere", "cohere2")


def read_checkpoint(folder: Path) -> tuple[Config, dict[str, Array], list[str]]:
    """Read a released model's folder; return configuration, weights, and words by token."""
    config = json.loads((folder / "config.json").read_text())
    words = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    data = (folder / "model.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    body = data[8 + length :]
    weights = {}
    for name, entry in header.items():
        if name != "__metadata__":
            start, end = entry["data_offsets"]
            flat = np.frombuffer(body[start:end], SAFETENSORS[entry["dtype"]])
            weights[name] = flat.astype(np.float32).reshape(entry["shape"])
    return config, weights, sorted(words, key=words.__getitem__)


@dataclass
class Cache:
    """A KV cache: keys and values of the tokens so far, by layer."""

    tokens: list[int] = field(default_factory=list)
    keys: dict[int, Array] = field(default_factory=dict)
    values: dict[int, Array] = field(default_factory=dict)

    def extend(self, layer: int, keys: Array, values: Array) -> tuple[Array, Array]:
        """Add keys and values, [heads, tokens, channels], and return all of the layer."""
        if layer in self.keys:
            keys = np.concatenate([self.keys[layer], keys], axis=1)
            values = np.concatenate([self.values[layer], values], axis=1)
        self.keys[layer], self.values[layer] = keys, values
        return keys, values

    def cut(self, length: int) -> "Cache":
        """Return the cache of only the first ``length`` tokens."""
        return Cache(
            self.tokens[:length],
            {layer: stored[:, :length] for layer, stored in self.keys.items()},
            {layer: stored[:, :length] for layer, stored in self.values.items()},
        )


class Engine:
    """A right engine in the plainest style."""

    dtype: Any = np.float32
    """The dtype to which queries, keys, values and the hidden state are rounded."""
    chunk = 1 << 30
    """Maximum number of prompt tokens per forward pass."""
    shifts: int | None = None
    """Length in tokens of a context that drops its first tokens when full."""

    def __init__(self, config: Config, weights: Mapping[str, Array], words: Sequence[str]) -> None:
        self.config = config
        self.weights = dict(weights)
        self.words = words
        self.heads = config["num_attention_heads"]
        self.kv_heads = config.get("num_key_value_heads", self.heads)
        self.size = self.head_size()
        self.width = self.turned_size()
        self.layers = config["num_hidden_layers"]
        self.load()

    def head_size(self) -> int:
        """Return the number of channels of a head."""
        return int(self.config.get("head_dim") or self.config["hidden_size"] // self.heads)

    def turned_size(self) -> int:
        """Return the number of channels of a head that rotate."""
        return int(self.size * self.config.get("partial_rotary_factor", 1.0))

    def load(self) -> None:
        """Convert the weights for this engine."""

    # Configuration.

    def scaling(self, layer: int) -> Config:
        """Return the scaling block of the configuration, including the base."""
        block = self.config.get("rope_parameters") or self.config.get("rope_scaling") or {}
        if self.config["model_type"] in LOCAL and self.window(layer) is not None:
            base = self.config.get("rope_local_base_freq", self.config["rope_theta"])
            return {"rope_theta": base, "rope_type": "default"}
        fields = {"rope_theta": self.config.get("rope_theta", 10000.0), **block}
        return {**fields, "rope_type": block.get("rope_type", block.get("type", "default"))}

    def frequencies(self, layer: int) -> tuple[Array, float]:
        """Return the frequency of each pair, and the factor that multiplies cosines and sines."""
        block = self.scaling(layer)
        plain = self.plain(float(block["rope_theta"]))
        kind = block["rope_type"]
        if kind == "llama3":
            return self.llama3(plain, block), 1.0
        if kind == "yarn":
            return self.yarn(plain, block), self.attention_factor(block)
        if kind == "linear":
            return plain / block["factor"], 1.0
        return plain, 1.0

    def plain(self, base: float) -> Array:
        """Return the unscaled frequencies of RoPE."""
        exponents = np.arange(0, self.width, 2, dtype=np.float64) / self.width
        return np.asarray(base**-exponents)

    def llama3(self, plain: Array, block: Config) -> Array:
        """Return Llama 3's frequencies."""
        original = block["original_max_position_embeddings"]
        low, high = block["low_freq_factor"], block["high_freq_factor"]
        turns = original * plain / (2 * math.pi)
        smooth = np.clip((turns - low) / (high - low), 0, 1)
        return np.asarray(plain * (smooth + (1 - smooth) / block["factor"]))

    def yarn(self, plain: Array, block: Config) -> Array:
        """Return YaRN's frequencies."""
        base, original = block["rope_theta"], block["original_max_position_embeddings"]

        def pair(turns: float) -> float:
            return self.size * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(base))

        first, last = self.ramp(
            pair(block.get("beta_fast", 32)), pair(block.get("beta_slow", 1)), block
        )
        ramp = np.clip((np.arange(self.size // 2) - first) / max(last - first, 1e-3), 0, 1)
        return np.asarray(plain * (1 - ramp + ramp / block["factor"]))

    def ramp(self, first: float, last: float, block: Config) -> tuple[float, float]:
        """Return the first and last pair of the ramp between unscaled and scaled frequencies."""
        if block.get("truncate", True):
            first, last = math.floor(first), math.ceil(last)
        return max(first, 0), min(last, self.size - 1)

    def attention_factor(self, block: Config) -> float:
        """Return YaRN's attention factor, which multiplies cosines and sines."""
        if block.get("mscale") and block["mscale"] == block.get("mscale_all_dim"):
            return 1.0
        return 0.1 * math.log(block["factor"]) + 1.0

    def window(self, layer: int) -> int | None:
        """Return how many positions a query sees; None for no limit."""
        kinds = self.config.get("layer_types")
        if kinds is not None and kinds[layer] != "sliding_attention":
            return None
        if self.config["model_type"].startswith("qwen"):
            if not self.config.get("use_sliding_window"):
                return None
            if kinds is None and layer < self.config.get("max_window_layers", 28):
                return None
        size = self.config.get("sliding_window")
        return None if size is None else int(size)

    # Layers.

    def norm(self, x: Array, weight: Array) -> Array:
        """Return RMSNorm, or LayerNorm for the types that use it."""
        eps = self.config.get("rms_norm_eps") or self.config["layer_norm_eps"]
        if self.config["model_type"] in (*COHERE, "olmo"):
            x = x - x.mean(axis=-1, keepdims=True)
        if self.config["model_type"] in ADDS_ONE:
            weight = 1 + weight
        mean = (x.astype(np.float32) ** 2).mean(axis=-1, keepdims=True)
        return self.rounded(x / np.sqrt(mean + eps) * weight)

    def rounded(self, x: Array) -> Array:
        """Round to the engine's dtype."""
        return np.asarray(x.astype(self.dtype).astype(np.float32))

    def angles(self, positions: Array, layer: int) -> tuple[Array, Array]:
        """Return cosines and sines, [tokens, pairs]."""
        frequencies, longer = self.frequencies(layer)
        angle = positions[:, None].astype(np.float32) * frequencies.astype(np.float32)
        return longer * np.cos(angle), longer * np.sin(angle)

    def rotate(self, x: Array, positions: Array, layer: int) -> Array:
        """Rotate queries or keys, [heads, tokens, channels], in layers that rotate."""
        if not self.turns(layer):
            return x
        cos, sin = self.angles(positions, layer)
        first, second = self.pairs(x[..., : self.width])
        turned = (first * cos - second * sin, second * cos + first * sin)
        return np.concatenate([self.joined(*turned), x[..., self.width :]], axis=-1)

    def turns(self, layer: int) -> bool:
        """Return whether a layer rotates queries and keys."""
        if self.config["model_type"] in ("cohere2", "exaone4", "exaone4_5_text"):
            return self.window(layer) is not None
        every = self.config.get("no_rope_layer_interval")
        return every is None or (layer + 1) % every != 0

    def pairs(self, x: Array) -> tuple[Array, Array]:
        """Return the first and second channels of all pairs."""
        if self.config["model_type"] in NEIGHBOURS:
            return x[..., 0::2], x[..., 1::2]
        first, second = np.split(x, 2, axis=-1)
        return first, second

    def joined(self, first: Array, second: Array) -> Array:
        """Return channels in their original order: the inverse of ``pairs``."""
        if self.config["model_type"] in NEIGHBOURS:
            return np.stack([first, second], axis=-1).reshape(*first.shape[:-1], self.width)
        return np.concatenate([first, second], axis=-1)

    def turn_query(self, x: Array, positions: Array, layer: int) -> Array:
        """Rotate queries and apply the attention temperature."""
        return self.rotate(x, positions, layer) * self.warmth(positions, layer)

    def warmth(self, positions: Array, layer: int) -> Array:
        """Return the temperature that multiplies queries, [tokens, 1]."""
        block = self.scaling(layer)
        beta = block.get("llama_4_scaling_beta", 0.0)
        steps = positions // block.get("original_max_position_embeddings", 1)
        if self.config.get("attn_temperature_tuning") and not self.turns(layer):
            beta = self.config["attn_scale"]
            steps = (positions + 1) // self.config["floor_scale"]
        return np.asarray(1 + beta * np.log1p(steps), dtype=np.float32)[:, None]

    def turn_key(self, x: Array, positions: Array, layer: int) -> Array:
        """Rotate keys."""
        return self.rotate(x, positions, layer)

    def positions(self, start: int, count: int, ends: int) -> Array:
        """Return positions of ``count`` tokens from ``start`` on; the prompt ends at ``ends``."""
        return np.arange(start, start + count)

    def scale(self) -> float:
        """Return the factor that multiplies scores."""
        if "attention_multiplier" in self.config:
            return float(self.config["attention_multiplier"])
        if "query_pre_attn_scalar" in self.config:
            return float(self.config["query_pre_attn_scalar"] ** -0.5)
        return 1 / math.sqrt(self.size)

    def projected(self, x: Array, layer: int, name: str, heads: int) -> Array:
        """Return queries, keys or values, [heads, tokens, channels]."""
        place = f"model.layers.{layer}.self_attn.{name}"
        rows = x @ self.weights[f"{place}_proj.weight"].T
        if f"{place}_proj.bias" in self.weights:
            rows = rows + self.weights[f"{place}_proj.bias"]
        rows, weight = self.rounded(rows), self.weights.get(f"{place}_norm.weight")
        if weight is not None and len(weight) > self.size:
            rows, weight = self.norm(rows, weight), None
        rows = rows.reshape(len(x), heads, self.size).transpose(1, 0, 2)
        return rows if weight is None else self.norm(rows, weight)

    def spread(self, x: Array) -> Array:
        """Repeat keys or values for the query heads that share them."""
        return np.repeat(x, self.heads // self.kv_heads, axis=0)

    def seen(self, queries: Array, keys: Array, layer: int) -> Array:
        """Return the attention mask, True where a query sees a key, from places in the text."""
        distance = queries[:, None] - keys
        window, chunk = self.window(layer), self.chunk_size(layer)
        seen = (distance >= 0) & (distance < (window or 1 << 30))
        return np.asarray(seen & (queries[:, None] // chunk == keys // chunk))

    def chunk_size(self, layer: int) -> int:
        """Return the number of positions in an attention chunk of a layer."""
        size = self.config.get("attention_chunk_size")
        return int(size) if size is not None and self.turns(layer) else 1 << 30

    def attention(self, x: Array, layer: int, where: Array, cache: Cache) -> Array:
        """Return the output of a layer's attention."""
        start = len(cache.tokens)
        query = self.turn_query(self.projected(x, layer, "q", self.heads), where, layer)
        key = self.turn_key(self.projected(x, layer, "k", self.kv_heads), where, layer)
        value = self.projected(x, layer, "v", self.kv_heads)
        keys, values = cache.extend(layer, self.shortened(self.rounded(key)), self.shortened(value))
        scores = self.rounded(query) @ self.spread(keys).transpose(0, 2, 1) * self.scale()
        scores = self.capped(scores, self.score_cap()) + self.bias(where, keys.shape[1])
        seen = self.seen(np.arange(start, start + len(x)), np.arange(keys.shape[1]), layer)
        weights = self.shares(np.where(seen, scores, -np.inf), layer)
        out = self.rounded(weights @ self.spread(values)).transpose(1, 0, 2).reshape(len(x), -1)
        return np.asarray(out @ self.weights[f"model.layers.{layer}.self_attn.o_proj.weight"].T)

    def shortened(self, x: Array) -> Array:
        """Return keys or values, [heads, tokens, channels], as the cache stores them."""
        return x

    def bias(self, where: Array, keys: int) -> Array:
        """Return the bias of scores, [heads, queries, keys]; here zero."""
        return np.zeros((1, 1, 1), dtype=np.float32)

    def score_cap(self) -> float | None:
        """Return the cap of scores, if any."""
        cap = self.config.get("attn_logit_softcapping")
        return None if cap is None else float(cap)

    def capped(self, x: Array, cap: float | None) -> Array:
        """Return numbers limited to +-``cap`` by a soft cap."""
        return x if cap is None else np.asarray(cap * np.tanh(x / cap))

    def shares(self, scores: Array, layer: int) -> Array:
        """Return the attention weights of keys; a head's sink takes the rest of the sum."""
        sinks = self.weights.get(f"model.layers.{layer}.self_attn.sinks")
        if sinks is None:
            return self.softmax(scores)
        beside = np.broadcast_to(sinks[:, None, None], (*scores.shape[:2], 1))
        return self.softmax(np.concatenate([scores, beside], axis=-1))[..., :-1]

    def softmax(self, scores: Array) -> Array:
        """Return the softmax of scores over keys."""
        raised = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return np.asarray(raised / raised.sum(axis=-1, keepdims=True))

    def forward(self, tokens: Sequence[int], cache: Cache, ends: int) -> Array:
        """Return the logits after the last token, and add the tokens to the cache."""
        where = self.positions(len(cache.tokens), len(tokens), ends)
        x = self.rounded(self.embedded(tokens, where))
        for layer in range(self.layers):
            read = self.before(x, layer)
            added = self.attention(read, layer, where, cache)
            x = self.rounded(x + self.behind(self.rounded(added), layer))
            if self.tied:  # the feed-forward part of other probes returns 0
                beside = self.config["model_type"] in COHERE
                x = self.rounded(x + self.feed_forward(read if beside else x, layer))
        cache.tokens += tokens
        last = self.norm(x[-1:], self.weights.get("model.norm.weight", np.ones(1)))
        rows = self.embeddings if self.tied else self.weights["lm_head.weight"]
        return self.capped((last @ rows.T)[0], self.logit_cap())

    def embedded(self, tokens: Sequence[int], where: Array) -> Array:
        """Return the hidden state before the first layer."""
        return np.asarray(self.embeddings[np.array(tokens)] * self.stretch())

    def logit_cap(self) -> float | None:
        """Return the cap of logits, if any."""
        cap = self.config.get("final_logit_softcapping")
        return None if cap is None else float(cap)

    @property
    def embeddings(self) -> Array:
        """The embedding of each token, [tokens, channels]."""
        return self.weights["model.embed_tokens.weight"]

    @property
    def tied(self) -> bool:
        """Whether the output matrix is the embedding matrix."""
        return "lm_head.weight" not in self.weights

    def stretch(self) -> float:
        """Return the factor that multiplies embeddings."""
        return math.sqrt(self.config["hidden_size"]) if self.config["model_type"] in GEMMA else 1.0

    def feed_forward(self, x: Array, layer: int) -> Array:
        """Return the output of the feed-forward layer, with the norms around it, if any."""
        place = f"model.layers.{layer}"
        for name in ("pre_feedforward_layernorm", "post_attention_layernorm"):
            if f"{place}.{name}.weight" in self.weights:
                x = self.norm(x, self.weights[f"{place}.{name}.weight"])
                break
        gate, up, down = (
            self.weights[f"{place}.mlp.{name}_proj.weight"] for name in ("gate", "up", "down")
        )
        added = self.rounded((self.activated(x @ gate.T) * (x @ up.T)) @ down.T)
        behind = self.weights.get(f"{place}.post_feedforward_layernorm.weight")
        return added if behind is None else self.norm(added, behind)

    def activated(self, x: Array) -> Array:
        """Return GELU or SiLU."""
        if self.config["model_type"] in GEMMA:
            inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
            return np.asarray(0.5 * x * (1 + np.tanh(inner)))
        return np.asarray(x / (1 + np.exp(-x)))

    def before(self, x: Array, layer: int) -> Array:
        """Return the input of a layer's attention: the hidden state, normed in most types."""
        weight = self.weights.get(f"model.layers.{layer}.input_layernorm.weight")
        if self.config["model_type"] == "olmo":
            weight = np.ones(1)
        return x if weight is None else self.norm(x, weight)

    def behind(self, added: Array, layer: int) -> Array:
        """Return the output of attention, normed in types with a norm after attention."""
        name = {
            "exaone4": "post_attention_layernorm",
            "exaone4_5_text": "post_attention_layernorm",
            "gemma2": "post_attention_layernorm",
            "gemma3_text": "post_attention_layernorm",
            "gemma4_text": "post_attention_layernorm",
            "glm4": "post_self_attn_layernorm",
            "olmo2": "post_attention_layernorm",
            "olmo3": "post_attention_layernorm",
        }.get(self.config["model_type"])
        if name is None:
            return added
        return self.norm(added, self.weights[f"model.layers.{layer}.{name}.weight"])

    # Requests.

    def begin(self, prompt: Sequence[int]) -> Cache:
        """Return the initial cache of a request."""
        return Cache()

    def keep(self, cache: Cache) -> None:
        """Store the cache of a finished request for later ones; here it is dropped."""

    def complete(self, prompt: Sequence[int], steps: int) -> Iterator[dict[str, float]]:
        """Yield the log-probabilities of the likeliest words, token by token."""
        cache = self.begin(prompt)
        left = [*prompt][len(cache.tokens) :]
        while left:
            part, left = left[: self.chunk], left[self.chunk :]
            logits = self.forward(part, cache, len(prompt))
        for step in range(steps):
            shifted = logits - logits.max()
            log_probabilities = shifted - math.log(np.exp(shifted).sum())
            order = np.argsort(-log_probabilities, kind="stable")[:10]
            yield {self.words[token]: float(log_probabilities[token]) for token in order}
            if step + 1 < steps:
                logits = self.forward([int(order[0])], cache, len(prompt))
        self.keep(cache)

    def complete_all(
        self, prompts: Sequence[Sequence[int]], steps: int
    ) -> list[list[dict[str, float]]]:
        """Complete several prompts of one request."""
        return [[*self.complete(prompt, steps)] for prompt in prompts]

    def say(
        self, texts: Sequence[Sequence[int]], places: Sequence[Sequence[int]]
    ) -> list[list[dict[str, float]]]:
        """Return log-probabilities of all words at some places of each text (encoders only)."""
        raise NotImplementedError

    def translate(
        self, both: Sequence[tuple[Sequence[int], Sequence[int]]], steps: int
    ) -> list[list[dict[str, float]]]:
        """Continue the begun output of each text (encoders with a decoder only)."""
        raise NotImplementedError
