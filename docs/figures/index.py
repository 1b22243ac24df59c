"""The figure of the first screen."""

import math

import numpy as np

import posenc
from pictures.animations import Axis, Moving, Series, Shown, Slider

TRAINED = 500_000
DIM = 128
READ = (16, 4096)
"""Distances that the text names."""


def misread() -> Moving:
    """The effect of a wrong base on scores, near and far"""
    distances = sorted({round(2 ** (eighth / 8)) for eighth in range(8 * 12 + 1)})
    up = np.tile([1.0, 0.0], DIM // 2)

    def scores(base: int) -> dict[int, float]:
        turned = posenc.rope(np.tile(up, (len(distances), 1)), distances, base=base)
        return {
            distance: float(row @ up) * 2 / DIM
            for distance, row in zip(distances, turned, strict=True)
        }

    def curve(found: dict[int, float]) -> list[list[tuple[float, float]]]:
        return [[(math.log2(distance), score) for distance, score in found.items()]]

    right = scores(TRAINED)

    def shown(base: int) -> Shown:
        read = scores(base)
        words = "; ".join(
            f"{distance:,} tokens apart, {right[distance]:.2f} and {read[distance]:.2f}"
            for distance in READ
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
        y=Axis(-0.2, 1, "score", (0, 0.5, 1)),
        height=230,
        series=(
            Series("trained", "as it was trained", 0),
            Series("read", "as your code has it", 1),
        ),
        shown=shown,
        description="Two falling curves, of the score of a query and a key over their distance. "
        "They begin together at 1. The one of the wrong base lies lower from a distance of some "
        "tokens on, and the gap grows until it is about a third of the whole height.",
        caption="A model was trained with the base 500,000, as Llama 3 was. Your code reads "
        "another one, and no error is raised. Move the slider.",
    )
