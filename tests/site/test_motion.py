"""Movement of figures: only when asked, at a readable pace, one at a time, and with any hand.

Time is the test's: the page's clock stands until a check moves it on. Each check must fail with a
broken script, which the page gets instead of the right one.
"""

import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, sync_playwright

from tests.site.browsing import DESK, chromium, context, served

ON_PAGES = ("learn/*/index.html", "assets/moving/**/*", "assets/*.css")
BEHIND = ("docs/_hooks", "docs/figures", "reference")

WAVES, ORDER, SINUSOID = "learn/waves/", "learn/order/", "learn/sinusoid/"


class Figure:
    """A figure of a page, asked without waiting: all that takes time happens on the fake clock."""

    def __init__(self, page: Page, name: str) -> None:
        self.page, self._name = page, f"#figure-{name}"
        self.element = page.locator(self._name)
        self.play = self.element.locator("[data-play]")

    def place(self) -> int:
        """Return the index of the first slider's value."""
        return int(self.element.locator("input[type=range]").first.input_value())

    def path(self, series: str) -> str:
        return str(self.element.locator(f"path[data-series={series}]").get_attribute("d"))

    def label(self) -> str:
        return self.play.inner_text()

    def words(self) -> str:
        return self.element.locator("input[type=text]").input_value()

    def names(self) -> list[str]:
        """Return the words beside the rows of the picture."""
        texts = self.element.locator("text[data-axis=y]").all_text_contents()
        return [text for text in texts if text]


def _pass(page: Page, milliseconds: int) -> None:
    page.clock.run_for(milliseconds)


def _settle(page: Page) -> None:
    """Wait until the browser has told what is in the window: two frames, by real time."""
    for _ in range(2):
        page.evaluate(
            "() => new Promise((done) => "
            "new IntersectionObserver(() => done()).observe(document.body))"
        )


def nothing_moves_by_itself(page: Page) -> None:
    figure = Figure(page, "hands")
    before = figure.place(), figure.path("fast")
    figure.element.scroll_into_view_if_needed()
    _settle(page)
    _pass(page, 20_000)
    assert (figure.place(), figure.path("fast")) == before


def play_moves_once_a_second(page: Page) -> None:
    figure = Figure(page, "hands")
    before, drawn = figure.place(), figure.path("fast")
    figure.play.click()
    assert figure.label() == "Pause"
    _pass(page, 100)
    assert figure.place() == before + 1
    assert figure.path("fast") != drawn
    _pass(page, 3_000)
    assert figure.place() == before + 4


def pause_stops(page: Page) -> None:
    figure = Figure(page, "hands")
    figure.play.click()
    _pass(page, 2_100)
    figure.play.click()
    now = figure.place()
    assert figure.label() == "Play"
    _pass(page, 5_000)
    assert figure.place() == now


def play_ends_with_the_last_value_and_begins_again(page: Page) -> None:
    figure = Figure(page, "hands")
    figure.play.click()
    _pass(page, 60_000)
    last = int(str(figure.element.locator("input").get_attribute("max")))
    assert (figure.place(), figure.label()) == (last, "Play")
    figure.play.click()
    _pass(page, 100)
    assert figure.place() == 1


def steps_move_by_one(page: Page) -> None:
    figure = Figure(page, "hands")
    before, drawn = figure.place(), figure.path("fast")
    figure.element.get_by_role("button", name="Step", exact=True).press("Enter")
    assert figure.place() == before + 1
    assert figure.path("fast") != drawn
    figure.element.get_by_role("button", name="Step back").press("Space")
    assert (figure.place(), figure.path("fast")) == (before, drawn)


def one_figure_plays_at_a_time(page: Page) -> None:
    first, second = Figure(page, "digits"), Figure(page, "hands")
    _settle(page)
    first.play.evaluate("button => button.click()")
    second.play.evaluate("button => button.click()")
    assert (first.label(), second.label()) == ("Play", "Pause")


