"""Wrong implementations: ReRoPE and Leaky ReRoPE."""

from typing import Any

import numpy as np

from posenc_lab.miniatures.base import Array, Mistake, made
from posenc_lab.miniatures.remapped import Steps, at_least_one, with_common_mistakes


class Rectified(Steps, Mistake, steps=True):
    """Distances clamped at the window, in steps."""

    call = "rerope_scores"
    claimed = ("half", "interleaved")

    def refuse(self, *, window: int) -> None:
        at_least_one(window=window)

    def distance(self, query: Array, key: Array, *, window: int) -> Array:
        edge = self.edge(window)
        near = query - key < edge
        return np.where(near, query - key, self.far(query, key, edge))

    def edge(self, window: int) -> int:
        return window

    def far(self, query: Array, key: Array, window: int) -> Array:
        return np.asarray(window)


class Leaky(Steps, Mistake, steps=True):
    """Distances that grow more slowly beyond the window, in steps."""

    call = "leaky_rerope_scores"
    claimed = ("half", "interleaved")

    def refuse(self, *, window: int, factor: float) -> None:
        at_least_one(window=window)
        if factor < 1:
            raise ValueError(f"factor is {factor}")

    def distance(self, query: Array, key: Array, *, window: int, factor: float) -> Array:
        edge = self.edge(window)
        near = self.near(query - key, factor)
        return np.where(query - key < edge, near, self.far(query, key, edge, factor))

    def near(self, lag: Array, factor: float) -> Array:
        return lag

    def edge(self, window: int) -> int:
        return window

    def far(self, query: Array, key: Array, window: int, factor: float) -> Array:
        moved = (query + self.offset(window, factor)) / factor
        return np.asarray(moved - key / factor)

    def offset(self, window: int, factor: float) -> float:
        return window * (factor - 1)


ANY = ("half", "interleaved")
for _base in (Rectified, Leaky):
    for _claimed, _other in (("half", "interleaved"), ("interleaved", "half")):
        with_common_mistakes(_base, _claimed, _other)
    for _name, _named, _steps in (
        ("too wide", "window-off-by-one", {"edge": lambda self, window: window + 1}),
        ("too narrow", "window-off-by-one", {"edge": lambda self, window: window - 1}),
        (
            "unrotated beyond",
            "far-unrotated",
            {"far": lambda self, query, key, *numbers: np.asarray(0)},
        ),
        (
            "with the far sign turned",
            None,
            {"far": lambda self, query, key, *numbers: np.asarray(-numbers[0])},
        ),
    ):
        made(
            _base,
            f"{_base.__name__} {_name}",
            "One step otherwise.",
            named=_named,
            claimed=ANY,
            **_steps,
        )


class RectifiedWithKeysTurned(Rectified):
    """Far keys are rotated by their positions."""

    named = "keys-turned"

    def far(self, query: Array, key: Array, window: int) -> Array:
        return np.asarray(window - key)


def floored(self: Leaky, query: Array, key: Array, window: int, factor: float) -> Array:
    """Return far distances, rounded down."""
    return np.asarray(np.floor(Leaky.far(self, query, key, window, factor)))


def undivided(self: Leaky, query: Array, key: Array, window: int, factor: float) -> Array:
    """Return far distances without the division of key positions."""
    return np.asarray((query + window * (factor - 1)) / factor - key)


LEAKS: tuple[tuple[str, str | None, dict[str, Any]], ...] = (
    (
        "without a leak",
        "leak-missing",
        {"far": lambda self, query, key, window, factor: np.asarray(window)},
    ),
    ("without an offset", "leak-offset-wrong", {"offset": lambda self, window, factor: 0}),
    (
        "with the window for an offset",
        "leak-offset-wrong",
        {"offset": lambda self, window, factor: window},
    ),
    ("rounded down", "leak-floored", {"far": floored}),
    (
        "that multiplies",
        "leak-multiplied",
        {"far": lambda self, query, key, window, factor: window + (query - key - window) * factor},
    ),
    ("with keys undivided", "keys-undivided", {"far": undivided}),
    (
        "divided everywhere",
        "interpolated",
        {
            "near": lambda self, lag, factor: lag / factor,
            "offset": lambda self, window, factor: 0,
        },
    ),
    (
        "by the root of the factor",
        None,
        {
            "far": lambda self, query, key, window, factor: (
                window + (query - key - window) / factor**0.5
            )
        },
    ),
)
for _name, _named, _steps in LEAKS:
    made(Leaky, f"Leaky {_name}", "One step otherwise.", named=_named, claimed=ANY, **_steps)
