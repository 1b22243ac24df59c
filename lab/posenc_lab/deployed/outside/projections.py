"""Mistakes in the biases of queries and keys, and right ways to add them."""

from collections.abc import Sequence

import ml_dtypes
import numpy as np

from posenc_lab.deployed.engine import Array
from posenc_lab.deployed.older import Older
from posenc_lab.deployed.outside.cases import right, wrong
from posenc_lab.deployed.outside.norms import PERMUTED, Permutes
from posenc_lab.deployed.outside.serving import Served

BIAS = r"(?i)bias"


class NeoX(Older, Served):
    """Has GPT-NeoX's projections, fused from head to head, and turns a part of each head."""

    def load(self) -> None:
        for layer in range(self.layers):
            theirs, own = f"gpt_neox.layers.{layer}", f"model.layers.{layer}"
            for kind in ("weight", "bias"):
                whole = self.weights[f"{theirs}.attention.query_key_value.{kind}"]
                for name, part in zip("qkv", self.split_of(whole), strict=True):
                    self.weights[f"{own}.self_attn.{name}_proj.{kind}"] = part
            out = self.weights[f"{theirs}.attention.dense.weight"]
            self.weights[f"{own}.self_attn.o_proj.weight"] = out
            norm = self.weights[f"{theirs}.input_layernorm.weight"]
            self.weights[f"{own}.input_layernorm.weight"] = norm
        for name, theirs in (
            ("model.norm", "gpt_neox.final_layer_norm"),
            ("model.embed_tokens", "gpt_neox.embed_in"),
            ("lm_head", "embed_out"),
        ):
            self.weights[f"{name}.weight"] = self.weights[f"{theirs}.weight"]

    def split_of(self, whole: Array) -> Sequence[Array]:
        """Return the rows, or the numbers, of queries, keys and values."""
        by_head = whole.reshape(self.heads, 3, self.size, -1)
        return [by_head[:, part].reshape(-1, *whole.shape[1:]) for part in range(3)]

    def turns(self, layer: int) -> bool:
        return True

    def turned_size(self) -> int:
        return int(self.size * self.config["rotary_pct"])

    def plain(self, base: float) -> Array:
        return super().plain(float(self.config["rotary_emb_base"]))

    def embedded(self, tokens: Sequence[int], where: Array) -> Array:
        return np.asarray(self.embeddings[np.array(tokens)])

    def bias(self, where: Array, keys: int) -> Array:
        return np.zeros((1, 1, 1), dtype=np.float32)


right("gpt_neox", name="plain", about="Computes everything in the plainest way.")(NeoX)


class Biases(Served):
    """Changes the biases of some projections."""

    def biases_of(self, *names: str) -> list[str]:
        """Return the names of the biases of some projections."""
        ends = tuple(f"self_attn.{name}_proj.bias" for name in names)
        return [name for name in self.weights if name.endswith(ends)]


def forgets(name: str, about: str, ids: str, *parts: str, report: str = "") -> None:
    """List engines that drop the biases of some projections."""
    for config, base in (("qwen2", Served), ("glm4", Served), ("gpt_neox", NeoX)):

        class Forgets(Biases, base):  # type: ignore[misc, valid-type]
            def load(self) -> None:
                super().load()
                for bias in self.biases_of(*parts):
                    del self.weights[bias]

        wrong(config, ids, words=BIAS, name=name, about=about, report=report)(Forgets)


forgets(
    "biases-forgotten",
    "Drops the biases of queries, keys and values.",
    "biases-missing",
    *"qkv",
    report="onnxruntime/mobius#396",
)
forgets("bias-of-keys-forgotten", "Drops the biases of keys.", "key-biases-missing", "k")
forgets("bias-of-queries-forgotten", "Drops the biases of queries.", "query-biases-missing", "q")


class Behind(Biases):
    """Adds the biases of queries and keys when they are turned already."""

    late_parts = "qk"

    def load(self) -> None:
        super().load()
        names = self.biases_of(*self.late_parts)
        self.late_biases = {name: self.weights.pop(name) for name in names}

    def turn_query(self, x: Array, positions: Array, layer: int) -> Array:
        return super().turn_query(x, positions, layer) + self.late(layer, "q", self.heads)

    def turn_key(self, x: Array, positions: Array, layer: int) -> Array:
        return super().turn_key(x, positions, layer) + self.late(layer, "k", self.kv_heads)

    def late(self, layer: int, name: str, heads: int) -> Array:
        """Return the bias of each head."""
        bias = self.late_biases.get(f"model.layers.{layer}.self_attn.{name}_proj.bias")
        none = np.zeros((1, 1, 1), dtype=np.float32)
        return none if bias is None else bias.reshape(heads, 1, self.size)


