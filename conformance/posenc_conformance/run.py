"""One run of the kit: what is judged, what came out, and telling it."""

import gc
from collections.abc import Callable, Generator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from posenc_conformance import known, report, scorecard
from posenc_conformance.checks import LEVELS, Check, Options, checks_of
from posenc_conformance.claimed import subjects
from posenc_conformance.collect import PROPERTY, CheckItem
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


class Run:
    """State of a run, and the hooks that need it."""

    def __init__(
        self,
        implementation: Implementation,
        schemes: Sequence[Scheme],
        chosen: Sequence[Scheme],
        options: Options,
        robust: bool,
        precision: bool,
        junit: bool,
        report_file: Path | None,
        known_file: Path | None,
    ) -> None:
        self.implementation = implementation
        self.schemes = schemes
        self.chosen = chosen
        self.options = options
        self.robust = robust
        self.precision = precision
        self.junit = junit
        self.report_file = report_file
        self.subjects = subjects(implementation.adapter, schemes)
        self.results: list[Result] = []
        self._checks: dict[tuple[Path, str], list[Check]] = {}
        self.known = known.load(known_file, self.claimed_ids) if known_file else {}

    @classmethod
    def of(cls, config: pytest.Config) -> "Run":
        """The run that the command line asks for.

        Raises UserError if that cannot be done.
        """
        if config.args_source is pytest.Config.ArgsSource.ARGS:
            config.args = [_where_installed(argument) for argument in config.args]
        else:
            config.args = [str(path) for path in paths()]
        named = _scheme_files(config.args)
        schemes = {load_scheme(path).id: load_scheme(path) for path in (*paths(), *named)}
        chosen = [load_scheme(path) for path in named]
        for scheme in schemes.values():
            config.addinivalue_line("markers", f"{scheme.module_name}: checks of {scheme.title}")
        for level in LEVELS:
            config.addinivalue_line("markers", f"{level}: checks of this level")
        examples = config.getoption("posenc_examples")
        if examples < 1:
            raise UserError(f"--posenc-examples={examples} draws nothing", "give at least 1")
        return cls(
            load(config.getoption("impl")),
            list(schemes.values()),
            chosen,
            Options(examples, config.getoption("posenc_seed")),
            config.getoption("posenc_robust"),
            config.getoption("posenc_precision"),
            bool(config.getoption("xmlpath", None)),
            _report_file(config),
            Path(file) if (file := config.getoption("posenc_known")) else None,
        )

    def scheme(self, path: Path) -> Scheme:
        """The scheme of a collected file."""
        return load_scheme(path.resolve())

    def checks(self, scheme: Scheme, level: str) -> list[Check]:
        """The checks of a level that the implementation's claims call for."""
        place = (scheme.path, level)
        if place not in self._checks:
            self._checks[place] = checks_of(scheme, level, self.subjects)
        return self._checks[place]

    def _ids(self, checks: Callable[[Scheme, str], list[Check]]) -> list[str]:
        return [
            f"{scheme.path.name}::{level}::{check.id}"
            for scheme in self.chosen
            for level in LEVELS
            for check in checks(scheme, level)
        ]

    @cached_property
    def claimed_ids(self) -> set[str]:
        """Ids of the checks that the implementation's claims call for, in the schemes chosen."""
        return set(self._ids(self.checks))

    @cached_property
    def report(self) -> dict[str, Any]:
        """Everything that came out, as the published schema has it."""
        everything = self._ids(self.checks)
        if not isinstance(self.implementation.adapter, Reference):  # who claims all there is
            every = subjects(Reference(), self.schemes)
            everything = self._ids(lambda scheme, level: checks_of(scheme, level, every))
        return report.build(
            self.implementation,
            self.subjects,
            self.chosen,
            self.results,
            everything=everything,
            claimed=self.claimed_ids,
        )

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        """What is collected stays until the end: keep the garbage collector from visiting it."""
        gc.disable()
        try:
            return (yield)
        finally:
            gc.freeze()
            gc.enable()

    def pytest_report_header(self) -> str:
        """What is judged."""
        return f"posenc: judging {report.title(self.implementation)}"

    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        """Run a check as pytest runs a test, without the phases that would set up nothing.

        They cost more than most checks. Only a JUnit file waits for the report that ends an item.
        """
        if not isinstance(item, CheckItem):
            return None
        hook = item.ihook
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        call = pytest.CallInfo.from_call(
            item.runtest,
            when="call",
            reraise=(pytest.exit.Exception, KeyboardInterrupt),
        )
        found = hook.pytest_runtest_makereport(item=item, call=call)
        hook.pytest_runtest_logreport(report=found)
        if call.excinfo is not None and found.failed:
            hook.pytest_exception_interact(node=item, call=call, report=found)
        if self.junit:
            hook.pytest_runtest_logreport(report=_ended(item))
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what a check found."""
        if report.when == "call":
            for name, found in report.user_properties:
                if name == PROPERTY:
                    details: dict[str, Any] = dict(found)  # type: ignore[call-overload]
                    self.results.append(Result(id=report.nodeid, **details))

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

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show the scorecard, write the report."""
        if not self.results:
            return
        terminalreporter.section(f"scorecard: {report.title(self.implementation)}")
        for line in scorecard.lines(self.report):
            terminalreporter.write_line(line)
        if self.precision:
            terminalreporter.section("precision")
            for line in scorecard.curves(self.report):
                terminalreporter.write_line(line)
        if self.report_file:
            report.write(self.report, self.report_file)
            terminalreporter.write_line(f"report: {self.report_file}")


def _ended(item: pytest.Item) -> pytest.TestReport:
    """The report of a teardown in which nothing was to do."""
    return pytest.TestReport(
        item.nodeid, item.location, dict.fromkeys(item.keywords, 1), "passed", None, "teardown"
    )


def _where_installed(argument: str) -> str:
    """An id such as rope.yaml::golden in any folder means the installed scheme."""
    name, colons, rest = argument.partition("::")
    installed = folder() / name
    if Path(name).exists() or not installed.is_file():
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


def _report_file(config: pytest.Config) -> Path | None:
    name = config.getoption("posenc_report")
    if name is None or hasattr(config, "workerinput"):  # a worker of pytest-xdist does not report
        return None
    path = Path(name)
    if path.is_dir() or not path.resolve().parent.is_dir():
        raise UserError(
            f"--posenc-report={name} cannot be written",
            "give the name of a file in a folder that exists",
        )
    return path
