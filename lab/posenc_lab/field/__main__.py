"""What the kit says of bugs that it was not made for.

    python -m posenc_lab.field [--only WORD] [--jobs N] [--write FILE]

Rejected, named rightly, named wrongly, left without a name. The name is the first of the summary
that the scorecard gives. Where the specification knows no such mistake, no name is the right one.
A file that is written keeps what it has of the first try, before anything was changed for a bug.
"""

import argparse
import warnings
from collections import Counter
from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from posenc_lab.field import BUGS
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
    parser.add_argument("--only", default="", help="bugs with this word in their name")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", type=Path, metavar="FILE", help="results as JSON")
    given = parser.parse_args()
    some = [n for n, each in enumerate(BUGS) if given.only in each.name]
    with get_context("fork").Pool(given.jobs) as pool:
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
    write(given.write, {"first": _first_try(given.write) or now, "now": now})


def _first_try(path: Path | None) -> Any:
    """What a file that is written again says of the first try."""
    return read_record(path).get("first") if path else None


if __name__ == "__main__":
    main()
