import numpy as np

import posenc
from pictures.picture import COLOURS, INK, Picture, arrow, axes, blank, box, plus

CONTENT, PLACE = COLOURS[0], COLOURS[1]


def pipeline() -> Picture:
    """From words to the first layer"""
    figure, plot = axes(7.4, 2.2)
    blank(plot, 13.4, 4.0)
    box(plot, 1.2, 3.2, "word")
    box(plot, 4.2, 3.2, "embedding", CONTENT, 2.3)
    box(plot, 6.9, 3.2, "× √d", CONTENT, 1.5)
    plus(plot, 8.6, 3.2)
    box(plot, 10.2, 3.2, "dropout", width=1.5)
    box(plot, 12.3, 3.2, "layers", width=1.3)
    box(plot, 1.2, 0.8, "position")
    box(plot, 4.9, 0.8, "encoding PE", PLACE, 2.6)
    for start, end in ((2.3, 2.95), (5.45, 6.05), (7.75, 8.28), (8.92, 9.35), (11.05, 11.55)):
        arrow(plot, (start, 3.2), (end, 3.2))
    arrow(plot, (2.3, 0.8), (3.5, 0.8))
    plot.plot([6.3, 8.6], [0.8, 0.8], color=INK, linewidth=1.2)
    arrow(plot, (8.6, 0.8), (8.6, 2.88))
    plot.text(8.8, 1.7, "added, not concatenated", fontsize=9.5)
    return Picture(
        figure,
        "A diagram in two rows. Above: word, embedding, times root d, a plus sign, dropout, "
        "layers. Below: position, encoding, from where an arrow leads up to the plus sign.",
        "The input of a transformer. Both arrows carry d numbers, and d numbers go on.",
        diagram=True,
    )


def residual() -> Picture:
    """Where the encoding enters, and how it may travel"""
    figure, plot = axes(7.4, 2.2)
    blank(plot, 13.4, 4.0)
    box(plot, 0.9, 1.2, "√d x", CONTENT, 1.3)
    plus(plot, 2.5, 1.2)
    box(plot, 2.5, 3.2, "PE", PLACE, 0.9)
    arrow(plot, (2.5, 2.78), (2.5, 1.5))
    arrow(plot, (1.6, 1.2), (2.2, 1.2))
    last = 2.5
    for number, x in enumerate((5.6, 8.7, 11.8)):
        box(plot, x - 1.2, 3.2, f"layer {number}", width=1.3)
        plus(plot, x, 1.2)
        arrow(plot, (last + 0.3, 1.2), (x - 0.3, 1.2))
        plot.plot([x - 2.3, x - 2.3], [1.2, 3.2], color=INK, linewidth=1.2)
        arrow(plot, (x - 2.3, 3.2), (x - 1.91, 3.2))
        plot.plot([x - 0.49, x], [3.2, 3.2], color=INK, linewidth=1.2)
        arrow(plot, (x, 3.2), (x, 1.5))
        last = x
    arrow(plot, (12.1, 1.2), (13.2, 1.2))
    plot.text(6.6, 0.45, "residual connection", ha="center", fontsize=9.5)
    return Picture(
        figure,
        "A horizontal line leads from the scaled embedding through four plus signs. At the first"
        " the encoding is added. Before each of the others a branch leaves the line, passes a "
        "layer and is added again.",
        "Normalisation before each layer is not drawn. The line below carries the first sum to "
        "every layer, with the results of the layers added to it.",
        diagram=True,
    )


def directions() -> Picture:
    """How many directions the rows of the encoding fill"""
    figure, plot = axes()
    for positions, colour in zip((128, 512, 2048), COLOURS, strict=False):
        rows = posenc.sinusoidal(np.arange(positions), 512)
        values = np.linalg.eigvalsh(rows.T @ rows)[::-1]
        held = np.cumsum(values) / np.sum(values)
        plot.plot(np.arange(1, len(held) + 1), held, color=colour, label=f"{positions:,} positions")
    plot.axhline(0.99, linestyle=":", linewidth=1)
    plot.set(xlim=(0, 256), ylim=(0.4, 1.01))
    plot.set(xlabel="directions of 512", ylabel="squared length held")
    plot.legend(loc="lower right")
    return Picture(
        figure,
        "Three curves rise steeply and flatten at 1. They reach 0.99 at 39, 109 and 186 "
        "directions.",
        "Part of the squared length of all rows that the largest directions hold, for 512 "
        "channels. The dotted line is 99 %.",
    )


def loudness() -> Picture:
    """Lengths of embeddings and encoding at 512 channels"""
    figure, plot = axes(7.0, 2.8)
    names = ("σ = 0.02", "σ = 1/√d", "σ = 1")
    for row, spread in enumerate((0.02, 512**-0.5, 1.0)):
        plain = spread * 512**0.5
        plot.plot([plain, plain * 512**0.5], [row, row], color=CONTENT, linewidth=1)
        plot.plot([plain], [row], "o", color=CONTENT, fillstyle="none", markersize=9)
        plot.plot([plain * 512**0.5], [row], "o", color=CONTENT, markersize=9)
    plot.axvline(16, color=PLACE)
    plot.text(17.5, 2.3, "encoding: 16", va="center")
    plot.set_xscale("log")
    plot.set_xticks([1, 10, 100], ["1", "10", "100"])
    plot.set_yticks(range(3), names)
    plot.set(ylim=(-0.5, 2.6), xlabel="length of a row (logarithmic)")
    return Picture(
        figure,
        "Three rows with a hollow and a filled point each. For the standard deviation 0.02 they "
        "are at 0.45 and 10, for one over root d at 1 and 23, for 1 at 23 and 512. A vertical "
        "line marks the encoding at 16.",
        "Hollow: embeddings as they are initialised. Filled: times √d. The line is the encoding,"
        " which has the same length at every position.",
    )
