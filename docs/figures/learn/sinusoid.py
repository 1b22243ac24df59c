import numpy as np

import posenc
from pictures.animations import Axis, Moving, Note, Pick, Point, Series, Shown, Slider, Stroke
from pictures.picture import DIVERGING, Picture, axes

ROWS, CHANNELS = 24, 16
PITCH, TOP, ZERO, SCALE = 0.9, 7.4, 22.0, 1.8
"""Height of a row and its first upper edge; where bars begin, and the length of 1."""


def heat_map() -> Picture:
    """The encoding of 64 positions with 32 channels"""
    figure, plot = axes(7.0, 3.8)
    rows = posenc.sinusoidal(np.arange(64), 32)
    image = plot.imshow(rows, cmap=DIVERGING, vmin=-1, vmax=1, aspect="auto")
    plot.set(xlabel="channel", ylabel="position")
    figure.colorbar(image, ticks=[-1, 0, 1])
    return Picture(
        figure,
        "A map of 64 rows and 32 columns. In the first columns the colours change within a few "
        "rows. Further right the waves get longer, and from about column 20 on the columns "
        "alternate between white and one dark colour, and stay so from top to bottom.",
        "One row for each position and one column for each channel. Blue is −1, white is 0, and "
        "red is 1. Sines and cosines take turns.",
    )


def _bar(row: int, start: float, end: float) -> list[Point]:
    """Return opposite corners of a bar beside a row."""
    return [(start, TOP + PITCH * row + 0.05), (end, TOP + PITCH * (row + 1) - 0.05)]


def linked() -> Moving:
    """One row as colours, as hands, and by its dot product with each row"""
    rows = posenc.sinusoidal(np.arange(ROWS), CHANNELS)
    products = rows @ rows.T
    turn = np.linspace(0, 2 * np.pi, 37)
    middles = [2.1 + 4.75 * t for t in range(CHANNELS // 2)]
    rims = [[(x + 2 * float(np.sin(a)), 2.4 - 2 * float(np.cos(a))) for a in turn] for x in middles]
    cells: list[tuple[Stroke, float]] = [
        (_bar(n, 1.15 * channel, 1.15 * channel + 1.05), float(value))
        for n, row in enumerate(rows)
        for channel, value in enumerate(row)
    ]

    def shown(position: int) -> Shown:
        row = rows[position].tolist()
        bars = [_bar(n, ZERO, ZERO + SCALE * float(p)) for n, p in enumerate(products[position])]
        (left, upper), (right, lower) = _bar(position, -0.2, 1.15 * CHANNELS + 0.2)
        named = [
            f"{products[position, n]:.2f} with row {n}".replace("-", "−")
            for n in (position - 1, position, position + 1, position + 8)
            if 0 <= n < ROWS
        ]
        return Shown(
            {
                "hands": [
                    [(x, 2.4), (x + 2 * row[2 * t], 2.4 - 2 * row[2 * t + 1])]
                    for t, x in enumerate(middles)
                ],
                "product": [bar for n, bar in enumerate(bars) if n != position],
                "chosen": [bars[position]],
                "row": [
                    [(left, upper), (right, upper), (right, lower), (left, lower), (left, upper)]
                ],
            },
            f"The dot product of row {position} is {', '.join(named)}.",
        )

    return Moving(
        module="linked",
        sliders=(Slider("position", "position", range(ROWS), 5),),
        x=Axis(-2.4, 37.6),
        y=Axis(29.2, 0),
        height=307,
        series=(
            Series("hands", "the row as hands", 0, "hand"),
            Series("chosen", "dot product with itself", 1, "box"),
            Series("product", "dot product with another row", 2, "box"),
            Series("row", "", 2),
        ),
        shown=shown,
        description="Above, eight clocks with one hand each. Below them on the left, a map of 24 "
        "rows and 16 columns in which row 5 has a frame. On the right, a bar for each row. The bar "
        "of row 5 is the longest, those of rows 4 and 6 are nearly as long, and from there they "
        "get shorter on both sides.",
        caption="Point at a row. The clocks show its eight pairs, the bars its dot product with "
        "every row. Orange cells are positive and green ones negative.",
        background=[*rims, [(ZERO, TOP), (ZERO, TOP + PITCH * ROWS)]],
        shades=cells,
        notes=(
            Note(0, 6.6, "16 channels"),
            Note(20.5, 6.6, "dot product with rows"),
            *(Note(-0.6, TOP + PITCH * (n + 0.8), f"{n}", "end") for n in (0, 8, 16, 23)),
        ),
        pick=Pick("position", "y", TOP, PITCH),
    )
