"""One run of the kit: the hooks that collect checks, record their results and report them."""

import gc
import math
import re
import signal
import sys
import threading
from collections import ChainMap
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import Any

import pytest

from posenc_conformance.checks.execution import Execution
from posenc_conformance.errors import describe_exception
from posenc_conformance.files import Writer, shown
from posenc_conformance.judge.process_state import preventing_exit
from posenc_conformance.judge.verdict import Verdict
from posenc_conformance.pytest_run.items import (
    CheckFunction,
    CheckItem,
    CheckNode,
    ModelFile,
    SpecFile,
    SpecFolder,
    alone,
)
from posenc_conformance.pytest_run.judgement import Judgement, show
from posenc_conformance.pytest_run.options import Request
from posenc_conformance.pytest_run.plan import Plan
from posenc_conformance.report import announcement, causes, document
from posenc_conformance.report.causes import PROPERTY
from posenc_conformance.report.document import Frame, title
from posenc_conformance.report.last_words import last_words
from posenc_conformance.report.layout import Report
from posenc_conformance.report.page import WRITER as PAGES
from posenc_conformance.report.page import page
from posenc_conformance.scheme_file.read import is_scheme_file, spec_folder

STATUS = {
    "blocked": ("B", "BLOCKED"),
    "silent": ("S", "SILENT"),
    "known": ("K", "KNOWN"),
    "not_claimed": ("-", "NOT CLAIMED"),
}


ENDING = [signal.SIGTERM] if sys.platform == "win32" else [signal.SIGTERM, signal.SIGHUP]
"""Signals that end a run from outside: from a scheduler, or from a terminal that closes."""
ENOUGH = 3
"""The number of Ctrl-C presses that ends the process, whatever it is doing."""
FORGOTTEN = 10.0
"""Seconds after which a Ctrl-C that interrupted no run no longer counts."""
PAUSE, SHARE = 5.0, 20
"""Pause between interim reports: at least PAUSE seconds, and SHARE times the time to write one."""
NAME = "posenc-run"
"""The name of the kit's Run among pytest's plugins."""


