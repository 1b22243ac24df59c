"""Sources of models: what rests on one, what sisters share, and what a wrong value would show."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from blocks import model_blocks

from posenc_conformance.commands.main import main
from posenc_conformance.deployed.engine import has_probe
from posenc_conformance.errors import UserError
from posenc_conformance.models.configuration import Configuration, configuration
from posenc_conformance.models.cost import POSITIONS, cost
from posenc_conformance.models.derive import meaning
from posenc_conformance.models.file import Model, flat, load_all, load_model
from posenc_conformance.models.layer_frequencies import rotated
from posenc_conformance.models.meaning import Meaning
from posenc_conformance.models.misreadings import applicable
from posenc_conformance.models.sources import (
    TOPICS,
    Source,
    families_of,
    read_source,
    topic,
    with_one_source,
)

MODELS = {model.id: model for model in load_all()}
HERE = Path(__file__).parent
SISTERS = yaml.safe_load((HERE / "sisters.yaml").read_text(encoding="utf-8"))
FAMILIES: list[Any] = SISTERS["families"]
EQUAL_COSTS = yaml.safe_load((HERE / "equal_costs.yaml").read_text(encoding="utf-8"))
every_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family["name"])


def source(key: str, fields: Sequence[str], **more: Any) -> Source:
    """Make a source whose repository is called like its key."""
    url = more.pop("url", f"https://github.com/owner/{key}/blob/main/file.py")
    return read_source(
        key, {"title": key, "where": "file.py", "url": url, "fields": fields, **more}
    )


# What rests on one source.

LEAVES = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_attention_heads": 4,
    "rope_theta": 10000.0,
    "max_position_embeddings": 2048,
}
ALL = tuple(LEAVES)


def test_two_sources_that_state_all_leave_nothing_on_one() -> None:
    assert with_one_source(LEAVES, (source("one", ALL), source("two", ALL))) == ()


@pytest.mark.parametrize(
    "second",
    [
        source("one", ALL, url="https://github.com/owner/one/blob/main/other.py"),
        source("fork", ALL, family="owner/one"),
        source("wrong", ALL, apart="It is wrong about a sister."),
    ],
    ids=["another file", "a fork", "one that counts for nothing"],
)
def test_two_copies_of_one_table_are_one_source(second: Source) -> None:
    alone = with_one_source(LEAVES, (source("one", ALL), second))
    assert alone == ("base", "head size", "heads", "context")


def test_only_what_one_source_states_is_named() -> None:
    without = [field for field in ALL if field != "max_position_embeddings"]
    assert with_one_source(LEAVES, (source("one", ALL), source("two", without))) == ("context",)
    assert families_of("rope_theta", (source("one", ALL), source("two", without))) == {
        "owner/one",
        "owner/two",
    }


@pytest.mark.parametrize(
    ("field", "others", "decided"),
    [
        ("hidden_size", {}, "head size"),
        ("hidden_size", {"head_dim": 128}, None),
        ("model_type", {}, None),
        ("sliding_window", {}, "windows"),
        ("sliding_window", {"use_sliding_window": True}, "windows"),
        ("sliding_window", {"use_sliding_window": False}, None),
        ("max_window_layers", {"use_sliding_window": False}, None),
        ("use_sliding_window", {"use_sliding_window": False}, "windows"),
        ("rope_scaling.factor", {}, "scaling"),
        ("rope_parameters.rope_theta", {}, "base"),
        ("rope_parameters.full_attention.rope_theta", {}, "base"),
        ("rope_parameters.full_attention.partial_rotary_factor", {}, "rotary share"),
        ("linear_attn_config.kda_layers", {}, "layer types"),
    ],
)
def test_a_field_decides(field: str, others: Mapping[str, Any], decided: str | None) -> None:
    assert topic(field, others) == decided


def test_every_topic_occurs() -> None:
    """A topic that no model has, or a field that is in two, would be a mistake in the list."""
    leaves = {model.id: flat(model.config) for model in MODELS.values()}
    found = {topic(field, fields) for fields in leaves.values() for field in fields}
    assert found == {*TOPICS, None}
    listed = [field for fields in TOPICS.values() for field in fields]
    assert len(listed) == len(set(listed))


def test_a_field_of_which_nothing_is_known_is_a_mistake_in_the_file(tmp_path: Path) -> None:
    text = MODELS["llama-2-7b"].path.read_text(encoding="utf-8")
    path = tmp_path / "llama-2-7b.yaml"
    text = text.replace("model_type: llama\n", "model_type: llama\n  rope_power: 2\n")
    path.write_text(text.replace("[model_type, ", "[model_type, rope_power, "), encoding="utf-8")
    with pytest.raises(UserError, match="what rope_power decides is not in TOPICS"):
        load_model(path)


def wholly_known() -> str:
    """Return a model of which nothing rests on one source."""
    return next(id for id in MODELS if not MODELS[id].one_source)


def test_a_model_says_what_rests_on_one_source(capsys: pytest.CaptureFixture[str]) -> None:
    for id in (next(id for id in MODELS if MODELS[id].one_source), wholly_known()):
        assert main(["model", id]) == 0
        words = f"  one source: {', '.join(MODELS[id].one_source)}\n"
        assert (words in capsys.readouterr().out) == bool(MODELS[id].one_source)


def test_a_configuration_of_a_user_is_its_own_source(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(MODELS["smollm-135m"].config), encoding="utf-8")
    assert main(["model", str(path)]) == 0
    assert main(["probe", str(path), "--out", str(tmp_path / "probe")]) == 0
    assert "one source" not in capsys.readouterr().out


def test_a_probe_says_what_rests_on_one_source(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    probed = [id for id in MODELS if has_probe(MODELS[id])]
    for alone in (True, False):
        id = next(id for id in probed if bool(MODELS[id].one_source) == alone)
        assert main(["probe", id, "--out", str(tmp_path / id)]) == 0
        assert ("one source: " in capsys.readouterr().out) == alone


# Sisters.

Traits = dict[str, object]


def traits(found: Meaning) -> Traits:
    """Return what sisters share: bases, scaling and context."""
    turning = [group for group in found.groups if group.turns]
    stretched = {
        (group.scheme, float(group.parameters.get("factor", 1)))
        for group in turning
        if group.scheme != "rope"
    }
    return {
        "base": sorted({float(group.parameters["base"]) for group in turning}),
        "scaling": sorted(stretched),
        "context": found.context.extended,
    }


def listed(family: Any) -> set[tuple[str, str]]:
    """Return the listed differences of a family."""
    return {(item["trait"], id) for item in family.get("differ", []) for id in item["of"]}


def different(family: Any, found: Mapping[str, Traits]) -> set[tuple[str, str]]:
    """Find the traits in which members are unlike those without a listed difference."""
    kept = listed(family)
    shared = {
        trait: found[next(id for id in family["members"] if (trait, id) not in kept)][trait]
        for trait in ("base", "scaling", "context")
    }
    return {
        (trait, id)
        for trait, usual in shared.items()
        for id in family["members"]
        if found[id][trait] != usual
    }


def unlike(family: Any, found: Mapping[str, Traits]) -> set[tuple[str, str]]:
    """Find the differences that are not listed, and the listed ones that are none."""
    return different(family, found) ^ listed(family)


@every_family
def test_sisters_share_base_scaling_and_context(family: Any) -> None:
    assert unlike(family, {id: traits(MODELS[id].meaning) for id in family["members"]}) == set()


def test_every_model_has_sisters_or_is_listed_as_alone() -> None:
    members = [id for family in FAMILIES for id in family["members"]]
    assert sorted([*members, *SISTERS["alone"]]) == sorted(MODELS)
    assert all(len(family["members"]) > 1 for family in FAMILIES)


def changed(id: str, fields: Mapping[str, Any]) -> Configuration:
    """Return a model's configuration with other values; None takes a field away."""
    config = {**MODELS[id].config, **fields}
    return configuration({name: held for name, held in config.items() if held is not None}, id)


