import numpy as np

import posenc
from pictures.picture import COLOURS, Picture, axes


def inputs() -> Picture:
    """The network's input, for queries at four positions"""
    ones, none = np.ones(1), np.zeros(1)
    figure, plot = axes(7.0, 3.2)
    for query, colour in zip((256, 512, 2048, 8192), COLOURS, strict=False):
        row = posenc.fire_bias(ones, none, ones[None], none, 1, query + 1)[0, 0, ::-1]
        width = 5 if query == 256 else 1.6  # below the curve of 512, which it is a part of
        plot.plot(
            np.arange(query + 1), row, color=colour, linewidth=width, label=f"query at {query:,}"
        )
    plot.set(xlabel="distance", ylabel="input", ylim=(0, 1.05))
    plot.set_xscale("symlog", linthresh=1, base=10)
    plot.set_xticks([0, 1, 10, 100, 1000, 8192], ["0", "1", "10", "100", "1,000", "8,192"])
    plot.set_xlim(0, 8500)
    plot.minorticks_off()
    plot.legend()
    return Picture(
        figure,
        "Four rising curves of the input against the distance. Those of the queries at 256 and 512 "
        "coincide as far as they go, up to 0.83 and 1. Those at 2,048 and 8,192 lie below and "
        "reach 1 at their own positions.",
        "With c = 0.1 and the threshold 512. Up to the threshold all queries share one curve; "
        "beyond it the longest distance is always 1, and the same distance counts less in a "
        "longer past.",
    )
