"""What the kit says of bugs that it was not made for.

    python -m posenc_lab.field [bugs] [--only WORD] [--jobs N] [--write FILE]
    python -m posenc_lab.field people [NAME…] [--only WORD] [--jobs N] [--write FILE]

Of bugs: rejected, named rightly, named wrongly, left without a name. The name is the first of the
summary that the scorecard gives. Where the specification knows no such mistake, no name is the
right one. A file that is written keeps what it has of the first try, before anything was changed
for a bug.

Of what people write, right and wrong: the same, state that is blamed where there is none, and right
code that is refused. The kept results of the set are what a run is compared with, and it ends with
1 where one is worse; ``--write`` writes them.
"""

import argparse
import warnings
from collections import Counter
from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from posenc_lab.field import BUGS, implementation, said
from posenc_lab.judging import diagnoses, failed, judge
from posenc_lab.results import read_record, table, write

SETS = {"threads": "rebuilt from threads", "own": "made up"}
OUTCOMES = ("named rightly", "no name, rightly", "unnamed", "named wrongly", "not rejected")


def judge_bug(number: int) -> dict[str, Any]:
    """What the kit says of one bug, by its place in the list."""
    warnings.simplefilter("ignore")
    bug = BUGS[number]
    with np.errstate(all="ignore"):
        bad = failed(judge(bug.adapter))
        names = diagnoses(bad)
    first = names[0] if names else None
    return {
        "bug": bug.name,
        "meaning": bug.meaning,
        "thread": bug.thread,
        "right": list(bug.right),
        "named": first,
        "failed": len(bad),
        "outcome": outcome(bug.right, first, rejected=bool(bad)),
    }


def outcome(right: Sequence[str], named: str | None, *, rejected: bool) -> str:
    """In a word."""
    if not rejected:
        return "not rejected"
    if named is None:
        return "unnamed" if right else "no name, rightly"
    return "named rightly" if named in right else "named wrongly"


def count_outcomes(found: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Each outcome's number, and that of all."""
    number = Counter(each["outcome"] for each in found)
    return {"bugs": len(found), **{name: number[name] for name in OUTCOMES}}


def of_set(found: Sequence[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """Those of threads, or those made up."""
    return [each for each in found if bool(each["thread"]) == (name == "threads")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("set", nargs="?", default="bugs", choices=("bugs", *implementation.SETS))
    parser.add_argument("name", nargs="*", help="of a set of implementations: these alone")
    parser.add_argument("--only", default="", help="those with this word in their name")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", type=Path, metavar="FILE", help="keep the results")
    given = parser.parse_args()
    if given.set == "bugs":
        run_bugs(given.only, given.jobs, given.write)
    else:
        run_implementations(given.set, given.name, given.only, given.jobs, given.write)


def run_bugs(only: str, jobs: int, path: Path | None) -> None:
    """Judge the bugs, and print and write what came of it."""
    some = [n for n, each in enumerate(BUGS) if only in each.name]
    with get_context("fork").Pool(jobs) as pool:
        found = []
        for each in pool.imap(judge_bug, some):
            found.append(each)
            if each["outcome"] in OUTCOMES[2:]:
                told = f"{each['bug']}: {each['named']}, should be {each['right'] or 'none'}"
                print(f"{each['outcome']:14} {told}", flush=True)
    counts = {name: count_outcomes(of_set(found, name)) for name in SETS}
    rows = [[SETS[name], *each.values()] for name, each in counts.items()]
    print(table(["", "bugs", *OUTCOMES], rows))
    now = {"counts": counts, "bugs": found}
    write(path, {"first": _first_try(path) or now, "now": now})


def run_implementations(
    name: str, chosen: Sequence[str], only: str, jobs: int, path: Path | None
) -> None:
    """Judge a set, print each and the figures, and compare them with those that are kept."""
    every = implementation.load(name)
    unknown = set(chosen) - {each.name for each in every}
    if unknown:
        raise SystemExit(f"{name} has no {', '.join(sorted(unknown))}")
    wanted = [each.name for each in every if only in each.name]
    some = [n for n, each in enumerate(every) if each.name in (chosen or wanted)]
    found = []
    with get_context("fork").Pool(jobs, initializer=_begin, initargs=(name,)) as pool:
        for each in pool.imap(judge_one, some):
            found.append(each)
            print(said.line(each), flush=True)
    for words, figure in said.figures(found).items():
        print(f"{words:22} {figure}")
    changes = said.changes(said.read(kept(name)), found)
    for change in changes:
        print("worse" if change.worse else "better", change.text)
    if path:
        said.keep(path, found)
    elif any(change.worse for change in changes):
        raise SystemExit(1)


def kept(name: str) -> Path:
    """Where the results of a set are kept."""
    return Path(__file__).parent / name / "results.yaml"


_set: list[implementation.Implementation] = []


def _begin(name: str) -> None:
    """Have a set in a process of the pool."""
    _set[:] = implementation.load(name)


def judge_one(number: int) -> said.Said:
    """What the kit says of one of the set, by its place."""
    return said.judge_implementation(_set[number])


def _first_try(path: Path | None) -> Any:
    """What a file that is written again says of the first try."""
    return read_record(path).get("first") if path else None


if __name__ == "__main__":
    main()
