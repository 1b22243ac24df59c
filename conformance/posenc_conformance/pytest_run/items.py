"""Scheme files as pytest nodes: file, level, check."""

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import cached_property
from io import TextIOBase
from pathlib import Path
from typing import Any, TextIO
from unittest import SkipTest

import pytest

from posenc_conformance.checks import LEVELS, Check, deployed
from posenc_conformance.checks.execution import Execution, execute
from posenc_conformance.errors import UserError, describe_exception
from posenc_conformance.judge.process_state import preventing_exit
from posenc_conformance.judge.verdict import Verdict, Wrong
from posenc_conformance.judge.warnings_off import without_warnings
from posenc_conformance.pytest_run.plan import Plan
from posenc_conformance.report.causes import PROPERTY
from posenc_conformance.report.document import ID
from posenc_conformance.report.result import Place, Result

OPTIONS = (
    *("posenc-schemes", "posenc-model", "posenc-examples", "posenc-seed", "posenc-largest"),
    *("posenc-timeout", "posenc-memory", "posenc-python", "posenc-apart", "posenc-here"),
)
OPTIONS_OF_ENGINES = (
    *("posenc-dtype", "posenc-cache", "posenc-context", "posenc-shift"),
    *("posenc-device", "posenc-attention", "posenc-compile", "posenc-static-cache"),
)
"""Options on which the id, the inputs or the result of a check depend."""
NO_FAILURE = (pytest.skip.Exception, pytest.xfail.Exception, SkipTest)
"""Exceptions that pytest does not count as failures."""


def alone(config: pytest.Config, plan: Plan | None, prefix: str) -> list[str]:
    """Return the words of the command that runs one check, with the options of this run.

    ID stands for the id of the check. Ids of checks in a test file begin with ``prefix``.
    """
    # A check of an engine takes several requests; 'posenc repro' shows any other call.
    is_of_engine = plan is not None and plan.model_checks.level == deployed.LEVEL
    named = [] if prefix or plan is None else [f"--impl={plan.implementation.name}"]
    options = (*OPTIONS, *(OPTIONS_OF_ENGINES if is_of_engine else ()))
    command = ["pytest"] if prefix or is_of_engine else ["posenc", "repro"]
    repeated = [word for option in options for word in _repeated(config, option)]
    return [*command, f"{prefix}{ID}", *named, *repeated]


def _repeated(config: pytest.Config, option: str) -> Iterator[str]:
    """Yield an option as it was given; nothing if it was not."""
    value = config.getoption(_field(option))
    if value is True:
        yield f"--{option}"
    elif value:
        yield from (
            f"--{option}={each}" for each in (value if isinstance(value, list) else [value])
        )


def _field(option: str) -> str:
    """Return the name under which pytest keeps an option."""
    return option.replace("-", "_")


class SpecFolder(pytest.Directory):
    """A folder of the spec; its nodes are cached, since pytest collects it once per file."""

    def collect(self) -> list[pytest.Item | pytest.Collector]:
        """Return the judged files in this folder, and the subfolders that contain judged files."""
        return self._nodes

    @cached_property
    def _nodes(self) -> list[pytest.Item | pytest.Collector]:
        judged = (Path(file) for file in self.config.args)
        inside = (file.relative_to(self.path) for file in judged if self.path in file.parents)
        nodes: list[pytest.Item | pytest.Collector] = []
        for path in dict.fromkeys(self.path / file.parts[0] for file in inside):
            if self.ihook.pytest_ignore_collect(collection_path=path, config=self.config):
                continue
            if path.is_dir():
                nodes.append(self.ihook.pytest_collect_directory(path=path, parent=self))
            else:
                nodes += self.ihook.pytest_collect_file(file_path=path, parent=self)
        return nodes


