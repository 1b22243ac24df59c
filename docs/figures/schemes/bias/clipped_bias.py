import numpy as np

import posenc
from pictures.picture import DIVERGING, Picture, grid


def map() -> Picture:
    """Rows of the table that 10 queries and keys look up, with k = 3"""
    k, n = 3, 10
    right = posenc.clipped_bias(np.arange(2.0 * k + 1)[:, None], n, n)[0]
    offsets = np.clip(np.arange(n) - np.arange(n)[:, None], -k, k)
    unshifted = np.arange(2 * k + 1)[offsets]
    figure, plots = grid(1, 2, 7.0, 3.2)
    for plot, rows, title in zip(
        plots[0], (right, unshifted), ("as defined", "k not added"), strict=True
    ):
        plot.imshow(rows, cmap=DIVERGING, vmin=-1, vmax=2 * k + 1)
        for i, j in np.ndindex(n, n):
            colour = "black" if 1 <= rows[i, j] <= 2 * k - 1 else "white"
            plot.text(
                j, i, str(int(rows[i, j])), ha="center", va="center", fontsize=8, color=colour
            )
        plot.set(title=title, xlabel="key", xticks=range(0, n, 3), yticks=range(0, n, 3))
    plots[0][0].set_ylabel("query")
    return Picture(
        figure,
        "Two grids of numbers. As defined, the diagonal holds 3, the diagonals above it 4, 5 and "
        "then 6 throughout, those below it 2, 1 and then 0 throughout. Without adding k the "
        "diagonal holds 0, above it stand 1, 2 and 3, and below it 6, 5 and 4.",
        "Row of the table by query and key. In the second grid 3 was not added to the offsets; "
        "negative indices count from the end, and no error is raised.",
    )
