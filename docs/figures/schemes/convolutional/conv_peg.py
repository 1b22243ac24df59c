import numpy as np

import posenc
from pictures.picture import SEQUENTIAL, Picture, draw_frame, grid


def border() -> Picture:
    """Equal patches after one, three and seven layers"""
    size = 14
    weight = np.array([[[0.41, 1.03, 0.73], [0.92, -0.61, 0.37], [0.17, 0.84, 0.53]]]) / 9
    picture: np.ndarray = np.ones((size * size, 1))
    figure, plots = grid(1, 3, 7.2, 2.7)
    done = 0
    for plot, layers in zip(plots[0], (1, 3, 7), strict=True):
        while done < layers:
            picture = posenc.conv_peg(picture, weight, np.zeros(1), size, size)
            done += 1
        kinds = len(np.unique(picture.round(9)))
        plot.imshow(picture.reshape(size, size), cmap=SEQUENTIAL, interpolation="none")
        draw_frame(plot, f"{layers} layer{'s' * (layers > 1)}: {kinds} kinds")
    return Picture(
        figure,
        "Three maps of 14 by 14 patches that were all equal. After one layer the border has other "
        "values than the interior. After three layers a frame of three patches differs. After "
        "seven layers values rise gradually from all borders to the middle.",
        "The zeros beyond the border make its patches different, and each further layer carries "
        "that one patch inwards. After seven layers no two patches are equal.",
    )
