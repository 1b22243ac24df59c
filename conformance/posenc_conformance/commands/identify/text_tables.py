"""Parse numbers in a text: a table as programs write it, or a list or array as Python prints it.

The numbers are converted as soon as they are read, so that a long text needs little more memory
than an array.
"""

import io
import math
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path

import numpy as np

from posenc_conformance.errors import UserError, in_line
from posenc_conformance.judge.arrays import Array, Floats

HINT = "give a .npy, .npz, .safetensors or .pt file, or a text with one row of numbers per line"
SHORTER = "save a thousand rows, or all of them as an .npy file"
MOST_NUMBERS = 2**21
LONGEST_LINE = 2**24
SEPARATORS = re.compile(r"[,;]")
PRINTERS = ("tensor", "array", "Array")
TOKENS = re.compile(r"[\[\]]|[^\s,\[\]()]+")
DEEPEST = 32
"""The deepest nesting of brackets; no array has more axes."""


@dataclass(frozen=True)
class Gap:
    """Values left out of a row: the number of values before them, and each value's grain."""

    after: int
    grains: Floats
    """Half a unit of the last printed decimal of each."""


Read = tuple[Array, float, Gap | None]
"""Numbers, half a unit of their last printed decimal, and the gap of values left out."""


def numbers_of(path: Path, text: str) -> Read:
    """Return the numbers of a text, half a unit of the last decimal, and the gap if there is one.

    A text of a single row may leave out values once, in its middle. Raises UserError naming the
    line of an invalid number, or of a row that is too long or short.
    """
    return _printed(path, text) if _is_printed(text) else _parsed(path, text)


def _is_printed(text: str) -> bool:
    """Return whether a text begins like a list, or like a tensor or array as Python prints it."""
    content = text.lstrip()
    for name in PRINTERS:
        content = content.removeprefix(name)
    return content.lstrip().removeprefix("(").lstrip().startswith("[")


