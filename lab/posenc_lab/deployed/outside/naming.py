"""Whether what the kit says of a wrong engine is what is wrong with it."""

import re
from collections.abc import Sequence
from enum import StrEnum

from posenc_lab.deployed.outside.cases import Case


class Answer(StrEnum):
    """What came of a case."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    PASSED = "passed"
    NAMED = "named"
    ALSO = "named, and another name beside"
    UNNAMED = "rejected without a name"
    MISNAMED = "rejected under a wrong name"


def answer_of(case: Case, answers: Sequence[tuple[str, str]]) -> Answer:
    """Return what came of a case, from the names and first lines of checks that failed."""
    if case.right:
        return Answer.REFUSED if answers else Answer.ACCEPTED
    if not answers:
        return Answer.PASSED
    good = [fits(case, name, line) for name, line in answers if fits(case, name, line)]
    bad = [name for name, line in answers if name and not fits(case, name, line)]
    if good:
        return Answer.ALSO if bad else Answer.NAMED
    return Answer.MISNAMED if bad else Answer.UNNAMED


def fits(case: Case, name: str, line: str) -> bool:
    """Say whether a name or a first line tells what is wrong."""
    if name in case.ids:
        return True
    return bool(case.words and name and re.search(case.words, line))
