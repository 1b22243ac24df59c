import numpy as np

import posenc
from picture import COLOURS, Picture, axes


def between() -> Picture:
    """A score at whole distances and at the quarters between them"""
    figure, plot = axes(height=3.0)
    random = np.random.default_rng(3)
    query, key = random.standard_normal((2, 1, 128)) / 128**0.25
    fine = np.arange(0, 12 * 16 + 1)
    turned = posenc.position_interpolation(np.repeat(query, len(fine), axis=0), fine, factor=16)
    scores = turned @ key[0]
    places = fine / 16
    plot.plot(places, scores, color=COLOURS[0], linewidth=1)
    plot.plot(
        places[::16],
        scores[::16],
        color=COLOURS[7],
        linewidth=1,
        linestyle="--",
        label="straight lines",
    )
    plot.plot(
        places[::4], scores[::4], ".", color=COLOURS[1], markersize=6, label="new, with factor 4"
    )
    plot.plot(
        places[::16], scores[::16], "o", color=COLOURS[0], markersize=6, label="seen in training"
    )
    plot.set(xlabel="distance as the model knew it", ylabel="score", xticks=range(0, 13, 2))
    plot.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)
    return Picture(
        figure,
        "A curve of the score against distances from 0 to 12. Large dots stand at whole distances, "
        "three small ones between each two of them. Dashed straight lines join the large dots. The "
        "small dots lie near these lines, a little off where the curve bends.",
        "A random query and key of 128 channels. The points that interpolation adds lie near the "
        "straight lines between points that training has seen.",
    )
