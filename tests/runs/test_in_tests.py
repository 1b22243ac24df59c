"""The kit's checks as tests of a test file, and of a project whose settings name an adapter."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from posenc_conformance import conformance
from posenc_conformance.errors import UserError
from posenc_conformance.testing.conformance import Conformance

pytestmark = pytest.mark.remembered(shipped=True)

ADAPTER = """
import numpy as np
from posenc_conformance import claims

class Adapter:
    @claims("interleaved", base=10000.0)
    def rope(self, x, positions):
        half = x.shape[-1] // 2
        angles = np.outer(positions, 10000.0 ** (-np.arange(half) / half))
        a, b = x[..., :half], x[..., half:]
        c, s = np.cos(angles), np.sin(angles)
        return np.concatenate([a * c - b * s, a * s + b * c], -1).astype(x.dtype)

class Right(Adapter):
    @claims("half", base=10000.0)
    def rope(self, x, positions):
        return Adapter.rope(self, x, positions)
"""
TESTS = """
from posenc_conformance import conformance
{more}
test_wrong = conformance(Adapter)
test_right = conformance(Right)
helper = conformance(Adapter)

def test_own():
    pass
"""
GOLDEN = "rope.yaml::golden::interleaved-d4-start[float32]"
RIGHT = 45
"""Number of checks that a right rope of one combination and dtype has to pass."""
Run = Callable[..., pytest.RunResult]


@pytest.fixture
def run(pytester: pytest.Pytester) -> Run:
    """Return a function that runs plain pytest over a test file."""
    pytester.makepyfile(test_mine=f"{ADAPTER}{TESTS.format(more='')}")

    def run(*options: str) -> pytest.RunResult:
        return pytester.runpytest_subprocess(*options)

    return run


def ids(result: pytest.RunResult) -> set[str]:
    return {line for line in result.outlines if "::" in line}


@pytest.mark.slow
def test_every_check_is_a_test_of_the_file(run: Run) -> None:
    collected = ids(run("--collect-only", "-q"))
    assert "test_mine.py::test_own" in collected
    assert f"test_mine.py::test_wrong::{GOLDEN}" in collected
    assert not [name for name in collected if "helper" in name]


@pytest.mark.slow
@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["alone", "xdist"])
def test_each_adapter_has_its_own_scorecard(run: Run, workers: list[str]) -> None:
    result = run("-p", "no:cacheprovider", *workers)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines_random(
        [
            "*scorecard: Adapter in test_mine.py::test_wrong*",
            "rope  * interleaved  *float32  *",
            "*scorecard: Right in test_mine.py::test_right*",
            "rope  * half  *float32  * 2^16+*",
            "*layout-swapped*10 of 10 failures*",
            "alone      pytest 'test_mine.py::test_wrong::rope.yaml::*'",  # any worker may be first
        ]
    )
    assert result.parseoutcomes() == {"failed": 10, "passed": 16 + RIGHT + 1, "blocked": 19}


@pytest.mark.slow
def test_a_failure_is_run_by_itself_with_the_id_that_it_shows(run: Run) -> None:
    result = run(f"test_mine.py::test_wrong::{GOLDEN}", "-p", "no:cacheprovider")
    assert result.parseoutcomes() == {"failed": 1}
    result.stdout.fnmatch_lines(["*matches the half layout exactly*"])


@pytest.mark.slow
def test_selections_work_as_elsewhere(run: Run) -> None:
    assert run("-m", "golden and rope", "-k", "test_right", "--strict-markers").ret == 0
    assert run("-k", "sweep and test_right").parseoutcomes()["passed"] == 1
    assert run().ret == pytest.ExitCode.TESTS_FAILED
    assert run("--lf").parseoutcomes()["failed"] == 10


@pytest.mark.slow
def test_fixtures_and_hooks_of_the_project_see_test_functions(pytester: pytest.Pytester) -> None:
    more = """
import pytest
calls = []

@pytest.fixture(autouse=True)
def noted(request):
    calls.append(request.node.name)
    yield

def test_the_fixture_was_used_by_every_check():
    assert len(calls) > 40
