"""Small engines for Gemma 4, whose layers have heads of two sizes."""

import math
from typing import ClassVar

import numpy as np

from posenc_lab.deployed.cases import right, wrong
from posenc_lab.deployed.engine import Array, Cache, Config
from posenc_lab.deployed.right import Plain


class Part(Plain):
    """The attention of layers of one kind."""

    def scaling(self, layer: int) -> Config:
        block: Config = self.config["rope_parameters"][self.config["layer_types"][layer]]
        return block

    def frequencies(self, layer: int) -> tuple[Array, float]:
        block = self.scaling(layer)
        plain = self.plain(float(block["rope_theta"]))
        turned = round(len(plain) * block.get("partial_rotary_factor", 1.0))
        return np.where(np.arange(len(plain)) < turned, plain, 0.0), 1.0

    def scale(self) -> float:
        return 1.0

    def projected(self, x: Array, layer: int, name: str, heads: int) -> Array:
        found = super().projected(x, layer, name, heads)
        return self.norm(found, np.ones(self.size)) if name == "v" else found


class Gemma4(Plain):
    """Hands each layer's attention to the part of its kind."""

    part: ClassVar[type[Part]] = Part

    def load(self) -> None:
        sizes = {"sliding_attention": "head_dim", "full_attention": "global_head_dim"}
        self.parts = {
            kind: self.part(
                {**self.config, "head_dim": self.config[size]}, self.weights, self.words
            )
            for kind, size in sizes.items()
        }

    def attention(self, x: Array, layer: int, where: Array, cache: Cache) -> Array:
        return self.parts[self.config["layer_types"][layer]].attention(x, layer, where, cache)


right("gemma4_text")(Gemma4)


class WholeHeadsPart(Part):
    """Rotates all pairs of the large heads."""

    def scaling(self, layer: int) -> Config:
        return {**super().scaling(layer), "partial_rotary_factor": 1.0}


@wrong("gemma4_text", "partial-ignored")
class WholeHeads(Gemma4):
    part = WholeHeadsPart


class ShareAlonePart(Part):
    """Rotates a quarter of the channels as if they were a head."""

    def turned_size(self) -> int:
        small = self.size == self.config["global_head_dim"] // 2
        return self.size if small else self.size // 4

    def frequencies(self, layer: int) -> tuple[Array, float]:
        return self.plain(float(self.scaling(layer)["rope_theta"])), 1.0


@wrong("gemma4_text", "share-of-channels")
class ShareAlone(Gemma4):
    part = ShareAlonePart


class ScaledByRootPart(Part):
    """Scales by the root of head_dim, as Gemma's earlier versions do."""

    def scale(self) -> float:
        return 1 / math.sqrt(self.size)


@wrong("gemma4_text", "scores-multiplied")
class ScaledByRoot(Gemma4):
    part = ScaledByRootPart


class LocalBasePart(Part):
    """Rotates full layers at the base of sliding ones."""

    def scaling(self, layer: int) -> Config:
        return {**super().scaling(layer), "rope_theta": 10000.0}


@wrong("gemma4_text", "local-base-everywhere")
class LocalBase(Gemma4):
    part = LocalBasePart


class WindowOneMorePart(Part):
    def window(self, layer: int) -> int | None:
        size = super().window(layer)
        return None if size is None else size + 1


@wrong("gemma4_text", "window-off")
class WindowOneMore(Gemma4):
    part = WindowOneMorePart


class NormsLastPart(Part):
    """Norms queries and keys behind the rotation."""

    def projected(self, x: Array, layer: int, name: str, heads: int) -> Array:
        if name == "v":
            return super().projected(x, layer, name, heads)
        weight = self.weights[f"model.layers.{layer}.self_attn.{name}_proj.weight"]
        return (x @ weight.T).reshape(len(x), heads, self.size).transpose(1, 0, 2)

    def turn_query(self, x: Array, positions: Array, layer: int) -> Array:
        return self.normed(super().turn_query(x, positions, layer), layer, "q")

    def turn_key(self, x: Array, positions: Array, layer: int) -> Array:
        return self.normed(super().turn_key(x, positions, layer), layer, "k")

    def normed(self, x: Array, layer: int, name: str) -> Array:
        """Norm what is turned."""
        return self.norm(x, self.weights[f"model.layers.{layer}.self_attn.{name}_norm.weight"])


@wrong("gemma4_text", "norm-after-rotation")
class NormsLast(Gemma4):
    part = NormsLastPart
