import numpy as np

import posenc
from pictures.picture import COLOURS, Picture, grid


def decay() -> Picture:
    """Scores against distance: two single pairs, and the sum of all"""
    figure, ((left, right),) = grid(1, 2, height=3.0)
    distances = np.arange(0, 2049)
    ones = np.tile([[1.0, 0.0]], (1, 64))
    repeated = np.repeat(ones, len(distances), axis=0)
    damped = posenc.xpos(repeated, distances) * posenc.xpos(ones, [0], downscale=1)[0]
    plain = posenc.rope(repeated, distances) * ones[0]
    for pair, colour in ((16, COLOURS[0]), (40, COLOURS[1])):
        left.plot(distances, damped[:, 2 * pair], color=colour, linewidth=1, label=f"pair {pair}")
    left.set(xlabel="distance", ylabel="its part of the score", ylim=(-1.05, 1.05))
    left.legend(loc="lower right", ncols=2)
    for scores, name, colour in ((plain, "RoPE", COLOURS[7]), (damped, "xPos", COLOURS[2])):
        right.plot(distances, scores.sum(axis=1), color=colour, linewidth=1, label=name)
    right.set(xlabel="distance", ylabel="score", ylim=(-4, 40))
    right.legend()
    return Picture(
        figure,
        "Two plots. In the first, two waves against distances up to 2,048: that of pair 16 swings "
        "fast and has nearly died down at the end, that of pair 40 swings slowly and keeps most of "
        "its height. In the second, the sum over 64 pairs, for RoPE and for xPos. Both fall from "
        "64 in about the same way, but RoPE's goes on swinging between about −2 and 15 where "
        "xPos's is a smooth line.",
        "Query and key with equal pairs, 128 channels, scale base 512. Fast pairs die down first; "
        "the rest of the sum is smooth.",
    )
