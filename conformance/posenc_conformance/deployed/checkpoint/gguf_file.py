"""A probe as a GGUF file, for engines that load GGUF, so that their converter is not judged too.

The format is that of llama.cpp, described in docs/gguf.md of ggml-org/ggml; the names of keys and
tensors are those of its gguf-py/gguf/constants.py.
"""

import hashlib
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from posenc_conformance.deployed.architectures.tensor_layout import EXPERTS, Tensor
from posenc_conformance.deployed.checkpoint.gguf_architectures import (
    AS_FOLDER,
    OF_EXPERT,
    Architecture,
    architecture_of,
    main_group,
)
from posenc_conformance.deployed.checkpoint.probe_weights import tensors
from posenc_conformance.deployed.instrument import BEGIN, STOP, UNKNOWN
from posenc_conformance.deployed.probe_checkpoint import Probe
from posenc_conformance.door import digest_of, opened
from posenc_conformance.errors import UserError
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.models.layer_frequencies import frequencies
from posenc_conformance.models.meaning import Group, Meaning

VERSION = 3
ALIGNED = 32
"""Alignment of tensors in bytes."""
UNSIGNED, SIGNED, FLOAT, FLAG, TEXT, LIST = 4, 5, 6, 7, 8, 9
"""Types of values."""
DTYPES: Mapping[str, tuple[int, Any]] = {
    "bfloat16": (30, ml_dtypes.bfloat16),
    "float16": (1, np.float16),
    "float32": (0, np.float32),
}
"""The number of a dtype in the format, and its NumPy type."""
KINDS = {UNKNOWN: 2, BEGIN: 3, STOP: 3}
"""Kinds of words: unknown, control; all others are normal, which is 1."""
WITHOUT_NORM = 1
"""Number of axes of tensors that are always float32: norms, biases, divisors."""


LAYER = re.compile(r"\.layers\.(\d+)\.(?:.*?)(\w+)\.(weight|bias)$")
EXPERT = re.compile(r"\.experts\.(\d+)\.")
COUNTED = 24
"""Bytes before the first key."""
DIGITS = 64
KEY = struct.pack("<Q13sIQ", 13, b"posenc.sha256", TEXT, DIGITS)
"""The first key, whose value is a text of DIGITS characters; engines skip unknown keys."""
Value = tuple[int, Any]


def gguf_of(probe: Probe, meaning: Meaning, dtype: str) -> bytes:
    """Return a probe as a GGUF file; the bytes depend only on the probe and the dtype.

    Raises UserError for a family, or a rotation, that is not supported yet.
    """
    architecture = architecture_of(probe)
    group = main_group(probe, architecture, meaning)
    keys, divisors = _rotation(group, meaning)
    metadata = {**_metadata(probe, architecture, group, meaning), **_prefixed(architecture, keys)}
    named = [*divisors, *_renamed(probe, architecture)]
    return _packed({**metadata, **_words(probe)}, named, dtype)


