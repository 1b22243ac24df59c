"""Mistral's own form of a configuration, ``params.json``, under the names of config.json.

Checkpoints with this file store queries and keys for mistral-inference, which rotates channels 2t
and 2t + 1 as a pair. Fields are mapped to config.json as engines that read both files map them.
"""

from collections.abc import Mapping
from typing import Any

from posenc_conformance.errors import UserError
from posenc_conformance.models.architectures import INTERLEAVED
from posenc_conformance.models.understood import ABOUT_POSITIONS

NAMES: Mapping[str, str] = {
    "dim": "hidden_size",
    "head_dim": "head_dim",
    "max_position_embeddings": "max_position_embeddings",
    "max_seq_len": "max_position_embeddings",
    "n_heads": "num_attention_heads",
    "n_layers": "num_hidden_layers",
    "rope_theta": "rope_theta",
    "sliding_window": "sliding_window",
}
YARN: Mapping[str, str] = {
    "alpha": "beta_slow",
    "beta": "beta_fast",
    "factor": "factor",
    "original_max_position_embeddings": "original_max_position_embeddings",
}
"""Fields of the block ``yarn``, with their names in config.json."""
WARMTH = "llama_4_scaling"
"""The block about the factor by which queries grow with the position."""
ORIGINAL = "original_max_position_embeddings"


def is_params(raw: Mapping[str, Any]) -> bool:
    """Return whether fields are those of a params.json."""
    return "dim" in raw and "n_layers" in raw and raw.get("model_type") in (None, "transformer")


def from_params(raw: Mapping[str, Any], where: str) -> tuple[dict[str, Any], str]:
    """Return the fields under the names of config.json, and the layout of queries and keys.

    Raises UserError for a field about positions that is not understood.
    """
    names = (*NAMES, "yarn", WARMTH)
    for name, value in raw.items():
        if value is not None and name not in names and ABOUT_POSITIONS.search(name):
            raise _wrong(where, name, "it seems to be about positions, but is not known here")
    fields: dict[str, Any] = {"model_type": "mistral", "sliding_window": None}
    fields |= {field: raw[name] for name, field in NAMES.items() if raw.get(name) is not None}
    if isinstance(fields["sliding_window"], list):
        raise _wrong(where, "sliding_window", "it is a list; only one window is known here")
    if raw.get("yarn") is not None:
        fields |= {"model_type": "ministral3", "rope_scaling": _scaling(raw, where)}
    elif raw.get(WARMTH) is not None:
        raise _wrong(where, WARMTH, "it is there without yarn")
    return fields, INTERLEAVED


def _scaling(raw: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the block ``rope_scaling``.

    ``apply_scale`` says whether there is an attention factor. Raises UserError if it is missing.
    """
    yarn = raw["yarn"]
    if not isinstance(yarn, Mapping) or yarn.keys() - {"apply_scale"} != YARN.keys():
        raise _wrong(where, "yarn", f"it has other fields than {', '.join(YARN)} and apply_scale")
    if not isinstance(yarn.get("apply_scale"), bool):
        raise _wrong(where, "yarn.apply_scale", "it is neither true nor false")
    block: dict[str, Any] = {"rope_type": "yarn"}
    block |= {field: yarn[name] for name, field in YARN.items()}
    if not yarn["apply_scale"]:
        block |= {"mscale": 1.0, "mscale_all_dim": 1.0}
    warm = raw.get(WARMTH)
    if warm is not None:
        if not isinstance(warm, Mapping) or warm.keys() != {"beta", ORIGINAL}:
            raise _wrong(where, WARMTH, f"it has other fields than beta and {ORIGINAL}")
        if warm[ORIGINAL] != yarn[ORIGINAL]:
            raise _wrong(where, f"{WARMTH}.{ORIGINAL}", f"it is not {yarn[ORIGINAL]}, as in yarn")
        block["llama_4_scaling_beta"] = warm["beta"]
    return block


def _wrong(where: str, name: str, what: str) -> UserError:
    return UserError(f"{where}: {name}: {what}", "give the config.json of the model instead")
