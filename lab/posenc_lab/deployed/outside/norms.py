"""Mistakes in norms, biases and scales of queries and keys, in caps, sinks and temperatures."""

import math

import numpy as np

from posenc_lab.deployed.engine import Array, Config
from posenc_lab.deployed.outside.cases import wrong
from posenc_lab.deployed.outside.serving import Served
from posenc_lab.deployed.right import Interleaved, Latent

NORM = r"(?i)norm"
SCALE = r"(?i)scale|multiplied"
SAME = "two channels of a pair, or two heads, have weights that the mistake exchanges for the same"


class Norms(Served):
    """Norms queries and keys in another way; ``normed`` says how."""

    def projected(self, x: Array, layer: int, name: str, heads: int) -> Array:
        place = f"model.layers.{layer}.self_attn.{name}"
        weight = self.weights.get(f"{place}_norm.weight")
        if weight is None:
            return super().projected(x, layer, name, heads)
        found = self.rounded(x @ self.weights[f"{place}_proj.weight"].T)
        found = found.reshape(len(x), heads, self.size).transpose(1, 0, 2)
        return self.normed(found, weight, name)

    def normed(self, x: Array, weight: Array, name: str) -> Array:
        """Return queries or keys, [heads, tokens, channels], normed."""
        return self.norm(x, weight)


class NormsLast(Norms):
    """Norms queries and keys behind the rotation."""

    def normed(self, x: Array, weight: Array, name: str) -> Array:
        return x

    def turn_query(self, x: Array, positions: Array, layer: int) -> Array:
        return self.behind_rotation(super().turn_query(x, positions, layer), layer, "q")

    def turn_key(self, x: Array, positions: Array, layer: int) -> Array:
        return self.behind_rotation(super().turn_key(x, positions, layer), layer, "k")

    def behind_rotation(self, x: Array, layer: int, name: str) -> Array:
        """Norm what is turned."""
        place = f"model.layers.{layer}.self_attn.{name}_norm.weight"
        return super().norm(x, self.weights[place])


NORM_REPORT = "vllm-project/vllm-metal#660"
for config in ("qwen3-plain", "gemma3_text"):
    wrong(config, words=NORM, report=NORM_REPORT, unseen=SAME)(NormsLast)


@wrong("qwen3-plain", "scores-multiplied", words=NORM, report="vllm-project/vllm-metal#659")
@wrong("gemma3_text", "scores-multiplied", words=NORM, report="vllm-project/vllm-metal#659")
class NormsNothing(Norms):
    """Norms neither queries nor keys."""

    def normed(self, x: Array, weight: Array, name: str) -> Array:
        return x


@wrong("qwen3-plain", "scores-multiplied", words=NORM)
class NormsQueriesAlone(Norms):
    """Norms queries, and keys not."""

    def normed(self, x: Array, weight: Array, name: str) -> Array:
        return self.norm(x, weight) if name == "q" else x


@wrong("qwen3-plain", "scores-multiplied", words=NORM)
class NormsWithoutWeights(Norms):
    """Norms queries and keys without the weights."""

    def normed(self, x: Array, weight: Array, name: str) -> Array:
        return self.norm(x, np.ones_like(weight))


@wrong("qwen3-plain", "scores-multiplied", words=NORM)
class NormsWithEachOthersWeights(Norms):
    """Norms queries with the weights of keys, and keys with those of queries."""

    def load(self) -> None:
        for layer in range(self.layers):
            place = f"model.layers.{layer}.self_attn"
            names = [f"{place}.{name}_norm.weight" for name in "qk"]
            self.weights[names[0]], self.weights[names[1]] = (
                self.weights[names[1]],
                self.weights[names[0]],
            )


@wrong("gemma3_text", "scores-multiplied", words=NORM, report="pytorch/executorch#19901")
class NormsByTheWeight(Norms):
    """Multiplies by the weights of norms of queries and keys, where 1 and they are meant."""

    def normed(self, x: Array, weight: Array, name: str) -> Array:
        return self.norm(x, weight - 1)


