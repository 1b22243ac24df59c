"""Mistakes in bases, scalings and lengths: what the configuration says is read otherwise."""

import math

import numpy as np

from posenc_lab.deployed.engine import Array, Config
from posenc_lab.deployed.outside.cases import wrong
from posenc_lab.deployed.outside.serving import Served
from posenc_lab.deployed.right import Latent

# Fields that are read from elsewhere, or not.


def read_as(
    config: str,
    name: str,
    about: str,
    ids: str,
    changes: Config,
    words: str = "",
    report: str = "",
    doubt: str = "",
) -> None:
    """List an engine that reads some fields of the block otherwise."""

    class ReadAs(Served):
        def scaling(self, layer: int) -> Config:
            return {**super().scaling(layer), **changes}

    wrong(config, ids, words=words, name=name, about=about, report=report, doubt=doubt)(ReadAs)


PLAIN = {"rope_type": "default"}
USUAL = {"rope_theta": 10000.0}
NOT_SCALED = "scaling-ignored"
read_as("linear", "linear-ignored", "Reads no linear scaling.", NOT_SCALED, PLAIN)
read_as(
    "linear",
    "linear-by-its-inverse",
    "Multiplies by the factor, where it is to divide.",
    "factor-of-another-model scaling-ignored",
    {"factor": 0.25},
    r"(?i)factor|multiplied",
)
read_as(
    "llama-nested",
    "nested-ignored",
    "Looks for rope_theta and rope_scaling beside the block that has them.",
    "scaling-ignored+base-ignored",
    {**PLAIN, **USUAL},
    report="deepspeedai/DeepSpeed#8345",
)
read_as(
    "llama-nested",
    "nested-base-ignored",
    "Reads the scaling of a nested block, and base 10,000.",
    "base-ignored",
    USUAL,
    report="sgl-project/SpecForge#265",
)
read_as(
    "llama-nested",
    "nested-scaling-ignored",
    "Reads the base of a nested block, and no scaling.",
    NOT_SCALED,
    PLAIN,
    report="unslothai/unsloth#6197",
)
read_as(
    "llama-nested",
    "factor-8-for-32",
    "Has the factor of Llama 3.1 written in the code.",
    "factor-of-another-model",
    {"factor": 8.0},
    report="trholding/llama2.c#14",
)
read_as(
    "llama",
    "original-length-8192",
    "Has the original length of Llama 3 written in the code.",
    "wrong-context-length",
    {"original_max_position_embeddings": 8192},
    r"(?i)original|context",
    report="jmaczan/tiny-vllm#1",
)
read_as(
    "llama",
    "bands-exchanged",
    "Exchanges the factors of high and low frequencies.",
    "",
    {"low_freq_factor": 4.0, "high_freq_factor": 1.0},
    r"(?i)low_freq|high_freq|band|ramp",
)
read_as(
    "llama",
    "high-factor-8",
    "Reads 8 for the factor of high frequencies, where 4 is given.",
    "",
    {"high_freq_factor": 8.0},
    r"(?i)low_freq|high_freq|band|ramp",
)
BETAS = r"(?i)beta"
read_as(
    "yarn-betas",
    "usual-betas",
    "Has YaRN's usual bounds 32 and 1, where others are given.",
    "",
    {"beta_fast": 32.0, "beta_slow": 1.0},
    BETAS,
    report="GaijinEntertainment/daScript#3479",
)
read_as(
    "yarn-betas",
    "beta-fast-32",
    "Reads one of YaRN's two bounds.",
    "",
    {"beta_fast": 32.0},
    BETAS,
    report="lablup/mlxcel#1472",
)
read_as(
    "qwen3",
    "betas-exchanged",
    "Exchanges YaRN's two bounds.",
    "",
    {"beta_fast": 1.0, "beta_slow": 32.0},
    BETAS,
)
read_as(
    "qwen3",
    "original-length-of-the-model",
    "Takes max_position_embeddings for the original length.",
    "wrong-context-length",
    {"original_max_position_embeddings": 1024},
    r"(?i)original|context",
)
read_as(
    "qwen3",
    "original-length-4096",
    "Has 4,096 for the original length.",
    "wrong-context-length",
    {"original_max_position_embeddings": 4096},
    r"(?i)original|context",
)
read_as(
    "qwen3",
    "yarn-as-linear",
    "Divides all frequencies by YaRN's factor.",
    "taken-for-linear",
    {"rope_type": "linear"},
    r"(?i)linear|divided",
)
read_as(
    "yarn-factor",
    "given-factor-unread",
    "Reckons YaRN's attention factor, although one is given.",
    "attention-factor-twice attention-factor-missing",
    {"attention_factor": None},
    r"(?i)attention.factor|longer|mscale",
    report="ml-explore/mlx-lm#1507",
)
read_as(
    "qwen3",
    "attention-factor-squared",
    "Applies a given attention factor on top of the reckoned one.",
    "attention-factor-twice",
    {"attention_factor": (0.1 * math.log(4) + 1) ** 2},
    report="sgl-project/sglang#33558",
)
read_as(
    "ministral3",
    "mscale-as-one-number",
    "Takes mscale alone for the length of pairs.",
    "mscale-ignored",
    {"mscale_all_dim": 0.0},
    report="sgl-project/sglang#22711",
)
read_as(
    "gpt_oss",
    "truncate-ignored",
    "Rounds the bounds of YaRN's ramp, although truncate is false.",
    "ramp-rounded",
    {"truncate": True},
)
read_as(
    "glm",
    "partial-base-of-another",
    "Has base 10,000 in a model that turns a part of each head.",
    "base-ignored",
    USUAL,
)
read_as(
    "gemma2",
    "gemma-base-one-million",
    "Has Gemma 3's base in Gemma 2.",
    "base-of-another-model",
    {"rope_theta": 1e6},
)


