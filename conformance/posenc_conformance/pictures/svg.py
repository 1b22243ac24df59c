"""Draw a picture as SVG that stands alone: no script, font or address from outside.

Shades get steadily darker, or brighter on a dark page, so that they survive printing in grey.
"""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from math import isfinite, log10

from posenc_conformance.errors import apart
from posenc_conformance.pictures.picture import (
    BOUND,
    HIDDEN,
    LEVELS,
    RIGHT,
    Lines,
    Map,
    Picture,
    Series,
)

WIDTH, LEFT, TOP, ACROSS = 640, 76, 40, 540
"""Width of the picture; left and top edge, and width, of the plot."""
TALLEST, LOWEST, UP = 360, 24, 220
"""Largest and smallest height of a map, and the height of a plot of lines."""
SHADES = 5
Point = tuple[float, float]
EXPECTED = ("asked", "expected")
"""Names of lines to which another one is compared."""
ALIKE = 1e-5
"""Largest difference, as a share, that is as small as the error of reading a line."""
WRONG = {
    "light": ("#f0a878", "#d9743f", "#b04a1c", "#7a2a08", "#3d1000"),
    "dark": ("#8a4a28", "#b8693c", "#e08f5c", "#f7bd94", "#fff0e4"),
}
"""Shades of wrong cells, the least error first, by theme."""
SEEN = {
    "light": ("#d5e3f2", "#a3c2e2", "#6794c4", "#2f5f95", "#0b2b52"),
    "dark": ("#243b55", "#3a6291", "#6290c5", "#9dc0e6", "#e4effb"),
}
"""Shades of values, the least first, by theme."""
PLAIN = {
    "light": {"paper": "#ffffff", "ink": "#1b1f24", "right": "#eceff2", "edge": "#5c6670"},
    "dark": {"paper": "#14171b", "ink": "#e8ebee", "right": "#2b3138", "edge": "#9aa5b1"},
}
"""Colours of paper, text, right cells and frames, by theme."""


def _rules(theme: str) -> str:
    plain = PLAIN[theme]
    shades = [
        f".px .{letter}{number}{{stroke:{colour}}}"
        for letter, colours in (("w", WRONG[theme]), ("v", SEEN[theme]))
        for number, colour in enumerate(colours)
    ]
    return (
        f".px .paper{{fill:{plain['paper']}}}.px text{{fill:{plain['ink']}}}"
        f".px .right{{stroke:{plain['right']}}}.px .edge{{stroke:{plain['edge']}}}"
        f".px .dot{{fill:{plain['ink']}}}.px .line{{stroke:{plain['edge']}}}" + "".join(shades)
    )


STYLE = (
    "div>.px{max-width:100%;height:auto}"
    ".px text{font:12px sans-serif}.px .head{font-weight:bold;font-size:14px}"
    ".px path,.px .edge,.px .line{fill:none}.px .line{stroke-width:2}"
    + _rules("light")
    + "@media (prefers-color-scheme:dark){"
    + _rules("dark")
    + "}"
)
"""The rules for all pictures: a page of many needs them once."""


def draw(picture: Picture, *, style: bool = True) -> str:
    """Return a picture as SVG; without ``style`` for a page that has STYLE."""
    height, parts = _map(picture) if isinstance(picture, Map) else _lines(picture)
    rules = f"<style>{STYLE}</style>" if style else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="px" role="img" width="{WIDTH}" '
        f'height="{height}" viewBox="0 0 {WIDTH} {height}"><title>{escape(picture.title)}</title>'
        f"<desc>{escape(describe(picture))}</desc>{rules}"
        f'<rect class="paper" width="{WIDTH}" height="{height}"/>'
        f"{_text(8, 22, picture.title, 'head')}{''.join(parts)}</svg>\n"
    )


STACKED = '<svg xmlns="http://www.w3.org/2000/svg" class="px plot"'
"""How a stack of pictures begins, by which the kit knows its own."""


