"""Spellings of a configuration: each has one meaning, or is refused with the decisive field."""

from typing import Any

import pytest

from posenc_conformance.errors import UserError
from posenc_conformance.models.architectures import ROTARY
from posenc_conformance.models.configuration import configuration
from posenc_conformance.models.derive import meaning
from posenc_conformance.models.meaning import Meaning
from posenc_lab.models.configurations import ELSEWHERE, TYPES, Fields, small
from posenc_lab.models.spellings import changed, read, spelled, tally


def derived(fields: Fields) -> Meaning:
    return meaning(configuration(fields, "config.json"))


def refused(fields: Fields) -> str:
    with pytest.raises(UserError) as caught:
        derived(fields)
    return f"{caught.value}"


every_type = pytest.mark.parametrize("type", TYPES)


@every_type
def test_every_spelling_means_the_same(type: str) -> None:
    for name, fields in [("least", small(type)), *changed(type)]:
        expected = read(fields)
        for spelling, other in spelled(fields) if expected is not None else ():
            if spelling == "type for rope_type" and ROTARY[type].blocks:
                assert ".type: " in refused(other)
            else:
                assert derived(other) == expected, (name, spelling)


@every_type
def test_a_number_in_quotes_is_refused_or_not_read(type: str) -> None:
    for _, fields in [("least", small(type)), *changed(type)]:
        expected = read(fields)
        for name, other in quoted(fields) if expected is not None else ():
            result = read(other)
            assert result is None or result == expected, name
            if result is None:
                assert f"{name}: " in refused(other)


def quoted(fields: Fields) -> list[tuple[str, Fields]]:
    """Return configurations with one number in quotes each, and the name of that number."""
    blocks: dict[str, Any] = {n: part for n, part in fields.items() if isinstance(part, dict)}
    inner = [
        (f"{block}.{name}", {**fields, block: {**part, name: f"{value}"}})
        for block, part in blocks.items()
        for name, value in part.items()
        if type(value) in (int, float)
    ]
    outer = [
        (name, {**fields, name: f"{value}"})
        for name, value in fields.items()
        if type(value) in (int, float)
    ]
    return outer + inner


NOTHING = (
    "a window, switched off",
    "a window, switched on from the layer on that is usual",
    "heads that are not given",
    "layers one by one, all full",
    "no window",
)
"""Changes that have no effect in types that read the fields."""


@pytest.mark.slow
def test_fields_that_are_read_have_an_effect() -> None:
    """Each other change alters the meaning of some type that reads it."""
    names = {name for type in TYPES for name, _ in changed(type)}
    for name in names - set(NOTHING):
        assert [
            type
            for type in TYPES
            for other, fields in changed(type)
            if other == name and read(fields) not in (None, derived(small(type)))
        ], name


# Fields that the code of a type does not read, or reads differently from their name.


@pytest.mark.parametrize(
    ("type", "field", "changes"),
    [
        ("gpt_neox", "rope_theta", {"rope_theta": 12345.0}),
        ("gpt_neox", "partial_rotary_factor", {"partial_rotary_factor": 0.5}),
        ("gpt_neox", "head_dim", {"head_dim": 96}),
        ("modernbert", "rope_theta", {"rope_theta": 12345.0}),
        ("olmo3", "rope_theta", {"rope_theta": 12345.0}),
        ("laguna", "partial_rotary_factor", {"partial_rotary_factor": 0.5}),
        ("bamba", "partial_rotary_factor", {"partial_rotary_factor": 0.75}),
        ("deepseek_v3", "head_dim", {"head_dim": 128}),
        ("mistral", "layer_types", {"layer_types": ["full_attention", "sliding_attention"] * 4}),
        ("llama", "layer_types", {"layer_types": ["linear_attention", "full_attention"] * 4}),
        ("gemma3_text", "layer_types", {"layer_types": ["linear_attention"] * 8}),
        ("qwen2", "layer_types", {"layer_types": ["chunked_attention"] * 8}),
        (
            "qwen2_moe",
            "use_sliding_window",
            {"use_sliding_window": True, "sliding_window": 64, "max_window_layers": 4},
        ),
        ("qwen3_moe", "use_sliding_window", {"use_sliding_window": True, "sliding_window": 64}),
        ("esm", "rope_type", {"rope_scaling": {"rope_type": "linear", "factor": 2.0}}),
        ("phi3", "rope_type", {"rope_scaling": {"rope_type": "linear", "factor": 2.0}}),
        ("mistral", "sliding_window", {"sliding_window": 0}),
        ("glm", "partial_rotary_factor", {"partial_rotary_factor": None}),
        (
            "gemma4_text",
            "layer_types",
            {"layer_types": ["full_attention", "sliding_attention"] * 4},
        ),
        ("esm", "rope_theta", {"rope_parameters": {"rope_theta": 500.0}}),
    ],
)
def test_fields_that_the_code_of_a_type_does_not_read_are_refused(
    type: str, field: str, changes: Fields
) -> None:
    assert f"{field}: " in refused({**small(type), **changes})


@pytest.mark.parametrize(
    ("type", "changes", "same"),
    [
        ("gpt_neox", {"rope_theta": 10000, "partial_rotary_factor": 0.25}, {}),
        ("gpt_neox", {"rope_theta": 500.0}, {"rope_parameters": {"rope_theta": 500.0}}),
        ("olmo3", {"rope_theta": 500000.0}, {}),
        ("deepseek_v3", {"head_dim": 32}, {}),
        ("gptj", {"head_dim": 64}, {}),
        ("jetmoe", {"kv_channels": 64}, {"head_dim": 64}),
        ("llama", {"layer_types": ["full_attention"] * 8}, {}),
        ("qwen2_moe", {"sliding_window": 0, "use_sliding_window": False}, {}),
        ("mistral", {"layer_types": ["sliding_attention"] * 8}, {}),
    ],
)
def test_redundant_fields_are_read(type: str, changes: Fields, same: Fields) -> None:
    own = {"rotary_emb_base": changes["rope_theta"]} if same.get("rope_parameters") else {}
    fields = own or changes
    assert derived({**small(type), **fields}) == derived({**small(type), **same})


def test_a_window_switched_on_without_a_size_is_that_of_the_type() -> None:
    on = {"use_sliding_window": True, "max_window_layers": 4}
    full, sliding = derived({**small("qwen2"), **on}).groups
    assert (full.window, sliding.window) == (None, 4096)
    assert derived({**small("qwen2"), **on, "sliding_window": None}) == derived(small("qwen2"))


def test_counts_add_up() -> None:
    counts = tally(["llama", "modernbert"])
    assert counts.read + counts.refused == sum(
        1 + len([*changed(type)]) for type in ("llama", "modernbert")
    )
    assert counts.same > counts.read > 0 < counts.refused
    assert counts.unsaid > 0
    assert counts.different == 0


def test_types_that_are_run_elsewhere_are_read() -> None:
    assert not ELSEWHERE.keys() - ROTARY.keys()