@wrong("llama", words=r"(?i)ramp|smooth|step")
class NoRampBetweenBands(Served):
    """Leaves out the ramp between Llama 3's bands: there, nothing is divided."""

    def llama3(self, plain: Array, block: Config) -> Array:
        turns = block["original_max_position_embeddings"] * plain / (2 * math.pi)
        return np.where(turns < block["low_freq_factor"], plain / block["factor"], plain)


@wrong("llama", words=r"(?i)ramp|smooth|twice", report="huggingface/transformers#32330")
class RampDividedTwice(Served):
    """Divides frequencies of the ramp that are divided already."""

    def llama3(self, plain: Array, block: Config) -> Array:
        found = super().llama3(plain, block)
        return np.asarray(found * np.where(found < plain, found / plain, 1))


@wrong("llama", words=r"(?i)ramp|smooth|wavelength")
class RampByWavelength(Served):
    """Passes from band to band in even steps of wavelengths, not of their inverses."""

    def llama3(self, plain: Array, block: Config) -> Array:
        original = block["original_max_position_embeddings"]
        longest, shortest = (original / block[f"{each}_freq_factor"] for each in ("low", "high"))
        share = np.clip((2 * math.pi / plain - shortest) / (longest - shortest), 0, 1)
        return np.asarray(plain / (1 - share + share * block["factor"]))


@wrong("qwen3", words=r"(?i)ramp|inverse|exchang")
class YarnFromTheOtherSide(Served):
    """Divides the fast frequencies by YaRN's factor, and leaves the slow ones."""

    def yarn(self, plain: Array, block: Config) -> Array:
        found = super().yarn(plain, block)
        return np.asarray(plain**2 / block["factor"] / found)


@wrong("qwen3", words=r"(?i)ramp|step")
class YarnWithoutRamp(Served):
    """Divides the pairs behind the middle of YaRN's ramp, and no others."""

    def yarn(self, plain: Array, block: Config) -> Array:
        found = super().yarn(plain, block)
        near = found < plain * (1 + 1 / block["factor"]) / 2
        return np.where(near, plain / block["factor"], plain)


@wrong("deepseek_v3", words=r"(?i)ramp|head|dim")
class YarnOfTheWholeHead(Latent):
    """Reckons YaRN's ramp from the channels of the whole head, not of the turned part."""

    def ramp(self, first: float, last: float, block: Config) -> tuple[float, float]:
        more = (self.config["qk_nope_head_dim"] + self.size) / self.size
        return super().ramp(first * more, last * more, block)


