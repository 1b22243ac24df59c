"""Bring what the benchmarks have recorded up to date, for the schemes that have changed.

    python -m posenc_lab.records [--all] [SCHEME ...]

Each file of ``docs/data`` keeps a hash of the files of every scheme that it was made with. A scheme
whose files have changed since is measured again, and takes the place of what the record has of it.
A change in what schemes share, such as a family or a check, shows in no hash: then say ``--all``.
"""

import argparse
import ast
import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from posenc_conformance.scheme_file.model import Scheme
from posenc_conformance.scheme_file.read import load_all
from posenc_lab.matrix import with_sums
from posenc_lab.mutants import merged as merged_mutants
from posenc_lab.results import keep, path_of, read

ROOT = Path(__file__).parents[2]
PARTS = (
    "spec/{id}.yaml",
    "reference/posenc/schemes/{module}.py",
    "conformance/posenc_conformance/schemes/{module}.py",
    "conformance/posenc_conformance/schemes/{module}/*.py",
    "lab/posenc_lab/miniatures/right/{module}.py",
    "lab/posenc_lab/miniatures/wrong/{module}.py",
)
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)
Record = Mapping[str, Any]


def digest(scheme: Scheme) -> str:
    """Hash of the files of a scheme that measurements depend on."""
    found = hashlib.sha256()
    for part in PARTS:
        for path in sorted(ROOT.glob(part.format(id=scheme.id, module=scheme.module_name))):
            text = path.read_text(encoding="utf-8")
            found.update((_code(text) if path.suffix == ".py" else text).encode())
    return found.hexdigest()[:16]


def _code(text: str) -> str:
    """What a module does, without its comments and docstrings."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node):
            del node.body[0]
    return ast.dump(tree)


def stale(record: Record, schemes: Sequence[Scheme]) -> list[str]:
    """Schemes that have changed since a record was made."""
    known = record.get("inputs", {})
    return [scheme.id for scheme in schemes if known.get(scheme.id) != digest(scheme)]


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


def update(name: str, schemes: Sequence[Scheme], chosen: Sequence[str], whole: bool) -> None:
    """Measure what is stale of one record; it is written after each scheme."""
    path = path_of(name)
    record: Record = read(path)
    if whole or not record:
        inputs = {scheme.id: digest(scheme) for scheme in schemes}
        keep(path, {**measured(name, None), "inputs": inputs})
        return
    digests = {scheme.id: digest(scheme) for scheme in schemes}
    known = {id: hash for id, hash in record.get("inputs", {}).items() if id in digests}
    ids = [each for each in stale(record, schemes) if not chosen or each in chosen]
    for number, scheme in enumerate(ids, 1):
        print(f"{name}: {scheme} ({number} of {len(ids)})", flush=True)
        found = measured(name, scheme)
        known[scheme] = digests[scheme]
        record = {**RECORDS[name](record, found, scheme), "versions": found["versions"]}
        keep(path, {**record, "inputs": known})


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
    given = parser.parse_args()
    for name in [given.only] if given.only else RECORDS:
        update(name, load_all(), given.schemes, given.all)


if __name__ == "__main__":
    main()
