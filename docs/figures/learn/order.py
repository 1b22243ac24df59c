from itertools import pairwise

from matplotlib.axes import Axes

from pictures.picture import COLOURS, Picture, arrow, box, grid

WORDS = ("dog", "bites", "man")
PLACES = (1.3, 4.3, 7.3)


def _words(plot: Axes, title: str) -> None:
    plot.set(xlim=(0, 8.6), ylim=(0, 5.4), aspect="equal")
    plot.axis("off")
    plot.set_title(title, fontsize=10)
    for x, word in zip(PLACES, WORDS, strict=True):
        box(plot, x, 0.8, word, width=2.0)


def paths() -> Picture:
    """How news travels from word to word in three kinds of network"""
    figure, plots = grid(1, 3, 7.4, 1.8)
    recurrent, convolution, transformer = plots[0]
    for plot, title in (
        (recurrent, "recurrent network"),
        (convolution, "convolution"),
        (transformer, "transformer"),
    ):
        _words(plot, title)
    for x in PLACES:
        box(recurrent, x, 4.0, "", COLOURS[0], 2.0)
        arrow(recurrent, (x, 1.3), (x, 3.5))
        box(convolution, x, 4.0, "", COLOURS[1], 2.0)
        box(transformer, x, 4.0, "", COLOURS[2], 2.0)
        for from_x in PLACES:
            arrow(transformer, (from_x, 1.3), (x, 3.5))
            if abs(x - from_x) < 4:
                arrow(convolution, (from_x, 1.3), (x, 3.5))
    for left, right in pairwise(PLACES):
        arrow(recurrent, (left + 1.1, 4.0), (right - 1.1, 4.0))
    return Picture(
        figure,
        "Three drawings above the words dog, bites and man. In the recurrent network each word has "
        "an arrow up to a memory, and the memories are joined from word to word. In the "
        "convolution each place has arrows only from its word and the neighbours. In the "
        "transformer each place has arrows from all three words.",
        "A recurrent network hands its memory on from word to word. A convolution sees the "
        "neighbours. A transformer sees all words at once, and every arrow is alike.",
    )
