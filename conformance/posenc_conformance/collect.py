"""Scheme files as pytest sees them: file, level, check."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict
from io import TextIOBase
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import pytest

from posenc_conformance.checks import LEVELS, Check, Verdict, Wrong
from posenc_conformance.checks.execution import Execution, execute
from posenc_conformance.errors import UserError, told
from posenc_conformance.plugin import RUN

if TYPE_CHECKING:
    from posenc_conformance.run import Run

PROPERTY = "posenc"


def current_run(config: pytest.Config) -> "Run":
    """The run that the plugin registered."""
    run: Run = config.pluginmanager.get_plugin(RUN)  # type: ignore[assignment]  # it did
    return run


class SpecFile(pytest.File):
    """One scheme file; its ids begin with the file's name, wherever it lies."""

    def collect(self) -> Iterator["Level"]:
        """The levels that have checks, in order."""
        run = current_run(self.config)
        try:
            scheme = run.scheme(self.path)
            for level in LEVELS:
                checks = run.checks(scheme, level)
                if checks:
                    yield Level.from_parent(self, name=level, checks=checks)
        except UserError as error:
            raise self.CollectError(str(error)) from None


class Level(pytest.Collector):
    """One level of a scheme."""

    def __init__(self, checks: list[Check], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.checks = checks

    def collect(self) -> Iterator["CheckItem"]:
        """One item per check."""
        for check in self.checks:
            # As text, so that pytest reads the variant in brackets as it will read it again.
            nodeid = f"{self.nodeid}::{check.id}"
            yield CheckItem.from_parent(self, name=check.id, nodeid=nodeid, check=check)


class CheckItem(pytest.Item):
    """One check."""

    def __init__(self, check: Check, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.check = check
        self.add_marker(check.level)
        self.add_marker(check.subject.scheme.module_name)

    def runtest(self) -> None:
        """Run the check; what comes of it is kept whatever happens."""
        run = current_run(self.config)
        try:
            with redirect_stdout(_Kept(sys.stdout)), redirect_stderr(_Kept(sys.stderr)):
                found = run.judged(self.nodeid, execute(self.check, run.options))
        except (KeyboardInterrupt, pytest.exit.Exception):
            raise
        except BaseException as error:  # a time-out of another plugin, or a fault of the kit
            self._note(Execution(Verdict.FAILED, text=f"the check broke off: {told(error)}"))
            raise
        self._note(found)
        if found.verdict is Verdict.FAILED:
            raise Wrong(found.text, found.outcome, found.case)
        if found.verdict is not Verdict.PASSED:
            pytest.skip(found.text)

    def _note(self, found: Execution) -> None:
        """Keep for the scorecard and the report, in a form that goes from process to process."""
        outcome = asdict(found.outcome)
        outcome["curve"] = [list(point) for point in found.outcome.curve]
        outcome["explanations"] = [list(each) for each in found.outcome.explanations]
        noted = {
            **place_of(self.check),
            "verdict": str(found.verdict),
            **outcome,
            "message": found.text,
        }
        # A plugin that runs a test again keeps its properties.
        self.user_properties = [each for each in self.user_properties if each[0] != PROPERTY]
        self.user_properties.append((PROPERTY, noted))

    def _initrequest(self) -> None:
        """Nothing: pytest-retry calls it on every item, as if each were a test function."""

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The explanation alone, unless the fault is the kit's own."""
        if isinstance(excinfo.value, Wrong):
            if self.nodeid in current_run(self.config).known:  # it passes, or did not run
                return excinfo.value.text
            name = shlex.quote(self.config.getoption("impl"))
            return f"{excinfo.value.text}\nalone      posenc repro '{self.nodeid}' --impl={name}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Heading of a failure. Not the id alone, in which pytest would replace dots by colons."""
        return self.path, None, f"{self.nodeid} of {self.check.subject.call.name}()"


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


def place_of(check: Check) -> dict[str, str | None]:
    """Where a check stands in the scorecard."""
    return {
        "level": check.level,
        "scheme": check.subject.scheme.id,
        "call": check.subject.call.name,
        "combination": check.subject.combination.name,
        "dtype": check.dtype,
    }
