"""Read saved arrays from files of various formats."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np

from posenc_conformance.commands.identify.archives import (
    MAGIC,
    SMALLER,
    Allowance,
    Arrays,
    numpy_archive,
    numpy_file,
    safetensors,
    torch_archive,
)
from posenc_conformance.commands.identify.text_tables import HINT, Gap, numbers_of
from posenc_conformance.door import demand_small, named, opened, size_of
from posenc_conformance.errors import UserError, in_line
from posenc_conformance.judge.arrays import Array

LARGEST_TEXT = 2**26
"""Bytes of the largest text that is read."""
ZIP = b"PK\x03\x04"
Reader = Callable[[BinaryIO, Allowance], Arrays]
ARCHIVES: dict[str, Reader] = {
    ".npz": numpy_archive,
    ".safetensors": safetensors,
    ".pt": torch_archive,
    ".pth": torch_archive,
    ".bin": torch_archive,
}
FEW = 24
"""Most arrays of a file that are all examined; of more, only those of OF_POSITIONS are."""
MOST_LOOKED_AT = 2000
OF_POSITIONS = re.compile(
    r"rot|freq|rope|pos|cos|sin|alibi|slope|bucket|mask|relative|index|cache|timestep",
    re.IGNORECASE,
)
"""Names that suggest an array of a positional encoding."""


@dataclass(frozen=True)
class Table:
    """An array, and the error that printing may have added to it."""

    array: Array
    grain: float = 0.0
    """Half a unit of the last printed decimal; 0 if it was not printed."""
    name: str = ""
    """The array's name in its file; empty if it is the only array."""
    gap: Gap | None = None
    """The values that printing left out of a row."""
    place: tuple[int, int] = (1, 1)
    """The array's number among the examined ones, from 1 on, and their count."""


def read_tables(path: Path, names: Sequence[str] = ()) -> Iterator[Table | UserError]:
    """Yield the arrays of a file: the named ones, all if they are few, or those of OF_POSITIONS.

    If there are several and none is named, an array without numbers, or with too many, is replaced
    by the error.

    Raises UserError if there is no array, or if the file cannot be read.
    """
    with opened(path, HINT) as stream:
        reader = _reader(path, stream)
        if reader is None:
            if names:
                raise UserError(f"{path} has one array, without a name", "leave the names out")
            yield _sound(path, _alone(path, stream))
            return
        with _told_of(path):
            arrays = reader(stream, Allowance())
        chosen = _chosen(path, arrays, names)
        for number, name in enumerate(chosen, 1):
            try:
                table = _table(path, name, arrays[name])
                own = "" if len(arrays) == 1 else name
                yield replace(table, name=own, place=(number, len(chosen)))
            except UserError as error:
                if len(arrays) == 1 or names:
                    raise
                yield error


def _reader(path: Path, stream: BinaryIO) -> Reader | None:
    """Return the reader of a file of several arrays; None for a file of one.

    An archive named .npy, and an array named .npz, are recognised by their first bytes.
    """
    start = stream.read(len(MAGIC))
    stream.seek(0)
    if path.suffix == ".npy" and start.startswith(ZIP):
        return numpy_archive
    if path.suffix == ".npz" and start == MAGIC:
        return None
    return ARCHIVES.get(path.suffix)


def _chosen(path: Path, arrays: Arrays, names: Sequence[str]) -> list[str]:
    if not arrays:
        raise UserError(f"{path} has no arrays", HINT)
    if unknown := [name for name in names if name not in arrays]:
        near = [name for name in arrays if unknown[0] in name][:8] or list(arrays)[:8]
        raise UserError(
            f"{path} has no array {in_line(unknown[0])!r}",
            f"it has {', '.join(map(in_line, near))}",
        )
    if names:
        return list(names)
    if len(arrays) <= FEW:
        return list(arrays)
    matching = [name for name in arrays if OF_POSITIONS.search(name.rpartition(".")[2])]
    examples = ", ".join(map(in_line, (matching or list(arrays))[:4]))
    if not matching:
        raise UserError(
            f"{path} has {len(arrays)} arrays, and no name suggests positions",
            f"after the file, give the names of some: {examples} …",
        )
    if len(matching) > MOST_LOOKED_AT:
        raise UserError(
            f"{path} has {len(matching):,} arrays whose names suggest positions",
            f"after the file, give the names of some: {examples} …",
        )
    return matching


def _table(path: Path, name: str, load: Callable[[], Array]) -> Table:
    where = Path(f"{path}: {in_line(name)}") if name else path
    with _told_of(where):
        array = load()
    return _sound(where, Table(array))


@contextmanager
def _told_of(where: Path) -> Iterator[None]:
    """Add the file and the array to each error of a reader."""
    with named(where, HINT):
        try:
            yield
        except UserError as error:
            raise UserError(f"{where}: {error.cause}", error.hint) from error


def _alone(path: Path, stream: BinaryIO) -> Table:
    size = size_of(stream)
    if path.suffix in (".npy", ".npz"):
        with _told_of(path):
            return Table(numpy_file(stream, size, Allowance()))
    demand_small(path, size, LARGEST_TEXT, SMALLER)
    content = stream.read(LARGEST_TEXT + 1)
    demand_small(path, len(content), LARGEST_TEXT, SMALLER)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UserError(f"{path} is neither text nor named like a file of arrays", HINT) from None
    numbers, grain, gap = numbers_of(path, text)
    return Table(numbers, grain, gap=gap)


def _sound(path: Path, table: Table) -> Table:
    if table.array.size == 0:
        raise UserError(f"{path} is empty", HINT)
    if table.array.dtype.kind in "fc" and np.isnan(table.array).any():
        count = int(np.count_nonzero(np.isnan(table.array)))
        raise UserError(f"{path} has {count} values that are nan", "save it without them")
    return table
