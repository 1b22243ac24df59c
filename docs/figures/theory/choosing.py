import numpy as np

from pictures.picture import COLOURS, Picture, axes, legend

HEADS, WIDTH, BUCKETS, CLIP = 12, 64, 32, 16


def costs() -> Picture:
    """Numbers that a layer needs for positions, against the length of the text"""
    figure, plot = axes(height=3.8)
    length = 2.0 ** np.arange(7, 18)
    shown = {
        "a vector for every pair": length**2 * WIDTH,
        "a bias for every pair and head": length**2 * HEADS,
        "a row for every position": length * WIDTH * HEADS,
        "sines and cosines of RoPE": length * WIDTH,
        "a vector for every clipped distance": np.full_like(length, (2 * CLIP + 1) * WIDTH),
        "a number for every bucket and head": np.full_like(length, BUCKETS * HEADS),
    }
    for (name, numbers), colour in zip(shown.items(), COLOURS, strict=False):
        plot.plot(length, numbers, color=colour, label=name)
    plot.set_xscale("log", base=2)
    plot.set_yscale("log")
    plot.set(xlabel="tokens", ylabel="numbers")
    legend(plot, fontsize=9, loc="center left", bbox_to_anchor=(1, 0.5))
    return Picture(
        figure,
        "Six lines on logarithmic axes from 128 to 131,072 tokens. A vector or a bias for every "
        "pair grows with the square, to a trillion numbers. A row for every position and the sines "
        "and cosines of RoPE grow with the length. Clipped vectors and buckets do not grow.",
        "12 heads of 64 channels, clipped at distance 16, 32 buckets. The first two need never be "
        "stored: a kernel can form them where it needs them.",
    )
