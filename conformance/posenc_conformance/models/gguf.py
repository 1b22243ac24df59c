"""Metadata of GGUF files, as the configuration that they were made from.

The format is that of llama.cpp, described in docs/gguf.md of ggml-org/ggml: a header, pairs of key
and value, then what tensors there are. Weights are not read.
"""

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from posenc_conformance.errors import UserError
from posenc_conformance.models.configuration import FieldDict, Fields

NUMBERS = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}
"""Types of values that are numbers, in the order of the format."""
STRING, ARRAY = 8, 9
LONGEST = 1 << 27

TYPES: Mapping[str, tuple[str, str]] = {
    "command-r": ("cohere", "interleaved"),
    "falcon": ("falcon", "half"),
    "gemma": ("gemma", "half"),
    "gemma2": ("gemma2", "half"),
    "gptj": ("gptj", "interleaved"),
    "gptneox": ("gpt_neox", "half"),
    "llama": ("llama", "interleaved"),
    "olmo2": ("olmo2", "half"),
    "phi2": ("phi", "half"),
    "qwen2": ("qwen2", "half"),
    "qwen2moe": ("qwen2_moe", "half"),
    "qwen3": ("qwen3", "half"),
    "qwen3moe": ("qwen3_moe", "half"),
    "stablelm": ("stablelm", "half"),
    "starcoder2": ("starcoder2", "half"),
}
"""Of each architecture: the type of model, and how a GGUF file stores queries and keys."""

NAMES: Mapping[str, str] = {
    "attention.head_count": "num_attention_heads",
    "attention.key_length": "head_dim",
    "attention.sliding_window": "sliding_window",
    "block_count": "num_hidden_layers",
    "context_length": "max_position_embeddings",
    "embedding_length": "hidden_size",
    "rope.dimension_count": "rotary_dim",
    "rope.freq_base": "rope_theta",
}
SCALING: Mapping[str, str] = {
    "rope.scaling.type": "rope_type",
    "rope.scaling.factor": "factor",
    "rope.scaling.original_context_length": "original_max_position_embeddings",
    "rope.scaling.attn_factor": "attention_factor",
    "rope.scaling.yarn_beta_fast": "beta_fast",
    "rope.scaling.yarn_beta_slow": "beta_slow",
}
IGNORED = ("attention.head_count_kv", "attention.value_length", "rope.scaling.finetuned")
"""Keys that are about positions by name only, or about what is not looked at here."""

TABLES = ("rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight")
"""Tensors that divide frequencies: the metadata alone would mislead."""


def fields_of(path: Path) -> tuple[FieldDict, str]:
    """Read the fields of config.json that a GGUF file's metadata hold, and its layout.

    Raises UserError if the file cannot be read or its metadata do not decide.
    """
    try:
        with path.open("rb") as stream:
            metadata, tensors = _read_metadata(stream)
    except (OSError, ValueError, struct.error, MemoryError) as error:
        raise UserError(f"{path} cannot be read as GGUF: {error}", "give a GGUF file") from None
    found = [name for name in TABLES if name in tensors]
    if found:
        raise UserError(
            f"{path}: {found[0]}: this tensor divides the frequencies, and weights are not read",
            "give the config.json of the model that the file was made from",
        )
    return to_config(metadata, str(path))


def to_config(metadata: Fields, where: str) -> tuple[FieldDict, str]:
    """Return metadata under the names of config.json, and the layout.

    Raises UserError for an architecture, or a key about rotation, that is not known.
    """
    architecture = str(metadata.get("general.architecture"))
    if architecture not in TYPES:
        raise UserError(
            f"{where}: general.architecture: {architecture!r} is not known here",
            f"known are {', '.join(TYPES)}",
        )
    type, layout = TYPES[architecture]
    fields: FieldDict = {"model_type": type}
    scaling: FieldDict = {}
    for key, value in metadata.items():
        own, _, name = key.partition(".")
        if own != architecture:
            continue
        if name in SCALING:
            scaling[SCALING[name]] = value
        elif name in NAMES:
            fields[NAMES[name]] = value
        elif name.startswith("rope.") and name not in IGNORED:
            raise UserError(
                f"{where}: {key}: this key is not known here",
                "give the config.json of the model that the file was made from",
            )
    if scaling.get("rope_type") in ("none", None):
        scaling = {}
    return fields | ({"rope_scaling": scaling} if scaling else {}), layout


def _read_metadata(stream: BinaryIO) -> tuple[FieldDict, list[str]]:
    if stream.read(4) != b"GGUF":
        raise ValueError("it does not begin with GGUF")
    version = _number(stream, "<I")
    if version not in (2, 3):
        raise ValueError(f"its version is {version}; 2 and 3 are known")
    count, pairs = _number(stream, "<Q"), _number(stream, "<Q")
    metadata = {}
    for _ in range(pairs):
        key = _string(stream)
        metadata[key] = _value(stream, _number(stream, "<I"))
    tensors = []
    for _ in range(count):
        tensors.append(_string(stream))
        stream.seek(8 * _number(stream, "<I") + 4 + 8, 1)
    return metadata, tensors


def _number(stream: BinaryIO, form: str) -> Any:
    (value,) = struct.unpack(form, stream.read(struct.calcsize(form)))
    return value


def _string(stream: BinaryIO) -> str:
    length = _number(stream, "<Q")
    if length > LONGEST:
        raise ValueError(f"a text of {length:,} bytes is too long is too long")
    return stream.read(length).decode("utf-8", errors="replace")


def _value(stream: BinaryIO, type: int) -> Any:
    if type in NUMBERS:
        return _number(stream, NUMBERS[type])
    if type == STRING:
        return _string(stream)
    if type == ARRAY:
        inner, length = _number(stream, "<I"), _number(stream, "<Q")
        if length > LONGEST:
            raise ValueError(f"a list of {length:,} values is too long is too long")
        return [_value(stream, inner) for _ in range(length)]
    raise ValueError(f"a value has the unknown type {type}")
