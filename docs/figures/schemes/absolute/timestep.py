import numpy as np

import posenc
from pictures.picture import Picture, fine_map, grid


def scale() -> Picture:
    """Rows of times from 0 to 1, without a scale and with 1,000"""
    figure, plots = grid(1, 2, 7.4, 3.2, sharey=True)
    times = np.linspace(0, 1, 2001)
    for plot, factor in zip(plots[0], (1.0, 1000.0), strict=True):
        rows = posenc.timestep(times, 64, order="cos-sin", frequency_shift=0, scale=factor)
        extent = (-0.5, 63.5, 1, 0)
        fine_map(plot, rows, extent=extent)
        plot.set_title(f"scale {factor:,.0f}", fontsize=10)
        plot.set(xlabel="channel")
    plots[0][0].set(ylabel="time")
    return Picture(
        figure,
        "Two maps of times against 64 channels, cosines in the first half and sines in the "
        "second. Without a scale hardly anything changes from top to bottom except in the first "
        "channels of each half. With the scale 1,000 the first two thirds of each half are full "
        "of waves.",
        "In each map the cosines come first, then the sines, as in ADM. Without a scale most "
        "channels do not move while time runs from 0 to 1.",
    )
