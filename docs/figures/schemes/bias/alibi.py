import numpy as np

import posenc
from pictures.animations import Axis, Moving, Series, Shown, Slider
from pictures.picture import COLOURS, SEQUENTIAL, Picture, draw_frame, grid


def bias_maps() -> Picture:
    """The bias of four of 8 heads for 48 tokens"""
    n = 48
    bias = posenc.alibi_bias(8, n, n)
    figure, plots = grid(1, 4, 7.4, 2.3)
    for plot, head in zip(plots[0], (0, 2, 4, 7), strict=True):
        shown = np.ma.masked_invalid(bias[head])
        image = plot.imshow(shown, cmap=SEQUENTIAL, vmin=-8, vmax=0)
        draw_frame(plot)
        plot.set_title(f"slope 1/{round(1 / posenc.alibi_slopes(8)[head])}")
        plot.set_xlabel("key")
    plots[0][0].set_ylabel("query")
    figure.colorbar(image, ax=list(plots[0]), shrink=0.75, ticks=[-8, -4, 0], extend="min")
    return Picture(
        figure,
        "Four lower triangles. With slope 1/2 only a narrow band along the diagonal is bright, and "
        "everything farther away is at the dark end of the scale. With 1/8 the band is wider, with "
        "1/32 most of the triangle is bright, and with 1/256 nearly all of it.",
        "The bias of four of 8 heads, without the future. A difference of 8 is a factor of 3,000 "
        "in the weights: the steep head sees its neighbours, the flat one everything.",
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


def attention() -> Moving:
    """How a head spreads its attention over keys that are all alike"""
    keys = 64

    def shown(heads: int, head: int) -> Shown:
        which = min(head, heads)
        factors = np.exp(posenc.alibi_bias(heads, 1, keys)[which - 1, 0, ::-1])
        weights = factors / factors.sum()
        nearest = int(np.argmax(np.cumsum(weights) >= 0.5)) + 1
        slope = posenc.alibi_slopes(heads)[which - 1]
        return Shown(
            {"weight": [[(d, 0.0), (d, float(weight))] for d, weight in enumerate(weights)]},
            f"Head {which} of {heads} loses 1 with every {1 / slope:.1f} tokens. Half of its "
            f"attention goes to the nearest {nearest} of {keys} keys.",
        )

    return Moving(
        module="alibi",
        sliders=(
            Slider("head", "head", range(1, 33), 3),
            Slider("heads", "number of heads", (4, 6, 8, 12, 16, 32), 8),
        ),
        x=Axis(-1, 64, "distance from the query back to the key", range(0, 65, 16)),
        y=Axis(0, 0.6, "share of the attention", (0, 0.2, 0.4, 0.6)),
        height=220,
        series=(Series("weight", "weight of a key", 0),),
        shown=shown,
        description="Bars over distances 0 to 63 that fall to nothing: the first is at 0.12, that "
        "at distance 6 half as high, and from distance 40 on none can be seen.",
        caption="The weights of 64 keys whose logits are equal but for the bias. The first "
        "heads are steep and see their neighbours, the last is nearly flat and sees "
        "everything.",
    )
