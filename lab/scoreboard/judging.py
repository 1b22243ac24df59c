"""Judging one adapter: its library's environment, a run of the kit, a report to store."""

import json
import platform
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

from posenc_conformance import __version__
from posenc_conformance.errors import UserError
from posenc_conformance.report.difference import read_report
from posenc_conformance.report.machine import cpu_features
from scoreboard import kept
from scoreboard.environments import called, environment, options
from scoreboard.table import ROOT, Adapter, Library

SHOWN = ("avx", "amx", "fma", "f16c", "sse4", "asimd", "sve", "neon")
SEED = 0
SECONDS = 600
"""Timeout of each call in seconds, generous so that a busy machine causes no failure."""


def judge(library: Library, adapter: Adapter, here: bool = False) -> dict[str, Any]:
    """Install the library and run the kit on it; return the content to store.

    With ``here``, nothing is installed: the run uses the packages of this Python.
    Raises UserError if the library can't be installed or needs a missing GPU, or if the run leaves
    no report.
    """
    on_gpu = {"gpu": card()} if library.gpu else {}
    home = Path(sys.prefix) if here else environment(library)
    began, started = datetime.now(UTC), monotonic()
    with TemporaryDirectory() as folder:
        place = Path(folder) / "report.json"
        words = _run(["-m", "pytest", *arguments(library, adapter, home, place)])
        if not place.is_file() or not place.stat().st_size:
            raise UserError(f"{adapter.name} left no report:\n{words[-2000:]}", "see above")
        report = read_report(place)
    claimed = {row["scheme"] for row in report["rows"]}
    report["implementation"]["name"] = adapter.name
    report.pop("alone", None)  # it has the paths of this machine
    # Drop thousands of check ids of unclaimed schemes; their count stays in the summary.
    report["not_claimed"] = [id for id in report["not_claimed"] if id.split(".yaml")[0] in claimed]
    return {
        kept.MARK: kept.FORMAT,
        "name": adapter.name,
        "library": library.name,
        "language": library.language,
        "install": list(library.pinned),
        "measured": {
            "date": began.isoformat(timespec="seconds"),
            "seconds": round(monotonic() - started),
            "seed": SEED,
            "kit": __version__,
            "commit": commit(),
            "system": platform.platform(),
            "cpu": cpu(),
            "features": sorted(feature for feature in cpu_features() if feature.startswith(SHOWN)),
            **on_gpu,
            "packages": versions(home) if library.packages else {},
        },
        "inputs": kept.inputs(adapter, sorted(claimed)),
        "report": report,
    }


def arguments(library: Library, adapter: Adapter, home: Path, report: Path) -> list[str]:
    """Return pytest's arguments to judge an adapter and write ``report``."""
    words = [*options(library, adapter, home), f"--posenc-report={report}"]
    words += [f"--posenc-seed={SEED}", f"--posenc-timeout={SECONDS}"]
    return [*words, "-q", "--tb=no", "-p", "no:cacheprovider"]


def _run(words: Sequence[str]) -> str:
    """Run Python here and return its output.

    A run that finds failures exits with 1, which is no error.
    """
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def versions(home: Path) -> dict[str, str]:
    """Return the versions of all packages of an environment, and of its Python."""
    code = (
        "import json, sys; from importlib.metadata import distributions as d; "
        "print(json.dumps({'python': sys.version.split()[0]} | "
        "{x.metadata['Name']: x.version for x in d()}))"
    )
    output = called([str(home / "bin" / "python"), "-c", code], "its packages cannot be listed")
    installed: dict[str, str] = json.loads(output)
    return installed


def commit() -> str:
    """Return the commit of this checkout."""
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
    )
    return done.stdout.strip()


def card() -> str:
    """Return the name of the GPU.

    Raises UserError if there is none.
    """
    try:
        names = called(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], "no answer")
    except UserError as error:
        raise UserError(
            f"there is no GPU here that NVIDIA's driver knows ({error.cause})",
            "run it on a machine with one; reports that are kept stay as they are",
        ) from None
    return names.splitlines()[0].strip()


def cpu() -> str:
    """Return the name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor())
