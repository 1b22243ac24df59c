"""Judge right and wrong code as people write it, and compare with the stored results.

    python -m posenc_lab.field SET [NAME…] [--only WORD] [--jobs N] [--write FILE]

The sets are people, kernels and reports. Counts wrong code that is rejected and how it is named,
stateless code that is blamed for state, and right code that is refused. A run is compared with the
set's ``results.yaml`` and exits with 1 if anything is worse; ``--write`` writes the results.
"""

import argparse
from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path

from posenc_lab.field import implementation, said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("set", choices=implementation.SETS)
    parser.add_argument("name", nargs="*", help="these alone")
    parser.add_argument("--only", default="", help="those with this word in their name")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", type=Path, metavar="FILE", help="keep the results")
    options = parser.parse_args()
    run(options.set, options.name, options.only, options.jobs, options.write)


def run(name: str, chosen: Sequence[str], only: str, jobs: int, path: Path | None) -> None:
    """Judge a set, print each result and the figures, and compare with the stored results."""
    every = implementation.load(name)
    unknown = set(chosen) - {each.name for each in every}
    if unknown:
        raise SystemExit(f"{name} has no {', '.join(sorted(unknown))}")
    matching = [each.name for each in every if only in each.name]
    numbers = [n for n, each in enumerate(every) if each.name in (chosen or matching)]
    results = []
    with get_context("fork").Pool(jobs, initializer=_begin, initargs=(name,)) as pool:
        for each in pool.imap(judge_one, numbers):
            results.append(each)
            print(said.line(each), flush=True)
    for words, figure in said.figures([said.row(each) for each in results]).items():
        print(f"{words:22} {figure}")
    changes = said.changes(said.read(said.kept(name)), results)
    for change in changes:
        print("worse" if change.worse else "better", change.text)
    if path:
        said.keep(path, results)
    elif any(change.worse for change in changes):
        raise SystemExit(1)


_set: list[implementation.Implementation] = []


def _begin(name: str) -> None:
    """Load a set in a process of the pool."""
    _set[:] = implementation.load(name)


def judge_one(number: int) -> said.Said:
    """Judge the implementation with this index in the set."""
    return said.judge_implementation(_set[number])


if __name__ == "__main__":
    main()
