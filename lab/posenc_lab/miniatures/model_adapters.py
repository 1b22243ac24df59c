"""Engines that read a model's configuration: right ones, and a wrong one for each mistake."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from posenc_conformance import claims

Array = npt.NDArray[Any]
Config = Mapping[str, Any]

MODELS = (
    "llama-2-7b",
    "llama-3.1-8b",
    "llama-3.2-1b",
    "llama-4-maverick",
    "llama-4-scout",
    "deepseek-v3",
    "gemma-3-4b",
    "gemma-4-e2b",
    "gpt-oss-20b",
    "ministral-3-3b",
    "modernbert-base",
    "phi-3.5-mini",
    "pythia-70m",
    "qwen3-0.6b",
)
SCORED = ("llama-4-scout", "deepseek-v3", "ministral-3-3b", "gpt-oss-20b", "gemma-3-4b")
FLOATS = ("float32", "bfloat16", "float16")
NEIGHBOURS = ("llama4_text", "deepseek_v3")
"""Model types whose checkpoints store the channels of a pair side by side."""


class Engine:
    """One table of float32 angles per call; pairs in the layout of the model type."""

    precision: Any = np.float32

    @claims(models=MODELS, dtype=FLOATS, max_position=2**24)
    def rotary(self, x: Array, positions: Array, *, config: Config, layer: int) -> Array:
        if not self.rotates(config, layer):
            return x
        block = self.block(config, layer)
        size = x.shape[-1]
        width = self.width(config, size)
        length = int(positions.max()) + 1
        omega = self.frequencies(config, block, layer, width, length)
        factor = self.attention_factor(config, block)
        rotated = self.turned(x[..., :width], positions, omega, factor, config)
        return np.concatenate([rotated.astype(x.dtype), x[..., width:]], axis=-1)

    @claims(models=SCORED, dtype=FLOATS, max_position=2**24)
    def scores(
        self,
        q: Array,
        k: Array,
        q_positions: Array,
        k_positions: Array,
        *,
        config: Config,
        layer: int,
    ) -> Array:
        queries = self.rotary(q, q_positions, config=config, layer=layer).astype(self.precision)
        keys = self.rotary(k, k_positions, config=config, layer=layer).astype(self.precision)
        warm = self.temperature(q_positions, config, layer).astype(self.precision)
        factor = self.precision(self.score_factor(config, layer))
        logits = np.einsum("hqd,hkd->hqk", queries * warm[:, None], keys)
        return np.asarray(logits * factor).astype(q.dtype)

    def temperature(self, positions: Array, config: Config, layer: int) -> Array:
        """Return the factor for each query; Llama 4 has one only in layers without rotation."""
        if config["model_type"] == "llama4_text":
            if not self.warms(config, layer):
                return np.ones(len(positions))
            scale, interval, first = config["attn_scale"], config["floor_scale"], 1
        else:
            block = self.block(config, layer)
            scale, first = block.get("llama_4_scaling_beta", 0), 0
            if not scale:
                return np.ones(len(positions))
            interval = self.original(config, block)
        return np.asarray(1 + scale * np.log(1 + self.steps(positions + first, interval)))

    def warms(self, config: Config, layer: int) -> bool:
        return not self.rotates(config, layer)

    def steps(self, positions: Array, interval: int) -> Array:
        return np.asarray(positions // interval)

    def score_factor(self, config: Config, layer: int) -> float:
        block = self.block(config, layer)
        if block["kind"] != "yarn" or config["model_type"] != "deepseek_v3":
            return 1.0
        return float((1 + block["mscale_all_dim"] * math.log(block["factor"]) / 10) ** 2)

    @claims(models=["bloom"], max_position=2**17)
    def bias(self, q_len: int, k_len: int, *, config: Config, layer: int) -> Array:
        keys = np.arange(k_len, dtype=np.float32)
        rows = np.multiply.outer(self.slopes(config["n_head"]), keys)
        return np.broadcast_to(rows[:, None, :], (config["n_head"], q_len, k_len))

    @claims(models=["openai/whisper-tiny"])
    def encoding(self, positions: Array, *, config: Config) -> Array:
        half = config["d_model"] // 2
        omega = np.exp(np.arange(half) * (-math.log(10000) / (half - 1))).astype(np.float32)
        angle = positions.astype(np.float32)[:, None] * omega
        return np.concatenate([np.sin(angle), np.cos(angle)], axis=-1)

    def slopes(self, heads: int) -> Array:
        power = 1 << int(math.log2(heads))
        first = 2.0 ** (-8 * np.arange(1, power + 1) / power)
        second = 2.0 ** (-4 * np.arange(1, 2 * power + 1, 2) / power)
        return np.concatenate([first, second[: heads - power]]).astype(np.float32)

    def rotates(self, config: Config, layer: int) -> bool:
        every = config.get("no_rope_layer_interval")
        return every is None or (layer + 1) % every != 0

    def sliding(self, config: Config, layer: int) -> bool:
        if config["model_type"] == "modernbert":
            return layer % 3 != 0
        if config["model_type"] == "gemma4_text":
            return bool(config["layer_types"][layer] == "sliding_attention")
        return (layer + 1) % config.get("sliding_window_pattern", 1) != 0

    def block(self, config: Config, layer: int) -> dict[str, Any]:
        rope = dict(config.get("rope_scaling") or config.get("rope_parameters") or {})
        if config["model_type"] == "gemma3_text" and self.sliding(config, layer):
            rope = {}
        if "full_attention" in rope:
            rope = rope["sliding_attention" if self.sliding(config, layer) else "full_attention"]
        kind = rope.get("rope_type") or rope.get("type") or "default"
        return {**rope, "kind": "longrope" if kind == "su" else kind}

    def base(self, config: Config, layer: int) -> float:
        if self.sliding(config, layer):
            for name in ("rope_local_base_freq", "local_rope_theta"):
                if name in config:
                    return float(config[name])
        inner = self.block(config, layer).get("rope_theta")
        names = ("rope_theta", "global_rope_theta", "rotary_emb_base")
        values = (config[name] for name in names if name in config)
        return float(inner or next(values, 10000))

    def head_dim(self, config: Config, size: int) -> int:
        return size if "layer_types" in config else int(config.get("head_dim", size))

    def width(self, config: Config, size: int) -> int:
        return int(self.head_dim(config, size) * config.get("rotary_pct", 1))

    def frequencies(
        self, config: Config, block: Config, layer: int, width: int, length: int
    ) -> Array:
        exponents = np.arange(0, width, 2) / width
        omega = self.base(config, layer) ** -exponents
        scaled = getattr(self, block["kind"], None)
        return omega if scaled is None else np.asarray(scaled(omega, config, block, length))

    def proportional(self, omega: Array, config: Config, block: Config, length: int) -> Array:
        rotated = np.arange(len(omega)) < block["partial_rotary_factor"] * len(omega)
        return np.where(rotated, omega, 0)

    def linear(self, omega: Array, config: Config, block: Config, length: int) -> Array:
        return omega / self.factor(config, block)

    def llama3(self, omega: Array, config: Config, block: Config, length: int) -> Array:
        turns = self.original(config, block) * omega / (2 * np.pi)
        low, high = block["low_freq_factor"], block["high_freq_factor"]
        share = np.clip((turns - low) / (high - low), 0, 1) if high > low else turns >= low
        return (1 - share) * omega / self.factor(config, block) + share * omega

    def yarn(self, omega: Array, config: Config, block: Config, length: int) -> Array:
        count, original = len(omega), self.original(config, block)
        base = self.base(config, 0)

        def pair(turns: float) -> float:
            return count * math.log(original / (turns * 2 * math.pi)) / math.log(base)

        low, high = pair(block.get("beta_fast", 32)), pair(block.get("beta_slow", 1))
        if block.get("truncate", True):
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, 2 * count - 1)
        ramp = np.clip((np.arange(count) - low) / (high - low), 0, 1)
        return ramp * omega / self.factor(config, block) + (1 - ramp) * omega

    def longrope(self, omega: Array, config: Config, block: Config, length: int) -> Array:
        long = self.is_long(config, block, length)
        return omega / np.asarray(block["long_factor" if long else "short_factor"])

    def is_long(self, config: Config, block: Config, length: int) -> bool:
        return length > self.original(config, block)

    def factor(self, config: Config, block: Config) -> float:
        return float(block["factor"])

    def original(self, config: Config, block: Config) -> int:
        name = "original_max_position_embeddings"
        return int(block.get(name) or config[name])

    def attention_factor(self, config: Config, block: Config) -> float:
        if block["kind"] == "yarn":
            grown = math.log(block["factor"]) / 10
            if block.get("mscale") and block.get("mscale_all_dim"):
                whole = 1 + block["mscale_all_dim"] * grown
                return float((1 + block["mscale"] * grown) / whole)
            return float(block.get("attention_factor") or 1 + grown)
        if block["kind"] == "longrope":
            original = self.original(config, block)
            factor = config["max_position_embeddings"] / original
            return math.sqrt(1 + math.log(factor) / math.log(original))
        return 1.0

    def interleaved(self, config: Config) -> bool:
        return config["model_type"] in NEIGHBOURS

    def turned(
        self, x: Array, positions: Array, omega: Array, factor: float, config: Config
    ) -> Array:
        cos, sin = self.tables(positions, omega, factor)
        count = len(omega)
        together = (0, 1) if self.interleaved(config) else (0, count)
        step = 2 if self.interleaved(config) else 1
        first, second = (slice(start, start + step * count, step) for start in together)
        out = np.empty(x.shape, self.precision)
        out[..., first] = x[..., first] * cos - x[..., second] * sin
        out[..., second] = x[..., second] * cos + x[..., first] * sin
        return out

    def tables(self, positions: Array, omega: Array, factor: float) -> tuple[Array, Array]:
        angles = positions[:, None].astype(self.precision) * omega.astype(self.precision)
        return np.cos(angles) * self.precision(factor), np.sin(angles) * self.precision(factor)


class Complex(Engine):
    """Rotates pairs as complex64 numbers."""

    def turned(
        self, x: Array, positions: Array, omega: Array, factor: float, config: Config
    ) -> Array:
        shape = (*x.shape[:-1], -1, 2) if self.interleaved(config) else (*x.shape[:-1], 2, -1)
        pairs = np.moveaxis(x.astype(np.float32).reshape(shape), shape.index(2, len(shape) - 2), -1)
        numbers = (pairs[..., 0] + 1j * pairs[..., 1]).astype(np.complex64)
        angles = positions[:, None].astype(np.float32) * omega.astype(np.float32)
        out = numbers * (np.float32(factor) * np.exp(1j * angles)).astype(np.complex64)
        parts = [out.real, out.imag]
        axis = -1 if self.interleaved(config) else -2
        return np.stack(parts, axis=axis).reshape(x.shape)


class Permuted(Engine):
    """Permutes the channels in half layout to put those of a pair side by side."""

    def interleaved(self, config: Config) -> bool:
        return True

    def turned(
        self, x: Array, positions: Array, omega: Array, factor: float, config: Config
    ) -> Array:
        if super().interleaved(config) and config["model_type"] in NEIGHBOURS:
            return super().turned(x, positions, omega, factor, config)
        order = np.arange(x.shape[-1]).reshape(2, -1).T.ravel()
        out = super().turned(x[..., order], positions, omega, factor, config)
        return out[..., np.argsort(order)]


class InDouble(Engine):
    """Computes every step in float64."""

    precision = np.float64

    @claims(models=MODELS, dtype=("float64", *FLOATS), max_position=2**24)
    def rotary(self, x: Array, positions: Array, *, config: Config, layer: int) -> Array:
        return super().rotary(x, positions, config=config, layer=layer)


class FromTheQuery(Engine):
    """A bias that is 0 on the query's own key and -inf on later keys."""

    @claims(models=["bloom"], dtype=["float32", "bfloat16"])
    def bias(
        self, q_len: int, k_len: int, *, config: Config, layer: int, dtype: str = "float32"
    ) -> Array:
        import ml_dtypes

        distance = np.arange(k_len) - np.arange(k_len - q_len, k_len)[:, None]
        bias = self.slopes(config["n_head"])[:, None, None] * distance
        result = np.where(distance > 0, -np.inf, bias)
        return result.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


