"""``posenc model --json``: what a model's configuration means, as one JSON object."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from posenc_conformance.commands.costs_of_mistakes import costs
from posenc_conformance.commands.defaults_taken import taken
from posenc_conformance.door import named
from posenc_conformance.models.configuration import Configuration, read_configuration
from posenc_conformance.models.cost import POSITIONS
from posenc_conformance.models.derive import meaning
from posenc_conformance.models.file import NOT_UNDERSTOOD, model_named
from posenc_conformance.models.layer_frequencies import turning
from posenc_conformance.models.meaning import Group, Meaning

FORMAT = 1
"""Version of the object; it rises when a field is renamed or removed."""

Object = dict[str, Any]


def as_json(name: str) -> str:
    """Return what a model of the spec, or of a file, computes, and what mistakes cost, as JSON.

    Raises UserError if there is no such model, or its configuration contradicts itself.
    """
    path = Path(name)
    if path.suffix in (".json", ".gguf") or os.path.exists(path):
        with named(path, NOT_UNDERSTOOD, "is not understood"):
            config = read_configuration(path)
            return _written(name, config, meaning(config))
    model = model_named(name)
    return _written(model.id, model.configuration, model.meaning)


def _written(name: str, config: Configuration, found: Meaning) -> str:
    whole: Object = {
        "posenc_model": FORMAT,
        "name": name,
        "type": config.type,
        "format": config.format,
        "taken": [
            {**vars(default), "others": dict(default.others)} for default in taken(config, found)
        ],
        "parts": [vars(part) for part in config.parts],
        "context": vars(found.context),
        "layout": found.layout,
        "groups": [_group(group) for group in found.groups],
        "costs": [*_costs(found, config)],
    }
    return json.dumps(whole, indent=2, ensure_ascii=False)


def _group(group: Group) -> Object:
    fields = {**vars(group), "layers": list(group.layers), "options": dict(group.options)}
    fields["parameters"] = dict(group.parameters)
    if group.temperature is not None:
        fields["temperature"] = vars(group.temperature)
    if group.turns:
        fields["rotation"] = [
            {"texts": words, "frequencies": omega.tolist(), "attention_factor": longer}
            for words, omega, longer in turning(group)
        ]
    return fields


def _costs(found: Meaning, config: Configuration) -> Iterator[Object]:
    for mistake, group, effects in costs(found, config):
        yield {
            "mistake": mistake,
            "group": group,
            "at": [
                {"position": position, **vars(effect)}
                for position, effect in zip(POSITIONS, effects, strict=True)
            ],
        }