def _lines(path: Path, text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(io.StringIO(text, newline=None), 1):
        if len(line) > LONGEST_LINE:
            raise UserError(f"{path}:{number}: a line of {len(line):,} characters", SHORTER)
        yield number, line


def _demand_few(path: Path, line: int, count: int) -> None:
    if count > MOST_NUMBERS:
        raise UserError(f"{path}:{line}: there are more than {MOST_NUMBERS:,} numbers", SHORTER)


# Printed lists and arrays.


@dataclass
class _Brackets:
    """The numbers between brackets, and the number of parts on each level."""

    where: Path
    values: "array[float]" = field(default_factory=lambda: array("d"))
    open: list[int] = field(default_factory=list)
    """The number of parts so far of each open bracket."""
    sizes: dict[int, int] = field(default_factory=dict)
    """The number of parts of every closed list, by its level of nesting."""
    depth: int | None = None
    """The number of brackets around each number."""
    whole: bool = False

    def begin(self, line: int) -> None:
        self._count(line)
        self.open.append(0)
        if len(self.open) > DEEPEST or len(self.open) > (self.depth or DEEPEST):
            raise self._ragged(line, "brackets are nested too deeply")

    def end(self, line: int) -> None:
        if not self.open:
            raise UserError(f"{self.where}:{line}: a closing bracket has no opening one", HINT)
        level = len(self.open)
        if self.sizes.setdefault(level, self.open[-1]) != self.open[-1]:
            raise self._ragged(line, "rows are not of equal length")
        self.open.pop()
        self.whole = not self.open

    def add(self, line: int, value: float) -> None:
        self._count(line)
        if self.depth is None:
            self.depth = len(self.open)
        if self.depth != len(self.open) or not self.open:
            raise self._ragged(line, "rows are not of equal length")
        self.values.append(value)
        _demand_few(self.where, line, len(self.values))

    def _count(self, line: int) -> None:
        if self.whole:
            raise self._ragged(line, "brackets do not match")
        if self.open:
            self.open[-1] += 1

    def _ragged(self, line: int, what: str) -> UserError:
        return UserError(f"{self.where}:{line}: {what}", HINT)

    def array(self) -> Array:
        shape = [self.sizes[level] for level in sorted(self.sizes)]
        if not self.whole:
            raise UserError(f"{self.where}: brackets do not match", HINT)
        if math.prod(shape) != len(self.values):
            raise UserError(f"{self.where}: rows are not of equal length", HINT)
        return np.array(self.values, np.float64).reshape(shape)


def _printed(path: Path, text: str) -> Read:
    """Parse a list of lists, or a tensor or an array as Python prints it."""
    brackets, left_out, grains = _Brackets(path), 0, array("d")
    end = text.rfind("]") + 1
    for number, line in _lines(path, text[:end]):
        for match in TOKENS.finditer(line.removeprefix("tensor").removeprefix("array")):
            token = match[0]
            if token == "[":
                brackets.begin(number)
            elif token == "]":
                brackets.end(number)
            elif token in ("...", "…"):
                if left_out or len(brackets.open) != 1 or not brackets.values:
                    raise _left_out(path, number)
                left_out = len(brackets.values)
            else:
                brackets.add(number, _number(path, number, token))
                grains.append(_grain(token))
    table, grain = brackets.array(), max(grains, default=0.0)
    if not left_out:
        return _integers_if(grain == 0, table), grain, None
    if table.ndim > 1 or left_out == len(table):
        raise _left_out(path, number)
    return table, grain, Gap(left_out, np.array(grains))


def _left_out(path: Path, line: int) -> UserError:
    return UserError(
        f"{path}:{line}: values are left out",
        "print all of them: numpy.set_printoptions(threshold=10**6), or "
        "torch.set_printoptions(threshold=10**6)",
    )


# Rows.


def _parsed(path: Path, text: str) -> Read:
    """Parse numbers in text: separated by commas, semicolons or blanks; perhaps with a header."""
    rows = ((number, _cells(line)) for number, line in _lines(path, text) if line.strip())
    first = list(islice(rows, 2))
    headed = len(first) > 1 and _is_header([cells for _, cells in first])
    values = array("d")
    width, index_grain, grain = 0, 0.0, 0.0
    for line, cells in chain(first[headed:], rows):
        width = width or len(cells)
        if len(cells) != width:
            raise UserError(
                f"{path}:{line}: {len(cells)} numbers, but {width} in the first row",
                "give every row the same number",
            )
        values.extend(_number(path, line, cell) for cell in cells)
        _demand_few(path, line, len(values))
        index_grain = max(index_grain, _grain(cells[0]))
        grain = max(grain, max(map(_grain, cells[1:]), default=0.0))
    table = np.array(values, np.float64).reshape(-1, width or 1)
    if headed and width > 1 and np.array_equal(table[:, 0], np.arange(len(table))):
        table = table[:, 1:]  # the index that pandas writes
    else:
        grain = max(grain, index_grain)
    return _integers_if(grain == 0, table), grain, None


def _integers_if(written: bool, table: Array) -> Array:
    """Return a table as integers if all its numbers were written as such."""
    whole = written and np.isfinite(table).all() and not (table % 1).any()
    return table.astype(np.int64) if whole and np.abs(table).max(initial=0) < 2**53 else table


def _cells(line: str) -> list[str]:
    parts = SEPARATORS.split(line.strip().removesuffix(","))
    return [cell for part in parts for cell in part.split() or [""]]


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
    return cell.isascii() and "_" not in cell  # only Python takes these for numbers


def _number(path: Path, line: int, cell: str) -> float:
    if cell in ("True", "False"):
        return float(cell == "True")
    if not _is_number(cell):
        raise UserError(f"{path}:{line}: {in_line(cell)!r} is not a number", HINT)
    number = float(cell)
    if math.isinf(number) and any(character.isdigit() for character in cell):
        raise UserError(f"{path}:{line}: {in_line(cell)} is beyond every float64", HINT)
    return number


def _grain(cell: str) -> float:
    """Return half a unit of the last printed decimal; 0 for a number without decimals."""
    digits, _, exponent = cell.lower().partition("e")
    decimals = len(digits.partition(".")[2])
    if not decimals or not digits.lstrip("+-").replace(".", "").isdigit():
        return 0.0
    power = max(-400, int(exponent or 0) - decimals)
    return 0.5 * 10.0**power if power < 308 else math.inf  # all its digits are zeros
