"""Words for a wrong result: where, expected, got, by how much, and what it looks like."""

from collections.abc import Callable
from typing import Any

import numpy as np

from posenc_conformance.diagnose.diagnosis import Diagnosis, diagnose
from posenc_conformance.diagnose.pattern import pattern
from posenc_conformance.diagnose.pictured import pictures_of
from posenc_conformance.diagnose.rules import diagnose_subject
from posenc_conformance.judge.arrays import Array, Floats
from posenc_conformance.judge.call_kinds import KINDS
from posenc_conformance.judge.calling import call_line
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import Comparison, compare
from posenc_conformance.judge.subject import Subject
from posenc_conformance.judge.verdict import Outcome, Wrong
from posenc_conformance.pictures.strip import strips

SHOWN = 2
"""Maximum number of other mistakes listed that predict the same values."""
Explain = Callable[[Case, Floats], Diagnosis]
"""Diagnoses a wrong result."""


def require_agreement(
    subject: Subject | None,
    case: Case,
    given: Array,
    title: str,
    explain: Explain | None = None,
    page: str = "",
) -> Outcome:
    """Return the outcome of a right result; raise Wrong, with an explanation, for a wrong one.

    Without a subject or ``explain``, the result is explained by itself, as effects of earlier calls
    must be. ``page`` is the command that explains the mistake, in place of the scheme's.
    """
    comparison = compare(case, given)
    if comparison.passes:
        return Outcome(worst=comparison.worst)
    output = given.astype(np.float64)  # a copy: explaining it calls the implementation again
    if explain is not None:
        diagnosis = explain(case, output)
    elif subject is None:
        diagnosis = diagnose(case, output)
    else:
        diagnosis = diagnose_subject(subject, case, output)
    pictures = pictures_of(case, output)
    text = "\n".join(
        [
            *diagnosis_lines(case, output, diagnosis),
            check_line(case, title),
            call_line(case),
            *comparison_lines(case, comparison),
            *strips(next(iter(pictures), None)),
            f"see        {page}" if page else page_line(case, diagnosis),
        ]
    )
    outcome = Outcome(
        worst=comparison.worst,
        explanations=diagnosis.explanations,
        recovered=diagnosis.recovered or _of_earlier(diagnosis),
        pictures=pictures,
    )
    raise Wrong(text, outcome, case)


def _of_earlier(diagnosis: Diagnosis) -> str:
    """Return the words about an earlier call that explains the result; empty if there are none."""
    known, _, words = diagnosis.otherwise.partition("; ")
    return words if known == "no known deviation" and not diagnosis.explanations else ""


def page_line(case: Case, diagnosis: Diagnosis) -> str:
    """Return the line that names the command which explains the mistake."""
    names = (diagnosis.deviation or "").split("+")
    return f"see        posenc explain {' '.join((case.scheme.id, *names))}".rstrip()


def diagnosis_lines(case: Case, output: Floats, diagnosis: Diagnosis) -> list[str]:
    """Name the mistake; if it is unknown, describe the pattern of the error.

    These lines come first, because pytest's summary shows only the first line of a failure.
    """
    if not diagnosis.explanations:
        looks = pattern(case, output, KINDS[case.call.kind].axes)
        message = diagnosis.otherwise
        if diagnosis.recovered:
            message = f"no known deviation: {diagnosis.recovered}"
        return [message, *([f"pattern    {looks}"] if looks else [])]
    deviation, words = diagnosis.explanations[0]
    first = f"{words} [{deviation}; residual {diagnosis.residual:.2g} of the bound]"
    return [first, *(f"or         {other}" for other in diagnosis.alike[:SHOWN])]


def check_line(case: Case, title: str) -> str:
    """Return the line that names the failed check."""
    return f"check      {title} of {case.scheme.title}"


def comparison_lines(case: Case, comparison: Comparison) -> list[str]:
    """Return the lines on the worst error: its place, the values expected and got, and its size."""
    error = abs(comparison.got - comparison.expected)
    size = "this value must be exact"
    if comparison.bound > 0:
        size = f"{comparison.worst:.3g} times the bound of {comparison.bound:.3g}"
    return [
        f"where      {place(case, comparison.index)}",
        f"expected   {comparison.expected:.17g}",
        f"got        {comparison.got:.9g}",
        f"error      {error:.3g}, {size}",
        f"wrong      {comparison.wrong} of {comparison.judged} values looked at",
    ]


def place(case: Case, index: tuple[int, ...]) -> str:
    """Describe an index in the words of the scheme."""
    names = KINDS[case.call.kind].axes
    named: dict[str, Any] = dict(zip(reversed(names), reversed(index), strict=False))
    if "position" in named and "positions" in case.arguments:
        named["position"] = case.arguments["positions"][..., named["position"]]
    if "distance" in named:
        named["distance"] = case.arguments["relative_position"][index]
    leading = index[: len(index) - len(names)]
    parts = [f"{name} {named[name]}" for name in names if name in named]
    return ", ".join(([f"leading index {leading}"] if leading else []) + parts)