class Run:
    """State of a run, and the hooks that need it."""

    def __init__(self, config: pytest.Config, request: Request, *, alone: bool = False) -> None:
        self.config = config
        self.request = request
        self.alone = alone
        """Whether the command line selects only the kit's checks, and no other tests."""
        self.judgements: dict[str, Judgement] = {}
        """Judgements by the prefix of their checks' ids: empty for ``--impl``, the id of a
        ``conformance(...)`` for one in a test file."""
        self._collecting = False
        self._spec = spec_folder()
        self._scheme_files: dict[Path, bool] = {}
        self._report_problem = ""
        self._written: dict[Path, set[Path]] = {}
        """Files written so far, by the name that an option gave."""
        self._kept_until = -math.inf
        self._overruled = 0
        """The number of checks that failed although the session ended with exit status OK."""
        self._interrupted = ""
        self._is_open = False
        """Whether a session has begun and not finished."""
        self._through = True
        """Whether the run, if it has begun, has run all its tests."""
        self._failed: list[pytest.TestReport] | None = None
        self._watch = announcement.Watch()
        self._key = _Key()

    def judge(self, plan: Plan, prefix: str = "") -> None:
        """Add the judgement of a plan, whose checks' ids begin with ``prefix``."""
        judgement = Judgement(plan, alone(self.config, plan, prefix))
        judgement.is_filtered = bool(self.config.option.markexpr or self.config.option.keyword)
        self.judgements[prefix] = judgement

    def _judgement(self, prefix: str) -> Judgement:
        """Return a judgement; one without a plan if other processes judge."""
        if prefix not in self.judgements:
            self.judgements[prefix] = Judgement(None, alone(self.config, None, prefix))
        return self.judgements[prefix]

    @property
    def _plan(self) -> Plan | None:
        """The plan of ``--impl``; None if only test files call for checks."""
        return self.judgements[""].plan if "" in self.judgements else None

    @property
    def _judged(self) -> dict[str, Judgement]:
        """The judgements that have results and a known frame."""
        return {
            prefix: judgement
            for prefix, judgement in self.judgements.items()
            if judgement.results and judgement.is_told
        }

    def pytest_collect_directory(self, path: Path, parent: pytest.Collector) -> SpecFolder | None:
        """Collect a folder of the spec, if the command line names no files."""
        named = self.config.args_source is pytest.Config.ArgsSource.ARGS
        if self._plan is None or named or self._spec not in (path, *path.parents):
            return None
        return SpecFolder.from_parent(parent, path=path)

    def pytest_collect_file(
        self, file_path: Path, parent: pytest.Collector
    ) -> SpecFile | ModelFile | None:
        """Collect a scheme or model file, under ids that begin with its name without the folder."""
        plan = self._plan
        if plan is None:
            return None
        if file_path.resolve() in plan.models:
            name = file_path.name
            return ModelFile.from_parent(parent, path=file_path, nodeid=name, plan=plan)
        if file_path.suffix != ".yaml":
            return None
        # For each file, pytest collects all files of its folder again.
        if file_path not in self._scheme_files:
            self._scheme_files[file_path] = is_scheme_file(file_path)
        if not self._scheme_files[file_path]:
            return None
        return SpecFile.from_parent(parent, path=file_path, nodeid=file_path.name, plan=plan)

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        """Freeze the collected nodes, so that the garbage collector does not visit them."""
        self._collecting = True
        self._through = False
        gc.disable()
        try:
            return (yield)
        finally:
            gc.freeze()
            gc.enable()

    def pytest_report_header(self) -> list[str]:
        """Return lines that name the implementation and its limits."""
        if self._plan is None:
            return []
        implementation = self._plan.implementation
        limits = [f"posenc: {implementation.limits}"] if implementation.limits else []
        name = title(implementation.name, implementation.versions)
        notes = [f"posenc: {line}" for line in implementation.notes]
        return [*notes, f"posenc: judging {name}", *limits]

    def pytest_sessionstart(self) -> None:
        """Turn signals that end the run from outside into interruptions, which are reported."""
        self._is_open = not self.config.option.collectonly
        if threading.current_thread() is not threading.main_thread():
            return
        for number in ENDING:
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _interrupt)
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._key)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Detect an aborted run, whether or not pytest reports it."""
        try:
            with preventing_exit() if self.alone else nullcontext():
                result = yield
        except session.Failed:  # --maxfail is reached
            self._through = True
            raise
        self._through = True
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Record what interrupted the run."""
        self._key.is_dealt_with = True
        self._interrupted = describe_exception(excinfo.value)

    def pytest_unconfigure(self) -> None:
        """Finish open reports, end the implementations' processes, and restore signal handlers.

        Pytest does not finish a session whose header cannot be printed.
        """
        if self._is_open and not self.request.worker:
            self._through = False
            self._finish_reports()
        for judgement in self.judgements.values():
            if judgement.plan is not None:
                judgement.plan.implementation.end()
        # The handlers were set only if this is the main thread.
        if signal.getsignal(signal.SIGINT) is self._key:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        for number in ENDING:
            if signal.getsignal(number) is _interrupt:
                signal.signal(number, signal.SIG_DFL)

    def pytest_report_collectionfinish(self, items: Sequence[pytest.Item]) -> list[str]:
        """Announce the number of checks, their time and the largest call."""
        checks = [item.check for item in items if isinstance(item, CheckItem | CheckFunction)]
        self._watch.start(len(checks))
        return announcement.lines(checks)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Report the progress of a slow run now and then."""
        done = sum(len(judgement.results) for judgement in self.judgements.values())
        seconds = ChainMap(*(judgement.seconds for judgement in self.judgements.values()))
        if line := self._watch.due(done, seconds):
            terminal = self.config.pluginmanager.get_plugin("terminalreporter")
            if terminal is not None:
                terminal.ensure_newline()
                terminal.write_line(line)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Mark a check that broke off before or after its call as failed.

        A failure of the call itself takes precedence.
        """
        report = yield
        if isinstance(item, CheckNode) and report.failed and call.excinfo is not None:
            entry = causes.found_by(report)
            if report.when != "call" and (entry is None or entry["verdict"] != "failed"):
                why = f"broke off in {report.when}: {describe_exception(call.excinfo.value)}"
                item.note(Execution(Verdict.FAILED, text=why))
                report.user_properties = [*item.user_properties]
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record the result of a check; one that broke off without a result has failed."""
        entry = causes.found_by(report)
        if entry is not None and (report.when == "call" or report.failed):
            prefix = report.nodeid.removesuffix(entry["id"])
            judgement = self._judgement(prefix)
            judgement.note(entry, report.duration)
            judgement.expect(entry["id"], _is_expected(report))
            self._keep_report()
        elif report.failed:
            for prefix, candidate in self.judgements.items():
                if report.nodeid.startswith(prefix):
                    candidate.note_broken(report.nodeid.removeprefix(prefix), report.longrepr)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take the frames of judgements in test files from a pytest-xdist worker."""
        for prefix, fields in getattr(node, "workeroutput", {}).get(PROPERTY, {}).items():
            self._judgement(prefix).frame = Frame(**fields)

    def pytest_report_teststatus(
        self, report: pytest.TestReport | pytest.CollectReport
    ) -> tuple[str, str, Any] | None:
        """Return words and letters for verdicts that pytest has no word for."""
        if not isinstance(report, pytest.TestReport):  # a collection error
            return None
        entry = causes.found_by(report)
        if report.when != "call" or report.outcome != "skipped" or entry is None:
            return None
        if entry["verdict"] not in STATUS:  # it is marked with xfail, or a hook has changed it
            return None
        letter, word = STATUS[entry["verdict"]]
        return word.lower(), letter, (word, {"yellow": True})

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the report, and fail a run that judged nothing or whose failures were hidden."""
        if self._plan is not None:
            self._leave_out_hypothesis()
        if self.request.worker:
            self._tell_frames()
            return
        self._is_open = False
        if session.config.option.collectonly or (self._plan and not self._collecting):
            return
        self._show_causes_once()
        self._finish_reports()
        if self._interrupted and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.INTERRUPTED
        if session.exitstatus == pytest.ExitCode.OK:
            unseen = any(judged.blocked_unseen() for judged in self.judgements.values())
            self._overruled = sum(judged.unexpected for judged in self.judgements.values())
            if self._report_problem or unseen or self._overruled:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
            elif self.alone and not any(judged.has_verdict for judged in self.judgements.values()):
                session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED

    def _tell_frames(self) -> None:
        """Send the frames of test files, which only workers read, to the main process."""
        frames = {
            prefix: vars(judgement.plan.frame(judgement.plan.chosen))
            for prefix, judgement in self.judgements.items()
            if prefix and judgement.plan is not None
        }
        output: dict[str, object] = self.config.workeroutput  # type: ignore[attr-defined]  # of xdist
        output[PROPERTY] = frames

    def _finish_reports(self) -> None:
        """Write the reports; of all signals, only a third Ctrl-C can interrupt this."""
        if not self._through and not self._interrupted:
            self._interrupted = "the run broke off"
        for ended in self.judgements.values():
            ended.interrupted = self._interrupted
        self._key.is_dealt_with = True
        with _undisturbed():
            self._report_problem = self._write(lambda judgement: judgement.report)

    def _keep_report(self) -> None:
        """Write an interim report, from the first result on, in case the process is killed.

        Writing takes a small share of the time, however long the report gets. Judgements in test
        files of several processes are missing, since their frames arrive only at the end.
        """
        named = filter(None, (self.request.report_file, self.request.page_file))
        is_file = [path.is_file() or not path.exists() for path in named]
        if self.request.worker or not is_file or not all(is_file):
            return
        if monotonic() < self._kept_until:
            return
        began = monotonic()
        self._write(lambda judgement: judgement.report_so_far())
        ended = monotonic()
        self._kept_until = ended + max(PAUSE, SHARE * (ended - began))

    def _write(self, report_of: Callable[[Judgement], Report]) -> str:
        """Write the report and the page of each judgement, to own files if there are several.

        Returns the problem as text; empty if there is none.
        """
        request = self.request
        problem = written = ""
        if request.report_file is not None:
            problem = self._write_each(
                request.report_file,
                lambda own, path: document.write(report_of(own), path),
                document.WRITER,
            )
        if request.page_file is not None:
            written = self._write_each(
                request.page_file,
                lambda own, path: document.put(page(report_of(own)), path, PAGES),
                PAGES,
            )
        return problem or written

    def _write_each(
        self, path: Path, write: Callable[[Judgement, Path], str], writer: Writer
    ) -> str:
        """Write a file of each judgement; return the problem as text, empty if there is none."""
        problem = ""
        told = {prefix: judged for prefix, judged in self.judgements.items() if judged.is_told}
        chosen = self._judged or told
        places = {
            path if len(chosen) == 1 else path.with_stem(f"{path.stem}-{_slug(prefix)}"): judged
            for prefix, judged in chosen.items()
        }
        for own, judged in places.items():
            problem = write(judged, own) or problem
        written = self._written.get(path, set())
        for other in written - places.keys():  # written while there was only one judgement
            document.remove_old(str(other), writer)
        self._written[path] = {*places}
        return problem

    def _leave_out_hypothesis(self) -> None:
        """Leave out Hypothesis's summary, which would be empty.

        It would import Hypothesis, which takes longer than a small run. The summary stays if a test
        has imported Hypothesis, or a pytest-xdist worker may have.
        """
        plugins = self.config.pluginmanager
        if "hypothesis" not in sys.modules and not plugins.hasplugin("dsession"):
            plugins.unregister(name="hypothesispytest")

    def _show_causes_once(self) -> None:
        """Give pytest only the first failure of each cause, until the scorecard is shown."""
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None and terminal.verbosity <= 0 and "failed" in terminal.stats:
            self._failed = terminal.stats["failed"]
            terminal.stats["failed"] = causes.first_of_each(self._failed)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show the scorecard."""
        if self._failed is not None:
            terminalreporter.stats["failed"] = self._failed
        for prefix, judgement in self._judged.items():
            of = f" in {prefix.removesuffix('::')}" if prefix else ""
            show(judgement, terminalreporter, precision=self.request.precision, of=of)
        plan = self._plan
        if plan is not None and terminalreporter.verbosity < 0:  # the header is hidden
            for line in plan.implementation.notes:
                terminalreporter.write_line(f"posenc: {line}")
        if plan is not None and self._collecting:
            results = self.judgements[""].results
            judged = self.judgements[""].has_verdict
            is_run = self.alone and not self.config.option.collectonly
            if is_run and not judged and not self._interrupted:
                terminalreporter.write_line(_nothing_judged(plan, len(results)))
            if self._interrupted:
                missing = len(plan.claimed) - len(results)
                why = f"the run was interrupted ({self._interrupted}), so {missing} checks"
                terminalreporter.write_line(f"posenc: no verdict: {why} did not run", red=True)
        if self._overruled:
            many = f"{self._overruled} check{'s' * (self._overruled > 1)} failed"
            terminalreporter.write_line(
                f"posenc: {many}, and pytest was told otherwise by a hook of a conftest.py or "
                "plugin; a mark of xfail, or a file of known failures, would say so openly",
                red=True,
            )
        if self._report_problem:
            terminalreporter.write_line(self._report_problem, red=True)
        for path in () if self._report_problem else sorted(set().union(*self._written.values())):
            terminalreporter.write_line(f"report: {shown(path)}")

    @pytest.hookimpl(specname="pytest_terminal_summary", wrapper=True, tryfirst=True)
    def pytest_terminal_summary_last(
        self, terminalreporter: pytest.TerminalReporter
    ) -> Generator[None, object, object]:
        """Show the verdict once more below pytest's list of failures, if that is long."""
        result = yield
        for prefix, judgement in self._judged.items() if terminalreporter.hasopt("f") else ():
            of = f" in {prefix.removesuffix('::')}" if prefix else ""
            if line := last_words(judgement.report, of):
                terminalreporter.write_line(line, red=True)
        return result


