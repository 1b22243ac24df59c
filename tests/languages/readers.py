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
    (scheme,) = (candidate for candidate in schemes() if candidate.id == "rope")
    (vectors,) = vectors_of(scheme, ["float32"])
    form = FORMS[reader.form]
    name = f"{vectors.name}.{form.ending}"
    (folder / name).write_bytes(form.encode(vectors))
    if reader.build:
        subprocess.run(reader.build, cwd=folder, check=True)
    return subprocess.run([*reader.run, name], cwd=folder, capture_output=True, text=True)


def asked() -> list[Vector]:
    """Return the cases that the programs run."""
    (scheme,) = (item for item in schemes() if item.id == "rope")
    (vectors,) = vectors_of(scheme, ["float32"])
    pairs = ((item, item.conventions) for item in vectors.cases if item.call == "rope")
    return [item for item, form in pairs if form["layout"] == "half" and "rotation" not in form]


def assert_right(reader: Reader, folder: Path) -> None:
    done = judge(reader, folder)
    count = sum(len(case.elements) for case in asked())
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == f"{count} elements judged, 0 wrong\n"


def assert_wrong(reader: Reader, folder: Path, mistake: str) -> None:
    """Check that every case that notes the mistake fails."""
    done = judge(reader, folder, MISTAKES[mistake])
    failed = {line.split()[0].rstrip(":") for line in done.stdout.splitlines()[:-1]}
    noted = {case.id for case in asked() if mistake in case.kills}
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
