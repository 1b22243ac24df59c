import numpy as np

import posenc
from pictures.picture import COLOURS, Picture, axes, legend


def _keys(s: np.ndarray, a: float) -> np.ndarray:
    s = np.abs(s)
    near = (a + 2) * s**3 - (a + 3) * s**2 + 1
    far = a * s**3 - 5 * a * s**2 + 8 * a * s - 4 * a
    return np.where(s <= 1, near, np.where(s < 2, far, 0))


def kernels() -> Picture:
    """Weights of an old cell by its distance from the new one"""
    figure, plot = axes()
    distances = np.linspace(-2.2, 2.2, 441)
    for name, values, colour in (
        ("a = −3/4: bicubic", _keys(distances, -0.75), COLOURS[1]),
        ("a = −1/2: bicubic-antialias", _keys(distances, -0.5), COLOURS[0]),
        ("straight lines", np.maximum(0, 1 - np.abs(distances)), COLOURS[2]),
    ):
        plot.plot(distances, values, color=colour, label=name)
    plot.axhline(0, linewidth=0.8)
    plot.set(xlabel="distance in old cells", ylabel="weight")
    legend(plot, loc="upper right")
    return Picture(
        figure,
        "Three curves that are 1 at distance 0 and 0 at the distances 1 and 2. Between 1 and 2 "
        "both cubic ones are below zero, that of -3/4 more so.",
        "All three are 1 at the cell itself and 0 at all others. The cubic ones dip below zero "
        "between distance 1 and 2.",
    )


def edge() -> Picture:
    """An edge of four cells, read at 24"""
    figure, plot = axes()
    cells = np.tile([0.0, 0.0, 1.0, 1.0], 4)[:, None]
    kinds = ("bicubic", "bicubic-antialias", "linear-corners")
    for how, colour in zip(kinds, (COLOURS[1], COLOURS[0], COLOURS[2]), strict=True):
        row = posenc.learned_grid(cells, 4, 24, resampling=how, class_tokens=0)[:24, 0]
        plot.plot(np.arange(24), row, "o-", markersize=3, color=colour, label=how)
    plot.axhline(0, linewidth=0.8)
    plot.axhline(1, linewidth=0.8)
    plot.set(xlabel="new cell", ylabel="value")
    plot.legend(loc="center right")
    return Picture(
        figure,
        "Three curves rise from 0 to 1 in the middle. Both cubic ones first go below 0 and then "
        "above 1. The straight one stays between them.",
        "The old cells are 0, 0, 1 and 1. Cubic kernels leave the range of the table, straight "
        "lines do not.",
    )
