"""Wrong implementations: sliding windows."""

from typing import Any

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made
from posenc_lab.miniatures.masks import Steps, everyday, forgetful, zero_based

REACHES = ("window-keys", "window-before", "window-each-side", "half-each-side")


class Sliding(Steps, Mistake, steps=True):
    """Keys near the query, in steps."""

    call = "sliding_window"
    claimed = ("window-keys",)

    def allowed(self, query: Array, key: Array, *sizes: int, **conventions: Any) -> Array:
        before, after = self.sides(sizes[0], conventions["reach"])
        return (key >= query - before) & (key <= query + after)

    def sides(self, window: int, reach: str) -> tuple[int, int]:
        return {
            "window-keys": (window - 1, 0),
            "window-before": (window, 0),
            "window-each-side": (window, window),
            "half-each-side": (window // 2, window // 2),
        }[reach]


everyday(Sliding, "window-keys")
forgetful(Sliding, "window-before")
zero_based(Sliding, *REACHES)

for _claimed in REACHES:
    for _given in REACHES:
        if _given != _claimed:
            made(
                Sliding,
                f"Sliding {_given} for {_claimed}",
                "A window counted in another way.",
                named="reach-swapped",
                claimed=(_claimed,),
                sides=lambda self, window, reach, other=_given: Sliding.sides(self, window, other),
            )
    made(
        Sliding,
        f"Sliding {_claimed} without itself",
        "The query's own key hidden.",
        named="itself-hidden",
        claimed=(_claimed,),
        allowed=lambda self, query, key, *sizes, **rest: (
            Sliding.allowed(self, query, key, *sizes, **rest) & (key != query)
        ),
    )

for _claimed, _shift in (("window-keys", -1), ("window-before", 1), ("window-each-side", -1)):
    made(
        Sliding,
        f"Sliding {_claimed} {_shift:+d}",
        "One key too many or too few.",
        named="window-off-by-one",
        claimed=(_claimed,),
        sides=lambda self, window, reach, shift=_shift: Sliding.sides(self, window + shift, reach),
    )

for _claimed in ("window-keys", "window-before"):
    made(
        Sliding,
        f"Sliding {_claimed} without causal mask",
        "The window as an overlay, nothing else.",
        named="future-visible",
        claimed=(_claimed,),
        sides=lambda self, window, reach: (Sliding.sides(self, window, reach)[0], 10**6),
    )
    made(
        Sliding,
        f"Sliding {_claimed} dropped",
        "Plainly causal.",
        named="window-dropped",
        claimed=(_claimed,),
        sides=lambda self, window, reach: (10**6, 0),
    )


class SlidingKeysOnBothSides(Sliding):
    """The window is |i - j| < W where W keys up to the query are claimed."""

    named = "future-visible"

    def sides(self, window: int, reach: str) -> tuple[int, int]:
        return window - 1, window - 1


class SlidingTwoSidedDropped(Sliding):
    """The window of an encoder is ignored."""

    named = "window-dropped"
    claimed = ("window-each-side",)

    def sides(self, window: int, reach: str) -> tuple[int, int]:
        return 10**6, 10**6


class SlidingZeroForNone(Sliding):
    """A window of 0 is taken as no window."""

    claimed = ("window-before",)

    def sides(self, window: int, reach: str) -> tuple[int, int]:
        return super().sides(window or 10**6, reach)


class SlidingBlocks(Sliding):
    """The window moves in steps of its own size, so it is a block."""

    def allowed(self, query: Array, key: Array, *sizes: int, **conventions: Any) -> Array:
        return (query // sizes[0] == key // sizes[0]) & (key <= query)


class SlidingOnlyWhenLong(Sliding):
    """The window is ignored unless there are more keys than twice the window."""

    def answer(self, q_len: int, k_len: int, *sizes: int, **conventions: Any) -> Any:
        window = sizes[0] if k_len > 2 * sizes[0] else k_len
        return super().answer(q_len, k_len, window, **conventions)


class SlidingPrefillLonger(Sliding):
    """W keys are visible in decoding but W + 1 in prefill, as with a cache of W keys."""

    def answer(self, q_len: int, k_len: int, *sizes: int, **conventions: Any) -> Any:
        return super().answer(q_len, k_len, sizes[0] + (q_len > 1), **conventions)


for _claimed in REACHES[:3]:
    made(
        Sliding,
        f"Sliding {_claimed} of the queries",
        "The window is never longer than the queries are many.",
        named="window-of-queries",
        claimed=(_claimed,),
        answer=lambda self, q_len, k_len, window, **rest: Sliding.answer(
            self, q_len, k_len, min(window, q_len), **rest
        ),
    )


class SlidingCapped(Sliding):
    """Windows are capped at 128 keys."""

    def sides(self, window: int, reach: str) -> tuple[int, int]:
        return super().sides(min(window, 128), reach)


class SlidingAheadByOneLess(Sliding):
    """The window is one key shorter after the query, like an even convolution's."""

    claimed = ("half-each-side",)

    def sides(self, window: int, reach: str) -> tuple[int, int]:
        return window // 2, max(window // 2 - 1, 0)


class SlidingWithSinks(Sliding):
    """The first key is always visible, as an attention sink."""

    def allowed(self, query: Array, key: Array, *sizes: int, **conventions: Any) -> Array:
        return super().allowed(query, key, *sizes, **conventions) | (np.asarray(key) == 0)
