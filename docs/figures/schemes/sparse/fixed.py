import posenc
from pictures.picture import COLOURS, Picture, draw_frame, grid, shade


def parts() -> Picture:
    """The two parts with blocks of 5 and a summary of 2"""
    n = 18
    figure, plots = grid(1, 3, 7.2, 2.6)
    for plot, part in zip(plots[0], ("block", "columns", "union"), strict=True):
        mask = posenc.fixed_mask(n, n, 5, 2, part=part)
        shade(plot, mask, COLOURS[0])
        if part == "columns":
            empty = 0 * mask
            empty[~mask.any(axis=1)] = 1
            shade(plot, empty, COLOURS[1], alpha=0.4)
        draw_frame(plot)
        plot.set_title(part)
        plot.set_xlabel("key")
    plots[0][0].set_ylabel("query")
    return Picture(
        figure,
        "Three maps of 18 queries and 18 keys. Blocks are triangles of five along the diagonal. "
        "Columns are pairs of vertical stripes, at keys 3 and 4, 8 and 9, 13 and 14, from the "
        "diagonal down; the first three rows have none. The union has both.",
        "Blocks of 5, whose last two positions are the summary. In the middle the first three "
        "queries have no key at all; their rows are marked in orange.",
    )
