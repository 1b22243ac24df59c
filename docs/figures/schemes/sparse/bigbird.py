import numpy as np

import posenc
from pictures.picture import COLOURS, Picture, axes, draw_frame, shade


def three_parts() -> Picture:
    """Window, global rows and global columns of 10 blocks of 2 tokens"""
    n, size = 20, 2
    figure, plot = axes(3.6, 3.6)
    block = np.arange(n) // size
    ends = (block == 0) | (block == block[-1])
    window = np.abs(block[:, None] - block) <= 1
    rows = np.broadcast_to(ends[:, None], (n, n))
    columns = np.broadcast_to(ends, (n, n))
    assert np.array_equal(window | rows | columns, posenc.bigbird_mask(n, n, size))
    shade(plot, columns & ~rows & ~window, COLOURS[1])
    shade(plot, rows & ~window, COLOURS[2])
    shade(plot, window, COLOURS[0])
    draw_frame(plot)
    plot.set(xlabel="key", ylabel="query")
    return Picture(
        figure,
        "A map of 20 queries and 20 keys. A green band of three blocks runs along the diagonal. "
        "The first and last two rows are violet, the first and last two columns orange.",
        "Green: the window of three blocks. Violet: the two global blocks as queries, which see "
        "everything. Orange: the two global blocks as keys, which everything sees.",
    )
