"""Actions of a reader: search, identify numbers, copy, print, follow a dead link."""

import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
import yaml
from playwright.sync_api import Page, Playwright

import posenc
from tests.building import FIRST_VISIT
from tests.site.browsing import DESK, PHONE, Visitor, chromium, context

pytestmark = pytest.mark.remembered(site=("**/*.html", "assets/**/*"))

PAGES = re.compile(rb"/Type\s*/Page\b")


@pytest.fixture(scope="module")
def searching(visitor: Visitor, address: str) -> Iterator[Page]:
    with visitor.page(DESK, "light") as (page, _):
        page.goto(address)
        yield page


QUERIES: dict[str, str] = yaml.safe_load(
    Path(__file__).with_name("queries.yaml").read_text(encoding="utf-8")
)


def found(page: Page, query: str) -> list[str]:
    """Search for a query; return the paths of the first results."""
    box = page.locator("[data-md-component=search-query]")
    results = page.locator(".md-search-result__list > li")
    # The worker answers in order: a word without results separates a query from earlier ones.
    for text in ("qqqq", query):
        box.fill(text)
        box.press("End")
        if text == "qqqq":
            page.get_by_text("No matching documents").wait_for()
    results.first.wait_for()
    hrefs = [result.locator("a").first.get_attribute("href") or "" for result in results.all()[:3]]
    return [urlsplit(href).path.strip("/") for href in hrefs]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("rotary", "schemes/rope"),
        ("theta", "schemes/rope"),
        ("GPT-J", "models"),
        ("max_position_embeddings", "models"),
        ("rope_scaling", "theory/scalings"),
        ("concatenate", "schemes/concatenation"),
        ("inv_freq", "which-mistake"),
        ("alibi", "schemes/alibi"),
        ("rope", "schemes/rope"),
        ("T5 bias", "schemes/t5-bias"),
        ("yarn", "schemes/yarn"),
        ("Llama 3.1", "models"),
        ("rotate_half", "theory/layouts"),
        ("what is positional encoding", "learn"),
        ("what is a token", "learn/words"),
        ("query key value", "learn/attention"),
        ("RNN", "learn/order"),
        ("heatmap", "learn/sinusoid"),
        ("div_term", "learn/sinusoid"),
        ("PyTorch positional encoding", "learn/model"),
        ("learned positional embedding bert", "learn/distance"),
        ("which models use alibi", "learn/choosing"),
    ],
)
def test_search_gives_the_right_page_first(query: str, wanted: str, searching: Page) -> None:
    assert found(searching, query)[0] == wanted


@pytest.mark.parametrize(("query", "wanted"), QUERIES.items())
def test_a_sentence_finds_the_right_page_first_or_second(
    query: str, wanted: str, searching: Page
) -> None:
    assert wanted in found(searching, query)[:2]


@pytest.mark.parametrize("query", ["cost", "bf16 rope precision", "swa off by one window"])
def test_every_result_of_a_search_shows_why_it_was_found(query: str, searching: Page) -> None:
    found(searching, query)
    for result in searching.locator(".md-search-result__list > li").all():
        assert result.locator("mark").count(), result.inner_text()


def test_a_whole_word_precedes_words_that_begin_with_it(searching: Page) -> None:
    """``cos`` is a function, and not the beginning of "cost"."""
    assert "costs" not in found(searching, "cos")[:1]
    assert found(searching, "cost")[0] == "costs"


def test_the_tab_key_does_not_stop_at_empty_results(searching: Page) -> None:
    box = searching.locator("[data-md-component=search-query]")
    box.fill("")
    searching.locator(".md-search-result__list:empty").wait_for(state="attached")
    box.press("Tab")
    assert not searching.evaluate("document.activeElement.matches('.md-search__scrollwrap')")


def test_first_visit_fetches_no_index_and_is_light(
    site: Path, visitor: Visitor, address: str
) -> None:
    with visitor.page(DESK, "light") as (page, noticed):
        fetched: list[str] = []
        page.on("request", lambda request: fetched.append(urlsplit(request.url).path.strip("/")))
        page.goto(address)
        page.wait_for_load_state("networkidle")
        assert noticed == []
    assert not [name for name in fetched if "prose" in name]
    files = [site / (name or "index.html") for name in dict.fromkeys(fetched)]
    assert sum(len(gzip.compress(path.read_bytes())) for path in files) <= FIRST_VISIT


FREQUENCIES = posenc.llama3_frequencies(
    128,
    base=500000,
    factor=8,
    low_freq_factor=1,
    high_freq_factor=4,
    original_max_position_embeddings=8192,
)
PLAIN = [10000 ** (-t / 32) for t in range(32)]


def printed(values: object, form: str = ".6g") -> str:
    return ", ".join(format(float(value), form) for value in values)  # type: ignore[attr-defined]


def _cache() -> str:
    """Return three rows of cosines, each value in both halves, as in the cache of transformers."""
    cosines = posenc.sinusoidal([0, 1, 2], 64)[:, 1::2]
    return str([[round(float(x), 4) for x in (*row, *row)] for row in cosines])


