"""The bench of odd files and programs: its ratings, and a sample of its cases."""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from posenc_lab.hostile.__main__ import PROGRAM
from posenc_lab.hostile.files import FILES, File, files
from posenc_lab.hostile.judging import Rating, Said, Stage, of_file, rate_file
from posenc_lab.hostile.programs import Program, descriptions, programs

pytestmark = pytest.mark.remembered(shipped=True)

FEW = 4
"""Number of files of each kind that are read here; nightly runs read all."""
ODD = File("array", "odd", b"", "shape", "a.npy")
RIGHT = replace(ODD, says=None)
REFUSED = Said(2, "", "posenc: /x/a.npy: shape: it is odd\nhint: save it again\n")


@pytest.mark.parametrize(
    ("case", "said", "rating"),
    [
        (ODD, REFUSED, Rating.GOOD),
        (RIGHT, Said(0, "rope\n", ""), Rating.GOOD),
        (RIGHT, Said(1, "nothing known\n", ""), Rating.GOOD),
        (ODD, replace(REFUSED, err="posenc: /x/a.npy: shape: it is odd\n"), Rating.POOR),
        (ODD, replace(REFUSED, err="posenc: shape: it is odd\nhint: do\n"), Rating.POOR),
        (ODD, replace(REFUSED, err="posenc: /x/a.npy: it is odd\nhint: do\n"), Rating.POOR),
        (ODD, replace(REFUSED, err=REFUSED.err + "x" * 9999), Rating.POOR),
        (ODD, replace(REFUSED, err=REFUSED.err + "\x1b[2J"), Rating.BAD),
        (ODD, replace(REFUSED, error="KeyError: 'shape'"), Rating.BAD),
        (ODD, replace(REFUSED, memory=2**31), Rating.BAD),
        (ODD, Said(0, "rope\n", ""), Rating.BAD),
        (RIGHT, REFUSED, Rating.BAD),
    ],
)
def test_the_outcome_of_a_file_is_rated(case: File, said: Said, rating: Rating) -> None:
    assert rate_file(case, said).rating is rating


def some(kind: str) -> list[File]:
    all_of_it = [file for file in files() if file.kind == kind]
    return all_of_it[:: max(1, len(all_of_it) // FEW)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", FILES)
def test_some_files_of_each_kind_are_rated_good(kind: str) -> None:
    ratings = {case.name: of_file(case) for case in some(kind)}
    assert not {name: case.why for name, case in ratings.items() if case.rating is not Rating.GOOD}


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    stage = Stage(tmp_path_factory.mktemp("stage"), PROGRAM)
    yield stage
    assert stage.end() == 0


@pytest.mark.parametrize(
    ("code", "says", "rating"),
    [
        ("answer(right())", None, Rating.GOOD),
        ("raw('hello')", "broke the protocol", Rating.GOOD),
        ("raw('hello')", "another word", Rating.POOR),
        ("raw('hello')", None, Rating.BAD),
        ("answer(right())", "broke the protocol", Rating.BAD),
        ("answer([1.0] * 8)", None, Rating.BAD),
    ],
)
def test_the_outcome_of_a_program_is_rated(
    stage: Stage, code: str, says: str | None, rating: Rating
) -> None:
    assert stage.of_program(Program("planted", "planted", code, says)).rating is rating


def test_processes_left_by_a_stage_are_counted(tmp_path: Path) -> None:
    other = Stage(tmp_path, PROGRAM, seconds=60)
    code = "import subprocess\nsubprocess.Popen(['sleep', '60'])\nanswer(right())"
    assert other.of_program(Program("planted", "planted", code, None)).rating is Rating.GOOD
    until = time.monotonic() + 60  # a process that has just begun has no environment for a moment
    while other.running() < 2 and time.monotonic() < until:
        time.sleep(0.01)
    assert other.running() == 2
    assert other.end() == 0


def test_a_program_that_claims_too_many_values_is_refused(stage: Stage) -> None:
    (case,) = (candidate for candidate in descriptions() if candidate.name == "heads-of-50000")
    assert stage.of_description(case).rating is Rating.GOOD


def test_cases_are_unique_and_there_are_enough() -> None:
    read = [(entry.kind, entry.name) for entry in files()]
    done = [(entry.kind, entry.name) for entry in (*programs(), *descriptions())]
    for cases, least in ((read, 400), (done, 250)):
        assert len(cases) >= least
        assert max(Counter(cases).values()) == 1


def test_a_file_that_hurts_is_bad(monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(*_: object) -> int:
        raise SystemError("gone")

    monkeypatch.setattr("posenc_lab.hostile.judging._read", dies)
    assert of_file(RIGHT).rating is Rating.BAD


def test_the_program_is_where_the_bench_says() -> None:
    assert Path(PROGRAM.split()[-1]).is_file()
