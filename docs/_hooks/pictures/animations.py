"""Interactive pictures: drawn when the site is built, and redrawn when a reader moves a slider.

A function under ``docs/figures`` that returns a Moving is shown like any other figure. Its content
is computed twice: here, by the reference, for the initial values of the sliders, and in the browser
by a module of ``docs/assets/moving``. ``tests/site/test_moving.py`` compares the two at every value
of each slider. Without JavaScript the first picture stays, without sliders.
"""

import html
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
class Axis:
    """The range and label of an axis; an axis without a label is not drawn."""

    low: float
    high: float
    words: str = ""
    ticks: Sequence[float] = ()


@dataclass(frozen=True)
class Series:
    """A moving element: its name in the code, its label, and how it is drawn."""

    name: str
    words: str
    colour: int
    form: str = "line"


@dataclass(frozen=True)
class Shown:
    """The strokes of every series for some values of the sliders, and their meaning in words."""

    strokes: Mapping[str, Sequence[Stroke]]
    said: str


@dataclass(frozen=True)
class Moving:
    """A picture with sliders; the docstring of the function that makes it is its title.

    ``shown`` takes the values of the sliders by name. ``background`` never moves.
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

    @property
    def frame(self) -> tuple[float, float, float, float]:
        """Left, upper, right and lower edge of the plotting area."""
        left = 10 + 0.62 * LETTER * max((len(_number(tick)) for tick in self.y.ticks), default=0)
        below = 2.9 * LETTER if self.x.words else 8
        above = 1.7 * LETTER if self.y.words else 8
        return left, above, WIDTH - 14, self.height - below

    def start(self) -> Shown:
        """Compute the initial picture, with all sliders at their start."""
        return self.shown(**{slider.name: slider.start for slider in self.sliders})


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


def html_of(name: str, title: str, moving: Moving, root: str) -> str:
    """Make the HTML of the figure; ``root`` is the relative address of the site's root."""
    initial = moving.start()
    frame = [round(entry, 2) for entry in moving.frame]
    limits = [moving.x.low, moving.x.high, moving.y.low, moving.y.high]
    paths = "".join(
        f'<path class="moving-{entry.form} moving-{entry.colour}" data-series="{entry.name}" '
        f'data-form="{entry.form}" d="{path(initial.strokes[entry.name], moving, entry.form)}"/>'
        for entry in moving.series
    )
    key = "".join(
        f'<span class="moving-key-{entry.colour}">{html.escape(entry.words)}</span>'
        for entry in moving.series
    )
    sliders = "".join(_slider(name, entry) for entry in moving.sliders)
    return (
        f'<link rel="stylesheet" href="{root}assets/moving/moving.css">'
        f'<script type="module" src="{root}assets/moving/page.js"></script>'
        f'<figure class="drawn moving" id="figure-{name}" data-module="{moving.module}" '
        f'data-frame="{json.dumps(frame)}" data-limits="{json.dumps(limits)}">'
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {moving.height:g}" '
        f'role="img" aria-labelledby="{name}-title {name}-description">'
        f'<title id="{name}-title">{html.escape(title)}</title>'
        f'<desc id="{name}-description">{html.escape(moving.description)}</desc>'
        f"{_axes(moving)}{paths}</svg>"
        f'<div class="moving-key">{key}</div>'
        f'<div class="moving-sliders" hidden>{sliders}</div>'
        f'<p class="moving-said" role="status">{html.escape(initial.said)}</p>'
        f"<figcaption>{html.escape(moving.caption, quote=False)}</figcaption></figure>"
    )


def _slider(figure: str, slider: Slider) -> str:
    values = list(slider.values)
    id = f"{figure}-{slider.name.replace('_', '-')}"
    now = _number(slider.start)
    return (
        f'<div><label for="{id}">{html.escape(slider.words)}</label>'
        f'<input type="range" id="{id}" name="{slider.name}" min="0" max="{len(values) - 1}" '
        f'step="1" value="{values.index(slider.start)}" aria-valuetext="{now}" '
        f'data-values="{json.dumps(values)}" autocomplete="off">'
        f'<output for="{id}">{now}</output></div>'
    )


def _axes(moving: Moving) -> str:
    left, top, right, bottom = moving.frame
    x, y = moving.x, moving.y
    lines = path(moving.background, moving)
    text = ""
    if x.words:
        lines += f"M{left:.1f},{bottom:.1f}H{right:.1f}"
        lines += path([[(tick, y.low)] for tick in x.ticks], moving).replace("h0", "v4")
        for tick in x.ticks:
            across = left + (right - left) * (tick - x.low) / (x.high - x.low)
            text += _text(across, bottom + 1.3 * LETTER, "middle", _number(tick))
        text += _text((left + right) / 2, bottom + 2.5 * LETTER, "middle", x.words)
    if y.words:
        lines += f"M{left:.1f},{top:.1f}V{bottom:.1f}"
        lines += path([[(x.low, tick)] for tick in y.ticks], moving).replace("h0", "h-4")
        for tick in y.ticks:
            down = bottom - (bottom - top) * (tick - y.low) / (y.high - y.low)
            text += _text(left - 6, down + 0.35 * LETTER, "end", _number(tick))
        text += _text(2, 0.9 * LETTER, "start", y.words)
    return f'<path class="moving-axes" d="{lines}"/>{text}'


def _text(x: float, y: float, anchor: str, words: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(words)}</text>'


def _number(value: Any) -> str:
    return f"{value:,}".replace("-", "−")
