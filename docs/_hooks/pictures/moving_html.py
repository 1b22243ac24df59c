"""HTML of interactive pictures: the first drawing, its controls, and what the script needs."""

import html
import json
from collections.abc import Iterator

from pictures.animations import (
    LETTER,
    WIDTH,
    Axis,
    Choice,
    Moving,
    Note,
    Sentence,
    Slider,
    Stroke,
    number,
    path,
)

LEVELS = 10
"""Steps of the opacity of shades; a step is a tenth, as fine as a reader distinguishes."""

PLAY = (
    '<div class="moving-play" role="group" aria-label="Movement">'
    '<button type="button" data-steps="-1">Step back</button>'
    '<button type="button" data-play>Play</button>'
    '<button type="button" data-steps="1">Step</button><span></span></div>'
)


def html_of(name: str, title: str, moving: Moving, root: str) -> str:
    """Make the HTML of the figure; ``root`` is the relative address of the site's root."""
    initial = moving.start()
    paths = "".join(
        f'<path class="moving-{entry.form} moving-{entry.colour}" data-series="{entry.name}" '
        f'data-form="{entry.form}" d="{path(initial.strokes[entry.name], moving, entry.form)}"/>'
        for entry in moving.series
    )
    key = "".join(
        f'<span class="moving-key-{entry.colour}">{html.escape(entry.words)}</span>'
        for entry in moving.series
        if entry.words
    )
    return (
        f'<link rel="stylesheet" href="{root}assets/moving/moving.css">'
        f'<script type="module" src="{root}assets/moving/page.js"></script>'
        f'<figure class="drawn moving" id="figure-{name}" data-module="{moving.module}" '
        f"{_data(moving)}>"
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {moving.height:g}" '
        f'role="img" aria-labelledby="{name}-title {name}-description">'
        f'<title id="{name}-title">{html.escape(title)}</title>'
        f'<desc id="{name}-description">{html.escape(moving.description)}</desc>'
        f"{_shades(moving)}{_axes(moving)}{_notes(moving)}{paths}</svg>"
        f'<div class="moving-key">{key}</div>'
        f'<div class="moving-sliders" hidden>{_controls(name, moving)}</div>'
        f'<p class="moving-said" role="status">{html.escape(initial.said)}</p>'
        f"<figcaption>{html.escape(moving.caption, quote=False)}</figcaption></figure>"
    )


def _data(moving: Moving) -> str:
    x, y = moving.x, moving.y
    entries = {
        "frame": [round(entry, 2) for entry in moving.frame],
        "limits": [x.low, x.high, y.low, y.high],
        "pick": moving.pick and vars(moving.pick),
        "numbers": moving.data,
    }
    return " ".join(
        f'data-{name}="{html.escape(json.dumps(value))}"'
        for name, value in entries.items()
        if value is not None
    )


def _controls(figure: str, moving: Moving) -> str:
    rows = [_sentence(figure, moving.sentence)] if moving.sentence else []
    rows += [_choice(figure, entry) for entry in moving.choices]
    rows += [_slider(figure, entry) for entry in moving.sliders]
    return "".join(rows) + PLAY


def _id(figure: str, name: str) -> str:
    return f"{figure}-{name.replace('_', '-')}"


def _slider(figure: str, slider: Slider) -> str:
    values = list(slider.values)
    id = _id(figure, slider.name)
    now = number(slider.start)
    return (
        f'<div><label for="{id}">{html.escape(slider.words)}</label>'
        f'<input type="range" id="{id}" name="{slider.name}" min="0" max="{len(values) - 1}" '
        f'step="1" value="{values.index(slider.start)}" aria-valuetext="{now}" '
        f'data-values="{json.dumps(values)}" autocomplete="off">'
        f'<output for="{id}">{now}</output></div>'
    )


def _choice(figure: str, choice: Choice) -> str:
    id = _id(figure, choice.name)
    options = "".join(f"<option>{html.escape(value)}</option>" for value in choice.values)
    return (
        f'<div><label for="{id}">{html.escape(choice.words)}</label>'
        f'<select id="{id}" name="{choice.name}" autocomplete="off">{options}</select></div>'
    )


def _sentence(figure: str, sentence: Sentence) -> str:
    id = _id(figure, sentence.name)
    return (
        f'<div><label for="{id}">{html.escape(sentence.words)}</label>'
        f'<input type="text" id="{id}" name="{sentence.name}" autocomplete="off" maxlength="60" '
        f'spellcheck="false" value="{html.escape(" ".join(sentence.start))}"></div>'
        '<ol class="moving-words" aria-label="Words, which can be moved"></ol>'
    )


def _shades(moving: Moving) -> str:
    """Draw boxes with colours from −1 to 1: one path for each step of opacity."""
    levels: dict[int, list[Stroke]] = {}
    for box, value in moving.shades:
        levels.setdefault(round(LEVELS * value), []).append(box)
    return "".join(
        f'<path class="moving-box moving-{0 if level < 0 else 1}" '
        f'style="fill-opacity: {abs(level) / LEVELS:g}" d="{path(boxes, moving, "box")}"/>'
        for level, boxes in sorted(levels.items())
        if level
    )


def _notes(moving: Moving) -> str:
    left, top, right, bottom = moving.frame
    x, y = moving.x, moving.y

    def text(note: Note) -> str:
        across = left + (right - left) * (note.x - x.low) / (x.high - x.low)
        down = bottom - (bottom - top) * (note.y - y.low) / (y.high - y.low)
        return _text(across, down, note.anchor, note.words)

    return "".join(map(text, moving.notes))


def _axes(moving: Moving) -> str:
    left, top, right, bottom = moving.frame
    x, y = moving.x, moving.y
    lines = path(moving.background, moving)
    text = ""
    if x.words:
        lines += f"M{left:.1f},{bottom:.1f}H{right:.1f}"
        lines += path([[(tick, y.low)] for tick in x.ticks], moving).replace("h0", "v4")
        for tick, words in _ticks("x", moving):
            across = left + (right - left) * (tick - x.low) / (x.high - x.low)
            text += _text(across, bottom + 1.3 * LETTER, "middle", words, _axis("x", x))
        text += _text((left + right) / 2, bottom + 2.5 * LETTER, "middle", x.words)
    if y.words:
        lines += f"M{left:.1f},{top:.1f}V{bottom:.1f}"
        lines += path([[(x.low, tick)] for tick in y.ticks], moving).replace("h0", "h-4")
        for tick, words in _ticks("y", moving):
            down = bottom - (bottom - top) * (tick - y.low) / (y.high - y.low)
            text += _text(left - 6, down + 0.35 * LETTER, "end", words, _axis("y", y))
        text += _text(2, 0.9 * LETTER, "start", y.words)
    return f'<path class="moving-axes" d="{lines}"/>{text}'


def _ticks(name: str, moving: Moving) -> Iterator[tuple[float, str]]:
    axis = {"x": moving.x, "y": moving.y}[name]
    return zip(axis.ticks, moving.ticks(name, axis), strict=True)


def _axis(name: str, axis: Axis) -> str:
    return f' data-axis="{name}"' if axis.letters else ""


def _text(x: float, y: float, anchor: str, words: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{html.escape(words)}</text>'
