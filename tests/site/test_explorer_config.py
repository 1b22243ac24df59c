"""What the page says of a pasted config.json agrees with ``posenc model``, or it says nothing."""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from posenc_conformance.models.file import load_all
from posenc_conformance.models.meaning import Meaning, written
from posenc_lab.models.spellings import changed, read, spelled
from tests.site.explorer import EXPLORER, MODULES, NODE, told

SCRIPT = Path(__file__).with_name("explorer_config.mjs")
pytestmark = pytest.mark.remembered(
    shipped=True, also=(*EXPLORER, "tests/site/explorer_config.mjs", "lab/posenc_lab/models")
)

MODELS = load_all()
Fields = Mapping[str, Any]


@pytest.fixture(scope="session")
def known() -> Any:
    return told("config_data")


def asked(known: Any, configs: Sequence[Fields]) -> list[Any]:
    question = json.dumps({"modules": str(MODULES), "known": known, "configs": configs})
    done = subprocess.run([NODE, SCRIPT], input=question, capture_output=True, text=True, check=True)
    answers: list[Any] = json.loads(done.stdout)
    return answers


@dataclass(frozen=True)
class Layers:
    """What both say of a group of layers."""

    layers: str
    scheme: str
    attention: str
    window: int | None
    numbers: tuple[tuple[str, float], ...]


SAID = ("head_dim", "base", "factor", "low_freq_factor", "high_freq_factor")
LENGTH = "original_max_position_embeddings"


def _numbers(parameters: Fields) -> tuple[tuple[str, float], ...]:
    return tuple((name, parameters[name]) for name in (*SAID, LENGTH) if name in parameters)


def expected(meant: Meaning) -> list[Layers]:
    return [
        Layers(
            written(group.layers),
            group.scheme,
            group.attention,
            group.window,
            _numbers(group.parameters),
        )
        for group in meant.groups
    ]


def of_page(answer: Any) -> list[Layers]:
    return [
        Layers(
            group["layers"],
            group["scheme"],
            group["attention"],
            group["window"],
            _numbers(group["parameters"]),
        )
        for group in answer["groups"]
    ]


def spellings(fields: Fields) -> Iterator[tuple[str, Fields]]:
    yield "as released", fields
    yield from spelled(fields)


def test_every_model_is_read_in_every_spelling(known: Any) -> None:
    cases = [
        (model, name, fields)
        for model in MODELS
        for name, fields in spellings(model.config)
        if read(fields) == model.meaning
    ]
    answers = asked(known, [fields for _, _, fields in cases])
    wrong = [
        (model.id, name, answer["why"])
        for (model, name, _), answer in zip(cases, answers, strict=True)
        if of_page(answer) != expected(model.meaning) or model.title not in answer["models"]
    ]
    assert len(cases) > 5 * len(MODELS)
    assert not wrong