def stack(pictures: Sequence[Picture]) -> str:
    """Return pictures one below the other, as one SVG."""
    inner, height = [], 0
    for picture in pictures:
        svg = draw(picture, style=False)
        inner.append(svg.replace("<svg ", f'<svg y="{height}" ', 1))
        height += int(svg.partition(' height="')[2].partition('"')[0])
    titles = escape("; ".join(picture.title for picture in pictures))
    return (
        f'{STACKED} role="img" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">'
        f"<title>{titles}</title><desc>{titles}</desc><style>{STYLE}</style>{''.join(inner)}</svg>\n"
    )


def describe(picture: Picture) -> str:
    """Say in words what a picture shows, for those who do not see it."""
    if isinstance(picture, Lines):
        names = ", ".join(f"{each.name} ({len(each.points)} points)" for each in picture.series)
        return f"{picture.up} over {picture.across}: {names}{_farthest(picture)}."
    down = f"{picture.group}, {picture.down}" if picture.group else picture.down
    axes = " by ".join(filter(None, (down, picture.across)))
    size = f"{axes}, {len(picture.rows)} × {len(picture.rows[0])} cells"
    note = f" {picture.note}." if picture.note else ""
    if picture.measure != BOUND:
        return f"{size}: values from {picture.low:.4g} to {picture.high:.4g}.{note}"
    wrong = [[cell not in (RIGHT, HIDDEN) for cell in row] for row in picture.rows]
    total = sum(map(sum, wrong))
    if not total:
        return f"{size}: no cell is wrong.{note}"
    rows = sum(map(any, wrong))
    columns = sum(map(any, zip(*wrong, strict=True)))
    where = f"{_count(rows, 'row')} and {_count(columns, 'column')}"
    return f"{size}: {total} wrong, in {where}.{note}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _farthest(picture: Lines) -> str:
    """Say where the second line is farthest from the first; empty where nothing is expected."""
    if len(picture.series) != 2 or picture.series[0].name not in EXPECTED:
        return ""
    expected, got = (dict(each.points) for each in picture.series)
    gaps = {place: abs(got[place] - expected[place]) for place in expected.keys() & got.keys()}
    if not gaps:
        return ""
    place = max(sorted(gaps), key=gaps.__getitem__)
    if not gaps[place]:
        return "; they are the same"
    if gaps[place] <= ALIKE * abs(expected[place]):
        return "; they are the same but for rounding"
    found, wanted = apart(got[place], expected[place])
    values = f"{found} where {wanted} is {picture.series[0].name}"
    return f"; farthest apart at {picture.across} {place:.4g}: {values}"


def shade_of(level: int, lowest: int, highest: int) -> int:
    """Return the number of the shade of a level, among those from lowest to highest."""
    if lowest == highest:
        return SHADES - 1
    return (level - lowest) * SHADES // (highest - lowest + 1)


