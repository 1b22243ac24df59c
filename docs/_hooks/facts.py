"""Numbers of the project in sentences: one function or value per ``<!-- fact:name -->``.

Such a number is never typed in a page. It comes from spec, kit and records when the site is built,
so that no sentence can go stale; ``typed`` finds numbers that were typed nevertheless.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from posenc_lab.inputs import older

import lessons
import vectors
from blocks import length_blocks
from blocks.measured_blocks import read_results, totals
from blocks.scheme_blocks import schemes
from blocks.scoreboard_blocks import packages
from pages import DOCS
from posenc_conformance.adapters.claims import DEFAULT_MAX_POSITION
from posenc_conformance.models.file import load_all

Fact = Callable[[], int | str]


def render_fact(name: str) -> str:
    """Return a fact as printed text."""
    value = FACTS[name]()
    return f"{value:,}" if isinstance(value, int) else value


def _of_matrix(name: str) -> Fact:
    return lambda: int(read_results("matrix")["all"][name])


def unnamed() -> int:
    """Count the wrong miniatures whose mistake has no name in the specification."""
    counts = read_results("matrix")["all"]
    return int(counts["wrong"] - counts["nameable"])


def right() -> int:
    """Count the right miniatures."""
    return sum(read_results("matrix")["right"].values())


def _percent(way: str) -> Fact:
    """Make a fact: the share of the wrong miniatures it judges that a way of checking rejects."""

    def percent() -> str:
        rejected, judged = totals(read_results("today")["wrong"], way)
        return f"{100 * rejected / judged:.0f} %"

    return percent


def _alarms(place: int) -> Fact:
    """Make a fact: the number of right miniatures that allclose rejects (0) or judges (1)."""
    return lambda: totals(read_results("today")["right"], "numpy.allclose")[place]


def vector_cases() -> int:
    """Count the cases of the test vectors in the first dtype of the page."""
    return sum(len(file.cases) for file in vectors.exported(vectors.DTYPES[0]))


def measured_with_this_code() -> int:
    """Count the schemes whose code, own or shared, has not changed since the matrix was made."""
    every = list(schemes().values())
    return len(every) - len(older("matrix", read_results("matrix"), every))


def positions_searched() -> int:
    """Read the last position at which the explorer searches for pasted numbers."""
    text = (DOCS / "assets" / "explorer" / "searches.js").read_text(encoding="utf-8")
    (number,) = re.findall(r"^const POSITIONS = ([\d_]+);$", text, re.M)
    return int(number) - 1


def _lessons_that_import(packages: set[str]) -> Fact:
    """Make a fact: the number of lessons whose code imports one of some packages."""
    return lambda: sum(bool(packages & lesson.imports) for lesson in lessons.lessons())


def _numbers_of_lessons() -> dict[str, Fact]:
    """Make a fact for each lesson: its number, counted from 1."""
    numbered = enumerate(lessons.pages(), 1)
    return {f"lesson-{Path(page).stem}": partial(int, number) for number, page in numbered}


FACTS: dict[str, Fact] = {
    "wrong-miniatures": _of_matrix("wrong"),
    "wrong-miniatures-nameable": _of_matrix("nameable"),
    "wrong-miniatures-unnamed": unnamed,
    "wrong-miniatures-named-anyway": _of_matrix("named_anyway"),
    "right-miniatures": right,
    "found-by-printed-decimals": _percent("printed decimals"),
    "found-by-allclose": _percent("numpy.allclose"),
    "found-by-own-tests": _percent("a library's own tests"),
    "allclose-false-alarms": _alarms(0),
    "allclose-asked": _alarms(1),
    "vector-cases": vector_cases,
    "models": lambda: len(load_all()),
    "libraries": lambda: len(packages()),
    "schemes": lambda: len(schemes()),
    "schemes-measured-with-this-code": measured_with_this_code,
    "positions-searched": positions_searched,
    "lessons": lambda: len(lessons.pages()),
    "lessons-with-pytorch": _lessons_that_import({"torch"}),
    "lessons-with-posenc": _lessons_that_import({"posenc", "posenc_conformance"}),
    "largest-position": lambda: DEFAULT_MAX_POSITION,
    **_numbers_of_lessons(),
    **length_blocks.FACTS,
}

COUNTED = (
    "schemes|models|engines|libraries|languages|adapters|programs|conventions|invariants|"
    "deviations|mistakes|goldens|checks|miniatures|mutants|bugs|threads|findings|cases|forms|tests|"
    "claims|pages|exercises|failures|lessons"
)
WORDS = (
    "eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|"
    "fifty|sixty|seventy|eighty|ninety|hundred|thousand"
)
TYPED = re.compile(
    rf"(?<![\w.,^/])(?:\d{{1,3}}(?:,\d{{3}})+|\d{{2,}}|(?:{WORDS})(?:-\w+)?)"
    rf"(?:\s+(?!and\b|or\b|in\b|is\b|are\b)[a-z-]+){{0,3}}\s+(?:{COUNTED})\b"
    r"|\d\s*±\s*\d|\b\d+\s+(?:seconds|minutes|hours)\b"
    r"|\blessons?\s+\d+|\bten(?:\s+[a-z]+)?\s+lessons\b",
    re.I,
)
"""A number of at least ten that counts or measures something of the project.

Smaller numbers are read as words, except those of lessons.
"""
CODE = re.compile(r"^( *)```.*?^\1```$|`[^`\n]*`|<!--.*?-->|\]\([^)]*\)", re.S | re.M)


def typed(markdown: str) -> Iterator[str]:
    """Yield typed numbers in a page's sentences that must come from the data."""
    for match in TYPED.finditer(CODE.sub("", markdown)):
        yield " ".join(match[0].split())