def _metadata(
    probe: Probe, found: Architecture, group: Group, meaning: Meaning
) -> dict[str, Value]:
    """Return the metadata about the sizes of a model."""
    plan = probe.plan
    eps = "attention.layer_norm_epsilon" if found.centred else "attention.layer_norm_rms_epsilon"
    feed_forward = next(
        values.shape[-1] for name, values in _renamed(probe, found) if "ffn_down" in name
    )
    width = int(group.parameters.get("rotary_dim", plan.head_dim))
    keys: dict[str, Value] = {
        "block_count": (UNSIGNED, plan.layers),
        "context_length": (UNSIGNED, meaning.context.extended or 2048),
        "embedding_length": (UNSIGNED, plan.hidden),
        "feed_forward_length": (UNSIGNED, feed_forward),
        "attention.head_count": (UNSIGNED, plan.heads),
        "attention.head_count_kv": (UNSIGNED, plan.kv_heads),
        "attention.key_length": (UNSIGNED, plan.head_dim),
        "attention.value_length": (UNSIGNED, plan.head_dim),
        "vocab_size": (UNSIGNED, len(plan.words)),
        "rope.dimension_count": (UNSIGNED, width),
        "rope.freq_base": (FLOAT, float(group.parameters["base"])),
        eps: (FLOAT, probe.eps),
    }
    if found.parallel:
        parallel = bool(probe.config.get("use_parallel_residual", True))
        keys["use_parallel_residual"] = (FLAG, parallel)
    keys |= {key: (UNSIGNED, count) for key, count in found.counts.items()}
    keys |= {key: (FLOAT, float(probe.config[name])) for key, name in found.numbers.items()}
    for sliding in meaning.groups if found.window else ():
        if sliding.window is not None:
            keys["attention.sliding_window"] = (UNSIGNED, sliding.window)
        if sliding.parameters["base"] != group.parameters["base"]:
            keys["rope.freq_base_swa"] = (FLOAT, float(sliding.parameters["base"]))
    return {
        "general.architecture": (TEXT, found.name),
        # llama.cpp looks for special tokens in a model named like a Phi-3.
        "general.name": (TEXT, "posenc probe"),
        **_prefixed(found, keys),
    }


def _prefixed(found: Architecture, keys: Mapping[str, Value]) -> dict[str, Value]:
    return {f"{found.name}.{name}": value for name, value in keys.items()}


def _rotation(group: Group, meaning: Meaning) -> tuple[dict[str, Value], list[Tensor]]:
    """Return the metadata about scaling, and the tensors that divide frequencies.

    Raises UserError for a scaling that is not supported yet.
    """
    parameters, scheme = group.parameters, group.scheme
    original = "rope.scaling.original_context_length"
    if scheme == "rope":
        return {}, []
    if scheme == "position-interpolation":
        return {
            "rope.scaling.type": (TEXT, "linear"),
            "rope.scaling.factor": (FLOAT, float(parameters["factor"])),
        }, []
    if scheme == "llama3":
        count = len(frequencies(group))
        plain = float(parameters["base"]) ** (-np.arange(count) / count)
        return {}, [("rope_freqs.weight", plain / frequencies(group))]
    if scheme == "yarn" and "attention" not in group.options:
        return {
            "rope.scaling.type": (TEXT, "yarn"),
            "rope.scaling.factor": (FLOAT, float(parameters["factor"])),
            original: (UNSIGNED, int(parameters["original_max_position_embeddings"])),
        }, []
    raise UserError(
        f"a probe with the scaling {scheme!r} cannot be written as GGUF yet",
        AS_FOLDER,
    )


def _renamed(probe: Probe, found: Architecture) -> Iterator[Tensor]:
    """Yield the tensors with their names and layout in the file."""
    names, offset = probe.family.names, probe.family.offset
    outer = {
        f"{names.embeddings}.weight": "token_embd.weight",
        f"{names.logits}.weight": "output.weight",
        f"{names.logits}.bias": "output.bias",
        f"{names.last_norm}.weight": "output_norm.weight",
        f"{names.last_norm}.bias": "output_norm.bias",
    }
    for name, values in tensors(probe):
        own = outer.get(name) or _in_layer(found, name)
        if not own:
            continue
        if own.endswith("norm.weight"):
            values = values + offset
        yield own, _laid(probe, found, own, values)


def _in_layer(found: Architecture, name: str) -> str:
    """Return the name of a layer's tensor; empty for all experts but the first.

    The tensor of the first one stands for all of them.
    """
    matched, expert = LAYER.search(name), EXPERT.search(name)
    assert matched is not None
    number, last, kind = matched.groups()
    if expert is None:
        return f"blk.{number}.{found.named(last)}.{kind}"
    return f"blk.{number}.{OF_EXPERT[last]}.{kind}" if expert[1] == "0" else ""


