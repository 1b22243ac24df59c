"""Figures with sliders: the browser shows what the reference computes, at every setting."""

import inspect
import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from pages import module_of, pages_with
from pictures import animations
from tests.building import CHECKOUT
from tests.site.browsing import DESK, PATIENCE, chromium, context, served
from tests.site.explorer import NODE

ASSETS = CHECKOUT / "docs" / "assets"
HERE = Path(__file__).parent
SHARED = {"between", "page", "path", "pick", "play", "words"}
"""Modules that figures share."""

ON_PAGES = ("**/index.html", "assets/moving/**/*", "assets/*.css")
BEHIND = ("docs/_hooks", "docs/figures", "reference")
"""Folders with the code behind the pictures."""

expect.set_options(timeout=PATIENCE)


def _figures() -> dict[str, animations.Moving]:
    """Return every figure with sliders, by the address of its page and its name."""
    result = {}
    for page in pages_with("figures"):
        for name, make in inspect.getmembers(module_of("figures", page), inspect.isfunction):
            if inspect.signature(make).return_annotation is animations.Moving:
                place = page.removesuffix(".md").removesuffix("index").removesuffix("/")
                result[f"{place}/#figure-{name.replace('_', '-')}"] = make()
    return result


FIGURES = _figures()


def settings(figure: animations.Moving) -> list[dict[str, Any]]:
    """Return settings with one slider at each of its values, and with all sliders at their ends.

    Each comes with every choice and every sentence.
    """
    start = {slider.name: slider.start for slider in figure.sliders}
    alone = [start | {slider.name: value} for slider in figure.sliders for value in slider.values]
    ends = product(*((slider.values[0], slider.values[-1]) for slider in figure.sliders))
    slid = alone + [dict(zip(start, end, strict=True)) for end in ends]
    others: dict[str, Any] = {choice.name: choice.values for choice in figure.choices}
    if figure.sentence:
        others[figure.sentence.name] = [figure.sentence.start, *figure.sentence.tried]
    chosen = [dict(zip(others, values, strict=True)) for values in product(*others.values())]
    return [one | other for one in slid for other in chosen]