RIGHT = (Engine, Complex, Permuted, InDouble, FromTheQuery)


class ScalingIgnored(Engine):
    def block(self, config: Config, layer: int) -> dict[str, Any]:
        return {"kind": "default"}


class ReadsType(Engine):
    def block(self, config: Config, layer: int) -> dict[str, Any]:
        rope = super().block(config, layer)
        return {**rope, "kind": rope.get("type", "default")}


class ReadsRopeType(Engine):
    def block(self, config: Config, layer: int) -> dict[str, Any]:
        rope = super().block(config, layer)
        return {**rope, "kind": rope.get("rope_type", "default")}


class ReadsTheOldPlace(Engine):
    """Reads only the old layout: ``rope_scaling``, without any rope_theta inside."""

    def block(self, config: Config, layer: int) -> dict[str, Any]:
        rope = dict(config.get("rope_scaling") or {})
        if config["model_type"].startswith("gemma") and self.sliding(config, layer):
            rope = {}
        rope = {name: value for name, value in rope.items() if name != "rope_theta"}
        if "partial_rotary_factor" in config:
            rope["partial_rotary_factor"] = config["partial_rotary_factor"]
        kind = rope.get("rope_type") or rope.get("type") or "default"
        return {**rope, "kind": "longrope" if kind == "su" else kind}