def a_figure_out_of_sight_stops(page: Page) -> None:
    figure = Figure(page, "hands")
    figure.play.click()
    page.evaluate("window.scrollTo(0, 0)")
    _settle(page)
    assert figure.label() == "Play"


def a_hidden_tab_stops(page: Page) -> None:
    figure = Figure(page, "hands")
    figure.play.click()
    page.evaluate(
        "Object.defineProperty(document, 'hidden', { get: () => true });"
        "document.dispatchEvent(new Event('visibilitychange'))"
    )
    assert figure.label() == "Play"


def a_screen_reader_hears_where_it_stops(page: Page) -> None:
    figure = Figure(page, "hands")
    said = figure.element.locator(".moving-said")
    figure.play.click()
    assert said.get_attribute("aria-live") == "off"
    figure.play.click()
    assert said.get_attribute("aria-live") is None


def less_motion_is_said(page: Page) -> None:
    assert "less motion" in Figure(page, "hands").element.locator(".moving-play").inner_text()


def less_motion_does_not_glide(page: Page) -> None:
    figure = Figure(page, "hands")
    figure.play.click()
    _pass(page, 50)
    drawn = figure.path("fast")
    _pass(page, 500)
    assert figure.path("fast") == drawn


def hands_glide_and_keep_their_length(page: Page) -> None:
    """A step takes 600 ms here, and its hand moves during the first 60 % of it."""
    page.emulate_media(reduced_motion="no-preference")
    _settle(page)
    figure = Figure(page, "hands")
    assert "less motion" not in figure.element.inner_text()
    paths, lengths = {figure.path("fast")}, set()
    figure.play.click()
    _pass(page, 200)
    for _ in range(4):
        drawn = figure.path("fast")
        paths.add(drawn)
        x, y, tip_x, tip_y = map(float, re.findall(r"-?[\d.]+", drawn))
        lengths.add(round(math.hypot(tip_x - x, tip_y - y) / 79.5, 1))
        _pass(page, 32)
    assert len(paths) == 5
    assert lengths == {1.0}


def a_row_follows_the_pointer(page: Page) -> None:
    figure = Figure(page, "linked")
    figure.element.scroll_into_view_if_needed()
    box = figure.element.locator("svg").bounding_box()
    assert box
    row, hands = figure.path("row"), figure.path("hands")
    page.mouse.move(box["x"] + box["width"] / 3, box["y"] + box["height"] * 0.81)
    share = (0.81 * 307 - 8) / (307 - 16)
    assert figure.place() == int((29.2 * share - 7.4) / 0.9)
    assert figure.path("row") != row
    assert figure.path("hands") != hands


def _texts(figure: Figure) -> list[str]:
    return figure.element.locator("li span").all_inner_texts()


def buttons_move_a_word(page: Page) -> None:
    figure = Figure(page, "your-sentence")
    figure.element.get_by_label("Move dog right").press("Enter")
    assert figure.words() == "the bites dog the man"
    assert page.evaluate("document.activeElement.ariaLabel") == "Move dog right"
    page.keyboard.press("Enter")
    assert figure.words() == "the bites the dog man"
    assert figure.names() == _texts(figure) == ["the", "bites", "the", "dog", "man"]
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.ariaLabel") == "Move dog left"


def the_pointer_drags_a_word(page: Page) -> None:
    figure = Figure(page, "your-sentence")
    figure.element.locator(".moving-words").scroll_into_view_if_needed()
    words = figure.element.locator("li span").all()
    start, end = words[4].bounding_box(), words[0].bounding_box()
    assert start
    assert end
    page.mouse.move(start["x"] + 5, start["y"] + 5)
    page.mouse.down()
    page.mouse.move(end["x"] + 5, end["y"] + 5, steps=40)
    page.mouse.up()
    assert figure.words() == "man the dog bites the"
    page.mouse.move(start["x"] + 5, start["y"] + 5)
    assert figure.words() == "man the dog bites the"


