"""Interactive pictures: drawn when the site is built, and redrawn when a reader moves a slider.

A function under ``docs/figures`` that returns a Moving is shown like any other figure. Its content
is computed twice: here, by the reference, for the initial values of its controls, and in the
browser by a module of ``docs/assets/moving``. ``tests/site/test_moving.py`` compares the two at
every value of each control. Without JavaScript the first picture stays, without controls.
``moving_html.py`` writes the HTML.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Point = tuple[float, float]
Stroke = Sequence[Point]
"""A line through points, the two corners of a box, or a single dot."""

WIDTH = 420.0
LETTER = 15.5
"""Font size for phones: on a screen of at least 320 pixels it is at least 12 pixels.

The style sheet uses a smaller font on wide screens; the frame has room for both.
"""


@dataclass(frozen=True)
class Slider:
    """A slider: its name in the code, its label, its values, and the initial one."""

    name: str
    words: str
    values: Sequence[float]
    start: float


@dataclass(frozen=True)
class Choice:
    """A list to choose from: its name in the code, its label, and its values, initial one first."""

    name: str
    words: str
    values: Sequence[str]


@dataclass(frozen=True)
class Sentence:
    """A field for a sentence whose words can be moved; ``shown`` takes the words as a list."""

    name: str
    words: str
    start: Sequence[str]
    tried: Sequence[Sequence[str]] = ()
    """Other sentences with which the browser is compared."""


@dataclass(frozen=True)
class Pick:
    """A slider that follows the pointer: its first value begins at ``start`` of an axis."""

    slider: str
    axis: str
    start: float
    pitch: float = 1


@dataclass(frozen=True)
class Note:
    """Text that never moves, at a point of the plotting area."""

    x: float
    y: float
    words: str
    anchor: str = "start"


@dataclass(frozen=True)
class Axis:
    """The range and label of an axis; an axis without a label is not drawn."""

    low: float
    high: float
    words: str = ""
    ticks: Sequence[float] = ()
    letters: int = 0
    """If more than 0: ``Shown.names`` has the words at the ticks, and none is longer."""


@dataclass(frozen=True)
class Series:
    """A moving element: its name in the code, its label, and how it is drawn.

    The form is ``line``, ``box``, ``dot``, or ``hand``: a line that turns about its first point.
    """

    name: str
    words: str
    colour: int
    form: str = "line"


@dataclass(frozen=True)
class Shown:
    """The strokes of every series for some values of the controls, and their meaning in words.

    ``names`` has the words at the ticks of each named axis; ticks without words are empty.
    """

    strokes: Mapping[str, Sequence[Stroke]]
    said: str
    names: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Moving:
    """A picture with controls; the docstring of the function that makes it is its title.

    ``shown`` takes the values of the controls by name. ``background`` never moves, nor do
    ``shades``: boxes with a number from −1 to 1 as their colour. ``data`` are the numbers that the
    browser cannot compute; its module gets them beside the values.
    """

    module: str
    sliders: Sequence[Slider]
    x: Axis
    y: Axis
    height: float
    series: Sequence[Series]
    shown: Callable[..., Shown]
    description: str
    caption: str
    background: Sequence[Stroke] = ()
    shades: Sequence[tuple[Stroke, float]] = ()
    notes: Sequence[Note] = ()
    choices: Sequence[Choice] = ()
    sentence: Sentence | None = None
    pick: Pick | None = None
    data: Any = None

    @property
    def frame(self) -> tuple[float, float, float, float]:
        """Left, upper, right and lower edge of the plotting area."""
        widest = self.y.letters or max((len(number(tick)) for tick in self.y.ticks), default=0)
        left = 10 + 0.62 * LETTER * widest
        below = 2.9 * LETTER if self.x.words else 8
        above = 1.7 * LETTER if self.y.words else 8
        return left, above, WIDTH - 14, self.height - below

    def start(self) -> Shown:
        """Compute the initial picture, with all controls at their start."""
        return self.shown(**self.settings())

    def settings(self) -> dict[str, Any]:
        """Return the initial values of all controls, by name."""
        result: dict[str, Any] = {slider.name: slider.start for slider in self.sliders}
        result |= {choice.name: choice.values[0] for choice in self.choices}
        if self.sentence:
            result[self.sentence.name] = list(self.sentence.start)
        return result

    def ticks(self, name: str, axis: Axis) -> Sequence[str]:
        """Return the initial words at the ticks of an axis."""
        return self.start().names[name] if axis.letters else [number(tick) for tick in axis.ticks]


def path(strokes: Sequence[Stroke], moving: Moving, form: str = "line") -> str:
    """Write the strokes as an SVG path; ``docs/assets/moving/path.js`` does the same."""
    left, top, right, bottom = moving.frame
    x, y = moving.x, moving.y

    def place(point: Point) -> tuple[float, float]:
        across = left + (right - left) * (point[0] - x.low) / (x.high - x.low)
        return across, bottom - (bottom - top) * (point[1] - y.low) / (y.high - y.low)

    def drawn(stroke: Stroke) -> str:
        places = [place(point) for point in stroke]
        if form == "box":
            (a, b), (c, d) = places
            return f"M{a:.1f},{b:.1f}H{c:.1f}V{d:.1f}H{a:.1f}Z"
        points = "L".join(f"{a:.1f},{b:.1f}" for a, b in places)
        return f"M{points}" + ("h0" if len(places) == 1 else "")

    return "".join(map(drawn, strokes))


def number(value: float) -> str:
    """Write a number with commas and a typographic minus sign."""
    return f"{value:,}".replace("-", "−")
