"""Frequencies of released models, for the page that identifies pasted numbers."""

import json
from typing import Any

from posenc_conformance.models.file import Model, load_all
from posenc_conformance.models.layer_frequencies import rotated, turning
from posenc_conformance.models.meaning import Group, scheme_of
from posenc_conformance.models.misreadings import longer

ADDRESS = "assets/explorer/models.json"


def content() -> str:
    """Return each progression of frequencies once, with the models that use it, as JSON."""
    progressions: dict[tuple[str, tuple[float, ...]], dict[str, Any]] = {}
    for model in load_all():
        for group in model.meaning.groups:
            for words, omega, _ in turning(group) if group.turns else ():
                row = tuple(float(f"{value:.15g}") for value in omega)
                entry = progressions.setdefault(
                    (group.scheme, row),
                    {
                        "scheme": group.scheme,
                        "title": scheme_of(group).title,
                        "rotary_dim": rotated(group),
                        "base": group.parameters["base"],
                        "words": _parameters(group),
                        "amplitude": longer(group),
                        "frequencies": row,
                        "models": [],
                    },
                )
                entry["models"].append(_name(model, group, words))
    return json.dumps(list(progressions.values()), ensure_ascii=False, separators=(",", ":"))


NOT_SHOWN = ("base", "head_dim", "rotary_dim")
"""Parameters that a progression of frequencies says by itself, or in other words."""


def _parameters(group: Group) -> str:
    return "".join(
        f", {name} {value:,}"
        for name, value in group.parameters.items()
        if name not in NOT_SHOWN and isinstance(value, int | float)
    )


def _name(model: Model, group: Group, texts: str) -> str:
    several = len(model.meaning.groups) > 1
    layers = f", {group.id} layers" if several else ""
    return f"{model.title}{layers}{f' {texts}' if texts else ''}"
