"""The catalogue in one table: what each scheme has, who claims it, and how exact the reference is.

    python -m benchmarks.catalogue [--since REVISION]

The worst error is in units in the last place of the scale, over the cases that the tests draw.

With a revision it tells instead what each scheme consists of that came after it. The five files are
those without which there is no scheme; with its page, claims, figures and more miniatures they are
all that have the scheme's name. Others are files that were there before and were changed by the
commit that added the scheme. Minutes are those from the authorship of the commit before it on its
branch to that of this commit. Schemes of one commit, or of commits that follow at once, share them;
work before is not in them; and there are none where a branch was put on top of later work.
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
    """Names of the registered implementations other than the reference, by scheme."""
    found: dict[str, list[str]] = defaultdict(list)
    for name in registered():
        if name != "reference":
            adapter = blank(target(name))
            for id in dict.fromkeys(each.scheme.id for each in subjects(adapter, load_all())):
                found[id].append(name)
    return found


def worst_errors() -> dict[str, float]:
    """Largest error of the reference by scheme."""
    worst: dict[str, float] = defaultdict(float)
    with mpmath.workdps(oracle.DIGITS):
        for subject in subjects(Reference(), load_all()):
            for case in drawn_cases(subject):
                worst[subject.scheme.id] = max(worst[subject.scheme.id], sampled_error(case))
    return worst


def git(*words: str) -> list[str]:
    """Lines that a git command prints."""
    command = ["git", "-C", str(ROOT), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def files_of(id: str, tracked: list[Path]) -> list[Path]:
    """Files that have the name of a scheme."""
    return [path for path in tracked if path.stem.replace("_", "-") == id and path.suffix in KINDS]


def lines(paths: list[Path]) -> int:
    """How many lines files have together."""
    return sum(len((ROOT / path).read_text(encoding="utf-8").splitlines()) for path in paths)


def addition(id: str) -> tuple[str, str, int]:
    """When a scheme was added, minutes since the commit before, and older files changed with it."""
    file = f":(glob)spec/**/{id}.yaml"
    (said,) = git("log", "--diff-filter=A", "--format=%H %P", "--reverse", "--", file)[:1]
    commit, parent = said.split()[:2]
    here, before = (
        datetime.fromisoformat(git("show", "-s", "--format=%aI", each)[0])
        for each in (commit, parent)
    )
    changed = git("diff", "--diff-filter=M", "--name-only", parent, commit)
    minutes = round((here - before).total_seconds() / 60)
    return f"{here:%Y-%m-%d %H:%M}", str(minutes) if minutes >= 0 else "–", len(changed)


def print_added(since: str) -> None:
    """Files, lines and time of the schemes that a revision does not have."""
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
