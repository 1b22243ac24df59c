import numpy as np

import posenc
from picture import COLOURS, Picture, axes


def frequencies() -> Picture:
    """Frequencies of 64 pairs without scaling, interpolated and NTK-aware"""
    figure, plot = axes(height=3.2)
    pairs = np.arange(64)
    curves = {
        "rotary embedding": posenc.position_interpolation_frequencies(128, factor=1),
        "position interpolation": posenc.position_interpolation_frequencies(128, factor=16),
        "NTK-aware": posenc.ntk_aware_frequencies(128, factor=16),
    }
    for (name, found), colour, style in zip(
        curves.items(), COLOURS, ("-", "--", "-"), strict=False
    ):
        plot.plot(pairs, found, color=colour, linestyle=style, label=name)
    plot.set_yscale("log")
    plot.set(xlabel="pair", ylabel="radians per position", xlim=(0, 63))
    plot.legend()
    return Picture(
        figure,
        "Three falling straight lines over 64 pairs with a logarithmic scale. Rotary embedding "
        "goes from 1 to about 0.0001. Position interpolation runs parallel, sixteen times lower. "
        "NTK-aware scaling begins where rotary embedding does, at 1, and ends where position "
        "interpolation does.",
        "Frequencies for 128 channels, base 10,000 and factor 16. A larger base tilts the line; "
        "interpolation moves it down.",
    )
