"""Every page of the site in a real browser; ``browsing.py`` has the checks."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import (
    Locator,
    Page,
    Playwright,
    Route,
    TimeoutError,
)

from posenc_conformance.scheme_file.read import scheme_paths
from posenc_lab.dependencies import digest, installed
from posenc_lab.store import FRESH
from posenc_lab.verdicts import once
from tests.building import CHECKOUT, shown_by
from tests.site.browsing import (
    ALL,
    DESK,
    PATIENCE,
    PHONE,
    QUARTERS,
    SCRIPT,
    Visitor,
    chromium,
    served,
)

LIBRARIES = ("flashinfer", "ggml", "rotary-embedding-torch", "timm")
"""Pages of libraries that are visited: one function writes all, and these have every part."""


def _addresses() -> list[str]:
    """Return the addresses of pages from docs/ without a build: pytest collects them often."""
    docs = CHECKOUT / "docs"
    sources = {path.relative_to(docs).with_suffix("") for path in docs.rglob("*.md")}
    sources |= {
        Path("schemes", path.stem) for path in scheme_paths()
    }  # also without a page of their own
    sources |= {Path("scoreboard", name) for name in LIBRARIES}
    folders = (path.parent if path.name == "index" else path for path in sources)
    return sorted("" if path == Path() else f"{path.as_posix()}/" for path in folders)


KEYS = 12
"""Number of key presses after which nothing is assumed to happen."""
ERROR_PAGE = "404.html"
PICTURES = """async letters => {
  const family = getComputedStyle(document.querySelector("math")).fontFamily
  await document.fonts.load(`30px ${family}`, letters.join(""))
  const pen = new OffscreenCanvas(60, 60).getContext("2d")
  pen.font = `30px ${family}`
  const drawn = letters.map(letter => {
    pen.clearRect(0, 0, 60, 60)
    pen.fillText(letter, 10, 40)
    return pen.getImageData(0, 0, 60, 60).data.join()
  })
  return new Set(drawn).size
}"""
"""JavaScript that counts the different glyphs of some letters in the fonts of formulas."""
ADDRESSES = [*_addresses(), ERROR_PAGE]


@pytest.fixture(scope="module")
def wide_visitor(playwright: Playwright) -> Iterator[Visitor]:
    """Yield a visitor like many desktops: fonts are wide, and scroll bars take room."""
    with chromium(playwright, "wide", scroll_bars=True) as browser:
        yield Visitor(browser)


@pytest.fixture(scope="module")
def browser_key(site: Path, visitor: Visitor) -> str:
    """Return a hash of the assets of all pages, the browser and the code of the checks."""
    script = Path(__file__).with_name("browsing.js").read_text(encoding="utf-8")
    return digest([__name__], [], visitor.version, installed(), script, shown_by(site))


def key_of_page(site: Path, page: str, *words: object) -> str:
    """Return a hash of a page, and of words for how it is checked."""
    html = (site / page / "index.html" if page != ERROR_PAGE else site / page).read_bytes()
    return hashlib.sha256(html + repr(words).encode()).hexdigest()


@pytest.mark.draws
@pytest.mark.parametrize("page", ADDRESSES, ids=lambda page: page.strip("/") or "index")
def test_page_as_a_reader_sees_it(
    page: str, visitor: Visitor, address: str, site: Path, browser_key: str
) -> None:
    by_axe = ALL if FRESH else QUARTERS[ADDRESSES.index(page) % len(QUARTERS)]

    def look() -> None:
        findings = visitor.findings(address + page, by_axe)
        assert not findings, "\n".join([f"{len(findings)} findings on {page}:", *findings])

    once(key_of_page(site, page, "as a reader sees it", by_axe, browser_key), look)


@pytest.mark.draws
@pytest.mark.parametrize("page", ADDRESSES, ids=lambda page: page.strip("/") or "index")
def test_page_with_wide_fonts(
    page: str, wide_visitor: Visitor, address: str, site: Path, browser_key: str
) -> None:
    def look() -> None:
        findings = wide_visitor.findings_at_widths(address + page)
        assert not findings, "\n".join([f"{len(findings)} findings on {page}:", *findings])

    once(key_of_page(site, page, "with wide letters", browser_key), look)


@pytest.mark.remembered(site=("test-your-implementation/*", "schemes/sinusoidal/*", "assets/**/*"))
@pytest.mark.parametrize("page", ["test-your-implementation/", "schemes/sinusoidal/"])
def test_everything_that_scrolls_does_so_with_the_keyboard(
    page: str, wide_visitor: Visitor, address: str
) -> None:
    with wide_visitor.page(PHONE, "light") as (opened, _):
        opened.goto(address + page)
        boxes = opened.locator("article [tabindex='0']:is(div, code, math):visible")
        opened.wait_for_function("document.querySelector('article [tabindex=\"0\"]')")
        for box in boxes.all():
            assert any(scrolled(opened, box) for _ in range(KEYS)), box.inner_text()


@pytest.mark.remembered(site=("learn/model/*", "assets/**/*"))
def test_boxes_that_scroll_in_a_late_typeface_can_be_focused(
    visitor: Visitor, address: str
) -> None:
    """The typeface of code that arrives after the layout is wider than the first one."""
    held: list[Route] = []
    scrolls = (
        "[...document.querySelectorAll('pre > code')].filter(b => b.scrollWidth > b.clientWidth)"
    )
    with visitor.page(PHONE, "light") as (opened, _):
        opened.route("**/*.woff2", lambda route: held.append(route))
        opened.goto(f"{address}learn/model/", wait_until="domcontentloaded")
        opened.wait_for_function("document.querySelector('pre[id^=__code] > code')")
        opened.evaluate(f"window.look = {SCRIPT}; look.drawn()")
        before = opened.evaluate(f"{scrolls}.length")
        for route in held:
            route.continue_()
        opened.wait_for_load_state("load")
        opened.evaluate("document.fonts.ready.then(() => look.drawn())")
        assert opened.evaluate(f"{scrolls}.length") > before
        assert opened.evaluate("look.scrolling()") == []


@pytest.mark.remembered(site=("learn/sinusoid/*", "assets/**/*"))
def test_a_late_typeface_moves_no_line(wide_visitor: Visitor, address: str) -> None:
    """The late typeface is narrower than the first one, so that a line could move up or down."""
    held: list[Route] = []
    places = "[...document.querySelectorAll('article > *')].map(e => e.getBoundingClientRect().y)"
    with wide_visitor.page(PHONE, "light") as (opened, _):
        opened.route("**/text*.woff2", lambda route: held.append(route))
        opened.goto(f"{address}learn/sinusoid/", wait_until="domcontentloaded")
        opened.evaluate(f"window.look = {SCRIPT}; look.drawn()")
        opened.wait_for_timeout(1000)  # a browser hides text for a tenth of a second at most
        before = opened.evaluate(places)
        for route in held:
            route.continue_()
        opened.wait_for_load_state("load")
        opened.evaluate("document.fonts.ready.then(() => look.drawn())")
        assert held
        assert opened.evaluate(places) == before


@pytest.mark.remembered(site=("schemes/rope/*", "assets/**/*"))
def test_letters_of_formulas_can_be_told_apart(visitor: Visitor, address: str) -> None:
    """Without a font for mathematics, a browser may show the same box for each."""
    with visitor.page(DESK, "light") as (opened, _):
        opened.goto(f"{address}schemes/rope/")
        opened.locator("math").first.wait_for()
        opened.evaluate("document.fonts.ready")
        assert opened.evaluate(PICTURES, [chr(0x1D44E + n) for n in (0, 1, 12, 25)]) == 4
        assert opened.evaluate(PICTURES, [chr(0x1D6FC + n) for n in (0, 7, 24)] + ["ℎ"]) == 4
        assert opened.evaluate(PICTURES, [chr(0x10FFFE), chr(0x10FFFF)]) == 1


def scrolled(opened: Page, box: Locator) -> bool:
    """Return whether a key moved a box. A key pressed during a new layout gets lost."""
    box.focus()
    opened.keyboard.press("ArrowRight")
    try:
        opened.wait_for_function(
            "box => box.scrollLeft > 0", arg=box.element_handle(), timeout=PATIENCE / KEYS
        )
    except TimeoutError:
        return False
    return True


def test_every_built_page_is_visited(site: Path) -> None:
    built = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    visited = {page if page == ERROR_PAGE else f"{page}index.html" for page in ADDRESSES}
    assert visited <= built
    written = ("scoreboard/", "engines/")  # test_board.py visits some of the engines
    left = {page for page in built - visited if not page.startswith(written)}
    assert all(page.endswith("-reference/index.html") for page in left)


def test_pages_of_libraries_that_are_visited_have_every_part(site: Path) -> None:
    def parts(name: str) -> set[str]:
        page = (site / "scoreboard" / name / "index.html").read_text(encoding="utf-8")
        return set(re.findall(r'<h2 id="([\w-]+)"|<tr id="[\w-]+" class="(\w+)"', page))

    every = [path.parent.name for path in (site / "scoreboard").glob("*/index.html")]
    assert len(every) > len(LIBRARIES)
    assert set().union(*map(parts, LIBRARIES)) == set().union(*map(parts, every))


@pytest.fixture
def below_a_folder(site: Path, tmp_path: Path) -> Iterator[str]:
    """Yield the address of the site as project pages have it: not at the root of its host."""
    (tmp_path / "posenc").symlink_to(site, target_is_directory=True)
    with served(tmp_path) as address:
        yield f"{address}posenc/"


@pytest.mark.remembered(site=("index.html", "schemes/sinusoidal/*", "assets/**/*"))
@pytest.mark.parametrize("page", ["", "schemes/sinusoidal/"])
def test_page_below_a_folder(page: str, visitor: Visitor, below_a_folder: str) -> None:
    assert visitor.findings(below_a_folder + page) == []


@pytest.mark.remembered(site=("glossary/*", "schemes/alibi/*", "assets/**/*"))
@pytest.mark.parametrize("width", [PHONE, DESK])
def test_search_finds_a_page(width: int, visitor: Visitor, below_a_folder: str) -> None:
    with visitor.page(width, "light") as (page, noticed):
        fetched: list[str] = []
        page.on("request", lambda sent: fetched.append(sent.url) if INDEX in sent.url else None)
        page.goto(f"{below_a_folder}glossary/")
        if width == PHONE:
            page.locator("header > nav > label[for=__search]").click()
        result = page.locator(".md-search-result__link").filter(has_text="Attention with linear")
        assert not fetched
        assert any(searched(page, "alibi", result.first) for _ in range(KEYS))
        result.first.click()
        page.wait_for_url(f"{below_a_folder}schemes/alibi/**")
        assert "ALiBi" in page.locator("article").inner_text()
        assert noticed == []


def searched(page: Page, text: str, found: Locator) -> bool:
    """Return whether typing a text finds something. Text typed too early gets lost."""
    query = page.locator("[data-md-component=search-query]")
    query.fill("")
    query.press_sequentially(text)
    try:
        found.wait_for(timeout=PATIENCE / KEYS)
    except TimeoutError:
        return False
    return True


INDEX = "assets/search/prose.json"

PIXEL = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
WORKER = "new Worker(URL.createObjectURL(new Blob([`fetch('https://example.org/')`])))"
BROKEN = {
    "console-error": ("<script>console.error('bad')</script>", "console: error: bad"),
    "console-warning": ("<script>console.warn('bad')</script>", "console: warning: bad"),
    "exception": ("<script>throw Error('bad')</script>", "error of a script: .*bad"),
    "rejection": ("<script>Promise.reject(Error('bad'))</script>", "error of a script: .*bad"),
    "missing-file": ("<script src='a.js'></script>", "failed request: .*/a.js: 404"),
    "foreign-script": (
        "<script src='https://example.org/a.js'></script>",
        "request to another host: https://example.org/a.js",
    ),
    "foreign-style": (
        "<p style='background: url(//example.org/a.png)'>Text",
        "request to another host: http://example.org/a.png",
    ),
    "foreign-fetch": (
        "<script>fetch('https://example.org/').catch(() => {})</script>",
        "request to another host: https://example.org/",
    ),
    "foreign-worker": (
        f"<script>{WORKER}</script>",
        "request to another host: https://example.org/",
    ),
    "foreign-socket": (
        "<script>new WebSocket('wss://example.org/')</script>",
        "request to another host: wss://example.org/",
    ),
    "wide": ("<p style='width: 2000px'>Text", r"sideways: 2\d+ > 390.*\[dark 390, light 390\]"),
    "wide-at-a-desk": ("<p style='width: 2000px'>Text", r"sideways: 2\d+ > 1280"),
    "wide-and-hidden": (
        "<style>html { overflow-x: hidden }</style><p style='width: 2000px'>Text",
        r"sideways: 2\d+ > 390",
    ),
    "cut-off": (
        "<article><div style='overflow: hidden'><p style='width: 600px'>Text</article>",
        "cut off: 600 > 3",
    ),
    "unreachable": (
        f"<div style='overflow-x: auto; white-space: nowrap'>{'Text ' * 20}</div>",
        r"axe scrollable-region-focusable: .*\[dark 390\]",
    ),
    "unreachable-but-for-a-link": (
        f"<article><div style='overflow-x: auto; white-space: nowrap'><a href='#'>Text</a>"
        f"{' Text' * 20}</div></article>",
        r"scrolls and cannot be focused: <div.*\[dark 390, light 390\]",
    ),
    "unreachable-by-a-little": (
        "<article><div style='overflow-x: auto; width: 90px'><p style='width: 95px'>Text</div>",
        "scrolls and cannot be focused: <div",
    ),
    "late": (
        f"<div aria-busy='true' id='late'></div><script>setTimeout(() => {{"
        f'late.innerHTML = "<img src={PIXEL}>"; late.ariaBusy = "false" }}, 1500)</script>',
        "no alternative text: <img",
    ),
    "image-without-text": (f"<img src='{PIXEL}'>", "no alternative text: <img"),
    "image-with-empty-text": (f"<img src='{PIXEL}' alt=' '>", "no alternative text: <img"),
    "image-that-is-none": ("<img src='data:image/png;base64,AA' alt='Text'>", "no picture: <img"),
    "drawing-without-name": ("<svg role='img'></svg>", "no role=img with a name: <svg"),
    "drawing-without-role": (
        "<article><svg><title>Text</title></svg></article>",
        "no role=img with a name: <svg",
    ),
    "pale": ("<p style='color: #888; background: #999'>Text", "axe color-contrast: p: .*light 390"),
    "pale-in-the-dark": (
        "<p style='color: #333'>Text",
        r"axe color-contrast: p: .*\[dark 390, dark 1280\]",
    ),
    "pale-where-folded": (
        "<details><summary>Text</summary><p style='color: #888'>Text</details>",
        "axe color-contrast: p",
    ),
    "pale-second": (
        "<p>Text</p><p style='color: #888; background: #999'>Text",
        "axe color-contrast: p:nth-child",
    ),
    "link-like-text": (
        "<p>Text that is long enough <a href='#' style='color: #333; text-decoration: none'>"
        "linked</a> in its middle</p>",
        "axe link-in-text-block",
    ),
    "heading-left-out": ("<h4>Text</h4>", "axe heading-order: h4"),
    "button-without-name": ("<button></button>", "axe button-name: button"),
    "always-light": (
        "<style>body { background: white !important; color: black !important }</style>",
        r"the page is not dark \[dark 390, dark 1280\]",
    ),
    "raw-formula": (r"<p>The angle \(p\omega\)", r"raw TeX \\\( in: The angle"),
    "raw-command": (r"<p>The angle \omega", r"raw TeX \\omega in: The angle"),
    "empty-formula": ("<math></math>", "formula not shown: <math"),
    "empty-symbol": ("<math><mi>x</mi><mi style='font-size: 0'>y</mi></math>", "not shown: <mi st"),
    "hidden-formula": ("<math style='display: none'><mi>x</mi></math>", "formula not shown: <math"),
    "formula-of-no-namespace": (
        "<script>document.currentScript.after(document.createElement('math'));"
        "document.querySelector('math').textContent = 'x'</script>",
        "formula not shown: <math>x",
    ),
}


# Findings only with wide fonts, with scroll bars that take room, or in a window that changes.
NOT_FOR_ALL = {
    "tabs-that-scroll": (
        "<div style='display: flex; overflow: auto; white-space: nowrap; font: 16px sans-serif'>"
        "<span tabindex='-1'>Settings of PyTorch</span>"
        "<span tabindex='-1' style='margin: 0 2em'>Settings of JAX</span>"
        "<span tabindex='-1'>C++ 20</span></div>",
        r"scrolls and cannot be focused: <div.*\[390, 320\]",
    ),
    "as-wide-as-the-window": (
        "<p style='width: 100vw; height: 2000px; margin: 0 -8px'>Text",
        r"sideways: 390 > 375.*\[390\]",
    ),
    "too-wide-for-the-smallest": (
        "<p style='width: 330px'>Text",
        r"sideways: 3\d\d > 320.*\[320\]",
    ),
    "reachable-at-first": (
        "<article><pre id='box' style='overflow: auto'>{}</pre></article><script>"
        "if (box.scrollWidth > box.clientWidth) box.tabIndex = 0</script>".format("Text " * 9),
        r"scrolls and cannot be focused: <pre.*\[320\]",
    ),
}


def _page(body: str) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A page</title>'
        '<link rel="icon" href="data:,"><meta name="viewport" content="width=device-width"><style>'
        "body { background: white; color: black } @media (prefers-color-scheme: dark) {"
        "body { background: black; color: white } }"
        f"</style></head><body><main><h1>A page</h1>{body}</main></body></html>"
    )


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("broken")
    for name, (body, _) in (BROKEN | NOT_FOR_ALL).items():
        (folder / f"{name}.html").write_text(_page(body), encoding="utf-8")
    (folder / "whole.html").write_text(_page(WHOLE), encoding="utf-8")
    with served(folder) as address:
        yield address


@pytest.mark.remembered(tools=True, also=("tests/site/browsing.js",))
@pytest.mark.parametrize("name", BROKEN)
def test_broken_page_is_found(name: str, visitor: Visitor, broken: str) -> None:
    findings = visitor.findings(f"{broken}{name}.html")
    _, pattern = BROKEN[name]
    assert any(re.search(pattern, finding) for finding in findings), findings


@pytest.mark.remembered(tools=True, also=("tests/site/browsing.js",))
@pytest.mark.parametrize("name", NOT_FOR_ALL)
def test_page_broken_for_some_is_found(
    name: str, visitor: Visitor, wide_visitor: Visitor, broken: str
) -> None:
    assert visitor.findings(f"{broken}{name}.html") == []
    findings = wide_visitor.findings_at_widths(f"{broken}{name}.html")
    _, pattern = NOT_FOR_ALL[name]
    assert any(re.search(pattern, finding) for finding in findings), findings


WHOLE = f"""
<p>Where <math><mi>x</mi><mo>&#x2061;</mo><mn>1</mn></math> is <code>\\(code\\)</code>.</p>
<img src="{PIXEL}" alt="A pixel"><img src="{PIXEL}" alt="" aria-hidden="true">
<article><svg role="img" aria-labelledby="name"><title id="name">A drawing</title></svg></article>
<div style="overflow-x: auto" tabindex="0"><p style="width: 2000px">Text</p></div>
<details><summary>More</summary><math display="block"><mi>y</mi></math></details>
"""


def test_whole_page_has_no_findings(visitor: Visitor, broken: str) -> None:
    assert visitor.findings(f"{broken}whole.html") == []


def test_whole_page_has_no_findings_at_any_width(wide_visitor: Visitor, broken: str) -> None:
    assert wide_visitor.findings_at_widths(f"{broken}whole.html") == []


LETTERS = "".join(
    f"<p><span style='font: 100px {family}'>mmmmmmmmmm</span>"
    for family in ("Helvetica, sans-serif", "sans-serif", "monospace")
)


def _widths(visitor: Visitor) -> list[float]:
    """Return the widths of text in three families, and of a window of 1280 but its scroll bar."""
    with visitor.page(DESK, "light") as (page, _):
        page.set_content(f"{LETTERS}<p style='height: 2000px'>Text")
        letters = "all => all.map(each => each.getBoundingClientRect().width)"
        widths: list[float] = page.locator("span").evaluate_all(letters)
        return [*widths, page.evaluate("document.documentElement.clientWidth")]


def test_letters_and_scroll_bars_are_as_wide_on_every_machine(
    visitor: Visitor, wide_visitor: Visitor
) -> None:
    assert _widths(visitor) == pytest.approx([833, 833, 602, 1280], abs=0.5)
    assert _widths(wide_visitor) == pytest.approx([974, 974, 602, 1265], abs=0.5)


def test_missing_browser_is_explained(
    playwright: Playwright, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHROMIUM", "no-such-browser")
    message = r"no 'no-such-browser'.*make chromium"
    with pytest.raises(FileNotFoundError, match=message), chromium(playwright):
        pass