@wrong("qwen3", "attention-factor-missing", words=r"(?i)attention.factor|quer")
class FactorOfQueriesAlone(Served):
    """Makes queries longer by YaRN's factor, and keys not."""

    def turn_key(self, x: Array, positions: Array, layer: int) -> Array:
        return super().turn_key(x, positions, layer) / self.frequencies(layer)[1]


# Parts of heads.


def width(config: str, name: str, about: str, part: float, ids: str, report: str = "") -> None:
    """List an engine that turns another part of each head."""

    class Part(Served):
        def turned_size(self) -> int:
            return int(self.size * part)

    words = r"(?i)partial|channels|width"
    wrong(config, ids, words=words, name=name, about=about, report=report)(Part)


width(
    "glm",
    "whole-head-turned",
    "Turns the whole head.",
    1.0,
    "partial-ignored",
    "ml-explore/mlx-lm#1698",
)
width(
    "glm4",
    "quarter-turned",
    "Turns a quarter of a head for a half.",
    0.25,
    "",
    "InternLM/lmdeploy#3861",
)
width("glm4", "three-quarters-turned", "Turns three quarters for a half.", 0.75, "")
width("llama", "half-turned", "Turns half of a head that is to be turned whole.", 0.5, "")


@wrong("glm", words=r"(?i)partial|exponent|channels", report="huggingface/transformers#48652")
class FrequenciesOfTheWholeHead(Served):
    """Turns a part of each head by the first frequencies of a whole head."""

    def plain(self, base: float) -> Array:
        exponents = np.arange(0, self.width, 2, dtype=np.float64) / self.size
        return np.asarray(base**-exponents)


@wrong("glm", words=r"(?i)partial|channels|last|part")
class LastPartTurned(Served):
    """Turns the last channels of each head, where the first are meant."""

    def rotate(self, x: Array, positions: Array, layer: int) -> Array:
        found = super().rotate(np.roll(x, self.width, axis=-1), positions, layer)
        return np.roll(found, -self.width, axis=-1)


# Kinds of layers.

KINDS = "local-base-everywhere global-base-everywhere scaling-on-other-layers layers-mistaken"


@wrong("gemma3_text", KINDS, words=r"(?i)base", report="Comfy-Org/ComfyUI#11409")
@wrong("gemma3-nested", KINDS, words=r"(?i)base", report="huggingface/transformers#41922")
class BasesOfKindsExchanged(Served):
    """Exchanges the bases of sliding and of full layers."""

    def scaling(self, layer: int) -> Config:
        other = 0 if self.window(layer) is None else self.layers - 1
        theirs = super().scaling(other)["rope_theta"]
        return {**super().scaling(layer), "rope_theta": theirs}


@wrong(
    "gemma3_text", "scaling-on-other-layers", words=r"(?i)scaling", report="antonellof/ferrox#39"
)
class ScalingInSlidingLayersToo(Served):
    """Divides the positions of sliding layers too."""

    def scaling(self, layer: int) -> Config:
        return {**super().scaling(layer), "rope_type": "linear", "factor": 8.0}


@wrong("gemma3_text", "scaling-on-other-layers", words=r"(?i)scaling")
class ScalingInSlidingLayersOnly(Served):
    """Divides the positions of sliding layers, and not those of full ones."""

    def scaling(self, layer: int) -> Config:
        kind = "default" if self.window(layer) is None else "linear"
        return {**super().scaling(layer), "rope_type": kind, "factor": 8.0}


@wrong("gemma3_text", NOT_SCALED, report="Blaizzy/mlx-vlm#1709")
class ScalingNowhere(Served):
    """Divides the positions of no layer."""

    def scaling(self, layer: int) -> Config:
        return {**super().scaling(layer), "rope_type": "default"}


@wrong("gemma3-nested", KINDS, words=r"(?i)base", report="vllm-project/speculators#649")
class NestedReadAsFlat(Served):
    """Reads the block of sliding layers for all."""

    def scaling(self, layer: int) -> Config:
        return super().scaling(0)


@wrong("gemma3-nested", "base-ignored", words=r"(?i)base", report="vllm-project/vllm#28542")
class NestedUnread(Served):
    """Looks for rope_theta beside the nested blocks, and takes 10,000 and no scaling."""

    def scaling(self, layer: int) -> Config:
        return {"rope_theta": 10000.0, "rope_type": "default"}
