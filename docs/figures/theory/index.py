from pictures.picture import COLOURS, INK, Picture, arrow, axes, blank, box, plus


def where_position_enters() -> Picture:
    """Four places at which position can enter attention"""
    figure, plot = axes(7.6, 3.0)
    blank(plot, 15.2, 6.8)
    plot.set(ylim=(0.8, 6.5))
    absolute, rotary, bias, mask = COLOURS[:4]
    box(plot, 1.2, 3.4, "embedding", width=2.0)
    plus(plot, 3.2, 3.4)
    box(plot, 5.2, 4.3, "queries", width=1.7)
    box(plot, 5.2, 2.5, "keys", width=1.7)
    box(plot, 7.7, 4.3, "turn", rotary, 1.2)
    box(plot, 7.7, 2.5, "turn", rotary, 1.2)
    box(plot, 9.5, 3.4, "q · k", width=1.1)
    plus(plot, 11.1, 3.4)
    box(plot, 12.6, 3.4, "mask", mask, 1.2)
    box(plot, 14.4, 3.4, "softmax", width=1.4)
    box(plot, 3.2, 5.9, "encoding of the position", absolute, 3.9)
    box(plot, 11.1, 5.9, "bias of the offset", bias, 3.0)
    for start, end in (
        ((2.3, 3.4), (2.9, 3.4)),
        ((3.5, 3.5), (4.28, 4.1)),
        ((3.5, 3.3), (4.28, 2.7)),
        ((6.12, 4.3), (7.02, 4.3)),
        ((6.12, 2.5), (7.02, 2.5)),
        ((8.38, 4.1), (8.9, 3.65)),
        ((8.38, 2.7), (8.9, 3.15)),
        ((10.12, 3.4), (10.8, 3.4)),
        ((11.4, 3.4), (11.94, 3.4)),
        ((13.27, 3.4), (13.62, 3.4)),
        ((3.2, 5.45), (3.2, 3.72)),
        ((11.1, 5.45), (11.1, 3.72)),
    ):
        arrow(plot, start, end)
    for x, y, text in (
        (3.2, 1.2, "1  absolute"),
        (7.7, 1.2, "2  rotary"),
        (11.0, 1.2, "3  bias"),
        (13.0, 1.2, "4  pattern"),
    ):
        plot.text(x, y, text, ha="center", fontsize=9.5, color=INK)
    return Picture(
        figure,
        "From left to right: the encoding of the position is added to the embedding; queries and"
        " keys are made, each is turned; their product follows, to which a bias of the offset is"
        " added; then come the mask and the softmax.",
        "Position can enter before the layers, by turning queries and keys, as a bias of the "
        "logits, or by a mask. Relative scores, between 2 and 3, let the offset take part in the"
        " product itself.",
        diagram=True,
    )