@pytest.mark.parametrize(
    ("name", "id", "fields", "trait"),
    [
        ("Gemma 3", "gemma-3-12b", {"rope_theta": 10000.0}, "base"),
        ("Gemma 3", "gemma-3-12b", {"max_position_embeddings": 163840}, "context"),
        ("Gemma 3", "gemma-3-27b", {"rope_scaling": None}, "scaling"),
        ("Llama 2", "llama-2-70b", {"max_position_embeddings": 2048}, "context"),
        ("OLMo 3", "olmo-3-32b", {"rope_scaling": None}, "scaling"),
        ("Qwen1.5", "qwen1.5-1.8b-chat", {"max_position_embeddings": 4096}, "context"),
    ],
)
def test_a_wrong_value_is_unlike_the_sisters(
    name: str, id: str, fields: Mapping[str, Any], trait: str
) -> None:
    family = next(family for family in FAMILIES if family["name"] == name)
    found = {member: traits(MODELS[member].meaning) for member in family["members"]}
    found[id] = traits(meaning(changed(id, fields)))
    assert {other for other, _ in unlike(family, found)} == {trait}


def wrong_about(family: Any) -> set[tuple[str, str]]:
    """Find the sources, by family, that say otherwise about a sister, and about which topic."""
    excused = {(item["source"], item["topic"]) for item in family.get("excused", [])}
    return contradicting(family) - excused


