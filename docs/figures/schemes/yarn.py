from typing import Any

import numpy as np

import posenc
from picture import COLOURS, Picture, axes


def ramps() -> Picture:
    """What is kept of each pair's frequency by the paper and by the code"""
    figure, plot = axes(height=3.2)
    pairs = np.arange(64)
    model: dict[str, Any] = {"factor": 16, "original_max_position_embeddings": 4096}
    plain = posenc.position_interpolation_frequencies(128, factor=1)
    for name, ramp, colour, style in (
        ("paper", "rotations", COLOURS[3], "-"),
        ("code", "index", COLOURS[4], "-"),
        ("gpt-oss, ends not rounded", "untruncated", COLOURS[0], "--"),
    ):
        found = posenc.yarn_frequencies(128, ramp=ramp, **model) / plain
        plot.plot(pairs, found, color=colour, linestyle=style, label=name)
    plot.axhline(1 / 16, linestyle=":", linewidth=1)
    plot.annotate("1/16", (0.5, 1 / 16), (0.5, 0.085))
    plot.set(xlabel="pair", ylabel="new frequency / old one", xlim=(0, 63), ylim=(0, 1.05))
    plot.legend()
    return Picture(
        figure,
        "Three falling curves over 64 pairs, from 1 to 1/16. All are 1 up to pair 20 and 1/16 from "
        "pair 46 on. In between the paper's falls steeply at first, to 0.3 at pair 30, and then "
        "flattens. The code's is a straight line. That of gpt-oss is straight too, and very near.",
        "Llama 2 extended from 4,096 to 65,536 tokens. The paper's ramp is straight in the number "
        "of turns, the code's in the number of the pair.",
    )
