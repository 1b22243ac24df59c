"""The detection matrix: which level of checks catches and names which wrong implementations.

    python -m posenc_lab.matrix [--scheme ID] [--jobs N] [--write FILE] [--names]

Every wrong miniature is judged by every check of its claim, with the diagnosis. Miniatures of a
deviation in the spec are counted under the deviation's class; the others, for which the spec has no
name, under "unnamed". Any name that the kit gives to an unnamed miniature is wrong; ``--names``
lists these miniatures, and those that should have had another name.
"""

import argparse
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from os import sched_getaffinity
from pathlib import Path
from typing import Any

import numpy as np

from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.checks import LEVELS
from posenc_lab.judging import diagnoses, failed, judge, schemes
from posenc_lab.miniatures import right, wrong
from posenc_lab.miniatures.base import WRONG, Mistake
from posenc_lab.miniatures.styles import RIGHT
from posenc_lab.results import table, write

assert right.__path__, wrong.__path__  # importing them fills the lists

UNNAMED = "unnamed"
SUMMED = ("wrong", "rejected", "nameable", "named_first", "named_anyway")
LEVELED = ("seen_by", "seen_only_by")


@dataclass(frozen=True)
class Found:
    """The kit's results for one wrong miniature."""

    scheme: str
    kind: str
    """Class of the miniature's deviation."""
    levels: tuple[str, ...]
    """Levels with a failed check."""
    nameable: bool
    named_first: bool
    miniature: str
    """The miniature's module and class."""
    names: tuple[str, ...]
    """All names that the kit gave it, the one that explains most first."""

    @property
    def named_anyway(self) -> bool:
        """Whether the kit named it, although the spec has no name for the mistake."""
        return not self.nameable and bool(self.names)


def kinds() -> dict[tuple[str, str], str]:
    """Return the class of each deviation, by call and id."""
    return {
        (call, d.id): d.kind for scheme in schemes() for d in scheme.deviations for call in d.calls
    }


def judge_miniature(number: int) -> Found:
    """Judge the wrong miniature with this index in WRONG."""
    warnings.simplefilter("ignore")
    mistake: type[Mistake] = WRONG[number]
    with np.errstate(all="ignore"):
        verdicts = judge(mistake())
        names = diagnoses(verdicts)
    named = mistake.named
    return Found(
        scheme=home(mistake.call),
        kind=kinds().get((mistake.call, named or ""), UNNAMED if named is None else "a pair"),
        levels=tuple(
            sorted({verdict.check.level for verdict in failed(verdicts)}, key=LEVELS.index)
        ),
        nameable=named is not None,
        named_first=named is not None and names[:1] == [named],
        miniature=f"{mistake.__module__.rpartition('.')[2]}: {mistake.__name__}",
        names=tuple(names),
    )


def home(call: str) -> str:
    """Return the id of the scheme that has a call."""
    return next(scheme.id for scheme in schemes() if call in scheme.calls)


def right_judged(number: int) -> tuple[str, bool]:
    """Return the scheme id of a right miniature by its index, and whether it is rejected."""
    with np.errstate(all="ignore"):
        rejected = bool(failed(judge(RIGHT[number]())))
    return right_home(number), rejected


def right_home(number: int) -> str:
    """Return the scheme id of the right miniature with this index in RIGHT."""
    return subjects(RIGHT[number](), schemes())[0].scheme.id


def summary(some: Iterable[Found]) -> dict[str, Any]:
    """Return the counts for a group of wrong miniatures."""
    group = list(some)
    return {
        "wrong": len(group),
        "rejected": sum(bool(result.levels) for result in group),
        "nameable": sum(result.nameable for result in group),
        "named_first": sum(result.named_first for result in group),
        "named_anyway": sum(result.named_anyway for result in group),
        "seen_by": Counter(level for result in group for level in result.levels),
        "seen_only_by": Counter(result.levels[0] for result in group if len(result.levels) == 1),
    }


def results(found: Sequence[Found], right_ones: Sequence[tuple[str, bool]]) -> dict[str, Any]:
    """Return the record: the counts of each scheme, and the sums."""
    by_scheme = {}
    for name in sorted({result.scheme for result in found}):
        own = [result for result in found if result.scheme == name]
        judged_right = [rejected for scheme, rejected in right_ones if scheme == name]
        by_scheme[name] = {
            **summary(own),
            "classes": {
                kind: summary(result for result in own if result.kind == kind)
                for kind in sorted({result.kind for result in own})
            },
            "right": {
                "passed": len(judged_right) - sum(judged_right),
                "rejected": sum(judged_right),
            },
        }
    return with_sums(by_scheme)


def with_sums(by_scheme: Mapping[str, Any]) -> dict[str, Any]:
    """Return the counts of each scheme, and their sums by class and over all schemes."""
    groups = list(by_scheme.values())
    kinds_met = sorted({kind for group in groups for kind in group["classes"]})
    return {
        "schemes": dict(by_scheme),
        "classes": {
            kind: added(group["classes"][kind] for group in groups if kind in group["classes"])
            for kind in kinds_met
        },
        "all": added(
            {name: group[name] for name in SUMMED} | {name: group[name] for name in LEVELED}
            for group in groups
        ),
        "right": {
            name: sum(group["right"][name] for group in groups) for name in ("passed", "rejected")
        },
    }


def added(groups: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the sum of the counts of several groups."""
    listed = list(groups)
    sums: dict[str, Any] = {name: sum(group[name] for group in listed) for name in SUMMED}
    levels = {name: sum((Counter(group[name]) for group in listed), Counter()) for name in LEVELED}
    return sums | levels


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scheme", help="only miniatures of this scheme")
    parser.add_argument("--jobs", type=int, default=len(sched_getaffinity(0)))
    parser.add_argument("--write", type=Path, metavar="FILE", help="results as JSON")
    parser.add_argument("--names", action="store_true", help="list what is named wrongly")
    options = parser.parse_args()
    numbers = [n for n, each in enumerate(WRONG) if options.scheme in (None, home(each.call))]
    with get_context("fork").Pool(options.jobs) as pool:
        judged = pool.map(judge_miniature, numbers, chunksize=8)
        right_ones = pool.map(right_judged, _right_of(options.scheme), chunksize=8)
        data = results(judged, right_ones)
    heads = ["", "wrong", "rejected", "with a name", "named first", "named anyway", *LEVELS]
    for title in ("schemes", "classes"):
        rows = [[name, *_row(each)] for name, each in [*data[title].items(), ("all", data["all"])]]
        print(table([title, *heads[1:]], rows), "\n")
    print("right miniatures: {passed} pass, {rejected} rejected".format(**data["right"]))
    for each in judged if options.names else ():
        if each.named_anyway or (each.nameable and not each.named_first):
            print(f"{each.miniature}: named {', then '.join(each.names) or 'nothing'}")
    write(options.write, data)


def _right_of(scheme: str | None) -> list[int]:
    return [n for n in range(len(RIGHT)) if scheme in (None, right_home(n))]


def _row(group: dict[str, Any]) -> list[int]:
    counts = [group[name] for name in SUMMED]
    return counts + [group["seen_by"][level] for level in LEVELS]


if __name__ == "__main__":
    main()
