import numpy as np

import posenc
from pictures.picture import DIVERGING, Picture, grid


def four_terms() -> Picture:
    """The dot products of sums, taken apart"""
    figure, plots = grid(1, 4, 7.6, 2.4)
    x = np.tile((7 * np.arange(64) % 23 - 11) / 8, (24, 1))
    places = posenc.sinusoidal(np.arange(24), 64)
    parts = {
        "content": x @ x.T,
        "content with place": x @ places.T + places @ x.T,
        "place": places @ places.T,
        "all": (x + places) @ (x + places).T,
    }
    for plot, (name, part) in zip(plots[0], parts.items(), strict=True):
        plot.imshow(part, cmap=DIVERGING, vmin=-100, vmax=100)
        plot.set_title(name, fontsize=9)
        plot.set_xticks([0, 8, 16])
        plot.set_yticks([0, 8, 16])
        plot.spines[:].set_visible(False)
    plots[0][0].set(xlabel="position", ylabel="position")
    return Picture(
        figure,
        "Four square maps. The first has one colour. The second is a lattice of horizontal and "
        "vertical stripes. The third has stripes along the diagonal. The last shows the lattice "
        "on top of the diagonal stripes.",
        "One word, at 24 places, 64 channels. The mixed terms, in the second map, depend on "
        "positions and not on their distance; in the sum they spoil the stripes.",
    )
