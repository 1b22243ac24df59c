"""The explorer's page in a browser: a reader's actions, and their effects."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt
import pytest
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

import posenc
from posenc_conformance.registry import load_all
from tests.site.browsing import PATIENCE, chromium, context, served
from tests.site.explorer import exported

pytestmark = pytest.mark.remembered(
    site=("explorer/*", "assets/**/*"), also=("spec", "docs/assets/explorer")
)

expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Serve the built site, and yield the address of the page."""
    with served(site) as address:
        yield f"{address}explorer/"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright, chromium(playwright) as started:
        yield started


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """Yield the opened page; an error of its scripts or a request elsewhere fails the test."""
    profile = context(browser, viewport={"width": 1280, "height": 900})
    profile.grant_permissions(["clipboard-read", "clipboard-write"])
    opened = profile.new_page()
    wrong: list[str] = []
    host = urlsplit(address).netloc
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("console", lambda line: wrong.append(line.text) if line.type == "error" else None)
    opened.on(
        "request",
        lambda sent: None if urlsplit(sent.url).netloc == host else wrong.append(sent.url),
    )
    visit(opened, address)
    yield opened
    assert not wrong, wrong
    profile.close()


def visit(page: Page, address: str) -> None:
    page.goto("about:blank")  # a new hash does not load the page again
    page.goto(address)
    expect(page.locator("#explorer-tool")).to_be_visible()


def table(page: Page, which: int = 0) -> list[list[float]]:
    """Return the numbers of a shown table."""
    rows = page.locator("#explorer-tables table").nth(which).locator("tbody tr").all()
    return [
        [float(cell.replace("−", "-").replace("∞", "inf")) for cell in cells(row)] for row in rows
    ]


def cells(row: Locator) -> list[str]:
    return row.locator("td").all_inner_texts()


def field(page: Page, label: str, setting: str = "a") -> Locator:
    return page.locator(f"#explorer-{setting}").get_by_label(label, exact=True)


def test_the_page_begins_with_the_papers_table_and_checks_itself(page: Page) -> None:
    expected = posenc.sinusoidal(range(8), 64)[:, :8]
    np.testing.assert_allclose(table(page), expected, rtol=1e-5, atol=1e-6)
    goldens = sum(
        golden.call in exported().get(scheme.id, ())
        for scheme in load_all()
        for golden in scheme.goldens
    )
    result = page.locator("#explorer-goldens")
    expect(result).to_be_empty()  # not scrolled into view yet
    result.evaluate("each => each.scrollIntoView()")
    expect(result).to_contain_text(f"reproduced all {goldens} goldens")


def test_another_scheme_changes_table_curve_numbers_and_picture(page: Page) -> None:
    def shown() -> list[str]:
        numbers = page.locator("#explorer-numbers textarea").input_value()
        picture = page.locator("#explorer-maps canvas").evaluate("each => each.toDataURL()")
        return [
            str(table(page)),
            page.locator("#explorer-curve svg").inner_html(),
            numbers,
            picture,
        ]

    page.get_by_label("Row", exact=True).fill("3")
    before = shown()
    field(page, "Scheme").select_option("rope")
    assert all(a != b for a, b in zip(before, shown(), strict=True))
    expected = posenc.rope(np.ones((64, 64)), np.arange(64))
    np.testing.assert_allclose(table(page), expected[3:11, :8], rtol=1e-5, atol=1e-6)


def test_a_combination_sets_conventions_and_a_convention_finds_its_combination(page: Page) -> None:
    field(page, "Combination").select_option("mlx")
    expect(field(page, "layout")).to_have_value("sin-cos")
    expect(field(page, "scale")).to_have_value("(2/d)^1/2")
    expect(page.locator("#explorer-a")).to_contain_text("mlx by default: rows of norm 1")
    field(page, "scale").select_option("1")
    expect(page.locator("#explorer-a")).to_contain_text("has no name for these conventions")
    field(page, "odd_dim").select_option("refuse")
    field(page, "single_pair").select_option("refuse")
    expect(field(page, "Combination")).to_have_value("whisper")


def test_bad_input_is_reported_and_changes_nothing(page: Page) -> None:
    before = table(page)
    field(page, "dim").fill("7")
    expect(page.locator("#explorer-problem")).to_contain_text("dim is 7")
    field(page, "dim").fill("1e12")
    expect(page.locator("#explorer-problem")).to_contain_text("an axis of 1000000000000")
    field(page, "dim").fill("many")
    expect(page.locator("#explorer-problem")).to_contain_text("dim is many; it must be a number")
    assert table(page) == before
    field(page, "dim").fill("8")
    expect(page.locator("#explorer-problem")).to_be_empty()
    expect(page.locator("#explorer-tables th[scope=col]").last).to_have_text("7")


