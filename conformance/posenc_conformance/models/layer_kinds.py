"""Layers in a configuration: their kinds, their windows, and the size of their heads."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from posenc_conformance.models.architectures import ROTARY
from posenc_conformance.models.configuration import Configuration, Fields
from posenc_conformance.models.defaults import LAYERS, PATTERNS, USUAL
from posenc_conformance.models.fields import CHANNELS
from posenc_conformance.models.understood import LEFT_OVER

LAYER_KINDS: Mapping[str, str] = {
    "full_attention": "full",
    "sliding_attention": "sliding",
    "chunked_attention": "chunked",
    "linear_attention": "linear",
}
"""Kinds of layers, by their names in configurations. All layers without attention between positions
are linear."""
WITHOUT_POSITIONS = ("linear", "cross")
"""Kinds of layers in which no position of the text attends to another: those without attention, and
those that attend to an image."""
KINDS_BY_NAME: Mapping[str, str] = {
    **LAYER_KINDS,
    "attention": "full",
    "conv": "linear",
    "hybrid": "full",
    "mamba": "linear",
}
"""Kinds of layers, with the names that only some types of models use, or once used."""


def kinds(config: Configuration) -> list[str]:
    """Return the kind of each layer: full, sliding, chunked, linear or cross.

    Raises UserError for kinds that are unknown, or that other fields contradict.
    """
    field = "layer_types" if config.get("layer_types") is not None else "layers_block_type"
    listed, count = _without_mlps(config, config.listed(field))
    implied = _implied(config, count)
    if config.get(field) is None:
        derived = implied or ["full"] * count
        return [*derived[:-1], "full"] if ROTARY[config.type].ends_full else derived
    names = ROTARY[config.type].kind_names or KINDS_BY_NAME
    for name in listed:
        if name not in names:
            raise config.wrong("layer_types", f"{name!r} is not known", f"known are {[*names]}")
    stated = [names[name] for name in listed]
    if len(stated) != count:
        raise config.wrong(
            "layer_types", f"it names {len(stated)} layers, but num_hidden_layers is {count}"
        )
    patterns = (
        "sliding_window_pattern",
        "full_attn_idxs",
        "attn_layer_indices",
        "global_attn_every_n_layers",
    )
    says = [name for name in patterns if config.get(name) is not None]
    if says and implied and implied != stated:
        raise config.wrong(
            says[0], f"it is {config.get(says[0])!r}, but layer_types says something else"
        )
    if "sliding" in stated and _window(config) is None:
        off = config.get("sliding_window") is not None
        why = "use_sliding_window is not true" if off else "sliding_window is null"
        raise config.wrong("layer_types", f"it names sliding layers, but {why}")
    _demand_had(config, stated, implied)
    if ROTARY[config.type].ends_full and stated[-1] != "full":
        raise config.wrong(
            "layer_types", f"its last layer is {stated[-1]}, and that of {config.type} is full"
        )
    if _are_alike(config) and stated != (implied or ["full"] * count):
        raise config.wrong(
            "layer_types",
            f"all layers of {config.type} are alike, and it says something else",
        )
    return stated


def _without_mlps(config: Configuration, listed: list[Any]) -> tuple[list[Any], int]:
    """Return the kinds and the number of layers, whether or not their MLPs are listed as layers."""
    count = config.whole("num_hidden_layers")
    if ROTARY[config.type].mlps_listed and listed[1::2] and set(listed[1::2]) == {"mlp"}:
        return listed[::2], count // 2
    return listed, count


def _demand_had(
    config: Configuration, stated: Sequence[str], implied: Sequence[str] | None
) -> None:
    """Raise UserError for kinds of layers that no model of this type has."""
    style = ROTARY[config.type]
    linear = style.linear
    if linear is None:
        linear = "linear" in (implied or ()) or (style.layers == "listed" and not style.blocks)
    permitted = {"linear": linear, "chunked": style.layers == "chunked"}
    for kind in dict.fromkeys(stated):
        if not permitted.get(kind, True):
            raise config.wrong("layer_types", f"{config.type} has no layers that are {kind}")


def _are_alike(config: Configuration) -> bool:
    """Return whether all layers of this type of model are of one kind."""
    style = ROTARY[config.type]
    return style.layers == "pattern" and style.pattern is None


def _implied(config: Configuration, count: int) -> list[str] | None:
    """Derive the kinds of layers from other fields of the configuration, and from its type.

    Returns None if these do not decide them.
    """
    return RULES[ROTARY[config.type].layers](config, count)


def _by_pattern(config: Configuration, count: int) -> list[str] | None:
    """Make one layer of each pattern full, and the others sliding, if there is a window."""
    style = ROTARY[config.type]
    every = _every(config)
    kept = config.get(LEFT_OVER, every)
    if kept != every and not _are_listed(config):
        raise config.wrong(
            LEFT_OVER,
            f"it is {kept!r}, but nobody reads it in {config.type}, where one of {every} is full",
            "write sliding_window_pattern or layer_types, if that is what is meant",
        )
    if _window(config) is None:
        if style.pattern and not _are_listed(config):
            raise config.wrong(
                "sliding_window",
                f"it is null, but all layers of {config.type} slide except one of {every}",
                "write the window, or layer_types that are full",
            )
        return None
    if config.get("sliding_window_pattern") == 0:
        raise config.wrong("sliding_window_pattern", "it is 0, although there is a window")
    if every is None:
        return ["sliding"] * count
    if isinstance(every, str):  # L for local, G for global; the last layer is global
        letters = [every[number % len(every)] for number in range(count - 1)] + ["G"]
        return ["full" if letter == "G" else "sliding" for letter in letters]
    return ["sliding" if (number + style.offset) % every else "full" for number in range(count)]


def _every(config: Configuration) -> int | str | None:
    """Return the number of layers of which one is full, or the pattern as a text."""
    style = ROTARY[config.type]
    field = next((name for name in PATTERNS if name in style.reads.split()), "")
    if field and style.pattern and not _are_listed(config):
        every: int | str = config.usual(field, style.pattern)
    else:
        every = config.get(field, style.pattern)
    return every


def _are_listed(config: Configuration) -> bool:
    """Return whether the configuration names the kind of each layer."""
    return any(config.get(name) is not None for name in LAYERS)


def _backwards(config: Configuration, count: int) -> list[str]:
    """Make the last layer of each pattern full, counted from the end, and the others sliding."""
    every = ROTARY[config.type].pattern or 1
    return ["sliding" if (count - 1 - number) % every else "full" for number in range(count)]


def _by_switch(config: Configuration, count: int) -> list[str] | None:
    """Make later layers sliding if a switch is on; or all but every n-th layer linear."""
    every = _every(config)
    if isinstance(every, int):
        return ["linear" if (number + 1) % every else "full" for number in range(count)]
    return _late(config, count) if config.get("use_sliding_window") else None


def _by_no_switch(config: Configuration, count: int) -> list[str]:
    """Make all layers full.

    Raises UserError if a switch requests sliding layers, which releases of transformers do not
    agree on.
    """
    if config.get("use_sliding_window") and config.get("sliding_window") is not None:
        raise config.wrong(
            "use_sliding_window",
            f"it is true, and which layers of {config.type} slide then is not specified yet",
        )
    return ["full"] * count


def _late(config: Configuration, count: int) -> list[str] | None:
    """Make later layers sliding, if there is a window."""
    if _window(config) is None:
        return None
    first = config.usual("max_window_layers", ROTARY[config.type].defaults["max_window_layers"])
    return ["sliding" if number >= first else "full" for number in range(count)]


def _chunked(config: Configuration, count: int) -> list[str]:
    """Make rotated layers chunked, if there is a chunk size."""
    chunked = config.get("attention_chunk_size") is not None
    return ["chunked" if turned and chunked else "full" for turned in rotated(config, count)]


def _unturned(config: Configuration, count: int) -> list[str]:
    """Make unrotated layers sliding, if a switch is on."""
    sliding = config.get("use_sliding_window") and _window(config) is not None
    return ["full" if turned or not sliding else "sliding" for turned in rotated(config, count)]


def _alternating(config: Configuration, count: int) -> list[str]:
    """Make every other layer linear."""
    return ["linear" if number % 2 else "full" for number in range(count)]


def _crossed(config: Configuration, count: int) -> list[str]:
    """Make some layers attend to an image instead of the text."""
    crossed = config.listed("cross_attention_layers")
    return ["cross" if number in crossed else "full" for number in range(count)]


def _listed(config: Configuration, count: int) -> list[str] | None:
    """Make listed layers full, and the others linear; without a list, as the class does."""
    attending = config.listed("full_attn_idxs") or config.listed("attn_layer_indices")
    if attending:
        return ["full" if number in attending else "linear" for number in range(count)]
    return None if _are_listed(config) else _unlisted(config, count)


def _unlisted(config: Configuration, count: int) -> list[str]:
    """Return the kinds of layers that the class of the type takes if nothing lists them.

    Raises UserError if it has none of its own, or if none of the layers is full in it.
    """
    first, cycle, last = (names.split() for names in ROTARY[config.type].unlisted)
    many = [*first, *(cycle * count)][:count]
    many[-1:] = last or many[-1:]
    if "full" not in many:
        raise config.wrong("layer_types", "it is missing", f"write it for each of {count} layers")
    return many


RULES: Mapping[str, Callable[[Configuration, int], list[str] | None]] = {
    "alternating": _alternating,
    "backwards": _backwards,
    "chunked": _chunked,
    "crossed": _crossed,
    "late": _late,
    "listed": _listed,
    "pattern": _by_pattern,
    "switched": _by_switch,
    "unswitched": _by_no_switch,
    "unturned": _unturned,
    "windowed": _by_pattern,
}
"""Functions that derive the kinds of layers from a configuration, by the name of the rule."""


def window(config: Configuration, kind: str) -> int | None:
    """Return the window of layers of this kind, in positions; None if a query sees all."""
    return {
        "sliding": _window(config),
        "chunked": config.get("attention_chunk_size"),
    }.get(kind)


def is_two_sided(config: Configuration) -> bool:
    """Return whether a query of a sliding layer sees keys before and after it.

    Raises UserError for an unknown value of the field.
    """
    value = config.get("use_bidirectional_attention")
    if value not in (None, False, True, "vision"):
        raise config.wrong(
            "use_bidirectional_attention", f"{value!r} is not known here", "known is 'vision'"
        )
    return ROTARY[config.type].two_sided or value is True


def _is_switched(config: Configuration) -> bool:
    return ROTARY[config.type].layers in ("switched", "unswitched")


def _window(config: Configuration) -> int | None:
    usual = ROTARY[config.type].local_attention
    if usual is not None:
        size = config.usual("local_attention", usual) // 2
        if config.get("sliding_window", size) != size:
            raise config.wrong("sliding_window", f"it is not {size}, half of local_attention")
    elif _is_switched(config) and not config.get("use_sliding_window"):
        return None
    else:
        size = config.get("sliding_window")
        if size == 0:
            raise config.wrong(
                "sliding_window", "it is 0", "a query sees at least its own position"
            )
        if size is not None and is_two_sided(config) and not ROTARY[config.type].two_sided:
            size //= 2
    return None if size is None else int(size)


def bases(config: Configuration, names: Sequence[str]) -> list[Any]:
    """Return the base that is stated for each layer; 0 for no rotation, None for the usual base.

    Raises UserError if the list has not one entry for each layer.
    """
    style, field = ROTARY[config.type], "layer_rope_theta"
    stated = config.listed(field)
    if style.base_of_layers == "switch":
        stated = stated or [0 if n == "full" else None for n in _backwards(config, len(names))]
    stated = stated or [None for _ in names]
    if len(stated) != len(names):
        raise config.wrong(field, f"it names {len(stated)} layers, and there are {len(names)}")
    return stated


def rotated(config: Configuration, count: int) -> list[bool]:
    """Return whether each layer is rotated, for a model that leaves some layers unrotated.

    Raises UserError for fields that contradict each other or the number of layers.
    """
    flags = config.get("no_rope_layers") or None
    field = "no_rope_layer_interval"
    every = config.get(field) if flags else config.usual(field, USUAL[field])
    implied = [bool((number + 1) % every) for number in range(count)] if every else []
    if flags is None:
        return implied
    if len(flags) != count or set(flags) - {0, 1}:
        raise config.wrong(
            "no_rope_layers",
            f"it has {len(flags)} entries of {sorted(set(flags))} for {count} layers",
            "write 1 for each layer that is rotated, and 0 for each that is not",
        )
    stated = [bool(flag) for flag in flags]
    if every and stated != implied:
        raise config.wrong(field, f"it is {every}, but no_rope_layers says something else")
    return stated


OF_A_LAYER = ("head_dim", "sliding_window")
"""Fields about positions that may differ in single layers."""
UNRELATED = ("intermediate_size", "num_key_value_heads", "num_local_experts", "num_experts")
"""Fields that may differ in single layers, and do not affect positions."""


def of_kind(config: Configuration, kind: str, layers: Sequence[int]) -> Configuration:
    """Return the configuration of the layers of one kind.

    Raises UserError if they differ, or override a field that is not understood.
    """
    own = _of_layers(config)
    parts = {number: own.get(number, {}) for number in layers}
    first = parts[layers[0]]
    for number, part in parts.items():
        if part != first:
            raise config.wrong(
                "per_layer_config",
                f"layers {layers[0]} and {number} are both {kind}, but differ",
                "nothing is known of a model whose layers of one kind differ",
            )
    named = config.get("global_head_dim") is not None
    default = None if "per_layer_config" in config.fields else ROTARY[config.type].global_dim
    if kind == "full" and (named or default is not None):
        size = (
            config.whole("global_head_dim") if named else config.usual("global_head_dim", default)
        )
        if first.get("head_dim", size) != size:
            raise config.wrong(
                "per_layer_config",
                f"head_dim is {first['head_dim']} in layer {layers[0]}, "
                f"but global_head_dim is {size}",
            )
        first = {**first, "head_dim": size}
    return replace(config, fields={**config.fields, **first}) if first else config


def _of_layers(config: Configuration) -> dict[int, Fields]:
    """Return the fields about positions that single layers override.

    Raises UserError for a layer that does not exist, and for a field that is not understood.
    """
    entries = config.get("per_layer_config", {})
    if not isinstance(entries, Mapping):
        raise config.wrong("per_layer_config", "it is no object with an entry for each layer")
    count = config.whole("num_hidden_layers")
    overrides: dict[int, Fields] = {}
    for name, part in entries.items():
        field = f"per_layer_config.{name}"
        if not str(name).isdecimal() or int(name) >= count or not isinstance(part, Mapping):
            raise config.wrong(field, f"it is no layer of {count} with fields of its own")
        for inner in part:
            if inner not in (*OF_A_LAYER, *UNRELATED):
                raise config.wrong(
                    f"{field}.{inner}",
                    "it is not known what it means for one layer alone",
                    f"known are {', '.join((*OF_A_LAYER, *UNRELATED))}",
                )
        overrides[int(name)] = {inner: part[inner] for inner in OF_A_LAYER if inner in part}
    return overrides


def head_dim(config: Configuration) -> int:
    """Return the number of channels of a head that the rotation receives, rotated or not."""
    if ROTARY[config.type].latent:
        config.usual("qk_rope_head_dim", ROTARY[config.type].defaults["qk_rope_head_dim"])
        size = config.whole("qk_rope_head_dim")
        if config.get("head_dim", size) != size and not ROTARY[config.type].heads_apart:
            raise config.wrong(
                "head_dim", f"it is {config.get('head_dim')}, but qk_rope_head_dim is {size}"
            )
        return size
    if ROTARY[config.type].divides and config.get("head_dim") is not None:
        if config.get("head_dim") != divided(config):
            raise config.wrong(
                "head_dim",
                f"it is {config.get('head_dim')}, but heads of {config.type} always have "
                f"hidden_size / num_attention_heads = {divided(config)} channels",
            )
        return divided(config)
    if config.get("head_dim") is not None:
        return config.whole("head_dim")
    usual = ROTARY[config.type].head_dim
    if usual is not None and "head_dim" in config.fields and divided(config) != usual:
        raise config.wrong(
            "head_dim", f"it is null, which may stand for {usual} or for {divided(config)} channels"
        )
    if usual is not None:
        return usual
    return divided(config)


def divided(config: Configuration) -> int:
    """Compute the channels of a head from the hidden size.

    Raises UserError if the number of heads does not divide it, or a head has too many channels.
    """
    hidden, heads = config.whole("hidden_size"), config.whole("num_attention_heads")
    if hidden % heads:
        raise config.wrong(
            "hidden_size", f"{hidden} is not divisible by {heads} heads, and head_dim is missing"
        )
    if hidden // heads > CHANNELS:
        raise config.wrong(
            "hidden_size",
            f"{hidden} divided by {heads} heads are {hidden // heads} channels of each",
            f"a head has at most {CHANNELS:,}",
        )
    return hidden // heads
