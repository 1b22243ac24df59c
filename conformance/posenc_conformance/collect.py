"""Scheme files as pytest sees them: file, level, check."""

from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from posenc_conformance.checks import (
    LEVELS,
    Blocked,
    Check,
    NotClaimed,
    Outcome,
    Silent,
    Wrong,
)
from posenc_conformance.checks.smoke import require_smoke
from posenc_conformance.errors import UserError
from posenc_conformance.known import Known
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
        """Run the check unless its claim failed to smoke."""
        run = current_run(self.config)
        known = run.known.get(self.nodeid)
        try:
            with self._quiet():
                require_smoke(self.check)
                outcome = self.check.run(run.options)
        except Blocked as blocked:
            if known:
                self._stale("is blocked", known)
            self._note("blocked", Outcome(), str(blocked))
            pytest.skip(f"blocked: {blocked}")
        except NotClaimed as reason:
            self._note("not_claimed", Outcome())
            pytest.skip(str(reason))
        except Wrong as wrong:
            if known:
                self._note("known", wrong.outcome, f"{known}\n{wrong.text}")
                pytest.skip(f"known to fail: {known}")
            if isinstance(wrong, Silent) and not run.robust:
                self._note("silent", wrong.outcome, wrong.text)
                pytest.skip(wrong.text)
            self._note("failed", wrong.outcome, wrong.text)
            raise
        if known:
            self._stale("passes", known)
        self._note("passed", outcome)

    def _stale(self, verdict: str, known: Known) -> NoReturn:
        """Fail for an entry of known failures that is not needed."""
        text = f"this {verdict}, but is known to fail: {known}\ndrop it from the file"
        self._note("failed", Outcome(), text)
        raise Wrong(text)

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        """Keep what the implementation prints, to be shown where the check fails."""
        printed = StringIO()
        try:
            with redirect_stdout(printed), redirect_stderr(printed):
                yield
        finally:
            if printed.getvalue():
                self.add_report_section("call", "output", printed.getvalue())

    def _note(self, verdict: str, outcome: Outcome, message: str = "") -> None:
        check = self.check
        found = {
            "verdict": verdict,
            "level": check.level,
            "scheme": check.subject.scheme.id,
            "call": check.subject.call.name,
            "combination": check.subject.combination.name,
            "dtype": check.dtype,
            "worst": outcome.worst,
            "exact_angles": outcome.exact_angles,
            "horizon": outcome.horizon,
            "horizon_is_claim": outcome.horizon_is_claim,
            "curve": [list(point) for point in outcome.curve],
            "explanations": [list(each) for each in outcome.explanations],
            "message": message,
        }
        self.user_properties.append((PROPERTY, found))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The explanation alone, unless the fault is the kit's own."""
        if isinstance(excinfo.value, Wrong):
            text = excinfo.value.text
            if excinfo.value.case is None:
                return text
            name = self.config.getoption("impl")
            return f"{text}\nalone      posenc repro '{self.nodeid}' --impl={name}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Heading of a failure."""
        return self.path, None, self.nodeid
