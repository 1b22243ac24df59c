from statistics import NormalDist

import numpy as np

import posenc
from pictures.picture import COLOURS, Picture, axes, grid


def octaves() -> Picture:
    """NeRF's first four frequencies over a coordinate"""
    figure, plots = grid(4, 1, 7.0, 4.0, sharex=True)
    x = np.linspace(-1, 1, 401)
    waves = posenc.nerf(x[:, None], 4)
    for k in range(4):
        plot = plots[k][0]
        plot.plot(x, waves[:, 2 * k], color=COLOURS[0], label="sine")
        plot.plot(x, waves[:, 2 * k + 1], color=COLOURS[1], label="cosine")
        plot.set(ylabel=f"k = {k}", yticks=[-1, 0, 1], xlim=(-1, 1))
    plots[3][0].set(xlabel="coordinate x")
    plots[0][0].legend(loc="lower right", ncols=2, bbox_to_anchor=(1, 0.95))
    return Picture(
        figure,
        "Four rows with a sine and a cosine each. The first has one period between -1 and 1, the"
        " others two, four and eight.",
        "Each frequency is twice the one before, as in the paper: the first has one period from "
        "−1 to 1.",
    )


def kernel() -> Picture:
    """Likeness of two points, by the width of the distribution of frequencies"""
    figure, plot = axes()
    distances = np.linspace(0, 0.5, 251)
    normal = NormalDist()
    draws = np.array([normal.inv_cdf((i + 0.5) / 256) for i in range(256)])[:, None]
    for sigma, colour in zip((1, 3, 10), COLOURS, strict=False):
        rows = posenc.gaussian_fourier(distances[:, None], sigma * draws)
        plot.plot(distances, rows @ rows[0] / 256, color=colour, label=f"σ = {sigma}")
    plot.set(xlabel="distance of the points", ylabel="dot product / features")
    plot.legend()
    return Picture(
        figure,
        "Three curves begin at 1. That of sigma 10 falls to 0 within 0.06, that of 3 within 0.2,"
        " that of 1 within 0.5.",
        "256 frequencies, the quantiles of a normal distribution of width σ. The wider it is, "
        "the finer the details that look different.",
    )
