"""Bring what the benchmarks have recorded up to date, for the schemes that have changed.

    python -m posenc_lab.records [--shared | --all] [--check] [SCHEME ...]

A record keeps two digests for each scheme that it was made with: of the scheme's own files, and of
all code that was run. A scheme whose own files have changed since is measured again, and takes the
place of what the record has of it; with ``--shared`` also one for which anything else has changed,
such as a family or a check. ``--check`` measures nothing: it lists both, and ends with 1 if there
are any.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from posenc_conformance.scheme_file.model import Scheme
from posenc_conformance.scheme_file.read import load_all
from posenc_lab.inputs import Record, inputs, older, stale
from posenc_lab.matrix import with_sums
from posenc_lab.mutants import merged as merged_mutants
from posenc_lab.results import keep, path_of, read

ROOT = Path(__file__).parents[2]


def by_name(*tables: str) -> Callable[[Record, Record, str], dict[str, Any]]:
    """Tables that have an entry for each scheme."""

    def merged(before: Record, found: Record, scheme: str) -> dict[str, Any]:
        rest = {name: {**before[name], **found[name]} for name in tables}
        return {**before, **found, **rest}

    return merged


def by_row(*tables: str) -> Callable[[Record, Record, str], dict[str, Any]]:
    """Lists of rows that name their scheme."""

    def merged(before: Record, found: Record, scheme: str) -> dict[str, Any]:
        rest = {}
        for name in tables:
            kept = [row for row in before[name] if row["scheme"] != scheme]
            rest[name] = sorted([*kept, *found[name]], key=lambda row: row["scheme"])
        return {**before, **rest}

    return merged


def of_matrix(before: Record, found: Record, scheme: str) -> dict[str, Any]:
    """The matrix, whose sums are made anew."""
    return with_sums({**before["schemes"], **found["schemes"]})


def of_mutants(before: Record, found: Record, scheme: str) -> dict[str, Any]:
    """Mutants of the modules that the scheme alone needs."""
    return merged_mutants(before, found)


RECORDS: Mapping[str, Callable[[Record, Record, str], dict[str, Any]]] = {
    "matrix": of_matrix,
    "today": by_name("wrong", "right"),
    "sensitivity": by_row("smallest power of two detected"),
    "calibrate": by_row("right miniatures"),
    "mutants": of_mutants,
}


def update(
    name: str,
    schemes: Sequence[Scheme],
    chosen: Sequence[str] = (),
    *,
    whole: bool = False,
    shared: bool = False,
) -> None:
    """Measure what is stale of one record, or older; it is written after each scheme."""
    path = path_of(name)
    record: Record = read(path)
    if whole or not record:
        now = {scheme.id: inputs(name, scheme) for scheme in schemes}
        keep(path, {**measured(name, None), "inputs": now})
        return
    by_id = {scheme.id: scheme for scheme in schemes}
    known = {id: each for id, each in record.get("inputs", {}).items() if id in by_id}
    changed = older(name, record, schemes) if shared else stale(record, schemes)
    ids = [each for each in changed if not chosen or each in chosen]
    for number, scheme in enumerate(ids, 1):
        print(f"{name}: {scheme} ({number} of {len(ids)})", flush=True)
        hashes = inputs(name, by_id[scheme])
        found = measured(name, scheme)
        known[scheme] = hashes
        record = {**RECORDS[name](record, found, scheme), "versions": found["versions"]}
        keep(path, {**record, "inputs": known})


def outdated(names: Sequence[str], schemes: Sequence[Scheme]) -> list[str]:
    """What is to be measured again, a line for each record and reason."""
    lines = []
    for name in names:
        record = read(path_of(name))
        own = stale(record, schemes)
        rest = [each for each in older(name, record, schemes) if each not in own]
        for why, some in (("own files changed", own), ("shared code changed", rest)):
            if some:
                lines.append(f"{name}, {why}: {' '.join(some)}")
    return lines


def measured(name: str, scheme: str | None) -> dict[str, Any]:
    """What a benchmark says of one scheme, or of all, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "found.json")
        only = [] if scheme is None else ["--scheme", scheme]
        command = [sys.executable, "-m", f"posenc_lab.{name}", *only, "--write", str(path)]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        return read(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("schemes", nargs="*", metavar="SCHEME", help="only these, if they changed")
    parser.add_argument("--all", action="store_true", help="measure everything again")
    parser.add_argument("--only", choices=RECORDS, help="only this record")
    parser.add_argument("--shared", action="store_true", help="also where shared code changed")
    parser.add_argument("--check", action="store_true", help="say what is out of date, and end")
    given = parser.parse_args()
    names = [given.only] if given.only else list(RECORDS)
    if given.check:
        lines = outdated(names, load_all())
        print(*lines, sep="\n")
        sys.exit(bool(lines))
    for name in names:
        update(name, load_all(), given.schemes, whole=given.all, shared=given.shared)


if __name__ == "__main__":
    main()
