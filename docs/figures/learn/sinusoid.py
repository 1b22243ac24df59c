import numpy as np

import posenc
from pictures.picture import DIVERGING, Picture, axes


def heat_map() -> Picture:
    """The encoding of 64 positions with 32 channels"""
    figure, plot = axes(7.0, 3.8)
    rows = posenc.sinusoidal(np.arange(64), 32)
    image = plot.imshow(rows, cmap=DIVERGING, vmin=-1, vmax=1, aspect="auto")
    plot.set(xlabel="channel", ylabel="position")
    figure.colorbar(image, ticks=[-1, 0, 1])
    return Picture(
        figure,
        "A map of 64 rows and 32 columns. In the first columns the colours change within a few "
        "rows. Further right the waves get longer, and from about column 20 on the columns "
        "alternate between white and one dark colour, and stay so from top to bottom.",
        "One row for each position and one column for each channel. Blue is −1, white is 0, and "
        "red is 1. Sines and cosines take turns.",
    )
