"""Wrong implementations: dilated windows."""

from typing import Any

from posenc_lab.miniatures.base import Array, Mistake, made
from posenc_lab.miniatures.masks import Steps, everyday, forgetful, zero_based

REACHES = ("window-each-side", "window-before", "half-each-side")


class Dilated(Steps, Mistake, steps=True):
    """Every ``dilation``-th key near the query, in steps."""

    call = "dilated_window"
    claimed = ("window-each-side",)

    def allowed(self, query: Array, key: Array, *sizes: int, **conventions: Any) -> Array:
        window, dilation = sizes
        before, after = self.sides(window, conventions["reach"])
        near = (key >= query - self.far(before, dilation)) & (
            key <= query + self.far(after, dilation)
        )
        return near & (self.phase(query, key) % self.step(dilation) == 0)

    def sides(self, window: int, reach: str) -> tuple[int, int]:
        half = window // 2
        return {"window-each-side": (window, window), "window-before": (window, 0)}.get(
            reach, (half, half)
        )

    def far(self, window: int, dilation: int) -> int:
        return window * dilation

    def step(self, dilation: int) -> int:
        return dilation

    def phase(self, query: Array, key: Array) -> Array:
        return key - query


everyday(Dilated, "window-each-side")
forgetful(Dilated, "window-before")
zero_based(Dilated, *REACHES)

for _claimed in REACHES:
    for _given in REACHES:
        if _given != _claimed:
            made(
                Dilated,
                f"Dilated {_given} for {_claimed}",
                "A window counted in another way.",
                named="reach-swapped",
                claimed=(_claimed,),
                sides=lambda self, window, reach, other=_given: Dilated.sides(self, window, other),
            )
    made(
        Dilated,
        f"Dilated {_claimed} without gaps",
        "Every key as far as the dilation reaches.",
        named="dilation-misread",
        claimed=(_claimed,),
        step=lambda self, dilation: 1,
    )
    made(
        Dilated,
        f"Dilated {_claimed} not reaching",
        "Every dilation-th key within the plain window.",
        named="dilation-misread",
        claimed=(_claimed,),
        far=lambda self, window, dilation: window,
    )
    made(
        Dilated,
        f"Dilated {_claimed} fixed phase",
        "Keys at multiples of the dilation.",
        named="phase-fixed",
        claimed=(_claimed,),
        phase=lambda self, query, key: key + 0 * query,
    )


class DilatedNot(Dilated):
    """The dilation is ignored."""

    named = "dilation-misread"

    def allowed(self, query: Array, key: Array, *sizes: int, **conventions: Any) -> Array:
        return super().allowed(query, key, sizes[0], 1, **conventions)


class DilatedGap(Dilated):
    """The dilation is taken as the number of keys left out between two."""

    named = "gap-for-dilation"

    def allowed(self, query: Array, key: Array, *sizes: int, **conventions: Any) -> Array:
        return super().allowed(query, key, sizes[0], sizes[1] + 1, **conventions)


class DilatedWindowMore(Dilated):
    """The window is one key larger on each side."""

    named = "window-off-by-one"

    def sides(self, window: int, reach: str) -> tuple[int, int]:
        return super().sides(window + 1, reach)


class DilatedWindowLess(Dilated):
    """The window is one key smaller before the query."""

    named = "window-off-by-one"
    claimed = ("window-before",)

    def sides(self, window: int, reach: str) -> tuple[int, int]:
        return super().sides(window - 1, reach)


class DilatedFixedPhaseAndItself(Dilated):
    """Keys at multiples of the dilation are visible, and the query's own."""

    named = "phase-fixed"

    def allowed(self, query: Array, key: Array, *sizes: int, **conventions: Any) -> Array:
        fixed = super().allowed(query, key, *sizes, **conventions) & (key % sizes[1] == 0)
        near = abs(key - query) <= sizes[0] * sizes[1]
        return fixed | (near & (key % sizes[1] == 0)) | (key == query)


class DilatedByPowersOfTwo(Dilated):
    """Dilations are rounded up to a power of two."""

    claimed = ("half-each-side",)

    def allowed(self, query: Array, key: Array, *sizes: int, **conventions: Any) -> Array:
        power = 1 << (sizes[1] - 1).bit_length()
        return super().allowed(query, key, sizes[0], power, **conventions)


class DilatedFromThirdKeyOn(Dilated):
    """Direct neighbours are always visible."""

    def allowed(self, query: Array, key: Array, *sizes: int, **conventions: Any) -> Array:
        return super().allowed(query, key, *sizes, **conventions) | (abs(key - query) <= 1)
