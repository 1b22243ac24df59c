"""Small engines for models of 2025 and 2026: hybrids, and models that read images too."""

from collections.abc import Mapping, Sequence

import numpy as np

from posenc_lab.deployed.cases import right, wrong
from posenc_lab.deployed.engine import Array, Cache, Config
from posenc_lab.deployed.right import Latent, Plain

# Known families under other names.

right("mimo")(Plain)
right("kimi_k2")(Latent)


@right("internlm2")
class Grouped(Plain):
    """Splits InternLM2's fused projections, which are grouped by key head."""

    def load(self) -> None:
        groups = self.heads // self.kv_heads
        for layer in range(self.layers):
            before = f"model.layers.{layer}"
            fused = self.weights[f"{before}.attention.wqkv.weight"]
            by_head = fused.reshape(self.kv_heads, groups + 2, self.size, -1)
            parts = self.parts(by_head, groups)
            for name, part in zip("qkv", parts, strict=True):
                flat = part.reshape(-1, fused.shape[-1])
                self.weights[f"{before}.self_attn.{name}_proj.weight"] = flat
            out = self.weights[f"{before}.attention.wo.weight"]
            self.weights[f"{before}.self_attn.o_proj.weight"] = out
            norm = self.weights[f"{before}.attention_norm.weight"]
            self.weights[f"{before}.input_layernorm.weight"] = norm
        self.weights["model.embed_tokens.weight"] = self.weights["model.tok_embeddings.weight"]
        self.weights["lm_head.weight"] = self.weights["output.weight"]

    def parts(self, fused: Array, groups: int) -> tuple[Array, Array, Array]:
        """Return queries, keys and values of [key heads, heads of a group, channels, hidden]."""
        return fused[:, :groups], fused[:, groups], fused[:, groups + 1]


@wrong("internlm2", "base-ignored")
class GroupedUsualBase(Grouped):
    def scaling(self, layer: int) -> Config:
        return {"rope_theta": 10000.0, "rope_type": "default"}


@wrong("internlm2", "scores-zero")
class KeysOfAnotherPlace(Grouped):
    """Takes the values of a group for its keys, and the keys for values."""

    def parts(self, fused: Array, groups: int) -> tuple[Array, Array, Array]:
        query, key, value = super().parts(fused, groups)
        return query, value, key


@wrong("internlm2", "layout-swapped")
class GroupedNeighbours(Grouped):
    """Rotates neighbouring channels."""

    def pairs(self, x: Array) -> tuple[Array, Array]:
        return x[..., 0::2], x[..., 1::2]

    def joined(self, first: Array, second: Array) -> Array:
        return np.stack([first, second], axis=-1).reshape(*first.shape[:-1], self.width)


# Models that read images too.


class OfText(Plain):
    """Takes the text part out of a model's configuration and weights."""

    places = (("model.language_model.", "model."), ("language_model.", ""))
    """Prefixes of the text part's tensors, each with what a text model has."""

    def __init__(self, config: Config, weights: Mapping[str, Array], words: Sequence[str]) -> None:
        named = {self.renamed(name): values for name, values in weights.items()}
        super().__init__(config["text_config"], named, words)

    def renamed(self, name: str) -> str:
        """Return the name of a tensor in a text model."""
        for prefix, other in self.places:
            if name.startswith(prefix):
                return other + name.removeprefix(prefix)
        return name


right("exaone4_5_text")(OfText)


