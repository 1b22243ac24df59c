import numpy as np

import posenc
from pictures.picture import COLOURS, Picture, axes


def buckets() -> Picture:
    """Buckets of distances with 256 buckets and 512 positions"""
    figure, plot = axes(7.0, 3.2)
    distance = np.arange(-800, 801)
    for rule, colour, style in (("growing", COLOURS[1], "--"), ("clamped", COLOURS[0], "-")):
        rows = posenc.deberta_bucket(distance, far=rule)
        plot.step(distance, rows, where="mid", color=colour, linestyle=style, label=rule)
    for edge in (-511, -128, 128, 511):
        plot.axvline(edge, linestyle=":", linewidth=1)
    plot.set(
        xlabel="query minus key", ylabel="bucket", xticks=[-800, -511, -128, 0, 128, 511, 800],
        yticks=[-255, -128, 0, 128, 255],
    )  # fmt: skip
    plot.legend(loc="upper left")
    return Picture(
        figure,
        "An odd curve. Between distances -128 and 128 the bucket is the distance. Beyond, it "
        "flattens and reaches 255 at distance 511 and -255 at -511. Clamped it stays there, "
        "growing it rises a little further, to about 300 at 800.",
        "One bucket for each distance up to 128, then a logarithm up to 511. Beyond, buckets are "
        "clamped in the authors' newer code and grow in transformers.",
    )