def a_finger_drags_a_word(page: Page) -> None:
    """A finger takes hold at the edge of a word, where the browser means the button beside it."""
    figure = Figure(page, "your-sentence")
    figure.play.scroll_into_view_if_needed()
    words = figure.element.locator("li span").all()
    start, end = words[1].bounding_box(), words[0].bounding_box()
    assert start
    assert end
    touch = page.context.new_cdp_session(page)
    for share in range(11):
        x = start["x"] + 5 + (end["x"] - start["x"]) * share / 10
        touch.send(
            "Input.dispatchTouchEvent",
            {
                "type": "touchMove" if share else "touchStart",
                "touchPoints": [{"x": x, "y": start["y"] + 5}],
            },
        )
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    assert figure.words() == "dog the bites the man"


def typed_words_are_shown(page: Page) -> None:
    figure = Figure(page, "your-sentence")
    figure.element.locator("input[type=text]").fill("  a <b> c d e f g ")
    assert _texts(figure) == figure.names() == ["a", "<b>", "c", "d", "e", "f"]
    figure.element.locator("input[type=text]").fill("")
    assert _texts(figure) == []
    assert figure.path("weight") == ""


def order_matters_with_positions_alone(page: Page) -> None:
    """Moving a word changes no square without positions, and some with RoPE."""
    figure = Figure(page, "your-sentence")

    def areas() -> list[float]:
        boxes = re.findall(r"M([\d.]+),[\d.]+H([\d.]+)", figure.path("weight"))
        return sorted(round(float(right) - float(left), 1) for left, right in boxes)

    for choice, alike in (("none", True), ("RoPE", False), ("sinusoid", False)):
        figure.element.locator("select").select_option(choice)
        before = areas()
        figure.element.get_by_label("Move man left").click()
        after = areas()
        # Places are written with one decimal, so a width may be off by a tenth.
        assert (max(abs(a - b) for a, b in zip(before, after, strict=True)) < 0.21) is alike


CHECKS: dict[Callable[[Page], None], str] = {
    nothing_moves_by_itself: WAVES,
    play_moves_once_a_second: WAVES,
    pause_stops: WAVES,
    play_ends_with_the_last_value_and_begins_again: WAVES,
    steps_move_by_one: WAVES,
    one_figure_plays_at_a_time: WAVES,
    a_figure_out_of_sight_stops: WAVES,
    a_hidden_tab_stops: WAVES,
    a_screen_reader_hears_where_it_stops: WAVES,
    less_motion_is_said: WAVES,
    less_motion_does_not_glide: WAVES,
    hands_glide_and_keep_their_length: WAVES,
    a_row_follows_the_pointer: SINUSOID,
    buttons_move_a_word: ORDER,
    the_pointer_drags_a_word: ORDER,
    a_finger_drags_a_word: ORDER,
    typed_words_are_shown: ORDER,
    order_matters_with_positions_alone: ORDER,
}
"""Each check, and the page with its figure."""

