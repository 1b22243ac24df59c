"""One run of the kit: what is judged, what came out, and telling it."""

import gc
from collections import defaultdict
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from posenc_conformance import announcement, causes, known, report, scorecard
from posenc_conformance.checks import LEVELS, Check, Options, Outcome, Verdict, checks_of
from posenc_conformance.checks.execution import Execution
from posenc_conformance.checks.smoke import demand_sense
from posenc_conformance.claimed import subjects
from posenc_conformance.collect import PROPERTY, CheckItem, place_of
from posenc_conformance.errors import UserError
from posenc_conformance.implementation import Implementation, load
from posenc_conformance.implementations.reference import Reference
from posenc_conformance.report import Result
from posenc_conformance.spec import Scheme, folder, is_scheme_file, paths
from posenc_conformance.spec import load as load_scheme

STATUS = {
    "blocked": ("B", "BLOCKED"),
    "silent": ("S", "SILENT"),
    "known": ("K", "KNOWN"),
    "not_claimed": ("-", "NOT CLAIMED"),
}


@dataclass(frozen=True)
class Request:
    """What the command line asks for."""

    options: Options
    robust: bool
    precision: bool
    report_file: Path | None
    known_file: Path | None
    worker: bool
    """Whether this is a process of pytest-xdist, which does not report."""

    @classmethod
    def of(cls, config: pytest.Config) -> "Request":
        """Raises UserError for what cannot be done."""
        examples = config.getoption("posenc_examples")
        if examples < 1:
            raise UserError(f"--posenc-examples={examples} draws nothing", "give at least 1")
        worker = hasattr(config, "workerinput")
        name, file = config.getoption("posenc_report"), config.getoption("posenc_known")
        return cls(
            Options(examples, config.getoption("posenc_seed")),
            config.getoption("posenc_robust"),
            config.getoption("posenc_precision"),
            None if name is None or worker else report.place(name),
            None if file is None else Path(file),
            worker,
        )


