"""A small engine for encoders, which compute the logits of a whole text in one pass."""

import math
from collections.abc import Mapping, Sequence

import ml_dtypes
import numpy as np

from posenc_lab.deployed.cases import right, wrong
from posenc_lab.deployed.engine import Array, Config, Engine

FIELDS = {"dim": "hidden_size", "n_heads": "num_attention_heads", "n_layers": "num_hidden_layers"}
"""Field names of some types, and their usual names."""
BERT = {
    "words": "bert.embeddings.word_embeddings",
    "rows": "bert.embeddings.position_embeddings",
    "types": "bert.embeddings.token_type_embeddings",
    "first": "bert.embeddings.LayerNorm",
    "query": "bert.encoder.layer.{}.attention.self.query",
    "key": "bert.encoder.layer.{}.attention.self.key",
    "value": "bert.encoder.layer.{}.attention.self.value",
    "out": "bert.encoder.layer.{}.attention.output.dense",
    "behind": "bert.encoder.layer.{}.attention.output.LayerNorm",
    "last": "bert.encoder.layer.{}.output.LayerNorm",
    "head": "cls.predictions.transform.dense",
    "normed": "cls.predictions.transform.LayerNorm",
}
ROBERTA = {
    **{part: name.replace("bert.", "roberta.", 1) for part, name in BERT.items()},
    "head": "lm_head.dense",
    "normed": "lm_head.layer_norm",
}
NAMES: Mapping[str, Mapping[str, str]] = {
    "bert": BERT,
    "roberta": ROBERTA,
    "xlm-roberta": ROBERTA,
    "distilbert": {
        "words": "distilbert.embeddings.word_embeddings",
        "rows": "distilbert.embeddings.position_embeddings",
        "first": "distilbert.embeddings.LayerNorm",
        "query": "distilbert.transformer.layer.{}.attention.q_lin",
        "key": "distilbert.transformer.layer.{}.attention.k_lin",
        "value": "distilbert.transformer.layer.{}.attention.v_lin",
        "out": "distilbert.transformer.layer.{}.attention.out_lin",
        "behind": "distilbert.transformer.layer.{}.sa_layer_norm",
        "last": "distilbert.transformer.layer.{}.output_layer_norm",
        "head": "vocab_transform",
        "normed": "vocab_layer_norm",
    },
    "nomic_bert": {
        "words": "nomic_bert.embeddings.word_embeddings",
        "types": "nomic_bert.embeddings.token_type_embeddings",
        "first": "nomic_bert.embeddings.LayerNorm",
        "query": "nomic_bert.layers.{}.self_attn.q_proj",
        "key": "nomic_bert.layers.{}.self_attn.k_proj",
        "value": "nomic_bert.layers.{}.self_attn.v_proj",
        "out": "nomic_bert.layers.{}.self_attn.o_proj",
        "behind": "nomic_bert.layers.{}.post_attention_layernorm",
        "last": "nomic_bert.layers.{}.post_mlp_layernorm",
        "head": "cls.predictions.transform.dense",
        "normed": "cls.predictions.transform.layer_norm",
    },
    "modernbert": {
        "words": "model.embeddings.tok_embeddings",
        "first": "model.embeddings.norm",
        "before": "model.layers.{}.attn_norm",
        "fused": "model.layers.{}.attn.Wqkv",
        "out": "model.layers.{}.attn.Wo",
        "final": "model.final_norm",
        "head": "head.dense",
        "normed": "head.norm",
    },
}
"""Names of each type's parts in its checkpoints."""