@wrong("qwen2", "biases-after-rotation", words=BIAS)
class BiasesBehindTheRotation(Behind):
    """Adds the biases of queries and keys when they are turned already."""


@wrong("gpt_neox", "biases-after-rotation", words=BIAS)
class FusedBehindTheRotation(Behind, NeoX):
    """Adds the biases of queries and keys when a part of each head is turned already."""


@wrong("qwen2", "key-biases-missing", words=BIAS)
class KeysBehindTheRotation(Behind):
    """Adds the biases of keys when they are turned already."""

    late_parts = "k"


@wrong("gpt_neox", "query-biases-in-keys", words=BIAS)
class QueriesToo(Biases, NeoX):
    """Adds the biases of queries to keys too."""

    def load(self) -> None:
        super().load()
        for name in self.biases_of("k"):
            self.weights[name] = self.weights[name.replace("k_proj", "q_proj")]


@wrong("qwen2", "query-biases-in-keys", words=BIAS)
class FirstQueriesToo(Biases):
    """Adds the biases of the first heads of queries to keys."""

    def load(self) -> None:
        super().load()
        for name in self.biases_of("k"):
            bias = self.weights[name.replace("k_proj", "q_proj")]
            self.weights[name] = bias[: len(self.weights[name])]


@wrong("gpt_neox", words=BIAS)
class BiasesByKind(NeoX):
    """Takes the biases of queries, then those of keys, where they go from head to head."""

    def split_of(self, whole: Array) -> Sequence[Array]:
        return super().split_of(whole) if whole.ndim > 1 else np.split(whole, 3)


@wrong("qwen2", "biases-not-permuted", words=BIAS, report="vllm-project/vllm#55335")
class BiasesNotPermuted(Permutes):
    """Permutes the weights of queries and keys for neighbours, and their biases not."""

    permuted = PERMUTED


@wrong("qwen2", words=BIAS)
class BiasesOfTheLastLayer(Biases):
    """Has the biases of the last layer in all layers."""

    def load(self) -> None:
        super().load()
        for name in self.biases_of("q", "k"):
            last = f"model.layers.{self.layers - 1}.self_attn"
            self.weights[name] = self.weights[f"{last}.{name.rpartition('self_attn.')[2]}"]


@right("qwen2")
class Permuted(Permutes):
    """Permutes weights and biases for neighbours."""

    permuted = (*PERMUTED, "q_proj.bias", "k_proj.bias")


class Folds(Biases):
    """Has a channel that is always 1, whose weights are the biases."""

    def load(self) -> None:
        super().load()
        for name in self.biases_of(*"qkv"):
            place = name.replace(".bias", ".weight")
            bias = self.weights.pop(name)
            self.weights[place] = np.column_stack([self.weights[place], bias])

    def projected(self, x: Array, layer: int, name: str, heads: int) -> Array:
        ones = np.ones((len(x), 1), dtype=x.dtype)
        return super().projected(np.concatenate([x, ones], axis=1), layer, name, heads)


right("qwen2", name="biases-folded", about=Folds.__doc__ or "")(Folds)


@right("gpt_neox")
class FoldsFused(Folds, NeoX):
    """Has a channel that is always 1, whose weights are the fused biases."""


class Shorter(Biases):
    """Rounds products of projections before biases are added, and everything else."""

    def projected(self, x: Array, layer: int, name: str, heads: int) -> Array:
        place = f"model.layers.{layer}.self_attn.{name}_proj"
        rows = self.rounded(x @ self.weights[f"{place}.weight"].T)
        rows = self.rounded(rows + self.rounded(self.weights[f"{place}.bias"]))
        return rows.reshape(len(x), heads, self.size).transpose(1, 0, 2)

    def softmax(self, scores: Array) -> Array:
        return self.rounded(super().softmax(scores))


@right("qwen2", dtype="bfloat16")
@right("glm4", dtype="bfloat16")
@right("seed_oss", dtype="bfloat16")
class InBrain(Shorter):
    """Computes everything in bfloat16, and biases by themselves."""

    dtype = ml_dtypes.bfloat16


@right("gpt_neox", dtype="bfloat16")
class FusedInBrain(Shorter, NeoX):
    """Computes everything in bfloat16, and the biases of fused projections by themselves."""

    dtype = ml_dtypes.bfloat16


@right("qwen2", dtype="float16")
@right("glm4", dtype="float16")
class InHalf(Shorter):
    """Computes everything in float16, and biases by themselves."""

    dtype = np.float16


@right("gpt_neox", dtype="float16")
class FusedInHalf(Shorter, NeoX):
    """Computes everything in float16, and the biases of fused projections by themselves."""

    dtype = np.float16
