from itertools import chain

import numpy as np

import posenc
from pictures.picture import COLOURS, Picture, draw_frame, grid, shade


def numbering() -> Picture:
    """Numbers of tokens in four situations"""
    left = np.array([[1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 1, 1]])
    packed = posenc.packed_position_ids([3, 2, 4])
    whose = np.repeat([0, 1, 2], [3, 2, 4])
    cached = np.concatenate([posenc.cached_position_ids(0, 4), posenc.cached_position_ids(4, 3)])
    rows = {
        "padded on the left": (posenc.padded_position_ids(left), np.where(left, 0, -1)),
        "the same for fairseq": (posenc.fairseq_position_ids(left, 1), np.where(left, 0, -1)),
        "packed: three texts": (packed[None], whose[None]),
        "cached: four, then three new": (cached[None], np.repeat([[0, 1]], [4, 3], axis=1)),
    }
    figure, plots = grid(2, 2, 7.0, 3.0)
    for plot, (title, (ids, colour)) in zip(chain.from_iterable(plots), rows.items(), strict=True):
        for kind in range(3):
            shade(plot, colour == kind, COLOURS[kind], alpha=0.5)
        for i, j in np.ndindex(*ids.shape):
            plot.text(
                j,
                i,
                str(ids[i, j]),
                ha="center",
                va="center",
                alpha=0.45 if colour[i, j] < 0 else 1,
            )
        draw_frame(plot, title)
    return Picture(
        figure,
        "Four grids of numbers. Three texts padded on the left: each begins with 0 at its first "
        "token, and padding has 0. For fairseq tokens begin at 2 and padding has 1. Three packed "
        "texts of 3, 2 and 4 tokens begin with 0 each. Behind four cached tokens 0 to 3 the new "
        "ones have 4, 5 and 6.",
        "Colours are tokens, pale numbers padding, which is masked. Each text begins at its "
        "own 0, or at 2 for fairseq with padding token 1.",
    )
