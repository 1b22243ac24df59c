"""Figures: text can be read on a phone, where a figure is as wide as the page."""

import base64
import io
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from pictures.figures import READABLE, TELEPHONE, smaller, smallest_letter
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from tests.site.browsing import DESK, PHONE, chromium, context, served

FIGURE = re.compile(r'<figure class="drawn(?: twice)?" id="([^"]+)">(.*?)</figure>', re.S)


def too_small(page: str) -> list[str]:
    """Return the figures whose text is too small on a phone, which shows the second of two."""
    return [
        name
        for name, drawn in FIGURE.findall(page)
        if smallest_letter(drawn[drawn.rindex("<svg") :]) < READABLE
    ]


def drawing(width: float, letter: float, style: str = "") -> str:
    return (
        f'<svg viewBox="0 0 {width} 100" style="{style}"><text style="font: {letter}px x">a</text>'
    )


@pytest.mark.parametrize(
    ("drawn", "is_too_small"),
    [
        (drawing(TELEPHONE, READABLE), False),
        (drawing(TELEPHONE, READABLE - 0.1), True),
        (drawing(518, 10), True),
        (drawing(518, 10, "min-width: 520px"), False),
        (drawing(518, 10) + drawing(270, 10), False),
        (drawing(270, 10) + drawing(518, 10), True),
        (drawing(100, 7), False),
        (drawing(270, 10).replace("</text>", '<tspan style="font-size: 5px">'), True),
        (drawing(518, 10).replace("font:", "font: italic bold"), True),
    ],
)
def test_text_that_is_too_small_is_found(drawn: str, is_too_small: bool) -> None:
    page = f'<figure class="drawn" id="figure-a">{drawn}<figcaption>b</figcaption></figure>'
    assert too_small(page) == ["figure-a"] * is_too_small


def test_text_of_all_figures_can_be_read_on_a_phone(site: Path) -> None:
    pages = {path: path.read_text("utf-8") for path in site.rglob("*.html")}
    assert any(FIGURE.search(page) for page in pages.values())
    assert {path: names for path, page in pages.items() if (names := too_small(page))} == {}


def encoded(pixels: np.ndarray) -> str:
    buffer = io.BytesIO()
    Image.fromarray(pixels, "RGBA").save(buffer, "png")
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def decoded(text: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(text)))


@pytest.mark.parametrize("colours", [1, 2, 17, 256])
def test_pixels_of_few_colours_stay_and_weigh_less(colours: int) -> None:
    random = np.random.default_rng(3)
    palette = np.unique(random.integers(0, 256, (4 * colours, 4), np.uint8), axis=0)
    pixels = random.permutation(palette)[:colours][random.integers(0, colours, (60, 80))]
    image = decoded(smaller(encoded(pixels)))
    assert np.array_equal(np.asarray(image.convert("RGBA")), pixels)
    assert image.mode == "P"
    assert len(smaller(encoded(pixels))) < len(encoded(pixels))


def test_a_picture_of_many_colours_stays_as_it_is() -> None:
    pixels = np.random.default_rng(3).integers(0, 256, (60, 80, 4), np.uint8)
    assert smaller(encoded(pixels)) == encoded(pixels)


BESIDE = re.compile(r"\bOn the (?:left|right)\b|\b(?:left|right) one\b|\b(?:Left|Right),")


def sent_sideways(page: str) -> list[str]:
    """Return the figures whose words name a part next to another; a phone shows it below."""
    return [
        name
        for name, drawn in FIGURE.findall(page)
        if BESIDE.search(re.sub(r"<text.*?</text>", "", drawn, flags=re.S))
    ]


@pytest.mark.parametrize(
    ("words", "is_sent"),
    [
        ("On the right both axes are logarithmic.", True),
        ("Two maps. The left one is a tangle.", True),
        ("Left, stripes along the diagonal.", True),
        ("To the right of the dotted line angles are new.", False),
        ("Tokens between are left out.", False),
        ("Three texts padded on the left.", False),
    ],
)
def test_words_that_point_sideways_are_found(words: str, is_sent: bool) -> None:
    page = (
        '<figure class="drawn twice" id="figure-a">' + drawing(358, 10) + f"<desc>{words}</desc>"
        "</svg><text>on the right</text><figcaption>b</figcaption></figure>"
    )
    assert sent_sideways(page) == ["figure-a"] * is_sent


def test_no_words_point_sideways(site: Path) -> None:
    pages = {path: path.read_text("utf-8") for path in site.rglob("*.html")}
    assert {path: names for path, page in pages.items() if (names := sent_sideways(page))} == {}


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with served(site) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright, chromium(playwright) as started:
        yield started


@pytest.mark.parametrize(("width", "shown"), [(PHONE, [False, True]), (DESK, [True, False])])
def test_one_of_two_drawings_is_shown(
    width: int, shown: list[bool], browser: Browser, address: str
) -> None:
    page = context(browser, viewport={"width": width, "height": 900}).new_page()
    page.goto(f"{address}schemes/alibi/")
    drawings = page.locator("#figure-bias-maps svg").all()
    assert [variant.is_visible() for variant in drawings] == shown
    page.context.close()
