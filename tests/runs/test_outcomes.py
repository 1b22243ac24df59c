"""Outcomes of pytest besides passing and failing: skips, expected failures, errors."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.checks import Check, Options
from posenc_conformance.checks.execution import execute
from posenc_conformance.implementations.reference import reference_for
from posenc_conformance.judge.misbehaviour import Breakdown
from posenc_conformance.judge.verdict import Outcome, Verdict
from posenc_conformance.registry import load_scheme
from posenc_conformance.scheme_file.read import paths_by_name

pytestmark = pytest.mark.remembered(shipped=True)

SOURCE = """
import numpy as np
from posenc_conformance import claims, conformance

class Adapter:
    @claims("half", dtype="float32", base=10000.0)
    def rope(self, x, positions):
        half = x.shape[-1] // 2
        angles = np.outer(positions, 10000.0 ** (-np.arange(half) / half))
        a, b = x[..., :half], x[..., half:]
        c, s = np.cos(angles), np.sin(angles)
        return np.concatenate([a * c - b * s, a * s + b * c], -1).astype(x.dtype)
"""
WRONG = SOURCE.replace("return np", "return x if x.shape[-1] == 80 else np")
"""An adapter that is wrong in one golden."""
SUITE = "test_mine = conformance(Adapter)\n"
WAYS = {
    "impl": ["--impl=test_mine.py:Adapter", "rope.yaml::golden"],
    "impl xdist": ["--impl=test_mine.py:Adapter", "rope.yaml::golden", "-n", "2"],
    "tests": ["-k", "golden"],
    "tests xdist": ["-k", "golden", "-n", "2"],
}
"""Options that run the same checks."""
GOLDENS = 6
Judge = Callable[..., tuple[pytest.RunResult, dict[str, Any]]]


@pytest.fixture
def judge(pytester: pytest.Pytester) -> Judge:
    """Return a function that judges an adapter in one of WAYS, and reads the report."""

    def run(
        way: str, source: str = SOURCE, *, conftest: str = "", more: str = ""
    ) -> tuple[pytest.RunResult, dict[str, Any]]:
        pytester.makepyfile(test_mine=f"import pytest\n{source}{SUITE}{more}")
        pytester.makeconftest(f"import pytest\n{conftest}")
        options = ("-p", "no:cacheprovider", "--posenc-report=r.json")
        result = pytester.runpytest_subprocess(*WAYS[way], *options)
        assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
        report = Path(pytester.path, "r.json")
        return result, json.loads(report.read_text()) if report.exists() else {}

    return run


def marking(what: str, which: str = "True") -> str:
    """Return a conftest.py that marks some checks, as pytest's manual does with slow tests."""
    return (
        "def pytest_collection_modifyitems(items):\n"
        "    for item in items:\n"
        f"        if {which}:\n"
        f"            item.add_marker(pytest.mark.{what})\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize("way", ["impl", "tests xdist"])
def test_a_check_marked_skip_is_not_selected(way: str, judge: Judge) -> None:
    result, report = judge(way, WRONG, conftest=marking("skip(reason='slow')", "'80' in item.name"))
    assert result.ret == pytest.ExitCode.OK
    outcomes = result.parseoutcomes()
    assert (outcomes["skipped"], outcomes["passed"]) == (1, GOLDENS - 1)
    assert (report["summary"]["passed"], report["summary"]["failed"]) == (GOLDENS - 1, 0)
    assert report["summary"]["not_selected"]
    assert not [check for check in report["checks"] if "half-head80" in check["id"]]


@pytest.mark.slow
@pytest.mark.parametrize("way", ["impl", "tests xdist"])
def test_a_check_marked_xfail_stays_failed_in_the_report(way: str, judge: Judge) -> None:
    result, report = judge(way, WRONG, conftest=marking("xfail"))
    assert result.ret == pytest.ExitCode.OK
    assert result.parseoutcomes()["xfailed"] == 1
    assert result.parseoutcomes()["xpassed"] == GOLDENS - 1
    assert (report["summary"]["passed"], report["summary"]["failed"]) == (GOLDENS - 1, 1)


@pytest.mark.slow
def test_a_check_that_passes_against_a_strict_xfail_fails(judge: Judge) -> None:
    result, report = judge("tests", conftest=marking("xfail(strict=True)"))
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert result.parseoutcomes()["failed"] == GOLDENS
    assert report["summary"]["passed"] == GOLDENS
    result.stdout.no_fnmatch_line("*more checks with this cause*")


@pytest.mark.slow
@pytest.mark.parametrize(("way", "what"), [("impl", "xfail(run=False)"), ("impl xdist", "skip")])
def test_a_run_of_skipped_checks_only_judges_nothing(way: str, what: str, judge: Judge) -> None:
    result, report = judge(way, conftest=marking(what))
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert report["checks"] == []
    result.stdout.fnmatch_lines(["posenc: nothing of *was judged: *"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "more",
    [
        "pytestmark = pytest.mark.skipif(True, reason='no GPU')",
        "@pytest.fixture(autouse=True)\ndef lib():\n    pytest.importorskip('not_there')\n",
    ],
    ids=["mark", "fixture"],
)
def test_a_test_file_may_skip_its_checks(more: str, judge: Judge) -> None:
    result, report = judge("tests", more=more)
    assert result.ret == pytest.ExitCode.OK
    assert result.parseoutcomes()["skipped"] == GOLDENS
    assert report.get("checks", []) == []


@pytest.mark.slow
@pytest.mark.parametrize("way", ["tests", "tests xdist"])
def test_an_error_in_a_fixture_is_an_error_and_fails_its_check(way: str, judge: Judge) -> None:
    setup = "@pytest.fixture(autouse=True)\ndef gpu():\n    raise OSError('no GPU')\n"
    result, report = judge(way, more=setup)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert result.parseoutcomes()["errors"] == GOLDENS
    assert {check["verdict"] for check in report["checks"]} == {"failed"}
    assert all("OSError: no GPU" in check["message"] for check in report["checks"])
    teardown = "@pytest.fixture(autouse=True)\ndef gpu():\n    yield\n    raise OSError('gone')\n"
    result, report = judge(way, WRONG, more=teardown)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert result.parseoutcomes()["passed"] == GOLDENS - 1
    messages = {check["message"].partition("OSError: gone")[1] for check in report["checks"]}
    assert messages == {"OSError: gone", ""}  # the wrong check keeps its own message
    assert report["summary"]["failed"] == GOLDENS


LEAVING = {
    "half-head80": "pytest.skip('no GPU')",
    "half-d2": "pytest.xfail('known')",
    "half-d4-start": "raise unittest.SkipTest('no GPU')",
    "llama-head128-4k": "os._exit(0)",
    "gemma-head256": "os.execv('/bin/true', ['true'])",
    "half-batch-unsorted": "pytest.fail('too slow')",  # as a plugin with a time limit does
}
"""Checks, and statements that leave them."""


@pytest.mark.slow
@pytest.mark.parametrize("way", ["impl xdist", "tests"])
def test_leaving_a_check_fails_it(way: str, judge: Judge) -> None:
    """A function that returns logits may leave a check: unlike an adapter, it is not shielded."""
    lines = [f"    if {name!r} in check.id: {statement}\n" for name, statement in LEAVING.items()]
    hook = (
        "import os, unittest\n"
        "from posenc_conformance.pytest_run import items\n"
        "execute = items.execute\n"
        f"def leaving(check, options):\n{''.join(lines)}    return execute(check, options)\n"
        "items.execute = leaving\n"
    )
    result, report = judge(way, conftest=hook)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert result.parseoutcomes()["failed"] == len(LEAVING) == report["summary"]["failed"]
    assert all("the check broke off: " in check["message"] for check in report["checks"])


BLIND = """
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        report.outcome = {outcome!r}
"""


@pytest.mark.slow
@pytest.mark.parametrize(("way", "outcome"), [("tests", "passed"), ("tests xdist", "skipped")])
def test_a_hook_that_relabels_failures_does_not_make_a_run_pass(
    way: str, outcome: str, judge: Judge
) -> None:
    result, report = judge(way, WRONG, conftest=BLIND.format(outcome=outcome))
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert report["summary"]["failed"] == 1
    result.stdout.fnmatch_lines(["posenc: 1 check failed, and pytest was told otherwise*"])


@pytest.mark.slow
def test_a_check_that_passes_in_a_rerun_has_passed(judge: Judge) -> None:
    """The verdict is that of the last run if a plugin reruns failures."""
    again = (
        "def pytest_runtest_protocol(item, nextitem):\n"
        "    from _pytest.runner import runtestprotocol\n"
        "    if 'half-head80' not in item.nodeid:\n"
        "        return None\n"
        "    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)\n"
        "    first = runtestprotocol(item, nextitem=nextitem, log=False)\n"
        "    first[1].outcome = 'rerun'\n"
        "    item.ihook.pytest_runtest_logreport(report=first[1])\n"
        "    runtestprotocol(item, nextitem=nextitem, log=True)\n"
        "    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)\n"
        "    return True\n"
        "def pytest_report_teststatus(report):\n"
        "    return ('rerun', 'R', 'RERUN') if report.outcome == 'rerun' else None\n"
    )
    once = WRONG.replace("x if x.shape[-1] == 80 else", "x if not self.calls else")
    once = once.replace("        half =", "        self.calls += x.shape[-1] == 80\n        half =")
    once = once.replace("class Adapter:", "class Adapter:\n    calls = -1\n")
    once = once.replace("not self.calls", "x.shape[-1] == 80 and self.calls < 1")
    result, report = judge("tests", once, conftest=again)
    assert result.parseoutcomes()["rerun"] == 1
    assert result.ret == pytest.ExitCode.OK
    assert report["summary"]["failed"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--co", "--fixtures", "--help", "--version"])
def test_options_that_run_nothing_mention_no_report(
    option: str, judge: Judge, pytester: pytest.Pytester
) -> None:
    judge("impl")
    options = (option, "--posenc-report=r.json", "-p", "no:cacheprovider")
    result = pytester.runpytest_subprocess(*WAYS["impl"], *options)
    assert result.ret == pytest.ExitCode.OK
    assert "report: " not in result.stdout.str()


def test_losing_the_process_fails_any_check() -> None:
    def lose(*_: object) -> Outcome:
        raise Breakdown("rope() was ended by signal 9")

    listed = [load_scheme(paths_by_name()["rope"])]
    subject = subjects(reference_for(listed)(), listed)[0]
    check = Check("behaviour", "lost", subject, None, lose)
    execution = execute(check, Options(1))
    assert (execution.verdict, execution.text) == (Verdict.FAILED, "rope() was ended by signal 9")
