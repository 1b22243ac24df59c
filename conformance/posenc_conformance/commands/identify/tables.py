"""Reading a saved array, whatever wrote it."""

import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import ml_dtypes
import numpy as np

from posenc_conformance.commands.identify.archives import (
    Arrays,
    demand_small,
    numpy_archive,
    safetensors,
    torch_archive,
)
from posenc_conformance.errors import UserError
from posenc_conformance.judge.arrays import DTYPES, Array, dtype_name

T = TypeVar("T")
HINT = "give a .npy, .npz, .safetensors or .pt file, or a text with one row of numbers per line"
LARGEST_TEXT = 2**26
"""Bytes of the largest text that is read."""
SEPARATORS = re.compile(r"\s*[,;\t]\s*|\s+")
PRINTED = re.compile(r"^\s*(?:tensor|array|Array)?\s*\(?\s*\[")
"""How a list begins, or a tensor or array as Python prints it."""
TOKENS = re.compile(r"[\[\]]|[^\s,\[\]()]+")
ARCHIVES: dict[str, Callable[[Path], Arrays]] = {
    ".npz": numpy_archive,
    ".safetensors": safetensors,
    ".pt": torch_archive,
    ".pth": torch_archive,
    ".bin": torch_archive,
}
FEW = 24
"""So many arrays of a file are all looked at; of more, only those of positions."""
OF_POSITIONS = re.compile(
    r"rot|freq|rope|pos|cos|sin|alibi|slope|bucket|mask|relative|index|cache|timestep",
    re.IGNORECASE,
)
"""What arrays of positions are called."""


@dataclass(frozen=True)
class Table:
    """An array, and what printing it may have cost."""

    array: Array
    grain: float = 0.0
    """Half a unit of the last decimal that is printed; 0 if it was not printed."""
    name: str = ""
    """What it is called in its file; empty if it is alone there."""


def read_tables(path: Path, names: Sequence[str] = ()) -> Iterator[Table | UserError]:
    """Yield the arrays of a file: those that are named, all if they are few, or those of positions.

    Of several, one that holds no numbers, or too many, is answered with the error.

    Raises UserError if there is none, or if the file cannot be read.
    """
    if path.suffix not in ARCHIVES:
        if names:
            raise UserError(f"{path} has one array, without a name", "leave the names out")
        yield _sound(path, _guarded(path, lambda: _read_text(path)))
        return
    arrays = _guarded(path, lambda: ARCHIVES[path.suffix](path))
    for name in _chosen(path, arrays, names):
        try:
            yield _table(path, name, arrays[name], alone=len(arrays) == 1)
        except UserError as error:
            if len(arrays) == 1 or names:
                raise
            yield error


def _chosen(path: Path, arrays: Arrays, names: Sequence[str]) -> list[str]:
    if not arrays:
        raise UserError(f"{path} has no arrays", HINT)
    if unknown := [name for name in names if name not in arrays]:
        near = [name for name in arrays if unknown[0] in name][:8] or list(arrays)[:8]
        raise UserError(f"{path} has no array {unknown[0]!r}", f"it has {', '.join(near)}")
    if names:
        return list(names)
    if len(arrays) <= FEW:
        return list(arrays)
    found = [name for name in arrays if OF_POSITIONS.search(name.rpartition(".")[2])]
    if not found:
        raise UserError(
            f"{path} has {len(arrays)} arrays, and no name suggests positions",
            f"after the file, give the names of some: {', '.join(list(arrays)[:4])} …",
        )
    return found


def _table(path: Path, name: str, load: Callable[[], Array], *, alone: bool) -> Table:
    where = Path(f"{path}: {name}") if name and not alone else path
    array = _guarded(where, lambda: _readable(where, load()))
    return _sound(where, Table(array, name="" if alone else name))


def _read_text(path: Path) -> Table:
    size = path.stat().st_size
    if path.suffix == ".npy":
        demand_small(path, size)
        return Table(_readable(path, np.load(path)))
    demand_small(path, size, LARGEST_TEXT)
    text = path.read_text(encoding="utf-8-sig")
    return _printed(path, text) if PRINTED.match(text) else _parsed(path, text)


def _guarded(path: Path, read: Callable[[], T]) -> T:
    """Return what is read; whatever is wrong with the file becomes a UserError."""
    try:
        return read()
    except UnicodeDecodeError:
        raise UserError(f"{path} is neither text nor named like a file of arrays", HINT) from None
    except (OSError, ValueError, EOFError, MemoryError, SyntaxError, KeyError) as error:
        raise UserError(f"{path} cannot be read: {_reason(error)}", HINT) from None
    except (
        zipfile.BadZipFile,
        zlib.error,
        TypeError,
        NotImplementedError,
    ) as error:
        raise UserError(f"{path} cannot be read: it is damaged ({error})", HINT) from None


