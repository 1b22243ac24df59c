"""Wrong implementations: the fixed pattern."""

from typing import Any

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made
from posenc_lab.miniatures.masks import Steps, everyday, forgetful, zero_based

PARTS = ("union", "block", "columns")


class FixedPattern(Steps, Mistake, steps=True):
    """The query's block, and the ends of all blocks, in steps."""

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
                part=lambda self, part, other=_given: other,
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
    """The query's whole block is visible, including keys after the query."""

    named = "future-visible"
    claimed = ("block",)

    def past(self, query: Array, key: Array) -> Array:
        return key < query + 10**6


class FixedPatternOnlyLastBlock(FixedPattern):
    """Of all columns, only those of the previous block are visible."""

    def allowed(self, query: Array, key: Array, *sizes: int, **conventions: Any) -> Array:
        near = query // sizes[0] - key // sizes[0] <= 1
        return super().allowed(query, key, *sizes, **conventions) & near


class FixedPatternOneColumn(FixedPattern):
    """Only one column of each block is visible, ignoring summary."""

    def sizes(self, block_size: int, summary: int) -> tuple[int, int]:
        return block_size, 1


class FixedPatternColumnsOfFirstBlock(FixedPattern):
    """Columns repeat every ``block_size`` keys, rounded up to a power of two."""

    claimed = ("columns",)

    def columns(self, key: Array, block_size: int, summary: int) -> Array:
        power = 1 << (block_size - 1).bit_length()
        return np.asarray(key % power >= power - summary)


class FixedHeads(Mistake, steps=True):
    """The query's block, and the columns of each head's set, in steps."""

    call = "fixed_head_masks"
    claimed = ("several-sets",)

    def answer(
        self, heads: int, q_len: int, k_len: int, block_size: int, summary: int, sets: int
    ) -> Array:
        if heads % sets or block_size % summary or sets * summary > block_size:
            raise ValueError(f"{sets} sets of {summary} for {heads} heads")
        query, key = self.queries(q_len, k_len)[:, None], np.arange(k_len)
        set_of_key = self.set_of(key % block_size, block_size, summary, sets)
        columns = set_of_key == self.turns(heads, sets)[:, None, None]
        own = self.own(query // block_size == key // block_size)
        return self.finish((own | columns) & self.past(query, key))

    def queries(self, q_len: int, k_len: int) -> Array:
        return np.arange(k_len - q_len, k_len)

    def set_of(self, place: Array, block_size: int, summary: int, sets: int) -> Array:
        return (block_size - 1 - place) // summary

    def turns(self, heads: int, sets: int) -> Array:
        return np.arange(heads) % sets

    def own(self, block: Array) -> Array:
        return block

    def past(self, query: Array, key: Array) -> Array:
        return key <= query

    def finish(self, masks: Array) -> Array:
        return masks


_HEADS: tuple[tuple[str, str | None, dict[str, Any]], ...] = (
    ("alike", "heads-alike", {"turns": lambda self, heads, sets: np.zeros(heads, int)}),
    (
        "from the start",
        "sets-from-the-start",
        {"set_of": lambda self, place, block_size, summary, sets: place // summary},
    ),
    (
        "the other way round",
        "sets-from-the-start",
        {"turns": lambda self, heads, sets: sets - 1 - np.arange(heads) % sets},
    ),
    (
        "in groups",
        "heads-in-groups",
        {"turns": lambda self, heads, sets: np.arange(heads) // (heads // sets)},
    ),
    ("without block", "heads-block-missing", {"own": lambda self, block: block & False}),
    (
        "from zero",
        "heads-queries-from-zero",
        {"queries": lambda self, q_len, k_len: np.arange(q_len)},
    ),
    ("inverted", "heads-inverted", {"finish": lambda self, masks: ~masks}),
    ("both ways", None, {"past": lambda self, query, key: key < query + 10**6}),
    (
        "of single columns",
        None,
        {"set_of": lambda self, place, block_size, summary, sets: block_size - 1 - place},
    ),
    (
        "of neighbouring columns",
        None,
        {
            "set_of": lambda self, place, block_size, summary, sets: (
                (block_size - 1 - place) % (block_size // summary)
            )
        },
    ),
    ("blank from head 128", None, {"finish": lambda self, masks: first_heads(masks)}),
)


def first_heads(masks: Array) -> Array:
    """Hide all keys from head 128 on, as in a kernel with one block."""
    masks[128:] = False
    return masks


for _name, _named, _steps in _HEADS:
    made(FixedHeads, f"FixedHeads {_name}", "One step otherwise.", named=_named, **_steps)
