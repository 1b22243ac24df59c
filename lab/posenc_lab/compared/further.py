"""Further wrong conversions, as people write them who do not use a common converter."""

from collections.abc import Callable, Iterator

import numpy as np

from posenc_lab.compared.conversions import (
    Converted,
    float8_by_rows,
    heads_of,
    permuted,
    to_folder,
    to_meta,
    to_mistral,
    to_mlx,
    unpermuted,
)
from posenc_lab.compared.families import HEADS, KV_HEADS, LAYERS, SIZE, Original
from posenc_lab.compared.files import Array
from posenc_lab.compared.wrong import (
    K,
    Q,
    Wrong,
    both,
    by_heads,
    key,
    lost,
    name_of,
    on,
    rows,
    table,
)

LINEAR = {"rope_type": "linear", "factor": 4.0}
FUSED = {"q": HEADS * SIZE, "k": KV_HEADS * SIZE, "v": KV_HEADS * SIZE}
"""Rows of the parts of a fused projection."""


def _moved(places: dict[str, str], kind: str = "weight", step: int = 0) -> Callable[..., None]:
    """Return a change that puts other tensors of a layer, or of a later one, into places."""

    def edit(made: Converted, _: Original) -> None:
        before = dict(made.arrays)
        for layer in range(LAYERS):
            for place, source in places.items():
                name = name_of(made, (layer + step) % LAYERS, source, kind)
                made.arrays[name_of(made, layer, place, kind)] = before[name]

    return edit


def _one(row: int, value: float) -> Callable[[Array, int], Array]:
    """Return a change that puts a number into a row."""

    def changed(array: Array, _: int) -> Array:
        array = array.copy()
        array.reshape(len(array), -1)[row, 0] = value
        return array

    return changed


