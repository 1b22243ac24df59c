"""Repeat a run with other processes, orders and hash seeds, and compare the verdicts.

    python -m posenc_lab.repeat [--impl NAME] [--runs N] [PATH ...]

The checks of a few scheme files, or of PATH, run N times. Ids, verdicts, diagnoses and the exit
status must equal those of the first run; otherwise the command prints the differences and fails.
Without ``--impl`` it judges a wrong adapter, so that every kind of verdict occurs.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from posenc_lab.results import table

ROOT = Path(__file__).parents[2]
ORDER = "POSENC_ORDER"
"""Environment variable with the seed that shuffles the checks."""
SELECTED = ("rope.yaml", "alibi.yaml", "sinusoidal.yaml")
WRONG = """
import numpy as np
import posenc
from posenc_conformance import claims


class Adapter:
    @claims("half", dtype=["float64", "float32", "bfloat16"])
    def rope(self, x, positions, *, base):
        if x.shape[-1] == 80:
            raise ValueError("no kernel for 80")
        return posenc.rope(x, positions + 1, base=base, layout="half")

    @claims("concat")
    @claims()
    def sinusoidal(self, positions, dim, **keywords):
        return posenc.sinusoidal(positions, dim, **{"dtype": np.float32, **keywords})

    @claims()
    def alibi_slopes(self, heads):
        return None
"""
"""An adapter with right, wrong and raising calls, and one without a result, which blocks checks."""


@dataclass(frozen=True)
class Way:
    """The options and environment of a run."""

    name: str
    options: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Said:
    """The results that must be the same in every run."""

    status: int
    verdicts: Mapping[str, str]
    """The verdict by check id, including checks that are not claimed."""
    diagnoses: Sequence[Any]


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Shuffle the checks when pytest loads this module as a plugin."""
    if seed := os.environ.get(ORDER):
        Random(int(seed)).shuffle(items)


def ways() -> Iterator[Way]:
    """Yield the usual way, then endlessly, with new seeds, ways that must give equal results."""
    yield Way("as usual")
    number = 0
    while True:
        number += 1
        hashes, order = {"PYTHONHASHSEED": str(number)}, {ORDER: str(number)}
        yield Way("again")
        yield Way("another hash seed", environment=hashes)
        yield Way("random order", environment=order)
        yield Way("two processes", ("-n", "2"))
        yield Way("all of it at once", ("-n", "2"), {**hashes, **order})


def run_and_read(impl: str, paths: Sequence[str], way: Way, folder: Path) -> Said:
    """Run the checks in a folder and return the results."""
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", f"--impl={impl}", f"--posenc-report={report}"),
            *("-q", "-p", "no:cacheprovider", "-p", "posenc_lab.repeat", *way.options, *paths),
        ],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([*filter(None, sys.path), str(ROOT)]),
            "PYTHONHASHSEED": "0",
            **way.environment,
        },
        capture_output=True,
        text=True,
    )
    if not report.is_file():
        raise RuntimeError(f"a run wrote no report:\n{done.stdout}{done.stderr}")
    document = json.loads(report.read_text(encoding="utf-8"))
    verdicts = {check["id"]: check["verdict"] for check in document["checks"]}
    verdicts |= dict.fromkeys(document["not_claimed"], "not claimed")
    return Said(done.returncode, verdicts, document["diagnoses"])


def differences(first: Said, other: Said) -> list[str]:
    """Return the differences of another run from the first, a line each."""
    lines = [
        f"{id}: {first.verdicts.get(id, 'not there')}, then {other.verdicts.get(id, 'not there')}"
        for id in sorted(first.verdicts.keys() | other.verdicts.keys())
        if first.verdicts.get(id) != other.verdicts.get(id)
    ]
    if first.status != other.status:
        lines.append(f"exit status {first.status}, then {other.status}")
    if first.diagnoses != other.diagnoses:
        lines.append(f"diagnoses {first.diagnoses}, then {other.diagnoses}")
    return lines


def repeated(
    impl: str, paths: Sequence[str], chosen: Sequence[Way], folder: Path
) -> list[tuple[Way, list[str]]]:
    """Return every run after the first with its differences from the first."""
    first = run_and_read(impl, paths, chosen[0], folder)
    return [(way, differences(first, run_and_read(impl, paths, way, folder))) for way in chosen[1:]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", metavar="PATH", default=SELECTED)
    parser.add_argument("--impl", help="judge this, and not a wrong adapter")
    parser.add_argument("--runs", type=int, default=20, metavar="N")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "wrong.py").write_text(WRONG, encoding="utf-8")
        chosen = list(islice(ways(), options.runs))
        runs = repeated(options.impl or "wrong.py", options.paths, chosen, folder)
    names = list(dict.fromkeys(way.name for way, _ in runs))
    rows = []
    for label in names:
        group = [lines for way, lines in runs if way.name == label]
        rows.append((label, len(group), sum(bool(lines) for lines in group)))
    print(table(["runs after the first", "runs", "that differ"], rows))
    for way, lines in runs:
        for line in lines:
            print(f"{way.name}: {line}")
    sys.exit(any(lines for _, lines in runs))


if __name__ == "__main__":
    main()
