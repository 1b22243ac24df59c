"""The mutation gate tells mutants that a test finds and survivors apart."""

import ast
from pathlib import Path

import pytest

from posenc_conformance.judge.positions import positions_up_to
from posenc_lab import gate
from posenc_lab.gate import Bench, Fate, Subject
from posenc_lab.mutation import code_of

MODULE = "posenc_conformance.judge.positions"
TEST = """
import subprocess, sys

def test_largest():
    from posenc_conformance.judge.positions import positions_up_to
    assert positions_up_to(9)[-1] == 9

def test_first_in_a_process_of_its_own():
    code = "from posenc_conformance.judge.positions import positions_up_to as p; print(p(9)[0])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    assert said.strip() == "0"
"""
FOUND = "{0, largest} → {-1, largest}"
"""A mutant that only the test with a process of its own finds."""
NOT_FOUND = "24 → 25"
"""A mutant of rows_to_show, which the tests do not call."""


def mutant(change: str) -> Subject:
    (match,) = (
        Subject(MODULE, number)
        for number, candidate in enumerate(gate.parsed(MODULE)[1])
        if candidate.change == change
    )
    return match


@pytest.fixture
def tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of the only tests."""
    path = tmp_path / "test_it.py"
    path.write_text(TEST, encoding="utf-8")
    monkeypatch.setattr(gate, "tests_for", lambda module: [str(path)])
    return path


@pytest.mark.slow
def test_a_survivor_is_told_apart_from_a_mutant_that_is_found(tests: Path) -> None:
    caught, survivor = gate.fates_of([mutant(FOUND), mutant(NOT_FOUND)], 1)
    assert caught.by.endswith("::test_first_in_a_process_of_its_own")
    assert survivor.survived
    assert positions_up_to(9)[0] == 0  # nothing has changed for anybody else


@pytest.mark.slow
def test_tests_that_fail_without_a_mutant_are_refused(tests: Path) -> None:
    tests.write_text("def test_it():\n    assert False\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="fails without any change"):
        list(gate.fates_of([mutant(FOUND)], 1))


@pytest.mark.slow
def test_an_endless_mutant_is_found(tmp_path: Path) -> None:
    endless = tmp_path / "test_endless.py"
    endless.write_text("def test_it():\n    while True: pass\n", encoding="utf-8")
    assert Bench.made(tmp_path).failing([str(endless)], 2) == "time"


def test_more_survivors_than_a_tenth_are_too_many() -> None:
    caught, survivor = Fate(mutant(FOUND), "a test"), Fate(mutant(NOT_FOUND), "")
    assert gate.passed([caught] * 90 + [survivor] * 10)
    assert not gate.passed([caught] * 89 + [survivor] * 11)
    shown = gate.render([caught, survivor])
    assert f"judge/positions.py:{survivor.subject.mutant.line}: `{NOT_FOUND}`" in shown
    assert FOUND not in shown


def test_every_mutant_is_python_and_leaves_no_trace() -> None:
    for module in (MODULE, "posenc_conformance.checks.smoke"):
        tree, mutants = gate.parsed(module)
        before = ast.dump(tree)
        assert mutants
        for candidate in mutants:
            code_of(tree, candidate, module)
        assert ast.dump(tree) == before


def test_a_sample_is_drawn_from_its_seed() -> None:
    modules = [MODULE, "posenc_conformance.deployed.instruments.alibi_slopes"]
    first, again, other = (gate.subjects(modules, 20, seed) for seed in "aab")
    assert first == again != other
    assert len(first) == len(set(first)) == 20


def test_every_module_has_tests_that_exist() -> None:
    for module in gate.modules():
        tests = gate.tests_for(module)
        assert tests
        assert len(set(tests)) == len(tests)
        for path in tests:
            assert (gate.ROOT / path.partition("::")[0]).is_file(), path


def test_modules_with_tests_of_another_name_exist() -> None:
    for module in gate.OWN:
        assert (gate.KIT / module.replace(".", "/")).with_suffix(".py").is_file(), module
