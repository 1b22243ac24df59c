import posenc
from pictures.picture import COLOURS, Picture, draw_frame, grid, shade


def parts() -> Picture:
    """The two parts with stride 5, and a path of two steps"""
    n, stride = 18, 5
    figure, plots = grid(1, 3, 7.2, 2.6)
    for plot, part in zip(plots[0], ("local", "column", "union"), strict=True):
        shade(plot, posenc.strided_mask(n, n, stride, part=part), COLOURS[0], alpha=0.8)
        draw_frame(plot)
        plot.set_title(part)
        plot.set_xlabel("key")
    plots[0][0].set_ylabel("query")
    # From 16 to 3: three keys back within the local part, then two strides.
    for plot, query, key in ((plots[0][0], 16, 13), (plots[0][1], 13, 3)):
        plot.plot([key], [query], marker="o", color=COLOURS[1])
        plot.text(0.96, 0.86, f"{query} to {key}", transform=plot.transAxes, ha="right")
    return Picture(
        figure,
        "Three maps of 18 queries and 18 keys. The local part is a band of five diagonals. The "
        "column is every fifth diagonal. The union has both. A dot in the first marks query 16 "
        "and key 13, a dot in the second query 13 and key 3.",
        "From query 16 to key 3 in two steps: locally to 13, and from there in the column of 13, "
        "two strides back.",
    )
