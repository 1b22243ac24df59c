"""One run of the kit: the hooks in which it collects, keeps what came out, and tells it."""

import gc
import signal
import sys
import threading
from collections import defaultdict
from collections.abc import Generator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from posenc_conformance.checks.execution import Execution
from posenc_conformance.errors import describe_exception
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.judge.verdict import Verdict
from posenc_conformance.models.file import Model
from posenc_conformance.pytest_run.items import PROPERTY, CheckItem, ModelFile, SpecFile, SpecFolder
from posenc_conformance.pytest_run.plan import Plan
from posenc_conformance.report import announcement, causes, deployed, document, scorecard
from posenc_conformance.report.layout import Report
from posenc_conformance.report.result import Place, Result
from posenc_conformance.scheme_file.read import is_scheme_file, spec_folder

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
        self._folders = (spec_folder(), spec_folder() / "models")
        self._scheme_files: dict[Path, bool] = {}
        self._report_problem = ""
        self._interrupted = ""
        self._failed: list[pytest.TestReport] | None = None
        self._watch = announcement.Watch()

    @cached_property
    def report(self) -> Report:
        """Everything that came out, in the form of the published schema."""
        schemes = self._selected()
        chosen: list[KnownScheme | Model] = [*schemes, *self.plan.chosen_models]
        files = {each.path.name for each in chosen}
        return document.build(
            self.plan.implementation,
            self.plan.subjects,
            schemes,
            self.plan.chosen_models,
            list(self.results.values()),
            everything=self.plan.everything(schemes),
            claimed={id for id in self.plan.claimed if id.partition("::")[0] in files},
            interrupted=self._interrupted,
        )

    def _selected(self) -> Sequence[KnownScheme]:
        """Return the schemes of the report.

        They are those chosen, or what ``-m`` and ``-k`` have left of them.
        """
        option = self.config.option
        if not (option.markexpr or option.keyword):
            return self.plan.chosen
        judged = {each.place.scheme for each in self.results.values()}
        return [each for each in self.plan.chosen if each.id in judged]

    def pytest_collect_directory(self, path: Path, parent: pytest.Collector) -> SpecFolder | None:
        """Collect a folder of the spec, when everything is asked for."""
        if self.config.args_source is pytest.Config.ArgsSource.ARGS or path not in self._folders:
            return None
        return SpecFolder.from_parent(parent, path=path)

    def pytest_collect_file(
        self, file_path: Path, parent: pytest.Collector
    ) -> SpecFile | ModelFile | None:
        """Collect a scheme or model file; its ids begin with its name, wherever it lies."""
        if file_path.resolve() in self.plan.models:
            name = file_path.name
            return ModelFile.from_parent(parent, path=file_path, nodeid=name, plan=self.plan)
        if file_path.suffix != ".yaml":
            return None
        # Pytest asks again for every file of a folder when it comes to the next one.
        if file_path not in self._scheme_files:
            self._scheme_files[file_path] = is_scheme_file(file_path)
        if not self._scheme_files[file_path]:
            return None
        return SpecFile.from_parent(parent, path=file_path, nodeid=file_path.name, plan=self.plan)

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        """Keep the garbage collector from visiting what is collected, which stays until the end."""
        self._collecting = True
        gc.disable()
        try:
            return (yield)
        finally:
            gc.freeze()
            gc.enable()

    def pytest_report_header(self) -> list[str]:
        """Say what is judged, and where."""
        implementation = self.plan.implementation
        limits = [f"posenc: {implementation.limits}"] if implementation.limits else []
        return [f"posenc: judging {document.title(implementation)}", *limits]

    def pytest_sessionstart(self) -> None:
        """Let the signal that ends a run from outside interrupt it, so that it still reports."""
        ours = threading.current_thread() is threading.main_thread()
        if ours and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, _interrupt)

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Remember that the run was not through."""
        self._interrupted = describe_exception(excinfo.value)

    def pytest_unconfigure(self) -> None:
        """End the process in which the implementation lives."""
        self.plan.implementation.end()

    def pytest_report_collectionfinish(self, items: Sequence[pytest.Item]) -> list[str]:
        """Say how much there is to do."""
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
        found = causes.found_by(report, PROPERTY)
        if found is not None and report.when == "call":
            self.results[report.nodeid] = Result.received(found)
            self.seconds[found["scheme"], found["call"]] += report.duration
        elif report.failed and report.nodeid in self.plan.claimed:
            place = Place.of(self.plan.claimed[report.nodeid])
            failed = Execution(Verdict.FAILED, text=f"broke off: {report.longrepr}")
            self.results[report.nodeid] = Result.of(report.nodeid, place, failed)

    def pytest_report_teststatus(
        self, report: pytest.TestReport | pytest.CollectReport
    ) -> tuple[str, str, Any] | None:
        """Return words and letters for verdicts that pytest has no word for."""
        if not isinstance(report, pytest.TestReport):  # of a file that cannot be collected
            return None
        found = dict(report.user_properties).get(PROPERTY)
        if report.when == "call" and report.outcome == "skipped" and isinstance(found, dict):
            letter, word = STATUS[found["verdict"]]
            return word.lower(), letter, (word, {"yellow": True})
        return None

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the report, and see to it that a run which judged nothing is not green."""
        self._leave_out_hypothesis()
        if self.plan.request.worker or not self._collecting or session.config.option.collectonly:
            return
        self._show_causes_once()
        if self.plan.request.report_file:
            self._report_problem = document.write(self.report, self.plan.request.report_file)
        if self._interrupted and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.INTERRUPTED
        if session.exitstatus == pytest.ExitCode.OK:
            if self._report_problem or self._blocked_unseen():
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
            elif not self.results:
                session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED

    def _blocked_unseen(self) -> bool:
        """Return whether checks were blocked by a smoke check that was not among those selected.

        A smoke check that is known to fail blocks the rest without a word.
        """
        if any("::smoke::" in id for id in self.plan.known):
            return False
        smoke = [each.place for each in self.results.values() if each.place.level == "smoke"]
        seen = {(place.scheme, place.call, place.combination) for place in smoke}
        return any(
            (each.place.scheme, each.place.call, each.place.combination) not in seen
            for each in self.results.values()
            if each.verdict == Verdict.BLOCKED
        )

    def _leave_out_hypothesis(self) -> None:
        """Leave out Hypothesis's summary, which has nothing to say.

        It would import all of Hypothesis, which takes longer than a small run. The summary stays if
        Hypothesis is there, because a test has used it, or may be in another process.
        """
        plugins = self.config.pluginmanager
        if "hypothesis" not in sys.modules and not plugins.hasplugin("dsession"):
            plugins.unregister(name="hypothesispytest")

    def _show_causes_once(self) -> None:
        """Give pytest only the first failure of each cause, until the scorecard is shown."""
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
            for model in self.plan.chosen_models:
                for line in deployed.lines(model, self.report):
                    terminalreporter.write_line(line)
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
        if self._interrupted and self._collecting:
            missing = len(self.plan.claimed) - len(self.results)
            why = f"the run was interrupted ({self._interrupted}), so {missing} checks did not run"
            terminalreporter.write_line(f"posenc: no verdict: {why}", red=True)
        if self._report_problem:
            terminalreporter.write_line(self._report_problem, red=True)
        elif self.plan.request.report_file:
            terminalreporter.write_line(f"report: {self.plan.request.report_file}")

    def _nothing_judged(self) -> str:
        if self.plan.claimed:
            why = f"the selection excludes all of its {len(self.plan.claimed)} checks"
        elif self.plan.chosen and all(self.plan.problem(scheme) for scheme in self.plan.chosen):
            why = "the chosen schemes are not finished"
        else:
            ids = [scheme.id for scheme in self.plan.chosen]
            ids += [model.id for model in self.plan.chosen_models]
            claimed = dict.fromkeys([subject.home for subject in self.plan.subjects])
            only = ", ".join([*claimed, *self.plan.model_checks.claimed])
            why = f"it makes no claims about {', '.join(ids)}, only about {only}"
        return f"posenc: nothing of {self.plan.implementation.name} was judged: {why}"


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt(signal.Signals(number).name)
