import numpy as np
from matplotlib.patches import Circle

import posenc
from pictures.animations import Axis, Moving, Series, Shown, Slider
from pictures.picture import COLOURS, DIVERGING, INK, Picture, axes, fine_map, grid


def dot_product() -> Picture:
    """Dot product of two sinusoidal rows against their distance"""
    figure, plot = axes()
    offsets = np.arange(0, 101)
    for dim, colour in zip((64, 512), COLOURS, strict=False):
        rows = posenc.sinusoidal(offsets, dim)
        plot.plot(offsets, rows @ rows[0] / (dim / 2), color=colour, label=f"{dim} channels")
    plot.axvline(44, linestyle=":", linewidth=1)
    plot.annotate("44", (44, 0.95), (46, 0.95))
    plot.set(
        xlabel="distance between the positions", ylabel="dot product, as a part of the largest"
    )
    plot.legend()
    return Picture(
        figure,
        "Both curves begin at 1 and fall steeply within ten positions, to about 0.6. They go on "
        "falling slowly in waves. With 512 channels the first rise is at distance 44.",
        "The dot product of two rows of the sinusoidal encoding falls with the distance, but in "
        "waves. With 512 channels it first rises at 44.",
    )


def clock_hands() -> Picture:
    """Four hands at four positions"""
    figure, plots = grid(1, 4, 7.4, 2.3)
    for plot, position in zip(plots[0], (0, 1, 5, 23), strict=True):
        row = posenc.sinusoidal([position], 8)[0]
        plot.add_patch(Circle((0, 0), 1, fill=False, linewidth=1))
        for pair, length in enumerate((1.0, 0.85, 0.7, 0.55)):
            sine, cosine = length * row[2 * pair : 2 * pair + 2]
            plot.plot([0, sine], [0, cosine], color=COLOURS[pair], linewidth=2.2)
        plot.set(xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), aspect="equal", title=f"position {position}")
        plot.axis("off")
    return Picture(
        figure,
        "Four clocks with four hands each. At position 0 all hands point up. At 1 the longest has "
        "turned by 57 degrees. At 5 it points to the left above, the second by 29 degrees to the "
        "right. At 23 the second has turned by 132 degrees, the third by 13, the fourth hardly.",
        "Eight channels make four hands, the longest the fastest: 1, 1/10, 1/100 and 1/1000 "
        "radian per position. To the right is the sine, upwards the cosine.",
    )


def heat_map() -> Picture:
    """The encoding of 128 positions with 512 channels"""
    figure, plot = axes(7.4, 3.4)
    shown = fine_map(plot, posenc.sinusoidal(np.arange(128), 512))
    plot.set(xlabel="channel", ylabel="position")
    figure.colorbar(shown, ax=plot, ticks=[-1, 0, 1])
    return Picture(
        figure,
        "A map of 128 rows and 512 columns. In the first columns the colours change from row to "
        "row; farther on the waves get longer, until from about channel 250 on the columns "
        "alternate between two colours, those of 0 and 1, and do not change any more from top to"
        " bottom.",
        "One row for each position, one column for each channel. Sines and cosines take turns; "
        "where columns are too narrow to be seen apart, the picture shows their mean.",
    )


def heat_map_small() -> Picture:
    """The encoding of 16 positions with 32 channels"""
    figure, plot = axes(7.4, 3.6)
    shown = plot.imshow(posenc.sinusoidal(np.arange(16), 32), cmap=DIVERGING, vmin=-1, vmax=1)
    plot.set(xlabel="channel", ylabel="position")
    plot.set_xticks(range(0, 32, 4))
    plot.set_yticks(range(0, 16, 3))
    figure.colorbar(shown, ax=plot, ticks=[-1, 0, 1], shrink=0.7)
    return Picture(
        figure,
        "A map of 16 rows and 32 columns. Row 0 alternates between 0 and 1. Columns 0 and 1 pass"
        " through two and a half waves, columns 8 and 9 through a quarter of one, and from "
        "column 16 on hardly anything changes.",
        "The same with fewer cells. Row 0 is 0, 1, 0, 1, … and the last columns still are in row"
        " 15.",
    )


