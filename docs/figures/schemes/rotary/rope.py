import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Arc

import posenc
from pictures.animations import Axis, Moving, Series, Shown, Slider
from pictures.picture import COLOURS, INK, Picture, grid


def _arrow(plot: Axes, tip: np.ndarray, colour: str, name: str) -> None:
    style = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.8, "shrinkA": 0, "shrinkB": 0}
    x, y = tip
    plot.annotate("", (x, y), (0, 0), arrowprops=style)
    plot.annotate(name, (1.15 * x, 1.15 * y), ha="center", va="center", color=colour)


def arrows() -> Picture:
    """One pair of a query and of a key, turned by their positions"""
    figure, plots = grid(1, 3, height=2.7)
    query, key = np.array([[1.0, 0.2]]), np.array([[0.45, -0.85]])
    angle = np.degrees(np.arctan2(*query[0][::-1]) - np.arctan2(*key[0][::-1]))
    for plot, places in zip(plots[0], (None, (2, 1), (6, 5)), strict=True):
        q, k = query[0], key[0]
        if places is None:
            plot.set_title("without positions")
        else:
            q, k = (posenc.rope(x, [p])[0] for x, p in ((query, places[0]), (key, places[1])))
            plot.set_title(f"query at {places[0]}, key at {places[1]}")
        between = angle if places is None else angle + np.degrees(places[0] - places[1])
        begin = np.degrees(np.arctan2(k[1], k[0]))
        plot.add_patch(Arc((0, 0), 0.7, 0.7, theta1=begin, theta2=begin + between, color=INK))
        middle = np.radians(begin + between / 2)
        plot.annotate(
            f"{between:.0f}°",
            (0.55 * np.cos(middle), 0.55 * np.sin(middle)),
            ha="center",
            va="center",
        )
        _arrow(plot, q, COLOURS[0], "q")
        _arrow(plot, k, COLOURS[1], "k")
        plot.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), aspect="equal", xticks=[], yticks=[])
        plot.spines[:].set_visible(False)
    return Picture(
        figure,
        "Three drawings of two arrows in a plane, a query q and a key k. Without positions the "
        "angle between them is 73 degrees. With the query at position 2 and the key at 1 both are "
        "turned to other places, and the angle is 131 degrees. With the query at 6 and the key at "
        "5 they point elsewhere again, and the angle is still 131 degrees.",
        "One pair of frequency 1. Both arrows are turned by their positions and keep their "
        "lengths. The angle between them grows by the difference of the positions, wherever they "
        "stand.",
    )


def turning() -> Moving:
    """Four pairs of a query and a key, turned by their positions"""
    turn = np.linspace(0, 2 * np.pi, 49)
    middles = [2.4 * pair for pair in range(4)]
    rims = [[(x + float(np.cos(a)), float(np.sin(a))) for a in turn] for x in middles]

    def hands(row: np.ndarray) -> list[list[tuple[float, float]]]:
        return [
            [(x, 0.0), (x + float(row[2 * pair]), float(row[2 * pair + 1]))]
            for pair, x in enumerate(middles)
        ]

    def shown(key: int, distance: int, base: float) -> Shown:
        up = np.tile([1.0, 0.0], (2, 4))
        q, k = posenc.rope(up, [key + distance, key], base=base)
        product = f"{q @ k:.3f}".replace("-", "−")
        return Shown(
            {"query": hands(q), "key": hands(k)},
            f"Query at position {key + distance}, key at {key}. Their dot product is {product}, "
            "wherever the key stands.",
        )

    return Moving(
        module="rope",
        sliders=(
            Slider("key", "position of the key", range(65), 3),
            Slider("distance", "distance", range(33), 2),
            Slider("base", "base", (10, 100, 1000, 10000, 100000, 500000, 1000000), 10000),
        ),
        x=Axis(-1.1, 8.3),
        y=Axis(-1.1, 1.1),
        height=108,
        series=(Series("query", "query", 0, "hand"), Series("key", "key", 1, "hand")),
        shown=shown,
        background=rims,
        description="Four circles, one for each pair of 8 channels, with a hand of the query and "
        "one of the key. In the first circle the hands stand at 5 and at 3 radians. In "
        "each of the others they have turned by a tenth of that in the circle before, "
        "and in the last both point to the right.",
        caption="Pairs 0 to 3 of 8 channels. Move the key: all hands turn, and query and key "
        "stay as far from each other as before. Only the distance changes the dot "
        "product.",
    )
