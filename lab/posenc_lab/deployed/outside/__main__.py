"""Judge all engines from outside, or those whose id has one of some words, and print a table.

python -m posenc_lab.deployed.outside [--json FILE] [WORD…]
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence

from posenc_lab.deployed.outside.cases import Case
from posenc_lab.deployed.outside.judging import Judged, judge
from posenc_lab.deployed.outside.listed import CASES
from posenc_lab.deployed.outside.naming import Answer


def main() -> int:
    """Judge, and print the answers; return 1 for a wrong engine that passes or a right one refused.

    A wrong one may pass if its case says why no probe shows the mistake.
    """
    parser = argparse.ArgumentParser(description="Judge engines from outside with the kit.")
    parser.add_argument("--json", help="a file for what the kit said, one case a line")
    parser.add_argument("words", nargs="*", help="parts of ids or kinds of the cases to judge")
    given = parser.parse_args()
    found = [*judged(chosen(given.words), given.json)]
    for line in totals(found):
        sys.stdout.write(f"{line}\n")
    return int(any(each.is_miss for each in found))


def chosen(words: Sequence[str]) -> list[Case]:
    """Return the cases whose id or kind has one of some words; all if none is given."""
    return [
        case
        for case in CASES
        if not words or any(word in case.id or word == case.kind for word in words)
    ]


def judged(cases: Sequence[Case], path: str | None) -> Iterator[Judged]:
    """Judge cases, and print one line of each at once."""
    for case in cases:
        found = judge(case)
        sys.stdout.write(f"{row(found)}\n")
        sys.stdout.flush()
        if path:
            with open(path, "a", encoding="utf-8") as file:
                file.write(json.dumps(record(found)) + "\n")
        yield found


def row(found: Judged) -> str:
    """Return one line of the table."""
    case = found.case
    expected = "right" if case.right else " ".join(sorted(case.ids)) or "wrong"
    said = found.said[0] if found.said else ""
    more = f" (+{len(found.said) - 1})" if len(found.said) > 1 else ""
    head = f"{case.kind} | {case.id} | {expected} | {found.answer} | {found.seconds:.1f} s"
    return f"{head} | {said}{more}"


def record(found: Judged) -> dict[str, object]:
    """Return what is kept of a case."""
    case = found.case
    return {
        "kind": case.kind,
        "id": case.id,
        "right": case.right,
        "about": case.about,
        "report": case.report,
        "doubt": case.doubt,
        "unseen": case.unseen,
        "context": case.context,
        "answer": found.answer.value,
        "said": found.said,
        "asked": found.asked,
        "seconds": round(found.seconds, 2),
    }


def totals(found: Sequence[Judged]) -> Iterator[str]:
    """Yield counts of answers, of all and by kind."""
    for right in (False, True):
        mine = [each for each in found if each.case.right == right]
        counts = Counter(each.answer for each in mine)
        engines = len({each.case.name for each in mine})
        yield f"{'right' if right else 'wrong'}: {len(mine)} cases, {engines} engines"
        for answer in Answer:
            if counts[answer]:
                yield f"  {answer}: {counts[answer]}"
    yield "kind: cases, passed or refused, wrong names"
    for kind in dict.fromkeys(each.case.kind for each in found):
        mine = [each for each in found if each.case.kind == kind]
        bad = sum(each.answer in (Answer.PASSED, Answer.REFUSED) for each in mine)
        names = sum(each.answer == Answer.MISNAMED for each in mine)
        yield f"  {kind}: {len(mine)}, {bad}, {names}"


if __name__ == "__main__":
    sys.exit(main())
