from pictures.picture import COLOURS, INK, Picture, arrow, axes, blank, box, plus

PLACE = COLOURS[1]


def two_stacks() -> Picture:
    """Where the encoding enters the first transformer"""
    figure, plot = axes(6.4, 4.4)
    blank(plot, 12.8, 8.9)
    for x, name, words, read in (
        (4.4, "encoder", "text to read", "dog bites man"),
        (9.6, "decoder", "text so far", "Hund beißt"),
    ):
        plot.text(x, 0.35, f"{words}: {read}", ha="center", va="center", fontsize=9.5)
        box(plot, x, 1.5, "embedding", width=2.6)
        plus(plot, x, 3.0)
        arrow(plot, (x, 1.95), (x, 2.7))
        for number, y in enumerate((4.6, 6.0)):
            box(plot, x, y, f"{name}, layer {number + 1}", COLOURS[0], 3.6)
        arrow(plot, (x, 3.3), (x, 4.15))
        arrow(plot, (x, 5.05), (x, 5.55))
    box(plot, 1.1, 3.0, "encoding", PLACE, 1.9)
    box(plot, 7.0, 3.0, "encoding", PLACE, 1.9)
    arrow(plot, (2.15, 3.0), (4.05, 3.0))
    arrow(plot, (8.05, 3.0), (9.25, 3.0))
    arrow(plot, (6.25, 6.0), (7.75, 6.0))
    box(plot, 9.6, 7.8, "next word: Mann", INK, 3.2)
    arrow(plot, (9.6, 6.45), (9.6, 7.35))
    return Picture(
        figure,
        "Two stacks side by side. In each, an embedding is at the bottom, an encoding is added to "
        "it, and layers stand above. An arrow leads from the top of the encoder to the decoder. "
        "The next word comes out on top of the decoder.",
        "The first transformer translates “dog bites man”. The encoding is added twice, once below "
        "each stack. The paper has six layers in each; two are drawn.",
        diagram=True,
    )
