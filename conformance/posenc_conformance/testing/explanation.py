"""The assertion message for a wrong result."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from posenc_conformance.diagnose.diagnosis import to_diagnosis
from posenc_conformance.diagnose.explain import comparison_lines, diagnosis_lines, page_line
from posenc_conformance.diagnose.pictured import picture_errors
from posenc_conformance.judge.arrays import Floats
from posenc_conformance.judge.calling import call_line
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import Comparison
from posenc_conformance.pictures.strip import strips
from posenc_conformance.scheme_file.scheme import Arguments
from posenc_conformance.testing.naming import name_mistake

BEYOND = "not seen   what earlier calls have left: conformance(adapter) makes such calls"
"""Line that is added if no known mistake explains a result."""


@dataclass(frozen=True, eq=False)
class Judged:
    """A result with its case, and its comparison with the truth."""

    case: Case
    output: Floats
    comparison: Comparison
    assumed: Arguments
    """Conventions and parameters that have their defaults because the test gives none."""


def explanation(judged: Sequence[Judged], number: int) -> str:
    """Return the message for the wrong result ``number`` of a batch.

    The text names the mistake, the place and size of the largest error, and a page to read.
    """
    case, output = judged[number].case, judged[number].output
    comparison = judged[number].comparison
    try:
        diagnosis = name_mistake(case, output, comparison.index)
    except MemoryError:  # simulating a mistake may take more memory than the call
        diagnosis = to_diagnosis([])
    named = diagnosis_lines(case, output, diagnosis)
    lines = [
        *(_without_claims(line, judged[number]) for line in named),
        call_line(case),
        *comparison_lines(case, comparison),
        *strips(picture_errors(case, output)),
        page_line(case, diagnosis),
    ]
    if not diagnosis.explanations:
        lines.append(BEYOND)
    if len(judged) > 1:
        wrong = sum(not result.comparison.passes for result in judged)
        lines.insert(1, f"sequence   {number}, one of {wrong} that are wrong among {len(judged)}")
    return "\n".join(lines)


def _without_claims(line: str, judged: Judged) -> str:
    """Say of a value that the test leaves out that it is the default, not that it was claimed."""
    case, assumed = judged.case, judged.assumed
    given = {**case.conventions, **case.arguments}
    said = {_text(value) for name, value in given.items() if name not in assumed}
    for value in {_text(value) for value in assumed.values()} - said:
        was = rf"((?:; |where ){re.escape(value)}) (?:was claimed|(?:was|is) asked for)\b"
        line = re.sub(was, r"\1 is the default", line)
    return line


def _text(value: Any) -> str:
    """Return a value as words about a mistake have it."""
    return f"{value:g}" if isinstance(value, float) else str(value)
