"""Small engines for hybrids, in which only some layers attend to all of the text."""

import math

import ml_dtypes
import numpy as np

from posenc_lab.deployed.cases import right, wrong
from posenc_lab.deployed.engine import Array, Cache, Config, Engine
from posenc_lab.deployed.right import Latent, Plain


class Neighbours(Engine):
    """Rotates neighbouring channels."""

    def pairs(self, x: Array) -> tuple[Array, Array]:
        return x[..., 0::2], x[..., 1::2]

    def joined(self, first: Array, second: Array) -> Array:
        return np.stack([first, second], axis=-1).reshape(*first.shape[:-1], self.width)


@right("qwen3_next")
@right("qwen3_5_text")
@right("qwen3_5_moe_text")
class Gated(Plain):
    """Has Qwen's gated attention, and norms that add 1 to their weights."""

    def turned_size(self) -> int:
        block = self.config.get("rope_parameters") or self.config
        return int(self.size * block.get("partial_rotary_factor", 0.25))

    def norm(self, x: Array, weight: Array) -> Array:
        return super().norm(x, 1 + weight)

    def projected(self, x: Array, layer: int, name: str, heads: int) -> Array:
        if name != "q":
            return super().projected(x, layer, name, heads)
        place = f"model.layers.{layer}.self_attn"
        query, _ = self.halves(self.rounded(x @ self.weights[f"{place}.q_proj.weight"].T))
        return self.norm(query.transpose(1, 0, 2), self.weights[f"{place}.q_norm.weight"])

    def halves(self, rows: Array) -> tuple[Array, Array]:
        """Return queries and gates, [tokens, heads, channels]."""
        query, gate = np.split(rows.reshape(len(rows), self.heads, -1), 2, axis=-1)
        return query, gate

    def attention(self, x: Array, layer: int, where: Array, cache: Cache) -> Array:
        if self.is_linear(layer):
            return np.zeros_like(x)
        place = f"model.layers.{layer}.self_attn"
        _, gate = self.halves(self.rounded(x @ self.weights[f"{place}.q_proj.weight"].T))
        return self.passed(super().attention(x, layer, where, cache), gate)

    def passed(self, out: Array, gate: Array) -> Array:
        """Return what a gate passes of the output; all of the probe's gates are alike."""
        return np.asarray(out / (1 + np.exp(-gate[:, :1, 0])))

    def is_linear(self, layer: int) -> bool:
        """Return whether a layer has linear attention, which adds nothing in a probe."""
        kinds = self.config.get("layer_types")
        if kinds is not None:
            return bool(kinds[layer] != "full_attention")
        return (layer + 1) % int(self.config["full_attention_interval"]) != 0


@right("qwen3_5_text", "bfloat16")
@right("qwen3_next", "bfloat16")
class GatedShort(Gated):
    """Computes everything except angles in bfloat16."""

    dtype = ml_dtypes.bfloat16

    def softmax(self, scores: Array) -> Array:
        return self.rounded(super().softmax(scores))


@wrong("qwen3_next", "partial-ignored")
@wrong("qwen3_5_text", "partial-ignored")
@wrong("qwen3_5_moe_text", "partial-ignored")
class GatedWhole(Gated):
    """Rotates all channels of a head."""

    def turned_size(self) -> int:
        return self.size


@wrong("qwen3_next", "base-ignored")
@wrong("qwen3_5_text", "base-ignored")
@wrong("qwen3_5_moe_text", "base-ignored")
class GatedUsualBase(Gated):
    def scaling(self, layer: int) -> Config:
        return {"rope_theta": 10000.0, "rope_type": "default"}


@wrong("qwen3_next", "layout-swapped")
@wrong("qwen3_5_text", "layout-swapped")
@wrong("qwen3_5_moe_text", "layout-swapped")
class GatedNeighbours(Neighbours, Gated):
    pass


@wrong("qwen3_next", "scores-multiplied")
@wrong("qwen3_5_text", "scores-multiplied")
class GatesBehindAll(Gated):
    """Takes the gates of all heads from behind the queries of all heads."""

    def halves(self, rows: Array) -> tuple[Array, Array]:
        query, gate = np.split(rows, 2, axis=-1)
        shape = (len(rows), self.heads, -1)
        return query.reshape(shape), gate.reshape(shape)


@wrong("qwen3_next", "scores-zero")
@wrong("qwen3_5_text", "scores-zero")
class WeightsAsTheyAre(Gated):
    """Adds 1 to the weights of a layer's norms, and not to those of heads."""

    def norm(self, x: Array, weight: Array) -> Array:
        return Plain.norm(self, x, weight if len(weight) == self.size else 1 + weight)


@wrong("qwen3_5_text", "norm-after-rotation")
@wrong("qwen3_next", "norm-after-rotation")
class GatedNormsLast(Gated):
    """Norms queries and keys behind the rotation."""

    turned = False

    def norm(self, x: Array, weight: Array) -> Array:
        if len(weight) == self.size and not self.turned:
            return x
        return super().norm(x, weight)

    def turn_query(self, x: Array, positions: Array, layer: int) -> Array:
        return self.normed(super().turn_query(x, positions, layer), layer, "q")

    def turn_key(self, x: Array, positions: Array, layer: int) -> Array:
        return self.normed(super().turn_key(x, positions, layer), layer, "k")

    def normed(self, x: Array, layer: int, name: str) -> Array:
        """Norm what is turned."""
        weight = self.weights[f"model.layers.{layer}.self_attn.{name}_norm.weight"]
        return Gated.norm(self, x, weight)


@wrong("qwen3_5_text", "values-missing")
@wrong("qwen3_next", "values-missing")
class OtherLayersFull(Gated):
    """Takes one of the full layers for a linear one."""

    def is_linear(self, layer: int) -> bool:
        return super().is_linear(layer) or layer == self.layers - 1


