"""The bench of people's implementations: judged end to end, and counted correctly."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from posenc_lab.field import implementation, said
from posenc_lab.field.implementation import FORMULA, RIGHT, Implementation
from posenc_lab.field.said import ACCEPTED, MISNAMED, NAMED, NEAR, REFUSED, UNNAMED, Said

BENCH = implementation.load("people")
BY_NAME = {entry.name: entry for entry in BENCH}


@pytest.mark.parametrize(
    ("name", "naming"),
    [
        ("rope.Neox", ACCEPTED),
        ("rope.TurnsBackwards", NAMED),
        ("cached.LikeLlama", ACCEPTED),
        ("cached.LlamaWithoutStart", NAMED),
        ("positions.embedding", ACCEPTED),
        ("positions.embedding_from_one", NAMED),
    ],
)
def test_namings_of_some(name: str, naming: str) -> None:
    result = said.judge_implementation(BY_NAME[name])
    assert (result.naming, result.state_in_vain) == (naming, False), result
    assert result.rejected == (naming != ACCEPTED)


def test_state_is_no_fault_of_a_formula() -> None:
    """The same words are right for code that keeps state, and wrong for other code."""
    words = "keeps something of the first call: matches base 7 of that call"
    formula = replace(BY_NAME["rope.BaseHardCoded"], words=("base",))
    state = replace(formula, fault="state")
    assert said.naming(formula, [words], known=False, rejected=True) == UNNAMED
    assert said.naming(state, [words], known=False, rejected=True) == NAMED


@pytest.mark.parametrize(
    ("told", "known", "rejected", "naming"),
    [
        (["matches the Half layout [a]"], True, True, NAMED),
        (["matches another base [b]", "matches the half layout [a]"], True, True, NEAR),
        (["matches another base [b]"], True, True, MISNAMED),
        (["every pair turns at 1"], False, True, UNNAMED),
        ([], False, True, UNNAMED),
        ([], False, False, ACCEPTED),
    ],
)
def test_ratings_of_names(told: list[str], known: bool, rejected: bool, naming: str) -> None:
    wrong = Implementation("people", "a.b", object, "Is wrong.", FORMULA, ("half",))
    assert said.naming(wrong, told, known=known, rejected=rejected) == naming
    right = replace(wrong, fault=RIGHT)
    refused = said.naming(right, told, known=known, rejected=rejected)
    assert refused == (REFUSED if rejected else ACCEPTED)


def test_figures_count_what_they_say() -> None:
    def one(fault: str, failures: int, naming: str, state: bool = False) -> Said:
        return Said("a", fault, failures, "", naming, state, ())

    results = [
        one(FORMULA, 3, NAMED),
        one(FORMULA, 2, MISNAMED, state=True),
        one(FORMULA, 0, ACCEPTED),
        one("state", 1, UNNAMED),
        one(RIGHT, 0, ACCEPTED),
        one(RIGHT, 1, REFUSED),
    ]
    figures = said.figures([said.row(result) for result in results])
    begins = {words: figure.partition(" (")[0] for words, figure in figures.items()}
    assert begins == {
        "wrong ones rejected": "3 of 4",
        "of them named rightly": "1 of 3",
        "shown by their pattern": "0 of 3",
        "formulas named rightly": "1 of 3",
        "near": "0 of 3",
        "wrong names": "1 of 4",
        "state blamed in vain": "1 of 4",
        "right ones refused": "1 of 2",
    }


def test_a_later_run_is_compared_with_stored_results(tmp_path: Path) -> None:
    before = Said("a.b", FORMULA, 3, "half", NAMED, False, ())
    said.keep(tmp_path / "kept.yaml", [before])
    read = said.read(tmp_path / "kept.yaml")
    assert said.changes(read, [before]) == []
    assert said.changes(read, [replace(before, name="a.c")]) == []
    for worse in (
        replace(before, failures=0, naming=ACCEPTED),
        replace(before, naming=MISNAMED),
        replace(before, state_in_vain=True),
    ):
        said.keep(tmp_path / "later.yaml", [worse])
        (change,) = said.changes(read, [worse])
        assert change.worse
        (change,) = said.changes(said.read(tmp_path / "later.yaml"), [before])
        assert not change.worse


def test_stored_results_cover_the_bench() -> None:
    read = said.read(said.kept("people"))
    assert {name: entry["fault"] for name, entry in read.items()} == {
        entry.name: entry.fault for entry in BENCH
    }, "run python -m posenc_lab.field people --write lab/posenc_lab/field/people/results.yaml"


def test_the_bench_is_large_enough() -> None:
    right = sum(entry.fault == RIGHT for entry in BENCH)
    assert right >= 50
    assert len(BENCH) - right >= 150
    assert len(BY_NAME) == len(BENCH)


def test_each_has_a_meaning() -> None:
    assert not [entry.name for entry in BENCH if not entry.meaning.endswith(".")]
    assert all(re.compile(word) for entry in BENCH for word in entry.words)


def test_a_wrong_module_changes_a_right_one() -> None:
    """A wrong class inherits from a right one on the bench; functions are exempt."""
    right = {code_of(other) for other in BENCH if other.fault == RIGHT}
    alone = [
        entry.name
        for entry in BENCH
        if isinstance(code := code_of(entry), type) and not right & set(code.__mro__)
    ]
    assert not alone


def code_of(each: Implementation) -> object:
    """Return a module's class, or the holder of a function."""
    return vars(each.adapter)["code"]
