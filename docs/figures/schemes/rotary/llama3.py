import numpy as np

import posenc
from pictures.animations import Axis, Moving, Series, Shown, Slider
from pictures.picture import COLOURS, Picture, axes


def bands() -> Picture:
    """Llama 3's divisor of each frequency, against the turns within 8,192 tokens"""
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


def parts() -> Moving:
    """Each pair's new frequency"""

    def shown(factor: int, low: int, high: int, original: int) -> Shown:
        plain = posenc.position_interpolation_frequencies(128, base=500000.0, factor=1)
        alike = posenc.position_interpolation_frequencies(128, base=500000.0, factor=factor)
        frequencies = posenc.llama3_frequencies(
            128, base=500000.0, factor=factor, low_freq_factor=low, high_freq_factor=high,
            original_max_position_embeddings=original,
        )  # fmt: skip
        part = frequencies / plain
        same, slowed = int((part > 1 - 1e-9).sum()), int((part < 1 / factor + 1e-9).sum())
        text = (
            "With factor 1 it is RoPE: all 64 pairs keep their frequency."
            if factor == 1
            else f"{same} pairs keep their frequency, {64 - same - slowed} lie on the ramp, and "
            f"{slowed} are divided by {factor}."
        )
        return Shown(
            {
                "llama3": [list(enumerate(part.tolist()))],
                "alike": [list(enumerate((alike / plain).tolist()))],
            },
            text,
        )

    return Moving(
        module="llama3",
        sliders=(
            Slider("factor", "factor", (1, 2, 4, 8, 16, 32), 8),
            Slider("low", "low_freq_factor", (0.5, 1, 2, 3), 1),
            Slider("high", "high_freq_factor", (4, 8, 16, 32), 4),
            Slider("original", "trained length", (2048, 4096, 8192, 16384, 32768), 8192),
        ),
        x=Axis(0, 63, "pair, from the fastest to the slowest", range(0, 64, 16)),
        y=Axis(0, 1.05, "new frequency by the old one", (0, 0.5, 1)),
        height=220,
        series=(
            Series("alike", "position interpolation: all slowed alike", 7),
            Series("llama3", "Llama 3", 0),
        ),
        shown=shown,
        description="Two lines over 64 pairs. That of position interpolation is flat at one "
        "eighth. That of Llama 3 is 1 up to pair 28, falls steeply over six pairs, and is one "
        "eighth from pair 35 on.",
        caption="A head of 128 channels with base 500,000. The bounds 1 and 32 are "
        "those that the YaRN paper recommends for Llama; Llama 3 has 1 and 4.",
    )
