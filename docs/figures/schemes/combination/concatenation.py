import numpy as np

import posenc
from pictures.picture import SEQUENTIAL, Picture, grid


def dot_products() -> Picture:
    """Dot products of one word with itself at other places"""
    figure, plots = grid(1, 2, 6.4, 3.2)
    x = np.tile((7 * np.arange(64) % 23 - 11) / 8 / 8, (32, 1))
    positions = np.arange(32)
    for plot, name, rows in (
        (plots[0][0], "added", posenc.embedding_sum(x, positions)),
        (plots[0][1], "side by side", posenc.concatenation(x, positions, 64)),
    ):
        plot.imshow(rows @ rows.T, cmap=SEQUENTIAL)
        plot.set_title(name, fontsize=10)
        plot.spines[:].set_visible(False)
        plot.set(xlabel="position")
    plots[0][0].set(ylabel="position")
    return Picture(
        figure,
        "Two square maps. The first, of the sum, is a tangle of stripes in all directions. "
        "The second, of rows side by side, has stripes along the diagonal only.",
        "Side by side, likeness is that of the contents plus a function of the distance.",
    )
