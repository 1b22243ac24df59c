"""Helpers for figures: one style for all, readable on light and dark backgrounds."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Circle, FancyBboxPatch

INK = "#010203"
"""Placeholder that becomes the colour of the text around the figure."""

COLOURS = ("#0a8f83", "#d9580d", "#7c6bd0", "#b8860b", "#c2417c", "#4b7fc4", "#5f8f2f", "#8a8a8a")
"""Line colours, each with a contrast of at least 3:1 on white and on the dark theme."""

NARROW = 3.7
"""Width of a figure on a phone, in inches."""

SEQUENTIAL = "viridis"
DIVERGING = "RdBu_r"

SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "posenc",
    "font.family": "sans-serif",
    "font.size": 10,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "savefig.bbox": "tight",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    **dict.fromkeys(
        (
            "text.color", "axes.edgecolor", "axes.labelcolor", "axes.titlecolor", "xtick.color",
            "ytick.color", "grid.color", "lines.color", "patch.edgecolor", "hatch.color",
        ),
        INK,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Picture:
    """A drawn figure and its words.

    The docstring of the function that draws it is its title. The description is for readers who
    cannot see it; the caption is shown below it. A diagram, whose layout is fixed, scrolls if it is
    too wide; any other figure is drawn narrower.
    """

    figure: Figure
    description: str
    caption: str
    diagram: bool = False


def axes(width: float = 7.0, height: float = 3.2, **kwargs: Any) -> tuple[Figure, Axes]:
    """Make a figure with one pair of axes in the style of the site; sizes are in inches."""
    figure = _sheet(width, height)
    return figure, figure.add_subplot(**kwargs)


def grid(
    rows: int, columns: int, width: float = 7.0, height: float = 3.2, **kwargs: Any
) -> tuple[Figure, Sequence[Sequence[Axes]]]:
    """Make a figure with rows and columns of axes; sizes are in inches.

    On a phone, more than two columns become rows of two axes, and two become rows of one.
    """
    across = columns
    if _narrow.get() and columns > 1:
        across = 2 if columns > 2 else 1
    lines = rows * math.ceil(columns / across)
    figure = _sheet(width, height * lines / rows)
    plots = figure.subplots(lines, across, squeeze=False, **kwargs).reshape(rows, -1)
    for plot in plots[:, columns:].flat:
        plot.remove()
    return figure, plots[:, :columns]


@contextmanager
def for_telephone() -> Iterator[None]:
    """Make figures drawn in this context narrow enough for readable text on a phone."""
    token = _narrow.set(True)
    try:
        yield
    finally:
        _narrow.reset(token)


_narrow = ContextVar("narrow", default=False)


def _sheet(width: float, height: float) -> Figure:
    wide = min(width, NARROW) if _narrow.get() else width
    return Figure(figsize=(wide, height), layout="constrained")


def legend(plot: Axes, **asked: Any) -> None:
    """Draw a legend with the options ``asked``.

    On a phone, which has no room next to lines, it is above the axes instead.
    """
    above = {"loc": "lower left", "bbox_to_anchor": (0, 1), "fontsize": 9}
    plot.legend(**(above if _narrow.get() else asked))


def columns(wide: int) -> int:
    """Return the number of columns of a legend below or above a figure: one on a phone."""
    return 1 if _narrow.get() else wide


def blank(plot: Axes, right: float, top: float) -> None:
    """Turn axes into an empty canvas for a diagram, from (0, 0) to (right, top)."""
    plot.set(xlim=(0, right), ylim=(0, top), aspect="equal")
    plot.axis("off")


def box(plot: Axes, x: float, y: float, text: str, colour: str = INK, width: float = 2.0) -> None:
    """Draw a box of a diagram with text in it, centred at a point."""
    low = (x - width / 2, y - 0.36)
    style = "round,pad=0.06"
    plot.add_patch(FancyBboxPatch(low, width, 0.72, boxstyle=style, fill=False, edgecolor=colour))
    plot.text(x, y, text, ha="center", va="center", fontsize=9.5)


def plus(plot: Axes, x: float, y: float) -> None:
    """Draw an addition sign of a diagram, centred at a point."""
    plot.add_patch(Circle((x, y), 0.28, fill=False))
    plot.text(x, y, "+", ha="center", va="center", fontsize=13)


def arrow(plot: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Draw an arrow of a diagram."""
    plot.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": INK, "linewidth": 1.2})


def shade(plot: Axes, mask: Any, colour: str = COLOURS[0], **kwargs: Any) -> None:
    """Fill the true cells of a boolean matrix, row 0 on top. Earlier drawings stay visible."""
    image = np.zeros((*np.shape(mask), 4))
    image[np.asarray(mask, dtype=bool)] = to_rgba(colour)
    plot.imshow(image, interpolation="none", **kwargs)


def fine_map(plot: Axes, values: Any, **kwargs: Any) -> AxesImage:
    """Draw a map of values from −1 to 1 with more cells than pixels.

    It has few colours, or its file would be as large as a page. Values are averaged before they are
    mapped to colours, so that no other colours appear.
    """
    few = colormaps[DIVERGING].resampled(32)
    return plot.imshow(
        values, cmap=few, vmin=-1, vmax=1, aspect="auto", interpolation_stage="data", **kwargs
    )


def draw_frame(plot: Axes, title: str = "") -> None:
    """Remove ticks and draw a full frame, as around a matrix."""
    plot.set_xticks([])
    plot.set_yticks([])
    plot.spines[:].set_visible(True)
    plot.set_title(title, fontsize=10)