BROKEN: dict[str, tuple[Callable[[Page], None], str, str, str]] = {
    "plays when seen": (
        nothing_moves_by_itself,
        "play.js",
        "entry.isIntersecting || stop()",
        "entry.isIntersecting && start()",
    ),
    "too fast": (
        play_moves_once_a_second,
        "play.js",
        "const pace = calm.matches ? CALM : quickest",
        "const pace = quickest",
    ),
    "by two": (play_moves_once_a_second, "play.js", "        move(1);", "        move(2);"),
    "computed, not painted": (
        steps_move_by_one,
        "play.js",
        "move(Number(target.dataset.steps));\n      paint(1);",
        "move(Number(target.dataset.steps));",
    ),
    "does not pause": (pause_stops, "play.js", "cancelAnimationFrame(request);", ""),
    "goes round": (
        play_ends_with_the_last_value_and_begins_again,
        "play.js",
        "          stop();\n          return;",
        "          move(-100);",
    ),
    "stays at the end": (
        play_ends_with_the_last_value_and_begins_again,
        "play.js",
        "move(-Number(slider.max));",
        "",
    ),
    "both play": (one_figure_plays_at_a_time, "play.js", "    stopPlaying();\n", ""),
    "plays out of sight": (
        a_figure_out_of_sight_stops,
        "play.js",
        "entry.isIntersecting || stop()",
        "entry",
    ),
    "plays in a hidden tab": (
        a_hidden_tab_stops,
        "play.js",
        "document.hidden && stopPlaying()",
        "document.hidden",
    ),
    "reads every step": (
        a_screen_reader_hears_where_it_stops,
        "play.js",
        'setAttribute("aria-live", "off")',
        'setAttribute("aria-live", "polite")',
    ),
    "stays silent": (
        a_screen_reader_hears_where_it_stops,
        "play.js",
        'removeAttribute("aria-live")',
        'setAttribute("aria-live", "off")',
    ),
    "does not say so": (
        less_motion_is_said,
        "play.js",
        'calm.matches ? "Your',
        '!calm.matches ? "Your',
    ),
    "glides anyway": (
        less_motion_does_not_glide,
        "play.js",
        "calm.matches ? 0 : GLIDE * pace",
        "GLIDE * pace",
    ),
    "hands shrink": (
        hands_glide_and_keep_their_length,
        "between.js",
        'form === "hand" ? turned : moved',
        "moved",
    ),
    "jumps": (hands_glide_and_keep_their_length, "between.js", "share >= 1 ||", "share >= 0 ||"),
    "the row below": (a_row_follows_the_pointer, "pick.js", "Math.floor", "Math.round"),
    "the wrong side": (buttons_move_a_word, "words.js", '["right", "▸", 1]', '["right", "▸", -1]'),
    "loses the focus": (buttons_move_a_word, "words.js", "?.focus()", ""),
    "swaps the ends": (the_pointer_drags_a_word, "words.js", "dragged = to;", ""),
    "never lets go": (the_pointer_drags_a_word, "words.js", "if (buttons && ", "if ("),
    "not by its edge": (
        a_finger_drags_a_word,
        "words.js",
        'target.closest("li"));\n  });\n  list.addEventListener("pointermove"',
        'target.matches("span") ? target.closest("li") : null);\n  });\n'
        '  list.addEventListener("pointermove"',
    ),
    "as many as you like": (typed_words_are_shown, "words.js", ".slice(0, MOST)", ""),
    "positions without being asked": (
        order_matters_with_positions_alone,
        "sentence.js",
        'positions === "sinusoid"',
        'positions !== "RoPE"',
    ),
    "RoPE does not turn": (
        order_matters_with_positions_alone,
        "sentence.js",
        'positions === "RoPE"',
        'positions === "rope"',
    ),
}
"""A check that must fail with a script in which one line is wrong."""


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with served(site) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright, chromium(playwright) as started:
        yield started


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    made = context(browser, viewport={"width": DESK, "height": 900})
    yield made.new_page()
    made.close()


def _open(page: Page, address: str) -> None:
    page.clock.install(time=0)
    page.goto(address)
    for row in page.locator(".moving-play").all():
        row.wait_for()  # as soon as it works
    page.clock.pause_at(3_600_000)


@pytest.mark.remembered(site=ON_PAGES, also=BEHIND)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_motion(check: Callable[[Page], None], page: Page, address: str) -> None:
    _open(page, address + CHECKS[check])
    check(page)


@pytest.mark.remembered(site=ON_PAGES, also=BEHIND)
@pytest.mark.parametrize("name", BROKEN)
def test_one_broken_line_is_noticed(name: str, page: Page, address: str, site: Path) -> None:
    check, file, right, wrong = BROKEN[name]
    text = (site / "assets" / "moving" / file).read_text("utf-8")
    assert text.count(right) == 1

    def answer(route: Route) -> None:
        route.fulfill(body=text.replace(right, wrong), content_type="text/javascript")

    page.route(f"**/moving/{file}", answer)
    _open(page, address + CHECKS[check])
    with pytest.raises(AssertionError):
        check(page)
