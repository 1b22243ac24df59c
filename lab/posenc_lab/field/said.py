"""What the kit says of implementations that people write, and how often it is right."""

import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from posenc_conformance.report.document import explained
from posenc_lab.field.implementation import FORMULA, RIGHT, Implementation
from posenc_lab.judging import Verdict, failed, judge
from posenc_lab.results import share

ACCEPTED, REFUSED = "accepted", "refused"
NAMED, NEAR, SHOWN, UNNAMED, MISNAMED = "named", "near", "shown", "unnamed", "misnamed"
NAMES = (NAMED, NEAR, SHOWN, UNNAMED, MISNAMED)
"""The best first."""

STATE = re.compile(r"an earlier call|earlier calls|(the|very) first call|call before")
"""How the kit says that something is left of a call."""
PATTERN = re.compile(r"^pattern +(.*)$", re.MULTILINE)
"""How the kit says where a result is wrong, which may be all that there is to say."""
NOTHING = "no known deviation"
"""How the kit begins when it has no name."""
LONGEST = 110
Row = Mapping[str, Any]
"""What is kept of one implementation: ``fault``, ``naming``, ``said`` and ``state_in_vain``."""


@dataclass(frozen=True)
class Said:
    """What the kit says of one implementation."""

    name: str
    fault: str
    failures: int
    said: str
    """The first of the summary: what explains most failures, or what was read from results."""
    naming: str
    """One of NAMES; of right code, whether it is refused. SHOWN has no name, but its pattern, where
    the result is wrong, is what a right diagnosis says."""
    state_in_vain: bool
    """Whether something of earlier calls is blamed that the code does not keep."""
    checks: tuple[str, ...]
    """The first checks that failed."""

    @property
    def rejected(self) -> bool:
        """Whether anything failed."""
        return self.failures > 0


def judge_implementation(each: Implementation) -> Said:
    """Judge one, whole."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bad = failed(judge(each.adapter()))
    names = explained([verdict.outcome.explanations for verdict in bad])
    told = [f"{words} [{id}]" for id, words, _ in names] or recovered(bad)
    how = naming(each, told, known=bool(names), rejected=bool(bad))
    pattern = shown(each, bad) if how == UNNAMED else ""
    return Said(
        each.name,
        each.fault,
        len(bad),
        pattern or (told[0] if told else ""),
        SHOWN if pattern else how,
        each.fault not in (RIGHT, "state") and any(STATE.search(one.text) for one in bad),
        tuple(verdict.id for verdict in bad[:3]),
    )


def recovered(bad: Sequence[Verdict]) -> list[str]:
    """What was read from results, or else the first line of each failure; the most frequent first.

    A failure's text begins with what it says of the result. That no mistake fits says nothing,
    unless it says besides what is left of an earlier call.
    """
    found = [one.outcome.recovered or one.text.strip().partition("\n")[0] for one in bad]
    told = [text.removeprefix(f"{NOTHING}; ") for text in found]
    return [text for text, _ in Counter(told).most_common() if not text.startswith(NOTHING)]


def naming(each: Implementation, told: Sequence[str], *, known: bool, rejected: bool) -> str:
    """Whether what is told is what is wrong.

    ``known`` says that the kit gives a mistake's name, which may be the wrong one. What it reads
    from results is a description, right or not.
    """
    if each.fault == RIGHT:
        return REFUSED if rejected else ACCEPTED
    if not rejected:
        return ACCEPTED
    fits = [_fits(each, text) for text in told]
    if fits[:1] == [True]:
        return NAMED
    if known:
        return NEAR if any(fits) else MISNAMED
    return UNNAMED


def _fits(each: Implementation, text: str) -> bool:
    """Whether words are right; those that blame state are not, where there is none."""
    if each.fault != "state" and STATE.search(text):
        return False
    return any(re.search(word, text, re.IGNORECASE) for word in each.words)


def figures(rows: Sequence[Row]) -> dict[str, str]:
    """Count the rows of a set: rejected, named, refused."""
    wrong = [each for each in rows if each["fault"] != RIGHT]
    right = [each for each in rows if each["fault"] == RIGHT]
    formula = [each for each in wrong if each["fault"] == FORMULA]
    rejected = [each for each in wrong if each["naming"] != ACCEPTED]
    return {
        "wrong ones rejected": _of(len(rejected), len(wrong)),
        "of them named rightly": _of(_number(rejected, NAMED), len(rejected)),
        "shown by their pattern": _of(_number(rejected, SHOWN), len(rejected)),
        "formulas named rightly": _of(_number(formula, NAMED), len(formula)),
        "near": _of(_number(formula, NEAR), len(formula)),
        "wrong names": _of(_number(wrong, MISNAMED), len(wrong)),
        "state blamed in vain": _of(sum(each["state_in_vain"] for each in wrong), len(wrong)),
        "right ones refused": _of(_number(right, REFUSED), len(right)),
    }


def shown(each: Implementation, bad: Sequence[Verdict]) -> str:
    """The first pattern that says what is wrong; empty if none does."""
    patterns = [found[1] for one in bad if (found := PATTERN.search(one.text))]
    return next((text for text in patterns if _fits(each, text)), "")


def line(each: Said) -> str:
    """One implementation, as a row of a table."""
    rejected = f"{each.failures} failed" if each.rejected else ACCEPTED
    state = "state!" if each.state_in_vain else ""
    cells = (each.name, each.fault, rejected, each.naming, state, each.said[:LONGEST])
    return f"| {' | '.join(cells)} |"


def keep(path: Path, found: Iterable[Said]) -> None:
    """Write what was said, in a file that a later run can be compared with."""
    rows = {each.name: row(each) for each in found}
    # A line each, so that a difference shows which ones changed.
    text = yaml.safe_dump(rows, allow_unicode=True, default_flow_style=None, width=1000)
    path.write_text(text, "utf-8")


def kept(name: str) -> Path:
    """Return where the results of a set are kept."""
    return Path(__file__).parent / name / "results.yaml"


def row(each: Said) -> dict[str, Any]:
    """Return what is kept of one implementation."""
    parts = asdict(each)
    return {part: parts[part] for part in ("fault", "naming", "said", "state_in_vain")}


def read(path: Path) -> dict[str, Row]:
    """Read kept rows by name; none if there is no file."""
    rows: dict[str, Row] = yaml.safe_load(path.read_text("utf-8")) if path.is_file() else {}
    return rows


@dataclass(frozen=True)
class Change:
    """That the kit says something else of one implementation than it did."""

    text: str
    worse: bool


def changes(before: Mapping[str, Row], found: Iterable[Said]) -> list[Change]:
    """What is said otherwise than it was kept."""
    told = []
    for each in found:
        was, now = before.get(each.name), row(each)
        if was is not None and _worth(was) != _worth(now):
            text = f"{each.name}: was {_words(was)}, is {_words(now)}: {each.said}"
            told.append(Change(text, _worth(now) < _worth(was)))
    return told


def _worth(row: Row) -> tuple[int, bool]:
    """How good a verdict is, to compare two of the same implementation."""
    falling = (ACCEPTED, REFUSED) if row["fault"] == RIGHT else (*NAMES, ACCEPTED)
    return -falling.index(row["naming"]), not row["state_in_vain"]


def _words(row: Row) -> str:
    return f"{row['naming']}{' with state in vain' if row['state_in_vain'] else ''}"


def _number(some: Iterable[Row], naming: str) -> int:
    return sum(each["naming"] == naming for each in some)


def _of(part: int, whole: int) -> str:
    return f"{part} of {whole} ({share(part, whole)})"