def _rotations() -> str:
    rows = posenc.sinusoidal([5, 6], 64)
    pairs = [
        [f"{c:.4f}{s:+.4f}j" for s, c in zip(row[::2], row[1::2], strict=True)] for row in rows
    ]
    return "tensor([" + ", ".join(f"[{', '.join(row)}]" for row in pairs) + "])"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (printed(FREQUENCIES), ["Llama 3.1 8B", "base 500,000"]),
        (printed(PLAIN), ["Rotary position embedding", "64 rotated channels, base 10,000"]),
        (printed(PLAIN, ".3g"), ["base 10,000"]),
        (
            printed(np.asarray(PLAIN, dtype=np.float16)),
            ["base 10,000, rounded to float16", "narrow-frequencies"],
        ),
        (printed([10000 ** (-t / 31) for t in range(32)]), ["exponent-to-the-end"]),
        (printed([10000 ** (-t / 64) for t in range(32)]), ["exponent-halved"]),
        (_cache(), ["table of cosines at positions 0 to 2", "two equal halves"]),
        (_rotations(), ["rotations as complex numbers at positions 5 to 6"]),
        (printed(posenc.alibi_slopes(8)), ["alibi_slopes", "heads 8"]),
        (printed(posenc.sinusoidal([7], 32)[0], ".4f"), ["sinusoidal", "position 7"]),
        ("1, 2, 4, 9", ["No match"]),
    ],
    ids=[
        *(
            "llama",
            "rope",
            "three-digits",
            "float16",
            "to-the-end",
            "halved",
            "cache",
            "complex",
            "slopes",
        ),
        *("sinusoid", "nothing"),
    ],
)
def test_pasted_numbers_are_named(
    text: str, said: list[str], visitor: Visitor, address: str
) -> None:
    with visitor.page(PHONE, "light") as (page, noticed):
        page.goto(f"{address}which-mistake/")
        page.locator("#identify-paste").fill(text)
        shown = page.locator("#identify-found p").first
        shown.wait_for()
        answer = page.locator("#identify-found").inner_text()
        for words in said:
            assert words in answer, answer
        assert ("rounded" in answer) == ("rounded" in " ".join(said)), answer
        assert noticed == []


def test_examples_are_answered(visitor: Visitor, address: str) -> None:
    with visitor.page(DESK, "light") as (page, _):
        page.goto(f"{address}which-mistake/")
        for button, words in {
            "inv_freq of a model": "Llama 3.1 8B",
            "its first 8 numbers": "the first 8 of 64",
            "a row of a cosine cache": "table of cosines at position 7",
            "slopes of 12 heads": "heads 12",
            "position 1 of a table": "position 1",
            "config.json of a model": "Layers 0–31",
        }.items():
            page.get_by_role("button", name=button).click()
            page.locator("#identify-found").get_by_text(words).first.wait_for()


def test_the_scoreboard_shows_what_its_address_asks_for(visitor: Visitor, address: str) -> None:
    with visitor.page(PHONE, "light") as (page, noticed):
        page.goto(f"{address}scoreboard/?scheme=rope&found=known")
        page.get_by_text(re.compile(r"^\d+ of \d+ rows$")).wait_for()
        pieces = page.locator("#scoreboard .piece:visible").all_inner_texts()
        assert pieces
        assert all("rope" in piece and "known" in piece for piece in pieces)
        page.locator("[name=scheme]").select_option("yarn")
        page.wait_for_url(f"{address}scoreboard/?scheme=yarn&found=known")
        assert all(
            "yarn" in e for e in page.locator("#scoreboard .piece:visible").all_inner_texts()
        )
        assert noticed == []


def test_folded_parts_are_printed(visitor: Visitor, address: str) -> None:
    with visitor.page(DESK, "light") as (page, _):
        page.goto(f"{address}schemes/rope/")
        folded = page.locator("article details:not([open])")
        assert folded.count()
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert folded.count() == 0
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert folded.count()


def test_copying_from_a_console_copies_only_the_command(
    playwright: Playwright, address: str
) -> None:
    with chromium(playwright) as browser:
        fresh = context(browser)
        fresh.grant_permissions(["clipboard-read", "clipboard-write"])
        page = fresh.new_page()
        page.goto(f"{address}test-your-implementation/")
        page.locator("button.md-code__button[data-md-type=copy]").nth(1).click()
        page.get_by_text("Copied to clipboard").wait_for()
        copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.splitlines()[0] == "posenc init rotary_embedding_torch"
    assert "$" not in copied


def test_missing_page_helps(visitor: Visitor, address: str) -> None:
    with visitor.page(PHONE, "light") as (page, noticed):
        page.goto(f"{address}404.html#schemes/rope-layouts")
        page.get_by_role("link", name="Search for it").wait_for()
        assert page.get_by_role("link", name="Which mistake do I have?").count() >= 1
        href = page.locator("#missing").get_attribute("href") or ""
        assert "?q=404" in href
        assert noticed == []


@pytest.mark.parametrize("scheme", ["rope", "yarn", "sinusoidal"])
def test_a_scheme_is_printed_on_few_pages(scheme: str, visitor: Visitor, address: str) -> None:
    with visitor.page(DESK, "light") as (page, _):
        page.goto(f"{address}schemes/{scheme}/")
        assert 1 <= len(PAGES.findall(page.pdf(format="A4"))) <= 16
