"""The figure of the first screen."""

import math

import numpy as np

import posenc
from pictures.animations import Axis, Moving, Series, Shown, Slider

TRAINED = 500_000
DIM = 128
READ = (4, 12)
"""Distances that the text names, as powers of two."""
QUARTERS = 4 * 12
FEW = 16
"""Distances of which a point of the curve shows the mean."""


def misread() -> Moving:
    """The effect of a wrong base on scores, near and far"""
    points = _points()
    up = np.tile([1.0, 0.0], DIM // 2)

    def scores(base: int) -> dict[float, float]:
        every = [distance for distances in points.values() for distance in distances]
        turned = posenc.rope(np.tile(up, (len(every), 1)), every, base=base)
        found = dict(zip(every, turned @ up * 2 / DIM, strict=True))
        return {
            power: float(np.mean([found[distance] for distance in distances]))
            for power, distances in points.items()
        }

    def curve(found: dict[float, float]) -> list[list[tuple[float, float]]]:
        return [[*found.items()]]

    right = scores(TRAINED)

    def shown(base: int) -> Shown:
        read = scores(base)
        words = "; ".join(
            f"about {2**power:,} tokens apart, {right[power]:.2f} and {read[power]:.2f}"
            for power in READ
        )
        return Shown(
            {"trained": curve(right), "read": curve(read)},
            f"Score as trained and in your code: {words}.".replace("-", "−"),
        )

    return Moving(
        module="misread",
        sliders=(
            Slider(
                "base",
                "base that your code reads",
                (10000, 50000, 100000, 250000, 500000, 1000000, 5000000),
                10000,
            ),
        ),
        x=Axis(0, 12, "distance of query and key, as a power of 2", tuple(range(0, 13, 2))),
        y=Axis(-0.2, 1, "score, mean of near distances", (0, 0.5, 1)),
        height=230,
        series=(
            Series("trained", "as it was trained", 0),
            Series("read", "in your code", 1),
        ),
        shown=shown,
        description="Two falling curves, of the score of a query and a key over their distance. "
        "They begin together at 1. The one of the wrong base lies lower from a distance of some "
        "tokens on, and the gap grows until it is about a third of the whole height.",
        caption="A model was trained with the base 500,000, as Llama 3 was. Your code reads "
        "another one, and no error is raised. Move the slider.",
    )


def _points() -> dict[float, list[int]]:
    """Return some distances near each quarter of a power of two, by that power.

    The score at single distances jumps, because the fastest pairs turn between two points.
    """
    result = {}
    for quarter in range(QUARTERS + 1):
        low, high = (2 ** ((quarter + side) / 4) for side in (-0.5, 0.5))
        steps = (low + (high - low) * step / (FEW - 1) for step in range(FEW))
        result[quarter / 4] = sorted({math.floor(step + 0.5) for step in steps})
    return result
