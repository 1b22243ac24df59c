"""The kit's diagnoses of implementations as people write them, and how often they are right."""

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
"""Ratings of a diagnosis, the best first."""

STATE = re.compile(r"an earlier call|earlier calls|(the|very) first call|call before")
"""The kit's words for state that remains from an earlier call."""
PATTERN = re.compile(r"^pattern +(.*)$", re.MULTILINE)
"""The kit's line about where a result is wrong, which may be the whole diagnosis."""
NOTHING = "no known deviation"
"""The beginning of the kit's text when it has no name."""
LONGEST = 110
Row = Mapping[str, Any]
"""The stored result of an implementation: ``fault``, ``naming``, ``said``, ``state_in_vain``."""


@dataclass(frozen=True)
class Said:
    """The kit's result for one implementation."""

    name: str
    fault: str
    failures: int
    said: str
    """The first text of the summary: the explanation of most failures, or a recovered one."""
    naming: str
    """One of NAMES, or ACCEPTED; for right code ACCEPTED or REFUSED. SHOWN has no name, but the
    pattern of wrong elements matches a right diagnosis."""
    state_in_vain: bool
    """Whether stateless code is blamed for state from earlier calls."""
    checks: tuple[str, ...]
    """The first failed checks."""

    @property
    def rejected(self) -> bool:
        """Whether any check failed."""
        return self.failures > 0


def judge_implementation(each: Implementation) -> Said:
    """Judge one implementation with all checks."""
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
        each.fault not in (RIGHT, "state") and any(STATE.search(failure.text) for failure in bad),
        tuple(verdict.id for verdict in bad[:3]),
    )


def recovered(bad: Sequence[Verdict]) -> list[str]:
    """Return descriptions recovered from results, or first lines of failures, most frequent first.

    The first line of a failure describes the result. "No known deviation" describes nothing, unless
    words about an earlier call follow.
    """
    texts = [
        verdict.outcome.recovered or verdict.text.strip().partition("\n")[0] for verdict in bad
    ]
    told = [text.removeprefix(f"{NOTHING}; ") for text in texts]
    return [text for text, _ in Counter(told).most_common() if not text.startswith(NOTHING)]


def naming(each: Implementation, told: Sequence[str], *, known: bool, rejected: bool) -> str:
    """Rate the texts in ``told`` as a diagnosis.

    ``known`` says that the kit gave a mistake's name, which may be wrong; otherwise the texts are
    descriptions, right or not.
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
    """Return whether a text is a right diagnosis; blaming stateless code for state is not."""
    if each.fault != "state" and STATE.search(text):
        return False
    return any(re.search(word, text, re.IGNORECASE) for word in each.words)


def figures(rows: Sequence[Row]) -> dict[str, str]:
    """Count the rejected, named and refused rows of a set."""
    wrong = [entry for entry in rows if entry["fault"] != RIGHT]
    right = [entry for entry in rows if entry["fault"] == RIGHT]
    formula = [entry for entry in wrong if entry["fault"] == FORMULA]
    rejected = [entry for entry in wrong if entry["naming"] != ACCEPTED]
    return {
        "wrong ones rejected": _of(len(rejected), len(wrong)),
        "of them named rightly": _of(_number(rejected, NAMED), len(rejected)),
        "shown by their pattern": _of(_number(rejected, SHOWN), len(rejected)),
        "formulas named rightly": _of(_number(formula, NAMED), len(formula)),
        "near": _of(_number(formula, NEAR), len(formula)),
        "wrong names": _of(_number(wrong, MISNAMED), len(wrong)),
        "state blamed in vain": _of(sum(entry["state_in_vain"] for entry in wrong), len(wrong)),
        "right ones refused": _of(_number(right, REFUSED), len(right)),
    }


def shown(each: Implementation, bad: Sequence[Verdict]) -> str:
    """Return the first pattern that is a right diagnosis; empty if none is."""
    patterns = [match[1] for verdict in bad if (match := PATTERN.search(verdict.text))]
    return next((text for text in patterns if _fits(each, text)), "")


def line(each: Said) -> str:
    """Return a table row for one implementation."""
    rejected = f"{each.failures} failed" if each.rejected else ACCEPTED
    state = "state!" if each.state_in_vain else ""
    cells = (each.name, each.fault, rejected, each.naming, state, each.said[:LONGEST])
    return f"| {' | '.join(cells)} |"


def keep(path: Path, found: Iterable[Said]) -> None:
    """Write results to a file, for comparison with a later run."""
    rows = {result.name: row(result) for result in found}
    # One line per implementation, so that a diff shows which changed.
    text = yaml.safe_dump(rows, allow_unicode=True, default_flow_style=None, width=1000)
    path.write_text(text, "utf-8")


def kept(name: str) -> Path:
    """Return the path of the stored results of a set."""
    return Path(__file__).parent / name / "results.yaml"


def row(each: Said) -> dict[str, Any]:
    """Return the fields to store for one implementation."""
    parts = asdict(each)
    return {part: parts[part] for part in ("fault", "naming", "said", "state_in_vain")}


def read(path: Path) -> dict[str, Row]:
    """Read stored rows by name; empty if there is no file."""
    rows: dict[str, Row] = yaml.safe_load(path.read_text("utf-8")) if path.is_file() else {}
    return rows


@dataclass(frozen=True)
class Change:
    """A change of the kit's result for one implementation."""

    text: str
    worse: bool


def changes(before: Mapping[str, Row], found: Iterable[Said]) -> list[Change]:
    """Return the differences between stored and new results."""
    told = []
    for result in found:
        was, now = before.get(result.name), row(result)
        if was is not None and _worth(was) != _worth(now):
            text = f"{result.name}: was {_words(was)}, is {_words(now)}: {result.said}"
            told.append(Change(text, _worth(now) < _worth(was)))
    return told


def _worth(row: Row) -> tuple[int, bool]:
    """Return how good a result is, to compare two of the same implementation."""
    falling = (ACCEPTED, REFUSED) if row["fault"] == RIGHT else (*NAMES, ACCEPTED)
    return -falling.index(row["naming"]), not row["state_in_vain"]


def _words(row: Row) -> str:
    return f"{row['naming']}{' with state in vain' if row['state_in_vain'] else ''}"


def _number(some: Iterable[Row], naming: str) -> int:
    return sum(entry["naming"] == naming for entry in some)


def _of(part: int, whole: int) -> str:
    return f"{part} of {whole} ({share(part, whole)})"