def _cut(array: Array, heads: int) -> Array:
    """Leave the second half at zero, as a file has it that was not written to its end."""
    array = array.copy()
    array[len(array) // 2 :] = 0
    return array


def _bias_for_weight(made: Converted, _: Original) -> None:
    for layer in range(LAYERS):
        bias = made.arrays[name_of(made, layer, "q", "bias")]
        made.arrays[name_of(made, layer, "q")] = bias


def _fused_in_order(*parts: str) -> Callable[[Array, int], Array]:
    """Return a change of the order of queries, keys and values in a fused projection."""

    def changed(array: Array, _: int) -> Array:
        bounds = np.cumsum([*FUSED.values()])[:-1]
        pieces = dict(zip(FUSED, np.split(array, bounds), strict=True))
        return np.concatenate([pieces[part] for part in parts])

    return changed


def _permuted_in_fused(array: Array, _: int) -> Array:
    turned = (HEADS + KV_HEADS) * SIZE
    return np.concatenate([permuted(array[:turned], HEADS + KV_HEADS), array[turned:]])


def _first_head_for_all(array: Array) -> Array:
    return np.repeat(array[:1], len(array), axis=0)


def _of_numbers() -> Iterator[Wrong]:
    for part, value in ((Q, np.inf), (K, np.nan), (Q, -np.inf)):
        name = f"{part[0]}-with-{value}"
        yield Wrong(name, "llama", rows(part, _one(40, value)), ("not-finite",))
    yield Wrong("bias-with-nan", "qwen2", rows("k.bias", _one(3, np.nan)), ("not-finite",))
    yield Wrong("norm-with-inf", "qwen3", rows("q_norm.weight", _one(3, np.inf)), ("not-finite",))
    for part in (Q, K):
        yield Wrong(f"{part[0]}-half-written", "llama", rows(part, _cut), ("zeros",))
    yield Wrong("v-half-written", "qwen2", rows("v.weight", _cut, range(3, 4)), ("zeros",))
    for part in "qkv":
        none = rows(f"{part}.bias", lambda array, _: np.zeros_like(array))
        yield Wrong(f"{part}-bias-of-zeros", "qwen2", none, ("zeros",))
    yield Wrong("v-of-zeros", "qwen2", rows("v.weight", lambda array, _: 0 * array), ("zeros",))
    half = rows("v.bias", _cut)
    yield Wrong("v-bias-half-written", "qwen2", half, ("values-differ",))


def _of_places() -> Iterator[Wrong]:
    norms = {"q_norm": "k_norm", "k_norm": "q_norm"}
    for family in ("qwen3", "gemma3"):
        name = f"norms-exchanged-{family}"
        yield Wrong(name, family, _moved(norms), ("of-another-norm",))
        one = _moved({"q_norm": "k_norm"})
        yield Wrong(f"one-norm-for-both-{family}", family, one, ("of-another-norm",))
        late = _moved({"q_norm": "q_norm", "k_norm": "k_norm"}, step=1)
        yield Wrong(f"norms-of-the-next-layer-{family}", family, late, ("of-another-layer",))
    twice = on(("q_norm.weight", "k_norm.weight"), lambda array, _: array + np.float32(1))
    yield Wrong("one-added-twice", "gemma3", twice, ("norm-offset-added",))
    biases = _moved({"k": "v", "v": "k"}, "bias")
    other = ("rows-of-another-projection",)
    yield Wrong("biases-exchanged", "qwen2", biases, other)
    yield Wrong(
        "bias-in-place-of-the-weight", "qwen2", _bias_for_weight, ("weight-and-bias-confused",)
    )
    only = rows(Q, unpermuted)
    yield Wrong("bias-permuted-alone", "llama-biased", only, ("not-permuted",))
    yield Wrong("keys-for-values", "qwen3", _moved({"v": "k"}), other)
    swapped = rows(K, by_heads(lambda array: array[::-1]))
    yield Wrong("heads-of-keys-exchanged", "llama", swapped, ("heads-moved",))
    same = rows(K, by_heads(_first_head_for_all))
    yield Wrong("one-head-of-keys-for-all", "qwen3", same, ("heads-moved",))
    for name in ("kqv", "qvk"):
        change = rows("qkv.weight", _fused_in_order(*name))
        yield Wrong(f"fused-as-{name}", "phi3", change, other, others=True)
    change = rows("qkv.weight", _permuted_in_fused)
    yield Wrong("permuted-in-fused", "phi3", change, ("permuted-needlessly",))
    yield Wrong("layer-without-keys", "qwen3", lost("blk.2.attn_k."), ("missing",))
    yield Wrong("layer-lost", "llama", lost("blk.3."), ("missing",))


def _layers_exchanged(made: Converted, _: Original) -> None:
    """Exchange layers that are far from each other, as names do that are sorted as texts."""
    before = dict(made.arrays)
    for name in before:
        for one, other in (("blk.0.", "blk.2."), ("blk.2.", "blk.0.")):
            if name.startswith(one):
                made.arrays[name] = before[name.replace(one, other)]


def _tiled(made: Converted, _: Original) -> None:
    """Repeat all heads of keys and values one after the other."""
    repeated(made, lambda heads, times: np.concatenate([heads] * times))


def repeated(made: Converted, change: Callable[[Array, int], Array]) -> None:
    """Give each query keys and values of its own, by a change of their heads."""
    for layer in range(LAYERS):
        for part in "kv":
            name = name_of(made, layer, part)
            heads = made.arrays[name].reshape(KV_HEADS, SIZE, -1)
            made.arrays[name] = change(heads, HEADS // KV_HEADS).reshape(HEADS * SIZE, -1)
    made.metadata["llama.attention.head_count_kv"] = HEADS


def in_rows_of_float8(made: Converted, _: Original) -> None:
    """Store matrices in float8, with a scale for each row."""
    made.arrays = float8_by_rows(made.arrays)


def _of_shapes() -> Iterator[Wrong]:
    yield Wrong("layers-exchanged", "qwen2", _layers_exchanged, ("of-another-layer",))
    turned = rows(Q, lambda array, _: array.T)
    yield Wrong("q-transposed", "qwen3", turned, ("transposed",))
    still = rows("qkv.weight", lambda array, _: array.T)
    yield Wrong("gpt2-as-columns", "gpt2", still, ("transposed",), others=True)
    turned = rows(K, lambda array, _: array.T)
    yield Wrong("k-transposed", "llama", turned, ("transposed",))
    yield Wrong("heads-repeated-in-turn", "llama", _tiled, ("heads-moved",))
    scales = both(in_rows_of_float8, lost("_scale"))
    yield Wrong("float8-without-scales", "qwen3", scales, ("rows-multiplied",), to_folder)


def _of_metadata() -> Iterator[Wrong]:
    leftover = key("rope_scaling", {**LINEAR, "original_max_position_embeddings": 32768})
    yield Wrong("linear-in-place-of-yarn", "qwen2", leftover, ("scaling",), to_folder)
    none = table("rope_freqs.weight", np.ones_like)
    yield Wrong("rope-freqs-of-ones", "llama", none, ("scaling",))
    yield Wrong("base-left-out", "qwen3", key("rope.freq_base", None), ("base",))
    whole = key("rope.scaling.original_context_length", None)
    yield Wrong("yarn-without-its-context", "qwen2", whole, ("scaling",))
    yield Wrong("yarn-inverted", "qwen2", key("rope.scaling.factor", 0.25), ("refused",))
    yield Wrong("share-lost", "gpt-neox", key("rope.dimension_count", SIZE), ("rotated-share",))
    halved = both(key("attention.head_count", 2 * HEADS), key("attention.key_length", SIZE // 2))
    small = both(halved, key("rope.dimension_count", SIZE // 2))
    yield Wrong("more-heads", "qwen3", small, ("head-size",), others=True)
    yield Wrong("layer-too-many", "qwen3", key("block_count", LAYERS + 1), ("layers",))
    scale = key("attention.scale", None)
    yield Wrong("multiplier-dropped", "granite", scale, ("score-factor",))
    root = key("attention_multiplier", None)
    yield Wrong("multiplier-lost", "granite", root, ("score-factor",), to_folder)
    yield Wrong(
        "factor-of-lists", "phi3", key("rope.scaling.attn_factor", 1.0), ("attention-factor",)
    )
    yield Wrong("lists-exchanged", "phi3", _lists_exchanged, ("lists",))


def _lists_exchanged(made: Converted, _: Original) -> None:
    long, short = "rope_factors_long.weight", "rope_factors_short.weight"
    made.arrays[long], made.arrays[short] = made.arrays[short], made.arrays[long]


def _of_groups() -> Iterator[Wrong]:
    incomplete = ("groups-incomplete",)
    for part in ("biases", "scales"):
        yield Wrong(f"mlx-without-{part}", "qwen3", lost(f".{part}"), incomplete, to_mlx)
    yield Wrong("mlx-of-other-bits", "qwen3", _bits(8), ("refused",), to_mlx)
    yield Wrong("mlx-permuted", "llama", _packed_rows_permuted, ("permuted-needlessly",), to_mlx)


def _bits(bits: int) -> Callable[[Converted, Original], None]:
    def edit(made: Converted, _: Original) -> None:
        made.metadata["quantization"] = {"bits": bits, "group_size": 64}

    return edit


def _packed_rows_permuted(made: Converted, _: Original) -> None:
    for name, array in made.arrays.items():
        for part in ("q", "k"):
            if f"{part}_proj" in name:
                made.arrays[name] = permuted(array, heads_of(part))


def in_own_fields(original: Original) -> Converted:
    """Convert to Meta's own form, with the fields that its files have."""
    made = to_meta(original)
    del made.metadata["head_dim"], made.metadata["hidden_dim"]
    made.metadata["multiple_of"] = 256
    return made


def _of_heads() -> Iterator[Wrong]:
    names = ("heads-contradict-rows",)
    in_gguf, in_folder = "attention.head_count_kv", "num_key_value_heads"
    for count in (1, 3, HEADS, [KV_HEADS, HEADS, KV_HEADS, KV_HEADS], None):
        said = "missing" if count is None else "an-array" if isinstance(count, list) else count
        for family in ("llama", "qwen2", "phi3"):
            yield Wrong(f"key-heads-{said}-{family}", family, key(in_gguf, count), names)
        if not isinstance(count, list):
            folder = key(in_folder, count)
            yield Wrong(f"key-heads-{said}-folder", "llama", folder, names, to_folder)
    yield Wrong("key-heads-missing-folder-qwen2", "qwen2", key(in_folder, None), names, to_folder)
    yield Wrong("key-heads-of-mistral", "mistral", key("n_kv_heads", HEADS), names, to_mistral)
    yield Wrong("key-heads-of-mlx", "qwen2", key(in_folder, HEADS), names, to_mlx)
    for count in (HEADS, None):
        said = "missing" if count is None else count
        meta = key("n_kv_heads", count)
        yield Wrong(f"key-heads-{said}-of-meta", "mistral", meta, names, in_own_fields)
    for count in (HEADS // 2, 2 * HEADS):
        more = key("attention.head_count", count)
        yield Wrong(f"{count}-heads", "qwen3", more, names)
        more = key("num_attention_heads", count)
        yield Wrong(f"{count}-heads-folder", "qwen3", more, names, to_folder)
    double = {"num_attention_heads": 2 * HEADS, in_folder: 2 * KV_HEADS, "head_dim": SIZE // 2}
    halved = both(*(key(name, value) for name, value in double.items()))
    yield Wrong("heads-halved", "mistral", halved, ("heads", "head-size"), to_folder)
    bias = key("attention_bias", True)
    yield Wrong("bias-promised", "llama", bias, ("missing",), to_folder)
    factor = key("rope.scaling.factor", 4.000002)
    yield Wrong("factor-of-another-float32", "llama-biased", factor, ("scaling",))
    base = key("rope_theta", 1000000.1)
    yield Wrong("base-of-another-float32", "mistral", base, ("base",), to_folder)


FURTHER = (
    *_of_numbers(),
    *_of_places(),
    *_of_shapes(),
    *_of_metadata(),
    *_of_groups(),
    *_of_heads(),
)
"""All of them."""
