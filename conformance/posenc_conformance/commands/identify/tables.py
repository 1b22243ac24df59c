"""Reading a saved array, whatever wrote it."""

import re
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError

import ml_dtypes
import numpy as np

from posenc_conformance.errors import UserError
from posenc_conformance.judge.arrays import DTYPES, Array, dtype_name

HINT = "give a .npy file, an .npz file with one array, or numbers in text, a row to a line"
LARGEST = 2**30
"""Bytes of the largest array that is read."""
LARGEST_TEXT = 2**26
"""The same of a text."""
SEPARATORS = re.compile(r"\s*[,;\t]\s*|\s+")


@dataclass(frozen=True)
class Table:
    """An array, and what printing it may have cost."""

    array: Array
    grain: float = 0.0
    """Half a unit of the last decimal that is printed; 0 if it was not printed."""


def read_table(path: Path) -> Table:
    """The array of a file.

    Raises UserError if there is none, if it is too large, or if it does not hold numbers.
    """
    try:
        size = path.stat().st_size
        if path.suffix == ".npz":
            table = Table(_only_array(path))
        elif path.suffix == ".npy":
            _demand_small(path, size, LARGEST)
            table = Table(_readable(path, np.load(path)))
        else:
            _demand_small(path, size, LARGEST_TEXT)
            table = _parsed(path, path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError:
        raise UserError(f"{path} is no text, and no .npy or .npz file by its name", HINT) from None
    except (OSError, ValueError, EOFError, MemoryError, SyntaxError, KeyError) as error:
        raise UserError(f"{path} cannot be read: {_said(error)}", HINT) from None
    except (zipfile.BadZipFile, zlib.error, UnpicklingError, NotImplementedError) as error:
        raise UserError(f"{path} cannot be read: it is damaged ({error})", HINT) from None
    if table.array.size == 0:
        raise UserError(f"{path} is empty", HINT)
    if table.array.dtype.kind in "fc" and np.isnan(table.array).any():
        count = int(np.count_nonzero(np.isnan(table.array)))
        raise UserError(f"{path} has {count} values that are nan", "save it without them")
    return table


def _said(error: Exception) -> str:
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    if "allow_pickle" in text or "pickle" in text:
        return "it holds pickled objects, which could run code and are not loaded"
    return text


def _demand_small(path: Path, size: int, largest: int) -> None:
    if size > largest:
        raise UserError(
            f"{path} has {size / 2**20:,.0f} MiB; at most {largest / 2**20:,.0f} are read",
            "save some of it: a thousand rows are enough to tell what it is",
        )


def _only_array(path: Path) -> Array:
    """The array of an archive."""
    with zipfile.ZipFile(path) as archive:
        _demand_small(path, sum(each.file_size for each in archive.infolist()), LARGEST)
    with np.load(path) as arrays:
        names = list(arrays)
        if len(names) != 1:
            raise UserError(
                f"{path} has {len(names)} arrays: {', '.join(names[:8]) or 'none'}",
                "save the one that is meant with numpy.save",
            )
        return _readable(path, arrays[names[0]])


def _readable(path: Path, array: Array) -> Array:
    """The array, if it holds numbers; NumPy itself reads bfloat16 as two bytes."""
    if array.dtype.kind == "V" and array.dtype.itemsize == 2 and array.dtype.names is None:
        array = array.view(ml_dtypes.bfloat16)
    if array.dtype.kind not in "fiubc" and dtype_name(array) not in DTYPES:
        raise UserError(f"{path} holds {array.dtype}, not numbers", HINT)
    return array


def _parsed(path: Path, text: str) -> Table:
    """Numbers in text: separated by commas, semicolons or blanks; perhaps with a header."""
    rows = [
        (number, _cells(line)) for number, line in enumerate(text.splitlines(), 1) if line.strip()
    ]
    headed = len(rows) > 1 and _is_header([cells for _, cells in rows])
    body = rows[headed:]
    values = [[_number(path, line, cell) for cell in cells] for line, cells in body]
    for (line, _), row in zip(body, values, strict=True):
        if len(row) != len(values[0]):
            raise UserError(
                f"{path}:{line}: {len(row)} numbers, but {len(values[0])} in the row before",
                "give every row as many",
            )
    array = np.array(values, dtype=np.float64)
    if headed and array.shape[1] > 1 and np.array_equal(array[:, 0], np.arange(len(array))):
        array = array[:, 1:]  # the index that pandas writes
        body = [(line, cells[1:]) for line, cells in body]
    return Table(array, max((_grain(cell) for _, cells in body for cell in cells), default=0.0))


def _cells(line: str) -> list[str]:
    return SEPARATORS.split(line.strip().removesuffix(","))


def _is_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first line names columns: by words, or by numbers above decimals."""
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
        raise UserError(f"{path}:{line}: {cell!r} is no number", HINT) from None


def _grain(cell: str) -> float:
    """Half a unit of the last printed decimal."""
    digits, _, exponent = cell.lower().partition("e")
    decimals = len(digits.partition(".")[2])
    if not decimals or not digits.lstrip("+-").replace(".", "").isdigit():
        return 0.0
    return 0.5 * 10.0 ** (int(exponent or 0) - decimals)
