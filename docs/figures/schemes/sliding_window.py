import posenc
from picture import COLOURS, Picture, grid, plain, shade


def reaches() -> Picture:
    """Four readings of a window of 4"""
    figure, plots = grid(1, 4, 7.4, 2.3)
    names = ("window-keys", "window-before", "window-each-side", "half-each-side")
    for plot, reach in zip(plots[0], names, strict=True):
        mask = posenc.sliding_window(14, 14, 4, reach=reach)
        shade(plot, mask, COLOURS[0])
        row = 0 * mask
        row[7] = mask[7]
        shade(plot, row, COLOURS[1])
        plain(plot)
        plot.set_title(reach, fontsize=9)
        plot.set_xlabel(f"{mask[7].sum()} keys")
    plots[0][0].set_ylabel("query")
    return Picture(
        figure,
        "Four bands of 14 queries and 14 keys with the row of query 7 marked: 4 keys up to the "
        "query, 5 keys up to the query, 9 keys with the query in the middle, and 5 keys with the "
        "query in the middle.",
        "The same number, 4, read in four ways. The row of one query is marked; it has 4, 5, 9 and "
        "5 keys.",
    )
