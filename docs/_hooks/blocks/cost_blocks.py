"""Memory that positions cost in released models, computed from their configurations."""

from collections.abc import Callable, Iterator

from markup import code, table
from posenc_conformance.models.file import Model, load_all
from posenc_conformance.models.layer_frequencies import rotated
from posenc_conformance.models.meaning import Group

KIB, MIB, GIB = 2**10, 2**20, 2**30
FLOAT32, BFLOAT16 = 4, 2
BIAS_LENGTH = 8192
HEADS = ("num_attention_heads", "n_head", "num_heads")
UNLIKE = ("qk_rope_head_dim", "global_head_dim")
"""Fields of configurations whose KV cache depends on more than the number of key heads."""


def rotary() -> str:
    """Tabulate the sizes of frequencies, cos/sin tables and KV caches for models with RoPE."""
    rows = []
    for model in load_all():
        length = model.meaning.context.extended
        groups = [group for group in model.meaning.groups if group.turns]
        if length is None or not groups:
            continue
        kinds = list(dict.fromkeys(_progression(group) for group in groups))
        cache = cache_bytes(model, length)
        rows.append(
            [
                _link(model),
                f"{length:,}",
                size(sum(width // 2 * FLOAT32 for width, _ in kinds)),
                size(sum(table_bytes(width, length) for width, _ in kinds)),
                size(cache) if cache is not None else "",
            ]
        )
    head = ["model", "context", "frequencies", "cosines and sines", "keys and values"]
    return table(head, rows)


def _progression(group: Group) -> tuple[int, str]:
    """Return the key of a table: its rotated channels and all that its frequencies depend on."""
    return rotated(group), f"{group.scheme} {sorted(group.parameters.items(), key=str)}"


def table_bytes(width: int, length: int) -> int:
    """Count the bytes of cosines and sines for every rotated channel and position, in float32."""
    return 2 * width * length * FLOAT32


def cache_bytes(model: Model, length: int) -> int | None:
    """Count the bytes of the KV cache for a text of ``length`` tokens in bfloat16.

    Returns None if the configuration does not determine their number.
    """
    config = model.config
    heads = _heads(model)
    if heads is None or any(name in config for name in UNLIKE):
        return None
    key_heads = config.get("num_key_value_heads", heads)
    total = 0
    for group in model.meaning.groups:
        if not group.turns or group.attention == "two-sided":
            return None
        cached = min(length, group.window or length)
        head_dim = int(group.parameters["head_dim"])
        total += 2 * len(group.layers) * key_heads * head_dim * cached * BFLOAT16
    return total


def biases() -> str:
    """Tabulate the sizes of a layer's bias: written out, by distance, and as stored."""
    rows = []
    for model, group in _groups("alibi", "t5-bias"):
        heads = int(group.parameters["heads"])
        stored = heads * int(group.parameters.get("num_buckets", 1)) * FLOAT32
        rows.append(
            [
                _link(model),
                group.id,
                group.scheme,
                str(heads),
                size(heads * BIAS_LENGTH**2 * FLOAT32),
                size(heads * 2 * BIAS_LENGTH * FLOAT32),
                size(stored),
            ]
        )
    head = [
        *("model", "layers", "scheme", "heads", f"written out, {BIAS_LENGTH:,} tokens, float32"),
        *("by distance", "stored"),
    ]
    return table(head, rows)


def learned() -> str:
    """Tabulate the sizes of learned position tables."""
    rows = []
    for model, group in _groups("learned"):
        count, dim = int(group.parameters["rows"]), int(group.parameters["dim"])
        rows.append([_link(model), f"{count:,}", str(dim), size(count * dim * FLOAT32)])
    return table(["model", "rows", "width", "size"], rows)


def _groups(*schemes: str) -> Iterator[tuple[Model, Group]]:
    for model in load_all():
        for group in model.meaning.groups:
            if group.scheme in schemes:
                yield model, group


def _heads(model: Model) -> int | None:
    return next((int(model.config[name]) for name in HEADS if name in model.config), None)


def _link(model: Model) -> str:
    return f'<a href="../models/#{model.id}">{code(model.id)}</a>'


def size(count: float) -> str:
    """Write a number of bytes with a readable unit."""
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if count >= unit:
            return (
                f"{count / unit:,.3g} {name}"
                if count < 1000 * unit
                else f"{count / unit:,.0f} {name}"
            )
    return f"{count:.0f} bytes"


BLOCKS: dict[str, Callable[[], str]] = {
    "table:bias-costs": biases,
    "table:learned-costs": learned,
    "table:rotary-costs": rotary,
}
