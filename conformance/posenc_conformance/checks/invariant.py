"""Invariants, and the definition itself, at sizes and parameters that Hypothesis draws."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from random import Random
from typing import Any
from zlib import crc32

from posenc_conformance.checks import Check, Options, variant
from posenc_conformance.diagnose.explain import (
    check_line,
    comparison_lines,
    diagnosis_lines,
    page_line,
)
from posenc_conformance.diagnose.pictured import pictures_of
from posenc_conformance.diagnose.rules import diagnose_subject
from posenc_conformance.judge.calling import call_text
from posenc_conformance.judge.claim_scope import Scope
from posenc_conformance.judge.misbehaviour import Escape, Misbehaviour
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.trial import Failure, First, InvariantCheck, Pick, Seeded, Trial
from posenc_conformance.judge.verdict import (
    Blocked,
    Declined,
    NotClaimed,
    Outcome,
    TookTooLong,
    Wrong,
)
from posenc_conformance.scheme_file.scheme import Invariant

SEARCHED = 20
"""Number of examples that Hypothesis tries in its search for the smallest failing one."""
ATTEMPTS = 8
"""Maximum number of draws of an example, until a claim covers it."""
SPREAD = 7919
"""Distance between the seeds of an example's attempts, so that other examples do not use them."""


def checks(subject: Subject) -> Iterator[Check]:
    """Yield the check of the definition, and one per invariant that the claims cover."""
    by_id = subject.knowledge.invariants
    yield _check(subject, f"definition[{variant(subject)}]", definition, {})
    for invariant in subject.scheme.invariants:
        if invariant.call == subject.call.name and _applies(subject, invariant):
            yield _check(
                subject,
                f"{invariant.id}[{variant(subject)}]",
                by_id[invariant.id],
                invariant.options,
            )


def _applies(subject: Subject, invariant: Invariant) -> bool:
    combinations = invariant.combinations or (subject.combination.name,)
    return subject.combination.name in combinations and bool(subject.offers(invariant.options))


def _check(subject: Subject, id: str, check: InvariantCheck, wanted: Any) -> Check:
    def run(subject: Subject, options: Options) -> Outcome:
        return try_drawn(subject, check, wanted, options, id)

    return Check("invariant", id, subject, None, run)


def definition(trial: Trial) -> None:
    """Check that the result of a call with drawn sizes and parameters follows the definition."""
    arguments = trial.subject.knowledge.arguments(trial)
    answer = trial.answer(**arguments)
    comparison = trial.compare(answer)
    trial.worst = max(trial.worst, comparison.worst)
    if not comparison.passes:
        lines = comparison_lines(answer.case, comparison)
        raise Failure("\n".join(lines), answer.case, answer.output, comparison.worst)


def try_drawn(
    subject: Subject, check: InvariantCheck, wanted: Any, options: Options, name: str
) -> Outcome:
    """Check an invariant with the simplest example, and with others drawn from the seed.

    Raises Wrong for the smallest failing one that Hypothesis finds.
    """
    scopes = subject.offers(wanted)
    if not scopes:
        raise Blocked("the smoke check fails in all dtypes in which this is claimed")
    seed = options.seed + crc32(name.encode())
    worst: list[float] = []
    left_out: list[NotClaimed] = []
    for number in range(options.examples):
        for attempt in range(ATTEMPTS):
            pick = Seeded(seed + number + attempt * SPREAD) if number or attempt else First()
            try:
                worst.append(_tried(subject, scopes, check, pick))
                break
            except NotClaimed as reason:
                left_out.append(reason)
            except (Misbehaviour, Failure) as failure:
                search = number and not isinstance(failure, Escape)  # an Escape may take long again
                smallest = _smallest(subject, scopes, check, Random(seed)) if search else None
                reported = smallest or failure
                if isinstance(reported, Misbehaviour):
                    raise Wrong(f"invariant {name}: {reported}") from None
                raise _wrong(subject, name, reported) from None
    if not worst:
        raise left_out[-1]
    return Outcome(worst=max(worst), left_out=_declined(left_out))


def _declined(reasons: Sequence[NotClaimed]) -> str:
    """Say how many drawn calls the implementation declined to answer; empty if none."""
    declined = [reason for reason in reasons if isinstance(reason, Declined)]
    return f"{len(declined)} drawn calls: {declined[-1]}" if declined else ""


def _tried(subject: Subject, scopes: Sequence[Scope], check: InvariantCheck, pick: Pick) -> float:
    """Try one example, and return its worst error in units of its bound."""
    scope = pick.one_of(scopes)
    trial = Trial(subject, scope, pick.one_of(scope.dtypes), {}, pick)
    check(trial)
    return trial.worst


def _smallest(
    subject: Subject, scopes: Sequence[Scope], check: InvariantCheck, random: Random
) -> Misbehaviour | Failure | None:
    """Return the failure of the smallest example that Hypothesis finds; None if it finds none."""
    import hypothesis
    from hypothesis import strategies as st

    failures: list[Misbehaviour | Failure] = []

    def fails(data: Any) -> bool:
        try:
            _tried(subject, scopes, check, _Drawn(data))
        except NotClaimed:
            return False
        except (Misbehaviour, Failure) as failure:
            failures.append(failure)
            return True
        return False

    settings = hypothesis.settings(
        max_examples=SEARCHED,
        database=None,
        deadline=None,
        phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
    )
    # There is no database, but without a key Hypothesis reads our source to make one.
    with suppress(hypothesis.errors.NoSuchExample, hypothesis.errors.Flaky, TookTooLong):
        hypothesis.find(st.data(), fails, settings=settings, random=random, database_key=b"posenc")
    return failures[-1] if failures else None


def _wrong(subject: Subject, name: str, failure: Failure) -> Wrong:
    diagnosis = diagnose_subject(subject, failure.case, failure.output)
    lines = [
        *diagnosis_lines(failure.case, failure.output, diagnosis),
        check_line(failure.case, f"invariant {name}"),
        f"smallest   {call_text(failure.case)}",
        *failure.message.splitlines(),
        page_line(failure.case, diagnosis),
    ]
    outcome = Outcome(
        worst=failure.worst,
        explanations=diagnosis.explanations,
        recovered=diagnosis.recovered,
        pictures=pictures_of(failure.case, failure.output),
    )
    return Wrong("\n".join(lines), outcome, failure.case)


class _Drawn:
    """Choices made by Hypothesis."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def one_of(self, values: Sequence[Any]) -> Any:
        from hypothesis import strategies as st

        return values[0] if len(values) == 1 else self._data.draw(st.sampled_from(values))

    def integer(self, low: int, high: int) -> int:
        from hypothesis import strategies as st

        return low if low == high else int(self._data.draw(st.integers(low, high)))
