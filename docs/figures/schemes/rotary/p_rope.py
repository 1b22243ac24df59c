import numpy as np

import posenc
from pictures.picture import COLOURS, Picture, axes


def frequencies() -> Picture:
    """Frequencies of p-RoPE and of partial rotation, both with a quarter of the channels"""
    figure, plot = axes(height=3.2)
    whole = posenc.position_interpolation_frequencies(64, factor=1)
    values = posenc.p_rope_frequencies(64, proportion=0.25)
    partial = posenc.position_interpolation_frequencies(16, factor=1)
    plot.plot(np.arange(32), whole, color=COLOURS[7], label="rotary embedding")
    plot.plot(np.arange(8), values[:8], "o", color=COLOURS[0], label="p-RoPE, p = 1/4")
    plot.plot(
        np.arange(8),
        partial,
        "s",
        color=COLOURS[1],
        markersize=5,
        label="partial rotation, 16 of 64",
    )
    plot.annotate("pairs 8 to 31 turn in neither", (9.5, 4e-4), (9.5, 4e-4))
    plot.set_yscale("log")
    plot.set(xlabel="pair", ylabel="radians per position", xlim=(-0.5, 31.5))
    plot.legend()
    return Picture(
        figure,
        "Frequencies over 32 pairs with a logarithmic scale. A straight line for rotary embedding "
        "falls from 1 to about 0.0001. The eight points of p-RoPE lie on its beginning, down to "
        "about 0.13. The eight points of partial rotation fall four times as steeply, down to "
        "0.0003. The other 24 pairs do not turn in either.",
        "A head of 64 channels. p-RoPE keeps the fast end of the line, partial rotation goes down "
        "the whole line in eight steps.",
    )