def test_two_conventions_are_compared(page: Page) -> None:
    page.get_by_label("Compare with a second setting").check()
    expect(page.locator("#explorer-difference")).to_have_text(
        "A and B are equal in all 4096 numbers."
    )
    field(page, "layout", "b").select_option("sin-cos")
    a, b = posenc.sinusoidal(range(64), 64), posenc.sinusoidal(range(64), 64, layout="sin-cos")
    row, column = np.unravel_index(np.argmax(abs(a - b)), a.shape)
    expect(page.locator("#explorer-difference")).to_contain_text(
        f"{np.count_nonzero(a != b)} of 4096 numbers. The largest difference is "
        f"{abs(a - b).max():.6g}, at position {row}, channel {column}"
    )
    np.testing.assert_allclose(table(page, 1), b[:8, :8], rtol=1e-5, atol=1e-6)
    field(page, "dim", "b").fill("32")
    expect(page.locator("#explorer-difference")).to_contain_text("cannot be compared")


def test_a_view_can_be_linked(page: Page, browser: Browser) -> None:
    page.get_by_label("Compare with a second setting").check()
    field(page, "Scheme", "b").select_option("alibi")
    field(page, "Call", "b").select_option("alibi_bias")
    field(page, "form", "b").select_option("symmetric")
    field(page, "base").fill("500000")
    page.get_by_label("Row", exact=True).fill("4")
    linked = page.evaluate("location.href")  # page.url lags behind under load
    other = context(browser).new_page()
    visit(other, linked)
    assert [table(other, which) for which in (0, 1)] == [table(page, which) for which in (0, 1)]
    expect(field(other, "base")).to_have_value("500000")
    expect(field(other, "form", "b")).to_have_value("symmetric")
    assert table(other, 1)[0][0] == posenc.alibi_bias(8, 32, 32, form="symmetric")[0, 4, 0]
    other.context.close()


def test_an_invalid_address_shows_the_beginning_and_says_so(page: Page, address: str) -> None:
    visit(page, f"{address}#scheme=nothing&layout=nowhere&row=-5&column=many&b.scheme=__proto__")
    expected = posenc.sinusoidal(range(8), 64)[:, :8]
    np.testing.assert_allclose(table(page), expected, rtol=1e-5, atol=1e-6)
    unknown = page.locator("#explorer-unknown")
    for part in (
        "scheme=nothing",
        "layout=nowhere",
        "row=-5",
        "column=many",
        "b.scheme=__proto__",
    ):
        expect(unknown).to_contain_text(part)
    page.get_by_label("Row", exact=True).fill("3")
    expect(unknown).to_be_empty()
    for understood in ("", "#identify", "#scheme=rope&layout=half&head_dim=8&row=2"):
        visit(page, address + understood)
        expect(unknown).to_be_empty()


def test_the_selected_number_is_announced_to_screen_readers(page: Page) -> None:
    page.get_by_label("Row", exact=True).fill("3")
    page.get_by_label("Column", exact=True).fill("1")
    expect(page.get_by_role("status").filter(has_text="position 3, channel 1")).to_have_text(
        f"position 3, channel 1: {posenc.sinusoidal([3], 64)[0, 1]:.6g}".replace("-", "−")
    )


@pytest.mark.parametrize(
    ("scheme", "expected"),
    [
        ("causal-mask", posenc.causal_mask(32, 32)),
        ("sliding-window", posenc.sliding_window(32, 32, 8)),
        ("dilated-window", posenc.dilated_window(32, 32, 8, 2)),
        ("chunked", posenc.chunked_mask(32, 32, 8)),
        ("bigbird", posenc.bigbird_mask(32, 32, 4)),
        ("fixed", posenc.fixed_mask(32, 32, 4, 1)),
        ("strided", posenc.strided_mask(32, 32, 6)),
        ("clipped-bias", posenc.clipped_bias(np.arange(-8.0, 9.0)[:, None], 32, 32)[0]),
        ("kerple", posenc.kerple_bias(np.ones(1), np.full(1, 0.5), 32, 32)[0]),
        ("sandwich", posenc.sandwich_bias(8, 32, 32, dim=64)[0]),
        ("xpos", posenc.xpos(np.ones((64, 64)), np.arange(64))),
        ("pope", posenc.pope_query(np.ones((64, 64)), np.arange(64), layout="half")),
        ("embedding-sum", posenc.embedding_sum(np.tile([0.1, -0.1], (64, 32)), np.arange(64))),
        ("concatenation", posenc.concatenation(np.ones((64, 16)), np.arange(64), 48)),
        ("query-temperature", posenc.query_temperature(np.ones((64, 64)), np.arange(64), length=8)),
        ("fourier-features", posenc.nerf(np.linspace(-1, 1, 64)[:, None], 6)),
        ("deberta", posenc.deberta_bucket(np.arange(-600, 601))[None]),
        ("relative-table-2d", posenc.relative_table_2d_rows(5, 5)),
    ],
)
def test_the_numbers_shown_are_the_references(
    page: Page, address: str, scheme: str, expected: npt.NDArray[Any]
) -> None:
    row, column = expected.shape[0] // 2, expected.shape[1] // 2
    visit(page, f"{address}#scheme={scheme}&row={row}&column={column}")
    shown = np.array(table(page))
    top, left = min(row, len(expected) - 8), min(column, expected.shape[1] - 8)
    part = expected[max(top, 0) :, left:][:8, :8].astype(np.float64)
    np.testing.assert_allclose(shown, part, rtol=1e-5, atol=1e-6)


