"""Configurations of released models, for the page that reads a pasted config.json."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from posenc_conformance.errors import UserError
from posenc_conformance.models.architectures import ROTARY
from posenc_conformance.models.configuration import configuration
from posenc_conformance.models.derive import meaning
from posenc_conformance.models.file import Model, load_all
from posenc_conformance.models.layer_frequencies import rotated
from posenc_conformance.models.meaning import Group, scheme_of, written
from posenc_conformance.models.parts import TEXT
from posenc_conformance.models.types.names import NAMES, usual_name
from posenc_conformance.models.types.others import TEXTS
from posenc_conformance.models.types.rotary import Rotary
from posenc_conformance.models.understood import ABOUT_POSITIONS, IGNORED, SWITCHES

ADDRESS = "assets/explorer/configs.json"
SIZES = ("model_type", "hidden_size", "num_hidden_layers", "num_attention_heads", "head_dim")
NOT_ABOUT_POSITIONS = ("num_key_value_heads",)
SWITCHED = ("switched", "unswitched")
WINDOWED = ("", "sliding_window", "sliding_window use_sliding_window max_window_layers use_mrope")
"""What types read beside rotation if the page may say which layers have a window."""


def content() -> str:
    """Return what the page needs to read a configuration, as JSON."""
    models = load_all()
    data = {
        "about": ABOUT_POSITIONS.pattern,
        "ignored": [*IGNORED],
        "switches": sorted(SWITCHES),
        "names": {other: usual for usual, others in NAMES.items() for other in others},
        "sizes": SIZES,
        "more": {type: sorted(names) for type, names in _own_sizes(models).items()},
        "parts": TEXT,
        "texts": TEXTS,
        "types": {name: _style(style) for name, style in ROTARY.items()},
        "bases": sorted(
            {g.parameters["base"] for m in models for g in m.meaning.groups if g.turns}
        ),
        "models": [_model(model) for model in models],
    }
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def _own_sizes(models: Iterable[Model]) -> dict[str, set[str]]:
    """Return the fields beside those about positions that are read in models of each type."""
    own: dict[str, set[str]] = {}
    for model in models:
        names = {usual_name(name) for name in model.config if not ABOUT_POSITIONS.search(name)}
        own.setdefault(model.configuration.type, set()).update(
            names - {*SIZES, *NOT_ABOUT_POSITIONS}
        )
    return {type: names for type, names in own.items() if names}


def _style(style: Rotary) -> dict[str, Any]:
    return {
        "base": style.base,
        "local": style.local_base,
        "fields": style.base_fields,
        "blocks": style.blocks,
        "scaled": style.scaled,
        "head": style.head_dim,
        "defaults": _defaults(style),
        "window": style.defaults.get("sliding_window"),
        "simple": _is_simple(style),
        "switched": style.layers in SWITCHED,
        "windowed": style.reads == "sliding_window",
    }


def _defaults(style: Rotary) -> dict[str, Any]:
    """Return what a type takes for fields that a file leaves out."""
    found = {**style.defaults, "head_dim": style.head_dim, "sliding_window_pattern": style.pattern}
    return {
        name: value
        for name, value in found.items()
        if isinstance(value, int | float | str) and not isinstance(value, bool)
    }


def _is_simple(style: Rotary) -> bool:
    """Return whether the base, the heads, one block and a window say all about a type."""
    plain = Rotary(
        layout=style.layout,
        base=style.base,
        head_dim=style.head_dim,
        layers=style.layers,
        reads=style.reads,
        defaults=style.defaults,
    )
    windows = style.layers in (*SWITCHED, "pattern")
    return style == plain and windows and style.reads in WINDOWED and style.base is not None


def _model(model: Model) -> dict[str, Any]:
    groups = model.meaning.groups
    return {
        "title": model.title,
        "config": {n: v for n, v in model.config.items() if n not in NOT_ABOUT_POSITIONS},
        "also": dict(_harmless(model)),
        "context": model.meaning.context.extended,
        "groups": [_group(group) for group in groups],
    }


def _harmless(model: Model) -> Iterator[tuple[str, Any]]:
    """Yield fields that other files of the model have, and that do not change its meaning."""
    config = dict(model.config)
    for name, value in _candidates(model):
        more = {**config, name: value}
        try:
            same = name not in config and meaning(configuration(more, "")) == model.meaning
        except UserError:
            same = False
        if same:
            config = more
            yield name, value


def _candidates(model: Model) -> Iterator[tuple[str, Any]]:
    groups = model.meaning.groups
    sizes = {group.parameters.get("head_dim") for group in groups if group.turns}
    if len(sizes) == 1:
        yield "head_dim", sizes.pop()
    yield "head_dim", None
    yield "partial_rotary_factor", 1.0
    yield "sliding_window", None
    yield "use_sliding_window", False
    yield "rope_interleaved", False
    kinds = {layer: f"{group.attention}_attention" for group in groups for layer in group.layers}
    yield "layer_types", [kinds[layer] for layer in sorted(kinds)]


def _group(group: Group) -> dict[str, Any]:
    parameters = {
        name: value
        for name, value in group.parameters.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    return {
        "id": group.id,
        "layers": written(group.layers),
        "scheme": group.scheme,
        "title": scheme_of(group).title,
        "attention": group.attention,
        "window": group.window,
        "parameters": parameters,
        "rotated": rotated(group) if group.turns else None,
    }
