import numpy as np

import posenc
from pictures.picture import COLOURS, Picture, axes, legend


def score_and_bound() -> Picture:
    """Scores of rotary embedding against distance, below the bound of the paper"""
    figure, plot = axes(height=3.6)
    distances = np.arange(0, 2001)
    query = np.tile([[1.0, 0.0]], (1, 64))
    queries = posenc.rope(np.repeat(query, len(distances), axis=0), distances)
    equal = queries @ query[0]
    turned = queries @ posenc.rope(query, [1000])[0]
    waves = queries[:, 0::2] + 1j * queries[:, 1::2]
    bound = np.abs(np.cumsum(waves, axis=1)).sum(axis=1)
    plot.plot(distances, bound, color=COLOURS[7], linestyle="--", label="sum in the bound")
    plot.plot(distances, equal, color=COLOURS[0], linewidth=1.1, label="equal key")
    plot.plot(distances, turned, color=COLOURS[1], linewidth=1.1, label="key turned by 1,000")
    plot.set_yscale("symlog", linthresh=80, linscale=2.5)
    plot.set_yticks([-20, 0, 20, 40, 64, 300, 2000], ["−20", "0", "20", "40", "64", "300", "2,000"])
    plot.minorticks_off()
    plot.set(xlabel="distance", ylabel="score, and sum of |S|")
    legend(plot, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)
    return Picture(
        figure,
        "Three curves against distances from 0 to 2,000. A dashed one, the sum that the paper's "
        "bound contains, falls from about 2,080 to about 300 in waves. The score of an equal key "
        "starts at 64 and falls to about 10 within 1,000 positions. The score of a key that was "
        "turned by 1,000 is the same curve moved to the right: about 10 at distance 0, with a "
        "peak of 64 at distance 1,000.",
        "The same query with two keys of equal length. The factor of the bound that falls with "
        "distance is far above both. The scale is linear up to 80.",
    )