@right("bert")
@right("distilbert")
@right("roberta")
@right("xlm-roberta")
@right("modernbert")
@right("nomic_bert")
class Encoder(Engine):
    """A right encoder in the plainest style."""

    padding = 1
    """The padding token, after which RoBERTa's position rows begin."""

    def __init__(self, config: Config, weights: Mapping[str, Array], words: Sequence[str]) -> None:
        named = {FIELDS.get(name, name): value for name, value in config.items()}
        super().__init__(named, weights, words)

    def load(self) -> None:
        self.type = self.config["model_type"]
        self.eps = self.config.get("norm_eps") or self.config.get("layer_norm_eps") or 1e-12

    # Configuration.

    def scaling(self, layer: int) -> Config:
        return {"rope_theta": self.base(layer), "rope_type": "default"}

    def base(self, layer: int) -> float:
        """Return the base of a layer."""
        if self.type == "nomic_bert":
            return float(self.config.get("rope_theta", 1000.0))
        kind = "local" if self.window(layer) is not None else "global"
        return float(self.config[f"{kind}_rope_theta"])

    def window(self, layer: int) -> int | None:
        """Return how many positions a query sees on each side of its own; None for no limit."""
        every = self.config.get("global_attn_every_n_layers")
        if every is None or layer % every == 0:
            return None
        return int(self.config["local_attention"]) // 2

    def turns(self, layer: int) -> bool:
        return "rows" not in NAMES[self.type]

    # Layers.

    def named(self, part: str, layer: int = 0) -> Array:
        """Return the weight of a part."""
        return self.weights[f"{NAMES[self.type][part].format(layer)}.weight"]

    def norm(self, x: Array, weight: Array) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        mean = (centred.astype(np.float32) ** 2).mean(axis=-1, keepdims=True)
        return self.rounded(centred / np.sqrt(mean + self.eps) * weight)

    def rows(self, count: int) -> Array:
        """Return the position row of each of ``count`` tokens."""
        begin = self.padding + 1 if self.type in ("roberta", "xlm-roberta") else 0
        return np.arange(begin, begin + count)

    def type_of_text(self) -> int:
        """Return the token type of all tokens: 0 for the first text of a pair, 1 for the second."""
        return 0

    def embedded(self, tokens: Sequence[int], where: Array) -> Array:
        x = self.named("words")[np.array(tokens)]
        if "rows" in NAMES[self.type]:
            x = x + self.named("rows")[self.rows(len(tokens))]
        if "types" in NAMES[self.type]:
            x = x + self.named("types")[self.type_of_text()]
        return self.norm(x, self.named("first"))

    def seen(self, queries: Array, keys: Array, layer: int) -> Array:
        window = self.window(layer)
        distance = queries[:, None] - keys
        before, behind = self.sides(window if window is not None else 1 << 30, layer)
        return np.asarray((distance <= before) & (distance >= -behind))

    def sides(self, window: int, layer: int) -> tuple[int, int]:
        """Return how far a query sees before its own position, and after it."""
        return window, window

    def read(self, x: Array, layer: int) -> Array:
        """Return the input of a layer's attention."""
        if "before" not in NAMES[self.type] or layer == 0:
            return x
        return self.norm(x, self.named("before", layer))

    def parts(self, layer: int) -> Sequence[Array]:
        """Return the weights of queries, keys and values."""
        if "fused" in NAMES[self.type]:
            return np.split(self.named("fused", layer), 3)
        return [self.named(part, layer) for part in ("query", "key", "value")]

    def added(self, x: Array, layer: int) -> Array:
        """Return the output of a layer's attention."""
        where = np.arange(len(x))
        query, key, value = (
            self.rounded(x @ part.T).reshape(len(x), self.heads, self.size).transpose(1, 0, 2)
            for part in self.parts(layer)
        )
        query, key = (self.rounded(self.rotate(rows, where, layer)) for rows in (query, key))
        scores = query @ key.transpose(0, 2, 1) * self.scale()
        shares = self.softmax(np.where(self.seen(where, where, layer), scores, -np.inf))
        out = self.rounded(shares @ value).transpose(1, 0, 2).reshape(len(x), -1)
        return self.rounded(out @ self.named("out", layer).T)

    def logits(self, tokens: Sequence[int]) -> Array:
        """Return the logits at each token of a text."""
        x = self.embedded(tokens, np.arange(len(tokens)))
        for layer in range(self.layers):
            x = self.rounded(x + self.added(self.read(x, layer), layer))
            for part in ("behind", "last"):
                if part in NAMES[self.type]:
                    x = self.norm(x, self.named(part, layer))
        if "final" in NAMES[self.type]:
            x = self.norm(x, self.named("final"))
        x = self.rounded(self.gelu(self.rounded(x @ self.named("head").T)))
        return np.asarray(self.norm(x, self.named("normed")) @ self.named("words").T)

    def gelu(self, x: Array) -> Array:
        """Return GELU."""
        out, small = np.where(x > 0, x, 0), (x != 0) & (np.abs(x) < 8)
        out[small] = [0.5 * number * (1 + math.erf(number / math.sqrt(2))) for number in x[small]]
        return np.asarray(out)

    def say(
        self, texts: Sequence[Sequence[int]], places: Sequence[Sequence[int]]
    ) -> list[list[dict[str, float]]]:
        answers = []
        for text, chosen in zip(texts, places, strict=True):
            logits = self.logits(text)[np.array(chosen)].astype(np.float64)
            shifted = logits - logits.max(axis=-1, keepdims=True)
            rows = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
            answers.append([dict(zip(self.words, map(float, row), strict=True)) for row in rows])
        return answers