@right("lfm2")
class Convolved(Plain):
    """Has LFM2's names of tensors; its short convolutions add nothing in a probe."""

    def load(self) -> None:
        for name in [*self.weights]:
            self.weights[self.renamed(name)] = self.weights[name]
        for layer in range(self.layers):
            for own, usual in (("w1", "gate"), ("w3", "up"), ("w2", "down")):
                weight = self.weights[f"model.layers.{layer}.feed_forward.{own}.weight"]
                self.weights[f"model.layers.{layer}.mlp.{usual}_proj.weight"] = weight

    def renamed(self, name: str) -> str:
        """Return the usual name of a tensor."""
        for own, usual in (
            ("operator_norm", "input_layernorm"),
            ("ffn_norm", "post_attention_layernorm"),
            ("q_layernorm", "q_norm"),
            ("k_layernorm", "k_norm"),
            ("out_proj", "o_proj"),
            ("embedding_norm", "norm"),
        ):
            name = name.replace(own, usual)
        return name

    def norm(self, x: Array, weight: Array) -> Array:
        mean = (x.astype(np.float32) ** 2).mean(axis=-1, keepdims=True)
        return self.rounded(x / np.sqrt(mean + self.config["norm_eps"]) * weight)

    def attention(self, x: Array, layer: int, where: Array, cache: Cache) -> Array:
        if self.is_convolved(layer):
            return np.zeros_like(x)
        return super().attention(x, layer, where, cache)

    def is_convolved(self, layer: int) -> bool:
        """Return whether a layer has a convolution in place of attention."""
        return bool(self.config["layer_types"][layer] == "conv")


@wrong("lfm2", "base-ignored")
class ConvolvedUsualBase(Convolved):
    def scaling(self, layer: int) -> Config:
        return {"rope_theta": 10000.0, "rope_type": "default"}


@wrong("lfm2", "layout-swapped")
class ConvolvedNeighbours(Neighbours, Convolved):
    pass


@wrong("lfm2", "values-missing")
class MoreConvolutions(Convolved):
    """Takes one of the full layers for a convolution."""

    def is_convolved(self, layer: int) -> bool:
        return super().is_convolved(layer) or layer == 1


@wrong("lfm2", "positions-restart")
class ConvolvedRestarts(Convolved):
    def positions(self, start: int, count: int, ends: int) -> Array:
        whole = super().positions(start, count, ends)
        return np.where(whole >= ends, whole - ends, whole)


@right("nemotron_h")
class WithMamba(Plain):
    """Has layers of one part each, and rotates nothing."""

    def load(self) -> None:
        for name in [*self.weights]:
            usual = name.replace("backbone.", "model.").replace("mixer", "self_attn")
            usual = usual.replace("embeddings", "embed_tokens").replace("norm_f", "norm")
            usual = usual.replace(".norm.", ".input_layernorm.") if "layers" in usual else usual
            self.weights[usual] = self.weights[name]

    def norm(self, x: Array, weight: Array) -> Array:
        mean = (x.astype(np.float32) ** 2).mean(axis=-1, keepdims=True)
        return self.rounded(x / np.sqrt(mean + self.config["layer_norm_epsilon"]) * weight)

    def attention(self, x: Array, layer: int, where: Array, cache: Cache) -> Array:
        if not self.attends(layer):
            return np.zeros_like(x)
        return super().attention(x, layer, where, cache)

    def attends(self, layer: int) -> bool:
        """Return whether a layer has attention."""
        return bool(self.config["hybrid_override_pattern"][layer] == "*")

    def turns(self, layer: int) -> bool:
        return False


@wrong("nemotron_h", "unrotated-layers-rotated")
class MambaTurned(WithMamba):
    """Rotates, as the base in the configuration suggests."""

    def turns(self, layer: int) -> bool:
        return True


@wrong("nemotron_h", "unrotated-layers-rotated")
class MambaTurnedInNeighbours(Neighbours, MambaTurned):
    """Rotates neighbouring channels, at the base of another model."""

    def scaling(self, layer: int) -> Config:
        return {"rope_theta": 500000.0, "rope_type": "default"}


@wrong("nemotron_h", "scores-multiplied")
class MambaScale(WithMamba):
    """Computes the size of a head from the hidden size."""

    def scale(self) -> float:
        return 1 / math.sqrt(self.config["hidden_size"] / self.heads)


@wrong("nemotron_h", "values-missing")
class LessAttention(WithMamba):
    """Takes one of the layers with attention for another one."""

    def attends(self, layer: int) -> bool:
        return super().attends(layer) and layer != self.layers - 1


@right("kimi_linear")
class Delta(Latent):
    """Rotates nothing; its linear attention adds nothing in a probe."""

    def attention(self, x: Array, layer: int, where: Array, cache: Cache) -> Array:
        if layer + 1 not in self.config["linear_attn_config"]["full_attn_layers"]:
            return np.zeros_like(x)
        return super().attention(x, layer, where, cache)

    def turns(self, layer: int) -> bool:
        return False


@wrong("kimi_linear", "unrotated-layers-rotated")
class DeltaTurned(Delta):
    """Rotates halves, as DeepSeek's code does behind its permutation."""

    def turns(self, layer: int) -> bool:
        return True


@wrong("kimi_linear", "unrotated-layers-rotated")
class DeltaTurnedInNeighbours(Neighbours, DeltaTurned):
    pass


@wrong("kimi_linear", "scores-multiplied")
class DeltaScale(Delta):
    """Scales by the root of the shared channels alone."""

    def scale(self) -> float:
        return 1 / math.sqrt(self.size)
