"""Wrong implementations: the strided pattern."""

from typing import Any

from posenc_lab.miniatures.base import Array, Mistake, made
from posenc_lab.miniatures.masks import Steps, everyday, forgetful, zero_based

PARTS = ("union", "local", "local-inclusive", "column")


class Strided(Steps, Mistake, steps=True):
    """The last keys, and every ``stride``-th key, in steps."""

    call = "strided_mask"
    claimed = ("union",)

    def allowed(self, query: Array, key: Array, *sizes: int, **conventions: Any) -> Array:
        stride, part = sizes[0], self.part(conventions["part"])
        local = query - key < stride + (part == "local-inclusive")
        column = self.phase(query, key) % stride == 0
        chosen = {"union": local | column, "column": column}.get(part, local)
        return chosen & self.past(query, key)

    def part(self, part: str) -> str:
        return part

    def phase(self, query: Array, key: Array) -> Array:
        return query - key

    def past(self, query: Array, key: Array) -> Array:
        return key <= query


everyday(Strided, "union")
forgetful(Strided, "union")
zero_based(Strided, *PARTS)

for _claimed in PARTS:
    for _given in PARTS:
        if _given != _claimed:
            made(
                Strided,
                f"Strided {_given} for {_claimed}",
                "Another part.",
                named="part-swapped",
                claimed=(_claimed,),
                part=lambda self, part, other=_given: other,
            )
    for _shift in (1, -1):
        # With this shift, one local part equals the other.
        if (_claimed, _shift) not in (("local", 1), ("local-inclusive", -1)):
            made(
                Strided,
                f"Strided {_claimed} {_shift:+d}",
                "A stride off by one.",
                named="stride-off-by-one",
                claimed=(_claimed,),
                allowed=lambda self, query, key, stride, shift=_shift, **rest: Strided.allowed(
                    self, query, key, max(stride + shift, 1), **rest
                ),
            )

for _claimed in ("union", "column"):
    made(
        Strided,
        f"Strided {_claimed} with fixed columns",
        "Columns at multiples of the stride.",
        named="phase-fixed",
        claimed=(_claimed,),
        phase=lambda self, query, key: key + 0 * query,
    )


class StridedColumnBothWays(Strided):
    """Columns after the query are visible too."""

    named = "future-visible"
    claimed = ("column",)

    def past(self, query: Array, key: Array) -> Array:
        return key < query + 10**6


class StridedFutureOpen(Strided):
    """All keys after the query are visible."""

    named = "future-visible"
    claimed = ("local",)

    def past(self, query: Array, key: Array) -> Array:
        return key < query + 10**6


class StridedColumnFromTheEdge(Strided):
    """Columns are counted from the far edge of the local part."""

    def phase(self, query: Array, key: Array) -> Array:
        return query - key + 1


class StridedOneColumn(Strided):
    """Only the nearest key of the column is visible."""

    claimed = ("column",)

    def allowed(self, query: Array, key: Array, *sizes: int, **conventions: Any) -> Array:
        return super().allowed(query, key, *sizes, **conventions) & (query - key <= sizes[0])


class StridedByBlocks(Strided):
    """The query's block replaces the last keys."""

    claimed = ("local",)

    def allowed(self, query: Array, key: Array, *sizes: int, **conventions: Any) -> Array:
        return (query // sizes[0] == key // sizes[0]) & (key <= query)
