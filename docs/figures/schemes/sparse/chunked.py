import numpy as np

import posenc
from pictures.picture import COLOURS, Picture, axes


def keys_by_position() -> Picture:
    """Keys that a query sees, with chunks and with a window of 8"""
    n, size = 40, 8
    figure, plot = axes(7.0, 2.6)
    place = np.arange(n)
    for mask, name, colour in (
        (posenc.chunked_mask(n, n, size), "chunks of 8", COLOURS[0]),
        (posenc.sliding_window(n, n, size), "window of 8 keys", COLOURS[1]),
    ):
        plot.step(place, mask.sum(axis=1), where="mid", color=colour, label=name)
    plot.set(
        xlabel="position of the query", ylabel="keys", xticks=range(0, n + 1, size), ylim=(0, 10.5)
    )
    plot.legend(loc="upper right", ncols=2)
    return Picture(
        figure,
        "Two step curves over 40 positions. With a window the number of keys rises from 1 to 8 and "
        "stays there. With chunks it rises from 1 to 8 and falls back to 1 at positions 8, 16, 24 "
        "and 32.",
        "A window keeps its keys once it is full. A chunk loses all of them at each boundary.",
    )
