import numpy as np

import posenc
from pictures.animations import Axis, Moving, Series, Shown, Slider
from pictures.picture import COLOURS, Picture, axes

LENGTH = 2048


def stretch() -> Picture:
    """The divisor of the slowest pair, against the length of the text"""
    figure, plot = axes(height=3.2)
    lengths = np.arange(64, 4 * LENGTH + 1, 64)
    plain = posenc.position_interpolation_frequencies(128, factor=1)[-1]
    for factor, colour in zip((1, 2, 4), COLOURS, strict=False):
        divisors = [
            plain
            / posenc.dynamic_ntk_frequencies(
                128, factor=factor, original_max_position_embeddings=LENGTH, length=int(length)
            )[-1]
            for length in lengths
        ]
        plot.plot(lengths, divisors, color=colour, label=f"factor {factor}")
    plot.axvline(LENGTH, linestyle=":", linewidth=1)
    plot.annotate("L", (LENGTH, 12), (LENGTH + 90, 12))
    plot.set(xlabel="length of the text", ylabel="stretch", xlim=(0, 4 * LENGTH), ylim=(0, 13.5))
    plot.legend(loc="upper left")
    return Picture(
        figure,
        "Three lines against the length of the text, from 0 to 8,192 tokens. All are 1 up to "
        "2,048. From there they rise in straight lines: to 4 for factor 1, to 7 for factor 2 and "
        "to 13 for factor 4.",
        "Up to the trained length nothing is stretched. Beyond it the stretch grows with the text, "
        "and the factor says how steeply. The trained length is 2,048 here.",
    )


def growing() -> Moving:
    """Each pair's new frequency as a text grows"""

    def shown(length: int, factor: int) -> Shown:
        plain = posenc.position_interpolation_frequencies(128, factor=1)
        always = posenc.ntk_aware_frequencies(128, factor=factor) / plain
        ratios = (
            posenc.dynamic_ntk_frequencies(
                128, factor=factor, original_max_position_embeddings=LENGTH, length=length
            )
            / plain
        )
        text = (
            f"{length:,} tokens, no more than in training: it is RoPE."
            if length <= LENGTH
            else f"{length:,} tokens: the slowest pair is divided by {1 / ratios[63]:.2f}. "
            "The next token will change all pairs but the fastest."
        )
        return Shown(
            {
                "always": [list(enumerate(always.tolist()))],
                "dynamic": [list(enumerate(ratios.tolist()))],
            },
            text,
        )

    return Moving(
        module="dynamic-ntk",
        sliders=(
            Slider("length", "tokens of the text", range(512, 8193, 512), 4096),
            Slider("factor", "factor", (1, 2, 4), 2),
        ),
        x=Axis(0, 63, "pair, from the fastest to the slowest", range(0, 64, 16)),
        y=Axis(0, 1.05, "new frequency by the old one", (0, 0.5, 1)),
        height=220,
        series=(
            Series("always", "NTK-aware, whatever the length", 7),
            Series("dynamic", "dynamic NTK", 0),
        ),
        shown=shown,
        description="Two falling curves over 64 pairs, both from 1 at pair 0. NTK-aware scaling by "
        "2 ends at one half at pair 63. Dynamic NTK, at 4,096 tokens, ends at one third.",
        caption="A head of 128 channels with base 10,000, trained on 2,048 tokens. The line of "
        "dynamic NTK moves while the text grows, and with it the encoding of earlier tokens.",
    )
