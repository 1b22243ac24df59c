import numpy as np

import posenc
from pictures.picture import DIVERGING, Picture, draw_frame, grid


def four_terms() -> Picture:
    """The four terms for 24 tokens, each by itself"""
    n, channels, waves = 24, 8, 16
    generator = np.random.default_rng(6)
    shapes = ((n, channels), (n, channels), (waves, channels), (channels,), (channels,))
    q, k, w, u, v = (generator.standard_normal((1, *shape)) for shape in shapes)
    terms = {
        "(a) content, content": (q, k, 0 * w, 0 * u, 0 * v),
        "(b) content, distance": (q, 0 * k, w, 0 * u, 0 * v),
        "(c) a liking for content": (0 * q, k, 0 * w, u, 0 * v),
        "(d) a liking for distance": (0 * q, 0 * k, w, 0 * u, v),
    }
    figure, plots = grid(1, 4, 7.4, 2.3)
    for plot, (title, arguments) in zip(plots[0], terms.items(), strict=True):
        values = np.ma.masked_invalid(posenc.transformer_xl_scores(*arguments)[0])
        limit = np.abs(values).max()
        plot.imshow(values, cmap=DIVERGING, vmin=-limit, vmax=limit)
        draw_frame(plot)
        plot.set_title(title, fontsize=9)
        plot.set_xlabel("key")
    plots[0][0].set_ylabel("query")
    return Picture(
        figure,
        "Four lower triangles. Term (a) has no visible order. In term (b) each row is a smooth "
        "wave of the distance with an amplitude of its own. Term (c) has vertical stripes. Term "
        "(d) has stripes parallel to the diagonal.",
        "Contents and parameters drawn at random, each term by itself. What the letters of a term "
        "contain shows in its map.",
    )