@right("qwen2_5_vl_text")
@right("qwen3_vl_text")
@right("qwen3_vl_moe_text")
class Axes(OfText):
    """Has positions on three axes, and gives each pair the one of its section."""

    def angles(self, positions: Array, layer: int) -> tuple[Array, Array]:
        frequencies, _ = self.frequencies(layer)
        rows = np.stack(self.axes(positions))[self.sections()]
        angle = rows.T.astype(np.float32) * frequencies.astype(np.float32)
        return np.cos(angle), np.sin(angle)

    def axes(self, positions: Array) -> tuple[Array, Array, Array]:
        """Return time, height and width of a text's positions."""
        return positions, positions, positions

    def sections(self) -> Array:
        """Return the axis of each pair."""
        block = self.config.get("rope_parameters") or self.config["rope_scaling"]
        sizes = block["mrope_section"]
        if not block.get("mrope_interleaved"):
            return np.repeat(np.arange(3), sizes)
        axes = np.zeros(self.width // 2, dtype=int)
        for axis in (1, 2):
            axes[axis : 3 * sizes[axis] : 3] = axis
        return axes


@wrong("qwen2_5_vl_text", "axes-missing")
@wrong("qwen3_vl_text", "axes-missing")
class TimeAlone(Axes):
    """Gives a text no height and no width."""

    def axes(self, positions: Array) -> tuple[Array, Array, Array]:
        return positions, 0 * positions, 0 * positions


@wrong("qwen2_5_vl_text", "frequencies-restarted")
class Anew(Axes):
    """Begins with the frequencies anew on each axis."""

    def plain(self, base: float) -> Array:
        block = self.config.get("rope_parameters") or self.config["rope_scaling"]
        return np.concatenate([base ** -(np.arange(n) / n) for n in block["mrope_section"]])


@wrong("qwen2_5_vl_text", "base-ignored")
@wrong("qwen3_vl_text", "base-ignored")
@wrong("qwen3_vl_moe_text", "base-ignored")
class AxesUsualBase(Axes):
    def scaling(self, layer: int) -> Config:
        return {"rope_theta": 10000.0, "rope_type": "default"}


@wrong("qwen2_5_vl_text", "layout-swapped")
@wrong("qwen3_vl_text", "layout-swapped")
@wrong("qwen3_vl_moe_text", "layout-swapped")
class AxesNeighbours(Axes):
    """Rotates neighbouring channels."""

    def pairs(self, x: Array) -> tuple[Array, Array]:
        return x[..., 0::2], x[..., 1::2]

    def joined(self, first: Array, second: Array) -> Array:
        return np.stack([first, second], axis=-1).reshape(*first.shape[:-1], self.width)


@wrong("qwen3_vl_text", "positions-stand-still")
@wrong("qwen3_vl_moe_text", "positions-stand-still")
class AxesOfThePrompt(Axes):
    """Keeps the positions of the prompt's last token: what an image adds is never counted on."""

    def positions(self, start: int, count: int, ends: int) -> Array:
        return np.minimum(super().positions(start, count, ends), ends - 1)


@wrong("exaone4_5_text", "unrotated-layers-rotated")
class AllOfText(OfText):
    """Rotates the layers without positions, too."""

    def turns(self, layer: int) -> bool:
        return True


@wrong("exaone4_5_text", "window-ignored")
class AllKeysOfText(OfText):
    def seen(self, queries: Array, keys: Array, layer: int) -> Array:
        return queries[:, None] >= keys


@wrong("exaone4_5_text", "scaling-ignored")
class TextWithoutScaling(OfText):
    def scaling(self, layer: int) -> Config:
        return {"rope_theta": super().scaling(layer)["rope_theta"], "rope_type": "default"}


@right("mllama_text_model")
class WithoutImages(OfText):
    """Leaves out the layers that attend to images: a text has none."""

    def attention(self, x: Array, layer: int, where: Array, cache: Cache) -> Array:
        if layer in self.config["cross_attention_layers"]:
            return np.zeros_like(x)
        return super().attention(x, layer, where, cache)


@wrong("mllama_text_model", "scaling-ignored")
class ImagesWithoutScaling(WithoutImages):
    def scaling(self, layer: int) -> Config:
        return {"rope_theta": self.config["rope_theta"], "rope_type": "default"}


@wrong("mllama_text_model", "values-missing")
class OneLayerTooMany(WithoutImages):
    """Counts the layers that attend to images from 1."""

    def attention(self, x: Array, layer: int, where: Array, cache: Cache) -> Array:
        if layer + 1 in self.config["cross_attention_layers"]:
            return np.zeros_like(x)
        return super().attention(x, layer, where, cache)


@wrong("mllama_text_model", "layout-swapped")
class ImagesNeighbours(WithoutImages):
    """Rotates neighbouring channels."""

    def pairs(self, x: Array) -> tuple[Array, Array]:
        return x[..., 0::2], x[..., 1::2]

    def joined(self, first: Array, second: Array) -> Array:
        return np.stack([first, second], axis=-1).reshape(*first.shape[:-1], self.width)
