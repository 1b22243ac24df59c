"""Scheme files: the schema, errors with their place, and drift."""

import json
import math
import re
import shutil
from pathlib import Path

import jsonschema
import ml_dtypes
import mpmath
import numpy as np
import pytest
import yaml

from posenc_conformance.commands import golden_text, goldens
from posenc_conformance.commands.describe import details
from posenc_conformance.commands.main import main
from posenc_conformance.errors import UserError
from posenc_conformance.judge.call_kinds import KINDS
from posenc_conformance.judge.case import case_described_by
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.registry import load_scheme
from posenc_conformance.scheme_file.read import (
    SCHEMA_NAME,
    paths_by_name,
    scheme_paths,
    spec_folder,
)
from posenc_lab.judging import schemes as all_schemes

NAMES = [path.stem for path in scheme_paths()]


@pytest.mark.always
@pytest.mark.parametrize("name", NAMES)
def test_scheme_files_obey_the_published_schema(name: str) -> None:
    schema = json.loads((spec_folder() / SCHEMA_NAME).read_text(encoding="utf-8"))
    jsonschema.Draft7Validator.check_schema(schema)
    raw = yaml.safe_load(paths_by_name()[name].read_text(encoding="utf-8"))
    jsonschema.validate(raw, schema)


@pytest.mark.parametrize("scheme", all_schemes(), ids=lambda scheme: scheme.id)
def test_effects_of_narrow_dtypes_state_their_unit_roundoff(scheme: KnownScheme) -> None:
    """A stated error is the largest relative rounding error of bfloat16 or of float16."""
    numbers = np.linspace(1, 2, 2**14 + 1)
    largest = {
        round(math.log2(np.abs(numbers.astype(dtype).astype(np.float64) / numbers - 1).max()))
        for dtype in (ml_dtypes.bfloat16, np.float16)
    }
    for deviation in scheme.deviations:
        for powers in re.findall(
            r"elative errors up to 2\^(-\d+)(?: or 2\^(-\d+))?", deviation.effect
        ):
            assert {int(power) for power in powers if power} <= largest, deviation.id


WORDS_FOR_HIDDEN = ("after the query", "anything where", "causal")


@pytest.mark.parametrize("scheme", all_schemes(), ids=lambda scheme: scheme.id)
def test_descriptions_state_the_facts_that_a_caller_needs(scheme: KnownScheme) -> None:
    """Descriptions state which keys are hidden, and what happens to an odd last channel."""
    text = " ".join(" ".join(details(scheme)).split())
    for golden in scheme.goldens:
        call = scheme.calls[golden.call]
        dtype = call.dtype if call.dtype in ("integer", "boolean") else "float64"
        case = case_described_by(scheme, golden, dtype)
        if case.truth.dtype.kind == "f" and not np.isfinite(case.truth).all():
            assert any(words in text for words in WORDS_FOR_HIDDEN)
        if call.kind == "encode" and case.arguments.get("dim", 0) % 2 and scheme.id not in ANY_DIM:
            assert "odd number" in text


ANY_DIM = ("binary", "integer", "normalized")
"""Schemes whose channels form no pairs, so that an odd number of them is nothing special."""


def test_the_schema_has_the_kinds_of_the_kit() -> None:
    schema = json.loads((spec_folder() / SCHEMA_NAME).read_text(encoding="utf-8"))
    call = schema["properties"]["calls"]["additionalProperties"]
    assert call["properties"]["kind"]["enum"] == list(KINDS)


@pytest.mark.parametrize("scheme", all_schemes(), ids=lambda scheme: scheme.id)
def test_the_kit_can_check_everything_that_the_spec_names(scheme: KnownScheme) -> None:
    knowledge = scheme.knowledge
    assert knowledge.keys() == scheme.calls.keys()
    for call in scheme.calls:
        invariants = [entry.id for entry in scheme.invariants if entry.call == call]
        assert sorted(knowledge[call].invariants) == sorted(invariants), call
        deviations = [entry.id for entry in scheme.deviations if call in entry.calls]
        assert sorted(knowledge[call].deviations) == sorted(deviations), call


@pytest.mark.parametrize("scheme", all_schemes(), ids=lambda scheme: scheme.id)
def test_every_combination_has_a_golden(scheme: KnownScheme) -> None:
    have = {(golden.call, golden.combination) for golden in scheme.goldens}
    want = {(call.name, name) for call in scheme.calls.values() for name in call.combinations}
    assert have == want