def _laid(probe: Probe, found: Architecture, name: str, values: Floats) -> Floats:
    """Return a tensor in the file's layout: permuted, or regrouped by heads."""
    plan, head_dim = probe.plan, probe.plan.head_dim
    if "_exps" in name:
        return np.stack([values] * EXPERTS)
    if found.turned_pairwise and re.search(r"attn_[qk]\.", name):
        halves = values.reshape(len(values) // head_dim, 2, head_dim // 2, -1)
        return halves.swapaxes(1, 2).reshape(values.shape)
    if found.name == "gptneox" and "attn_qkv" in name:
        by_head = values.reshape(plan.heads, 3, head_dim, -1)
        return by_head.swapaxes(0, 1).reshape(values.shape)
    return values


def _words(probe: Probe) -> dict[str, Value]:
    """Return the tokenizer: words as SentencePiece pieces."""
    words = probe.plan.words
    pieces = [word if token in KINDS else f"\u2581{word}" for token, word in enumerate(words)]
    return {
        "tokenizer.ggml.model": (TEXT, "llama"),
        "tokenizer.ggml.pre": (TEXT, "default"),
        "tokenizer.ggml.tokens": (LIST, (TEXT, pieces)),
        "tokenizer.ggml.scores": (LIST, (FLOAT, [-float(token) for token in range(len(words))])),
        "tokenizer.ggml.token_type": (
            LIST,
            (SIGNED, [KINDS.get(token, 1) for token in range(len(words))]),
        ),
        "tokenizer.ggml.bos_token_id": (UNSIGNED, BEGIN),
        "tokenizer.ggml.eos_token_id": (UNSIGNED, STOP),
        "tokenizer.ggml.unknown_token_id": (UNSIGNED, UNKNOWN),
        "tokenizer.ggml.padding_token_id": (UNSIGNED, UNKNOWN),
        "tokenizer.ggml.add_bos_token": (FLAG, False),
    }


def _packed(metadata: Mapping[str, Value], named: Sequence[Tensor], dtype: str) -> bytes:
    """Return a file of keys with their values, and of tensors.

    The first key has a digest of the rest of the file.
    """
    before = b"GGUF" + struct.pack("<IQQ", VERSION, len(named), 1 + len(metadata)) + KEY
    head = [
        _text(key) + struct.pack("<I", type) + _value(type, value)
        for key, (type, value) in metadata.items()
    ]
    parts, end = [], 0
    for name, values in named:
        code, stored = DTYPES["float32" if values.ndim == WITHOUT_NORM else dtype]
        part = values.astype(stored).tobytes()
        part += bytes(-len(part) % ALIGNED)
        sizes = struct.pack(f"<{values.ndim}Q", *values.shape[::-1])
        head.append(_text(name) + struct.pack("<I", values.ndim) + sizes)
        head.append(struct.pack("<IQ", code, end))
        parts.append(part)
        end += len(part)
    size = len(before) + DIGITS + sum(map(len, head))
    behind = b"".join((*head, bytes(-size % ALIGNED), *parts))
    return before + hashlib.sha256(behind).hexdigest().encode() + behind


def is_probe(path: Path) -> bool:
    """Return whether a file is a probe as ``gguf_of`` makes it, unchanged.

    Raises UserError for a file that cannot be read.
    """
    with opened(path, "give a GGUF file") as stream:
        _, key, digest = stream.read(COUNTED), stream.read(len(KEY)), stream.read(DIGITS)
        return key == KEY and digest.decode() == digest_of(stream)


def _value(type: int, value: Any) -> bytes:
    """Return a value in the format."""
    if type == TEXT:
        return _text(value)
    if type == LIST:
        inner, values = value
        listed = b"".join(_value(inner, item) for item in values)
        return struct.pack("<IQ", inner, len(values)) + listed
    return struct.pack({UNSIGNED: "<I", SIGNED: "<i", FLOAT: "<f", FLAG: "<?"}[type], value)


def _text(text: str) -> bytes:
    """Return a text in the format: its length and its bytes."""
    content = text.encode()
    return struct.pack("<Q", len(content)) + content