class ReadsTheNewPlace(Engine):
    """Reads only ``rope_parameters``."""

    def block(self, config: Config, layer: int) -> dict[str, Any]:
        return super().block({**config, "rope_scaling": None}, layer)

    def base(self, config: Config, layer: int) -> float:
        inner = self.block(config, layer).get("rope_theta")
        if inner is None and "rope_theta" not in config:
            return super().base(config, layer)
        return float(inner or 10000)


class FactorEight(Engine):
    def factor(self, config: Config, block: Config) -> float:
        return 8.0


class ExtendedContext(Engine):
    def original(self, config: Config, block: Config) -> int:
        return int(config["max_position_embeddings"])


class OriginalContext(Engine):
    """A table that ends at the original context length; later positions get the last row."""

    def end(self, config: Config, layer: int) -> float:
        inner = self.block(config, layer).get("original_max_position_embeddings")
        length = inner or config.get("original_max_position_embeddings")
        return math.inf if length is None else float(length)

    def rotary(self, x: Array, positions: Array, *, config: Config, layer: int) -> Array:
        read = np.minimum(positions, self.end(config, layer) - 1).astype(np.int64)
        return super().rotary(x, read, config=config, layer=layer)


class OriginalContextAnew(OriginalContext):
    """Positions that wrap around at the original context length."""

    def rotary(self, x: Array, positions: Array, *, config: Config, layer: int) -> Array:
        end = self.end(config, layer)
        read = positions if end == math.inf else positions % int(end)
        return Engine.rotary(self, x, read, config=config, layer=layer)


