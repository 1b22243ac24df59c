"""Wrong implementations: BigBird's pattern without random blocks."""

from typing import Any

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made
from posenc_lab.miniatures.masks import Steps, everyday, forgetful, zero_based


class BigBird(Steps, Mistake, steps=True):
    """Three blocks around the query, and global blocks, in steps."""

    call = "bigbird_mask"
    claimed = ("window-and-global",)

    def allowed(self, query: Array, key: Array, *sizes: int, **conventions: Any) -> Array:
        row, column = query // sizes[0], key // sizes[0]
        ends = self.ends(int(column.max(initial=0)))
        rows, columns = np.isin(row, ends), np.isin(column, ends)
        return self.near(row, column, query, key, sizes[0]) | self.open(rows, columns)

    def ends(self, last: int) -> list[int]:
        return [0, last]

    def near(self, row: Array, column: Array, query: Array, key: Array, size: int) -> Array:
        return abs(row - column) <= 1

    def open(self, rows: Array, columns: Array) -> Array:
        return rows | columns


everyday(BigBird, "window-and-global")
forgetful(BigBird, "window-and-global")
zero_based(BigBird, "window-and-global")

for _why, _open in (
    ("no global rows", lambda self, rows, columns: columns),
    ("no global columns", lambda self, rows, columns: rows),
    ("nothing global", lambda self, rows, columns: rows & columns & False),
):
    made(BigBird, f"BigBird {_why}", "Half of a star.", named="globals-missing", open=_open)

for _why, _ends in (
    ("without the last block", lambda self, last: [0]),
    ("without the first block", lambda self, last: [last]),
):
    made(BigBird, f"BigBird {_why}", "Global at one end.", named="globals-missing", ends=_ends)

for _reach in (0, 2):
    made(
        BigBird,
        f"BigBird window of {2 * _reach + 1}",
        "Another number of blocks.",
        named="window-of-blocks",
        near=lambda self, row, column, *rest, reach=_reach: abs(row - column) <= reach,
    )

for _shift in (1, -1):
    made(
        BigBird,
        f"BigBird block {_shift:+d}",
        "A block off by one.",
        named="block-off-by-one",
        allowed=lambda self, query, key, size, shift=_shift, **rest: BigBird.allowed(
            self, query, key, max(size + shift, 1), **rest
        ),
    )


class BigBirdWindowOfTokens(BigBird):
    """The window reaches ``block_size`` tokens to each side."""

    named = "window-of-blocks"

    def near(self, row: Array, column: Array, query: Array, key: Array, size: int) -> Array:
        return abs(query - key) <= size


class BigBirdLooksBack(BigBird):
    """A causal mask is applied too."""

    named = "looks-back"

    def allowed(self, query: Array, key: Array, *sizes: int, **conventions: Any) -> Array:
        return super().allowed(query, key, *sizes, **conventions) & (key <= query)


class BigBirdGlobalTokens(BigBird):
    """The first and the last token are global, not their blocks."""

    def allowed(self, query: Array, key: Array, *sizes: int, **conventions: Any) -> Array:
        row, column = query // sizes[0], key // sizes[0]
        ends = [0, int(key.max(initial=0))]
        return (abs(row - column) <= 1) | np.isin(query, ends) | np.isin(key, ends)


class BigBirdWholeBlocks(BigBird):
    """The last complete block is global, not a partial one after it."""

    def allowed(self, query: Array, key: Array, *sizes: int, **conventions: Any) -> Array:
        row, column = query // sizes[0], key // sizes[0]
        ends = [0, max(len(key) // sizes[0] - 1, 0)]
        return (abs(row - column) <= 1) | np.isin(row, ends) | np.isin(column, ends)


class BigBirdSecondBlockGlobal(BigBird):
    """The second block is global too."""

    def ends(self, last: int) -> list[int]:
        return [0, 1, last]


class Linked(Mistake, steps=True):
    """The pattern without links, then links block by block, in steps."""

    call = "bigbird_linked_mask"
    claimed = ("linked",)

    def answer(self, q_len: int, k_len: int, block_size: int, links: Array) -> Array:
        query, key = np.arange(k_len - q_len, k_len)[:, None], np.arange(k_len)
        row, column = query // block_size, key // block_size
        last = (k_len - 1) // block_size
        mask = (row % max(last, 1) == 0) | (column % max(last, 1) == 0) | (abs(row - column) <= 1)
        for block in range(1, last):
            for other in self.drawn(links, block):
                mask = mask | self.link(row, column, block, other)
        return mask

    def drawn(self, links: Array, block: int) -> Array:
        return links[block - 1]

    def link(self, row: Array, column: Array, block: int, other: int) -> Array:
        return (row == block) & (column == other)


for _why, _named, _drawn in (
    ("without links", "links-ignored", lambda self, links, block: links[block - 1, :0]),
    ("with first links", "links-ignored", lambda self, links, block: links[block - 1, :1]),
    ("with last links", "links-ignored", lambda self, links, block: links[block - 1, -1:]),
    (
        "of the next row",
        "links-beside",
        lambda self, links, block: links[block : block + 1].ravel(),
    ),
    (
        "of the row before",
        "links-beside",
        lambda self, links, block: links[max(block - 2, 0) : block - 1].ravel(),
    ),
    ("of inner blocks", "links-beside", lambda self, links, block: links[block - 1] + 1),
    ("in order", None, lambda self, links, block: np.unique(links, axis=0)[block % len(links)]),
    ("once each", None, lambda self, links, block: np.unique(links)[block - 1 : block]),
):
    made(Linked, f"Linked {_why}", "Other links.", named=_named, drawn=_drawn)

made(
    Linked,
    "Linked both ways",
    "Links that lead back.",
    named="links-both-ways",
    link=lambda self, row, column, block, other: (
        (row == block) & (column == other) | (row == other) & (column == block)
    ),
)
