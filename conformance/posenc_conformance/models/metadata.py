"""What the metadata of a GGUF file mean, as the configuration that the file was made from.

Keys are those of the package ``gguf`` and of what llama.cpp's converter writes and its models read.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from posenc_conformance.errors import UserError
from posenc_conformance.models.configuration import FieldDict, Fields

HALF, INTERLEAVED = "half", "interleaved"
REPAIR = "give the config.json of the model that the file was made from"


@dataclass(frozen=True)
class Architecture:
    """What a GGUF file's architecture says of positions."""

    type: str
    """The type of model."""
    layout: str = HALF
    """How the file stores queries and keys: for some the converter moves channels."""
    sliding: str | None = None
    """The type of model if there is a sliding window; None if no such model is known."""


ARCHITECTURES: Mapping[str, Architecture] = {
    "command-r": Architecture("cohere", INTERLEAVED),
    "falcon": Architecture("falcon"),
    "gemma": Architecture("gemma"),
    "gemma2": Architecture("gemma2", sliding="gemma2"),
    "gptj": Architecture("gptj", INTERLEAVED),
    "gptneox": Architecture("gpt_neox"),
    "llama": Architecture("llama", INTERLEAVED),
    "olmo2": Architecture("olmo2", sliding="olmo3"),
    "phi2": Architecture("phi"),
    "qwen2": Architecture("qwen2"),
    "qwen2moe": Architecture("qwen2_moe"),
    "qwen3": Architecture("qwen3"),
    "qwen3moe": Architecture("qwen3_moe"),
    "stablelm": Architecture("stablelm"),
    "starcoder2": Architecture("starcoder2"),
}

NAMES: Mapping[str, str] = {
    "attention.head_count": "num_attention_heads",
    "attention.key_length": "head_dim",
    "block_count": "num_hidden_layers",
    "context_length": "max_position_embeddings",
    "embedding_length": "hidden_size",
    "rope.dimension_count": "rotary_dim",
    "rope.freq_base": "rope_theta",
}
"""Fields of config.json by the keys that hold them."""
SCALING: Mapping[str, str] = {
    "rope.scaling.type": "rope_type",
    "rope.scaling.factor": "factor",
    "rope.scaling.original_context_length": "original_max_position_embeddings",
    "rope.scaling.yarn_beta_fast": "beta_fast",
    "rope.scaling.yarn_beta_slow": "beta_slow",
}
"""Fields of the block of scaling by the keys that hold them."""
TOLD_APART = (
    "attention.sliding_window",
    "attention.sliding_window_pattern",
    "rope.scaling.attn_factor",
    "rope.scaling.yarn_attn_factor",
    "rope.scaling.yarn_ext_factor",
)
"""Keys that are read together with others."""

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
"""Keys that may be ignored although they are among those about attention, each with the reason."""

ABOUT_POSITIONS = re.compile(
    r"^rope\.|^attention\.|position|sliding|window|swa|pattern|interval|temperature|chunk|alibi|"
    r"context|compress|indexer|relative|nope|interleave"
)
"""Keys that seem to bear on positions."""

TABLES = ("rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight")
"""Tensors that divide frequencies: the metadata alone would mislead."""
CLOSE = 1e-6
"""How far numbers in float32 may be apart that mean the same."""


def to_config(metadata: Fields, tensors: Sequence[str], where: str) -> tuple[FieldDict, str]:
    """Return metadata under the names of config.json, and how queries and keys are stored.

    Raises UserError for an architecture, or a key about positions, that is not known.
    """
    architecture = str(metadata.get("general.architecture"))
    if architecture not in ARCHITECTURES:
        raise UserError(
            f"{where}: general.architecture: {architecture!r} is not known here",
            f"known are {', '.join(ARCHITECTURES)}",
        )
    for name in TABLES:
        if name in tensors:
            raise UserError(
                f"{where}: {name}: this tensor divides the frequencies, and weights are not read",
                REPAIR,
            )
    prefix = f"{architecture}."
    own = {
        key.removeprefix(prefix): value
        for key, value in metadata.items()
        if key.startswith(prefix) and value is not None
    }
    return _Reader(ARCHITECTURES[architecture], own, f"{where}: {prefix}").fields()


@dataclass(frozen=True)
class _Reader:
    """Keys of one file, without the name of the architecture."""

    architecture: Architecture
    own: Fields
    where: str

    def fields(self) -> tuple[FieldDict, str]:
        """Return the fields of config.json, and how queries and keys are stored."""
        for key in self.own:
            known = key in NAMES or key in SCALING or key in TOLD_APART or key in IGNORED
            if not known and ABOUT_POSITIONS.search(key):
                raise self.wrong(key, "this key is not known here")
        found: FieldDict = {"model_type": self.architecture.type}
        found |= {field: self.own[key] for key, field in NAMES.items() if key in self.own}
        found |= self._windows()
        scaling = self._scaling()
        return found | ({"rope_scaling": scaling} if scaling else {}), self.architecture.layout

    def _windows(self) -> FieldDict:
        """Return the window, which layers have it, and the type of model that has such layers.

        Raises UserError if no model of this architecture is known to have one.
        """
        key = "attention.sliding_window"
        size, pattern = self.own.get(key), self.own.get(f"{key}_pattern")
        if not size:
            if pattern is not None:
                raise self.wrong(f"{key}_pattern", f"there is no {key} beside it")
            return {}
        if self.architecture.sliding is None:
            raise self.wrong(key, f"no {self.architecture.type} with a sliding window is known")
        found: FieldDict = {"model_type": self.architecture.sliding, "sliding_window": size}
        if pattern is not None:
            found["layer_types"] = self._kinds(f"{key}_pattern", pattern)
        return found

    def _kinds(self, key: str, pattern: Any) -> list[str]:
        """Return the kinds of layers that a list says, or that one layer in so many is full."""
        count = self.own.get("block_count", 0)
        if isinstance(pattern, list) and len(pattern) == count:
            sliding = [bool(each) for each in pattern]
        elif isinstance(pattern, int) and not isinstance(pattern, bool) and pattern > 0:
            sliding = [(number + 1) % pattern != 0 for number in range(count)]
        else:
            raise self.wrong(key, f"it is neither a number above 0 nor a list of {count} layers")
        return ["sliding_attention" if each else "full_attention" for each in sliding]

    def _scaling(self) -> FieldDict:
        """Return the block of scaling; empty if there is none."""
        found = {field: self.own[key] for key, field in SCALING.items() if key in self.own}
        if found.get("rope_type") in ("none", None):
            return {}
        self._demand_magnitude(found)
        return found

    def _demand_magnitude(self, scaling: Fields) -> None:
        """Raise UserError unless all readers of the file make pairs longer by the same factor.

        llama.cpp makes them longer by 0.1 ln(factor) + 1 and then by attn_factor, and does not look
        at yarn_attn_factor, which its converter writes; others take either for the whole.
        """
        usual = 1.0
        if scaling["rope_type"] == "yarn":
            usual += math.log(float(scaling.get("factor", 1))) / 10
        meant = {"attn_factor": 1.0, "yarn_attn_factor": usual, "yarn_ext_factor": 1.0}
        for name, value in meant.items():
            key = f"rope.scaling.{name}"
            given = self.own.get(key, value)
            if not isinstance(given, int | float) or abs(given - value) > CLOSE:
                raise self.wrong(
                    key, f"it is {given}; only of {value:.6g} it is known what is made of it"
                )

    def wrong(self, key: str, what: str) -> UserError:
        """Make the error for a key."""
        return UserError(f"{self.where}{key}: {what}", REPAIR)
