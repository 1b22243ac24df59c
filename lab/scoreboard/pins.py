"""``make pins``: the newest releases that fit together, of tools and of the kit's own libraries.

Nothing is pinned that the kit itself needs: of that people have the newest, and so must the tests.
"""

import re
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from posenc_conformance.errors import UserError
from scoreboard.environments import PINNED, UV, called, name_of
from scoreboard.table import FILE, ROOT, libraries

PROJECT = ROOT / "pyproject.toml"
FOR_GPUS = ("cuda-", "nvidia-")


def main() -> int:
    """Write the pins and the table of libraries.

    What the new releases ask for is left to whoever commits them.
    """
    shipped = [library for library in libraries() if library.is_shipped]
    (torch,) = (library.install for library in shipped if library.name == "torch")
    extras = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    wanted = {name_of(each) for library in shipped for each in library.install}
    try:
        own = {name_of(line) for line in _compiled(torch)}
        lines = _compiled(torch, wanted, extras)
    except UserError as error:
        print(f"pins: {error}", file=sys.stderr)
        return 2
    pins = [each for each in lines if name_of(each) not in own and not each.startswith(FOR_GPUS)]
    PINNED.write_text("".join(f"{line}\n" for line in pins), encoding="utf-8")
    table = FILE.read_text(encoding="utf-8")
    names = {library.name for library in shipped}
    FILE.write_text(renewed(table, names, reversed(pins)), encoding="utf-8")
    return 0


def renewed(table: str, names: Iterable[str], pins: Iterable[str]) -> str:
    """Put these releases into the entries of these names in the table.

    Where a package has several, for one Python or another, the last one given counts.
    """
    versions = {name_of(pin): pin.partition("==")[2].split()[0] for pin in pins}

    def install(line: re.Match[str]) -> str:
        return re.sub(
            r"([\w.-]+)==([\w.]+)",
            lambda found: f"{found[1]}=={versions.get(found[1], found[2])}",
            line[0],
        )

    parts = re.split(r"^(?=  \S)", table, flags=re.M)
    return "".join(
        re.sub(r"^    install: .*$", install, part, flags=re.M)
        if part.strip().partition(":")[0] in names
        else part
        for part in parts
    )


def _compiled(
    limits: Iterable[str], more: Iterable[str] = (), extras: Iterable[str] = ()
) -> list[str]:
    """Resolve pyproject.toml and more within limits, for every Python and system."""
    with TemporaryDirectory() as folder:
        asked, constraints = Path(folder) / "asked.in", Path(folder) / "constraints.txt"
        asked.write_text("\n".join(more), encoding="utf-8")
        constraints.write_text("\n".join(limits), encoding="utf-8")
        words = [*UV, "pip", "compile", "-q", "--no-header", "--no-annotate", "--universal"]
        words += ["--python-version", "3.11", "--prerelease", "disallow", "-c", str(constraints)]
        words += [word for extra in extras for word in ("--extra", extra)]
        said = called([*words, str(PROJECT), str(asked)], "no releases fit together")
    return said.splitlines()


if __name__ == "__main__":
    sys.exit(main())
