from typing import Any

import numpy as np
import numpy.typing as npt

import posenc
from pictures.picture import COLOURS, Picture, axes, legend

DIM, LENGTH, FACTOR = 128, 4096, 16
SCALED: dict[str, Any] = {"factor": FACTOR, "original_max_position_embeddings": LENGTH}
PAIRS = np.arange(DIM // 2)


def _theta() -> npt.NDArray[np.floating]:
    return posenc.position_interpolation_frequencies(DIM, factor=1)


def turns() -> Picture:
    """How many turns each pair makes within a text"""
    figure, plot = axes(height=3.4)
    rho = LENGTH * _theta() / (2 * np.pi)
    plot.axhspan(0.03, 1, color=COLOURS[1], alpha=0.12, linewidth=0)
    plot.plot(PAIRS, FACTOR * rho, color=COLOURS[1], label="in sL = 65,536 tokens")
    plot.plot(PAIRS, rho, color=COLOURS[0], label="in L = 4,096 tokens")
    plot.axhline(1, linewidth=1)
    plot.axvline(45.5, linestyle=":", linewidth=1)
    plot.annotate("one turn", (1, 1), (1, 1.2))
    plot.annotate("less than a turn: not every\nangle was seen in training", (1, 0.05), (1, 0.08))
    plot.annotate("pairs 46 to 63", (46.5, 2000), (46.5, 3000))
    plot.set_yscale("log")
    plot.set(xlabel="pair", ylabel="turns", xlim=(0, 63), ylim=(0.03, 2e4))
    legend(plot, loc="upper center")
    return Picture(
        figure,
        "Two parallel falling straight lines over 64 pairs, with a logarithmic scale of turns. "
        "Within 4,096 tokens pair 0 makes 652 turns and pair 63 makes 0.075. The line crosses one "
        "turn between pairs 45 and 46. Within 65,536 tokens all pairs make more than one turn.",
        "Turns of each pair within the trained length and within sixteen times that length. To the "
        "right of the dotted line a longer text brings angles that training never showed.",
    )


def divisors() -> Picture:
    """The divisor of each pair's frequency under each scaling"""
    figure, plot = axes(height=4.6)
    count = int(0.75 * DIM // 2)
    llama3 = posenc.llama3_frequencies(
        DIM, base=10000.0, low_freq_factor=1, high_freq_factor=4, **SCALED
    )
    curves = {
        "position interpolation": posenc.position_interpolation_frequencies(DIM, factor=FACTOR),
        "NTK-aware": posenc.ntk_aware_frequencies(DIM, factor=FACTOR),
        "dynamic NTK at 6,144 tokens": posenc.dynamic_ntk_frequencies(DIM, length=6144, **SCALED),
        "by parts (paper)": posenc.yarn_frequencies(DIM, ramp="rotations", **SCALED),
        "YaRN (code)": posenc.yarn_frequencies(DIM, **SCALED),
        "Llama 3": llama3,
    }
    styles = ("-", "-", "--", "-", "-", "-.")
    plot.fill_between([45.5, 63], 1, FACTOR, color=COLOURS[1], alpha=0.12, linewidth=0)
    plot.annotate("new\nangles", (58, 1.3), (57, 1.35))
    for (name, frequencies), colour, style in zip(curves.items(), COLOURS, styles, strict=False):
        plot.plot(PAIRS, _theta() / frequencies, color=colour, linestyle=style, label=name)
    stopped = _theta() / posenc.p_rope_frequencies(DIM, proportion=0.75).clip(min=1e-9)
    plot.plot(
        PAIRS[: count + 1],
        stopped[: count + 1],
        color=COLOURS[6],
        linestyle=":",
        label="p-RoPE, p = 3/4",
    )
    plot.set_yscale("log", base=2)
    plot.set_yticks([1, 2, 4, 8, 16], ["keep", "2", "4", "8", "divide\nby 16"])
    plot.set(xlabel="pair", ylabel="divisor of the frequency", xlim=(0, 63), ylim=(0.92, 22))
    legend(plot, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)
    return Picture(
        figure,
        "Curves over 64 pairs between a divisor of 1, keep, and 16, divide. Position "
        "interpolation is a horizontal line at 16. NTK-aware scaling rises in a straight line from "
        "1 at pair 0 to 16 at pair 63; the dynamic form at 6,144 tokens does so to 9. The paper's "
        "by-parts curve is 1 up to pair 20, rises steeply to 8.7 at pair 38 and is 16 from pair "
        "46 on. YaRN's code has the same ends but rises later, to 2.8 at pair 38. Llama 3's curve "
        "stays at 1 up to pair 35. p-RoPE is 1 up to pair 47 and then leaves the picture. Pairs "
        "from 46 on with a divisor below 16 are marked: they turn further than in training.",
        "Every scheme as a curve between keeping and dividing by 16, in the example. Inside the "
        "marked region a pair meets angles in 65,536 tokens that it never met in 4,096. "
        "Dynamic NTK is shown for a shorter text, which needs less.",
    )
