from typing import Any

import numpy as np

import posenc
from pictures.animations import Axis, Moving, Series, Shown, Slider
from pictures.picture import COLOURS, Picture, axes, legend


def ramps() -> Picture:
    """The share of each pair's frequency kept by the paper and by the code"""
    figure, plot = axes(height=3.2)
    pairs = np.arange(64)
    model: dict[str, Any] = {"factor": 16, "original_max_position_embeddings": 4096}
    plain = posenc.position_interpolation_frequencies(128, factor=1)
    for name, ramp, colour, style in (
        ("paper", "rotations", COLOURS[3], "-"),
        ("code", "index", COLOURS[4], "-"),
        ("gpt-oss, ends not rounded", "untruncated", COLOURS[0], "--"),
    ):
        share = posenc.yarn_frequencies(128, ramp=ramp, **model) / plain
        plot.plot(pairs, share, color=colour, linestyle=style, label=name)
    plot.axhline(1 / 16, linestyle=":", linewidth=1)
    plot.annotate("1/16", (0.5, 1 / 16), (0.5, 0.085))
    plot.set(xlabel="pair", ylabel="new frequency / old one", xlim=(0, 63), ylim=(0, 1.05))
    legend(plot)
    return Picture(
        figure,
        "Three falling curves over 64 pairs, from 1 to 1/16. All are 1 up to pair 20 and 1/16 from "
        "pair 46 on. In between the paper's falls steeply at first, to 0.3 at pair 30, and then "
        "flattens. The code's is a straight line. That of gpt-oss is straight too, and very near.",
        "Llama 2 extended from 4,096 to 65,536 tokens. The paper's ramp is straight in the number "
        "of turns, the code's in the number of the pair.",
    )


def parts() -> Moving:
    """Each pair's new frequency"""

    def shown(factor: int, original: int, base: float) -> Shown:
        plain = posenc.position_interpolation_frequencies(128, base=base, factor=1)
        alike = posenc.position_interpolation_frequencies(128, base=base, factor=factor) / plain
        frequencies = posenc.yarn_frequencies(
            128, base=base, factor=factor, original_max_position_embeddings=original, ramp="index"
        )
        part = frequencies / plain
        same, slowed = int((part > 1 - 1e-9).sum()), int((part < 1 / factor + 1e-9).sum())
        longer = 0.1 * np.log(factor) + 1
        text = (
            "With factor 1 it is RoPE: all 64 pairs keep their frequency."
            if factor == 1
            else f"The {same} fastest pairs keep their frequency, the {slowed} slowest are divided "
            f"by {factor}. Queries and keys become {longer:.3f} times as long."
        )
        return Shown(
            {
                "yarn": [list(enumerate(part.tolist()))],
                "alike": [list(enumerate(alike.tolist()))],
            },
            text,
        )

    return Moving(
        module="yarn",
        sliders=(
            Slider("factor", "factor", (1, 2, 4, 8, 16, 32, 64), 16),
            Slider("original", "trained length", (2048, 4096, 8192, 16384, 32768), 4096),
            Slider("base", "base", (10000, 100000, 500000, 1000000), 10000),
        ),
        x=Axis(0, 63, "pair, from the fastest to the slowest", range(0, 64, 16)),
        y=Axis(0, 1.05, "new frequency by the old one", (0, 0.5, 1)),
        height=220,
        series=(
            Series("alike", "position interpolation: all slowed alike", 7),
            Series("yarn", "YaRN", 0),
        ),
        shown=shown,
        description="Two lines over 64 pairs. That of position interpolation is flat at one "
        "sixteenth. That of YaRN is 1 up to pair 20, falls along a straight ramp, and "
        "is one sixteenth from pair 46 on.",
        caption="A head of 128 channels, with the ramp of the released code. A longer training "
        "moves the ramp towards the slow pairs, and so does a smaller base.",
    )