def speeds() -> Picture:
    """The first ten positions on the circles of three pairs"""
    figure, plots = grid(1, 3, 7.4, 2.7)
    rows = posenc.sinusoidal(np.arange(10), 8)
    for pair, plot in enumerate(plots[0]):
        plot.add_patch(Circle((0, 0), 1, fill=False, linewidth=0.8))
        sines, cosines = rows[:, 2 * pair], rows[:, 2 * pair + 1]
        plot.plot(sines, cosines, "o", color=COLOURS[pair], markersize=4)
        for position in range(10) if pair < 2 else (0, 9):
            where = 1.2 * sines[position], 1.2 * cosines[position]
            plot.text(*where, str(position), ha="center", va="center", fontsize=8)
        plot.set(xlim=(-1.35, 1.35), ylim=(-1.35, 1.35), aspect="equal", title=f"pair {pair}")
        plot.axis("off")
    return Picture(
        figure,
        "Three circles with the points of positions 0 to 9. On the first they run around one and"
        " a half times, on the second through an arc of 52 degrees, on the third they nearly "
        "coincide.",
        "Eight channels, pairs 0, 1 and 2: the same ten positions, at a tenth of the speed each "
        "time.",
    )


def word_on_a_circle() -> Picture:
    """Two words in the channels of one pair, at the first seven positions"""
    figure, plot = axes(4.6, 3.8)
    rows = posenc.sinusoidal(np.arange(7), 512)[:, :2]
    for (name, x, y), colour in zip(
        (("dog", 0.6, 0.4), ("bites", 2.4, -0.7)), COLOURS, strict=False
    ):
        plot.add_patch(Circle((x, y), 1, fill=False, linewidth=0.8, edgecolor=colour))
        plot.plot([x], [y], "+", color=INK)
        plot.text(x + 0.08, y + 0.08, name)
        plot.plot(x + rows[:, 0], y + rows[:, 1], "o", color=colour, markersize=4)
        for position, (sine, cosine) in enumerate(rows):
            where = x + 1.16 * sine, y + 1.16 * cosine
            plot.text(*where, str(position), ha="center", va="center", fontsize=8)
    plot.set(aspect="equal", xlabel="channel 0", ylabel="channel 1")
    plot.set(xlim=(-0.8, 3.8), ylim=(-2.0, 1.8))
    return Picture(
        figure,
        "Two crosses, for the words dog and bites, each the centre of a circle of radius 1. On "
        "both circles the points of positions 0 to 6 stand at the same angles, beginning at the "
        "top.",
        "A word with its encoding, in channels 0 and 1: on a circle around the bare word, by 1 "
        "radian further with each position.",
    )


def waves() -> Moving:
    """The waves of eight channels, and the row of one position"""
    places = np.arange(129) / 2

    def shown(position: int, base: float) -> Shown:
        rows = posenc.sinusoidal(places, 8, base=base)
        (row,) = posenc.sinusoidal([position], 8, base=base)
        low = -2.5 * (np.arange(8) // 2)

        def lines(channels: slice) -> list[list[tuple[float, float]]]:
            drawn = (rows + low)[:, channels].T
            return [list(zip(places.tolist(), line.tolist(), strict=True)) for line in drawn]

        numbers = ", ".join(f"{value:.2f}" for value in row).replace("-", "−")
        return Shown(
            {
                "sine": lines(slice(0, None, 2)),
                "cosine": lines(slice(1, None, 2)),
                "row": [[(position, float(value))] for value in row + low],
            },
            f"The row of position {position}: {numbers}.",
        )

    return Moving(
        module="sinusoidal",
        sliders=(
            Slider("position", "position", range(65), 5),
            Slider("base", "base", (10, 100, 1000, 10000, 100000), 10000),
        ),
        x=Axis(0, 64, "position", range(0, 65, 16)),
        y=Axis(-8.7, 1.2),
        height=250,
        series=(
            Series("sine", "sine", 0),
            Series("cosine", "cosine", 1),
            Series("row", "the row of this position", 2, "dot"),
        ),
        shown=shown,
        description="Four pairs of a sine and a cosine, one below the other, over positions 0 to "
        "64. The upper pair passes through ten waves, the second through one, the third"
        " through a tenth of one, and the fourth is nearly flat. Eight dots mark where "
        "position 5 meets them.",
        caption="Eight channels. A position is told by the eight numbers that the waves have "
        "there. With a larger base the slow waves get slower; the first stays as it is.",
    )
