"""Judging one adapter: an environment of its own, a run of the kit, a report that is kept."""

import json
import os
import platform
import shlex
import shutil
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
from scoreboard.table import ROOT, Adapter, Library

ENVIRONMENTS = Path(os.environ.get("SCOREBOARD_ENVIRONMENTS", ROOT / ".venv-board"))
NEEDED = ("numpy", "ml-dtypes")
"""What the kit's process in the environment needs itself."""
TORCH = ROOT / "constraints.txt"
SETTINGS = {"PIP_FIND_LINKS": "UV_FIND_LINKS", "PIP_EXTRA_INDEX_URL": "UV_INDEX"}
"""pip's settings that say where torch for CPUs is, as uv calls them."""
SHOWN = ("avx", "amx", "fma", "f16c", "sse4", "asimd", "sve", "neon")
SEED = 0
SECONDS = 600
"""For a call: a busy machine is no finding."""


def judge(library: Library, adapter: Adapter) -> dict[str, Any]:
    """Install the library and run the kit on it; gives back what is to be kept.

    Raises UserError if it cannot be installed, or the run leaves no report.
    """
    home = environment(library)
    began, started = datetime.now(UTC), monotonic()
    with TemporaryDirectory() as folder:
        place = Path(folder) / "report.json"
        words = _run(["-m", "pytest", *arguments(library, adapter, home, place)])
        if not place.is_file() or not place.stat().st_size:
            raise UserError(f"{adapter.name} left no report:\n{words[-2000:]}", "see above")
        report = dict(read_report(place))
    claimed = {row["scheme"] for row in report["rows"]}
    report |= {
        "implementation": {**report["implementation"], "name": adapter.name},
        # Thousands of ids that other schemes would have asked; the count stays in the summary.
        "not_claimed": [id for id in report["not_claimed"] if id.split(".yaml")[0] in claimed],
    }
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
            "commit": _commit(),
            "system": platform.platform(),
            "cpu": _cpu(),
            "features": sorted(each for each in cpu_features() if each.startswith(SHOWN)),
            "packages": _versions(home) if library.packages else {},
        },
        "inputs": kept.inputs(adapter, sorted(claimed)),
        "report": report,
    }


def arguments(library: Library, adapter: Adapter, home: Path, report: Path) -> list[str]:
    """What pytest is told."""
    impl = library.run.format(home=home) or adapter.impl
    found = [f"--impl={impl}", f"--posenc-report={report}", f"--posenc-seed={SEED}"]
    if not library.run:
        found.append(f"--posenc-python={home}")
    if adapter.known:
        found.append(f"--posenc-known={adapter.known}")
    found.append(f"--posenc-timeout={SECONDS}")
    return [*found, "-q", "--tb=no", "-p", "no:cacheprovider"]


def environment(library: Library) -> Path:
    """The environment of a library, made anew if it is not there or holds something else."""
    home = ENVIRONMENTS / library.name
    note, wanted = home / "installed", "\n".join([*NEEDED, *library.pinned])
    if note.is_file() and note.read_text(encoding="utf-8") == wanted:
        return home
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    if library.packages:
        _install(library, home)
    for line in library.build:
        for name, place in (("{root}", ROOT), ("{packages}", _packages_of(home))):
            line = line.replace(name, str(place))
        _called(shlex.split(line), f"{library.name} cannot be built", folder=home)
    note.write_text(wanted, encoding="utf-8")
    return home


def _install(library: Library, home: Path) -> None:
    _uv(["venv", "-q", "-p", sys.executable, str(home)], library)
    install = ["pip", "install", "-q", "-p", str(home / "bin" / "python")]
    # torch alone first: what asks for it later finds the build for CPUs there.
    torch = [each for each in library.install if each.startswith("torch==")]
    first = library.install if library.build else (*NEEDED, *library.install)
    for requirements in filter(None, (torch, first)):
        _uv([*install, "-c", str(TORCH), *requirements], library)
    if library.without_dependencies:
        _uv([*install, "--no-deps", *library.without_dependencies], library)


def _packages_of(home: Path) -> Path:
    """Where an environment has its packages."""
    return next(home.glob("lib/python*/site-packages"), home)


def uv() -> list[str]:
    """The command uv, that of the machine or that of this environment."""
    found = shutil.which("uv")
    return [found] if found else [sys.executable, "-m", "uv"]


def settings() -> dict[str, str]:
    """Variables by which uv finds torch for CPUs where pip does."""
    found = {new: os.environ[old] for old, new in SETTINGS.items() if old in os.environ}
    return {**found, "UV_INDEX_STRATEGY": "unsafe-best-match"} if found else {}


def _uv(words: Sequence[str], library: Library) -> str:
    return _called([*uv(), *words], f"{library.name} cannot be installed", settings())


def _called(
    command: Sequence[str],
    problem: str,
    extra: dict[str, str] | None = None,
    folder: Path | None = None,
) -> str:
    try:
        done = subprocess.run(
            command, cwd=folder, env={**os.environ, **(extra or {})}, capture_output=True, text=True
        )
    except OSError as error:
        raise UserError(f"{problem}: {error}", f"install {command[0]}") from None
    if done.returncode:
        raise UserError(f"{problem}: {shlex.join(command)}\n{done.stderr[-1500:]}", "see above")
    return done.stdout


def _run(words: Sequence[str]) -> str:
    """What Python prints here; a run that finds failures ends with 1, and that is no mistake."""
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def _versions(home: Path) -> dict[str, str]:
    code = (
        "import json, sys; from importlib.metadata import distributions as d; "
        "print(json.dumps({'python': sys.version.split()[0]} | "
        "{x.metadata['Name']: x.version for x in d()}))"
    )
    said = _called([str(home / "bin" / "python"), "-c", code], "its packages cannot be listed")
    found: dict[str, str] = json.loads(said)
    return found


def _commit() -> str:
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True
    )
    return done.stdout.strip()


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor())