def _map(picture: Map) -> tuple[int, list[str]]:
    rows, columns = len(picture.rows), len(picture.rows[0])
    tall = max(LOWEST, min(TALLEST, rows * ACROSS // columns))
    parts = [
        f'<svg x="{LEFT}" y="{TOP}" width="{ACROSS}" height="{tall}" viewBox="0 0 {columns} '
        f'{rows}" preserveAspectRatio="none" shape-rendering="crispEdges">',
        *(f'<path class="{name}" d="{runs}"/>' for name, runs in _runs(picture).items()),
        "</svg>",
        f'<rect class="edge" x="{LEFT}" y="{TOP}" width="{ACROSS}" height="{tall}"/>',
        *_groups(picture, tall),
        *_ends(picture, tall),
        *_legend(picture, TOP + tall + 46),
    ]
    return TOP + tall + (80 if picture.note else 62), parts


def _runs(picture: Map) -> Mapping[str, str]:
    """Return the cells of each shade as runs along the rows."""
    paths: dict[str, list[str]] = {}
    shades = _shades(picture)
    for number, row in enumerate(picture.rows):
        column = 0
        for name, run in groupby(row, lambda cell: shades.get(cell, "")):
            width = len(list(run))
            if name:
                paths.setdefault(name, []).append(f"M{column} {number}.5h{width}")
            column += width
    return {name: "".join(runs) for name, runs in paths.items()}


def _shades(picture: Map) -> dict[str, str]:
    """Return the class of the shade of each character in a map."""
    levels = _levels(picture)
    letter = "w" if picture.measure == BOUND else "v"
    lowest, highest = _limits(picture)
    shades = {LEVELS[level]: f"{letter}{shade_of(level, lowest, highest)}" for level in levels}
    return {RIGHT: "right", **shades}


def _levels(picture: Map) -> list[int]:
    return sorted({LEVELS.index(cell) for cell in "".join(picture.rows) if cell in LEVELS})


def _limits(picture: Map) -> tuple[int, int]:
    levels = _levels(picture)
    if picture.measure != BOUND:
        return 0, len(LEVELS) - 1
    return (levels[0], levels[-1]) if levels else (0, 0)


def _groups(picture: Map, tall: int) -> Iterator[str]:
    """Yield lines between groups of rows, and the numbers of a few."""
    if picture.groups < 2:
        return
    for number in range(1, picture.groups):
        y = TOP + tall * number / picture.groups
        yield f'<path class="edge" d="M{LEFT} {y:.1f}h{ACROSS}"/>'
    if picture.groups <= tall // 12:
        for number in range(picture.groups):
            y = TOP + tall * (number + 0.5) / picture.groups + 4
            yield _text(WIDTH - 20, y, str(number))


def _ends(picture: Map, tall: int) -> Iterator[str]:
    first, last = picture.ends_down
    yield _text(LEFT - 6, TOP + 11, first, at="end")
    if tall > 2 * LOWEST:
        yield _text(LEFT - 6, TOP + tall, last, at="end")
        middle = TOP + tall / 2
        yield (
            f'<text x="16" y="{middle:.0f}" text-anchor="middle" '
            f'transform="rotate(-90 16 {middle:.0f})">{escape(picture.down)}</text>'
        )
    y = TOP + tall + 16
    yield _text(LEFT, y, picture.ends_across[0])
    yield _text(LEFT + ACROSS / 2, y, picture.across, at="middle")
    yield _text(LEFT + ACROSS, y, picture.ends_across[1], at="end")
    if picture.group:
        yield _text(WIDTH - 8, TOP - 6, picture.group, at="end")


def _legend(picture: Map, y: float) -> Iterator[str]:
    """Yield a swatch and words for each shade that occurs."""
    x = float(LEFT)
    if picture.measure == BOUND:
        yield _text(LEFT - 6, y, "× bound", at="end")
    for name, words in _words(picture).items():
        yield f'<path class="{name}" stroke-width="12" d="M{x:.0f} {y - 4:.0f}h12"/>'
        yield _text(x + 16, y, words)
        x += 30 + 7.4 * len(words)
    if picture.note:
        yield _text(LEFT, y + 18, picture.note)


def _words(picture: Map) -> dict[str, str]:
    """Return words for each shade that occurs in a map."""
    levels: dict[str, list[int]] = {}
    for cell, name in _shades(picture).items():
        if cell in LEVELS:
            levels.setdefault(name, []).append(LEVELS.index(cell))
    if picture.measure != BOUND:
        step = (picture.high - picture.low) / (len(LEVELS) - 1)
        return {
            name: f"{picture.low + step * min(own):.2g} … {picture.low + step * max(own):.2g}"
            for name, own in levels.items()
        }
    words = {"right": "right"} if any(RIGHT in row for row in picture.rows) else {}
    last, low = len(LEVELS) - 1, picture.low
    for name, own in levels.items():
        above = f"2^{low + min(own):.0f}" if min(own) else "1"
        below = "more" if max(own) == last else f"2^{low + max(own) + 1:.0f}"
        words[name] = f"{above}–{below}"
    return words


def _lines(picture: Lines) -> tuple[int, list[str]]:
    series = [(each.name, _scaled(picture, each)) for each in picture.series]
    points = [point for _, scaled in series for point in scaled]
    if not points:
        return 80, [_text(LEFT, 60, "nothing to draw")]
    low = min(x for x, _ in points), min(y for _, y in points)
    high = max(x for x, _ in points), max(y for _, y in points)
    parts = [f'<rect class="edge" x="{LEFT}" y="{TOP}" width="{ACROSS}" height="{UP}"/>']
    for number, (name, scaled) in enumerate(series):
        parts += _one(name, scaled, number, low, high)
    for axis, (least, most) in zip("xy", zip(low, high, strict=True), strict=True):
        parts += _scale(picture, axis, least, most)
    parts.append(_text(LEFT + ACROSS / 2, TOP + UP + 16, picture.across, at="middle"))
    parts.append(_text(LEFT + ACROSS, TOP - 6, picture.up, at="end"))
    return TOP + UP + 58, parts


def _scaled(picture: Lines, series: Series) -> list[Point]:
    """Return the points of a series that can be drawn, on its axes."""
    return [
        (_along(x, "x", picture), _along(y, "y", picture))
        for x, y in series.points
        if _fits(x, "x", picture) and _fits(y, "y", picture)
    ]


def _one(name: str, points: Sequence[Point], number: int, low: Point, high: Point) -> Iterator[str]:
    """Yield a series, by a line of its own dashes or by dots, and its name below the plot."""
    wide, tall = (high[0] - low[0]) or 1.0, (high[1] - low[1]) or 1.0
    places = [
        (
            LEFT + 6 + (ACROSS - 12) * (x - low[0]) / wide,
            TOP + UP - 6 - (UP - 12) * (y - low[1]) / tall,
        )
        for x, y in points
    ]
    x, y = LEFT + 150.0 * number, TOP + UP + 44
    yield _text(x + 30, y, name)
    if number == 1:  # what came out lies over what was expected
        yield "".join(
            f'<circle class="dot" cx="{a:.1f}" cy="{b:.1f}" r="2.5"/>'
            for a, b in [*places, (x + 12, y - 4)]
        )
        return
    dash = f' stroke-dasharray="{2 + 3 * number} 4"' if number else ""
    path = "L".join(f"{a:.1f} {b:.1f}" for a, b in places) or "0 0"
    yield f'<path class="line"{dash} d="M{path}M{x:.0f} {y - 4}h24"/>'


def _scale(picture: Lines, axis: str, low: float, high: float) -> Iterator[str]:
    def shown(value: float) -> str:
        return f"{10**value if axis in picture.logarithmic else value:.4g}"

    if axis == "x":
        yield _text(LEFT, TOP + UP + 16, shown(low))
        yield _text(LEFT + ACROSS, TOP + UP + 16, shown(high), at="end")
    else:
        yield _text(LEFT - 6, TOP + UP, shown(low), at="end")
        yield _text(LEFT - 6, TOP + 11, shown(high), at="end")


def _fits(value: float, axis: str, picture: Lines) -> bool:
    return isfinite(value) and (value > 0 or axis not in picture.logarithmic)


def _along(value: float, axis: str, picture: Lines) -> float:
    return log10(value) if axis in picture.logarithmic else value


def _text(x: float, y: float, words: str, name: str = "", at: str = "") -> str:
    more = (f' class="{name}"' if name else "") + (f' text-anchor="{at}"' if at else "")
    return f'<text x="{x:.0f}" y="{y:.0f}"{more}>{escape(words)}</text>'
