import numpy as np
from matplotlib.patches import Rectangle

import posenc
from pictures.picture import COLOURS, DIVERGING, Picture, grid


def counter() -> Picture:
    """Binary digits beside the sinusoidal encoding, position 23 framed"""
    figure, plots = grid(1, 2, 7.0, 5.2)
    positions = np.arange(32)
    for plot, name, rows in (
        (plots[0][0], "binary, lowest digit first", posenc.binary(positions, 6)),
        (plots[0][1], "sinusoidal", posenc.sinusoidal(positions, 6, base=40)),
    ):
        plot.imshow(rows, cmap=DIVERGING, vmin=-1, vmax=1, aspect="auto")
        plot.add_patch(Rectangle((-0.5, 22.5), 6, 1, fill=False, linewidth=2))
        plot.set_title(name, fontsize=10)
        plot.set(xlabel="channel")
        plot.set_yticks([0, 8, 16, 23, 31])
    plots[0][0].set(ylabel="position")
    return Picture(
        figure,
        "Two maps of 32 rows and 6 columns. In the first, of zeros and ones, the first column"
        " changes at every row, the next at every second one, and so on. In the second "
        "columns go up and down in smooth waves, faster in the first columns. Row 23 is framed "
        "in both.",
        "Both count with wheels of different speed. The sinusoid has the base 40 here, so that "
        "32 rows show something of every column.",
    )


def rounded_corners() -> Picture:
    """Digits as square waves, and sines of the same period"""
    figure, plots = grid(4, 1, 7.0, 4.2, sharex=True)
    fine = np.linspace(0, 32, 641)
    digits = posenc.binary(np.arange(33), 6)
    for k in range(4):
        plot = plots[k][0]
        plot.step(np.arange(33), digits[:, k], where="post", color=COLOURS[0])
        wave = (1 - np.sin(2 * np.pi * fine / 2 ** (k + 1))) / 2
        plot.plot(fine, wave, color=COLOURS[1], linewidth=1.2)
        plot.axvline(23, linestyle=":", linewidth=1)
        plot.set(ylabel=f"digit {k}", yticks=[0, 1], xlim=(0, 32))
    plots[3][0].set(xlabel="position", xticks=[0, 8, 16, 23, 32])
    return Picture(
        figure,
        "Four rows, one for each digit. Each shows a square wave between 0 and 1 and a sine of "
        "the same period through its steps. The periods are 2, 4, 8 and 16 positions.",
        "Each digit is a square wave. The sine of the same period passes through the middle of "
        "its steps. The dotted line is position 23.",
    )
