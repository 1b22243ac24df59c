"""Robustness: bad input is refused with an exception, not answered with numbers."""

from collections.abc import Iterator

from posenc_conformance.checks import Check, Options, variant
from posenc_conformance.judge.calling import call_line
from posenc_conformance.judge.invocation import materialise
from posenc_conformance.judge.misbehaviour import Escape, Misbehaviour, Refusal
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.verdict import NotClaimed, Outcome, Silent, Wrong
from posenc_conformance.scheme_file.scheme import BadInput


def checks(subject: Subject) -> Iterator[Check]:
    """Yield one check per bad input that the claims cover."""
    for bad in subject.scheme.bad_inputs:
        combinations = bad.combinations or (subject.combination.name,)
        if bad.call != subject.call.name or subject.combination.name not in combinations:
            continue
        if not subject.offers(bad.options):
            continue

        def run(subject: Subject, options: Options, bad: BadInput = bad) -> Outcome:
            dtype = _most_precise(subject, bad)
            case = subject.case(materialise(bad.arguments), dtype, bad.options)
            try:
                output = subject.returned(case, case.inputs)
            except Refusal:
                return Outcome()
            except Escape as problem:
                raise Wrong(f"{bad.id}: {bad.why}; {problem}\n{call_line(case)}") from None
            except Misbehaviour as problem:
                raise Silent(f"{bad.id}: {bad.why}; instead of an exception: {problem}") from None
            raise Silent(f"{bad.id}: {bad.why}; the answer has shape {output.shape}")

        yield Check("robust", f"{bad.id}[{variant(subject)}]", subject, None, run)


def _most_precise(subject: Subject, bad: BadInput) -> str:
    """Choose a dtype for which the options of a bad input are claimed.

    Raises NotClaimed if none is left.
    """
    claimed = {dtype for scope in subject.offers(bad.options) for dtype in scope.dtypes}
    for dtype in subject.dtypes:
        if dtype in claimed:
            return dtype
    raise NotClaimed("the smoke check fails in all dtypes in which its options are claimed")
