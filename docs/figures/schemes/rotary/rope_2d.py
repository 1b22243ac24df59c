import numpy as np

import posenc
from pictures.picture import SEQUENTIAL, Picture, grid

SIZE, DIM = 33, 64


def offsets() -> Picture:
    """Scores of equal queries and keys against their offset, in both forms"""
    figure, (plots,) = grid(1, 2, height=3.4)
    middle = SIZE // 2
    row, column = np.divmod(np.arange(SIZE * SIZE), SIZE)
    ones = np.tile([[1.0, 0.0]], (SIZE * SIZE, DIM // 2))
    pairs = np.arange(DIM // 2)
    speed, direction = 100.0 ** (-(pairs // 4) / 8), np.pi * (pairs % 4) / 4
    frequencies = np.stack([speed * np.cos(direction), speed * np.sin(direction)])[:, None]
    axial = posenc.rope_2d(ones, [row, column], base=100.0)
    mixed = posenc.rope_2d_mixed(ones[None], [row, column], frequencies)[0]
    for plot, turned, name in zip(plots, (axial, mixed), ("axial", "mixed"), strict=True):
        scores = (turned @ turned[middle * SIZE + middle]).reshape(SIZE, SIZE)
        image = plot.imshow(
            scores, cmap=SEQUENTIAL, vmin=0, vmax=32, extent=(-16.5, 16.5, 16.5, -16.5)
        )
        plot.set(
            title=name, xlabel="offset of the column", xticks=[-16, 0, 16], yticks=[-16, 0, 16]
        )
    plots[0].set_ylabel("offset of the row")
    figure.colorbar(image, ax=list(plots), label="score", shrink=0.8)
    return Picture(
        figure,
        "Two square maps of scores against the offsets of row and column, from -16 to 16. Both are "
        "brightest in the middle, at offset 0, with 32. The axial one shows a bright cross along "
        "the middle row and the middle column. The mixed one, with four directions, has a bright "
        "spot with faint rays.",
        "Equal queries and keys of 64 channels. In the mixed form the learned frequencies "
        "are set to four directions of eight speeds each.",
    )