def _nothing_judged(plan: Plan, ran: int) -> str:
    if ran:
        why = f"the {ran} checks that ran came to no verdict"
    elif plan.claimed:
        why = f"all of its {len(plan.claimed)} checks were left out or skipped"
    elif plan.chosen and all(plan.problem(scheme) for scheme in plan.chosen):
        why = "the chosen schemes are not finished"
    else:
        ids = [scheme.id for scheme in plan.chosen]
        ids += [model.id for model in plan.chosen_models]
        claimed = dict.fromkeys([subject.home for subject in plan.subjects])
        only = ", ".join([*claimed, *plan.model_checks.claimed])
        why = f"it makes no claims about {', '.join(ids)}, only about {only}"
    return f"posenc: nothing of {plan.implementation.name} was judged: {why}"


def _is_expected(report: pytest.TestReport) -> bool:
    """Return whether an xfail mark made pytest report a failure as expected."""
    return report.skipped and "wasxfail" in vars(report)


def _slug(prefix: str) -> str:
    """Return the suffix of a report's file name: the prefix in plain letters, or ``impl``."""
    return re.sub(r"\W+", "-", prefix).strip("-") or "impl"


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt(signal.Signals(number).name)


class _Key:
    """The handler of Ctrl-C: it interrupts the run, and pressed repeatedly it ends the process.

    While pytest handles an interruption, another one does nothing, so that the run still reports.
    """

    def __init__(self) -> None:
        self.is_dealt_with = False
        """Whether pytest is handling an interruption, or finishing."""
        self._pressed = 0
        self._last = -math.inf

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Interrupt the run; at the third press, end the process even if it hangs."""
        now, before = monotonic(), self._last
        self._last = now
        if now - before > FORGOTTEN and not self.is_dealt_with:
            self._pressed = 0  # at a debugger's prompt, say
        self._pressed += 1
        if self._pressed >= ENOUGH:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        if not self.is_dealt_with:
            signal.default_int_handler(number, frame)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Ignore all signals that would end the run, except a third Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    present = {number: signal.getsignal(number) for number in (*ENDING, signal.SIGINT)}
    numbers = [signum for signum, now in present.items() if now and not isinstance(now, _Key)]
    before = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
