"""The forms of ``params.json``, Mistral's and Meta's, under the names of config.json.

Checkpoints with these files store queries and keys for the code of their makers, which rotates
channels 2t and 2t + 1 as a pair. Fields are mapped to config.json as engines that read both files
map them. A form is recognised by all its fields: many formats have some of them.
"""

from collections.abc import Mapping
from typing import Any

from posenc_conformance.errors import UserError, in_line
from posenc_conformance.models.defaults import META, META_3, MISTRAL, TRANSFORMERS, Default
from posenc_conformance.models.types.rotary import INTERLEAVED

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
KEYS: Mapping[str, str] = {
    **{field: name for name, field in NAMES.items() if name != "max_position_embeddings"},
    **{f"rope_scaling.{field}": f"yarn.{name}" for name, field in YARN.items()},
    "rope_scaling": "yarn",
}
"""Names of fields in params.json, by their names in config.json."""
WARMTH = "llama_4_scaling"
"""The block about the factor by which queries grow with the position."""
ORIGINAL = "original_max_position_embeddings"


REQUIRED = frozenset(["dim", "head_dim", "n_heads", "n_kv_heads", "n_layers"])
"""Fields that every params.json of Mistral has. Other formats have them too, with more."""
ABOUT_OTHERS = frozenset(
    [
        "_sliding_window",
        "causal",
        "hidden_dim",
        "lora",
        "max_batch_size",
        "model_type",
        "moe",
        "multimodal",
        "n_kv_heads",
        "norm_eps",
        "quantization",
        "tied_embeddings",
        "use_biases",
        "vision_encoder",
        "vocab_size",
    ]
)
"""Further fields of mistral-inference and of engines that read its files."""
BASE = 1000000
"""The base of mistral-inference, in transformer.py, where a file has none or 0."""

OF_META = frozenset(["dim", "multiple_of", "n_heads", "n_layers", "norm_eps", "vocab_size"])
"""Fields that every params.json of Meta has; ``multiple_of`` stands in no other format."""
ALSO_OF_META = frozenset(
    [
        "ffn_dim_multiplier",
        "max_batch_size",
        "max_seq_len",
        "n_kv_heads",
        "rope_theta",
        "use_scaled_rope",
    ]
)

OF_EXECUTORCH = "use_hf_rope"
"""A field of ExecuTorch's own form, which shares most others with Mistral's and Meta's."""

Given = tuple[dict[str, Any], str, tuple[Default, ...], str]
"""Fields of config.json, the layout of queries and keys, the defaults, and the format."""


def from_json(raw: Mapping[str, Any], where: str) -> Given | None:
    """Return the fields of a params.json under the names of config.json; None for other files.

    Raises UserError for a field that the format does not have, or that is not understood.
    """
    if raw.get("model_type") not in (None, "transformer") or "_class_name" in raw:
        return None
    if OF_EXECUTORCH in raw:
        raise _wrong(where, OF_EXECUTORCH, "only files of ExecuTorch have it, which are not read")
    if raw.keys() >= OF_META:
        return from_meta(raw, where)
    return from_params(raw, where) if raw.keys() >= REQUIRED else None


def from_params(raw: Mapping[str, Any], where: str) -> Given:
    """Return the fields of Mistral's form.

    Raises UserError for a field that the format does not have, or that is not understood.
    """
    for name, value in raw.items():
        if value is not None and name not in {*NAMES, *ABOUT_OTHERS, "yarn", WARMTH}:
            raise _no_field(where, name, "Mistral")
    fields: dict[str, Any] = {"model_type": "mistral", "sliding_window": None}
    fields |= {field: raw[name] for name, field in NAMES.items() if raw.get(name) is not None}
    if raw.get("_sliding_window") is not None:
        fields["sliding_window"] = raw["_sliding_window"]
    if isinstance(fields["sliding_window"], list):
        raise _wrong(where, "sliding_window", "it is a list; only one window is known here")
    if raw.get("yarn") is not None:
        fields |= {"model_type": "ministral3", "rope_scaling": _scaling(raw, where)}
    elif raw.get(WARMTH) is not None:
        raise _wrong(where, WARMTH, "it is there without yarn")
    taken: tuple[Default, ...] = ()
    if not fields.get("rope_theta"):
        fields["rope_theta"] = BASE
        taken = (Default("rope_theta", BASE, MISTRAL, ((TRANSFORMERS, 10000),)),)
    return fields, INTERLEAVED, taken, "Mistral's params.json"


def from_meta(raw: Mapping[str, Any], where: str) -> Given:
    """Return the fields of Meta's form.

    Raises UserError for a field that the format does not have, and for scaling: its factor stands
    in the code, and differs between the releases that say no more than that they scale.
    """
    for name, value in raw.items():
        if value is not None and name not in OF_META | ALSO_OF_META:
            raise _no_field(where, name, "Meta")
    if raw.get("use_scaled_rope"):
        raise _wrong(where, "use_scaled_rope", "it is true, and the factor stands in no file")
    names = ("dim", "max_seq_len", "n_heads", "n_layers", "rope_theta")
    fields: dict[str, Any] = {"model_type": "llama"}
    fields |= {NAMES[name]: raw[name] for name in names if raw.get(name) is not None}
    taken: tuple[Default, ...] = ()
    if "rope_theta" not in fields:
        fields["rope_theta"] = 10000
        taken = (Default("rope_theta", 10000, META, ((META_3, 500000),)),)
    return fields, INTERLEAVED, taken, "Meta's params.json"


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


def _no_field(where: str, name: str, maker: str) -> UserError:
    return _wrong(
        where,
        in_line(name),
        f"it is no field of {maker}'s params.json that is known here, and neither model_type nor "
        "_class_name names another format",
    )
