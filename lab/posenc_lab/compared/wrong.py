"""Wrong conversions: what each does to a right one, and the names that it must get."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from posenc_lab.compared.conversions import (
    FOLDER,
    GGUF,
    Converted,
    heads_of,
    llama_3_divisors,
    permuted,
    to_gguf,
    to_mistral,
    unpermuted,
)
from posenc_lab.compared.families import HEADS, KV_HEADS, LAYERS, SIZE, Original
from posenc_lab.compared.files import Array

Convert = Callable[[Original], Converted]
Edit = Callable[[Converted, Original], None]


@dataclass(frozen=True)
class Wrong:
    """One wrong conversion of one family."""

    id: str
    family: str
    edit: Edit
    names: tuple[str, ...]
    """Names of which every one must be among the differences."""
    convert: Convert = to_gguf
    others: bool = False
    """Whether further differences may be there, beside the named ones."""

    def made(self, original: Original) -> Converted:
        converted = self.convert(original)
        self.edit(converted, original)
        return converted


def name_of(made: Converted, layer: int, part: str, kind: str = "weight") -> str:
    """Return the name of a tensor in a converted file, of a part such as ``q`` or ``q_norm``."""
    if made.form == FOLDER:
        module = part if "_" in part else f"{part}_proj"
        return f"model.layers.{layer}.self_attn.{module}.{kind}"
    if made.form == GGUF:
        return f"blk.{layer}.attn_{part}.{kind}"
    return f"layers.{layer}.attention.w{part}.{kind}"


def rows(part: str, change: Callable[[Array, int], Array], layers: range = range(LAYERS)) -> Edit:
    """Change a projection, such as ``q.weight``, in some layers."""
    name, kind = part.split(".")

    def edit(made: Converted, _: Original) -> None:
        for layer in layers:
            key = name_of(made, layer, name, kind)
            made.arrays[key] = np.ascontiguousarray(change(made.arrays[key], heads_of(name)))

    return edit


def both(*edits: Edit) -> Edit:
    def edit(made: Converted, original: Original) -> None:
        for part in edits:
            part(made, original)

    return edit


def key(name: str, value: object) -> Edit:
    """Set a key of the metadata; None removes it."""

    def edit(made: Converted, _: Original) -> None:
        full = name if made.form != GGUF else f"{made.metadata['general.architecture']}.{name}"
        if value is None:
            del made.metadata[full]
        else:
            made.metadata[full] = value

    return edit


def lost(*words: str) -> Edit:
    """Leave tensors out."""

    def edit(made: Converted, _: Original) -> None:
        made.arrays = {
            name: array
            for name, array in made.arrays.items()
            if not any(word in name for word in words)
        }

    return edit


def table(name: str, change: Callable[[Array], Array]) -> Edit:
    def edit(made: Converted, _: Original) -> None:
        made.arrays[name] = change(made.arrays[name])

    return edit


def by_heads(change: Callable[[Array], Array]) -> Callable[[Array, int], Array]:
    """Change an array of shape ``[heads, size, columns]``."""

    def changed(array: Array, heads: int) -> Array:
        return change(array.reshape(heads, -1, *array.shape[1:])).reshape(array.shape)

    return changed


def as_if(heads: int, right: int) -> Callable[[Array, int], Array]:
    """Undo the right order, and permute with another number of heads."""
    return lambda array, _: permuted(unpermuted(array, right), heads)


def _exchange(first: str, second: str) -> Edit:
    def edit(made: Converted, _: Original) -> None:
        for layer in range(LAYERS):
            one, other = (f"blk.{layer}.attn_{part}.weight" for part in (first, second))
            made.arrays[one], made.arrays[other] = made.arrays[other], made.arrays[one]

    return edit


def _layers_shifted(made: Converted, _: Original) -> None:
    moved = dict(made.arrays)
    for layer in range(LAYERS):
        for part in "qk":
            name = "blk.{}.attn_" + part + ".weight"
            made.arrays[name.format(layer)] = moved[name.format((layer + 1) % LAYERS)]


def _one_pair(array: Array, heads: int) -> Array:
    changed = array.copy()
    changed[[6, 7]] = changed[[7, 6]]
    return changed


def _one_head(array: Array, heads: int) -> Array:
    changed = array.copy()
    changed[:SIZE] = unpermuted(array[:SIZE], 1)
    return changed


def _grouped(array: Array, heads: int) -> Array:
    """Leave a fused projection of GPT-NeoX as it was, head by head."""
    return array.reshape(3, HEADS, SIZE, *array.shape[1:]).swapaxes(0, 1).reshape(array.shape)


def _permuted_partly(array: Array, heads: int) -> Array:
    """Permute whole heads of a fused projection, of which a quarter is rotated."""
    changed = array.copy()
    count = 2 * HEADS * SIZE
    changed[:count] = permuted(array[:count], 2 * HEADS)
    return changed


def _noisy(array: Array, heads: int) -> Array:
    generator = np.random.default_rng(5)
    noise = 0.002 * generator.standard_normal(array.shape)
    return np.asarray(array + noise, dtype=np.float32)


def _fused_as_groups(array: Array, heads: int) -> Array:
    """Arrange a fused projection by heads of keys, where queries, keys and values follow."""
    share = HEADS // KV_HEADS
    parts = array.reshape(HEADS + 2 * KV_HEADS, SIZE, -1)
    order = [
        number
        for group in range(KV_HEADS)
        for number in (
            *range(share * group, share * (group + 1)),
            HEADS + group,
            HEADS + KV_HEADS + group,
        )
    ]
    return parts[order].reshape(array.shape)


def _shared_otherwise(array: Array) -> Array:
    """Let heads of queries take turns with the heads of keys, as if those were tiled."""
    order = np.arange(HEADS).reshape(KV_HEADS, -1).T.ravel()
    return array[order]


Q, K = "q.weight", "k.weight"
QK = (Q, K)


def on(parts: tuple[str, ...], change: Callable[[Array, int], Array]) -> Edit:
    return both(*(rows(part, change) for part in parts))


def _of_rows() -> Iterator[Wrong]:
    twice, none = on(QK, permuted), on(QK, unpermuted)
    yield Wrong("permuted-twice", "llama", twice, ("permuted-twice",))
    yield Wrong("not-permuted", "llama", none, ("not-permuted",))
    yield Wrong("not-permuted-mistral", "mistral", none, ("not-permuted",), to_mistral)
    yield Wrong("twice-mistral", "mistral", twice, ("permuted-twice",), to_mistral)
    yield Wrong("only-q", "llama", rows(K, unpermuted), ("not-permuted",))
    yield Wrong("only-k", "llama", rows(Q, unpermuted), ("not-permuted",))
    back = on(QK, lambda array, heads: unpermuted(unpermuted(array, heads), heads))
    yield Wrong("backwards", "llama", back, ("permuted-backwards",))
    first = both(*(rows(part, unpermuted, range(1)) for part in QK))
    yield Wrong("not-in-the-first-layer", "llama", first, ("not-permuted",))
    late = both(*(rows(part, permuted, range(2, LAYERS)) for part in QK))
    yield Wrong("twice-in-later-layers", "llama", late, ("permuted-twice",))
    counts = ("permuted-by-another-head-count",)
    yield Wrong("k-as-if-heads-of-q", "llama", rows(K, as_if(HEADS, KV_HEADS)), counts)
    yield Wrong("q-as-if-heads-of-k", "llama", rows(Q, as_if(KV_HEADS, HEADS)), counts)
    yield Wrong("as-if-one-head", "mistral", rows(K, as_if(1, KV_HEADS)), counts, to_mistral)
    yield Wrong("v-permuted-too", "llama", rows("v.weight", permuted), ("permuted-needlessly",))
    for family in ("qwen2", "qwen3", "gemma3"):
        yield Wrong(f"needlessly-{family}", family, on(QK, permuted), ("permuted-needlessly",))
    yield Wrong("one-head-forgotten", "llama", rows(Q, _one_head), ("heads-differ",))
    yield Wrong("one-pair", "llama", rows(K, _one_pair), ("rows-moved",))
    halves = by_heads(lambda array: np.roll(array, SIZE // 2, axis=1))
    yield Wrong("halves-exchanged", "qwen2", rows(Q, halves), ("permuted-otherwise",))
    flipped = by_heads(lambda array: array[:, ::-1])
    yield Wrong("channels-reversed", "qwen2", rows(K, flipped), ("permuted-otherwise",))
    moved = by_heads(lambda array: np.roll(array, 1, axis=0))
    yield Wrong("heads-moved", "qwen2", rows(Q, moved), ("heads-moved",))
    tiled = by_heads(_shared_otherwise)
    yield Wrong("heads-tiled", "llama", rows(Q, tiled), ("heads-moved",))
    yield Wrong("k-and-v-exchanged", "qwen2", _exchange("k", "v"), ("rows-of-another-projection",))
    yield Wrong("layers-shifted", "llama", _layers_shifted, ("of-another-layer",))
    double = rows(Q, lambda array, _: array * np.float32(SIZE**-0.5))
    yield Wrong("scale-folded-into-q", "llama", double, ("multiplied",))
    negative = rows(K, lambda array, _: -array)
    yield Wrong("sign-of-k", "qwen2", negative, ("multiplied",))
    yield Wrong("other-weights", "llama", on(QK, _noisy), ("values-differ",))
    yield Wrong("unrelated", "qwen3", rows(Q, lambda array, _: array[:, ::-1]), ("unrelated",))


def _of_vectors() -> Iterator[Wrong]:
    biases = ("q.bias", "k.bias")
    yield Wrong("bias-as-it-was", "llama-biased", on(biases, unpermuted), ("not-permuted",))
    yield Wrong("bias-twice", "llama-biased", on(biases, permuted), ("permuted-twice",))
    yield Wrong("bias-lost", "llama-biased", lost(".bias"), ("missing",))
    yield Wrong("bias-of-k-lost", "qwen2", lost("attn_k.bias"), ("missing",))
    yield Wrong("bias-permuted", "qwen2", on(biases, permuted), ("permuted-needlessly",))
    norms = ("q_norm.weight", "k_norm.weight")
    alone = on(norms, lambda array, _: permuted(array, 1))
    yield Wrong("norms-permuted", "qwen3", alone, ("permuted-needlessly",))
    yield Wrong("norms-lost", "qwen3", lost("_norm"), ("missing",))
    less = on(norms, lambda array, _: array - np.float32(1))
    yield Wrong("norms-without-one", "gemma3", less, ("norm-offset-missing",))
    more = on(norms, lambda array, _: array + np.float32(1))
    yield Wrong("norms-with-one", "qwen3", more, ("norm-offset-added",))
    swap = both(rows("q_norm.weight", lambda array, _: array[::-1]))
    yield Wrong("norm-reversed", "qwen3", swap, ("permuted-otherwise",))


def _of_fused() -> Iterator[Wrong]:
    weight, bias = "qkv.weight", "qkv.bias"
    by_head = on((weight, bias), _grouped)
    other = ("rows-of-another-projection",)
    yield Wrong("neox-as-it-was", "gpt-neox", by_head, other, others=True)
    yield Wrong("neox-bias-as-it-was", "gpt-neox", rows(bias, _grouped), other)
    partly = rows(weight, _permuted_partly)
    yield Wrong("neox-whole-heads", "gpt-neox", partly, ("permuted-in-whole-heads",))
    yield Wrong("phi3-by-groups", "phi3", rows(weight, _fused_as_groups), other, others=True)


def _with(value: float) -> Callable[[Array], Array]:
    """Return a change that puts a number into a table, behind its middle."""

    def changed(array: Array) -> Array:
        array = array.copy()
        array[len(array) // 2 + 1] = value
        return array

    return changed


def _of_meaning() -> Iterator[Wrong]:
    yield Wrong("base-dropped", "mistral", key("rope_theta", 10000.0), ("base",), to_mistral)
    yield Wrong("base-of-gguf", "qwen3", key("rope.freq_base", 10000.0), ("base",))
    swapped = key("rope.freq_base_swa", 1000000.0)
    yield Wrong("local-base-dropped", "gemma3", swapped, ("base",))
    yield Wrong("rope-freqs-lost", "llama", lost("rope_freqs"), ("scaling",))
    more = table("rope_freqs.weight", lambda _: llama_3_divisors(500000.0, 32.0))
    yield Wrong("rope-freqs-of-another-factor", "llama", more, ("scaling",))
    inverse = table("rope_freqs.weight", lambda array: 1 / array)
    yield Wrong("rope-freqs-inverted", "llama", inverse, ("divisors",))
    ends = table("rope_freqs.weight", lambda array: array[::-1].copy())
    yield Wrong("rope-freqs-reversed", "llama", ends, ("divisors",))
    linear = both(key("rope.scaling.type", None), key("rope.scaling.factor", None))
    yield Wrong("linear-dropped", "llama-biased", linear, ("scaling",))
    factor = key("rope.scaling.factor", 2.0)
    yield Wrong("another-factor", "llama-biased", factor, ("scaling",))
    yarn = both(
        *(key(f"rope.scaling.{k}", None) for k in ("type", "factor", "original_context_length"))
    )
    yield Wrong("yarn-dropped", "qwen2", yarn, ("scaling",))
    yield Wrong("yarn-as-linear", "qwen2", key("rope.scaling.type", "linear"), ("scaling",))
    only = both(*(key(f"rope.scaling.{k}", None) for k in ("type", "factor")))
    yield Wrong("yarn-dropped-but-its-context", "qwen2", only, ("scaling",))
    longer = key("rope.scaling.original_context_length", 131072)
    yield Wrong("yarn-of-the-whole-context", "qwen2", longer, ("scaling",))
    wide = key("attention.sliding_window", 1024)
    yield Wrong("another-window", "gemma3", wide, ("window",))
    full = key("attention.sliding_window_pattern", [True] * LAYERS)
    yield Wrong("all-layers-slide", "gemma3", full, ("window",), others=True)
    off = key("attention.sliding_window_pattern", [False, True] * (LAYERS // 2))
    yield Wrong("window-in-the-other-layers", "gemma3", off, ("window",), others=True)
    none = key("attention.sliding_window", None)
    yield Wrong("window-of-phi3-lost", "phi3", none, ("window",))
    lists = table("rope_factors_long.weight", lambda array: array[::-1].copy())
    yield Wrong("long-list-reversed", "phi3", lists, ("lists",))
    for span in ("long", "short"):
        name = f"rope_factors_{span}.weight"
        yield Wrong(f"{span}-list-lost", "phi3", lost(name), ("list-missing",))
        counts = ("divisors-of-another-count",)
        half = table(name, lambda array: array[::2].copy())
        yield Wrong(f"{span}-list-cut", "phi3", half, counts)
    yield Wrong("both-lists-lost", "phi3", lost("rope_factors"), ("scaling",))
    for name, family in (("rope_freqs", "llama"), ("rope_factors_long", "phi3")):
        for value, id in (
            (np.nan, "finite"),
            (np.inf, "finite"),
            (-1, "positive"),
            (0, "positive"),
        ):
            one = table(f"{name}.weight", _with(value))
            yield Wrong(f"{name}-with-{value}", family, one, (f"divisors-not-{id}",))
    half = table("rope_freqs.weight", lambda array: array[::2].copy())
    yield Wrong("rope-freqs-cut", "llama", half, ("divisors-of-another-count",))
    factor = key("rope.scaling.attn_factor", None)
    yield Wrong("attention-factor-dropped", "phi3", factor, ("attention-factor",))
    yield Wrong("context-cut", "qwen3", key("context_length", 4096), ("context",))
    yield Wrong("a-layer-lost", "qwen3", key("block_count", LAYERS - 1), ("layers",), others=True)


WRONG = (*_of_rows(), *_of_vectors(), *_of_fused(), *_of_meaning())
"""All wrong conversions."""
