"""One run of the kit: the hooks in which it collects, keeps what came out, and tells it."""

import gc
from collections import defaultdict
from collections.abc import Generator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from posenc_conformance.checks.execution import Execution
from posenc_conformance.judge.verdict import Verdict
from posenc_conformance.pytest_run.items import PROPERTY, CheckItem, SpecFile
from posenc_conformance.pytest_run.plan import Plan
from posenc_conformance.report import announcement, causes, document, scorecard
from posenc_conformance.report.result import Place, Result
from posenc_conformance.scheme_file.read import is_scheme_file

STATUS = {
    "blocked": ("B", "BLOCKED"),
    "silent": ("S", "SILENT"),
    "known": ("K", "KNOWN"),
    "not_claimed": ("-", "NOT CLAIMED"),
}


class Run:
    """State of a run, and the hooks that need it."""

    def __init__(self, plan: Plan, config: pytest.Config) -> None:
        self.plan = plan
        self.config = config
        self.results: dict[str, Result] = {}
        self.seconds: defaultdict[tuple[str, str], float] = defaultdict(float)
        self._collecting = False
        self._report_problem = ""
        self._failed: list[pytest.TestReport] | None = None
        self._watch = announcement.Watch()

    @cached_property
    def report(self) -> dict[str, Any]:
        """Everything that came out, as the published schema has it."""
        return document.build(
            self.plan.implementation,
            self.plan.subjects,
            self.plan.chosen,
            list(self.results.values()),
            everything=self.plan.everything,
            claimed=self.plan.claimed.keys(),
        )

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> SpecFile | None:
        """Collect a scheme file; its ids begin with its name, wherever it lies."""
        if file_path.suffix != ".yaml" or not is_scheme_file(file_path):
            return None
        return SpecFile.from_parent(parent, path=file_path, nodeid=file_path.name, plan=self.plan)

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        """What is collected stays until the end: keep the garbage collector from visiting it."""
        self._collecting = True
        gc.disable()
        try:
            return (yield)
        finally:
            gc.freeze()
            gc.enable()

    def pytest_report_header(self) -> str:
        """What is judged."""
        return f"posenc: judging {document.title(self.plan.implementation)}"

    def pytest_report_collectionfinish(self, items: Sequence[pytest.Item]) -> list[str]:
        """How much there is to do."""
        checks = [each.check for each in items if isinstance(each, CheckItem)]
        self._watch.start(len(checks))
        return announcement.lines(checks)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Tell now and then what a slow run waits for."""
        if line := self._watch.due(len(self.results), self.seconds):
            terminal = self.config.pluginmanager.get_plugin("terminalreporter")
            if terminal is not None:
                terminal.ensure_newline()
                terminal.write_line(line)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what a check found; one that broke off without a word has failed."""
        found: Any = dict(report.user_properties).get(PROPERTY)
        if isinstance(found, dict) and report.when == "call":
            self.results[report.nodeid] = Result.received(found)
            self.seconds[found["scheme"], found["call"]] += report.duration
        elif report.failed and report.nodeid in self.plan.claimed:
            place = Place.of(self.plan.claimed[report.nodeid])
            failed = Execution(Verdict.FAILED, text=f"broke off: {report.longrepr}")
            self.results[report.nodeid] = Result.of(report.nodeid, place, failed)

    def pytest_report_teststatus(
        self, report: pytest.TestReport | pytest.CollectReport
    ) -> tuple[str, str, Any] | None:
        """Verdicts that pytest has no word for."""
        if not isinstance(report, pytest.TestReport):  # of a file that cannot be collected
            return None
        found = dict(report.user_properties).get(PROPERTY)
        if report.when == "call" and report.outcome == "skipped" and isinstance(found, dict):
            letter, word = STATUS[found["verdict"]]
            return word.lower(), letter, (word, {"yellow": True})
        return None

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the report; a run that judged nothing is not green."""
        if self.plan.request.worker or not self._collecting or session.config.option.collectonly:
            return
        self._show_causes_once()
        if self.plan.request.report_file:
            self._report_problem = document.write(self.report, self.plan.request.report_file)
        if session.exitstatus == pytest.ExitCode.OK:
            if self._report_problem:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
            elif not self.results:
                session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED

    def _show_causes_once(self) -> None:
        """Until the scorecard, pytest is given the first failure of each cause alone."""
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None and terminal.verbosity <= 0 and "failed" in terminal.stats:
            self._failed = terminal.stats["failed"]
            terminal.stats["failed"] = causes.first_of_each(self._failed, PROPERTY)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show the scorecard."""
        if self._failed is not None:
            terminalreporter.stats["failed"] = self._failed
        detailed, brief = terminalreporter.verbosity > 0, terminalreporter.verbosity < 0
        if self.results:
            terminalreporter.section(f"scorecard: {document.title(self.plan.implementation)}")
            for line in scorecard.lines(self.report, detailed=detailed, brief=brief):
                terminalreporter.write_line(line)
            for line in announcement.costs(self.seconds):
                terminalreporter.write_line(line)
        elif self._collecting:
            terminalreporter.write_line(self._nothing_judged())
        if self.results and self.plan.request.precision:
            terminalreporter.section("precision")
            for line in scorecard.curves(self.report):
                terminalreporter.write_line(line)
        if self._report_problem:
            terminalreporter.write_line(self._report_problem, red=True)
        elif self.plan.request.report_file:
            terminalreporter.write_line(f"report: {self.plan.request.report_file}")

    def _nothing_judged(self) -> str:
        if self.plan.claimed:
            why = f"the selection left none of its {len(self.plan.claimed)} checks"
        elif all(self.plan.problem(scheme) for scheme in self.plan.chosen):
            why = "what was chosen is not finished"
        else:
            chosen = ", ".join(scheme.id for scheme in self.plan.chosen)
            claimed = dict.fromkeys(subject.scheme.id for subject in self.plan.subjects)
            why = f"it claims nothing of {chosen}, only of {', '.join(claimed)}"
        return f"posenc: nothing was judged of {self.plan.implementation.name}: {why}"
