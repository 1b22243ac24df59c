"""How many heads two files say that there are, and whether their own rows are as many."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from posenc_conformance.commands.compare.checkpoints import (
    GGUF,
    META,
    MISTRAL,
    TRANSFORMERS,
    Checkpoint,
)
from posenc_conformance.commands.compare.findings import Finding, merged
from posenc_conformance.commands.compare.projections import (
    KEY,
    QUERY,
    VALUE,
    Layer,
    groups_of,
    head_size,
    layers_of,
)

AS_QUERIES = 0
OF_CLASSES: Mapping[str, int] = {
    **dict.fromkeys(("apertus", "arcee", "cohere", "cohere2", "gpt2", "gpt_neox"), AS_QUERIES),
    **dict.fromkeys(("granite", "granitemoe", "hunyuan_v1_dense", "llama"), AS_QUERIES),
    **dict.fromkeys(("nemotron", "olmo", "olmo2", "olmo3", "phi", "phi3"), AS_QUERIES),
    "ernie4_5": 2,
    "exaone4": 32,
    "gemma": 16,
    "gemma2": 4,
    "gemma3_text": 4,
    "glm": 2,
    "glm4": 2,
    "gpt_oss": 8,
    "helium": 20,
    "ministral3": 8,
    "mistral": 8,
    "mixtral": 8,
    "phimoe": 8,
    "qwen2": 32,
    "qwen2_moe": 16,
    "qwen3": 32,
    "qwen3_moe": 4,
    "seed_oss": 8,
    "smollm3": 4,
    "stablelm": 32,
    "starcoder2": 2,
}
"""Key heads that transformers' class takes where none are stated, for types whose projections have
rows for heads and nothing else; 0 for as many as heads of queries. Other types are not judged."""
WITHOUT_COUNT = ("gpt2", "gpt_neox")
"""Types whose class reads no count of key heads."""
BIASED: Mapping[str, str] = {
    **dict.fromkeys(("apertus", "arcee", "cohere", "cohere2", "gemma", "gemma2"), "attention_bias"),
    **dict.fromkeys(("gemma3_text", "glm", "glm4", "gpt_neox", "gpt_oss"), "attention_bias"),
    **dict.fromkeys(("granite", "granitemoe", "helium", "hunyuan_v1_dense"), "attention_bias"),
    **dict.fromkeys(("llama", "nemotron", "olmo", "olmo2", "olmo3", "phimoe"), "attention_bias"),
    **dict.fromkeys(("qwen3", "qwen3_moe", "seed_oss", "smollm3"), "attention_bias"),
    "ernie4_5": "use_bias",
    "qwen2_moe": "qkv_bias",
    "stablelm": "use_qkv_bias",
    "starcoder2": "use_bias",
}
"""The field by which a class gives queries, keys and values a bias."""


@dataclass(frozen=True)
class Heads:
    """The heads of a layer, as its file states them; None where that is not known."""

    queries: int | None
    keys: int | None
    size: int
    keys_stated: bool
    """Whether the file has a count of key heads."""


def compare_heads(original: Checkpoint, converted: Checkpoint) -> list[Finding]:
    """Compare the counts of heads, and each file's counts with its own rows."""
    sides = original, converted
    groups, layers = [groups_of(side) for side in sides], [layers_of(side) for side in sides]
    findings: list[Finding] = []
    for number in sorted(groups[0].keys() & groups[1].keys()):
        own = [layer.get(number, {}) for layer in layers]
        said = [stated(side, number) for side in sides]
        wrong: list[Finding] = []
        for side, where, heads, layer in zip(
            sides, ("original", "converted"), said, own, strict=True
        ):
            wrong += _contradicted(side, where, number, heads, layer)
        findings += wrong
        known = {part for found in wrong for part in found.parts}
        findings += _changed(said[0], said[1], number, own, known)
        findings += _without_bias(sides, number, own)
    return merged(findings)


def stated(side: Checkpoint, number: int) -> Heads:
    """Return the heads of a layer, as the reader of a file takes what it says."""
    of_queries, of_keys = _names(side)
    queries = _of_layer(side.own.get(of_queries), number)
    is_stated = side.own.get(of_keys) is not None
    if is_stated and not _is_without(side):
        keys = _of_layer(side.own[of_keys], number)
    else:
        keys = _unstated(side, queries, of_keys in side.own)
    if side.config.type not in OF_CLASSES:
        keys = None
    return Heads(queries, keys, head_size(side, groups_of(side)[number]), is_stated)


