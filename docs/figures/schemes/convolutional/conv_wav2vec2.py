import numpy as np

import posenc
from pictures.picture import COLOURS, Picture, grid


def reach() -> Picture:
    """A single frame, and equal frames, through a kernel of 8 taps"""
    n, taps = 40, 8
    v, g, b = np.ones((1, 1, taps)), np.linspace(0.4, 1.2, taps), np.zeros(1)
    impulse, equal = np.zeros((n, 1)), np.ones((n, 1))
    impulse[20] = 1
    figure, plots = grid(1, 2, 7.4, 2.8)
    titles = ("one frame, at 20", "equal frames")
    for plot, x, title in zip(plots[0], (impulse, equal), titles, strict=True):
        added = (posenc.conv_wav2vec2(x, v, g, b, groups=1) - x)[:, 0]
        plot.vlines(np.arange(n), 0, added, color=COLOURS[0])
        plot.plot(np.arange(n), added, color=COLOURS[0], marker="o", markersize=3, linestyle="")
        plot.set(xlabel="row", title=title)
    plots[0][0].axvline(20, linestyle=":", linewidth=1)
    plots[0][0].set_ylabel("what is added")
    return Picture(
        figure,
        "Two plots. A frame at 20 adds something to the rows 17 to 24, most to row 17. Equal "
        "frames have equal additions from row 4 to row 36; towards both ends they fall.",
        "The kernel has an even number of taps, so a frame acts on three rows before it and four "
        "after it. Equal frames are told apart near the ends only, where zeros stand for frames.",
    )