def broken(tmp_path: Path, old: str, new: str, name: str = "rope") -> Path:
    """Copy a scheme file, with the first occurrence of a text replaced."""
    text = paths_by_name()[name].read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / f"{name}.yaml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("title: Rotary", "titel: Rotary", "the file"),
        ("kind: rotary", "kind: spinning", "calls.rope.kind"),
        ("rounding: 4", "rounding: four", "accuracy.rounding"),
        ("combination: interleaved,", "combination: interlaved,", "goldens.0.combination"),
        ("source: su2021,", "source: su2022,", "goldens.0.source"),
        (
            "positions: [0, 1, 2], base",
            "positions: {steps: 3}, base",
            "goldens.0.arguments.positions",
        ),
        ("{id: interleaved-d2,", "{id: interleaved-d4-start,", "goldens.1.id"),
        ("default: interleaved", "default: neither", "conventions.layout.default"),
        ("conventions: {layout: half}", "conventions: {layout: halves}", "layout"),
        ("id: rope\n", "id: rotary\n", "id"),
        ("title: Rotary position embedding\n", "title: A\ntitle: B\n", "title"),
        ("title: Rotary position embedding\n", "title: [A\n", ""),
    ],
)
def test_a_mistake_is_located(tmp_path: Path, old: str, new: str, field: str) -> None:
    path = broken(tmp_path, old, new)
    with pytest.raises(UserError) as error:
        load_scheme(path)
    cause = error.value.cause
    assert cause.startswith(f"{path}:")
    assert field in cause
    assert error.value.hint
    line = int(cause.removeprefix(f"{path}:").partition(":")[0])
    original = paths_by_name()[path.stem].read_text(encoding="utf-8")
    changed = original[: original.index(old)].count("\n") + 1
    # A missing or unknown key is reported at the mapping that should, or should not, have it.
    assert line == 1 or abs(line - changed) <= 5


@pytest.mark.slow
def test_check_finds_a_value_changed_by_hand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = broken(tmp_path, "0.8414709848078965", "0.8414709848078966", "sinusoidal")
    assert main(["goldens", "--check", str(path)]) == 1
    shown = capsys.readouterr().out
    assert "paper-d8-start" in shown
    assert "0.8414709848078966" in shown


def test_check_finds_a_published_value_that_does_not_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = broken(tmp_path, '"173.790"', '"173.791"', "sinusoidal")
    assert main(["goldens", "--check", str(path)]) == 1
    assert "dot-product-10-apart" in capsys.readouterr().out


def test_check_tells_truncated_and_rounded_apart(tmp_path: Path) -> None:
    path = broken(tmp_path, "rounding: truncated", "rounding: rounded", "sinusoidal")
    assert main(["goldens", "--check", str(path)]) == 1


@pytest.mark.slow
def test_write_restores_values_and_keeps_everything_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "sinusoidal.yaml"
    shutil.copy(paths_by_name()[path.stem], path)
    before = path.read_text(encoding="utf-8")
    path.write_text(
        before.replace("0.8414709848078965", "0.5").replace(
            "goldens:\n", "goldens:\n  # kept\n", 1
        ),
        encoding="utf-8",
    )
    load_scheme.cache_clear()
    assert main(["goldens", "--write", str(path)]) == 0
    assert path.read_text(encoding="utf-8").replace("  # kept\n", "") == before
    assert "paper-d8-start" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == [path]


def test_write_fills_a_new_golden(tmp_path: Path) -> None:
    path = broken(
        tmp_path,
        "published:\n",
        """  - id: new-one
    call: t5_bucket
    combination: causal
    kills: "a test's mistake"
    source: mesh
    arguments: {relative_position: [-3, 4], num_buckets: 32, max_distance: 128}
    expect: {values: []}

published:
""",
        "t5-bias",
    )
    assert main(["goldens", "--check", str(path)]) == 1
    load_scheme.cache_clear()
    assert main(["goldens", "--write", str(path)]) == 0
    load_scheme.cache_clear()
    assert load_scheme(path).goldens[-1].values == [3, 0]


@pytest.mark.slow
@pytest.mark.always
@pytest.mark.parametrize("name", NAMES)
def test_goldens_are_formatted_as_they_are_written(name: str) -> None:
    path = paths_by_name()[name]
    text = path.read_text(encoding="utf-8")
    assert golden_text.rewrite(text, results_of(text), goldens.PROVENANCE) == text


def results_of(text: str) -> dict[int, str]:
    return {
        number: golden_text.write_result(golden["expect"], golden["sha256"])
        for number, golden in enumerate(yaml.safe_load(text)["goldens"])
    }


BLOCK = """provenance:
  generator: posenc
goldens: # first
  # above
  - id: one
    call: a # the call
    kills: >-
      what is
      folded, {and} more
    # inside
    expect:
      values: [[1.0, 2]] # behind
    arguments:
      x:
        - [1, 2.50]
        - 'it''s # none'
      y:
    sha256: "0" # last
  # between
  -
    arguments: {x: 1e-5}
    expect: {probes: []}
    call: b
    id: two
published: []
"""
FLOW = """provenance: {generator: posenc}
goldens: # first
  # above
  # the call
  # inside
  # behind
  - {id: one, call: a, kills: "what is folded, {and} more",
     arguments: {x: [[1, 2.50], 'it''s # none'], y: null},
     expect: {values: [[1.0, 2]]}, sha256: 0} # last
  # between
  -
    {call: b, id: two,
     arguments: {x: 1e-5},
     expect: {probes: []}, sha256: 1}
published: []
"""


