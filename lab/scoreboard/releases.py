"""``python -m scoreboard.releases FINDING PACKAGE VERSION…``: find the releases with a finding.

Runs the finding's reproduction with each of these versions, installed with the other packages of
the library's entry, and shows its output.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from tempfile import TemporaryDirectory

from posenc_conformance.errors import UserError
from scoreboard.cells import Finding, findings
from scoreboard.environments import UV
from scoreboard.table import Library, libraries


def main() -> int:
    """Show the output for each release."""
    parser = argparse.ArgumentParser(prog="python -m scoreboard.releases", description=__doc__)
    parser.add_argument("finding", help="its id in lab/scoreboard/findings.yaml")
    parser.add_argument("package")
    parser.add_argument("versions", nargs="+")
    options = parser.parse_args()
    try:
        finding, library = chosen(options.finding)
        for version in options.versions:
            output = printed(finding, with_version(library, options.package, version))
            print(f"{options.package} {version}: {output}", flush=True)
    except UserError as error:
        print(f"releases: {error}", file=sys.stderr)
        return 2
    return 0


def chosen(id: str) -> tuple[Finding, Library]:
    """Return a finding and its library.

    Raises UserError if there is none.
    """
    by_id = {finding.id: finding for finding in findings()}
    if id not in by_id:
        raise UserError(f"there is no finding {id}", f"there are {', '.join(by_id)}")
    for library in libraries():
        if any(adapter.name in by_id[id].adapters for adapter in library.adapters):
            return by_id[id], library
    raise UserError(f"{id} is of no library of the table", "see its adapters")


def with_version(library: Library, package: str, version: str) -> list[str]:
    """Return the requirements of the library's entry, with another version of a package.

    Raises UserError if the entry doesn't install the package.
    """
    names = [requirement.partition("==")[0] for requirement in library.install]
    if package not in [name.partition("[")[0] for name in names]:
        raise UserError(f"{library.name} does not install {package}", f"it has {', '.join(names)}")
    return [
        f"{name}=={version}" if name.partition("[")[0] == package else pinned
        for name, pinned in zip(names, library.install, strict=True)
    ]


def of_release(library: Library, requirement: str) -> Library:
    """Return the library with another version of a package, given as ``package==version``.

    Raises UserError if the library doesn't install the package, or no version is given.
    """
    package, pinned, version = requirement.partition("==")
    if not (pinned and version):
        raise UserError(f"{requirement!r} names no release", "write package==1.2.3")
    return replace(library, install=tuple(with_version(library, package, version)))


def printed(found: Finding, requirements: Sequence[str]) -> str:
    """Run the reproduction and return its output, or the end of its error."""
    packages = [word for requirement in requirements for word in ("--with", requirement)]
    python = ["--python", sys.executable, "python", "-c", found.reproduce]
    with TemporaryDirectory() as folder:
        done = subprocess.run(
            [*UV, "run", "-q", "--no-project", *packages, *python],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": ""},
            capture_output=True,
            text=True,
        )
    if done.returncode:
        return f"ends with {done.stderr.strip().splitlines()[-1:]}"
    return done.stdout.strip().replace("\n", "; ")


if __name__ == "__main__":
    sys.exit(main())
