import numpy as np

import posenc
from pictures.picture import COLOURS, Picture, axes

SHORT, LONG = [1.0, 1.0625, 1.25, 2.5], [1.015625, 2.75, 11.5, 48.0]


def jump() -> Picture:
    """The angle of one key, while the text around it grows"""
    figure, plot = axes(height=3.0)
    lengths = np.arange(4001, 4201)
    x = np.tile([1.0, 0.0], (2, 4))
    for pair, colour in ((2, COLOURS[0]), (3, COLOURS[1])):
        angles = []
        for length in lengths:
            turned = posenc.longrope(
                x, np.array([4000, length - 1]), SHORT, LONG, factor=32,
                original_max_position_embeddings=4096, layout="interleaved",
            )[0]  # fmt: skip
            angles.append(np.degrees(np.arctan2(turned[2 * pair + 1], turned[2 * pair])) % 360)
        plot.plot(lengths, angles, color=colour, label=f"pair {pair}", drawstyle="steps-post")
    plot.axvline(4096.5, linestyle=":", linewidth=1)
    plot.annotate("L", (4096, 380), (4099, 375))
    plot.set(
        xlabel="length of the text", ylabel="degrees", ylim=(0, 400), yticks=[0, 90, 180, 270, 360]
    )
    plot.legend(loc="center left")
    return Picture(
        figure,
        "The angles of two pairs of a key at position 4,000 against the length of the text, from "
        "4,001 to 4,200 tokens. Both are constant up to 4,096 tokens and jump to another angle "
        "there, pair 3 from 92 to 5 degrees.",
        "A key at position 4,000 with the lists of the golden below. When the text grows beyond "
        "4,096 tokens all its angles change at once.",
    )