def test_a_pasted_row_is_named(page: Page) -> None:
    answer = page.locator("#explorer-found")
    paste = page.get_by_label("Paste a row")
    row = posenc.sinusoidal([3], 32, layout="sin-cos", denominator="d/2-1", first_position=2)[0]
    paste.fill(" ".join(f"{value:.4f}" for value in row))
    expect(answer).to_contain_text("sinusoidal, fairseq, position 3, counted from 2, base 10000")
    expect(answer).to_contain_text("sinusoidal, tensor2tensor, position 5, base 10000")
    expect(answer).not_to_contain_text("paper")
    paste.fill(" ".join(f"{value:.4f}" for value in np.cos(row * 17)))
    expect(answer).to_contain_text("No match")
    paste.fill("no numbers")
    expect(answer).to_contain_text("At least two numbers are needed")


def test_the_numbers_of_the_selected_row_are_copied_and_known(page: Page) -> None:
    field(page, "Combination").select_option("adm")
    page.get_by_label("Row", exact=True).fill("5")
    page.get_by_role("button", name="Copy the numbers").click()
    expect(page.locator("#explorer-copied")).to_have_text("Copied.")
    copied = page.evaluate("navigator.clipboard.readText()")
    expected = posenc.sinusoidal([5], 64, layout="cos-sin")[0]
    np.testing.assert_allclose([float(text) for text in copied.split(",")], expected, atol=5.1e-9)
    page.get_by_label("Paste a row").fill(copied)
    expect(page.locator("#explorer-found")).to_contain_text("sinusoidal, adm, position 5")


def test_a_click_on_the_picture_selects(page: Page) -> None:
    canvas = page.locator("#explorer-maps canvas")
    box = canvas.bounding_box()
    assert box is not None
    canvas.click(position={"x": box["width"] * 10.5 / 64, "y": box["height"] * 20.5 / 64})
    expect(page.get_by_label("Row", exact=True)).to_have_value("20")
    expect(page.get_by_label("Column", exact=True)).to_have_value("10")
    expect(page.locator(".explorer-selected")).to_have_text(
        f"{posenc.sinusoidal([20], 64)[0, 10]:.6g}".replace("-", "−")
    )


def test_every_scheme_and_call_is_shown(page: Page) -> None:
    titles = set()
    schemes = field(page, "Scheme").locator("option").evaluate_all("all => all.map(o => o.value)")
    assert set(schemes) == set(exported())
    assert schemes
    for scheme in schemes:
        field(page, "Scheme").select_option(scheme)
        several = field(page, "Call").count() == 1
        calls = field(page, "Call").locator("option").all_inner_texts() if several else [scheme]
        for call in calls:
            if several:
                field(page, "Call").select_option(call)
            expect(page.locator("#explorer-problem")).to_be_empty()
            titles.add(page.locator("#explorer-tables .explorer-title").inner_text())
            assert table(page)[0]
    assert len(titles) == sum(map(len, exported().values()))


def test_the_picture_follows_the_colours_of_the_page(page: Page) -> None:
    def ground() -> list[int]:
        # Position 0, channel 0: the sine of 0 has the colour of the page.
        colours: list[int] = page.locator("#explorer-maps canvas").evaluate(
            "each => [...each.getContext('2d').getImageData(0, 0, 1, 1).data]"
        )
        return colours

    page.emulate_media(color_scheme="dark")
    page.wait_for_function("document.body.dataset.mdColorScheme === 'slate'")
    dark = ground()
    page.emulate_media(color_scheme="light")
    page.wait_for_function("document.body.dataset.mdColorScheme === 'default'")
    assert max(dark[:3]) < 100
    assert min(ground()[:3]) > 200


def test_a_phone_does_not_scroll_the_page_sideways(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_label("Compare with a second setting").check()
    field(page, "Scheme", "b").select_option("t5-bias")
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width == 390


def test_every_control_has_a_name_and_is_reached_by_keyboard(page: Page) -> None:
    page.get_by_label("Compare with a second setting").check()
    controls = page.locator("#explorer-tool :is(input, select, textarea, button)")
    names = controls.evaluate_all(
        "all => all.filter(e => e.checkVisibility())"
        ".map(e => e.labels?.[0]?.innerText || e.ariaLabel || e.innerText)"
    )
    assert names
    assert all(name.strip() for name in names), names
    field(page, "layout").focus()
    page.keyboard.press("ArrowDown")
    expect(field(page, "layout")).to_have_value("sin-cos")
    expect(field(page, "layout")).to_be_focused()
    expect(field(page, "Combination")).to_have_value("concat")


def test_without_javascript_it_says_so(browser: Browser, address: str) -> None:
    profile = context(browser, java_script_enabled=False)
    plain = profile.new_page()
    plain.goto(address)
    assert "The explorer needs JavaScript" in plain.inner_text("article")
    assert plain.locator("#explorer-tool").is_hidden()
    profile.close()
