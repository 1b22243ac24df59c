import numpy as np

import posenc
from pictures.picture import DIVERGING, Picture, draw_frame, grid


def rows() -> Picture:
    """What the table adds, and what the product with rows adds"""
    n, channels, clip = 16, 8, 6
    generator = np.random.default_rng(8)
    q = np.broadcast_to(generator.standard_normal(channels), (1, n, channels))
    table = generator.standard_normal((2 * clip + 1, channels))
    pairs = posenc.shaw_scores(q, np.zeros((1, n, channels)), table)[0]
    absolute = q[0] @ generator.standard_normal((n, channels)).T / np.sqrt(channels)
    figure, plots = grid(1, 2, 6.4, 3.1)
    limit = max(np.abs(pairs).max(), np.abs(absolute).max())
    for plot, values, title in zip(
        plots[0], (pairs, absolute), ("a row for each pair", "read as Q R\u1d40"), strict=True
    ):
        plot.imshow(values, cmap=DIVERGING, vmin=-limit, vmax=limit)
        draw_frame(plot, title)
        plot.set_xlabel("key")
    plots[0][0].set_ylabel("query")
    return Picture(
        figure,
        "Two maps for 16 equal queries. In the first, stripes parallel to the diagonal, and one "
        "colour each in the two corners beyond distance 6. In the second, vertical stripes.",
        "Sixteen equal queries and a table drawn at random. With a row for each pair the score "
        "follows the distance, and is constant in the corners, where it is clipped. Read as a "
        "matrix product it follows the key's position.",
    )
