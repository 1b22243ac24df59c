import numpy as np

import posenc
from picture import COLOURS, Picture, axes

LENGTH = 2048


def stretch() -> Picture:
    """What the slowest pair is divided by, against the length of the text"""
    figure, plot = axes(height=3.2)
    lengths = np.arange(64, 4 * LENGTH + 1, 64)
    plain = posenc.position_interpolation_frequencies(128, factor=1)[-1]
    for factor, colour in zip((1, 2, 4), COLOURS, strict=False):
        found = [
            plain
            / posenc.dynamic_ntk_frequencies(
                128, factor=factor, original_max_position_embeddings=LENGTH, length=int(length)
            )[-1]
            for length in lengths
        ]
        plot.plot(lengths, found, color=colour, label=f"factor {factor}")
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
