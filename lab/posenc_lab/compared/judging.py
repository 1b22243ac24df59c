"""Write conversions, compare them, and say what was found."""

from dataclasses import dataclass
from pathlib import Path

from posenc_conformance.commands.compare.compare_command import Comparison, compare
from posenc_conformance.errors import UserError
from posenc_lab.compared.conversions import FOLDER, GGUF, META, Converted, to_gguf
from posenc_lab.compared.families import Original, original
from posenc_lab.compared.files import (
    STORED,
    Arrays,
    write_gguf,
    write_json,
    write_safetensors,
    write_torch,
)
from posenc_lab.compared.further import FURTHER
from posenc_lab.compared.wrong import WRONG, Wrong

REFUSED = "refused"
"""The name of a file that ends in an error, which says why."""


@dataclass(frozen=True)
class Verdict:
    """What was found of one wrong conversion."""

    id: str
    names: tuple[str, ...]
    is_rejected: bool
    is_named: bool


def write_original(folder: Path, made: Original, kind: str | None = "BF16") -> Path:
    """Write a folder of transformers; arrays as they are if ``kind`` is None."""
    folder.mkdir(parents=True)
    write_json(folder / "config.json", made.config)
    stored = made.arrays if kind is None else as_stored(made.arrays, kind)
    write_safetensors(folder / "model.safetensors", stored)
    return folder


def as_stored(arrays: Arrays, kind: str) -> Arrays:
    """Return arrays in a type; packed ones, and those that are not in float32, as they are."""
    return {
        name: array.astype(STORED[kind]) if array.dtype == STORED["F32"] else array
        for name, array in arrays.items()
    }


def write_converted(path: Path, made: Converted, kind: str = "F16") -> Path:
    """Write a GGUF file, or a folder of its form; return its path."""
    if made.form == GGUF:
        write_gguf(path.with_suffix(".gguf"), made.metadata, made.arrays, kind)
        return path.with_suffix(".gguf")
    path.mkdir(parents=True)
    if made.form == FOLDER:
        write_json(path / "config.json", made.metadata)
        write_safetensors(path / "model.safetensors", as_stored(made.arrays, kind))
        return path
    write_json(path / "params.json", made.metadata)
    if made.form == META:
        write_torch(path / "consolidated.00.pth", made.arrays)
        return path
    write_safetensors(path / "consolidated.safetensors", as_stored(made.arrays, kind))
    return path


def names_of(found: Comparison) -> tuple[str, ...]:
    """Return the names of the differences."""
    return tuple(dict.fromkeys(part.id for part in found.findings if not part.is_right))


def judged(wrong: Wrong, folder: Path, kind: str = "F16") -> Verdict:
    """Write one wrong conversion and compare it."""
    made = original(wrong.family)
    before = write_original(folder / "original", made)
    after = write_converted(folder / "converted", wrong.made(made), kind)
    try:
        found = compare(str(before), str(after))
    except UserError as error:
        return Verdict(wrong.id, (REFUSED, error.cause), True, REFUSED in wrong.names)
    names = names_of(found)
    named = bool(wrong.names) and {*wrong.names} <= {*names}
    if not wrong.others:
        named = named and {*names} == {*wrong.names}
    return Verdict(wrong.id, names, found.differs, named)


def all_judged(folder: Path, kind: str = "F16") -> list[Verdict]:
    """Judge all wrong conversions, or all to GGUF for a kind that only GGUF has."""
    return [
        judged(wrong, folder / wrong.id, kind)
        for wrong in (*WRONG, *FURTHER)
        if kind in STORED or wrong.convert is to_gguf
    ]
