"""What llama.cpp's loader and Ollama's compatibility code take for missing keys of a GGUF file.

Of llama.cpp, ``load_hparams``: a base of 10,000, scaling of the type ``linear`` as soon as there is
a factor, heads of the hidden size divided by their number, all channels of which are rotated. Of
Ollama, ``llama/compat/llama-ollama-compat.cpp``, which completes files as Ollama published them.
"""

from collections.abc import Collection, Mapping
from typing import Any

from posenc_conformance.models.architectures import ROTARY
from posenc_conformance.models.defaults import LLAMA_CPP, OLLAMA, TRANSFORMERS, Default

BASE, LOCAL_BASE = "rope.freq_base", "rope.freq_base_swa"
FACTOR, TYPE, OLD_FACTOR = "rope.scaling.factor", "rope.scaling.type", "rope.scale_linear"
KEY_LENGTH, WIDTH = "attention.key_length", "rope.dimension_count"
PLAIN_BASE = 10000.0

OF_OLLAMA = ("tokenizer.ggml.add_padding_token", "tokenizer.ggml.add_unknown_token")
"""Keys that only Ollama's converters wrote."""
TOWERS = ("v.", "mm.")
"""Beginnings of the names of tensors of an image's tower, which Ollama keeps in the same file."""
OLD_ARCHITECTURES: Mapping[str, str] = {"gptoss": "gpt-oss", "olmo3": "olmo2"}
"""Architectures as only Ollama's converters wrote them, with the names that llama.cpp knows."""
RENAMED: Mapping[str, Mapping[str, str]] = {
    "gemma3": {"rope.global.freq_base": BASE, "rope.local.freq_base": LOCAL_BASE},
    "mistral3": {
        "rope.scaling.beta_fast": "rope.scaling.yarn_beta_fast",
        "rope.scaling.beta_slow": "rope.scaling.yarn_beta_slow",
        "rope.scaling.mscale_all_dim": "rope.scaling.yarn_log_multiplier",
        "rope.scaling_beta": "attention.temperature_scale",
    },
}
"""Keys as only Ollama's converters wrote them, by architecture, with the keys of llama.cpp."""
LONG = 131072
"""The context of Gemma 3 with scaling; the smallest model has less, and none."""

KeyDict = dict[str, Any]
"""Keys without the prefix of the architecture, and their values."""


def completed(
    architecture: str, type: str, own: Mapping[str, Any], marks: Collection[str]
) -> tuple[KeyDict, tuple[Default, ...]]:
    """Return the keys of a file with those that its reader fills in, and these with their reader.

    ``marks`` are the tensors of towers and the keys of Ollama that a file has.
    """
    keys, taken = dict(own), list[Default]()
    for old, new in RENAMED.get(architecture, {}).items():
        if old in keys:
            value = keys.pop(old)
            keys.setdefault(new, value)
    if architecture == "gemma3" and _is_ollamas(own, marks):
        taken += _as_ollama(keys)
    if architecture == "gptoss" and TYPE not in keys:
        taken.append(_take(keys, TYPE, "yarn", OLLAMA, {LLAMA_CPP: "linear"}))
    if type in ROTARY:
        taken += _as_llama_cpp(type, keys)
    return keys, tuple(taken)


def _is_ollamas(own: Mapping[str, Any], marks: Collection[str]) -> bool:
    """Return whether a file of Gemma 3 is one of those that Ollama completes."""
    known = (*RENAMED["gemma3"], "mm.tokens_per_image")
    return bool(
        marks or any(key in own for key in known) or "attention.layer_norm_rms_epsilon" not in own
    )


def _as_ollama(keys: KeyDict) -> list[Default]:
    values: KeyDict = {BASE: 1000000.0, LOCAL_BASE: PLAIN_BASE}
    length = keys.get("context_length")
    if isinstance(length, int) and length >= LONG:
        values |= {TYPE: "linear", FACTOR: 8.0}
    others = {BASE: PLAIN_BASE, TYPE: "linear", FACTOR: 1.0, LOCAL_BASE: PLAIN_BASE}
    return [
        _take(keys, key, value, OLLAMA, {LLAMA_CPP: others[key]})
        for key, value in values.items()
        if key not in keys
    ]


def _as_llama_cpp(type: str, keys: KeyDict) -> list[Default]:
    style, taken = ROTARY[type], list[Default]()
    if FACTOR not in keys and OLD_FACTOR in keys:
        keys[FACTOR] = keys.pop(OLD_FACTOR)
    if keys.get(FACTOR) and TYPE not in keys:
        taken.append(_take(keys, TYPE, "linear", LLAMA_CPP, {}))
    if BASE not in keys:
        taken.append(_take(keys, BASE, PLAIN_BASE, LLAMA_CPP, {TRANSFORMERS: style.base}))
    size = divided(keys)
    if style.head_dim is not None and size and KEY_LENGTH not in keys and not style.latent:
        others = {TRANSFORMERS: style.head_dim}
        taken.append(_take(keys, KEY_LENGTH, size, LLAMA_CPP, others))
    size = keys.get(KEY_LENGTH, size)
    width = style.defaults.get("rotary_dim")
    if (width or style.partial != 1) and isinstance(size, int) and size and WIDTH not in keys:
        others = {TRANSFORMERS: width or int(size * style.partial)}
        taken.append(_take(keys, WIDTH, size, LLAMA_CPP, others))
    return taken


def divided(keys: Mapping[str, Any]) -> int | None:
    """Return the hidden size divided by the number of heads; None if that is no size."""
    hidden, heads = keys.get("embedding_length"), keys.get("attention.head_count")
    if not isinstance(hidden, int) or not isinstance(heads, int) or heads < 1 or hidden % heads:
        return None
    return hidden // heads


def _take(keys: KeyDict, key: str, value: Any, owner: str, readers: Mapping[str, Any]) -> Default:
    keys[key] = value
    others = {reader: other for reader, other in readers.items() if other not in (None, value)}
    return Default(key, value, owner, tuple(others.items()))
