import numpy as np

import posenc
from pictures.picture import SEQUENTIAL, Picture, grid


def sentences() -> Picture:
    """Attention weights of two sentences, without a mask and with a causal one"""
    words = {"dog": (1.0, 0.5), "bites": (-0.5, 2.0), "man": (0.5, -1.0)}
    figure, plots = grid(1, 4, 7.4, 2.4)
    for plot, (mask, order) in zip(
        plots[0],
        [(mask, order) for mask in ("none", "causal") for order in (1, -1)],
        strict=True,
    ):
        names = list(words)[::order]
        x = np.array([words[name] for name in names])
        weights = posenc.attention_weights(x, x, mask=mask)
        plot.imshow(weights, cmap=SEQUENTIAL, vmin=0, vmax=1)
        for i, j in np.ndindex(3, 3):
            colour = "white" if weights[i, j] < 0.6 else "black"
            plot.text(j, i, f"{weights[i, j]:.2f}", ha="center", va="center", color=colour)
        plot.set_xticks(range(3), names)
        plot.set_yticks(range(3), names)
        plot.set_title("no mask" if mask == "none" else "causal mask")
    return Picture(
        figure,
        "Four grids of three by three weights. Without a mask those of man bites dog are those of "
        "dog bites man with rows and columns exchanged. With a causal mask the upper right is 0 "
        "and the weights left are not the same numbers in another place.",
        "Without a mask the second grid is the first with rows and columns exchanged. With a mask "
        "the two are different grids.",
    )
