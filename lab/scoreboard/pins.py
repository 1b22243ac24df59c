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
    needed = {name_of(pin) for library in shipped for pin in library.install}
    try:
        own = _compiled([], torch, str(PROJECT))
        chosen = (word for extra in extras for word in ("--extra", extra))
        lines = _compiled(needed, torch, str(PROJECT), *chosen)
        pins = [pin for pin in lines if name_of(pin) not in {name_of(line) for line in own}]
        pins = [pin for pin in pins if not pin.startswith(FOR_GPUS)]
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
    """Return the table of libraries with the pinned releases in the entries ``names``.

    If a package has several pins, for different Pythons, the last one counts.
    """
    versions = {name_of(pin): pin.partition("==")[2].split()[0] for pin in pins}

    def install(line: re.Match[str]) -> str:
        return re.sub(
            r"([\w.-]+)==([\w.]+)",
            lambda match: f"{match[1]}=={versions.get(match[1], match[2])}",
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
    """Parse pins, as stored or as uv writes them; return the hashes of each, which may be none."""
    lines = text.replace("\\\n", "").splitlines()
    return {
        line.partition("--hash=")[0].strip(): {*re.findall(r"--hash=(\S+)", line)} for line in lines
    }


def written(pins: Mapping[str, Iterable[str]]) -> str:
    """Return a file of pins for pip and uv: each pin with its hashes in one line."""
    entries = ([pin, *(f"--hash={hashed}" for hashed in sorted(pins[pin]))] for pin in pins)
    return "".join(" ".join(entry) + "\n" for entry in entries)


def _hashed(pins: Iterable[str]) -> dict[str, set[str]]:
    """Find the hashes of pins.

    Packages of BUILT_TWICE get the hashes of both builds, or none if PyTorch's are unknown.
    """
    alone = ("--no-deps", "--generate-hashes")
    first = hashes("\n".join(_compiled(pins, (), *alone, environment=FIRST_INDEX)))
    stored = hashes(PINNED.read_text(encoding="utf-8"))
    for pin in first:
        if name_of(pin) not in BUILT_TWICE:
            continue
        for_cpus = f"{pin.split()[0]}+cpu"
        try:
            (others,) = hashes("\n".join(_compiled([for_cpus], (), *alone))).values()
        except UserError:
            others = set()
        others |= stored.get(pin, set())
        first[pin] = first[pin] | others if others else set()
        if not others:
            print(f"pins: {pin} has no hashes: no index has {for_cpus}", file=sys.stderr)
    return first


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
        output = called(command, "no releases fit together", environment=environment)
    return output.splitlines()


if __name__ == "__main__":
    sys.exit(main())
