"""The bench of code after public reports: its entries, and a draw judged end to end."""

import re

import pytest

from posenc_lab.field import implementation, said
from posenc_lab.field.implementation import RIGHT
from posenc_lab.field.said import ACCEPTED

BENCH = implementation.load("reports")
BY_NAME = {entry.name: entry for entry in BENCH}
KEPT = said.read(said.kept("reports"))


def test_stored_results_cover_the_bench() -> None:
    assert {name: row["fault"] for name, row in KEPT.items()} == {
        entry.name: entry.fault for entry in BENCH
    }, "run python -m posenc_lab.field reports --write lab/posenc_lab/field/reports/results.yaml"


def test_each_has_a_unique_name_and_a_sentence() -> None:
    assert len(BY_NAME) == len(BENCH)
    assert not [entry.name for entry in BENCH if not entry.meaning.endswith(".")]


def test_each_wrong_one_has_its_report_and_the_words_of_a_right_diagnosis() -> None:
    for entry in BENCH:
        assert bool(entry.words) == (entry.fault != RIGHT), entry.name
        assert all(re.compile(word) for word in entry.words)
        if entry.fault != RIGHT:
            assert re.match(r"[\w.-]+/[\w.-]+#\d+: ", entry.meaning), entry.meaning


@pytest.mark.parametrize(
    "name",
    [
        "biases.window_missing",
        "ids.heads_divided",
        "ids.not_restarted",
        "images.absolute_offsets",
        "ids.advanced_early",
        "right.counted_anew",
        "right.window_of_keys",
        "rope.gradient_unturned",
        "scaled.not_implemented-mlxcel#1340",
        "sinusoids.thousand",
    ],
)
def test_stored_results_hold(name: str) -> None:
    result, row = said.judge_implementation(BY_NAME[name]), KEPT[name]
    assert (result.naming, result.state_in_vain) == (row["naming"], row["state_in_vain"]), result
    assert result.rejected == (row["naming"] != ACCEPTED)
