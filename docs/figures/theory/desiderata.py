import numpy as np

import posenc
from pictures.picture import SEQUENTIAL, Picture, grid


def likeness() -> Picture:
    """Dot products of all pairs of 32 positions in four encodings"""
    figure, plots = grid(2, 2, 6.4, 6.4)
    positions = np.arange(32)
    attempts = {
        "the number": posenc.integer(positions, 6),
        "divided by the last": posenc.normalized(32, 6),
        "binary digits": posenc.binary(positions, 6),
        "sines and cosines": posenc.sinusoidal(positions, 6),
    }
    for plot, (name, rows) in zip((p for row in plots for p in row), attempts.items(), strict=True):
        plot.imshow(rows @ rows.T, cmap=SEQUENTIAL)
        plot.set_title(name, fontsize=10)
        plot.spines[:].set_visible(False)
        plot.set_xticks([0, 8, 16, 24])
        plot.set_yticks([0, 8, 16, 24])
    plots[1][0].set(xlabel="position", ylabel="position")
    return Picture(
        figure,
        "Four square maps. The number and the divided number both grow towards the last pair, in"
        " the lower right corner. The digits show blocks with jumps at 8, 16 and 24. The sines "
        "and cosines show stripes along the diagonal, the same at every position.",
        "How alike are two positions? Only the last map is made of stripes along the diagonal: "
        "there the dot product depends only on the distance. Yellow is the largest value of "
        "each map.",
    )
