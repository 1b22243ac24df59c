import numpy as np

import posenc
from picture import COLOURS, Picture, axes


def dot_product() -> Picture:
    """Dot product of two sinusoidal rows against their distance"""
    figure, plot = axes()
    offsets = np.arange(0, 101)
    for dim, colour in zip((64, 512), COLOURS, strict=False):
        rows = posenc.sinusoidal(offsets, dim)
        plot.plot(offsets, rows @ rows[0] / (dim / 2), color=colour, label=f"{dim} channels")
    plot.axvline(44, linestyle=":", linewidth=1)
    plot.annotate("44", (44, 0.95), (46, 0.95))
    plot.set(
        xlabel="distance between the positions", ylabel="dot product, as a part of the largest"
    )
    plot.legend()
    return Picture(
        figure,
        "Both curves begin at 1 and fall steeply within ten positions, to about 0.6. They go on "
        "falling slowly in waves. With 512 channels the first rise is at distance 44.",
        "The dot product of two rows of the sinusoidal encoding falls with the distance, but in "
        "waves. With 512 channels it first rises at 44.",
    )