class Run:
    """State of a run, and the hooks that need it."""

    def __init__(
        self,
        implementation: Implementation,
        schemes: Sequence[Scheme],
        chosen: Sequence[Scheme],
        request: Request,
        config: pytest.Config,
    ) -> None:
        self.config = config
        self.implementation = implementation
        self.schemes = schemes
        self.chosen = chosen
        self.request = request
        self.options = request.options
        self.subjects = subjects(implementation.adapter, schemes)
        for subject in self.subjects:
            demand_sense(subject)
        self.results: dict[str, Result] = {}
        self.seconds: defaultdict[tuple[str, str], float] = defaultdict(float)
        self._checks: dict[tuple[Path, str], list[Check]] = {}
        self._collecting = False
        self._report_problem = ""
        self._failed: list[pytest.TestReport] | None = None
        self._watch = announcement.Watch()
        file = request.known_file
        self.known = known.load(file, self._ids_of_file) if file else {}

    @classmethod
    def of(cls, config: pytest.Config) -> "Run":
        """The run that the command line asks for.

        Raises UserError if that cannot be done.
        """
        given = config.args_source is pytest.Config.ArgsSource.ARGS
        if given:
            config.args = [_where_installed(argument) for argument in config.args]
        else:
            config.args = [str(path) for path in paths()]
        named = _scheme_files(config.args)
        if given and not named:
            raise UserError(
                f"no scheme file is in {', '.join(config.args)}, so --impl would judge nothing",
                "leave the paths out to check everything, or name schemes, such as rope.yaml; "
                "run your own tests without --impl",
            )
        schemes = {load_scheme(path).id: load_scheme(path) for path in (*paths(), *named)}
        chosen = [load_scheme(path) for path in named]
        for scheme in schemes.values():
            config.addinivalue_line("markers", f"{scheme.module_name}: checks of {scheme.title}")
        for level in LEVELS:
            config.addinivalue_line("markers", f"{level}: checks of this level")
        request = Request.of(config)
        return cls(load(config.getoption("impl")), list(schemes.values()), chosen, request, config)

    def scheme(self, path: Path) -> Scheme:
        """The scheme of a collected file."""
        return load_scheme(path.resolve())

    def checks(self, scheme: Scheme, level: str) -> list[Check]:
        """The checks of a level that the implementation's claims call for."""
        place = (scheme.path, level)
        if place not in self._checks:
            self._checks[place] = checks_of(scheme, level, self.subjects)
        return self._checks[place]

    def _ids_of_file(self, name: str) -> list[str]:
        """Ids of the claimed checks of a scheme file, whether it is chosen or not."""
        return list(_by_id([each for each in self.schemes if each.path.name == name], self.checks))

    @cached_property
    def claimed(self) -> dict[str, Check]:
        """The checks that the claims call for in the schemes chosen, by id."""
        return _by_id(self.chosen, self.checks)

    @cached_property
    def report(self) -> dict[str, Any]:
        """Everything that came out, as the published schema has it."""
        everything = list(self.claimed)
        if not isinstance(self.implementation.adapter, Reference):  # who claims all there is
            every = subjects(Reference(), self.schemes)
            everything = list(
                _by_id(self.chosen, lambda scheme, level: checks_of(scheme, level, every))
            )
        return report.build(
            self.implementation,
            self.subjects,
            self.chosen,
            list(self.results.values()),
            everything=everything,
            claimed=self.claimed.keys(),
        )

    def judged(self, id: str, found: Execution) -> Execution:
        """What a check says in the light of the file of known failures and of --posenc-robust."""
        entry = self.known.get(id)
        if entry is None:
            if found.verdict is Verdict.SILENT and self.request.robust:
                return replace(found, verdict=Verdict.FAILED)
            return found
        if found.verdict in (Verdict.FAILED, Verdict.SILENT):
            return replace(found, verdict=Verdict.KNOWN, text=f"{entry}\n{found.text}")
        says = {Verdict.PASSED: "passes", Verdict.BLOCKED: "is blocked"}
        return Execution(
            Verdict.FAILED,
            text=f"this {says.get(found.verdict, 'is not claimed')}, but is known to fail: {entry}"
            f"\ndrop it from {self.request.known_file}",
        )

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
        return f"posenc: judging {report.title(self.implementation)}"

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
            self.results[report.nodeid] = Result(id=report.nodeid, **found)
            self.seconds[found["scheme"], found["call"]] += report.duration
        elif report.failed and report.nodeid in self.claimed:
            check = self.claimed[report.nodeid]
            failed = Execution(Verdict.FAILED, Outcome(), f"broke off: {report.longrepr}")
            self.results[report.nodeid] = Result.of(report.nodeid, place_of(check), failed)

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
        if self.request.worker or not self._collecting or session.config.option.collectonly:
            return
        self._show_causes_once()
        if self.request.report_file:
            self._report_problem = report.write(self.report, self.request.report_file)
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
            terminalreporter.section(f"scorecard: {report.title(self.implementation)}")
            for line in scorecard.lines(self.report, detailed=detailed, brief=brief):
                terminalreporter.write_line(line)
            for line in announcement.costs(self.seconds):
                terminalreporter.write_line(line)
        elif self._collecting:
            terminalreporter.write_line(self._nothing_judged())
        if self.results and self.request.precision:
            terminalreporter.section("precision")
            for line in scorecard.curves(self.report):
                terminalreporter.write_line(line)
        if self._report_problem:
            terminalreporter.write_line(self._report_problem, red=True)
        elif self.request.report_file:
            terminalreporter.write_line(f"report: {self.request.report_file}")

    def _nothing_judged(self) -> str:
        if self.claimed:
            why = f"the selection left none of its {len(self.claimed)} checks"
        else:
            chosen = ", ".join(scheme.id for scheme in self.chosen)
            claimed = dict.fromkeys(subject.scheme.id for subject in self.subjects)
            why = f"it claims nothing of {chosen}, only of {', '.join(claimed)}"
        return f"posenc: nothing was judged of {self.implementation.name}: {why}"


def _by_id(
    schemes: Sequence[Scheme], checks: Callable[[Scheme, str], list[Check]]
) -> dict[str, Check]:
    """The checks of some schemes, in the order in which they run."""
    return {
        f"{scheme.path.name}::{level}::{check.id}": check
        for scheme in schemes
        for level in LEVELS
        for check in checks(scheme, level)
    }


def _where_installed(argument: str) -> str:
    """An id such as rope.yaml::golden in any folder means the installed scheme.

    Unless the folder has a scheme file of this name; any other file of this name is not meant.
    """
    name, colons, rest = argument.partition("::")
    # Pytest shows an id as seen from the folder one is in, such as ../../rope.yaml::golden.
    installed, here = folder() / Path(name).name, Path(name)
    own = here.is_dir() or (here.is_file() and is_scheme_file(here))
    if own or not installed.is_file():
        return argument
    return f"{installed}{colons}{rest}"


def _scheme_files(arguments: Sequence[str]) -> list[Path]:
    files: list[Path] = []
    for argument in arguments:
        path = Path(argument.partition("::")[0])
        candidates = sorted(path.rglob("*.yaml")) if path.is_dir() else [path]
        files += [
            each.resolve()
            for each in candidates
            if each.suffix == ".yaml" and each.is_file() and is_scheme_file(each)
        ]
    return list(dict.fromkeys(files))
