"""Wrong implementations: causal masks."""

from typing import Any

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made
from posenc_lab.miniatures.masks import Steps, everyday


class CausalMask(Steps, Mistake, steps=True):
    """Keys up to the query, in steps."""

    call = "causal_mask"
    claimed = ("end",)

    def queries(self, q_len: int, k_len: int, **conventions: Any) -> Array:
        return np.arange(q_len) + (k_len - q_len if conventions["alignment"] == "end" else 0)

    def allowed(self, query: Array, key: Array, *sizes: int, **conventions: Any) -> Array:
        return key <= query


everyday(CausalMask, "end")

for _claimed, _given in (("end", "start"), ("start", "end")):
    made(
        CausalMask,
        f"CausalMask aligned to the {_given}",
        "The other alignment.",
        named="alignment-swapped",
        claimed=(_claimed,),
        queries=lambda self, q_len, k_len, other=_given, **rest: CausalMask.queries(
            self, q_len, k_len, alignment=other
        ),
    )
for _claimed in ("end", "start"):
    for _shift in (1, -1):
        made(
            CausalMask,
            f"CausalMask {_claimed} edge {_shift:+d}",
            "The edge one key off.",
            named="diagonal-shifted",
            claimed=(_claimed,),
            allowed=lambda self, query, key, shift=_shift, **rest: key <= query + shift,
        )
    made(
        CausalMask,
        f"CausalMask {_claimed} transposed",
        "Keys from the query on.",
        named="transposed",
        claimed=(_claimed,),
        allowed=lambda self, query, key, **rest: key >= query,
    )
    made(
        CausalMask,
        f"CausalMask {_claimed} unmasked",
        "Everything visible.",
        named="unmasked",
        claimed=(_claimed,),
        allowed=lambda self, query, key, **rest: key < query + 10**6,
    )


class CausalMaskFirstQueryEmpty(CausalMask):
    """The first query's only visible key is hidden."""

    def finish(self, mask: Array) -> Array:
        mask[:1] &= mask[:1].sum(axis=1, keepdims=True) > 1
        return mask


class CausalMaskWithPrefix(CausalMask):
    """The first two keys are always visible, as in a prefix language model."""

    def allowed(self, query: Array, key: Array, *sizes: int, **conventions: Any) -> Array:
        return (key <= query) | (key < 2)


class CausalMaskAllAtLast(CausalMask):
    """Several queries after a cache see all keys, which is right only for one query."""

    def queries(self, q_len: int, k_len: int, **conventions: Any) -> Array:
        right = super().queries(q_len, k_len, **conventions)
        return right if q_len == k_len else np.full(q_len, k_len - 1)


class CausalMaskSquare(CausalMask):
    """The mask has as many queries as keys."""

    def answer(self, q_len: int, k_len: int, *sizes: int, **conventions: Any) -> Any:
        return super().answer(k_len, k_len, **conventions)