# Right in other styles.


@right("bert", "bfloat16")
@right("roberta", "bfloat16")
@right("modernbert", "bfloat16")
@right("nomic_bert", "bfloat16")
class ShortEncoder(Encoder):
    """Computes everything in bfloat16."""

    dtype = ml_dtypes.bfloat16

    def softmax(self, scores: Array) -> Array:
        return self.rounded(super().softmax(scores))


@right("bert", "float16")
@right("modernbert", "float16")
@right("nomic_bert", "float16")
class HalfEncoder(Encoder):
    """Computes everything in float16."""

    dtype = np.float16

    def softmax(self, scores: Array) -> Array:
        return self.rounded(super().softmax(scores))


@right("modernbert")
@right("nomic_bert")
class OtherGelu(Encoder):
    """Computes GELU with a hyperbolic tangent."""

    def gelu(self, x: Array) -> Array:
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
        return np.asarray(0.5 * x * (1 + np.tanh(inner)))


@right("modernbert")
@right("nomic_bert")
class FromSeven(Encoder):
    """Counts positions from 7."""

    def rotate(self, x: Array, positions: Array, layer: int) -> Array:
        return super().rotate(x, positions + 7, layer)


# Wrong bases and windows.


@wrong("modernbert", "local-base-everywhere global-base-everywhere")
class BasesExchanged(Encoder):
    def base(self, layer: int) -> float:
        kind = "global" if self.window(layer) is not None else "local"
        return float(self.config[f"{kind}_rope_theta"])


@wrong("modernbert", "local-base-everywhere")
class LocalBase(Encoder):
    def base(self, layer: int) -> float:
        return float(self.config["local_rope_theta"])


@wrong("modernbert", "global-base-everywhere")
class GlobalBase(Encoder):
    def base(self, layer: int) -> float:
        return float(self.config["global_rope_theta"])


@wrong("nomic_bert", "base-ignored")
class UsualBaseOfAll(Encoder):
    def base(self, layer: int) -> float:
        return 10000.0


@wrong("modernbert", "window-off")
class HalfOfTheWindow(Encoder):
    """Mistakes half of the window for the whole."""

    def sides(self, window: int, layer: int) -> tuple[int, int]:
        return window // 2, window // 2


@wrong("modernbert", "window-off")
class TwiceTheWindow(Encoder):
    """Mistakes the whole window for its half."""

    def sides(self, window: int, layer: int) -> tuple[int, int]:
        return 2 * window, 2 * window


@wrong("modernbert", "window-off")
class OneMoreOnBothSides(Encoder):
    def sides(self, window: int, layer: int) -> tuple[int, int]:
        return window + 1, window + 1


@wrong("modernbert", "window-off")
class OneLessBehind(Encoder):
    """Has a window of an even number of positions: one less after the query."""

    def sides(self, window: int, layer: int) -> tuple[int, int]:
        return window, window - (self.window(layer) is not None)


