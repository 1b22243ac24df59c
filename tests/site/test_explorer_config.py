"""What the page says of a pasted config.json agrees with ``posenc model``, or it says nothing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from posenc_conformance.models.architectures import ROTARY
from posenc_conformance.models.file import load_all
from posenc_conformance.models.meaning import Meaning, written
from posenc_lab.models.spellings import changed, read, spelled
from tests.site.explorer import EXPLORER, asked, told

pytestmark = pytest.mark.remembered(shipped=True, also=EXPLORER)

MODELS = load_all()
Fields = Mapping[str, Any]


@pytest.fixture(scope="session")
def known() -> Any:
    return told("config_data")


def answers(known: Any, configs: Sequence[Fields]) -> list[Any]:
    return asked("explorer_config.mjs", known=known, configs=configs)


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


def spellings(fields: Fields) -> Iterator[Fields]:
    yield fields
    yield from (other for _, other in spelled(dict(fields)))


def wrong(known: Any, cases: Sequence[Fields]) -> list[tuple[Fields, Any]]:
    """Return configurations of which the page says something else than the kit, or more."""
    result = []
    for fields, answer in zip(cases, answers(known, cases), strict=True):
        if answer["groups"]:
            meant = read(dict(fields))
            if meant is None or of_page(answer) != expected(meant):
                result.append((fields, answer))
    return result


def test_every_model_is_read_in_every_spelling(known: Any) -> None:
    cases = [
        (model, fields)
        for model in MODELS
        for fields in spellings(model.config)
        if read(dict(fields)) == model.meaning
    ]
    said = answers(known, [fields for _, fields in cases])
    unread = [
        (model.id, fields, answer["why"])
        for (model, fields), answer in zip(cases, said, strict=True)
        if of_page(answer) != expected(model.meaning) or model.title not in answer["models"]
    ]
    assert len(cases) > 5 * len(MODELS)
    assert not unread


def test_without_the_models_simple_types_are_read_alike(known: Any) -> None:
    cases = [fields for model in MODELS for fields in spellings(model.config)]
    alone = {**known, "models": []}
    assert sum(bool(answer["groups"]) for answer in answers(alone, cases)) > len(cases) / 3
    assert not wrong(alone, cases)


CHANGED = [fields for type in ROTARY for _, fields in changed(type)]
"""Configurations of every type with optional fields, many of which the kit refuses."""


def test_what_is_answered_of_other_configurations_is_what_the_kit_says(known: Any) -> None:
    assert sum(bool(answer["groups"]) for answer in answers(known, CHANGED)) > 200
    assert not wrong(known, CHANGED)


WRONG_PAGES: Mapping[str, Fields] = {
    "every type is simple": {"simple": True, "blocks": False},
    "the base of another type": {"base": 12345},
    "heads of another size": {"head": 72},
    "a window by default": {"window": 77, "windowed": True},
}


@pytest.mark.parametrize("name", WRONG_PAGES)
def test_wrong_pages_are_caught(name: str, known: Any) -> None:
    types = {type: {**style, **WRONG_PAGES[name]} for type, style in known["types"].items()}
    assert wrong({**known, "types": types}, CHANGED)


def test_a_difference_from_a_released_model_is_named(known: Any) -> None:
    llama = next(model for model in MODELS if model.id == "llama-3.1-8b").config
    (answer,) = answers(known, [{**llama, "rope_theta": 70000.0}])
    assert answer["models"] == []
    assert answer["near"]["differs"] == ["rope"]
    assert answer["groups"][0]["parameters"]["base"] == 70000
