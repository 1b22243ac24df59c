import numpy as np

import posenc
from pictures.picture import DIVERGING, Picture, grid


def parts() -> Picture:
    """Logits of equal words: absolute part, relative part, both"""
    figure, plots = grid(1, 3, 7.2, 2.7)
    x = np.zeros((16, 16))
    w = (7 * np.arange(64).reshape(1, 16, 4) % 11 - 5) / 6
    nothing = np.zeros((9, 1))
    table = -np.abs(np.arange(-4.0, 5.0))[:, None] / 2
    maps = {
        "sinusoids": posenc.hybrid_scores(x, w, w[:, ::-1], nothing)[0],
        "bias": posenc.hybrid_scores(x, 0 * w, w, table)[0],
        "both": posenc.hybrid_scores(x, w, w[:, ::-1], table)[0],
    }
    largest = max(np.abs(values).max() for values in maps.values())
    for plot, (name, logits) in zip(plots[0], maps.items(), strict=True):
        plot.imshow(logits, cmap=DIVERGING, vmin=-largest, vmax=largest)
        plot.set_title(name, fontsize=10)
        plot.spines[:].set_visible(False)
        plot.set(xlabel="key")
    plots[0][0].set(ylabel="query")
    return Picture(
        figure,
        "Three square maps. The first, of sinusoids, is an irregular pattern. The second, of the"
        " bias, has stripes along the diagonal. The third is their sum and has no stripes.",
        "Sixteen equal words. The bias alone has the same logits along every diagonal; with "
        "sinusoids added this is lost.",
    )
