"""Where an engine is installed, and what it misses there."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from posenc_conformance.commands.judge.table import Engine
from posenc_conformance.errors import UserError
from posenc_conformance.files import shown

PATIENCE = 60
"""Seconds that an interpreter may take to say which modules it has."""
ABSENT = """
import sys
from importlib.util import find_spec
for name in sys.argv[1:]:
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        print(name)
"""
"""A program that prints which modules an interpreter does not have."""


@dataclass(frozen=True)
class Environment:
    """An interpreter, and the folder of the programs beside it."""

    python: Path
    is_own: bool = True
    """Whether it is the one that runs the kit."""

    def program(self, name: str) -> str | None:
        """Return how a program is called: by its name if the PATH has it, else by its path."""
        usual = shutil.which(name)
        beside = shutil.which(name, path=str(self.python.parent))
        if beside is None or beside == usual:
            return name if usual else None
        return beside

    def absent_modules(self, names: Iterable[str]) -> frozenset[str]:
        """Return the modules that the interpreter does not have.

        Raises UserError for an interpreter that does not run.
        """
        try:
            done = subprocess.run(
                [self.python, "-c", ABSENT, *names],
                cwd=self.python.parent,  # where no folder is mistaken for a module
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=True,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise UserError(
                f"{shown(self.python)} does not run: {error}", "give a virtual environment"
            ) from error
        return frozenset(done.stdout.split())

    def missing(self, engine: Engine, absent: frozenset[str]) -> Iterator[str]:
        """Yield what an engine misses; ``absent`` are modules that are not there."""
        for command in engine.commands:
            if self.program(command) is None:
                yield f"the program {command}"
        for module in engine.modules:
            if module in absent:
                yield f"the module {module}"


def environment(place: str | None) -> Environment:
    """Return the environment of a folder or an interpreter; the kit's own for None.

    Raises UserError if there is no interpreter.
    """
    if place is None:
        return Environment(Path(sys.executable))
    path = Path(place).absolute()  # links stay: they are what makes a virtual environment
    if path.is_dir():
        path = path / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not path.is_file():
        raise UserError(
            f"--environment={shown(place)} has no interpreter",
            "give a virtual environment in which the engine is installed",
        )
    return Environment(path, is_own=path == Path(sys.executable))
