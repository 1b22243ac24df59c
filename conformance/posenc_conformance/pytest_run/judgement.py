"""The judgement of one implementation in a run: its results and their report."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property

import pytest

from posenc_conformance.checks.execution import Execution
from posenc_conformance.judge.verdict import NO_VERDICT, Verdict
from posenc_conformance.pytest_run.plan import Plan
from posenc_conformance.report import announcement, deployed_lines, document, known, scorecard
from posenc_conformance.report.document import Frame
from posenc_conformance.report.layout import CheckEntry, Report
from posenc_conformance.report.result import Place, Result

UNFINISHED = "the run went on when this was written, and has not written its end"
"""The interruption in an interim report, which is read only if the run was killed."""


class Judgement:
    """The results of judging one implementation."""

    def __init__(self, plan: Plan | None = None, alone: Sequence[str] = ()) -> None:
        self.plan = plan
        """What is judged; None if other processes judge, which send their frame at the end."""
        self.frame: Frame | None = None
        """The frame that those processes sent."""
        self.results: dict[str, Result] = {}
        self.seconds: defaultdict[tuple[str, str], float] = defaultdict(float)
        self.expected: set[str] = set()
        """Ids of checks whose failure an xfail mark of the project expects."""
        self.interrupted = ""
        self.alone = alone
        """Words of the command that repeats one check."""
        self.is_filtered = False
        """Whether ``-m`` or ``-k`` narrows the selection."""

    def note(self, found: CheckEntry, seconds: float) -> None:
        """Record the result of a check, and its duration."""
        self.results[found["id"]] = Result.received(found)
        self.seconds[found["scheme"], found["call"]] += seconds

    def expect(self, id: str, is_expected: bool) -> None:
        """Record whether the failure of a check was expected."""
        (self.expected.add if is_expected else self.expected.discard)(id)

    @property
    def unexpected(self) -> int:
        """The number of checks that failed unexpectedly."""
        failed = (result.id for result in self.results.values() if result.verdict == Verdict.FAILED)
        return sum(id not in self.expected for id in failed)

    @property
    def has_verdict(self) -> bool:
        """Whether any check passed, failed or was silent."""
        silent = (Verdict.NOT_CLAIMED, Verdict.BLOCKED)
        return any(result.verdict not in silent for result in self.results.values())

    def note_broken(self, id: str, why: object) -> None:
        """Record as failed a claimed check that broke off without a result."""
        if self.plan is not None and id in self.plan.claimed:
            broken = Execution(Verdict.FAILED, text=f"broke off: {why}")
            self.results[id] = Result.of(id, Place.of(self.plan.claimed[id]), broken)

    @cached_property
    def report(self) -> Report:
        """All results, in the form of the published schema."""
        results = list(self.results.values())
        return document.build(self._frame, results, interrupted=self.interrupted, alone=self.alone)

    def report_so_far(self) -> Report:
        """Return an interim report, marked as unfinished."""
        results = list(self.results.values())
        return document.build(self._frame, results, interrupted=UNFINISHED, alone=self.alone)

    @property
    def _frame(self) -> Frame:
        """The report's frame: the chosen schemes, or the judged ones under ``-m`` or ``-k``."""
        judged = {each.place.scheme for each in self.results.values()}
        if self.plan is not None:
            chosen = [
                each for each in self.plan.chosen if not self.is_filtered or each.id in judged
            ]
            return self.plan.frame(chosen)
        assert self.frame is not None  # the processes that judged have sent it
        return self.frame.of_schemes(judged) if self.is_filtered else self.frame

    @property
    def is_told(self) -> bool:
        """Whether the frame is known; a process that died has not sent its frame."""
        return self.plan is not None or self.frame is not None

    def blocked_unseen(self) -> bool:
        """Return whether checks were blocked without a failure that shows it.

        They took too long, or their smoke check was not selected. Blocking by a smoke check that is
        known to fail does not count.
        """
        if any(result.message.startswith(NO_VERDICT) for result in self.results.values()):
            return True
        if self.plan is not None and any("::smoke::" in id for id in self.plan.known):
            return False
        smoke = [result.place for result in self.results.values() if result.place.level == "smoke"]
        seen = {(place.scheme, place.call, place.combination) for place in smoke}
        return any(
            (result.place.scheme, result.place.call, result.place.combination) not in seen
            for result in self.results.values()
            if result.verdict == Verdict.BLOCKED
        )

    def lines(self, *, detailed: bool, brief: bool) -> Iterator[str]:
        """Yield the lines of the scorecard and of the slowest calls."""
        for model in self.plan.chosen_models if self.plan else ():
            yield from deployed_lines.lines(model, self.report)
        yield from scorecard.lines(self.report, detailed=detailed, brief=brief)
        yield from known.drafts(self.report)
        yield from announcement.costs(self.seconds)


def show(
    judgement: Judgement, terminal: pytest.TerminalReporter, *, precision: bool, of: str = ""
) -> None:
    """Show the scorecard of a judgement; ``of`` is added to the title for one in a test file."""
    implementation = judgement.report["implementation"]
    title = document.title(implementation["name"], implementation["versions"])
    terminal.section(f"scorecard: {title}{of}")
    detailed, brief = terminal.verbosity > 0, terminal.verbosity < 0
    for line in judgement.lines(detailed=detailed, brief=brief):
        terminal.write_line(line, **scorecard.markup_of(line, judgement.report["summary"]))
    if precision:
        terminal.section("precision")
        for line in scorecard.curves(judgement.report):
            terminal.write_line(line)
