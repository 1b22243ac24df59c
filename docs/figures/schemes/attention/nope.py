import numpy as np

import posenc
from pictures.picture import COLOURS, Picture, axes


def reading_the_position() -> Picture:
    """The output of one layer of uniform attention, with and without a marked first token"""
    n = 24
    nothing, ones = np.zeros((1, 1)), np.ones((1, 1))
    marked, equal = np.zeros((n, 1)), np.ones((n, 1))
    marked[0] = 1
    figure, plot = axes(7.0, 2.6)
    for x, name, colour, marker in (
        (equal, "all tokens equal", COLOURS[1], "s"),
        (marked, "first token marked", COLOURS[0], "o"),
    ):
        out = posenc.nope_layer(x, nothing, nothing, ones)[:, 0]
        plot.plot(out, color=colour, marker=marker, linestyle=":", label=name)
    plot.set(xlabel="position", ylabel="output", ylim=(0, 1.1))
    plot.legend(loc="center right")
    return Picture(
        figure,
        "Two rows of dots over 24 positions. If all tokens are equal the output is 1 everywhere. "
        "If the first is marked it falls from 1 to a half, a third and so on to one 24th.",
        "A marked first token is averaged with ever more others: its share is one over their "
        "number. Equal tokens average to themselves, and nothing can be read.",
    )
