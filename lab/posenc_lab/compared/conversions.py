"""Right conversions of the small checkpoints to GGUF and to Mistral's files."""

import math
import re
from dataclasses import dataclass

import numpy as np

from posenc_lab.compared.families import HEADS, HIDDEN, KV_HEADS, LAYERS, SIZE, Original
from posenc_lab.compared.files import STORED, Array, Arrays, Fields

GGUF, MISTRAL, META, FOLDER = "gguf", "mistral", "meta", "folder"


@dataclass
class Converted:
    """A converted checkpoint before it is written: its form, metadata and tensors."""

    form: str
    metadata: Fields
    arrays: Arrays


ARCHITECTURES = {
    "llama": "llama",
    "llama-biased": "llama",
    "mistral": "llama",
    "qwen2": "qwen2",
    "qwen3": "qwen3",
    "gemma3": "gemma3",
    "granite": "granite",
    "gpt2": "gpt2",
    "phi3": "phi3",
    "gpt-neox": "gptneox",
}
PERMUTED = ("llama", "llama-biased", "mistral", "granite")
PARTS = {
    "q_proj": "attn_q",
    "k_proj": "attn_k",
    "v_proj": "attn_v",
    "q_norm": "attn_q_norm",
    "k_norm": "attn_k_norm",
    "qkv_proj": "attn_qkv",
    "query_key_value": "attn_qkv",
    "c_attn": "attn_qkv",
}
OF_MISTRAL = {"q_proj": "wq", "k_proj": "wk", "v_proj": "wv"}
TENSOR = re.compile(r"(?:layers|h)\.(\d+)\.\w+\.(\w+)\.(weight|bias)$")