@wrong("modernbert", "window-ignored")
class NoWindow(Encoder):
    def sides(self, window: int, layer: int) -> tuple[int, int]:
        return 1 << 30, 1 << 30


@wrong("modernbert", "window-everywhere")
class WindowInAllLayers(Encoder):
    def sides(self, window: int, layer: int) -> tuple[int, int]:
        half = int(self.config["local_attention"]) // 2
        return half, half


@wrong("modernbert", "causal")
@wrong("nomic_bert", "causal")
class CausalMask(Encoder):
    """Sees only the tokens before a query, like a decoder."""

    def sides(self, window: int, layer: int) -> tuple[int, int]:
        return window, 0


@wrong("modernbert", "causal")
class OneSided(Encoder):
    """Has a one-sided window."""

    def sides(self, window: int, layer: int) -> tuple[int, int]:
        return window, window if self.window(layer) is None else 0


# Wrong rotations.


@wrong("modernbert", "layout-swapped")
@wrong("nomic_bert", "layout-swapped")
class NeighboursTurned(Encoder):
    def pairs(self, x: Array) -> tuple[Array, Array]:
        return x[..., 0::2], x[..., 1::2]

    def joined(self, first: Array, second: Array) -> Array:
        return np.stack([first, second], axis=-1).reshape(*first.shape[:-1], self.width)


@wrong("nomic_bert", "not-turned")
class NothingTurned(Encoder):
    def rotate(self, x: Array, positions: Array, layer: int) -> Array:
        return x


@wrong("modernbert", "turned-backwards")
class OtherWay(Encoder):
    def rotate(self, x: Array, positions: Array, layer: int) -> Array:
        return super().rotate(x, -positions, layer)


@wrong("modernbert", "scores-multiplied")
class ScaledAgain(Encoder):
    def scale(self) -> float:
        return 1 / self.size


@wrong("nomic_bert", "not-turned")
class LastLayerAlone(Encoder):
    """Rotates nothing in the last layer."""

    def turns(self, layer: int) -> bool:
        return bool(layer < self.layers - 1)


# Wrong rows.


@wrong("roberta", "offset-missing")
@wrong("xlm-roberta", "offset-missing")
class RowsFromZero(Encoder):
    def rows(self, count: int) -> Array:
        return np.arange(count)


@wrong("roberta", "rows-shifted")
class RowsFromPadding(Encoder):
    """Begins with the padding row, not after it."""

    def rows(self, count: int) -> Array:
        return super().rows(count) - 1


@wrong("bert", "rows-shifted")
@wrong("distilbert", "rows-shifted")
class RowsBehindPadding(Encoder):
    """Counts as RoBERTa does."""

    def rows(self, count: int) -> Array:
        last = self.config["max_position_embeddings"] - 1
        return np.asarray(np.minimum(super().rows(count) + 2, last))


@wrong("bert", "rows-clamped")
class RowsEnd(Encoder):
    """Has half of the table, and reads its last row beyond the end."""

    def rows(self, count: int) -> Array:
        return np.minimum(super().rows(count), 255)


@wrong("bert", "token-type-of-second")
class SecondText(Encoder):
    """Mistakes a text for the second of a pair."""

    def type_of_text(self) -> int:
        return 1


@wrong("bert", "wrong-in-batch")
@wrong("roberta", "wrong-in-batch")
class FilledCounted(Encoder):
    """Pads shorter texts of a request on the left, and counts the padding."""

    filled = 0

    def say(
        self, texts: Sequence[Sequence[int]], places: Sequence[Sequence[int]]
    ) -> list[list[dict[str, float]]]:
        longest, answers = max(map(len, texts)), []
        for text, chosen in zip(texts, places, strict=True):
            self.filled = longest - len(text)
            answers += super().say([text], [chosen])
        self.filled = 0
        return answers

    def rows(self, count: int) -> Array:
        return np.asarray(super().rows(count) + self.filled)
