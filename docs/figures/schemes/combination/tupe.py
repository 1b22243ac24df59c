import numpy as np

import posenc
from pictures.picture import DIVERGING, Picture, draw_frame, grid


def position_part() -> Picture:
    """What positions add for 20 tokens, with [CLS] tied, untied, and with T5's bias"""
    n, channels = 20, 8
    generator = np.random.default_rng(9)
    waves = posenc.sinusoidal(np.arange(n + 1), 16)
    p_q, p_k = (waves @ generator.standard_normal((16, channels)) / 4 for _ in range(2))
    none = np.zeros((1, n, channels))
    tied = posenc.tupe_scores(none, none, p_q[None, 1:], p_k[None, 1:], cls="tied")[0]
    p_q[0], p_k[0] = 0, 0
    p_q[0, 0], p_k[0, 0] = 6, 1
    p_q[1], p_k[1] = 0, 0
    p_q[1, 0], p_k[1, 0] = -6, 1
    untied = posenc.tupe_scores(none, none, p_q[None], p_k[None])[0]
    distance = np.concatenate([np.arange(16), np.arange(16), [0]])
    table = 1.5 - 0.25 * distance[:, None]
    relative = posenc.tupe_relative_scores(
        none, none, p_q[None], p_k[None], table[:32], reset="together"
    )[0]
    figure, plots = grid(1, 3, 7.2, 2.8)
    names = ("tied", "untied (TUPE-A)", "with a bias (TUPE-R)")
    for plot, values, name in zip(plots[0], (tied, untied, relative), names, strict=True):
        limit = np.abs(values).max()
        plot.imshow(values, cmap=DIVERGING, vmin=-limit, vmax=limit)
        draw_frame(plot, name)
        plot.set_xlabel("key")
    plots[0][0].set_ylabel("query")
    return Picture(
        figure,
        "Three maps of 20 queries and keys. Tied, a smooth pattern of waves without stripes along "
        "the diagonal. Untied, the same with one colour in the whole first row and another in the "
        "rest of the first column. With a bias, the pattern gains a bright diagonal.",
        "Projected sinusoids, without any text. Untied, the row and the column of [CLS] have one "
        "number each. A relative bias adds the diagonal.",
    )