def _is_without(side: Checkpoint) -> bool:
    """Return whether the reader of a file reads no count of key heads."""
    return side.config.type in WITHOUT_COUNT and side.form != GGUF


def _unstated(side: Checkpoint, queries: int | None, is_null: bool) -> int | None:
    """Return the key heads that a reader takes where none are stated; None if it is not known."""
    usual = OF_CLASSES.get(side.config.type)
    if side.form in (GGUF, META) or usual == AS_QUERIES:
        return queries
    return None if is_null or side.form != TRANSFORMERS else usual


def _names(side: Checkpoint) -> tuple[str, str]:
    """Return the names of the counts in a file: of queries, and of keys."""
    if side.form == GGUF:
        return "attention.head_count", "attention.head_count_kv"
    if side.form in (MISTRAL, META):
        return "n_heads", "n_kv_heads"
    return "num_attention_heads", "num_key_value_heads"


def _of_layer(value: Any, number: int) -> int | None:
    if isinstance(value, list):
        value = value[number] if number < len(value) else None
    return value if type(value) is int and value >= 0 else None


def _contradicted(
    side: Checkpoint, where: str, number: int, heads: Heads, layer: Layer
) -> Iterator[Finding]:
    """Yield the projections whose rows are not those of as many heads as are stated."""
    if side.config.type not in OF_CLASSES or heads.queries is None or heads.size < 1:
        return
    names = _names(side)
    for part in (QUERY, KEY, VALUE):
        count, name = (heads.queries, names[0]) if part == QUERY else (heads.keys, names[1])
        if part not in layer or count is None:
            continue
        rows, right = layer[part].stored.rows, count * heads.size
        text = f"{name} is {count}"
        if part != QUERY and not heads.keys_stated:
            text = f"{name} is missing, which is read as {count}"
        if any(layer[part].name == layer[other].name for other in layer if other != part):
            if heads.keys is None:
                continue
            right = (heads.queries + 2 * heads.keys) * heads.size
            text = f"{names[0]} is {heads.queries} and {names[1]} {heads.keys}"
        if rows == right or _is_transposed(side, layer, part, right):
            continue
        rest = f"with {heads.size} channels each these are {right:,} rows, and there are {rows:,}"
        yield Finding(
            "heads-contradict-rows", "rows", (part,), f"{where} file: {text}; {rest}", (number,)
        )


def _is_transposed(side: Checkpoint, layer: Layer, part: str, right: int) -> bool:
    stored = layer[part].stored
    return stored.columns == right and stored.rows == side.config.get("hidden_size")


def _changed(
    before: Heads, after: Heads, number: int, layers: list[Layer], known: set[str]
) -> Iterator[Finding]:
    """Yield the counts that differ, unless the file's own rows contradict them already."""
    for part, counts in (
        (QUERY, (before.queries, after.queries)),
        (KEY, (before.keys, after.keys)),
    ):
        if None in counts or counts[0] == counts[1] or part in known:
            continue
        if part == KEY and _is_expanded(before, after, layers):
            continue
        what = "queries" if part == QUERY else "keys"
        text = f"{counts[0]} heads of {what} → {counts[1]}"
        yield Finding("heads", "rows", (part,), text, (number,))


def _is_expanded(before: Heads, after: Heads, layers: list[Layer]) -> bool:
    """Return whether each file has the rows of its own heads: the rows show if they are copies."""
    return before.size == after.size and all(
        KEY in layer and len(layer[KEY].rows) == heads.size * (heads.keys or 0)
        for heads, layer in zip((before, after), layers, strict=True)
    )


def _without_bias(
    sides: tuple[Checkpoint, Checkpoint], number: int, layers: list[Layer]
) -> Iterator[Finding]:
    """Yield a file that promises biases and has none; one that the other file has is compared."""
    if any("bias" in role for layer in layers for role in layer):
        return
    for side, where, layer in zip(sides, ("original", "converted"), layers, strict=True):
        field = BIASED.get(side.config.type)
        if side.form == GGUF or field is None or QUERY not in layer:
            continue
        if side.config.get(field) is True:
            parts = tuple(f"{part} bias" for part in (KEY, QUERY, VALUE))
            text = f"missing in the {where} file, whose {field} is true"
            yield Finding("missing", "rows", parts, text, (number,))
