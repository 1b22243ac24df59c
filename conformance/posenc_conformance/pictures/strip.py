"""A line of text that shows where along rows and columns a result is wrong."""

import sys

from posenc_conformance.pictures.picture import HIDDEN, RIGHT, Map, Picture

FEWEST = 8
"""Fewest rows or columns of which a strip tells more than words."""
BLOCKS, ASCII = "·▁▂▃▄▅▆▇█", ".12345678"
"""Characters for a wrong share of none to all."""


def strips(picture: Picture | None) -> list[str]:
    """Return a strip along the rows and one along the columns, where they show a difference.

    Only a map has strips.
    """
    if not isinstance(picture, Map):
        return []
    marks = blocks()
    columns = ["".join(column) for column in zip(*picture.rows, strict=True)]
    size = len(picture.rows) // picture.groups
    rows = [picture.rows[start : start + size] for start in range(0, len(picture.rows), size)]
    groups = ["".join(cells) for cells in rows]
    down = ["".join(cells) for cells in zip(*rows, strict=True)]
    lines = []
    for name, cells, ends in (
        (picture.group, groups if picture.group else [], ("0", str(picture.groups - 1))),
        (picture.down, down, picture.ends_down),
        (picture.across, columns, picture.ends_across),
    ):
        strip = "".join(_mark(row, marks) for row in cells)
        if (len(strip) >= FEWEST or name == picture.group) and len({*strip} - {" "}) > 1:
            lines.append(f"{f'by {name}':<10} {strip}  {ends[0]} to {ends[1]}")
    return lines


def blocks() -> str:
    """Return the characters that the terminal's encoding has."""
    encoding = getattr(sys.__stdout__, "encoding", None) or "ascii"
    try:
        BLOCKS.encode(encoding)
    except (UnicodeError, LookupError):
        return ASCII
    return BLOCKS


def _mark(cells: str, marks: str) -> str:
    judged = [cell for cell in cells if cell != HIDDEN]
    if not judged:
        return " "
    wrong = sum(cell != RIGHT for cell in judged)
    return marks[-(-wrong * (len(marks) - 1) // len(judged))]
