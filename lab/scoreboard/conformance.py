"""``make conformance IMPL=name``: judge a library of the table, in its environment.

A name that the table doesn't have is judged in this environment, as by ``pytest --impl=name``.
"""

import subprocess
import sys
from collections.abc import Sequence

from posenc_conformance.errors import UserError
from scoreboard.environments import environment, options
from scoreboard.table import ROOT, libraries


def command(name: str) -> list[str]:
    """Return the pytest command that judges an implementation by name."""
    words = [f"--impl={name}"]
    for library in libraries():
        for adapter in (*library.adapters, *library.beside):
            if adapter.name == name:
                words = options(library, adapter, environment(library))
    return [sys.executable, "-m", "pytest", "-n", "auto", *words]


def main(words: Sequence[str]) -> int:
    """Judge an implementation; return pytest's exit status."""
    name, *more = words
    try:
        run = command(name)
    except UserError as error:
        print(f"conformance: {error}", file=sys.stderr)
        return 2
    return subprocess.run([*run, *more], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
