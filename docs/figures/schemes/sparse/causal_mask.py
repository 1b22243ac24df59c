import posenc
from pictures.picture import COLOURS, Picture, draw_frame, grid, shade


def alignments() -> Picture:
    """Causal masks where queries and keys differ in number"""
    figure, plots = grid(1, 3, 7.2, 2.4)
    shapes = [(5, 5, "end"), (2, 5, "end"), (2, 5, "start")]
    names = ["5 queries, 5 keys", "2 queries, 5 keys: end", "2 queries, 5 keys: start"]
    for plot, (queries, keys, alignment), name in zip(plots[0], shapes, names, strict=True):
        shade(plot, posenc.causal_mask(queries, keys, alignment=alignment), COLOURS[0])
        draw_frame(plot)
        plot.set_title(name)
        plot.set_xticks(range(keys))
        plot.set_yticks(range(queries))
        plot.set_xlabel("key")
    plots[0][0].set_ylabel("query")
    return Picture(
        figure,
        "Three grids. For 5 queries and 5 keys the lower triangle with its diagonal is filled. For "
        "2 queries and 5 keys, aligned at the end, the first row has four cells filled and the "
        "second all five. Aligned at the start, the rows have one and two.",
        "With a cache of three tokens, two new queries are the last rows of the full triangle. "
        "Aligned at the start they are its first rows, as if the cache were the future.",
    )
