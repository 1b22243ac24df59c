"""Update the records of the benchmarks for the schemes that have changed.

    python -m posenc_lab.records [--shared | --all] [SCHEME ...]
    python -m posenc_lab.records --check
    python -m posenc_lab.records --verify MINUTES

A record stores two digests per scheme: one of the scheme's own files, one of all code that was run.
If a scheme's own files have changed since, the scheme is measured again and its entry replaced;
with ``--shared`` also if any other code has changed, such as a family or a check. ``--check``
measures nothing: it lists both kinds, and exits with 1 if there are any. ``--verify`` writes
nothing: it measures what ``--check`` lists, shuffled by the date, until MINUTES have passed, and
exits with 1 if any result differs from the record.
"""

import argparse
import math
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from posenc_conformance.registry import load_all
from posenc_conformance.scheme_file.scheme import Scheme
from posenc_lab.inputs import Record, inputs, older, stale
from posenc_lab.matrix import with_sums
from posenc_lab.results import keep, path_of, read_record

ROOT = Path(__file__).parents[2]
NEARLY = 0.1
"""Relative and absolute tolerance of recorded floats, which depend on a processor's rounding."""


def by_name(*tables: str) -> Callable[[Record, Record, str], dict[str, Any]]:
    """Return a merge function for tables with an entry per scheme."""

    def merged(before: Record, found: Record, scheme: str) -> dict[str, Any]:
        updated = {name: {**before[name], **found[name]} for name in tables}
        return {**before, **found, **updated}

    return merged


def by_row(*tables: str) -> Callable[[Record, Record, str], dict[str, Any]]:
    """Return a merge function for lists of rows that name their scheme."""

    def merged(before: Record, found: Record, scheme: str) -> dict[str, Any]:
        updated = {}
        for name in tables:
            others = [row for row in before[name] if row["scheme"] != scheme]
            updated[name] = sorted([*others, *found[name]], key=lambda row: row["scheme"])
        return {**before, **updated}

    return merged


def of_matrix(before: Record, found: Record, scheme: str) -> dict[str, Any]:
    """Merge a scheme into the matrix and recompute the sums."""
    return with_sums({**before["schemes"], **found["schemes"]})


RECORDS: Mapping[str, Callable[[Record, Record, str], dict[str, Any]]] = {
    "matrix": of_matrix,
    "today": by_name("wrong", "right"),
    "sensitivity": by_row("smallest power of two detected"),
    "calibrate": by_row("right miniatures"),
}


def update(
    name: str,
    schemes: Sequence[Scheme],
    chosen: Sequence[str] = (),
    *,
    whole: bool = False,
    shared: bool = False,
) -> None:
    """Measure a record's stale schemes (``shared``: also older ones); write it after each."""
    path = path_of(name)
    record: Record = read_record(path)
    if whole or not record:
        now = {scheme.id: inputs(name, scheme) for scheme in schemes}
        keep(path, {**measure(name, None), "inputs": now})
        return
    by_id = {scheme.id: scheme for scheme in schemes}
    entries = {id: each for id, each in record.get("inputs", {}).items() if id in by_id}
    changed = older(name, record, schemes) if shared else stale(record, schemes)
    ids = [each for each in changed if not chosen or each in chosen]
    for number, scheme in enumerate(ids, 1):
        print(f"{name}: {scheme} ({number} of {len(ids)})", flush=True)
        hashes = inputs(name, by_id[scheme])
        measured = measure(name, scheme)
        entries[scheme] = hashes
        record = {**RECORDS[name](record, measured, scheme), "versions": measured["versions"]}
        keep(path, {**record, "inputs": entries})


def outdated(names: Sequence[str], schemes: Sequence[Scheme]) -> list[str]:
    """Return the schemes that must be measured again, a line per record and reason."""
    lines = []
    for name in names:
        record = read_record(path_of(name))
        own = stale(record, schemes)
        shared = [scheme for scheme in older(name, record, schemes) if scheme not in own]
        for why, changed in (("own files changed", own), ("shared code changed", shared)):
            if changed:
                lines.append(f"{name}, {why}: {' '.join(changed)}")
    return lines


def differing(
    names: Sequence[str], schemes: Sequence[Scheme], seconds: float, seed: str
) -> Iterator[tuple[str, bool]]:
    """Measure older schemes for ``seconds``; yield record and scheme, and whether they differ."""
    waiting = [
        (name, scheme)
        for name in names
        for scheme in older(name, read_record(path_of(name)), schemes)
    ]
    random.Random(seed).shuffle(waiting)
    end = time.monotonic() + seconds
    for name, scheme in waiting:
        if time.monotonic() > end:
            return
        record = read_record(path_of(name))
        merged = RECORDS[name](record, measure(name, scheme), scheme)
        yield f"{name}: {scheme}", not alike(_results(merged), _results(record))


def _results(record: Record) -> Record:
    """Return the measured part of a record, without the digests and versions."""
    return {key: value for key, value in record.items() if key not in ("inputs", "versions")}


def alike(one: Any, other: Any) -> bool:
    """Return whether results agree: floats to within NEARLY, all other values exactly."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=NEARLY, abs_tol=NEARLY)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return bool(one == other)


def measure(name: str, scheme: str | None) -> dict[str, Any]:
    """Run a benchmark for one scheme (or all) in a separate process and return its record."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "found.json")
        only = [] if scheme is None else ["--scheme", scheme]
        command = [sys.executable, "-m", f"posenc_lab.{name}", *only, "--write", str(path)]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        return read_record(path)


def verify(names: Sequence[str], seconds: float) -> int:
    """Measure outdated schemes again and print each; return 1 if any differs from its record."""
    red = 0
    for label, differs in differing(names, load_all(), seconds, date.today().isoformat()):
        print(f"{label} {'DIFFERS: run make records' if differs else 'as recorded'}", flush=True)
        red |= differs
    return red


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("schemes", nargs="*", metavar="SCHEME", help="only these, if they changed")
    parser.add_argument("--all", action="store_true", help="measure everything again")
    parser.add_argument("--only", choices=RECORDS, help="only this record")
    parser.add_argument("--shared", action="store_true", help="also where shared code changed")
    parser.add_argument("--check", action="store_true", help="say what is out of date, and end")
    parser.add_argument("--verify", type=float, metavar="MINUTES", help="measure, write nothing")
    options = parser.parse_args()
    names = [options.only] if options.only else list(RECORDS)
    if options.check:
        lines = outdated(names, load_all())
        print(*lines, sep="\n")
        sys.exit(bool(lines))
    if options.verify is not None:
        sys.exit(verify(names, 60 * options.verify))
    for name in names:
        update(name, load_all(), options.schemes, whole=options.all, shared=options.shared)


if __name__ == "__main__":
    main()
