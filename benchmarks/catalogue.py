"""A table of the catalogue: the parts of each scheme, its claimants, and the reference's error.

    python -m benchmarks.catalogue [--since REVISION]

The worst error is in units in the last place of the scale, over the cases that the tests draw.

With a revision, the table lists the schemes added since, and what each consists of. "files" are
those named after the scheme: the five that every scheme needs, its page, claims, figures and
further miniatures. "others" are older files changed by the commit that added the scheme. "minutes"
is the time between the author dates of that commit's parent and of the commit itself. Schemes added
by one commit, or by commits in quick succession, share their minutes; earlier work is not counted;
and there is no number where a branch was rebased onto later work.
"""

import argparse
import subprocess
from collections import defaultdict
from datetime import datetime
from pathlib import Path

import mpmath

from posenc_conformance import oracle
from posenc_conformance.adapters.find import blank, registered, target
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.implementations.reference import Reference
from posenc_conformance.registry import load_all
from posenc_lab.reference_error import drawn_cases, sampled_error
from posenc_lab.results import table

ROOT = Path(__file__).parent.parent
KINDS = (".md", ".py", ".yaml")
FIVE = (
    "spec",
    "reference/posenc/schemes",
    "conformance/posenc_conformance/oracle",
    "conformance/posenc_conformance/schemes",
    "lab/posenc_lab/miniatures/wrong",
)
HEAD = ("scheme", "goldens", "published", "invariants", "deviations", "combinations", "worst ulp")


def libraries() -> dict[str, list[str]]:
    """Return the names of the registered implementations other than the reference, by scheme."""
    names: dict[str, list[str]] = defaultdict(list)
    for name in registered():
        if name != "reference":
            adapter = blank(target(name))
            for id in dict.fromkeys(subject.scheme.id for subject in subjects(adapter, load_all())):
                names[id].append(name)
    return names


def worst_errors() -> dict[str, float]:
    """Return the largest error of the reference, by scheme."""
    worst: dict[str, float] = defaultdict(float)
    with mpmath.workdps(oracle.DIGITS):
        for subject in subjects(Reference(), load_all()):
            for case in drawn_cases(subject):
                worst[subject.scheme.id] = max(worst[subject.scheme.id], sampled_error(case))
    return worst


def git(*words: str) -> list[str]:
    """Return the lines that a git command prints."""
    command = ["git", "-C", str(ROOT), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def files_of(id: str, tracked: list[Path]) -> list[Path]:
    """Return the files named after a scheme."""
    return [path for path in tracked if path.stem.replace("_", "-") == id and path.suffix in KINDS]


def lines(paths: list[Path]) -> int:
    """Count the lines of all files together."""
    return sum(len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in paths)


def addition(id: str) -> tuple[str, str, int]:
    """Return the time, the minutes and the number of older files of a scheme's first commit."""
    file = f":(glob)spec/**/{id}.yaml"
    (line,) = git("log", "--diff-filter=A", "--format=%H %P", "--reverse", "--", file)[:1]
    commit, parent = line.split()[:2]
    here, before = (
        datetime.fromisoformat(git("show", "-s", "--format=%aI", revision)[0])
        for revision in (commit, parent)
    )
    changed = git("diff", "--diff-filter=M", "--name-only", parent, commit)
    minutes = round((here - before).total_seconds() / 60)
    return f"{here:%Y-%m-%d %H:%M}", str(minutes) if minutes >= 0 else "–", len(changed)


def print_added(since: str) -> None:
    """Print files, lines and time of the schemes that a revision lacks."""
    old = {Path(path).stem for path in git("ls-tree", "-r", "--name-only", since, "spec/")}
    tracked = [Path(path) for path in git("ls-files")]
    rows: list[tuple[object, ...]] = []
    for scheme in load_all():
        if scheme.id not in old:
            every = files_of(scheme.id, tracked)
            five = [path for path in every if any(map(path.is_relative_to, FIVE))]
            added, minutes, others = addition(scheme.id)
            rows.append((scheme.id, len(every), lines(every), lines(five), others, added, minutes))
    head = ["scheme", "files", "lines", "lines of the five", "others", "added", "minutes"]
    print(table(head, sorted(rows, key=lambda row: str(row[5]))))
    print(f"\n{len(rows)} schemes were added")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="The catalogue in one table.")
    parser.add_argument("--since", metavar="REVISION", help="what was added after a revision")
    since = parser.parse_args().since
    if since is not None:
        print_added(since)
        return
    claimed, worst = libraries(), worst_errors()
    print("|", " | ".join([*HEAD, "claimed by"]), "|")
    print("|" + "---|" * (len(HEAD) + 1))
    for scheme in load_all():
        cells = [
            scheme.id,
            len(scheme.goldens),
            len(scheme.published),
            len(scheme.invariants),
            len(scheme.deviations),
            sum(len(call.combinations) for call in scheme.calls.values()),
            f"{worst[scheme.id]:.2f}",
            ", ".join(claimed[scheme.id]),
        ]
        print("|", " | ".join(map(str, cells)), "|")
    exercised = sum(bool(claimed[scheme.id]) for scheme in load_all())
    print(f"\n{exercised} of {len(load_all())} schemes are claimed by a library")


if __name__ == "__main__":
    main()