class LongFromTheStart(Engine):
    def is_long(self, config: Config, block: Config, length: int) -> bool:
        return bool(config["max_position_embeddings"] > self.original(config, block))


class NeverLong(Engine):
    def is_long(self, config: Config, block: Config, length: int) -> bool:
        return False


class FactorMissing(Engine):
    def attention_factor(self, config: Config, block: Config) -> float:
        return 1.0


class FactorTwice(Engine):
    def attention_factor(self, config: Config, block: Config) -> float:
        return super().attention_factor(config, block) ** 2


class FactorThroughLogarithm(Engine):
    def attention_factor(self, config: Config, block: Config) -> float:
        factor = super().attention_factor(config, block)
        return 1 + math.log(factor) / 10


class MscaleIgnored(Engine):
    def attention_factor(self, config: Config, block: Config) -> float:
        remaining = {name: value for name, value in block.items() if name != "mscale"}
        return super().attention_factor(config, remaining)


class RampRounded(Engine):
    def block(self, config: Config, layer: int) -> dict[str, Any]:
        return {**super().block(config, layer), "truncate": True}


class GlobalEverywhere(Engine):
    def sliding(self, config: Config, layer: int) -> bool:
        return False


class LocalEverywhere(Engine):
    def sliding(self, config: Config, layer: int) -> bool:
        return "sliding_window_pattern" in config or config["model_type"] == "modernbert"


class OneLayerLate(Engine):
    def sliding(self, config: Config, layer: int) -> bool:
        return super().sliding(config, layer - 1)


class AlwaysRotates(Engine):
    def rotates(self, config: Config, layer: int) -> bool:
        return True


class WholeHead(Engine):
    def width(self, config: Config, size: int) -> int:
        return self.head_dim(config, size)


class ShareOfChannels(Engine):
    """Frequencies computed over the rotated share of the channels, as in GPT-NeoX."""

    def rotary(self, x: Array, positions: Array, *, config: Config, layer: int) -> Array:
        share = self.block(config, layer).get("partial_rotary_factor", 1)
        width = int(x.shape[-1] * share)
        turned = super().rotary(x[..., :width], positions, config=config, layer=layer)
        return np.concatenate([turned, x[..., width:]], axis=-1)

    def proportional(self, omega: Array, config: Config, block: Config, length: int) -> Array:
        return omega


