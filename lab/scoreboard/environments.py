"""Virtual environments, one per library, in which the kit's worker runs it."""

import fcntl
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from posenc_conformance.errors import UserError
from scoreboard.table import ROOT, Adapter, Library

ENVIRONMENTS = Path(os.environ.get("SCOREBOARD_ENVIRONMENTS", ROOT / ".venv-board"))
NEEDED = ("numpy", "ml-dtypes")
"""Requirements of the kit's worker in the environment."""
PINNED = ROOT / ".ci" / "pinned.txt"
UV = (sys.executable, str(ROOT / ".ci" / "uv.py"))
LARGE = ("jax", "torch")


def environment(library: Library) -> Path:
    """Return the environment of a library; create it if it is missing or outdated."""
    home = ENVIRONMENTS / library.name
    pins = _pins(library)
    note, content = home / "installed", "\n".join([*NEEDED, *library.pinned, *pins])
    with _alone(home):
        if note.is_file() and note.read_text(encoding="utf-8") == content:
            return home
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        if library.packages:
            print(cost(library, home), flush=True)
            _install(library, home, pins)
        for line in library.build:
            for name, place in (("{root}", ROOT), ("{packages}", _packages_of(home))):
                line = line.replace(name, str(place))
            called(shlex.split(line), f"{library.name} cannot be built", home)
        note.write_text(content, encoding="utf-8")
    return home


def options(library: Library, adapter: Adapter, home: Path) -> list[str]:
    """Return the pytest options to judge an adapter in the environment of its library."""
    words = [f"--impl={library.run.format(home=home) or adapter.impl}"]
    if not library.run:
        words.append(f"--posenc-python={home}")
    if adapter.known:
        words.append(f"--posenc-known={adapter.known}")
    return words


def cost(library: Library, home: Path) -> str:
    """Return a line that announces the size of an installation before it starts."""
    large = {name_of(requirement) for requirement in library.packages} & {*LARGE}
    size = "hundreds of MB" if large else "some MB"
    if "torch" in large:
        size += ", and gigabytes where pip is told of no index with torch for CPUs"
    place = os.path.relpath(home, ROOT)
    return f"{library.title}: installing {', '.join(library.packages)} in {place}: {size}"


def name_of(requirement: str) -> str:
    """Return the package name of a requirement."""
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0]


def called(
    command: Sequence[str],
    problem: str,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Run a command, with ``environment`` added to this process's variables; return its output.

    Raises UserError if it fails.
    """
    variables = {**os.environ, **(environment or {})}
    try:
        done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True)
    except OSError as error:
        raise UserError(f"{problem}: {error}", f"install {command[0]}") from None
    if done.returncode:
        raise UserError(f"{problem}: {shlex.join(command)}\n{done.stderr[-1500:]}", "see above")
    return done.stdout


def pins() -> list[str]:
    """Return the pins, each with its hashes in one line."""
    return PINNED.read_text(encoding="utf-8").splitlines()


def _pins(library: Library) -> list[str]:
    """Return the pins of a shipped library's dependencies, with which ``make real`` passed.

    Libraries that only the board has get the newest releases of their dependencies.
    """
    if not library.is_shipped:
        return []
    own = {name_of(requirement): requirement for requirement in library.packages}
    return [line for line in pins() if own.get(name_of(line)) in (None, line.split()[0])]


def _install(library: Library, home: Path, pins: Sequence[str]) -> None:
    problem = f"{library.name} cannot be installed"
    called([*UV, "venv", "-q", "-p", sys.executable, str(home)], problem)
    constraints = home / "constraints.txt"
    constraints.write_text("\n".join(pins), encoding="utf-8")
    install = [*UV, "pip", "install", "-q", "-p", str(home), "-c", str(constraints)]
    # torch first, so that packages that require it find the CPU build installed.
    torch = [requirement for requirement in library.install if name_of(requirement) == "torch"]
    first = library.install if library.build else (*NEEDED, *library.install)
    for requirements in filter(None, (torch, first)):
        called([*install, *requirements], problem)
    if library.without_dependencies:
        called([*install, "--no-deps", *library.without_dependencies], problem)


def _packages_of(home: Path) -> Path:
    """Return the site-packages folder of an environment."""
    return next(home.glob("lib/python*/site-packages"), home)


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    """Lock an environment while the context lasts.

    Two adapters of one library may be judged at the same time.
    """
    home.parent.mkdir(parents=True, exist_ok=True)
    with home.with_name(f"{home.name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
