"""Calls to new instances of an adapter: what earlier calls, in other dtypes, would hide.

One instance answers all checks, widest dtype first. A table that has grown in float32 is long
enough for bfloat16, so that the code which makes it in bfloat16 never runs.
"""

from collections.abc import Iterable

from posenc_conformance.checks.bench import is_right, require_plainly_right
from posenc_conformance.checks.precision import sweep_case
from posenc_conformance.checks.variations import growing, large
from posenc_conformance.diagnose.diagnosis import Diagnosis
from posenc_conformance.diagnose.explain import Explain, require_agreement
from posenc_conformance.diagnose.rules import diagnose_subject
from posenc_conformance.diagnose.state import is_fresh_right, made_anew
from posenc_conformance.judge.arrays import UNIT_ROUNDOFF, Floats
from posenc_conformance.judge.calling import ask
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.subject import Subject


def ask_anew(subject: Subject, case: Case) -> None:
    """Ask new instances: in each shorter dtype, after that in this one, and step by step.

    Does nothing if the class cannot be instantiated without arguments.
    """
    require_plainly_right(subject, case.dtype)
    for dtype in subject.dtypes:
        if UNIT_ROUNDOFF[dtype] > UNIT_ROUNDOFF[case.dtype]:
            _ask_short_first(subject, case, dtype)
    _ask_in_steps(subject, case)


def _ask_short_first(subject: Subject, case: Case, short: str) -> None:
    """Call a new instance in a shorter dtype, in which it makes its tables, then in this dtype.

    A small call comes first, then one that makes tables grow. An answer that is also wrong after
    calls in this dtype has other checks.
    """
    if (fresh := made_anew(subject)) is None:
        return
    cases = [case, *_far(subject, case, short)]
    alone = f"a new instance is wrong that is called in {short} alone"
    kept = f"something of the first call is kept in its dtype: after one in {short} it is wrong"
    for other in subject.runnable(subject.case(each.arguments, short) for each in cases):
        if not is_right(fresh, other) and _is_right_after(subject, cases, other):
            _require(fresh, other, f"in {short} alone, by a new instance", _named(fresh, alone))
    for other in subject.runnable(cases):
        _require(fresh, other, f"after a first call in {short}", _said(kept))


def _is_right_after(subject: Subject, cases: Iterable[Case], other: Case) -> bool:
    """Return whether a new instance is right after ``cases``.

    The used instance is not asked: it would keep a wrong table for later checks.
    """
    fresh = made_anew(subject)
    return fresh is not None and all(is_right(fresh, each) for each in (*cases, other))


def _far(subject: Subject, case: Case, short: str) -> list[Case]:
    """Return the call that reaches furthest: the sweep's, else the large one; or none."""
    found = sweep_case(subject, short) or large(subject, case)
    return [] if found is None else [subject.case(found.arguments, case.dtype)]


def _ask_in_steps(subject: Subject, case: Case) -> None:
    """Call a new instance at one position after the other, as decoding does.

    Reports the first wrong answer, unless the used instance gives it as well.
    """
    if (fresh := made_anew(subject)) is None:
        return
    for change in growing(case):
        other = case.with_arguments(**change)
        if other.has_result and subject.covers(other) and not is_right(fresh, other):
            if is_fresh_right(subject, other):
                words = "a table is one row too short: wrong at the position after the last call's"
            elif is_right(subject, other):
                words = "a table is too short at first: right only after calls at later positions"
            else:
                return
            _require(fresh, other, "step by step, by a new instance", _said(words))


def _require(subject: Subject, case: Case, what: str, explain: Explain) -> None:
    require_agreement(None, case, ask(subject, case), what, explain)


def _said(words: str) -> Explain:
    return lambda case, output: Diagnosis((), otherwise=words)


def _named(subject: Subject, words: str) -> Explain:
    """Name the mistake of a new instance; else say ``words``, and what its results show."""

    def explain(case: Case, output: Floats) -> Diagnosis:
        found = diagnose_subject(subject, case, output)
        read = f": {found.recovered}" if found.recovered else ""
        return found if found.explanations else Diagnosis((), otherwise=words + read)

    return explain
