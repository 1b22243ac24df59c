"""``make pins``: pin the newest compatible releases of tools and of the libraries of adapters.

The kit's own requirements are not pinned: users have their newest releases, and so must the tests.

A pin has the hashes of all files of the release on the first index in pip's settings, so that no
index can substitute another file. The build requirements are pinned completely, in a separate file.
"""

import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from posenc_conformance.errors import UserError
from scoreboard.environments import PINNED, UV, called, name_of
from scoreboard.table import FILE, ROOT, libraries

PROJECT = ROOT / "pyproject.toml"
BUILDERS = ROOT / ".ci" / "build.txt"
FOR_GPUS = ("cuda-", "nvidia-")
BUILT_TWICE = ("torch", "torchao", "torchdata", "torchtune", "torchvision", "triton")
"""Packages with other files on PyTorch's index than on PyPI, under the same version."""
FIRST_INDEX = {"UV_INDEX": "", "UV_FIND_LINKS": ""}


def main() -> int:
    """Write the pins and the table of libraries.

    Adapting the kit to the new releases is left to the committer.
    """
    shipped = [library for library in libraries() if library.is_shipped]
    (torch,) = (library.install for library in shipped if library.name == "torch")
    content = tomllib.loads(PROJECT.read_text(encoding="utf-8"))
    extras = content["project"]["optional-dependencies"]
    wanted = {name_of(each) for library in shipped for each in library.install}
    try:
        own = _compiled([], torch, str(PROJECT))
        chosen = (word for extra in extras for word in ("--extra", extra))
        lines = _compiled(wanted, torch, str(PROJECT), *chosen)
        pins = [each for each in lines if name_of(each) not in {name_of(line) for line in own}]
        pins = [each for each in pins if not each.startswith(FOR_GPUS)]
        builders = _compiled(["build", *content["build-system"]["requires"]], [*own, *pins])
        for file, pinned in ((PINNED, pins), (BUILDERS, builders)):
            file.write_text(written(_hashed(pinned)), encoding="utf-8")
    except UserError as error:
        print(f"pins: {error}", file=sys.stderr)
        return 2
    table = FILE.read_text(encoding="utf-8")
    names = {library.name for library in shipped}
    FILE.write_text(renewed(table, names, reversed(pins)), encoding="utf-8")
    return 0


def renewed(table: str, names: Iterable[str], pins: Iterable[str]) -> str:
    """Return the table with the pinned releases in the entries of these names.

    If a package has several pins, for different Pythons, the last one counts.
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


def hashes(text: str) -> dict[str, set[str]]:
    """Read pins, as stored or as uv writes them; return the hashes of each, maybe none."""
    lines = text.replace("\\\n", "").splitlines()
    return {
        line.partition("--hash=")[0].strip(): {*re.findall(r"--hash=(\S+)", line)} for line in lines
    }


def written(pins: Mapping[str, Iterable[str]]) -> str:
    """Return a file of pins for pip and uv: each pin with its hashes in one line."""
    entries = ([pin, *(f"--hash={each}" for each in sorted(pins[pin]))] for pin in pins)
    return "".join(" ".join(entry) + "\n" for entry in entries)


def _hashed(pins: Iterable[str]) -> dict[str, set[str]]:
    """Find the hashes of pins.

    Packages of BUILT_TWICE have the hashes of both builds, or none if no index has PyTorch's build.
    """
    alone = ("--no-deps", "--generate-hashes")
    found = hashes("\n".join(_compiled(pins, (), *alone, environment=FIRST_INDEX)))
    kept = hashes(PINNED.read_text(encoding="utf-8"))
    for pin in found:
        if name_of(pin) not in BUILT_TWICE:
            continue
        for_cpus = f"{pin.split()[0]}+cpu"
        try:
            (others,) = hashes("\n".join(_compiled([for_cpus], (), *alone))).values()
        except UserError:
            others = set()
        others |= kept.get(pin, set())
        found[pin] = found[pin] | others if others else set()
        if not others:
            print(f"pins: {pin} has no hashes: no index has {for_cpus}", file=sys.stderr)
    return found


def _compiled(
    asked: Iterable[str],
    limits: Iterable[str],
    *options: str,
    environment: Mapping[str, str] | None = None,
) -> list[str]:
    """Resolve requirements within constraints, for every Python and system."""
    with TemporaryDirectory() as folder:
        requirements, constraints = Path(folder) / "asked.in", Path(folder) / "constraints.txt"
        requirements.write_text("\n".join(asked), encoding="utf-8")
        constraints.write_text("\n".join(limits), encoding="utf-8")
        words = [*UV, "pip", "compile", "-q", "--no-header", "--no-annotate", "--universal"]
        words += ["--python-version", "3.11", "--prerelease", "disallow", "-c", str(constraints)]
        command = [*words, *options, str(requirements)]
        said = called(command, "no releases fit together", environment=environment)
    return said.splitlines()


if __name__ == "__main__":
    sys.exit(main())
