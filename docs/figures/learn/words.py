from matplotlib.patches import Rectangle

from pictures.picture import COLOURS, INK, Picture, arrow, axes, blank, box

ROWS = {"dog": (1, (2, 0, 1, 0)), "bites": (0, (0, 2, 0, 1)), "man": (2, (2, 0, 0, 1))}
"""Each token's place in the vocabulary, and its embedding."""


def three_words() -> Picture:
    """From a sentence to a table of numbers"""
    figure, plot = axes(6.4, 3.0)
    blank(plot, 12.8, 6.0)
    for x, title in ((1.2, "token"), (4.6, "number"), (9.4, "row of four channels")):
        plot.text(x, 5.5, title, ha="center", va="center", fontsize=9.5)
    for line, (word, (number, row)) in enumerate(ROWS.items()):
        y = 4.2 - 1.5 * line
        box(plot, 1.2, y, word, COLOURS[line], 2.0)
        arrow(plot, (2.4, y), (3.8, y))
        plot.text(4.6, y, str(number), ha="center", va="center", fontsize=12)
        arrow(plot, (5.3, y), (6.7, y))
        for channel, value in enumerate(row):
            left = 7.0 + 1.2 * channel
            plot.add_patch(Rectangle((left, y - 0.5), 1.2, 1.0, fill=False, edgecolor=INK))
            plot.text(left + 0.6, y, str(value), ha="center", va="center", fontsize=11)
    return Picture(
        figure,
        "Three lines, one below the other. Dog leads to the number 1 and to the row 2, 0, 1, 0. "
        "Bites leads to 0 and to 0, 2, 0, 1. Man leads to 2 and to 2, 0, 0, 1.",
        "Each token becomes a number, and each number a row. This table goes through all lessons.",
        diagram=True,
    )
