from pictures.picture import COLOURS, INK, Picture, arrow, axes, blank, box

WORDS = ("dog", "bites", "man", "man", "bites", "dog")
PLACES = (1.3, 3.5, 5.7, 8.3, 10.5, 12.7)
SEGMENT = 3


def two_segments() -> Picture:
    """Two segments, and what the last word of the second one sees"""
    figure, plot = axes(7.2, 3.4)
    blank(plot, 14.0, 6.4)
    for number, (x, word) in enumerate(zip(PLACES, WORDS, strict=True)):
        colour = COLOURS[1] if number < SEGMENT else COLOURS[0]
        box(plot, x, 1.6, word, INK, 1.7)
        for layer, height in enumerate((3.7, 5.8), 1):
            box(plot, x, height, f"layer {layer}", colour, 1.7)
    for low, high in ((1.6, 3.7), (3.7, 5.8)):
        for x in PLACES[:SEGMENT]:
            arrow(plot, (x, low + 0.45), (PLACES[SEGMENT - 1], high - 0.45))
        for x in PLACES:
            arrow(plot, (x, low + 0.45), (PLACES[-1], high - 0.45))
    plot.text(3.5, 0.5, "first segment: the memory", ha="center", va="center", fontsize=9.5)
    plot.text(10.5, 0.5, "second segment", ha="center", va="center", fontsize=9.5)
    plot.plot([7.0, 7.0], [0.1, 6.3], linestyle=":", linewidth=1, color=INK)
    return Picture(
        figure,
        "Six words in two segments of three, and two rows of boxes above them, one for each "
        "layer. Arrows lead from all six boxes below to the last box of the second segment, in "
        "both layers. Only arrows of the first segment lead to the last box of the first.",
        "What the last word of each segment sees. The rows of the first segment were kept, so the "
        "second one can look at them in each layer.",
        diagram=True,
    )
