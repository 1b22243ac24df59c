import posenc
from pictures.picture import COLOURS, Picture, draw_frame, grid, shade


def dilations() -> Picture:
    """A window of 2 keys on each side, with three dilations"""
    figure, plots = grid(1, 3, 7.0, 2.6)
    for plot, dilation in zip(plots[0], (1, 2, 3), strict=True):
        mask = posenc.dilated_window(15, 15, 2, dilation)
        shade(plot, mask, COLOURS[0])
        row = 0 * mask
        row[7] = mask[7]
        shade(plot, row, COLOURS[1])
        draw_frame(plot)
        plot.set_title(f"dilation {dilation}")
        plot.set_xlabel("key")
    plots[0][0].set_ylabel("query")
    return Picture(
        figure,
        "Three maps of 15 queries and 15 keys. With dilation 1 a solid band of five diagonals, "
        "with 2 five diagonals two apart, with 3 five diagonals three apart. The marked row of "
        "query 7 has five keys in each.",
        "Five keys in each row away from the ends, marked for query 7. Dilation spreads them, and "
        "the tokens between are left out.",
    )