"""
    order = "test_right = conformance(Right)\n"
    source = TESTS.format(more="").replace("test_wrong = conformance(Adapter)\n", "")
    pytester.makepyfile(test_mine=f"{ADAPTER}{source.replace(order, '')}{order}{more}")
    pytester.makeconftest(
        "def pytest_collection_modifyitems(items):\n"
        "    items.sort(key=lambda item: item.function.__name__ == 'test_the_fixture_was_used_by"
        "_every_check')\n"
    )
    result = pytester.runpytest_subprocess()
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()


@pytest.mark.slow
def test_each_adapter_has_its_own_report(run: Run, pytester: pytest.Pytester) -> None:
    run("--posenc-report=r.json", "--junitxml=j.xml")
    names = sorted(path.name for path in pytester.path.glob("r*.json"))
    reports = [json.loads((pytester.path / name).read_text()) for name in names]
    assert [entry["implementation"]["name"] for entry in reports] == ["Right", "Adapter"]
    right, wrong = reports
    assert right["summary"]["passed"] == RIGHT
    assert right["schemes"] == ["rope"]
    assert wrong["summary"]["failed"] == 10
    assert GOLDEN in [entry["id"] for entry in wrong["checks"]]
    properties = ElementTree.parse(pytester.path / "j.xml").iter("property")
    stored = [json.loads(entry.attrib["value"]) for entry in properties]
    assert len(stored) == RIGHT + RIGHT


@pytest.mark.slow
def test_known_failures_are_read_from_the_folder_of_the_test_file(
    pytester: pytest.Pytester,
) -> None:
    folder = pytester.mkdir("tests")
    source = ADAPTER + "from posenc_conformance import conformance\n"
    (folder / "test_mine.py").write_text(
        f"{source}test_wrong = conformance(Adapter, known='known.yaml')\n", encoding="utf-8"
    )
    (folder / "known.yaml").write_text(
        f"posenc-known-failures: 1\nfailures:\n- reason: it is so\n  ids: ['{GOLDEN}']\n",
        encoding="utf-8",
    )
    result = pytester.runpytest_subprocess()
    assert result.parseoutcomes()["failed"] == 9
    assert result.parseoutcomes()["known"] == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("conformance(Adapter, schemes='rop')", "*did you mean*rope*"),
        ("conformance(object)", "*claims nothing*"),
        ("conformance('nowhere.py')", "*no file*"),
        ("conformance('json:Adapter')", "*no attribute*"),
        ("conformance(Right, schemes=4)", "*conformance() is asked for schemes=4*"),
        ("conformance(Right, known=4)", "*conformance() is given known=4*"),
    ],
)
def test_an_adapter_that_cannot_be_judged_is_an_error_without_a_traceback(
    pytester: pytest.Pytester, asked: str, said: str
) -> None:
    source = f"from posenc_conformance import conformance\ntest_mine = {asked}\n"
    pytester.makepyfile(test_mine=f"{ADAPTER}{source}")
    result = pytester.runpytest_subprocess()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines([said])
    assert "posenc_conformance/" not in result.stdout.str()


def given(**odd: Any) -> Conformance:
    """Call conformance() outside of a test file."""
    return conformance(object, **odd)


@pytest.mark.slow
def test_tests_that_nothing_would_collect_are_an_error(pytester: pytest.Pytester) -> None:
    source = "from posenc_conformance import conformance\n"
    test = "def test_mine():\n    conformance(Right, schemes=['rope'])\n"
    pytester.makepyfile(test_mine=f"{ADAPTER}{source}{test}")
    result = pytester.runpytest_subprocess()
    assert result.parseoutcomes() == {"failed": 1}
    result.stdout.fnmatch_lines(["*it would judge nothing*"])


@pytest.mark.parametrize("odd", [4, [4], [], b"rope", ["rope", None], object(), True])
def test_schemes_that_are_no_ids_are_one_message(odd: Any) -> None:
    with pytest.raises(UserError, match="asked for schemes=") as refused:
        assert given(schemes=odd).schemes
    assert refused.value.hint


@pytest.mark.parametrize("odd", [4, None, b"known.yaml", ["known.yaml"], "nul\0"])
def test_known_failures_that_are_no_path_are_one_message(odd: Any) -> None:
    with pytest.raises(UserError, match="is given known=") as refused:
        assert given(known=odd).known
    assert refused.value.hint


@pytest.mark.slow
def test_an_adapter_may_be_named_by_its_file(pytester: pytest.Pytester) -> None:
    folder = pytester.mkdir("tests")
    (folder / "mine.py").write_text(ADAPTER, encoding="utf-8")
    source = "from posenc_conformance import conformance\n"
    call = "conformance('mine.py:Right', schemes=['rope'])"
    (folder / "test_mine.py").write_text(f"{source}test_mine = {call}\n", encoding="utf-8")
    assert pytester.runpytest_subprocess().parseoutcomes() == {"passed": RIGHT}


# Settings


@pytest.fixture
def project(pytester: pytest.Pytester) -> Path:
    """Return the tests of a project whose settings name an adapter."""
    folder = pytester.mkdir("tests")
    (folder / "mine.py").write_text(ADAPTER, encoding="utf-8")
    (folder / "test_own.py").write_text("def test_own():\n    pass\n", encoding="utf-8")
    pytester.makepyprojecttoml('[tool.pytest.ini_options]\nposenc_impl = "tests/mine.py:Right"\n')
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["alone", "xdist"])
def test_the_settings_judge_an_adapter_along_with_the_tests(
    project: Path, pytester: pytest.Pytester, workers: list[str]
) -> None:
    result = pytester.runpytest_subprocess(*workers)
    assert result.parseoutcomes() == {"passed": RIGHT + 1}
    result.stdout.fnmatch_lines(["*scorecard: *mine.py:Right*"])


@pytest.mark.slow
def test_named_tests_run_without_the_adapter(project: Path, pytester: pytest.Pytester) -> None:
    assert pytester.runpytest_subprocess("tests").parseoutcomes() == {"passed": 1}
    assert pytester.runpytest_subprocess("rope.yaml").parseoutcomes() == {"passed": RIGHT}
    assert pytester.runpytest_subprocess("-k", "test_own").ret == pytest.ExitCode.OK


@pytest.mark.slow
def test_hooks_that_read_functions_work_with_the_command_too(
    project: Path, pytester: pytest.Pytester
) -> None:
    pytester.makeconftest(
        "def pytest_collection_modifyitems(items):\n"
        "    assert all(callable(item.function) for item in items)\n"
    )
    result = pytester.runpytest_subprocess("--impl=tests/mine.py:Right")
    assert result.parseoutcomes() == {"passed": RIGHT}


@pytest.mark.slow
def test_the_command_line_overrides_the_settings(project: Path, pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_subprocess("--impl=tests/mine.py:Adapter")
    assert result.parseoutcomes()["failed"] == 10
    assert "test_own" not in result.stdout.str()
