"""Right conversions: what a comparison must let pass, whatever the form."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from posenc_lab.compared.conversions import Converted, in_float8, to_folder, to_gguf, to_mlx
from posenc_lab.compared.families import HIDDEN, KV_HEADS, LAYERS, SIZE, Original
from posenc_lab.compared.files import Array
from posenc_lab.compared.further import FUSED, in_own_fields, in_rows_of_float8, repeated
from posenc_lab.compared.wrong import Convert, Edit, key, name_of


@dataclass(frozen=True)
class Right:
    """One right conversion of one family."""

    id: str
    family: str
    convert: Callable[[Original], Converted]
    kind: str = "F16"


def changed(convert: Callable[[Original], Converted], *edits: Edit) -> Convert:
    """Return a conversion with changes after it."""

    def made(original: Original) -> Converted:
        result = convert(original)
        for edit in edits:
            edit(result, original)
        return result

    return made


def renamed(before: str, after: str) -> Edit:
    def edit(made: Converted, _: Original) -> None:
        made.arrays = {name.replace(before, after): a for name, a in made.arrays.items()}

    return edit


def added(name: str, array: Array) -> Edit:
    def edit(made: Converted, _: Original) -> None:
        made.arrays[name] = array

    return edit


def _fused(made: Converted, _: Original) -> None:
    """Fuse queries, keys and values, as engines do that compute them at once."""
    for layer in range(LAYERS):
        parts = [made.arrays.pop(name_of(made, layer, part)) for part in FUSED]
        name = name_of(made, layer, "q").replace("q_proj", "qkv_proj")
        made.arrays[name] = np.concatenate(parts)


def _unfused(made: Converted, _: Original) -> None:
    for layer in range(LAYERS):
        name = name_of(made, layer, "q").replace("q_proj", "qkv_proj")
        pieces = np.split(made.arrays.pop(name), np.cumsum([*FUSED.values()])[:-1])
        for part, piece in zip(FUSED, pieces, strict=True):
            made.arrays[name_of(made, layer, part)] = piece


def _with_biases_of_zeros(made: Converted, _: Original) -> None:
    for layer in range(LAYERS):
        for part, count in FUSED.items():
            made.arrays[name_of(made, layer, part, "bias")] = np.zeros(count, np.float32)


def _in_float8(made: Converted, _: Original) -> None:
    made.arrays = in_float8(made.arrays, HIDDEN)


def _of_transformers_5(made: Converted, _: Original) -> None:
    block = made.metadata.pop("rope_scaling", None) or {"rope_type": "default"}
    made.metadata["rope_parameters"] = {**block, "rope_theta": made.metadata.pop("rope_theta")}


def _expanded(made: Converted, _: Original) -> None:
    """Repeat each head of keys and values, as for code that knows no shared heads."""
    repeated(made, lambda heads, times: np.repeat(heads, times, axis=0))


def _rights() -> Iterator[Right]:
    ones = added("rope_freqs.weight", np.ones(SIZE // 2, np.float32))
    for family in ("mistral", "qwen2", "gemma3", "phi3", "llama-biased"):
        yield Right(f"rope-freqs-of-ones-{family}", family, changed(to_gguf, ones))
    for family in ("llama", "qwen2", "qwen3"):
        made = changed(to_folder, _of_transformers_5)
        yield Right(f"transformers-5-{family}", family, made, "BF16")
    inner = renamed("model.layers", "language_model.model.layers")
    yield Right("in-a-model-of-images", "qwen3", changed(to_folder, inner))
    yield Right("vocabulary-cut", "llama", changed(to_gguf, key("vocab_size", 7)))
    embedded = added("token_embd.weight", np.full((5, HIDDEN), np.nan, np.float32))
    yield Right("embeddings-broken", "llama", changed(to_gguf, embedded))
    yield Right("fused", "mistral", changed(to_folder, _fused))
    yield Right("unfused", "phi3", changed(to_folder, _unfused))
    yield Right("biases-of-zeros", "mistral", changed(to_folder, _with_biases_of_zeros))
    yield Right("each-head-repeated", "llama", changed(to_gguf, _expanded))
    yield Right("scaled-by-one", "qwen3", changed(to_gguf, *_scaled_by_one()))
    yield Right("float8-with-one-scale", "qwen3", changed(to_folder, _in_float8), "F32")
    yield Right("float8-by-rows", "llama", changed(to_folder, in_rows_of_float8), "F32")
    yield Right("multiplier-kept", "granite", to_gguf, "BF16")
    whole = changed(to_gguf, key("rope.scaling.yarn_beta_fast", 32.0))
    yield Right("default-said", "qwen2", whole)
    for bits, size in ((4, 32), (8, 128)):
        mlx = partial(to_mlx, bits=bits, size=size)
        yield Right(f"mlx-{bits}-bits-by-{size}", "qwen2", mlx)


def _of_heads() -> Iterator[Right]:
    counts = key("attention.head_count_kv", [KV_HEADS] * LAYERS)
    for family in ("llama", "phi3"):
        yield Right(f"key-heads-in-an-array-{family}", family, changed(to_gguf, counts))
    yield Right("key-heads-of-meta", "mistral", in_own_fields)
    none = key("attention.head_count_kv", None)
    yield Right("as-many-key-heads", "gpt-neox", changed(to_gguf, none))
    # The classes of both read no such field.
    yield Right("key-heads-unread", "gpt-neox", changed(to_folder, key("num_key_value_heads", 2)))
    yield Right("bias-unread", "mistral", changed(to_folder, key("attention_bias", True)))
    yield Right("bias-kept", "llama-biased", to_folder)
    # In float32, these are the same numbers.
    rounded = key("rope_theta", 1000000.03)
    yield Right("base-rounded", "mistral", changed(to_folder, rounded))
    rounded = key("rope.scaling.factor", 4.0000001)
    yield Right("factor-rounded", "llama-biased", changed(to_gguf, rounded))


def _scaled_by_one() -> tuple[Edit, Edit]:
    return key("rope.scaling.type", "linear"), key("rope.scaling.factor", 1.0)


RIGHT = (*_rights(), *_of_heads())
"""Right conversions."""
