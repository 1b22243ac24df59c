"""The table ``[tool.posenc]``: settings of a project, which the command line overrides."""

from pathlib import Path

import pytest

from posenc_conformance.errors import UserError
from posenc_conformance.plugin import OPTIONS
from posenc_conformance.pytest_run.settings import read_settings

pytestmark = pytest.mark.remembered(shipped=True)

ADAPTER = """
import numpy as np
from posenc_conformance import claims

class Right:
    @claims("plain")
    def learned(self, positions, table):
        return table[positions]
"""


def written(folder: Path, table: str) -> Path:
    file = folder / "pyproject.toml"
    file.write_text(table, encoding="utf-8")
    return file


def test_values_become_arguments_with_paths_from_the_file(tmp_path: Path) -> None:
    tmp_path.joinpath("mine.py").touch()
    table = (
        '[tool.posenc]\nimplementation = "mine.py:Right"\nreport = "out/report.json"\n'
        'schemes = ["own", "/other"]\nseed = 3\ntimeout = 5\nrobust = true\napart = false\n'
        'python = "python3"\nstatic-cache = true\n'
    )
    settings = read_settings(written(tmp_path, table), OPTIONS)
    assert settings.implementation == f"{tmp_path}/mine.py:Right"
    assert settings.arguments(["--posenc-seed=4", "tests"]) == [
        f"--posenc-report={tmp_path}/out/report.json",
        f"--posenc-schemes={tmp_path}/own",
        "--posenc-schemes=/other",
        "--posenc-timeout=5",
        "--posenc-robust",
        "--posenc-python=python3",
        "--posenc-static-cache",
    ]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (
            "[tool.posenc]\nknow = 1",
            "no key 'know'\nhint: did you mean 'known'? keys are implement",
        ),
        ("[tool.posenc]\nseed = true", "seed cannot be True\nhint: give a whole number"),
        ('[tool.posenc]\nseed = "3"', "seed cannot be '3'"),
        ("[tool.posenc]\nrobust = 1", "robust cannot be 1\nhint: give true or false"),
        ("[tool.posenc]\nreport = []", "report cannot be []"),
        ("[tool.posenc]\nschemes = [1]", "schemes cannot be 1"),
        ("[tool.posenc]\nimplementation = 3", "implementation cannot be 3"),
        ("[tool]\nposenc = 3", "is no table"),
        ("[tool.posenc", "cannot be read"),
    ],
)
def test_wrong_settings_are_errors_of_the_user(tmp_path: Path, table: str, words: str) -> None:
    with pytest.raises(UserError) as raised:
        read_settings(written(tmp_path, table), OPTIONS)
    assert words in str(raised.value)


def test_other_tables_are_left_alone(tmp_path: Path) -> None:
    settings = read_settings(written(tmp_path, '[tool.other]\nname = "tool.posenc"'), OPTIONS)
    assert not settings.implementation
    assert not settings.arguments([])


@pytest.mark.slow
@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["one-process", "xdist"])
def test_a_run_has_the_settings(
    pytester: pytest.Pytester, workers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)  # this test's own
    pytester.makepyfile(mine=ADAPTER)
    pytester.makepyfile(test_own="def test_own(): pass\n")
    pytester.makepyprojecttoml(
        '[tool.posenc]\nimplementation = "mine.py"\nreport = "report.json"\nseed = 3\n'
    )
    result = pytester.runpytest_subprocess("--posenc-seed=4", "-q", *workers)
    assert result.ret == 0
    assert pytester.path.joinpath("report.json").is_file()
    result.stdout.fnmatch_lines(["*scorecard: *mine.py*"])


def test_an_unknown_key_ends_the_run(pytester: pytest.Pytester) -> None:
    pytester.makepyprojecttoml('[tool.posenc]\nimpl = "mine.py"\n')
    result = pytester.runpytest_subprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*no key 'impl'*", "hint: *keys are implementation, report, *"])
    result.stderr.no_fnmatch_line("*Traceback*")


@pytest.mark.slow
def test_a_missing_file_of_known_failures_is_one_error(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)  # a worker reads no settings
    pytester.makepyprojecttoml('[tool.posenc]\nknown = "gone.yaml"\n')
    result = pytester.runpytest_subprocess("--impl=reference", "rope.yaml", "-m", "smoke")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*gone.yaml does not exist", "hint: write it with 'posenc known*"])
    result.stderr.no_fnmatch_line("*Traceback*")