def answers(figure: animations.Moving, some: list[dict[str, Any]], assets: Path) -> list[Any]:
    """Return the output of the figure's module for some settings."""
    question = {
        "module": figure.module,
        "numbers": figure.data,
        "frame": figure.frame,
        "limits": [figure.x.low, figure.x.high, figure.y.low, figure.y.high],
        "forms": {entry.name: entry.form for entry in figure.series},
    }
    done = subprocess.run(
        [NODE, HERE / "moving.mjs", assets / "moving"],
        input="".join(json.dumps(question | {"settings": entry}) + "\n" for entry in some),
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def differences(figure: animations.Moving, assets: Path = ASSETS) -> list[str]:
    """Return the differences between the module and the reference."""
    chosen = settings(figure)
    result = []
    for setting, answer in zip(chosen, answers(figure, chosen, assets), strict=True):
        expected = figure.shown(**setting)
        if answer["said"] != expected.said:
            result.append(f"{setting}: says {answer['said']!r}, not {expected.said!r}")
        if answer["names"] != expected.names:
            result.append(f"{setting}: names {answer['names']}, not {expected.names}")
        if set(answer["strokes"]) != {line.name for line in figure.series}:
            result.append(f"{setting}: has {sorted(answer['strokes'])}")
        for line in figure.series:
            strokes = expected.strokes[line.name]
            if not near(numbers(answer["strokes"][line.name]), numbers(strokes), 1e-9):
                result.append(f"{setting}: {line.name} is elsewhere")
            drawn = animations.path(strokes, figure, line.form)
            if not same_path(answer["paths"][line.name], drawn):
                result.append(f"{setting}: {line.name} is drawn elsewhere")
    return result


def numbers(strokes: Any) -> list[float]:
    return [number for stroke in strokes for point in stroke for number in point]


def near(one: list[float], other: list[float], allowed: float) -> bool:
    return len(one) == len(other) and bool(np.allclose(one, other, rtol=0, atol=allowed))


def same_path(one: str, other: str) -> bool:
    """Return whether two paths have the same commands and, up to a last digit, the same numbers."""
    number = re.compile(r"-?\d+\.?\d*")
    places = [[float(value) for value in number.findall(path)] for path in (one, other)]
    return number.sub("", one) == number.sub("", other) and near(places[0], places[1], 0.11)


@pytest.mark.parametrize("name", FIGURES)
def test_the_browser_shows_what_the_reference_says(name: str) -> None:
    assert differences(FIGURES[name]) == []


def test_every_module_belongs_to_a_figure() -> None:
    modules = {path.stem for path in (ASSETS / "moving").glob("*.js")} - SHARED
    assert modules == {figure.module for figure in FIGURES.values()}


@pytest.mark.parametrize("name", FIGURES)
def test_everything_stays_between_the_axes(name: str) -> None:
    figure = FIGURES[name]
    for setting in settings(figure):
        shown = figure.shown(**setting)
        points = [point for lines in shown.strokes.values() for stroke in lines for point in stroke]
        both = zip(*points, strict=True) if points else ()  # nothing is drawn without words
        for axis, places in zip((figure.x, figure.y), both, strict=bool(points)):
            low, high = sorted((axis.low, axis.high))
            assert low <= min(places), setting
            assert max(places) <= high, setting


@pytest.mark.parametrize("name", FIGURES)
def test_text_fits_and_can_be_read_on_a_phone(name: str) -> None:
    figure = FIGURES[name]
    assert animations.LETTER * 358 / animations.WIDTH >= 9
    left, _, right, _ = figure.frame
    for axis in (figure.x, figure.y):
        assert 0.55 * animations.LETTER * len(axis.words) <= right - left, axis.words


BROKEN = {
    "rope": ("moving/rope.js", "[key + distance, key]", "[key - distance, key]"),
    "rope-drawn": ("moving/path.js", "toX - fromX)).toFixed", "toX)).toFixed"),
    "sinusoidal": ("explorer/waves.js", "base ** (-t * step)", "base ** (-t * step * 1.01)"),
    "alibi": ("moving/alibi.js", "share < 0.5", "share < 0.6"),
    "alibi-slopes": ("explorer/schemes/bias/alibi.js", "-8 * (index + 1)", "-8 * index"),
    "t5-bias": ("moving/t5-bias.js", "num_buckets / 2 - 1", "num_buckets - 1"),
    "t5-bias-sign": ("moving/t5-bias.js", "(each) => -each", "(each) => each"),
    "position-interpolation": ("moving/position-interpolation.js", "* slow) / plain", "* slow)"),
    "yarn": ("explorer/schemes/rotary/yarn.js", "1 - clipped((t - low)", "clipped((t - low)"),
    "yarn-length": ("moving/yarn.js", "0.1 * Math.log(factor)", "0.1 * Math.log2(factor)"),
    "llama3": ("explorer/schemes/rotary/llama3.js", "/ factor + kept", "/ factor + kept ** 2"),
    "llama3-ramp": ("moving/llama3.js", "64 - kept - slowed", "64 - kept"),
    "ntk-aware": (
        "explorer/schemes/rotary/ntk-aware.js",
        "stretched(rotary_dim, base, factor)",
        "stretched(rotary_dim, base, factor ** 0.99)",
    ),
    "ntk-aware-base": ("moving/ntk-aware.js", "(HEAD_DIM / (HEAD_DIM - 2))", "1"),
    "dynamic-ntk": (
        "explorer/schemes/rotary/dynamic-ntk.js",
        "(factor * longest)",
        "(factor * longest * 1.01)",
    ),
    "dynamic-ntk-short": ("moving/dynamic-ntk.js", "length <= TRAINED", "length < TRAINED"),
    "score-bound": ("moving/score.js", "5 + 16 / 4", "5 + 16"),
    "score-first": ("moving/score.js", "> bound)", "> 2 * bound)"),
    "sliding-window": ("moving/sliding-window.js", "query - window < key", "query - window <= key"),
    "linked": ("moving/linked.js", "row[2 * t + 1]", "row[2 * t]"),
    "linked-said": ("moving/linked.js", "position + 8]", "position + 7]"),
    "beyond": ("moving/beyond.js", "position / BIN", "position / BIN + 1"),
    "beyond-said": ("moving/beyond.js", "position > 100", "position >= 100"),
    "layouts": ("moving/layouts.js", "layout: LAYOUTS[code]", "layout: LAYOUTS[weights]"),
    "layouts-sign": ("moving/layouts.js", "-Math.sin(BACK * omega)", "Math.sin(BACK * omega)"),
    "layouts-pairs": ("explorer/waves.js", "[t, t + r / 2]", "[t, t + r / 2 - 1]"),
    "cache": ("moving/cache.js", "n >= PROMPT", "n > PROMPT"),
    "cache-key": ("moving/cache.js", "score: got.scores", "score: right.scores"),
    "cache-names": ("moving/cache.js", "given[n] ??", "places[n] ??"),
    "sentence": ("moving/sentence.js", "16777619", "16777618"),
    "sentence-bytes": ("moving/sentence.js", "new TextEncoder().encode(word", "Array.from(word"),
    "sentence-query": ("moving/sentence.js", "map(query)", "map((row) => row)"),
    "sentence-moved": ("moving/sentence.js", "(n - start + words.length)", "(n + start)"),
    "sentence-sorted": ("moving/sentence.js", "weights[a][b]", "weights[b][a]"),
    "sentence-letters": ("moving/sentence.js", "> LETTERS", ">= LETTERS"),
    "sliding-window-layers": ("moving/sliding-window.js", "layer < layers", "layer <= layers"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_one_broken_line_is_noticed(name: str, tmp_path: Path) -> None:
    file, right, wrong = BROKEN[name]
    for folder in ("moving", "explorer"):
        shutil.copytree(ASSETS / folder, tmp_path / folder)
    text = (tmp_path / file).read_text("utf-8")
    assert text.count(right) == 1
    (tmp_path / file).write_text(text.replace(right, wrong), "utf-8")
    of_module = [figure for figure in FIGURES.values() if name.startswith(figure.module)]
    assert any(differences(figure, tmp_path) for figure in of_module)


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with served(site) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright, chromium(playwright) as started:
        yield started


def opened(browser: Browser, address: str, **options: Any) -> Page:
    page = context(browser, viewport={"width": DESK, "height": 900}, **options).new_page()
    page.goto(address)
    return page


def paths(page: Page, figure: str) -> Mapping[str, str]:
    elements = page.locator(f"#{figure} path[data-series]").all()
    return {
        str(path.get_attribute("data-series")): str(path.get_attribute("d")) for path in elements
    }


@pytest.mark.remembered(site=ON_PAGES, also=BEHIND)
@pytest.mark.parametrize("name", FIGURES)
def test_sliders_move_the_picture_with_the_keyboard(
    name: str, browser: Browser, address: str
) -> None:
    figure, id = FIGURES[name], name.partition("#")[2]
    page = opened(browser, address + name)
    # Sliders appear as soon as they work; a hidden one receives no key.
    expect(page.locator(f"#{id} .moving-sliders")).to_be_visible()
    first, seen = paths(page, id), []
    for slider in figure.sliders:
        control = page.locator(f"#{id}").get_by_label(slider.words, exact=True)
        now = list(slider.values).index(slider.start)
        step = 1 if now + 1 < len(slider.values) else -1
        control.press("ArrowRight" if step > 0 else "ArrowLeft")
        value = slider.values[now + step]
        expected = figure.shown(**figure.settings() | {slider.name: value})
        expect(page.locator(f"#{id} .moving-said")).to_have_text(expected.said)
        expect(control).to_have_attribute("aria-valuetext", f"{value:,}")
        shown = paths(page, id)
        for entry in figure.series:
            drawn = animations.path(expected.strokes[entry.name], figure, entry.form)
            assert same_path(shown[entry.name], drawn)
        seen.append(shown)
        control.press("ArrowLeft" if step > 0 else "ArrowRight")
    # The buttons move the slider that was used last.
    page.locator(f"#{id} [data-steps='{step}']").click()
    assert paths(page, id) == seen[-1]
    page.locator(f"#{id} [data-steps='{-step}']").click()
    assert any(shown != first for shown in seen)
    assert all(same_path(path, first[entry]) for entry, path in paths(page, id).items())
    page.context.close()


@pytest.mark.remembered(site=ON_PAGES, also=BEHIND)
@pytest.mark.parametrize("name", FIGURES)
def test_without_scripts_only_the_first_picture_is_shown(
    name: str, browser: Browser, address: str
) -> None:
    figure, id = FIGURES[name], name.partition("#")[2]
    page = opened(browser, address + name, java_script_enabled=False)
    expect(page.locator(f"#{id} .moving-said")).to_have_text(figure.start().said)
    expect(page.locator(f"#{id} input").first).not_to_be_visible()
    expect(page.locator(f"#{id} svg")).to_be_visible()
    page.context.close()


def test_pages_without_such_a_figure_load_none_of_its_modules(site: Path) -> None:
    with_figure = {f"{name.partition('#')[0]}index.html".lstrip("/") for name in FIGURES}
    loading = {
        path.relative_to(site).as_posix()
        for path in site.rglob("*.html")
        if "assets/moving/" in path.read_text("utf-8")
    }
    assert loading == with_figure
