import numpy as np
from matplotlib.colors import ListedColormap

import posenc
from pictures.picture import COLOURS, Picture, axes, grid


def allocation() -> Picture:
    """The position that each of 64 pairs uses"""
    figure, plots = grid(2, 1, height=1.9, sharex=True)
    frequencies = ListedColormap(COLOURS[:3])
    for (plot,), sections, name in zip(
        plots, ([16, 24, 24], [24, 20, 20]), ("contiguous", "interleaved"), strict=True
    ):
        letters = np.zeros(64)
        for axis in (1, 2):
            place = np.zeros((3, 1), dtype=np.int64)
            place[axis] = 1
            x = np.tile([1.0, 0.0], 64)[None]
            turned = posenc.m_rope(x, place, sections, layout="interleaved", allocation=name)[0]
            letters[turned[1::2] != 0] = axis
        plot.imshow(letters[None], cmap=frequencies, vmin=0, vmax=2, aspect="auto")
        plot.set_yticks([0], [name])
        plot.spines[:].set_visible(False)
        plot.tick_params(length=0)
    plots[1][0].set_xlabel("pair, from fast to slow")
    for colour, label in zip(COLOURS, ("time", "height", "width"), strict=False):
        plots[0][0].plot([], [], "s", color=colour, label=label)
    plots[0][0].legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)
    return Picture(
        figure,
        "Two strips of 64 cells. The contiguous one has 16 cells of time, then 24 of height, then "
        "24 of width. The interleaved one alternates time, height and width up to cell 59, and its "
        "last four cells are time.",
        "Contiguous with 16, 24 and 24 pairs, interleaved with 24, 20 and 20.",
    )


def ids() -> Picture:
    """Time, height and width of the tokens of text, image, text, video, text"""
    figure, plot = axes(height=3.4)
    segments = [[4, 0, 0], [1, 6, 8], [3, 0, 0], [5, 4, 4], [3, 0, 0]]
    positions = posenc.m_rope_position_ids(segments, merge_size=2)
    for row, name, marker, size, colour in zip(
        positions, ("time", "height", "width"), ("_", "x", "."), (7, 4, 4), COLOURS, strict=False
    ):
        plot.plot(row, marker, color=colour, markersize=size, label=name)
    begin = 0
    for frames, height, width in segments:
        count = frames * (height // 2) * (width // 2) or frames
        name = "text" if height == 0 else "image" if frames == 1 else "video"
        plot.axvline(begin - 0.5, linestyle=":", linewidth=0.8)
        plot.annotate(name, (begin, 19.5), (begin + count / 2 - 0.5, 19.5), ha="center")
        begin += count
    plot.set(xlabel="token", ylabel="id", ylim=(-1, 21), yticks=range(0, 20, 4))
    plot.legend(loc="lower right")
    return Picture(
        figure,
        "Three ids of 42 tokens. In the first text they are equal and count 0 to 3. Through the "
        "image of three by four tokens the time stays at 4, the height goes from 4 to 6, the width "
        "runs from 4 to 7 three times. The next text goes on at 8 with equal ids. In the video of "
        "five frames of two by two tokens the time climbs from 11 to 15 while height and width "
        "repeat 11 and 12. The last text starts at 16.",
        "Ids by the rule of the largest. Every segment begins above everything before it.",
    )