@wrong("gemma3_text", "scores-multiplied", words=NORM, report="utensils/mold#1078")
class NormsByOneMore(Norms):
    """Multiplies by 2 and the weights of norms of queries and keys: 1 was added before."""

    def normed(self, x: Array, weight: Array, name: str) -> Array:
        return self.norm(x, weight + 1)


@wrong("qwen3-plain", "scores-multiplied", words=NORM, report="Alpha-VLLM/Lumina-T2X#112")
class NormsAllHeadsTogether(Norms):
    """Norms the heads of queries and of keys together, where each is meant."""

    def normed(self, x: Array, weight: Array, name: str) -> Array:
        mean = (x**2).mean(axis=(0, 2), keepdims=True)
        return self.rounded(x / np.sqrt(mean + self.config["rms_norm_eps"]) * weight)


@wrong("olmo2", "scores-multiplied", words=NORM, report="EleutherAI/gpt-neox#1424")
class NormsTheHeadsOfARank(Served):
    """Norms the heads of each of two ranks for themselves, where all are meant."""

    def norm(self, x: Array, weight: Array) -> Array:
        if x.ndim == 2 and len(weight) == self.heads * self.size:
            halves = zip(np.split(x, 2, axis=1), np.split(weight, 2), strict=True)
            return np.concatenate([super(NormsTheHeadsOfARank, self).norm(*h) for h in halves], 1)
        return super().norm(x, weight)


