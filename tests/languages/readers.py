"""The programs of the page on vectors: each reads vectors and judges its own rotation."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from posenc_conformance.commands.export.formats import FORMS
from posenc_conformance.commands.export.make import vectors_of
from posenc_conformance.commands.export.vectors import Vector
from posenc_lab.judging import schemes
from tests.building import CHECKOUT

SOURCES = CHECKOUT / "docs" / "examples" / "vectors"
RIGHT = "position * "
"""The beginning of an angle's expression in every program."""
MISTAKES = {
    "degrees": "0.017453292519943295 * position * ",
    "positions-shifted": "(position + 1.0) * ",
    "sign-flipped": "-position * ",
    "unrotated": "0.0 * position * ",
}
"""Wrong beginnings, by the name of the mistake."""


@dataclass(frozen=True)
class Reader:
    """A program, and the commands that build and run it."""

    source: str
    form: str
    run: tuple[str, ...]
    build: tuple[str, ...] = ()


def judge(reader: Reader, folder: Path, instead: str = RIGHT) -> "subprocess.CompletedProcess[str]":
    """Build and run a program, with RIGHT replaced by ``instead``."""
    text = (SOURCES / reader.source).read_text(encoding="utf-8")
    assert text.count(RIGHT) == 1
    (folder / reader.source).write_text(text.replace(RIGHT, instead), encoding="utf-8")
    (scheme,) = (each for each in schemes() if each.id == "rope")
    (vectors,) = vectors_of(scheme, ["float32"])
    form = FORMS[reader.form]
    name = f"{vectors.name}.{form.ending}"
    (folder / name).write_bytes(form.encode(vectors))
    if reader.build:
        subprocess.run(reader.build, cwd=folder, check=True)
    return subprocess.run([*reader.run, name], cwd=folder, capture_output=True, text=True)


def asked() -> list[Vector]:
    """Return the cases that the programs run."""
    (scheme,) = (each for each in schemes() if each.id == "rope")
    (vectors,) = vectors_of(scheme, ["float32"])
    some = ((each, each.conventions) for each in vectors.cases if each.call == "rope")
    return [each for each, said in some if said["layout"] == "half" and "rotation" not in said]


def assert_right(reader: Reader, folder: Path) -> None:
    done = judge(reader, folder)
    count = sum(len(each.elements) for each in asked())
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == f"{count} elements judged, 0 wrong\n"


def assert_wrong(reader: Reader, folder: Path, mistake: str) -> None:
    """Check that every case that notes the mistake fails."""
    done = judge(reader, folder, MISTAKES[mistake])
    failed = {line.split()[0].rstrip(":") for line in done.stdout.splitlines()[:-1]}
    noted = {each.id for each in asked() if mistake in each.kills}
    assert done.returncode == 1, done.stdout + done.stderr
    assert noted
    assert noted <= failed


def assert_nothing_judged_is_not_green(reader: Reader, folder: Path) -> None:
    text = (SOURCES / reader.source).read_text(encoding="utf-8")
    (folder / reader.source).write_text(text, encoding="utf-8")
    if reader.build:
        subprocess.run(reader.build, cwd=folder, check=True)
    (folder / "empty").write_text('{"cases": []}', encoding="utf-8")
    done = subprocess.run([*reader.run, "empty"], cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "0 elements judged, 0 wrong\n")