def test_goldens_in_block_style_become_flow_style_and_keep_their_comments() -> None:
    results = {
        0: golden_text.write_result({"values": [[1.0, 2]]}, "0"),
        1: golden_text.write_result({"probes": []}, "1"),
    }
    assert golden_text.rewrite(BLOCK, results, {"generator": "posenc"}) == FLOW
    assert golden_text.rewrite(FLOW, results, {"generator": "posenc"}) == FLOW
    rewritten = golden_text.rewrite(BLOCK, {1: results[1]}, {"generator": "posenc"})
    assert rewritten.partition("  -\n") == (
        BLOCK.partition("  -\n")[0]
        .replace("\n  generator", " {generator")
        .replace("posenc\n", "posenc}\n", 1),
        *FLOW.partition("  -\n")[1:],
    )


@pytest.mark.parametrize(
    "text",
    [
        "goldens:\n  - {id: a, arguments: &x {y: 1}}\npublished: *x\n",
        "goldens:\n  - {id: a, arguments: {x: !!float 3}}\n",
        "goldens:\n  - &unused {id: a, arguments: {x: 3}}\n",
        "goldens:\n  - {id: !!str a, arguments: {x: 3}}\n",
    ],
    ids=["anchor", "tag", "unused anchor", "tag of what it is"],
)
def test_a_golden_that_would_mean_something_else_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="as they are meant"):
        golden_text.rewrite(text, {0: "sha256: 1"}, goldens.PROVENANCE)


@pytest.mark.parametrize("kills", ["-x ?y", "a #b", 'it\'s "so"', "x:y", "a, b [c]", "1", "yes"])
@pytest.mark.parametrize("is_quoted", [True, False])
def test_a_value_of_a_block_is_quoted_if_necessary(kills: str, is_quoted: bool) -> None:
    value = json.dumps(kills) if is_quoted else kills
    text = f"goldens:\n  - id: a\n    kills: {value}\n    arguments: {{x: 1}}\n"
    rewritten = golden_text.rewrite(text, {0: "sha256: 1"}, goldens.PROVENANCE)
    meant = yaml.safe_load(text)["goldens"][0]["kills"]
    assert yaml.safe_load(rewritten)["goldens"][0]["kills"] == meant
    assert golden_text.rewrite(rewritten, {0: "sha256: 1"}, goldens.PROVENANCE) == rewritten


def test_line_endings_are_kept() -> None:
    text = "goldens:\n  - {id: a, arguments: {x: 1}}\n".replace("\n", "\r\n")
    rewritten = golden_text.rewrite(text, {0: "sha256: 1"}, goldens.PROVENANCE)
    assert rewritten.count("\r\n") == rewritten.count("\n") > 2
    for mixed in (text + "# a\n", text.replace("\r\n", "\r"), text + "# a\r# b\r\n"):
        with pytest.raises(UserError, match="end in different ways"):
            golden_text.rewrite(mixed, {0: "sha256: 1"}, goldens.PROVENANCE)


def test_yaml_that_only_some_readers_accept_is_refused() -> None:
    with pytest.raises(UserError, match="cannot be written"):
        golden_text.rewrite(
            "goldens:\n  - {id:\ta,\tb: 1,\n\tc: 2}\n", {0: "sha256: 1"}, goldens.PROVENANCE
        )


def test_comments_of_a_header_and_of_the_provenance_stay() -> None:
    text = (
        "provenance: # made by\n  generator: other # the generator\n"
        "goldens:\n  - id: a\n    kills: >- # why\n      folded\n      # text\n"
        "    arguments: {x: 1}\n"
    )
    rewritten = golden_text.rewrite(text, {0: "sha256: 1"}, goldens.PROVENANCE)
    for comment in ("# made by\n", "# the generator\n", "  # why\n"):
        assert rewritten.count(comment) == 1
    assert yaml.safe_load(rewritten)["goldens"][0]["kills"] == "folded # text"
    assert golden_text.rewrite(rewritten, {0: "sha256: 1"}, goldens.PROVENANCE) == rewritten


def test_goldens_in_a_list_in_flow_style_are_written() -> None:
    text = "goldens: [{id: a, arguments: {x: 1}}, {id: b, arguments: {x: [yes, 'yes']}}]\n"
    rewritten = golden_text.rewrite(text, {0: "sha256: 1", 1: "sha256: 2"}, goldens.PROVENANCE)
    assert yaml.safe_load(rewritten) == {
        "provenance": goldens.PROVENANCE,
        "goldens": [
            {"id": "a", "arguments": {"x": 1}, "sha256": 1},
            {"id": "b", "arguments": {"x": [True, "yes"]}, "sha256": 2},
        ],
    }


def test_write_refuses_what_the_oracle_does_not_confirm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t5-bias.yaml"
    shutil.copy(paths_by_name()[path.stem], path)
    before = path.read_bytes()
    monkeypatch.setattr(goldens, "oracle_values", lambda _: lambda index: mpmath.mpf(99))
    assert main(["goldens", "--write", str(path)]) == 2
    assert path.read_bytes() == before
    assert "oracle" in capsys.readouterr().err
