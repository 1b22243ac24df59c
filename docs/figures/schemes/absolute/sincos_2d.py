import numpy as np

import posenc
from pictures.picture import DIVERGING, SEQUENTIAL, Picture, axes, grid


def grid_maps() -> Picture:
    """Eight of 32 channels, each as a picture of 14 by 14 cells"""
    figure, plots = grid(2, 4, 7.0, 4.0)
    table = posenc.sincos_2d(14, 14, 32).reshape(14, 14, 32)
    for down, (start, name) in enumerate(((0, "column"), (16, "row"))):
        for across, channel in enumerate((0, 1, 2, 8)):
            plot = plots[down][across]
            plot.imshow(table[..., start + channel], cmap=DIVERGING, vmin=-1, vmax=1)
            kind = "sine" if channel < 8 else "cosine"
            plot.set_title(f"channel {start + channel}: {kind}", fontsize=9)
            plot.set_xticks([])
            plot.set_yticks([])
            plot.spines[:].set_visible(False)
        plots[down][0].set(ylabel=f"of the {name}")
    return Picture(
        figure,
        "Two rows of four square pictures. Those above consist of vertical stripes, those below "
        "of the same stripes turned by a right angle. The first channels have narrow stripes, "
        "the later wide ones.",
        "Every channel is a picture of stripes: of the column in the first half, of the row in "
        "the second.",
    )


def likeness() -> Picture:
    """Dot products of the cell in the middle with all others"""
    figure, plot = axes(4.8, 4.0)
    table = posenc.sincos_2d(27, 27, 64)
    products = (table @ table[13 * 27 + 13]).reshape(27, 27)
    extent = (-13.5, 13.5, 13.5, -13.5)
    shown = plot.imshow(products, cmap=SEQUENTIAL, extent=extent)
    offsets = np.arange(-13, 14)
    contours = plot.contour(offsets, offsets, products, levels=[20, 22, 24, 26, 28], colors="white")
    plot.clabel(contours, fontsize=8)
    plot.set(xlabel="columns to the right", ylabel="rows down")
    figure.colorbar(shown, ax=plot)
    return Picture(
        figure,
        "A map with its maximum of 32 in the middle, from which four ridges run along the axes. "
        "Lines of equal values are stars with four rays, not circles.",
        "Likeness is the sum of a part for each axis. It falls faster along the diagonals than "
        "along the axes.",
    )
