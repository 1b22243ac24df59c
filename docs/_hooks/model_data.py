"""Frequencies of released models, for the page that identifies pasted numbers."""

import json
from typing import Any

from posenc_conformance.models.file import Model, load_all
from posenc_conformance.models.layer_frequencies import frequencies, rotated
from posenc_conformance.models.meaning import Group
from posenc_conformance.models.misreadings import longer

ADDRESS = "assets/explorer/models.json"


def content() -> str:
    """Return each progression of frequencies once, with the models that use it, as JSON."""
    progressions: dict[tuple[str, tuple[float, ...]], dict[str, Any]] = {}
    for model in load_all():
        for group in model.meaning.groups:
            if group.turns:
                row = tuple(float(f"{value:.15g}") for value in frequencies(group))
                entry = progressions.setdefault(
                    (group.scheme, row),
                    {
                        "scheme": group.scheme,
                        "rotary_dim": rotated(group),
                        "base": group.parameters["base"],
                        "amplitude": longer(group),
                        "frequencies": row,
                        "models": [],
                    },
                )
                entry["models"].append(_name(model, group))
    return json.dumps(list(progressions.values()), ensure_ascii=False, separators=(",", ":"))


def _name(model: Model, group: Group) -> str:
    several = len(model.meaning.groups) > 1
    return f"{model.title}, {group.id} layers" if several else model.title
