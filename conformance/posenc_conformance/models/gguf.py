"""Metadata of GGUF files, as the configuration that they were made from.

The format is that of llama.cpp, described in docs/gguf.md of ggml-org/ggml: a header, pairs of key
and value, then what tensors there are. Weights are not read.
"""

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from posenc_conformance.door import opened
from posenc_conformance.errors import UserError, in_line
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
LARGEST_METADATA = 2**26
"""Bytes before the tensors; most of them are the words of the vocabulary."""
MOST_VALUES = 2**22
LONGEST_KEY = 2**16
"""Bytes of the longest key, which the format says."""
GENERAL = "general.architecture"

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
    with opened(path, "give a GGUF file", "cannot be read as GGUF") as stream:
        metadata, tensors = _Reader(stream).metadata()
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
    architecture = metadata.get(GENERAL)
    if not isinstance(architecture, str) or architecture not in TYPES:
        raise UserError(
            f"{where}: {GENERAL}: {in_line(repr(architecture))} is not known here",
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
                f"{where}: {in_line(key)}: this key is not known here",
                "give the config.json of the model that the file was made from",
            )
    if scaling.get("rope_type") in ("none", None):
        scaling = {}
    return fields | ({"rope_scaling": scaling} if scaling else {}), layout


class _Reader:
    """What stands before the tensors of a file, read up to a number of bytes and of values."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.bytes = LARGEST_METADATA
        self.values = MOST_VALUES

    def metadata(self) -> tuple[FieldDict, list[str]]:
        """Read keys with their values, and what tensors there are."""
        if self._take(4) != b"GGUF":
            raise ValueError("it does not begin with GGUF")
        version = self._number("<I")
        if version not in (2, 3):
            raise ValueError(f"its version is {version}; 2 and 3 are known")
        count, pairs = self._number("<Q"), self._number("<Q")
        metadata = {}
        for _ in range(pairs):
            key = self._string(LONGEST_KEY)
            value = self._value(self._number("<I"))
            # Words of the vocabulary say nothing of positions.
            if key == GENERAL or not key.startswith(("tokenizer.", "general.")):
                metadata[key] = value
        tensors = []
        for _ in range(count):
            tensors.append(self._string(LONGEST_KEY))
            self._take(8 * self._number("<I") + 4 + 8)
        return metadata, tensors

    def _take(self, size: int) -> bytes:
        if size > self.bytes:
            raise ValueError(f"its metadata have more than {LARGEST_METADATA:,} bytes")
        self.bytes -= size
        content = self.stream.read(size)
        if len(content) < size:
            raise EOFError("it breaks off within its metadata")
        return content

    def _number(self, form: str) -> Any:
        (value,) = struct.unpack(form, self._take(struct.calcsize(form)))
        return value

    def _string(self, longest: int = LARGEST_METADATA) -> str:
        length = self._number("<Q")
        if length > longest:
            raise ValueError(f"a text of {length:,} bytes is too long")
        return self._take(length).decode("utf-8", errors="replace")

    def _value(self, type: int) -> Any:
        if type in NUMBERS:
            return self._number(NUMBERS[type])
        if type == STRING:
            return self._string()
        if type == ARRAY:
            inner, length = self._number("<I"), self._number("<Q")
            self.values -= length
            if self.values < 0:
                raise ValueError(f"its lists have more than {MOST_VALUES:,} values")
            if inner in NUMBERS:
                form = NUMBERS[inner]
                content = self._take(struct.calcsize(form) * length)
                return [value for (value,) in struct.iter_unpack(form, content)]
            return [self._value(inner) for _ in range(length)]
        raise ValueError(f"a value has the unknown type {type}")
