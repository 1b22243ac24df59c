import numpy as np

import posenc
from pictures.picture import COLOURS, Picture, axes


def drowned() -> Picture:
    """How alike two different words become at the same position"""
    figure, plot = axes()
    positions = np.arange(33)
    for name, rows, colour in (
        ("the position itself", posenc.integer(positions, 64), COLOURS[1]),
        ("sinusoidal", posenc.sinusoidal(positions, 64), COLOURS[0]),
    ):
        first = np.tile([1.0, -1.0], 32) + rows
        two = np.tile([1.0, 1.0, -1.0, -1.0], 16) + rows
        lengths = np.linalg.norm(first, axis=1) * np.linalg.norm(two, axis=1)
        plot.plot(
            positions, (first * two).sum(1) / lengths, "o-", markersize=3, color=colour, label=name
        )
    plot.set(xlabel="position added to both", ylabel="cosine of the two rows", ylim=(-0.02, 1.02))
    plot.legend(loc="center right")
    return Picture(
        figure,
        "The curve of the position itself rises from 0 to nearly 1 within ten positions and "
        "stays there. That of the sinusoidal encoding stays below 0.41.",
        "Two words with nothing in common, after the same position has been added to both. With "
        "the position itself, position is soon all there is.",
    )