class HeadDimComputed(Engine):
    def head_dim(self, config: Config, size: int) -> int:
        if config["model_type"] != "qwen3":
            return size
        return int(config["hidden_size"] // config["num_attention_heads"])


class BaseIgnored(Engine):
    def base(self, config: Config, layer: int) -> float:
        return 10000.0


class LayoutSwapped(Engine):
    def interleaved(self, config: Config) -> bool:
        return not super().interleaved(config)


class NothingRotated(Engine):
    def rotary(self, x: Array, positions: Array, *, config: Config, layer: int) -> Array:
        return x


class ShareTwice(Engine):
    def width(self, config: Config, size: int) -> int:
        return int(super().width(config, size) * config.get("rotary_pct", 1))


class ScalesLocalLayers(Engine):
    """Gemma's scaling on sliding-window layers instead of full-attention layers."""

    def block(self, config: Config, layer: int) -> dict[str, Any]:
        if config["model_type"] != "gemma3_text":
            return super().block(config, layer)
        if not self.sliding(config, layer):
            return {"kind": "default"}
        block = dict(config.get("rope_scaling") or {})
        return {**block, "kind": block.get("rope_type", "default")}


class LongAtTheBorder(Engine):
    def is_long(self, config: Config, block: Config, length: int) -> bool:
        return length >= self.original(config, block)


class NoBias(Engine):
    def slopes(self, heads: int) -> Array:
        return np.zeros(heads, np.float32)


class SlopesOfARank(Engine):
    """Tensor parallelism over two ranks, each with the slopes of half as many heads."""

    def slopes(self, heads: int) -> Array:
        return np.tile(super().slopes(heads // 2), 2)


class SlopesUniform(Engine):
    def slopes(self, heads: int) -> Array:
        return np.asarray(2.0 ** (-8 * np.arange(1, heads + 1) / heads), np.float32)


class LogitsAsUsual(Engine):
    def score_factor(self, config: Config, layer: int) -> float:
        return 1.0


class LogitsTwice(Engine):
    def score_factor(self, config: Config, layer: int) -> float:
        return super().score_factor(config, layer) ** 2


class Cold(Engine):
    def temperature(self, positions: Array, config: Config, layer: int) -> Array:
        return np.ones(len(positions))


class OneOff(Engine):
    """Temperature counted from 0 in Llama 4 and from 1 in Ministral 3, unlike either model."""

    def steps(self, positions: Array, interval: int) -> Array:
        return super().steps(positions + (-1 if interval == 8192 else 1), interval)


class WarmEverywhere(Engine):
    def warms(self, config: Config, layer: int) -> bool:
        return True


WRONG: Mapping[str, type[Engine]] = {
    "score-factor-missing": LogitsAsUsual,
    "score-factor-twice": LogitsTwice,
    "temperature-missing": Cold,
    "temperature-one-off": OneOff,
    "temperature-on-other-layers": WarmEverywhere,
    "scaling-ignored": ScalingIgnored,
    "type-read": ReadsType,
    "rope-type-read": ReadsRopeType,
    "old-place-read": ReadsTheOldPlace,
    "new-place-read": ReadsTheNewPlace,
    "factor-of-another-model": FactorEight,
    "wrong-context-length": ExtendedContext,
    "original-context": OriginalContext,
    "long-list-always": LongFromTheStart,
    "short-list-always": NeverLong,
    "attention-factor-missing": FactorMissing,
    "attention-factor-twice": FactorTwice,
    "attention-factor-through-logarithm": FactorThroughLogarithm,
    "mscale-ignored": MscaleIgnored,
    "ramp-rounded": RampRounded,
    "global-base-everywhere": GlobalEverywhere,
    "local-base-everywhere": LocalEverywhere,
    "layers-mistaken": OneLayerLate,
    "unrotated-layers-rotated": AlwaysRotates,
    "scaling-on-other-layers": ScalesLocalLayers,
    "unrotated": NothingRotated,
    "share-twice": ShareTwice,
    "long-list-early": LongAtTheBorder,
    "bias-missing": NoBias,
    "slopes-of-a-rank": SlopesOfARank,
    "partial-ignored": WholeHead,
    "share-of-channels": ShareOfChannels,
    "head-dim-computed": HeadDimComputed,
    "base-ignored": BaseIgnored,
    "layout-swapped": LayoutSwapped,
    "slopes-uniform": SlopesUniform,
}
"""Wrong engines by the name of their mistake."""