def _sound(path: Path, table: Table) -> Table:
    if table.array.size == 0:
        raise UserError(f"{path} is empty", HINT)
    if table.array.dtype.kind in "fc" and np.isnan(table.array).any():
        count = int(np.count_nonzero(np.isnan(table.array)))
        raise UserError(f"{path} has {count} values that are nan", "save it without them")
    return table


def _reason(error: Exception) -> str:
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    if "allow_pickle" in text or "pickle" in text:
        return "it holds pickled objects, which could run code and are not loaded"
    return text


def _readable(path: Path, array: Array) -> Array:
    """Return the array, if it holds numbers; NumPy itself reads bfloat16 as two bytes.

    Raises UserError if it does not.
    """
    if array.dtype.kind == "V" and array.dtype.itemsize == 2 and array.dtype.names is None:
        array = array.view(ml_dtypes.bfloat16)
    if array.dtype.kind not in "fiubc" and dtype_name(array) not in DTYPES:
        raise UserError(f"{path} holds {array.dtype}, not numbers", HINT)
    return array


def _printed(path: Path, text: str) -> Table:
    """Parse a list of lists, or what Python prints of a tensor or an array."""
    end = text.rfind("]") + 1
    opened: list[list[Any]] = [[]]
    cells: list[str] = []
    for number, line in enumerate(text[:end].splitlines(), 1):
        for token in TOKENS.findall(line.removeprefix("tensor").removeprefix("array")):
            if token == "[":
                opened.append([])
            elif token == "]":
                if len(opened) < 2:
                    raise UserError(f"{path}:{number}: a closing bracket has no opening one", HINT)
                inner = opened.pop()
                opened[-1].append(inner)
            elif token in ("...", "…"):
                raise UserError(
                    f"{path}:{number}: values are left out",
                    "print all of them: numpy.set_printoptions(threshold=10**6), or "
                    "torch.set_printoptions(threshold=10**6)",
                )
            else:
                opened[-1].append(_number(path, number, token))
                cells.append(token)
    if len(opened) > 1 or len(opened[0]) != 1:
        raise UserError(f"{path}: brackets do not match", HINT)
    try:
        array = np.array(opened[0][0], dtype=np.float64)
    except ValueError:
        raise UserError(f"{path}: rows are not of equal length", HINT) from None
    return _make_table(array, max(map(_grain, cells), default=0.0))


def _make_table(array: Array, grain: float) -> Table:
    """Make a table of the numbers of a text, as integers if all were written as such."""
    whole = grain == 0 and np.isfinite(array).all() and not (array % 1).any()
    return Table(array.astype(np.int64) if whole and np.abs(array).max() < 2**53 else array, grain)


def _parsed(path: Path, text: str) -> Table:
    """Parse numbers in text: separated by commas, semicolons or blanks; perhaps with a header."""
    rows = [
        (number, _cells(line)) for number, line in enumerate(text.splitlines(), 1) if line.strip()
    ]
    headed = len(rows) > 1 and _is_header([cells for _, cells in rows])
    body = rows[headed:]
    values = [[_number(path, line, cell) for cell in cells] for line, cells in body]
    for (line, _), row in zip(body, values, strict=True):
        if len(row) != len(values[0]):
            raise UserError(
                f"{path}:{line}: {len(row)} numbers, but {len(values[0])} in the first row",
                "give every row the same number",
            )
    array = np.array(values, dtype=np.float64)
    if headed and array.shape[1] > 1 and np.array_equal(array[:, 0], np.arange(len(array))):
        array = array[:, 1:]  # the index that pandas writes
        body = [(line, cells[1:]) for line, cells in body]
    return _make_table(array, max((_grain(cell) for _, row in body for cell in row), default=0.0))


def _cells(line: str) -> list[str]:
    return SEPARATORS.split(line.strip().removesuffix(","))


def _is_header(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first line names columns: by words, or by numbers above decimals."""
    first, second = rows[0], rows[1]
    if not all(map(_is_number, second)):
        return False
    if not any(map(_is_number, first)) or first[0] == "":
        return True
    counted = list(first) == [str(n) for n in range(len(first))]
    return len(first) > 1 and counted and any("." in cell for cell in second)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _number(path: Path, line: int, cell: str) -> float:
    if cell in ("True", "False"):
        return float(cell == "True")
    try:
        return float(cell)
    except ValueError:
        raise UserError(f"{path}:{line}: {cell!r} is not a number", HINT) from None


def _grain(cell: str) -> float:
    """Return half a unit of the last printed decimal; 0 for a number without decimals."""
    digits, _, exponent = cell.lower().partition("e")
    decimals = len(digits.partition(".")[2])
    if not decimals or not digits.lstrip("+-").replace(".", "").isdigit():
        return 0.0
    return 0.5 * 10.0 ** (int(exponent or 0) - decimals)
