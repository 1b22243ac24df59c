"""Scheme files as pytest sees them: file, level, check."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import cached_property
from io import TextIOBase
from pathlib import Path
from typing import Any, TextIO

import pytest

from posenc_conformance.checks import LEVELS, Check, deployed
from posenc_conformance.checks.execution import Execution, execute
from posenc_conformance.errors import UserError, describe_exception
from posenc_conformance.judge.verdict import Verdict, Wrong
from posenc_conformance.pytest_run.plan import Plan
from posenc_conformance.report.result import Place, Result

PROPERTY = "posenc"


class SpecFolder(pytest.Directory):
    """A folder of the spec. Pytest asks for one file of it after the other; it is listed once."""

    def collect(self) -> list[pytest.Item | pytest.Collector]:
        """Return the files that are judged, and the folders in which they are."""
        return self._nodes

    @cached_property
    def _nodes(self) -> list[pytest.Item | pytest.Collector]:
        judged = (Path(each) for each in self.config.args)
        inside = (each.relative_to(self.path) for each in judged if self.path in each.parents)
        nodes: list[pytest.Item | pytest.Collector] = []
        for path in dict.fromkeys(self.path / each.parts[0] for each in inside):
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

        For a scheme that cannot be checked, yields one item that fails instead.
        """
        try:
            scheme = self.plan.scheme(self.path)
        except UserError as error:  # not raised: an error in collecting stops the whole run
            yield Unfinished.from_parent(self, name="unfinished", problem=error)
            return
        self.add_marker(scheme.module_name)
        for level in LEVELS:
            checks = self.plan.checks(scheme, level)
            if checks:
                yield Level.from_parent(self, name=level, plan=self.plan, checks=checks)

    def teardown(self) -> None:
        """Drop what the checks of this file found out.

        They are through, so that it is not needed any more.
        """
        self.plan.forget(self.path)


class ModelFile(pytest.File):
    """One model."""

    def __init__(self, plan: Plan, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.plan = plan

    def collect(self) -> Iterator["Level"]:
        """Yield the one level, if anything of the model is claimed."""
        checks = self.plan.checks_of_model(self.plan.models[self.path.resolve()])
        if checks:
            name = self.plan.model_checks.level
            yield Level.from_parent(self, name=name, plan=self.plan, checks=checks)


class Unfinished(pytest.Item):
    """Stands for a scheme that is half-made, and fails."""

    def __init__(self, problem: UserError, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.problem = problem
        self.add_marker(self.path.stem.replace("-", "_"))

    def runtest(self) -> None:
        """Raise the error that says what is missing."""
        raise self.problem

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return what is missing, and the next step."""
        return str(excinfo.value)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return the heading of the failure."""
        return self.path, None, f"{self.path.name} is not finished"


class Level(pytest.Collector):
    """One level of a scheme or model."""

    def __init__(self, plan: Plan, checks: list[Check], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.plan = plan
        self.checks = checks
        self.add_marker(self.name)

    def collect(self) -> Iterator["CheckItem"]:
        """Yield one item per check."""
        for check in self.checks:
            # As text, so that pytest reads the variant in brackets as it will read it again.
            nodeid = f"{self.nodeid}::{check.id}"
            yield CheckItem.from_parent(
                self, name=check.id, nodeid=nodeid, plan=self.plan, check=check
            )


class CheckItem(pytest.Item):
    """One check."""

    def __init__(self, plan: Plan, check: Check, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.plan = plan
        self.check = check
        if check.subject.engine:  # else its file says of which scheme it is
            self.add_marker(check.subject.scheme.module_name)

    def runtest(self) -> None:
        """Run the check, and keep what comes of it whatever happens.

        Nothing is kept if the run itself is interrupted.
        """
        options = self.plan.request.options
        try:
            with redirect_stdout(_Kept(sys.stdout)), redirect_stderr(_Kept(sys.stderr)):
                found = self.plan.apply_known(self.nodeid, execute(self.check, options))
        except (KeyboardInterrupt, pytest.exit.Exception):
            raise
        except BaseException as error:  # a time-out of another plugin, or a fault of the kit
            self._note(
                Execution(Verdict.FAILED, text=f"the check broke off: {describe_exception(error)}")
            )
            raise
        self._note(found)
        if found.verdict is Verdict.FAILED:
            raise Wrong(found.text, found.outcome, found.case)
        if found.verdict is not Verdict.PASSED:
            pytest.skip(found.text)

    def _note(self, found: Execution) -> None:
        """Keep what was found for the scorecard and the report.

        Its form is one that goes from process to process.
        """
        result = Result.of(self.nodeid, Place.of(self.check), found)
        # A plugin that runs a test again keeps its properties.
        self.user_properties = [each for each in self.user_properties if each[0] != PROPERTY]
        self.user_properties.append((PROPERTY, result.sent))

    def _initrequest(self) -> None:
        """Do nothing: pytest-retry calls this on every item, as if each were a test function."""

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the explanation alone, unless the fault is the kit's own."""
        if isinstance(excinfo.value, Wrong):
            if self.nodeid in self.plan.known:  # it passes, or did not run
                return excinfo.value.text
            given = [("impl", self.config.getoption("impl"))]
            for option in ("posenc-schemes", "posenc-model"):
                values = self.config.getoption(option.replace("-", "_"))
                given += [(option, each) for each in values]
            said = " ".join(f"--{option}={shlex.quote(value)}" for option, value in given)
            if self.check.level == deployed.LEVEL:  # a few requests, which need the engine
                return f"{excinfo.value.text}\nalone      pytest '{self.nodeid}' {said}"
            return f"{excinfo.value.text}\nalone      posenc repro '{self.nodeid}' {said}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return the heading of a failure.

        It is not the id alone, in which pytest would replace dots by colons.
        """
        return self.path, None, f"{self.nodeid} of {self.check.subject.name}()"


class _Kept(TextIOBase):
    """A stream that an implementation may write to and close, while pytest goes on using it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write to the stream itself."""
        return self._stream.write(text)

    def flush(self) -> None:
        """Flush the stream itself."""
        self._stream.flush()
