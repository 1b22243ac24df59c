import numpy as np

import posenc
from picture import COLOURS, Picture, axes


def bands() -> Picture:
    """What Llama 3 divides each frequency by, against the turns within 8,192 tokens"""
    figure, plot = axes(height=3.2)
    plain = posenc.position_interpolation_frequencies(128, base=500000.0, factor=1)
    turns = 8192 * plain / (2 * np.pi)
    for factor, colour in zip((8, 32), COLOURS, strict=False):
        new = posenc.llama3_frequencies(
            128, factor=factor, low_freq_factor=1, high_freq_factor=4,
            original_max_position_embeddings=8192,
        )  # fmt: skip
        plot.plot(turns, plain / new, "o-", color=colour, markersize=3, label=f"factor {factor}")
    for place, name in ((1, "l = 1"), (4, "h = 4")):
        plot.axvline(place, linestyle=":", linewidth=1)
        plot.annotate(name, (place, 40), (place * 1.1, 38))
    plot.set_xscale("log")
    plot.set_yscale("log", base=2)
    plot.set_yticks([1, 2, 4, 8, 16, 32], ["keep", "2", "4", "8", "16", "32"])
    plot.set(xlabel="turns within the trained length", ylabel="divisor", ylim=(0.9, 48))
    plot.legend(loc="center right")
    return Picture(
        figure,
        "The divisor of each of 64 pairs against its turns within 8,192 tokens, both on "
        "logarithmic scales, for factors 8 and 32. Pairs with fewer than one turn are divided by "
        "the whole factor, pairs with more than four by 1. Between one and four turns, marked by "
        "dotted lines, lie six pairs on a falling curve.",
        "The pairs of a head of 128 channels with base 500,000. Only six lie on the ramp.",
    )
