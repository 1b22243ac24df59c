"""How many wrong implementations people's usual checks detect, compared with the kit.

    python -m posenc_lab.today [--scheme ID] [--write FILE]

Every wrong miniature is given to each way of checking that its claim covers; the number given is
the denominator of that way. The kit judges all of them. A way that also rejects right miniatures
raises false alarms, which are counted in the same manner.
"""

import argparse
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.judge.knowledge import KnownScheme
from posenc_conformance.judge.subject import Subject
from posenc_conformance.registry import load_all
from posenc_lab.first_failure import first_failure, without_diagnosis
from posenc_lab.miniatures import right, wrong
from posenc_lab.miniatures.base import WRONG
from posenc_lab.miniatures.styles import RIGHT
from posenc_lab.practices import LIBRARIES, USUAL, Asked, OutOfReach, Practice
from posenc_lab.results import share, table, write

assert right.__path__, wrong.__path__  # importing them fills the lists

KIT = "the kit"
LIBRARY = "a library's own tests"
COLUMNS = (KIT, *(practice.name for practice in USUAL), LIBRARY)
Make = Callable[[], object]


def rejects(practice: Practice, make: Make, schemes: Sequence[KnownScheme]) -> bool | None:
    """Return whether a way of checking rejects an adapter; None if the adapter is out of reach."""
    answers = [
        _answer(practice, Asked(subject, dtype))
        for subject in subjects(make(), schemes)
        for dtype in subject.dtypes
        if dtype in practice.dtypes
    ]
    in_reach = [answer for answer in answers if answer is not None]
    return any(in_reach) if in_reach else None


def _answer(practice: Practice, asked: Asked) -> bool | None:
    try:
        return not practice.accepts(asked)
    except OutOfReach:
        return None
    except Exception:  # any exception of an implementation fails its test
        return True


def verdicts(make: Make, schemes: Sequence[KnownScheme]) -> dict[str, bool | None]:
    """Return whether the kit and each way of checking reject an adapter."""
    rejected: dict[str, bool | None] = {
        KIT: first_failure(make(), schemes, silence_fails=False) is not None
    }
    for practice in (*USUAL, *LIBRARIES):
        rejected[practice.name] = rejects(practice, make, schemes)
    own = [rejected[library.name] for library in LIBRARIES if rejected[library.name] is not None]
    rejected[LIBRARY] = any(own) if own else None
    return rejected


def home(make: Make, schemes: Sequence[KnownScheme]) -> str:
    """Return the id of the scheme that an adapter claims."""
    claimed: list[Subject] = subjects(make(), schemes)
    return claimed[0].scheme.id


Counts = dict[str, dict[str, list[int]]]
"""For each scheme and way of checking: the number rejected, and the number in reach."""


def count(
    some: Iterable[Make], schemes: Sequence[KnownScheme], only: str | None
) -> tuple[Counts, dict[str, list[str]]]:
    """Count what each way rejects, by scheme; also return the names of miniatures it accepts."""
    counts: Counts = {}
    passed: dict[str, list[str]] = {}
    for make in some:
        scheme = home(make, schemes)
        if only not in (None, scheme):
            continue
        for way, wrong_ in verdicts(make, schemes).items():
            place = counts.setdefault(scheme, {}).setdefault(way, [0, 0])
            if wrong_ is not None:
                place[0] += wrong_
                place[1] += 1
            if wrong_ is False:
                passed.setdefault(way, []).append(f"{scheme}: {make.__name__}")
    return counts, passed


def rows(counts: Counts, columns: Sequence[str]) -> list[list[object]]:
    """Return a row per scheme, the sum, and the share."""
    total: Counter[str] = Counter()
    lines: list[list[object]] = []
    for scheme, ways in sorted(counts.items()):
        lines.append([scheme, *(_of(*ways[column]) for column in columns)])
        for column in columns:
            total[f"{column} rejected"] += ways[column][0]
            total[f"{column} asked"] += ways[column][1]
    sums = [(total[f"{column} rejected"], total[f"{column} asked"]) for column in columns]
    lines.append(["all", *(_of(*pair) for pair in sums)])
    lines.append(["share", *(share(*pair) for pair in sums)])
    return lines


def _of(rejected: int, asked: int) -> str:
    return f"{rejected}/{asked}" if asked else "-"


def library_rows(wrong_ones: Counts, right_ones: Counts) -> list[list[object]]:
    """Return a row per way of checking."""
    return [
        [way.name, _sum(wrong_ones, way.name), _sum(right_ones, way.name), way.what]
        for way in (*USUAL, *LIBRARIES)
    ]


def _sum(counts: Counts, way: str) -> str:
    pairs = [ways[way] for ways in counts.values()]
    return _of(sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs))


def to_dict(counts: Counts) -> dict[str, Any]:
    """Return the counts as entries of a record."""
    return {
        scheme: {way: {"rejected": n, "asked": of} for way, (n, of) in ways.items()}
        for scheme, ways in counts.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scheme", help="only miniatures of this scheme")
    parser.add_argument("--missed", metavar="WAY", help="names of those that this way let pass")
    parser.add_argument("--write", type=Path, metavar="FILE", help="results as JSON")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    schemes = load_all()
    with np.errstate(all="ignore"), without_diagnosis():
        wrong_ones, missed = count(WRONG, schemes, options.scheme)
        right_ones, _ = count(RIGHT, schemes, options.scheme)
    print("Wrong implementations rejected, of those in reach:\n")
    print(table(["scheme", *COLUMNS], rows(wrong_ones, COLUMNS)))
    print("\nRight implementations rejected, of those in reach:\n")
    print(table(["scheme", *COLUMNS], rows(right_ones, COLUMNS)))
    print("\nEach way:\n")
    print(
        table(
            ["way", "wrong rejected", "right rejected", "what it asserts"],
            library_rows(wrong_ones, right_ones),
        )
    )
    for name in missed.get(options.missed, []):
        print("-", name)
    write(options.write, results(wrong_ones, right_ones))


def results(wrong_ones: Counts, right_ones: Counts) -> dict[str, Any]:
    """Return the record."""
    ways = {way.name: {"what": way.what, "source": way.source} for way in (*USUAL, *LIBRARIES)}
    return {"wrong": to_dict(wrong_ones), "right": to_dict(right_ones), "ways": ways}


if __name__ == "__main__":
    main()