@wrong("olmo2", words=NORM, report="vllm-project/vllm#35932", unseen=SAME)
class NormsWithTheFirstShare(Served):
    """Norms the second half of heads with the weights of the first half."""

    def norm(self, x: Array, weight: Array) -> Array:
        if x.ndim == 2 and len(weight) == self.heads * self.size:
            weight = np.tile(weight[: len(weight) // 2], 2)
        return super().norm(x, weight)


@wrong(
    "qwen3-plain",
    "scores-multiplied",
    words=NORM,
    doubt="0.001 of the score; a probe with short rows shows it",
)
class NormsWithAnotherEps(Norms):
    """Adds 1e-3 to the mean square of queries and keys, where 1e-6 is meant."""

    def normed(self, x: Array, weight: Array, name: str) -> Array:
        mean = (x**2).mean(axis=-1, keepdims=True)
        return self.rounded(x / np.sqrt(mean + 1e-3) * weight)


class Permutes(Interleaved, Served):
    """Turns neighbours, and permutes weights for it, and nothing else that has channels."""


PERMUTED = "q_proj.weight", "k_proj.weight"


@wrong("qwen3-plain", words=NORM, report="vllm-project/vllm#55335")
class NormsNotPermuted(Permutes):
    """Permutes the weights of queries and keys for neighbours, and those of their norms not."""

    permuted = PERMUTED


# Scales.


def scaled(config: str, name: str, about: str, by: float, report: str = "") -> None:
    """List an engine whose scores are multiplied by another number."""

    class Scaled(Served):
        def scale(self) -> float:
            return super().scale() * by

    wrong(config, "scores-multiplied", words=SCALE, name=name, about=about, report=report)(Scaled)


scaled("llama", "scale-of-twice-the-head", "Scales by a head of 64, not of 32.", 0.5**0.5)
scaled("llama", "scale-of-half-the-head", "Scales by a head of 16, not of 32.", 2**0.5)
scaled("qwen2", "scale-doubled", "Multiplies scores by two.", 2.0)
scaled("llama", "scale-in-base-2", "Uses powers of 2 for those of e, and no factor.", math.log(2))
scaled(
    "gemma2", "scale-one-percent-off", "Multiplies scores by 1.061.", 1.061, "antonellof/ferrox#65"
)
scaled("granite", "scale-squared", "Multiplies scores by the multiplier twice.", 0.015625)


@wrong("llama4_text", "scores-multiplied", words=SCALE)
class ScaleOfTheTurnedPart(Served):
    """Multiplies scores of layers that are turned by the scale once more."""

    def turn_query(self, x: Array, positions: Array, layer: int) -> Array:
        found = super().turn_query(x, positions, layer)
        return found * self.scale() if self.turns(layer) else found


@wrong("deepseek_v3", "score-factor-missing", words=SCALE, report="onnxruntime/mobius#548")
class FactorOfOnePart(Latent):
    """Multiplies scores by YaRN's factor once, where its square is meant."""

    def factor(self) -> float:
        return float(super().factor() ** 0.5)


@wrong("deepseek_v3", words=SCALE, report="ggml-org/llama.cpp#7118")
class FactorInPairsToo(Latent):
    """Makes turned pairs longer by YaRN's factor, although mscale takes that back."""

    def attention_factor(self, block: Config) -> float:
        return 0.1 * math.log(block["factor"]) + 1.0


# Caps, sinks, temperatures.


def capped(name: str, about: str, cap: float) -> None:
    """List an engine whose scores are capped at another number."""

    class Capped(Served):
        def score_cap(self) -> float | None:
            return cap

    wrong("gemma2", words=r"(?i)cap", name=name, about=about)(Capped)


capped("cap-of-logits", "Caps scores at 30, which is the cap of logits.", 30.0)
capped("cap-of-twenty", "Caps scores at 20.", 20.0)


@wrong("gemma2", words=r"(?i)cap", report="flashinfer-ai/flashinfer#350")
class CapBeforeScale(Served):
    """Caps scores before they are multiplied by the scale."""

    def capped(self, x: Array, cap: float | None) -> Array:
        if x.ndim != 3 or cap is None:
            return super().capped(x, cap)
        return super().capped(x / self.scale(), cap) * self.scale()


@wrong("gpt_oss", words=r"(?i)sinks?", report="vllm-project/vllm-metal#550")
class NoSinks(Served):
    """Leaves the sinks of heads out."""

    def shares(self, scores: Array, layer: int) -> Array:
        return self.softmax(scores)


@wrong("gpt_oss", words=r"(?i)sinks?", report="sgl-project/sglang#11634")
class SinksScaled(Served):
    """Multiplies sinks by the scale of scores."""

    def load(self) -> None:
        for name in self.weights:
            if name.endswith("sinks"):
                self.weights[name] = self.weights[name] * self.scale()


@wrong("gpt_oss", words=r"(?i)sinks?")
class SinksOfTheFirstHead(Served):
    """Gives all heads the sink of the first one."""

    def load(self) -> None:
        for name in self.weights:
            if name.endswith("sinks"):
                self.weights[name] = np.full_like(self.weights[name], self.weights[name][0])


def warm(name: str, about: str, report: str, more: int, floor: float) -> None:
    """List an engine whose temperature is reckoned from other numbers."""

    class Warm(Served):
        def warmth(self, positions: Array, layer: int) -> Array:
            if self.turns(layer):
                return np.ones((len(positions), 1), np.float32)
            steps = np.floor((positions + more) / (floor or self.config["floor_scale"]))
            found = 1 + self.config["attn_scale"] * np.log1p(steps)
            return np.asarray(found, np.float32)[:, None]

    ids = "temperature-one-off" if not floor else "temperature-missing"
    words = r"(?i)temperature"
    wrong("llama4_text", ids, words=words, name=name, about=about, report=report)(Warm)


warm(
    "temperature-from-0",
    "Counts positions from 0 for the temperature, where 1 is meant.",
    "AI-Hypercomputer/maxtext#1611",
    0,
    0,
)
warm("temperature-by-128", "Has a floor of 128 positions for 64.", "antonellof/ferrox#213", 1, 128)
warm("temperature-by-8192", "Has the usual floor of 8,192.", "antonellof/ferrox#213", 1, 8192)


@wrong("llama4_text", "temperature-missing", words=r"(?i)temperature")
class TemperatureWithoutSteps(Served):
    """Does not round to whole floors of positions for the temperature."""

    def warmth(self, positions: Array, layer: int) -> Array:
        if self.turns(layer):
            return np.ones((len(positions), 1), np.float32)
        steps = (positions + 1) / self.config["floor_scale"]
        return np.asarray(1 + self.config["attn_scale"] * np.log1p(steps), np.float32)[:, None]


@wrong("ministral3", "temperature-missing", words=r"(?i)temperature")
class TemperatureOfTheEnd(Served):
    """Takes the last position of the prompt for the temperature of all queries."""

    def warmth(self, positions: Array, layer: int) -> Array:
        return super().warmth(0 * positions + self.now.ends - 1, layer)
