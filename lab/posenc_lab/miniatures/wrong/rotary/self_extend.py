"""Wrong implementations: Self-Extend."""

from typing import Any

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made
from posenc_lab.miniatures.remapped import Steps, at_least_one, with_common_mistakes


class SelfExtend(Steps, Mistake, steps=True):
    """Near keys scored at their positions, far ones at grouped positions, in steps."""

    call = "self_extend_scores"
    claimed = ("longlm", "llama-cpp")

    def refuse(self, *, group_size: int, window: int, neighbours: str) -> None:
        at_least_one(group_size=group_size, window=window)
        if neighbours == "blocks" and window % group_size:
            raise ValueError(f"{window} is no multiple of {group_size}")

    def distance(
        self, query: Array, key: Array, *, group_size: int, window: int, neighbours: str
    ) -> Array:
        sizes = (group_size, window, neighbours)
        return np.where(
            self.is_near(query, key, *sizes),
            self.near(query, key, *sizes),
            self.far(query, key, *sizes),
        )

    def near(self, query: Array, key: Array, *sizes: Any) -> Array:
        return query - key

    def far(self, query: Array, key: Array, *sizes: Any) -> Array:
        return self.moved(query, *sizes) - self.grouped(key, *sizes)

    def is_near(self, query: Array, key: Array, group: int, window: int, neighbours: str) -> Array:
        if neighbours == "sliding":
            return np.asarray(query - key < window)
        return np.asarray(query // window == key // window)

    def grouped(self, position: Array, group: int, window: int, neighbours: str) -> Array:
        return position // group

    def moved(self, query: Array, group: int, window: int, neighbours: str) -> Array:
        if neighbours == "sliding":
            return query // group + window - window // group
        return query - query // window * (window - window // group)


def fractions(
    self: SelfExtend, query: Array, key: Array, group: int, window: int, neighbours: str
) -> Array:
    """Return far distances by true division."""
    if neighbours == "sliding":
        return np.asarray(query / group + window - window / group - key / group)
    return np.asarray(query - query // window * (window - window / group) - key / group)


def of_distances(
    self: SelfExtend, query: Array, key: Array, group: int, window: int, neighbours: str
) -> Array:
    """Return far distances by rounding the distances down, not the positions."""
    if neighbours == "sliding":
        return np.asarray((query - key) // group + window - window // group)
    return np.asarray(query % window + (query // window * window - key) // group)


def counted_from_one(
    self: SelfExtend, query: Array, key: Array, group: int, window: int, neighbours: str
) -> Array:
    """Return far distances with both positions larger by one."""
    return SelfExtend.far(self, query + 1, key + 1, group, window, neighbours)


def blocks_closed(late: int) -> Any:
    """Return a ``distance`` step that closes each block ``late`` tokens late."""

    def distance(
        self: SelfExtend, query: Array, key: Array, *, group_size: int, window: int, neighbours: str
    ) -> Array:
        begun = np.maximum(query - late, 0) // window
        far = query - begun * (window - window // group_size) - key // group_size
        return np.where(key >= begun * window, query - key, far)

    return distance


ANY = ("longlm", "llama-cpp")
for _claimed, _other in (("longlm", "interleaved"), ("llama-cpp", "half")):
    with_common_mistakes(SelfExtend, _claimed, _other)
for _name, _named, _claims, _steps in (
    (
        "with the other neighbours",
        "neighbours-swapped",
        ("longlm",),
        {
            "distance": lambda self, query, key, group_size, window, neighbours: (
                SelfExtend.distance(
                    self, query, key, group_size=group_size, window=window, neighbours="blocks"
                )
            )
        },
    ),
    (
        "that slides",
        "neighbours-swapped",
        ("llama-cpp",),
        {
            "distance": lambda self, query, key, group_size, window, neighbours: (
                SelfExtend.distance(
                    self, query, key, group_size=group_size, window=window, neighbours="sliding"
                )
            )
        },
    ),
    (
        "not moved on",
        "shift-missing",
        ANY,
        {"moved": lambda self, query, group, window, neighbours: query // group},
    ),
    (
        "moved by a fraction",
        "shift-not-floored",
        ("longlm",),
        {
            "moved": lambda self, query, group, window, neighbours: (
                query // group + window - window / group
            )
        },
    ),
    (
        "with a neighbour too many",
        "window-off-by-one",
        ("longlm",),
        {"is_near": lambda self, query, key, group, window, neighbours: query - key <= window},
    ),
    (
        "with a neighbour too few",
        "window-off-by-one",
        ("longlm",),
        {"is_near": lambda self, query, key, group, window, neighbours: query - key < window - 1},
    ),
    (
        "with blocks closed late",
        "window-off-by-one",
        ("llama-cpp",),
        {"distance": blocks_closed(1)},
    ),
    (
        "with blocks closed early",
        "window-off-by-one",
        ("llama-cpp",),
        {"distance": blocks_closed(-1)},
    ),
    (
        "without neighbours",
        "no-neighbours",
        ANY,
        {"near": lambda self, query, key, *sizes: self.far(query, key, *sizes)},
    ),
    (
        "with parts exchanged",
        "parts-exchanged",
        ANY,
        {"is_near": lambda self, *at: ~SelfExtend.is_near(self, *at)},
    ),
    ("with fractions", "positions-not-floored", ANY, {"far": fractions}),
    ("with distances grouped", "distances-grouped", ANY, {"far": of_distances}),
    (
        "with distances grouped beyond the window",
        "distances-grouped",
        ("longlm",),
        {
            "far": lambda self, query, key, group, window, neighbours: (
                window + (query - key - window) // group
            )
        },
    ),
    ("from 1", "groups-from-1", ANY, {"far": counted_from_one}),
    (
        "with keys ungrouped",
        None,
        ANY,
        {
            "far": lambda self, query, key, *sizes: self.moved(query, *sizes) - key,
        },
    ),
    (
        "rounded to the nearest group",
        None,
        ANY,
        {
            "grouped": lambda self, position, group, window, neighbours: (
                (position + group // 2) // group
            )
        },
    ),
):
    made(
        SelfExtend,
        f"SelfExtend {_name} {_claims[0] if len(_claims) == 1 else 'anywhere'}",
        "One step otherwise.",
        named=_named,
        claimed=_claims,
        **_steps,
    )
