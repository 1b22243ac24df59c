import posenc
from pictures.picture import COLOURS, Picture, axes


def lengths() -> Picture:
    """The same positions in sequences of four lengths"""
    figure, plot = axes(7.0, 2.8)
    sizes = (3, 5, 9, 17)
    for row, length in enumerate(sizes):
        values = posenc.normalized(length, 1)[:, 0]
        plot.plot(values, [row] * length, "o", color=COLOURS[0], markersize=5)
        plot.plot(values[2], row, "o", color=COLOURS[1], markersize=8)
        for position in (0, 1, 2, length - 1):
            plot.text(values[position], row + 0.22, str(position), ha="center", fontsize=8)
    plot.set_yticks(range(4), [f"{length} tokens" for length in sizes])
    plot.set(xlabel="value of every channel", ylim=(-0.4, 3.6))
    return Picture(
        figure,
        "Four rows of points between 0 and 1, with 3, 5, 9 and 17 points. Position 2, marked, is"
        " at 1 in the first, 0.5 in the second, 0.25 and 0.125 in the others.",
        "Position 2, marked, is the end of a sequence of 3 and an eighth of the way through one "
        "of 17.",
    )
