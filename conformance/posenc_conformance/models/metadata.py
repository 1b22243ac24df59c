"""The metadata of a GGUF file, as the configuration that the file was made from.

Keys are those of the package ``gguf``, as llama.cpp's converter writes them and its models read
them.
"""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from posenc_conformance.errors import UserError, in_line
from posenc_conformance.models.architectures import ROTARY
from posenc_conformance.models.configuration import FieldDict, Fields
from posenc_conformance.models.defaults import Default
from posenc_conformance.models.keys.of_gguf import FREQUENCIES, LONG, NAMES, SCALING, SHORT, TABLES
from posenc_conformance.models.loader import OLD_ARCHITECTURES, completed, divided
from posenc_conformance.models.types.rotary import HALF, INTERLEAVED

REPAIR = "give the config.json of the model that the file was made from"

NONE, OPTIONAL, NEEDED = "none", "optional", "needed"
"""Whether an architecture has sliding layers: never, only if there is a window, or always."""


@dataclass(frozen=True)
class Architecture:
    """The properties of a GGUF architecture that concern positions."""

    type: str
    """The type of model."""
    layout: str = HALF
    """The layout of queries and keys in the file: for some types the converter permutes
    channels."""
    window: str = NONE
    sliding: str | None = None
    """The type of models with a sliding window, if it differs from ``type``."""
    scaling: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the scaling block that the converter omits, with the value of released models."""
    latent: bool = False
    """Whether the rotated channels are a separate part of a compressed head."""
    magnitude: float | None = None
    """The factor of ``mscale_all_dim`` in the file; None if the file does not contain it."""
    warms: bool = False
    """Whether the file describes a factor by which queries grow with the position."""
    sections: bool = False
    """Whether the file has the distribution of pairs to time, height and width."""
    interval: bool = False
    """Whether the file may have an interval of layers with attention."""
    listed: bool = False
    """Whether the file lists key heads per layer, and layers without any have no attention."""
    turns: bool = True
    """Whether queries and keys are rotated in some layer."""
    two_sizes: bool = False
    """Whether heads of full layers have another size, and only some of their pairs are rotated."""
    chunks: bool = False
    """Whether layers are chunked unless the file says that none slides."""
    base: str = "rope_theta"
    """The field of config.json that contains the base."""
    shares: bool = False
    """Whether models of the type differ in the rotated share of a head."""
    own_keys: str = ""
    """Further keys that may be ignored, or are read for this architecture alone."""


ARCHITECTURES: Mapping[str, Architecture] = {
    "afmoe": Architecture("afmoe", window=NEEDED),
    "arcee": Architecture("arcee", INTERLEAVED),
    "bert": Architecture("bert", own_keys="attention.causal"),
    "bitnet": Architecture("bitnet"),
    "bloom": Architecture("bloom"),
    "cohere2": Architecture("cohere2", INTERLEAVED, NEEDED),
    "command-r": Architecture("cohere", INTERLEAVED),
    "deepseek2": Architecture("deepseek_v3", INTERLEAVED, latent=True, magnitude=0.1),
    "dots1": Architecture("dots1"),
    "ernie4_5": Architecture("ernie4_5", INTERLEAVED),
    "ernie4_5-moe": Architecture("ernie4_5_moe", INTERLEAVED),
    "exaone4": Architecture("exaone4", window=OPTIONAL),
    "falcon": Architecture("falcon"),
    "falcon-h1": Architecture("falcon_h1"),
    "gemma": Architecture("gemma"),
    "gemma2": Architecture("gemma2", window=NEEDED),
    "gemma3": Architecture("gemma3_text", window=OPTIONAL),
    "gemma3n": Architecture("gemma3n_text", window=NEEDED),
    "gemma4": Architecture("gemma4_text", window=NEEDED, two_sizes=True),
    "glm4": Architecture("glm4", INTERLEAVED, shares=True),
    "glm4moe": Architecture("glm4_moe", shares=True),
    "gpt-oss": Architecture("gpt_oss", window=NEEDED, scaling={"truncate": False}),
    "gpt2": Architecture("gpt2"),
    "gptj": Architecture("gptj", INTERLEAVED),
    "gptneox": Architecture("gpt_neox", base="rotary_emb_base", shares=True),
    "granite": Architecture("granite", INTERLEAVED),
    "granitehybrid": Architecture("granitemoehybrid", turns=False),
    "granitemoe": Architecture("granitemoe", INTERLEAVED),
    "hunyuan-dense": Architecture("hunyuan_v1_dense"),
    "hunyuan-moe": Architecture("hunyuan_v1_moe"),
    "lfm2": Architecture("lfm2", listed=True),
    "lfm2moe": Architecture("lfm2_moe", listed=True),
    "llama": Architecture("llama", INTERLEAVED),
    "llama4": Architecture("llama4_text", INTERLEAVED, chunks=True),
    "minimax-m2": Architecture("minimax_m2"),
    "mistral3": Architecture("ministral3", INTERLEAVED, magnitude=1.0, warms=True),
    "mpt": Architecture("mpt", own_keys="attention.max_alibi_bias"),
    "nemotron": Architecture("nemotron", shares=True),
    "nemotron_h": Architecture("nemotron_h", turns=False),
    "nemotron_h_moe": Architecture("nemotron_h", turns=False),
    "olmo": Architecture("olmo", INTERLEAVED),
    "olmo2": Architecture("olmo2", window=OPTIONAL, sliding="olmo3"),
    "olmoe": Architecture("olmoe"),
    "phi2": Architecture("phi", shares=True),
    "phi3": Architecture("phi3", window=OPTIONAL),
    "qwen2": Architecture("qwen2"),
    "qwen2moe": Architecture("qwen2_moe"),
    "qwen2vl": Architecture("qwen2_vl_text", sections=True),
    "qwen3": Architecture("qwen3"),
    "qwen35": Architecture("qwen3_5_text", sections=True, interval=True, shares=True),
    "qwen35moe": Architecture("qwen3_5_moe_text", sections=True, interval=True, shares=True),
    "qwen3moe": Architecture("qwen3_moe"),
    "qwen3next": Architecture("qwen3_next", interval=True, shares=True),
    "qwen3vl": Architecture("qwen3_vl_text", sections=True),
    "qwen3vlmoe": Architecture("qwen3_vl_moe_text", sections=True),
    "seed_oss": Architecture("seed_oss"),
    "smollm3": Architecture("smollm3", INTERLEAVED),
    "stablelm": Architecture("stablelm", shares=True),
    "starcoder": Architecture("gpt_bigcode"),
    "starcoder2": Architecture("starcoder2"),
}
"""The known architectures. Others are refused."""

TOLD_APART = (
    "attention.sliding_window",
    "attention.sliding_window_pattern",
    "rope.scaling.attn_factor",
    "rope.scaling.yarn_attn_factor",
    "rope.scaling.yarn_ext_factor",
    "rope.freq_base_swa",
)
"""Keys that are read together with others."""

ORIGINAL = "rope.scaling.original_context_length"
"""The key of the original context length."""
LOGARITHM = "rope.scaling.yarn_log_multiplier"
"""The key of mscale and mscale_all_dim, which are equal in all released models."""
WARMTH = "attention.temperature_scale"
"""The key of the factor by which queries grow with the position."""
SCORES = "attention.scale"
"""The key of what Granite multiplies scores by, in place of 1/√d."""
ABOVE_ZERO = ("rope.freq_base", "rope.scaling.factor")
NOT_NEGATIVE = (LOGARITHM, WARMTH, SCORES)
"""Keys whose numbers are used in arithmetic before the values of fields are checked."""

OF_LATENT = "key_length_mla kv_lora_rank q_lora_rank value_length_mla"
OF_TWO_SIZES = "attention.key_length_swa attention.value_length_swa rope.dimension_count_swa"
"""Keys of architectures with ``latent`` and with ``two_sizes``, first those about attention."""

_IGNORED: Mapping[str, str] = {
    "how many keys and values there are, and how long values are": "attention.head_count_kv "
    "attention.value_length attention.shared_kv_layers",
    "norms, clamps and scales, which are the same at every position": "attention.clamp_kqv "
    "attention.group_norm_epsilon attention.group_norm_groups attention.layer_norm_epsilon "
    "attention.layer_norm_rms_epsilon attention.output_scale attention.scale",
    "whether weights were trained further after scaling": "rope.scaling.finetuned",
    "experts": "interleave_moe_layer_step",
}
IGNORED: Mapping[str, str] = {
    name: reason for reason, names in _IGNORED.items() for name in names.split()
}
"""Keys that may be ignored although they are about attention, each with the reason."""

ABOUT_POSITIONS = re.compile(
    r"^rope\.|^attention\.|position|sliding|window|swa|pattern|interval|temperature|chunk|alibi|"
    r"context|compress|indexer|relative|nope|interleave"
)
"""Keys that seem to affect positions."""

LLAMA_3: Mapping[str, Any] = {
    "rope_type": "llama3",
    "low_freq_factor": 1.0,
    "original_max_position_embeddings": 8192,
}
"""Scaling of all released models whose divisors are those of Llama 3.1 except for the factor."""
HIGH = (4.0, 1.0)
"""The values of high_freq_factor in these models: Llama 3.1's, and Llama 4's, with a step instead
of the ramp."""
NEVER = 1e29
"""Least divisor of a pair that does not rotate."""
NEAR = 1e-5
"""Largest relative error of divisors, which were computed in float32."""
CLOSE = 1e-6
"""Largest difference between float32 numbers that count as equal."""


Read = tuple[FieldDict, str, tuple[Default, ...]]
"""Fields of config.json, the layout of queries and keys, and what the file does not say."""


def to_config(
    metadata: Fields,
    tables: Mapping[str, Sequence[float]],
    where: str,
    marks: Collection[str] = (),
) -> Read:
    """Return metadata under the names of config.json, the layout of queries and keys, and defaults.

    ``tables`` are the tensors that divide frequencies, if there are any; ``marks`` are tensors and
    keys that only files of Ollama have.

    Raises UserError for an unknown architecture, or an unknown key about positions.
    """
    architecture = str(metadata.get("general.architecture"))
    known = OLD_ARCHITECTURES.get(architecture, architecture)
    if known not in ARCHITECTURES:
        raise UserError(
            f"{where}: general.architecture: {architecture!r} is not known here",
            f"known are {', '.join(ARCHITECTURES)}",
        )
    prefix = f"{architecture}."
    own = {
        key.removeprefix(prefix): value
        for key, value in metadata.items()
        if key.startswith(prefix) and value is not None
    }
    here = ARCHITECTURES[known]
    if not here.two_sizes:  # where ones say which pairs turn
        tables = _dividing(tables)
    own, taken = completed(architecture, here.type if here.turns else "", own, marks)
    return *_Reader(here, own, tables, where, prefix).fields(), taken


def _dividing(tables: Mapping[str, Sequence[float]]) -> Mapping[str, Sequence[float]]:
    """Return tables without one of ones for all texts, which changes nothing."""
    return {
        name: table for name, table in tables.items() if name != FREQUENCIES or {*table} != {1.0}
    }


@dataclass(frozen=True)
class _Reader:
    """The keys of one file, without the prefix of the architecture."""

    architecture: Architecture
    own: Fields
    tables: Mapping[str, Sequence[float]]
    where: str
    prefix: str

    def fields(self) -> tuple[FieldDict, str]:
        """Return the fields of config.json, and the layout of queries and keys."""
        valid = {*NAMES, *SCALING, *TOLD_APART, *IGNORED, *self._own_keys()}
        for key in self.own:
            if key not in valid and ABOUT_POSITIONS.search(key):
                raise self.wrong(key, "this key is not known here")
        for key in (*ABOVE_ZERO, *NOT_NEGATIVE):
            self._demand_number(key)
        config: FieldDict = {"model_type": self.architecture.type}
        config |= {field: self.own[key] for key, field in NAMES.items() if key in self.own}
        if self.architecture.type.startswith("granite") and self.own.get(SCORES):
            config["attention_multiplier"] = self.own[SCORES]
        if "block_count" in self.own:
            config["num_hidden_layers"] = self._count()
        if "rope_theta" in config:
            config[self.architecture.base] = config.pop("rope_theta")
        if self.architecture.type not in ROTARY and self.architecture.turns:
            return self._unrotated(config), self.architecture.layout
        config |= self._windows() | self._layers()
        if not self.architecture.turns:
            return config | self._unturned(), self.architecture.layout
        if self.architecture.two_sizes:
            return config | self._of_two_sizes(config), self.architecture.layout
        if self.architecture.latent:
            if "rotary_dim" not in config:
                raise self.wrong("rope.dimension_count", "it is missing")
            config["qk_rope_head_dim"] = config.pop("rotary_dim")
            config.pop("head_dim", None)
        config |= self._share(config)
        scaling = self._scaling()
        if "factor" not in scaling and ORIGINAL in self.own:
            config["original_max_position_embeddings"] = self.own[ORIGINAL]
        scaling |= self._sections()
        return config | ({"rope_scaling": scaling} if scaling else {}), self.architecture.layout

    def _demand_number(self, key: str) -> None:
        value = self.own.get(key, 1.0)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 <= value < math.inf or (key in ABOVE_ZERO and value == 0):
            least = "above 0" if key in ABOVE_ZERO else "of at least 0"
            raise self.wrong(key, f"it is {in_line(repr(value))}, not a number {least}")

    def _count(self) -> int:
        """Count the layers of the model proper, without layers that predict further tokens."""
        whole, further = self.own.get("block_count", 0), self.own.get("nextn_predict_layers", 0)
        if not isinstance(whole, int) or not isinstance(further, int) or not 0 <= further < whole:
            raise self.wrong(
                "block_count", f"it is {whole!r}, and nextn_predict_layers {further!r}"
            )
        return whole - further

    def _listed(self, key: str, given: Any) -> list[Any] | None:
        """Return the entries for layers of the model proper; None if ``given`` lists no layers."""
        if not isinstance(given, list) or len(given) not in (
            self._count(),
            self.own["block_count"],
        ):
            return None
        return given[: self._count()]

    def _own_keys(self) -> Sequence[str]:
        """List the keys that only some architectures have, including this one."""
        here = self.architecture
        keys = {
            LOGARITHM: here.magnitude is not None,
            WARMTH: here.warms,
            "rope.dimension_sections": here.sections,
            "full_attention_interval": here.interval,
            **{f"attention.{name}": here.latent for name in OF_LATENT.split()},
            **dict.fromkeys(OF_TWO_SIZES.split(), here.two_sizes),
        }
        return [*(key for key, read in keys.items() if read), *here.own_keys.split()]

    def _share(self, found: Fields) -> FieldDict:
        """Return the rotated share of a head instead of its channels, if models differ in it."""
        width, size = found.get("rotary_dim"), found.get("head_dim", divided(self.own))
        if not self.architecture.shares or not isinstance(width, int) or not isinstance(size, int):
            return {}
        if not 0 < width <= size:
            raise self.wrong("rope.dimension_count", f"it is {width}, and a head has {size}")
        # A quotient that is rounded down would lose a channel.
        share = width / size if int(size * (width / size)) == width else (width + 0.5) / size
        field = "rotary_pct" if self.architecture.type == "gpt_neox" else "partial_rotary_factor"
        return {field: share, "rotary_dim": None}

    def _unrotated(self, found: FieldDict) -> FieldDict:
        """Return the fields of a model with a table or biases.

        Raises UserError for a file of MPT without biases, which has a table.
        """
        for key in self.own:
            if key.startswith(("rope.", "attention.sliding_window")):
                raise self.wrong(key, f"no {self.architecture.type} that rotates is known")
        bias = "attention.max_alibi_bias"
        if self.architecture.type == "mpt":
            largest = self.own.get(bias, 0)
            if not largest:
                raise self.wrong(
                    bias, "it is missing or 0; only files of models with biases are read"
                )
            return {**found, "attn_config": {"alibi": True, "alibi_bias_max": largest}}
        return found

    def _windows(self) -> FieldDict:
        """Return the window, the layers that have it, and the type of model with such layers.

        Raises UserError if no model of this architecture is known to have one, or to have none.
        """
        key, here = "attention.sliding_window", self.architecture
        size, pattern = self.own.get(key), self.own.get(f"{key}_pattern")
        local = self.own.get("rope.freq_base_swa", self.own.get("rope.freq_base"))
        if here.chunks and key in self.own:
            raise self.wrong(key, f"it is known only what {here.type} does without it")
        if not size:
            for other in (f"{key}_pattern", "rope.freq_base_swa"):
                if other in self.own:
                    raise self.wrong(other, f"there is no {key} beside it")
            if here.window == NEEDED:
                raise self.wrong(key, f"it is missing, but layers of {here.type} slide")
            full = {"layer_types": ["full_attention"] * self._count()}
            return {"sliding_window": None, **(full if here.window == OPTIONAL else {})}
        if here.window == NONE:
            raise self.wrong(key, f"no {here.type} with a sliding window is known")
        type = here.sliding or here.type
        config: FieldDict = {"model_type": type, "sliding_window": size}
        if ROTARY[type].local_base is not None and "rope.freq_base_swa" in self.own:
            config["rope_local_base_freq"] = local
        elif local != self.own.get("rope.freq_base") and not here.two_sizes:
            raise self.wrong("rope.freq_base_swa", f"no {type} with two bases is known")
        if pattern is not None:
            config["layer_types"] = self._kinds(f"{key}_pattern", pattern)
        return config

    def _layers(self) -> FieldDict:
        """Return the fields that say which layers have attention."""
        config: FieldDict = {}
        if "full_attention_interval" in self.own:
            config["full_attention_interval"] = self.own["full_attention_interval"]
        if self.architecture.listed:
            counts = self._key_counts()
            config["full_attn_idxs"] = [number for number, count in enumerate(counts) if count]
        return config

    def _key_counts(self) -> list[Any]:
        """Return the number of key heads of each layer."""
        key = "attention.head_count_kv"
        counts = self._listed(key, self.own.get(key))
        if counts is None:
            raise self.wrong(key, "it does not list how many keys each layer has")
        return counts

    def _unturned(self) -> FieldDict:
        """Return the layers of a model without rotation, with empty fields about rotation.

        Raises UserError for a file of a model with rotation.
        """
        key = "rope.scaling.finetuned"
        if self.own.get(key):
            raise self.wrong(key, "it is true; only files of models that turn nothing are known")
        counts = self._key_counts()
        kinds = ["full_attention" if count else "mamba" for count in counts]
        return {"layer_types": kinds, "rotary_dim": None, "rope_theta": None}

    def _of_two_sizes(self, found: Fields) -> FieldDict:
        """Return the sizes of heads, and the rotation of each kind of layers.

        Raises UserError unless a tensor says which pairs of full layers are not rotated.
        """
        large, small = found.get("head_dim"), self.own.get("attention.key_length_swa")
        for key, size in (("dimension_count", large), ("dimension_count_swa", small)):
            if self.own.get(f"rope.{key}") != size:
                raise self.wrong(
                    f"rope.{key}", f"it is {self.own.get(f'rope.{key}')!r}, not {size}"
                )
        divisors = self.tables.get(FREQUENCIES, [])
        turning = sum(divisor == 1 for divisor in divisors)
        if not turning or any(divisor < NEVER for divisor in divisors[turning:]):
            raise UserError(
                f"{self.where}: {FREQUENCIES}: it does not say of which pairs the first ones turn",
                REPAIR,
            )
        base = self.own.get("rope.freq_base")
        blocks = {
            "full_attention": {
                "rope_type": "proportional",
                "partial_rotary_factor": turning / len(divisors),
                "rope_theta": base,
            },
            "sliding_attention": {
                "rope_type": "default",
                "rope_theta": self.own.get("rope.freq_base_swa", base),
            },
        }
        return {
            "head_dim": small,
            "global_head_dim": large,
            "rotary_dim": None,
            "rope_theta": None,
            "rope_parameters": blocks,
        }

    def _sections(self) -> FieldDict:
        """Return the numbers of pairs for time, height and width; the file adds a fourth, 0."""
        key = "rope.dimension_sections"
        numbers = self.own.get(key)
        if not self.architecture.sections:
            return {}
        if not isinstance(numbers, list) or len(numbers) != 4 or numbers[3]:
            raise self.wrong(key, f"it is {numbers!r}, not three numbers and 0")
        return {"mrope_section": numbers[:3]}

    def _kinds(self, key: str, pattern: Any) -> list[str]:
        """Return the kinds of layers from a list, or from the interval of full layers."""
        count, listed = self._count(), self._listed(key, pattern)
        if listed is not None:
            sliding = [bool(flag) for flag in listed]
        elif isinstance(pattern, int) and not isinstance(pattern, bool) and pattern > 0:
            sliding = [(number + 1) % pattern != 0 for number in range(count)]
        else:
            raise self.wrong(key, f"it is neither a number above 0 nor a list of {count} layers")
        return ["sliding_attention" if flag else "full_attention" for flag in sliding]

    def _divided(self) -> FieldDict:
        """Return the block of scaling that tensors of divisors encode.

        Raises UserError for divisors that no released model is known to have.
        """
        kind = self.own.get("rope.scaling.type", "none")
        names = [name for name in TABLES if name in self.tables]
        if names == [FREQUENCIES] and kind == "none":
            return self._as_llama_3(self.tables[FREQUENCIES])
        if names == [LONG, SHORT] and kind in ("none", "longrope"):
            if ORIGINAL not in self.own:
                raise self.wrong(ORIGINAL, "it is missing, although frequencies depend on it")
            return {
                "rope_type": "longrope",
                "long_factor": [*self.tables[LONG]],
                "short_factor": [*self.tables[SHORT]],
                "attention_factor": self.own.get("rope.scaling.attn_factor", 1.0),
            }
        raise UserError(
            f"{self.where}: {names[0]}: it divides frequencies beside {names[1:] or kind!r}, "
            "and no such model is known",
            REPAIR,
        )

    def _as_llama_3(self, divisors: Sequence[float]) -> FieldDict:
        pairs = len(divisors)
        omega = float(self.own.get("rope.freq_base", 10000)) ** (-np.arange(pairs) / pairs)
        turns = LLAMA_3["original_max_position_embeddings"] * omega / (2 * np.pi)
        factor, low = round(max(divisors), 4), LLAMA_3["low_freq_factor"]
        for high in HIGH:
            share = np.clip((turns - low) / (high - low), 0, 1) if high > low else turns >= low
            expected = 1 / ((1 - share) / factor + share)
            if np.allclose(divisors, expected, rtol=NEAR, atol=0):
                return {**LLAMA_3, "factor": factor, "high_freq_factor": high}
        raise UserError(
            f"{self.where}: {FREQUENCIES}: it does not divide frequencies as Llama 3.1 does",
            REPAIR,
        )

    def _scaling(self) -> FieldDict:
        """Return the block of scaling; empty if there is none."""
        if self.tables:
            return self._divided()
        block = {field: self.own[key] for key, field in SCALING.items() if key in self.own}
        if block.get("rope_type") in ("none", None):
            for key in (LOGARITHM, WARMTH):
                if self.own.get(key):
                    raise self.wrong(key, "nothing is scaled beside it")
            return {}
        block |= self.architecture.scaling
        usual = 1.0
        if LOGARITHM in self.own and block["rope_type"] == "yarn":
            weight = self.own[LOGARITHM] / (self.architecture.magnitude or 1.0)
            block |= dict.fromkeys(("mscale", "mscale_all_dim"), round(weight, 6))
        elif block["rope_type"] == "yarn":
            usual += math.log(float(block.get("factor", 1))) / 10
        if WARMTH in self.own:
            block["llama_4_scaling_beta"] = round(self.own[WARMTH], 6)
        self._demand_magnitude(usual)
        return block

    def _demand_magnitude(self, usual: float) -> None:
        """Raise UserError unless all readers of the file derive the same attention factor.

        llama.cpp multiplies YaRN's usual attention factor by attn_factor, and ignores
        yarn_attn_factor, which its converter writes; other readers take either for the whole
        factor.
        """
        meant = {"attn_factor": 1.0, "yarn_attn_factor": usual, "yarn_ext_factor": 1.0}
        for name, value in meant.items():
            key = f"rope.scaling.{name}"
            factor = self.own.get(key, value)
            if not isinstance(factor, int | float) or abs(factor - value) > CLOSE:
                raise self.wrong(
                    key, f"it is {factor}; only of {value:.6g} it is known what is made of it"
                )

    def wrong(self, key: str, what: str) -> UserError:
        """Make the error for a key."""
        return UserError(f"{self.where}: {self.prefix}{key}: {what}", REPAIR)
