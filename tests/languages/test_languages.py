"""Programs in languages that need a compiler or R; ``make languages`` installs them."""

from pathlib import Path

import pytest

from posenc_lab.judging import failed
from tests.languages import harnesses, readers
from tests.languages.harnesses import Harness
from tests.languages.readers import Reader

READERS = {
    "c++": Reader(
        "rope.cpp",
        "text",
        ("./rope",),
        ("g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-O2", "-o", "rope", "rope.cpp"),
    ),
    "go": Reader("rope.go", "json", ("./rope",), ("go", "build", "-o", "rope", "rope.go")),
    "rust": Reader("rope.rs", "text", ("./rope",), ("rustc", "-O", "-o", "rope", "rope.rs")),
}

each_reader = pytest.mark.parametrize("reader", READERS.values(), ids=READERS)


@each_reader
def test_it_passes_a_right_rotation(reader: Reader, tmp_path: Path) -> None:
    readers.assert_right(reader, tmp_path)


@pytest.mark.parametrize("mistake", readers.MISTAKES)
@each_reader
def test_it_reports_a_wrong_rotation(reader: Reader, mistake: str, tmp_path: Path) -> None:
    readers.assert_wrong(reader, tmp_path, mistake)


@each_reader
def test_a_run_that_judges_nothing_is_not_green(reader: Reader, tmp_path: Path) -> None:
    readers.assert_nothing_judged_is_not_green(reader, tmp_path)


HARNESSES = {
    "c": Harness(
        "c/posenc_harness.h",
        "c",
        "{}",
        "gcc -std=c11 -Wall -Wextra -Wpedantic -Werror -O2 -o {0} {0}.c -lm",
        "DomainError",
    ),
    "c++": Harness(
        "cpp/posenc_harness.hpp",
        "cpp",
        "{}",
        "g++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -O2 -o {0} {0}.cpp",
        "std::domain_error",
    ),
    "go": Harness(
        "go/posenc_harness.go",
        "go",
        "{}",
        "go build -o {0} {0}.go posenc_harness.go",
        "DomainError",
    ),
    "java": Harness(
        "java/PosencHarness.java",
        "java",
        "java -cp {}_classes Adapter",
        "javac -Xlint:all -Werror -d {0}_classes {0}.java PosencHarness.java",
        "DomainError",
    ),
    "r": Harness("r/posenc_harness.R", "R", "Rscript --vanilla {}.R", kind="DomainError"),
    "rust": Harness(
        "rust/posenc_harness.rs",
        "rs",
        "{}",
        "rustc -D warnings --edition 2021 -O -o {0} {0}.rs",
        "DomainError",
    ),
}

each_harness = pytest.mark.parametrize("harness", HARNESSES.values(), ids=HARNESSES)


@each_harness
def test_a_harness_transports_all_values(harness: Harness, tmp_path: Path) -> None:
    harnesses.assert_carries(harness, tmp_path)


@each_harness
def test_a_harness_answers_errors(harness: Harness, tmp_path: Path) -> None:
    harnesses.assert_answers_errors(harness, tmp_path)


@pytest.mark.parametrize("language", ["c", "cpp", "go", "java", "r", "rust"])
def test_an_adapter_written_by_init_is_built_and_judged(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harnesses.assert_starts(language, tmp_path, monkeypatch)


@each_harness
def test_an_adapter_is_right(harness: Harness, tmp_path: Path) -> None:
    harnesses.assert_right(harness, tmp_path)


def test_the_harness_of_c_may_come_after_other_headers(tmp_path: Path) -> None:
    own = '#include "posenc_harness.h"'
    later = (own, f"#include <stdio.h>\n#include <unistd.h>\n{own}")
    harness = HARNESSES["c"]
    verdicts = harnesses.judged(harness.built(harness.adapter(), tmp_path, later), ("smoke",))
    assert verdicts
    assert not failed(verdicts), failed(verdicts)[0].text


@pytest.mark.parametrize("mistake", harnesses.MISTAKES)
@each_harness
def test_a_mistake_in_an_adapter_has_its_name(
    harness: Harness, mistake: str, tmp_path: Path
) -> None:
    harnesses.assert_wrong(harness, tmp_path, mistake)