def contradicting(family: Any) -> set[tuple[str, str]]:
    """Find the sources that say otherwise about a sister, those that are excused as well."""
    return {
        (source.family, decided)
        for id in family["members"]
        for source in MODELS[id].sources
        for field in source.differs
        for decided in [topic(field, flat(MODELS[id].config))]
        if decided is not None
    }


def needed(model: Model, wrong: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Find the sources that are wrong about a sister, without which a topic has one source."""
    leaves = flat(model.config)
    found = set()
    for family, decided in wrong:
        others = tuple(source for source in model.sources if source.family != family)
        if decided in with_one_source(leaves, others) and decided not in model.one_source:
            found.add((family, decided))
    return found


@every_family
def test_a_source_that_is_wrong_about_a_sister_is_not_needed(family: Any) -> None:
    wrong = wrong_about(family)
    assert {id: found for id in family["members"] if (found := needed(MODELS[id], wrong))} == {}
    excused = {(item["source"], item["topic"]) for item in family.get("excused", [])}
    assert excused <= contradicting(family)


def test_a_source_that_is_wrong_about_a_sister_is_found_if_it_is_needed() -> None:
    family = next(family for family in FAMILIES if family["name"] == "Gemma 3")
    wrong = wrong_about(family)
    assert ("ai-hypercomputer/maxtext", "base") in wrong
    fields = tuple(flat(MODELS["gemma-3-4b"].config))
    kept = (source("one", fields), source("maxtext", fields, family="ai-hypercomputer/maxtext"))
    model = replace(MODELS["gemma-3-4b"], sources=kept)
    assert model.one_source == ()
    assert ("ai-hypercomputer/maxtext", "base") in needed(model, wrong)


# Costs.

Coincidence = tuple[str, ...]


def coincidences(config: Configuration) -> set[Coincidence]:
    """Find the mistakes of a model that cost nothing in a group, or the same as another."""
    by_costs: dict[object, list[str]] = {}
    free: set[Coincidence] = set()
    for mistake, concerned in applicable(meaning(config), config):
        for id, pair in concerned.items():
            costs = [cost(*pair, position) for position in POSITIONS]
            row = tuple((round(c.error, 9), round(c.loss or 0.0, 9)) for c in costs)
            by_costs.setdefault((id, row), []).append(mistake.id)
            if not any(error or loss for error, loss in row):
                free.add((mistake.id,))
    return free | {tuple(mistakes) for mistakes in by_costs.values() if len(mistakes) > 1}


def looked_into(id: str) -> set[Coincidence]:
    """Return the coincidences of a model that are listed with a reason."""
    return {tuple(item["mistakes"]) for item in EQUAL_COSTS if id in item["of"]}


@pytest.mark.parametrize(
    "id", [pytest.param(id, marks=pytest.mark.slow if id == "bloom" else ()) for id in MODELS]
)
def test_a_mistake_costs_something_and_not_what_another_costs(id: str) -> None:
    assert coincidences(MODELS[id].configuration) == looked_into(id)


@pytest.mark.parametrize(
    ("id", "fields", "told"),
    [
        ("gemma-3-12b", {"rope_theta": 10000.0}, ("scaling-ignored", "local-base-everywhere")),
        ("gemma-3-27b", {"rope_theta": 10000.0}, ("scaling-ignored", "local-base-everywhere")),
    ],
)
def test_a_wrong_base_shows_in_the_costs(
    id: str, fields: Mapping[str, Any], told: Coincidence
) -> None:
    assert told in coincidences(changed(id, fields))


# Summaries.

NAMES = re.compile(
    r"(?:Llama|Gemma|Qwen|DeepSeek-V|\bK)[ ]?\d[\w.]*(?:-VL)?|\d+B\b|\d+ × \d+|power of 2",
    re.IGNORECASE,
)
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
SCHEMES = {
    "YaRN": {"yarn"},
    "LongRoPE": {"longrope"},
    "M-RoPE": {"m-rope"},
    "ALiBi": {"alibi"},
    "divided by": {"position-interpolation"},
    "grows with the text": {"dynamic-ntk"},
}
"""What a summary says, and the schemes of which the model must have one."""


def told_numbers(summary: str) -> Iterator[float]:
    """Yield the numbers of a summary, without those in names of models."""
    for found in NUMBER.findall(NAMES.sub("", summary)):
        yield float(found.rstrip(",").replace(",", ""))


def numbers(held: object) -> Iterator[float]:
    """Yield every number in nested data."""
    if isinstance(held, Mapping):
        for part in held.values():
            yield from numbers(part)
    elif isinstance(held, list | tuple):
        for part in held:
            yield from numbers(part)
    elif isinstance(held, int | float) and not isinstance(held, bool):
        yield float(held)


def known_numbers(config: Mapping[str, Any], found: Meaning) -> set[float]:
    """Return the numbers that a summary may state: of the configuration, and of what it means."""
    known = {
        *numbers(config),
        float(found.context.original or 0),
        float(found.context.extended or 0),
    }
    for group in found.groups:
        known |= set(numbers(group.parameters)) | {
            float(group.window or 0),
            float(len(group.layers)),
        }
        if group.turns:
            known.add(float(rotated(group)))
    width, heads = config.get("hidden_size"), config.get("num_attention_heads")
    if width and heads:
        known.add(float(width // heads))
    known.add(float(sum(len(group.layers) for group in found.groups)))
    return known | {number - 2 for number in numbers(config)}


def contradictions(summary: str, config: Mapping[str, Any], found: Meaning) -> list[str]:
    """Find what a summary says and its model's groups do not."""
    schemes = {group.scheme for group in found.groups}
    known = known_numbers(config, found)
    problems = [f"{number:g}" for number in told_numbers(summary) if number not in known]
    problems += [
        words for words, meant in SCHEMES.items() if words in summary and not meant & schemes
    ]
    scaled = any("factor" in group.parameters for group in found.groups)
    if summary.startswith("Plain rotary") and schemes != {"rope"}:
        problems.append("Plain rotary")
    if "without scaling" in summary and scaled:
        problems.append("without scaling")
    return problems


@pytest.mark.parametrize("id", MODELS)
def test_a_summary_says_what_the_groups_do(id: str) -> None:
    model = MODELS[id]
    assert contradictions(model.summary, model.config, model.meaning) == []


@pytest.mark.parametrize(
    ("id", "fields", "told"),
    [
        ("olmo-3-32b", {"rope_scaling": None}, ["YaRN"]),
        ("gemma-3-12b", {"rope_theta": 10000.0}, ["1e+06"]),
        ("gemma-3-12b", {"rope_scaling": None}, ["divided by"]),
        ("olmo-2-13b", {"max_position_embeddings": 2048}, ["4096"]),
        ("olmo-2-13b", {"rope_theta": 10000.0}, ["500000"]),
        (
            "qwen3-14b",
            {"rope_scaling": {"rope_type": "linear", "factor": 2.0}},
            ["Plain rotary"],
        ),
    ],
)
def test_a_summary_of_another_model_is_found(
    id: str, fields: Mapping[str, Any], told: list[str]
) -> None:
    config = changed(id, fields)
    kept = {**MODELS[id].config, **fields}
    assert contradictions(MODELS[id].summary, kept, meaning(config)) == told


# The page.


def test_the_page_says_what_rests_on_one_source() -> None:
    page = model_blocks.models()
    for model in MODELS.values():
        row = page.split(f'id="{model.id}"')[1].split("</tr>")[0]
        assert row.count("one source: ") == bool(model.one_source)
        assert all(f"one source: {', '.join(model.one_source)}" in row for _ in model.one_source)
        assert all((source.url in row) == (not source.apart) for source in model.sources)
    wholly = sum(not model.one_source for model in MODELS.values())
    assert f"Of {wholly}, two independent sources" in model_blocks.count_models()
