"""The gate that mutates the kit tells a mutant that a test finds from one that none does."""

from pathlib import Path

import pytest

from posenc_conformance.remote.process import amount
from posenc_lab import gate
from posenc_lab.gate import Bench, Fate, Subject
from posenc_lab.miniatures.mistakes import WRONG
from posenc_lab.mutants import reviewed

MODULE = "posenc_conformance.remote.process"
TEST = """
import subprocess, sys

def test_amount():
    from posenc_conformance.remote.process import amount
    assert amount(2 * 10**9) == "2 GB"

def test_amount_in_a_process_of_its_own():
    code = "from posenc_conformance.remote.process import amount; print(amount(5 * 10**8))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    assert said.strip() == "500 MB"
"""


FEW = ("case", "known", "peer", "process", "state")
OPPOSITE = "if not size >= 10 ** 9 else"
AT_THE_EDGE = "→ size > 10 ** 9"


def mutant(change: str, module: str = MODULE) -> Subject:
    (found,) = (
        Subject(module, number)
        for number, each in enumerate(gate.parsed(module)[1])
        if change in each.change
    )
    return found


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    (tmp_path / "test_it.py").write_text(TEST, encoding="utf-8")
    return Bench.made(tmp_path)


def test_who_is_found_is_told_from_who_is_not(bench: Bench) -> None:
    file = str(bench.folder / "test_it.py")
    there = f"{file}::test_amount_in_a_process_of_its_own"
    assert bench.killer(mutant(OPPOSITE), [file], 60).endswith("::test_amount")
    assert bench.killer(mutant(OPPOSITE), [there], 60).endswith(there.rpartition("/")[2])
    assert bench.killer(mutant(AT_THE_EDGE), [file], 60) == ""
    assert amount(2 * 10**9) == "2 GB"  # nothing has changed for anybody else


def test_a_module_that_is_run_by_its_path_is_changed_too(bench: Bench) -> None:
    """The worker, which then keeps its output in the place of its input."""
    subject = mutant("os.dup(0) → os.dup(1)", "posenc_conformance.remote.worker")
    alone = "test_the_reference_may_run_in_a_process_of_its_own"
    assert bench.killer(subject, [f"tests/test_load.py::{alone}"], 60).endswith(alone)


def test_who_takes_for_ever_is_found(bench: Bench) -> None:
    (bench.folder / "test_it.py").write_text("def test_it():\n    while True: pass\n")
    tests = [str(bench.folder / "test_it.py")]
    assert bench.failing(tests, 2) == "time"


def test_tests_that_fail_by_themselves_find_nothing(bench: Bench) -> None:
    (bench.folder / "test_it.py").write_text("def test_it():\n    assert False\n")
    with pytest.raises(SystemExit, match="fails without any change"):
        gate.seconds_of(bench, "remote", [str(bench.folder / "test_it.py")])


AT_THE_EDGE_ALONE = """
def test_edge():
    from posenc_conformance.remote.process import amount
    assert amount(10**9) == "1 GB"
"""


@pytest.fixture
def further(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the further tests, yet to be written; those of the bench are the nearest ones."""
    near, more = bench.folder / "test_it.py", bench.folder / "test_more.py"
    monkeypatch.setattr(gate, "nearest", lambda module: (str(near),))
    monkeypatch.setattr(gate, "further", lambda module: (str(more),))
    return more


def test_what_survives_the_nearest_tests_faces_further_ones(further: Path) -> None:
    """The others come first, and no further test is run for them."""
    further.write_text(AT_THE_EDGE_ALONE, encoding="utf-8")
    subtle, plain = mutant(AT_THE_EDGE), mutant(OPPOSITE)
    first, second = gate.fates_of([subtle, plain], 1)
    assert (first.subject, first.further) == (plain, False)
    assert first.by.endswith("::test_amount")
    assert (second.subject, second.further) == (subtle, True)
    assert second.by.endswith("::test_edge")


def test_further_tests_that_fail_by_themselves_find_nothing(further: Path) -> None:
    further.write_text("def test_edge():\n    assert False\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="fails without any change"):
        list(gate.fates_of([mutant(AT_THE_EDGE)], 1))
    (found,) = gate.fates_of([mutant(OPPOSITE)], 1)  # which needs none of them
    assert not found.survived


def test_what_survives_all_of_them_is_a_survivor(further: Path) -> None:
    further.write_text("def test_edge():\n    pass\n", encoding="utf-8")
    (found,) = gate.fates_of([mutant(AT_THE_EDGE)], 1)
    assert found.survived


def test_too_many_survivors_are_too_many() -> None:
    subject = mutant(AT_THE_EDGE)
    found, not_found = Fate(subject, "a test"), Fate(subject, "", further=True)
    assert gate.passed([found] * 97 + [not_found] * 3)
    assert not gate.passed([found] * 96 + [not_found] * 4)
    assert not gate.passed([not_found])
    shown = gate.render([found, not_found])
    assert "remote/process.py" in shown
    assert subject.mutant.change in shown
    assert subject.mutant.change not in gate.render([found])


def test_a_sample_is_drawn_from_its_seed() -> None:
    modules = [each for each in gate.modules() if each.rpartition(".")[2] in FEW]
    one, again, other = (gate.subjects(modules, 20, seed) for seed in "aab")
    assert one == again != other
    assert 15 <= len(one) == len(set(one)) <= 20
    assert len({each.room for each in one}) > 2


def test_all_mutants_of_a_module_are_drawn_but_those_reviewed() -> None:
    known = reviewed(gate.EQUIVALENT)
    for module in {key[0] for key in known}:
        drawn = gate.subjects([module], None, "")
        listed = sum(key[0] == module for key in known)
        assert len(drawn) <= len(gate.parsed(module)[1]) - listed
        assert not known.keys() & {each.key for each in drawn}


def test_what_is_listed_is_there() -> None:
    assert gate.stale() == []


def test_every_room_has_tests_that_are_there() -> None:
    for module in gate.modules():
        assert gate.nearest(module)
        assert gate.further(module)
        assert not {*gate.nearest(module)} & {*gate.further(module)}
        for path in (*gate.nearest(module), *gate.further(module)):
            assert (gate.ROOT / path.partition("::")[0]).is_file(), path


def test_further_tests_judge_right_and_wrong_implementations() -> None:
    """A few in all, and of every scheme that has most of what there is."""
    names = [each.partition("[")[2] for each in gate.of_miniatures()]
    assert 200 < len(names) == len({*gate.of_miniatures()}) < 600
    for scheme in gate.RICH:
        wrong = {each.__name__ for each in WRONG if each.__module__.endswith(f".{scheme}")}
        assert len(wrong & {name.rstrip("]") for name in names}) > 1