def permuted(array: Array, heads: int) -> Array:
    """Bring the halves of each head next to each other."""
    parts = array.reshape(heads, 2, len(array) // heads // 2, *array.shape[1:])
    return parts.swapaxes(1, 2).reshape(array.shape)


def unpermuted(array: Array, heads: int) -> Array:
    """Bring neighbours into the halves of each head."""
    parts = array.reshape(heads, len(array) // heads // 2, 2, *array.shape[1:])
    return parts.swapaxes(1, 2).reshape(array.shape)


def heads_of(part: str) -> int:
    return HEADS if part.startswith("q") else KV_HEADS


def to_gguf(original: Original) -> Converted:
    """Convert a checkpoint as llama.cpp's converter does."""
    name = ARCHITECTURES[original.name]
    keys = {f"{name}.{key}": value for key, value in _keys(original).items()}
    arrays: Arrays = {}
    for before, array in original.arrays.items():
        layer, part, kind = _place(before)
        arrays[f"blk.{layer}.{PARTS[part]}.{kind}"] = _laid(original, part, array)
    arrays |= _divisors(original.config)
    return Converted(GGUF, {"general.architecture": name, **keys}, arrays)


def _place(name: str) -> tuple[str, str, str]:
    match = TENSOR.search(name)
    assert match is not None
    layer, part, kind = match.groups()
    return layer, part, kind


def _laid(original: Original, part: str, array: Array) -> Array:
    if original.name in PERMUTED and part in ("q_proj", "k_proj"):
        return permuted(array, heads_of(part))
    if original.name == "gpt-neox":
        by_head = array.reshape(HEADS, 3, SIZE, *array.shape[1:])
        return by_head.swapaxes(0, 1).reshape(array.shape)
    if original.name == "gpt2":
        return array.T
    if original.name == "gemma3" and "norm" in part:
        return array + np.float32(1)
    return array


def key_heads(original: Original) -> int:
    return HEADS if original.name in ("gpt-neox", "gpt2") else KV_HEADS


def _keys(original: Original) -> Fields:
    config = original.config
    keys: Fields = {
        "block_count": LAYERS,
        "context_length": config["max_position_embeddings"],
        "embedding_length": HIDDEN,
        "attention.head_count": HEADS,
        "attention.head_count_kv": key_heads(original),
        "rope.dimension_count": SIZE // 4 if original.name == "gpt-neox" else SIZE,
        "rope.freq_base": float(config.get("rope_theta", 10000)),
    }
    if original.name == "gpt2":
        return {key: value for key, value in keys.items() if not key.startswith("rope.")}
    if original.name not in ("gpt-neox", "phi3"):
        keys |= {"attention.key_length": SIZE, "attention.value_length": SIZE}
    if "attention_multiplier" in config:
        keys["attention.scale"] = config["attention_multiplier"]
    if original.name == "gemma3":
        keys |= {
            "attention.sliding_window": 512,
            "attention.sliding_window_pattern": [True, False] * (LAYERS // 2),
            "rope.freq_base_swa": 10000.0,
        }
    return keys | _scaling(config)


def _scaling(config: Fields) -> Fields:
    block = config.get("rope_scaling") or {}
    kind, prefix = block.get("rope_type"), "rope.scaling."
    if kind == "linear":
        return {f"{prefix}type": "linear", f"{prefix}factor": block["factor"]}
    if kind == "yarn":
        return {
            f"{prefix}type": "yarn",
            f"{prefix}factor": block["factor"],
            f"{prefix}original_context_length": block["original_max_position_embeddings"],
        }
    if kind == "longrope":
        original, whole = 4096, config["max_position_embeddings"]
        factor = math.sqrt(1 + math.log(whole / original) / math.log(original))
        return {
            f"{prefix}original_context_length": original,
            f"{prefix}attn_factor": factor,
            "attention.sliding_window": config["sliding_window"],
        }
    return {}


def llama_3_divisors(base: float, factor: float) -> Array:
    """Compute Llama 3.1's divisors, from its released code."""
    numbers = []
    for pair in range(SIZE // 2):
        length = 2 * math.pi * base ** (2 * pair / SIZE)
        if length < 8192 / 4:
            numbers.append(1.0)
        elif length > 8192:
            numbers.append(factor)
        else:
            smooth = (8192 / length - 1) / 3
            numbers.append(1 / ((1 - smooth) / factor + smooth))
    return np.array(numbers, np.float32)


def _divisors(config: Fields) -> Arrays:
    block = config.get("rope_scaling") or {}
    if block.get("rope_type") == "llama3":
        return {"rope_freqs.weight": llama_3_divisors(config["rope_theta"], block["factor"])}
    if block.get("rope_type") == "longrope":
        return {
            f"rope_factors_{span}.weight": np.array(block[f"{span}_factor"], np.float32)
            for span in ("long", "short")
        }
    return {}


def to_mistral(original: Original) -> Converted:
    """Convert a checkpoint to Mistral's own form, which its engine turns by neighbours."""
    arrays: Arrays = {}
    for before, array in original.arrays.items():
        layer, part, kind = _place(before)
        own = f"layers.{layer}.attention.{OF_MISTRAL[part]}.{kind}"
        arrays[own] = array if part == "v_proj" else permuted(array, heads_of(part))
    config = original.config
    params = {
        "dim": HIDDEN,
        "n_layers": LAYERS,
        "head_dim": SIZE,
        "hidden_dim": 2 * HIDDEN,
        "n_heads": HEADS,
        "n_kv_heads": KV_HEADS,
        "norm_eps": 1e-05,
        "vocab_size": 32,
        "rope_theta": config["rope_theta"],
        "max_seq_len": config["max_position_embeddings"],
    }
    return Converted(MISTRAL, params, arrays)


def to_meta(original: Original) -> Converted:
    """Convert a checkpoint to Meta's own form, whose tensors are called as Mistral's."""
    made = to_mistral(original)
    made.form = META
    return made


def to_folder(original: Original) -> Converted:
    """Save a checkpoint again as it is, as transformers does."""
    return Converted(FOLDER, dict(original.config), dict(original.arrays))


def to_mlx(original: Original, bits: int = 4, size: int = 64) -> Converted:
    """Convert a checkpoint to MLX's form, with matrices in groups."""
    config = {**original.config, "quantization": {"bits": bits, "group_size": size}}
    return Converted(FOLDER, config, in_groups(original.arrays, bits, size))


def grouped(array: Array, bits: int, size: int) -> Arrays:
    """Quantise a matrix as MLX does: codes, and the step and the least number of each group."""
    groups = array.reshape(len(array), -1, size).astype(np.float64)
    least = groups.min(axis=-1)
    step = (groups.max(axis=-1) - least) / (2**bits - 1)
    codes = np.rint((groups - least[..., None]) / step[..., None]).astype(np.int64)
    flags = (codes.reshape(len(array), -1, 1) >> np.arange(bits)) & 1
    packed = np.packbits(flags.reshape(len(array), -1), axis=-1, bitorder="little")
    return {
        "weight": packed.view("<u4"),
        "scales": step.astype(np.float32),
        "biases": least.astype(np.float32),
    }


def in_groups(arrays: Arrays, bits: int, size: int) -> Arrays:
    """Quantise the matrices of a folder as MLX does; vectors stay as they are."""
    made: Arrays = {}
    for name, array in arrays.items():
        if array.ndim == 1:
            made[name] = array
            continue
        module = name.removesuffix(".weight")
        parts = grouped(array, bits, size)
        made |= {f"{module}.{part}": values for part, values in parts.items()}
    return made


def in_float8(arrays: Arrays, block: int = 128) -> Arrays:
    """Quantise matrices to float8 with a scale for each block, as DeepSeek V3 is released."""
    made: Arrays = {}
    for name, array in arrays.items():
        if array.ndim == 1:
            made[name] = array
            continue
        high, wide = (-(-count // block) for count in array.shape)
        scales = np.ones((high, wide), np.float32)
        stored = array.copy()
        for row in range(high):
            for column in range(wide):
                part = np.s_[row * block : (row + 1) * block, column * block : (column + 1) * block]
                scales[row, column] = np.abs(array[part]).max() / 448
                stored[part] = array[part] / scales[row, column]
        made[name] = stored.astype(STORED["F8_E4M3"])
        made[f"{name}_scale_inv"] = scales
    return made


def float8_by_rows(arrays: Arrays) -> Arrays:
    """Quantise matrices to float8 with a scale for each row, as llm-compressor does."""
    made = dict(arrays)
    for name, array in arrays.items():
        if array.ndim > 1:
            scale = np.abs(array).max(axis=1, keepdims=True) / 448
            made[name] = (array / scale).astype(STORED["F8_E4M3"])
            made[f"{name}_scale"] = scale
    return made
