"""Rotated heads among queries, keys and values, read from results that contain all three."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from posenc_conformance.diagnose.rows import read_rows
from posenc_conformance.judge.arrays import Floats, Ints
from posenc_conformance.judge.case import Case
from posenc_conformance.judge.error_model import agrees

WHOLE = ""
"""The name of a result without parts, as one part."""
SHOWN = 4
"""Maximum number of heads, and of rows of one, that are listed."""


@dataclass(frozen=True)
class Part:
    """Requested and found positions of query, key or value rows: [heads, n]; 0 if not rotated."""

    name: str
    asked: Ints
    found: Ints

    @property
    def is_right(self) -> bool:
        """Whether every row has the right position."""
        return np.array_equal(self.asked, self.found)


def describe_heads(answers: Sequence[tuple[Case, Floats]]) -> str:
    """Say in words which heads of wrong results have other positions; empty if that is unclear."""
    read = [read_parts(case, output) for case, output in answers]
    lists = [parts for parts in read if parts]
    if not lists or len(lists) < len(read) or any(all(p.is_right for p in ps) for ps in lists):
        return ""
    wrong = [part for part in max(lists, key=_rows) if not part.is_right]
    return "; ".join(_words(part) for part in wrong)


def only_wrong_part(
    answers: Sequence[tuple[Case, Floats]],
) -> tuple[str, list[tuple[Case, Floats]]] | None:
    """Return the part that alone is wrong in all results, with its own cases and results.

    None if the calls have no parts, or several are wrong.
    """
    wrong = [part for answer in answers for part in wrong_parts(*answer)]
    names = {name for name, *_ in wrong}
    if len(names) != 1 or WHOLE in names or len(wrong) != len(answers):
        return None
    return names.pop(), [(case, output) for _, case, output in wrong]


def parts_of(case: Case, output: Floats) -> list[tuple[str, Case, Floats]]:
    """Return the parts of a result, such as queries and keys; the whole if it has none."""
    if case.knowledge.parts is None or output.shape != case.shape:
        return [(WHOLE, case, output)]
    return list(case.knowledge.parts(case, output))


def wrong_parts(case: Case, output: Floats) -> list[tuple[str, Case, Floats]]:
    """Return the parts of a result that are wrong."""
    return [part for part in parts_of(case, output) if not agrees(part[1], part[2])]


def read_parts(case: Case, output: Floats) -> list[Part]:
    """Find the position of each row of each part.

    Empty if the call has no parts, or if no position fits a row.
    """
    if case.knowledge.parts is None or output.shape != case.shape:
        return []
    parts = []
    for name, own, result in case.knowledge.parts(case, output):
        rows = read_rows(own, result, np.asarray(case.arguments["positions"]))
        if rows is None:
            return []
        parts.append(Part(name, own.arguments["positions"], rows[:, 0]))
    return parts


def _rows(parts: Sequence[Part]) -> int:
    return sum(part.asked.size for part in parts)


def _words(part: Part) -> str:
    """Say what is wrong with one part."""
    off = part.found - part.asked
    heads = _heads(np.flatnonzero(off.any(axis=1)), len(off))
    if not part.found[off != 0].any():
        return f"{part.name} are not turned{heads}{_of_rows(part)}"
    if not part.asked.any():
        return f"{part.name} are turned{heads}"
    by = off[off.any(axis=1)]
    if np.ptp(by) == 0:
        step = int(by.flat[0])
        way = "later" if step > 0 else "earlier"
        return f"every row of {part.name}{heads} stands {abs(step)} {way} than it should"
    row = int(off.any(axis=1).argmax())
    first = np.flatnonzero(off[row])[:SHOWN]
    actual, expected = (", ".join(map(str, rows[row, first])) for rows in (part.found, part.asked))
    return f"{part.name} stand at {actual}{heads}; asked for {expected}"


def _of_rows(part: Part) -> str:
    """Name the misplaced rows; empty if they are all that should be turned."""
    wrong = part.asked != part.found
    heads = wrong.any(axis=1)
    turned = ((part.asked != 0) & ~wrong)[heads].any(axis=0)
    rows = np.flatnonzero(wrong.any(axis=0))
    if not turned.any() or turned[rows].any():
        return ""
    shown = ", ".join(map(str, rows[:SHOWN])) + ", …" * (len(rows) > SHOWN)
    return f" in row{'s' * (len(rows) > 1)} {shown}"


def _heads(wrong: Ints, count: int) -> str:
    """Name heads; empty if all of them are wrong."""
    if len(wrong) == count:
        return ""
    if len(wrong) > 1 and wrong[0] + len(wrong) == count:
        return f" in head {wrong[0]} and later"
    shown = ", ".join(map(str, wrong[:SHOWN])) + ", …" * (len(wrong) > SHOWN)
    return f" in head{'s' * (len(wrong) > 1)} {shown}"
