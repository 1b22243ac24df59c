"""Robustness: bad input is refused with an exception, not answered with numbers."""

from collections.abc import Iterator

from posenc_conformance.checks import Check, Options, variant
from posenc_conformance.judge.asking import call_line
from posenc_conformance.judge.case import materialise
from posenc_conformance.judge.subject import Escape, Misbehaviour, Refusal, Subject
from posenc_conformance.judge.verdict import Outcome, Silent, Wrong
from posenc_conformance.scheme_file.model import BadInput


def checks(subject: Subject) -> Iterator[Check]:
    """One check per bad input that the claims cover."""
    for bad in subject.scheme.bad_inputs:
        combinations = bad.combinations or (subject.combination.name,)
        if bad.call != subject.call.name or subject.combination.name not in combinations:
            continue
        if not subject.offers(bad.options):
            continue

        def run(subject: Subject, options: Options, bad: BadInput = bad) -> Outcome:
            case = subject.case(materialise(bad.arguments), subject.dtypes[0], bad.options)
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