class SpecFile(pytest.File):
    """One scheme file."""

    def __init__(self, plan: Plan, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.plan = plan

    def collect(self) -> Iterator["Level | Unfinished"]:
        """Yield the levels that have checks, in order.

        A scheme that cannot be checked yields one failing item instead.
        """
        yield from _levels(self, self.plan, self.path)

    def teardown(self) -> None:
        """Drop the history of this file's checks, which have all run."""
        self.plan.forget(self.path)


class SchemeInTest(pytest.Collector):
    """One scheme that a ``conformance(...)`` in a test file judges."""

    def __init__(self, plan: Plan, file: Path, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.plan = plan
        self.file = file

    def collect(self) -> Iterator["Level | Unfinished"]:
        """Yield the levels that have checks, in order."""
        yield from _levels(self, self.plan, self.file)

    def teardown(self) -> None:
        """Drop the history of this scheme's checks."""
        self.plan.forget(self.file)


class ConformanceInTest(pytest.Collector):
    """A ``conformance(...)`` in a test file."""

    def __init__(self, plan: Plan, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.plan = plan

    def collect(self) -> Iterator[SchemeInTest]:
        """Yield the judged schemes."""
        for scheme in self.plan.chosen:
            yield SchemeInTest.from_parent(
                self, name=scheme.path.name, plan=self.plan, file=scheme.path
            )


def _levels(parent: pytest.Collector, plan: Plan, file: Path) -> "Iterator[Level | Unfinished]":
    """Yield the levels of a scheme file that have checks, or one failing item."""
    try:
        scheme = plan.scheme(file)
    except UserError as error:  # not raised: a collection error stops the whole run
        yield Unfinished.from_parent(parent, name="unfinished", problem=error, file=file)
        return
    parent.add_marker(scheme.module_name)
    for level in LEVELS:
        checks = plan.checks(scheme, level)
        if checks:
            yield Level.from_parent(parent, name=level, plan=plan, checks=checks)


class ModelFile(pytest.File):
    """One model."""

    def __init__(self, plan: Plan, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.plan = plan

    def collect(self) -> Iterator["Level"]:
        """Yield the only level, if the model has claimed checks."""
        checks = self.plan.checks_of_model(self.plan.models[self.path.resolve()])
        if checks:
            name = self.plan.model_checks.level
            yield Level.from_parent(self, name=name, plan=self.plan, checks=checks)


class Unfinished(pytest.Item):
    """A failing item in place of an unfinished scheme."""

    def __init__(self, problem: UserError, file: Path, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.problem = problem
        self.file = file
        self.add_marker(file.stem.replace("-", "_"))

    def runtest(self) -> None:
        """Raise the error that says what is missing."""
        raise self.problem

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return what is missing, and the next step."""
        return str(excinfo.value)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the heading of the failure."""
        return self.path, 0, f"{self.file.name} is not finished"


class Level(pytest.Collector):
    """One level of a scheme or model."""

    def __init__(self, plan: Plan, checks: list[Check], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.plan = plan
        self.checks = checks
        self.add_marker(self.name)

    def collect(self) -> "Iterator[CheckItem | CheckFunction]":
        """Yield one item per check, as a test function inside a test file."""
        test = self.getparent(ConformanceInTest)
        for check in self.checks:
            if test is not None:
                yield CheckFunction.from_parent(
                    self, name=check.id, plan=self.plan, check=check, prefix=f"{test.nodeid}::"
                )
                continue
            # The id as text, so that pytest parses a variant in brackets as on the command line.
            nodeid = f"{self.nodeid}::{check.id}"
            yield CheckItem.from_parent(
                self, name=check.id, nodeid=nodeid, plan=self.plan, check=check
            )


class CheckNode(pytest.Item):
    """One check."""

    plan: Plan
    check: Check
    prefix = ""
    """The part of the node id before the check's id, if the check is in a test file."""

    @property
    def check_id(self) -> str:
        """The id of the check, the same inside and outside a test file."""
        return self.nodeid.removeprefix(self.prefix)

    def runtest(self) -> None:
        """Run the check and note its result, even if the check breaks off.

        An interrupted run notes nothing.
        """
        options = self.plan.request.options
        try:
            with (
                redirect_stdout(_Kept(sys.stdout)),
                redirect_stderr(_Kept(sys.stderr)),
                without_warnings(),
                preventing_exit(),
            ):
                execution = self.plan.apply_known(self.check_id, execute(self.check, options))
        except (KeyboardInterrupt, pytest.exit.Exception):
            raise
        except BaseException as error:  # a timeout of another plugin, or a fault of the kit
            execution = Execution(
                Verdict.FAILED, text=f"the check broke off: {describe_exception(error)}"
            )
            if not isinstance(error, NO_FAILURE):
                self.note(execution)
                raise
        self.note(execution)
        if execution.verdict is Verdict.FAILED:
            raise Wrong(execution.text, execution.outcome, execution.case)
        if execution.verdict is not Verdict.PASSED:
            pytest.skip(execution.text)

    def note(self, found: Execution) -> None:
        """Keep ``found`` for scorecard and report, as JSON, which can pass between processes."""
        result = Result.of(self.check_id, Place.of(self.check), found)
        # A plugin that reruns a test keeps its properties.
        self.user_properties = [entry for entry in self.user_properties if entry[0] != PROPERTY]
        self.user_properties.append((PROPERTY, json.dumps(result.sent)))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return only the explanation, unless the kit itself is at fault."""
        if isinstance(excinfo.value, Wrong):
            if self.check_id in self.plan.known:  # it passes, or did not run
                return excinfo.value.text
            return f"{excinfo.value.text}\nalone      {self._alone}"
        return super().repr_failure(excinfo)  # pytest.Function's takes no style

    @property
    def _alone(self) -> str:
        """The command that runs only this check, with the options of this run."""
        words = alone(self.config, self.plan, self.prefix)
        return shlex.join(word.replace(ID, self.check_id) for word in words)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the file, a line number and the heading of a failure.

        Pytest needs the number for skipped tests. The heading is not the bare id, in which pytest
        would replace dots by colons.
        """
        return self.path, 0, f"{self.nodeid} of {self.check.subject.name}()"


class CheckItem(CheckNode):
    """One check of the implementation that ``--impl`` names."""

    def __init__(self, plan: Plan, check: Check, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.plan = plan
        self.check = check
        if check.subject.engine:  # other checks inherit it from their file
            self.add_marker(check.subject.scheme.module_name)

    @property
    def function(self) -> Callable[[], None]:
        """A stand-in for a test function, since hooks of the project may read ``item.function``."""
        return check_conformance

    def _initrequest(self) -> None:
        """Do nothing: pytest-retry calls this on every item, as if each were a test function."""


class CheckFunction(CheckNode, pytest.Function):
    """One check of a ``conformance(...)`` in a test file.

    It is a test function, so that the project's autouse fixtures, and hooks that look at
    ``item.function``, work as for other tests.
    """

    def __init__(self, plan: Plan, check: Check, prefix: str, **kwargs: Any) -> None:
        super().__init__(callobj=check_conformance, **kwargs)
        self.plan = plan
        self.check = check
        self.prefix = prefix


def check_conformance() -> None:
    """Do nothing: pytest reads the fixtures of a check in a test file from this function."""


class _Kept(TextIOBase):
    """A stream that stays open for pytest when an implementation closes it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write to the wrapped stream."""
        return self._stream.write(text)

    def flush(self) -> None:
        """Flush the wrapped stream."""
        self._stream.flush()
