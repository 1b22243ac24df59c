"""``make conformance IMPL=name``: judge a library of the table, in its environment.

What the table does not have is judged in this one, as ``pytest --impl=name`` does.
"""

import subprocess
import sys
from collections.abc import Sequence

from posenc_conformance.errors import UserError
from scoreboard.environments import environment, options
from scoreboard.table import ROOT, libraries


def command(name: str) -> list[str]:
    """Return the run of pytest that judges a name, as a command."""
    told = [f"--impl={name}"]
    for library in libraries():
        for adapter in (*library.adapters, *library.beside):
            if adapter.name == name:
                told = options(library, adapter, environment(library))
    return [sys.executable, "-m", "pytest", "-n", "auto", *told]


def main(words: Sequence[str]) -> int:
    """Judge; ends as pytest does."""
    name, *more = words
    try:
        run = command(name)
    except UserError as error:
        print(f"conformance: {error}", file=sys.stderr)
        return 2
    return subprocess.run([*run, *more], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
