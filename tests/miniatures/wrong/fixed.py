"""Wrong implementations: the fixed pattern."""

from typing import Any

import numpy as np

from tests.miniatures.masks import Steps, everyday, forgetful, zero_based
from tests.miniatures.mistakes import Array, Mistake, made

PARTS = ("union", "block", "columns")


class FixedPattern(Steps, Mistake, steps=True):
    """The query's block, and the ends of all blocks."""

    call = "fixed_mask"
    claimed = ("union",)

    def allowed(self, query: Array, key: Array, *sizes: int, **conventions: Any) -> Array:
        block_size, summary = self.sizes(*sizes)
        own = self.own(query, key, block_size)
        columns = self.columns(key, block_size, summary) & (query >= 0)
        part = self.part(conventions["part"])
        chosen = {"union": own | columns, "block": own, "columns": columns}[part]
        return chosen & self.past(query, key)

    def sizes(self, block_size: int, summary: int) -> tuple[int, int]:
        return block_size, summary

    def own(self, query: Array, key: Array, block_size: int) -> Array:
        return query // block_size == key // block_size

    def columns(self, key: Array, block_size: int, summary: int) -> Array:
        return key % block_size >= block_size - summary

    def part(self, part: str) -> str:
        return part

    def past(self, query: Array, key: Array) -> Array:
        return key <= query


everyday(FixedPattern, "union")
forgetful(FixedPattern, "union")
zero_based(FixedPattern, *PARTS)

for _claimed in PARTS:
    for _given in PARTS:
        if _given != _claimed:
            made(
                FixedPattern,
                f"FixedPattern {_given} for {_claimed}",
                "Another part.",
                named="part-swapped",
                claimed=(_claimed,),
                part=lambda self, part, given=_given: given,
            )
    made(
        FixedPattern,
        f"FixedPattern {_claimed} block +1",
        "A block one larger.",
        named="block-off-by-one",
        claimed=(_claimed,),
        sizes=lambda self, block_size, summary: (block_size + 1, summary),
    )
    made(
        FixedPattern,
        f"FixedPattern {_claimed} both ways",
        "Everything after the query.",
        named="future-visible",
        claimed=(_claimed,),
        allowed=lambda self, query, key, *sizes, **rest: (
            FixedPattern.allowed(self, query, key, *sizes, **rest) | (key > query)
        ),
    )

for _claimed in ("union", "columns"):
    made(
        FixedPattern,
        f"FixedPattern {_claimed} first columns",
        "The first keys of each block.",
        named="columns-misplaced",
        claimed=(_claimed,),
        columns=lambda self, key, block_size, summary: key % block_size < summary,
    )
    made(
        FixedPattern,
        f"FixedPattern {_claimed} one column less",
        "The paper's j mod l = l taken for a column, which no key is.",
        named="summary-off-by-one",
        claimed=(_claimed,),
        columns=lambda self, key, block_size, summary: (
            key % block_size > block_size - max(summary, 2)
        ),
    )

for _claimed in ("union", "block"):
    made(
        FixedPattern,
        f"FixedPattern {_claimed} sliding",
        "The last keys up to the query.",
        named="block-slides",
        claimed=(_claimed,),
        own=lambda self, query, key, block_size: key > query - block_size,
    )


class FixedPatternBlockBothWays(FixedPattern):
    """The whole of the query's block, what comes after it too."""

    named = "future-visible"
    claimed = ("block",)

    def past(self, query: Array, key: Array) -> Array:
        return key < query + 10**6


class FixedPatternOnlyLastBlock(FixedPattern):
    """Columns of the block before alone."""

    def allowed(self, query: Array, key: Array, *sizes: int, **conventions: Any) -> Array:
        near = query // sizes[0] - key // sizes[0] <= 1
        return super().allowed(query, key, *sizes, **conventions) & near


class FixedPatternOneColumn(FixedPattern):
    """A single column of each block, whatever is asked for."""

    def sizes(self, block_size: int, summary: int) -> tuple[int, int]:
        return block_size, 1


class FixedPatternColumnsOfFirstBlock(FixedPattern):
    """Columns repeat every power of two."""

    claimed = ("columns",)

    def columns(self, key: Array, block_size: int, summary: int) -> Array:
        power = 1 << (block_size - 1).bit_length()
        return np.asarray(key % power >= power - summary)
