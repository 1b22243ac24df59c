"""Models without rotation: attention layers without positions among layers without attention.

Based on transformers 5.24.0 (nemotron_h, jamba), and on the configuration and modelling code that
Kimi Linear is released with (kimi_linear), which counts layers from 1.
"""

from collections.abc import Mapping, Sequence

from posenc_conformance.models.configuration import Configuration
from posenc_conformance.models.meaning import Context, Group, Meaning

LETTERS = {"*": True, "M": False, "E": False, "-": False}
"""Whether layers have attention, by their letter in a pattern."""
NAMES = {
    "attention": True,
    "full_attention": True,
    "linear_attention": False,
    "mamba": False,
    "mlp": False,
    "moe": False,
}
"""Whether layers have attention, by their name in a list."""


def nemotron_h(config: Configuration) -> Meaning:
    """Derive the layers of Nemotron-H from its pattern, or from the list of its layers."""
    for field, attends in (
        ("hybrid_override_pattern", LETTERS),
        ("layers_block_type", NAMES),
        ("layer_types", NAMES),
    ):
        if config.get(field) is None:
            continue
        names = config.get(field)
        if attends is NAMES:
            names = config.listed(field)
        elif not isinstance(names, str):
            raise config.wrong(field, f"it is {names!r}", "it must be a text")
        strange = [name for name in names if name not in attends]
        if strange:
            raise config.wrong(field, f"{strange[0]!r} is not known", f"known are {[*attends]}")
        return _of_layers(config, field, [attends[name] for name in names])
    raise config.wrong("hybrid_override_pattern", "it is missing, and so is layers_block_type")


def jamba(config: Configuration) -> Meaning:
    """Derive the layers of Jamba: one in ``attn_layer_period`` has attention."""
    period = 8 if config.get("attn_layer_period") is None else config.whole("attn_layer_period")
    offset = config.get("attn_layer_offset", 4)
    count = config.whole("num_hidden_layers")
    return _of_layers(
        config, "num_hidden_layers", [number % period == offset for number in range(count)]
    )


def kimi_linear(config: Configuration) -> Meaning:
    """Derive the layers of Kimi Linear, whose full-attention layers are not rotated."""
    if config.get("mla_use_nope") is not True:
        raise config.wrong(
            "mla_use_nope", "it is not true; only models that turn nothing are known"
        )
    count = config.whole("num_hidden_layers")
    lists = config.get("linear_attn_config", {})
    parts = [
        lists.get(name) if isinstance(lists, Mapping) else None
        for name in ("full_attn_layers", "kda_layers")
    ]
    full, linear = (
        {item for item in part if isinstance(item, int)} if isinstance(part, list) else set[int]()
        for part in parts
    )
    if full | linear != set(range(1, count + 1)) or full & linear:
        raise config.wrong(
            "linear_attn_config", f"its lists do not name each layer from 1 to {count} once"
        )
    return _of_layers(
        config, "linear_attn_config", [number in full for number in range(1, count + 1)]
    )


def _of_layers(config: Configuration, field: str, attends: Sequence[bool]) -> Meaning:
    """Make the meaning of a model from ``attends``: whether each layer has attention."""
    count = config.get("num_hidden_layers", len(attends))
    if count != len(attends):
        raise config.wrong(
            field, f"it names {len(attends)} layers, but num_hidden_layers is {count}"
        )
    parts = {"without-positions": True, "linear": False}
    groups = tuple(
        Group(id, layers, "nope", attention="full" if attending else "linear")
        for id, attending in parts.items()
        if (layers := tuple(n for n, flag in enumerate(attends) if flag is attending))
    )
    length = config.get("max_position_embeddings")
    return Meaning(
        tuple(sorted(groups, key=lambda group: group.layers)), Context(length, length), None
    )
