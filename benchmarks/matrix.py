"""The detection matrix: which wrong implementations which level of checks catches, and names.

    python -m benchmarks.matrix [--scheme ID] [--jobs N] [--write FILE]

Every wrong miniature is judged by every check that its claim calls for, with the diagnosis. Those
that embody a deviation of the spec are counted under the deviation's class; the others, for which
the spec has no name, under "unnamed".
"""

import argparse
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from os import sched_getaffinity
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.judging import forget
from benchmarks.results import table, write
from tests.judging import diagnoses, failed, judge, schemes
from tests.miniatures import right, wrong
from tests.miniatures.mistakes import WRONG, Mistake
from tests.miniatures.styles import RIGHT

from posenc_conformance.checks import LEVELS

assert right.__path__, wrong.__path__  # importing them fills the lists

UNNAMED = "unnamed"


@dataclass(frozen=True)
class Found:
    """What the kit said of one wrong miniature."""

    scheme: str
    kind: str
    """Class of the deviation that it embodies."""
    levels: tuple[str, ...]
    """Levels with a check that failed."""
    nameable: bool
    named_first: bool


def kinds() -> dict[tuple[str, str], str]:
    """Class of each deviation, by call and id."""
    return {
        (call, d.id): d.kind for scheme in schemes() for d in scheme.deviations for call in d.calls
    }


def judged(number: int) -> Found:
    """A wrong miniature by its place in the list."""
    warnings.simplefilter("ignore")
    mistake: type[Mistake] = WRONG[number]
    with np.errstate(all="ignore"):
        verdicts = judge(mistake())
        names = diagnoses(verdicts)
    forget()
    named = mistake.named
    return Found(
        scheme=home(mistake.call),
        kind=kinds().get((mistake.call, named or ""), UNNAMED if named is None else "a pair"),
        levels=tuple(sorted({each.check.level for each in failed(verdicts)}, key=LEVELS.index)),
        nameable=named is not None,
        named_first=named is not None and names[:1] == [named],
    )


def home(call: str) -> str:
    """Scheme of a call."""
    return next(scheme.id for scheme in schemes() if call in scheme.calls)


def right_rejected() -> int:
    """How many right miniatures are rejected."""
    with np.errstate(all="ignore"):
        return sum(bool(failed(judge(make()))) for make in RIGHT)


def summary(some: Iterable[Found]) -> dict[str, Any]:
    """Counts of a group."""
    group = list(some)
    return {
        "wrong": len(group),
        "rejected": sum(bool(each.levels) for each in group),
        "nameable": sum(each.nameable for each in group),
        "named_first": sum(each.named_first for each in group),
        "seen_by": Counter(level for each in group for level in each.levels),
        "seen_only_by": Counter(each.levels[0] for each in group if len(each.levels) == 1),
    }


def results(found: Sequence[Found], rejected: int) -> dict[str, Any]:
    """What is written."""
    names = sorted({each.scheme for each in found})
    classes = sorted({each.kind for each in found})
    return {
        "all": summary(found),
        "right": {"passed": len(RIGHT) - rejected, "rejected": rejected},
        "schemes": {name: summary(f for f in found if f.scheme == name) for name in names},
        "classes": {name: summary(f for f in found if f.kind == name) for name in classes},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scheme", help="only miniatures of this scheme")
    parser.add_argument("--jobs", type=int, default=len(sched_getaffinity(0)))
    parser.add_argument("--write", type=Path, metavar="FILE", help="results as JSON")
    given = parser.parse_args()
    some = [n for n, each in enumerate(WRONG) if given.scheme in (None, home(each.call))]
    with get_context("fork").Pool(given.jobs) as pool:
        rejected = pool.apply_async(right_rejected)
        found = pool.map(judged, some, chunksize=8)
        data = results(found, rejected.get())
    heads = ["", "wrong", "rejected", "with a name", "named first", *LEVELS]
    for title in ("schemes", "classes"):
        rows = [[name, *_row(each)] for name, each in [*data[title].items(), ("all", data["all"])]]
        print(table([title, *heads[1:]], rows), "\n")
    print(f"right miniatures: {data['right']['passed']} pass, {rejected.get()} rejected")
    write(given.write, data)


def _row(group: dict[str, Any]) -> list[int]:
    counts = [group[name] for name in ("wrong", "rejected", "nameable", "named_first")]
    return counts + [group["seen_by"][level] for level in LEVELS]


if __name__ == "__main__":
    main()
