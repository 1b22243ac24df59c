import numpy as np

import posenc
from picture import COLOURS, SEQUENTIAL, Picture, grid, plain


def bias_maps() -> Picture:
    """The bias of four of 8 heads for 48 tokens"""
    n = 48
    bias = posenc.alibi_bias(8, n, n)
    figure, plots = grid(1, 4, 7.4, 2.3)
    for plot, head in zip(plots[0], (0, 2, 4, 7), strict=True):
        shown = np.ma.masked_invalid(bias[head])
        image = plot.imshow(shown, cmap=SEQUENTIAL, vmin=-8, vmax=0)
        plain(plot)
        plot.set_title(f"slope 1/{round(1 / posenc.alibi_slopes(8)[head])}")
        plot.set_xlabel("key")
    plots[0][0].set_ylabel("query")
    figure.colorbar(image, ax=list(plots[0]), shrink=0.75, ticks=[-8, -4, 0], extend="min")
    return Picture(
        figure,
        "Four lower triangles. With slope 1/2 only a narrow band along the diagonal is bright, and "
        "everything farther away is at the dark end of the scale. With 1/8 the band is wider, with "
        "1/32 most of the triangle is bright, and with 1/256 nearly all of it.",
        "What is added to the logits of four of 8 heads, the future left out. A difference of 8 is "
        "a factor of 3,000 in the weights: the steep head sees its neighbours, the flat one "
        "everything.",
    )


def slopes() -> Picture:
    """Slopes of 6 and of 12 heads by the two rules"""
    figure, plots = grid(1, 2, 7.2, 2.8, sharey=True)
    for plot, heads in zip(plots[0], (6, 12), strict=True):
        head = np.arange(1, heads + 1)
        for rule, colour, marker in zip(("interpolated", "uniform"), COLOURS, "os", strict=False):
            drawn = posenc.alibi_slopes(heads, head_rule=rule)
            plot.plot(head, drawn, color=colour, marker=marker, linestyle=":", label=rule)
        plot.set(xlabel="head", title=f"{heads} heads", xticks=head[:: heads // 6])
        plot.set_yscale("log", base=2)
    plots[0][0].set_ylabel("slope")
    plots[0][0].legend(loc="lower left")
    return Picture(
        figure,
        "Two plots of slopes on a logarithmic scale. The uniform rule falls along a straight line. "
        "The interpolated rule falls along a steeper line for the first 4 of 6 or 8 of 12 heads, "
        "then jumps back up and falls again, ending higher than it was in the middle.",
        "By the rule of the authors' code the heads after the last power of two start again from "
        "the top. The uniform rule of the paper's text is one straight line.",
    )
