"""The page that shows the reference of each scheme, and the pages at old addresses."""

import json
import re
from pathlib import Path

import moved
import pytest
from blocks import reference_blocks
from playwright.sync_api import Browser, Page

from posenc_conformance.registry import load_all
from posenc_conformance.scheme_file.scheme import Scheme
from tests.site.browsing import DESK, PHONE, Visitor, context

SCHEMES = load_all()
SITE = ("reference/*", "schemes/rope/*", "schemes/*-reference/*", "assets/**/*")


def expected(scheme: Scheme) -> list[str]:
    """Return the ids that the reference of a scheme must have."""
    return [
        *(f"golden-{entry.id}" for entry in scheme.goldens),
        *(f"invariant-{entry.id}" for entry in scheme.invariants),
        *(f"published-{entry.id}" for entry in scheme.published),
        *(f"bad-input-{entry.id}" for entry in scheme.bad_inputs),
        *(
            f"combination-{call.name.replace('_', '-')}-{name}"
            for call in scheme.calls.values()
            for name in call.combinations
        ),
    ]


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.id)
def test_the_reference_of_a_scheme_is_complete(scheme: Scheme) -> None:
    """No golden, proof or value of the scheme file is left out."""
    data = json.loads(reference_blocks.content(scheme))
    entries = [entry for part in data["parts"] for entry in part["entries"]]
    text = "".join(part["text"] for part in data["parts"])
    ids = [*(entry["id"] for entry in entries), *re.findall(r'\bid="([^"]+)"', text)]
    assert sorted(expected(scheme)) == sorted(ids)
    shown = {entry["id"]: entry["text"] for entry in entries}
    for golden in scheme.goldens:
        for *_, value in golden.probes or ():
            assert str(value) in shown[f"golden-{golden.id}"], golden.id
    assert all("Proof." in shown[f"invariant-{entry.id}"] for entry in scheme.invariants)
    assert all(f"{name}(" in text for name in scheme.calls)


@pytest.mark.remembered(site=SITE)
def test_everything_of_a_scheme_is_shown_and_can_be_linked_to(
    visitor: Visitor, address: str
) -> None:
    (rope,) = (scheme for scheme in SCHEMES if scheme.id == "rope")
    with visitor.page(PHONE, "light") as (page, noticed):
        page.goto(f"{address}reference/?scheme=rope#golden-interleaved-d4-start")
        _loaded(page)
        ids = page.evaluate("[...document.querySelectorAll('#reference [id]')].map(e => e.id)")
        assert set(expected(rope)) <= set(ids)
        golden = page.locator("#golden-interleaved-d4-start")
        assert golden.get_attribute("open") is not None
        assert golden.get_by_text("Combination").is_visible()
        links = page.locator("#reference details > p > a").evaluate_all("a => a.map(e => e.hash)")
        assert len(links) == len(rope.goldens) + len(rope.invariants)
        assert set(links) <= {f"#{id}" for id in expected(rope)}
        assert page.locator("#reference-files").is_hidden()
        assert noticed == []


@pytest.mark.remembered(site=SITE)
def test_filters_stay_in_the_address(visitor: Visitor, address: str) -> None:
    with visitor.page(DESK, "light") as (page, noticed):
        page.goto(f"{address}reference/")
        assert page.locator("#reference-files").is_visible()
        page.locator("[name=scheme]").select_option("rope")
        _loaded(page)
        page.locator("[name=part]").select_option("invariants")
        page.locator("[name=find]").fill("isometry")
        page.wait_for_url(f"{address}reference/?scheme=rope&part=invariants&find=isometry")
        shown = page.locator("#reference details:visible")
        assert shown.count() == 2
        assert page.locator("#goldens").is_hidden()
        page.reload()
        _loaded(page)
        assert shown.count() == 2
        assert noticed == []


@pytest.mark.remembered(site=SITE)
@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("?scheme=robe", "No scheme is called robe"),
        ("?scheme=rope#golden-nothing", "Nothing here is called golden-nothing"),
    ],
)
def test_an_address_of_nothing_says_so(
    asked: str, said: str, visitor: Visitor, address: str
) -> None:
    with visitor.page(DESK, "light") as (page, noticed):
        page.goto(f"{address}reference/{asked}")
        page.get_by_text(said).wait_for()
        assert noticed == []


@pytest.mark.remembered(site=SITE)
def test_nothing_is_wrong_in_any_appearance(visitor: Visitor, address: str) -> None:
    assert visitor.findings(f"{address}reference/?scheme=rope") == []


@pytest.mark.remembered(site=SITE)
def test_without_javascript_each_file_is_listed(browser: Browser, address: str) -> None:
    with context(browser, java_script_enabled=False) as without:
        page = without.new_page()
        page.goto(f"{address}reference/?scheme=rope")
        for scheme in SCHEMES:
            assert page.locator(f"a[href='../spec/{scheme.path.name}']").is_visible()
        assert page.locator("#reference-controls").is_hidden()


@pytest.mark.remembered(site=SITE)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", "reference/?scheme=rope"),
        ("#golden-half-d4-start", "reference/?scheme=rope#golden-half-d4-start"),
        ("#invariant-isometry", "reference/?scheme=rope#invariant-isometry"),
        ("#convention-layout", "schemes/rope/#convention-layout"),
        ("#check-any", "schemes/rope/#claim-any"),
    ],
)
def test_an_old_address_leads_to_the_new_one(
    old: str, new: str, visitor: Visitor, address: str
) -> None:
    with visitor.page(DESK, "light") as (page, _):
        page.goto(f"{address}schemes/rope-reference/{old}")
        page.wait_for_url(f"{address}{new}")


def test_old_pages_are_kept_out_of_searches_and_have_links(site: Path) -> None:
    old = sorted((site / "schemes").glob(f"*{moved.OLD}/index.html"))
    assert len(old) == len(SCHEMES)
    for path in old:
        text = path.read_text(encoding="utf-8")
        assert '<meta name="robots" content="noindex">' in text
        assert (
            f'<a href="../../reference/?scheme={path.parent.name.removesuffix(moved.OLD)}">' in text
        )


def test_arguments_that_mean_the_same_are_named_once() -> None:
    before = {"turn": {"x": "queries", "base": "of frequencies", "layout": "of pairs"}}
    meanings = {"x": "their gradient", "base": "of frequencies", "layout": "of pairs"}
    rows = reference_blocks.rows_of(meanings, before)
    assert rows[0][1] == "their gradient"
    assert "turn" in rows[1][1]
    assert all(name in rows[1][0] for name in ("base", "layout"))
    assert len(rows) == 2
    assert len(reference_blocks.rows_of(meanings, {})) == 3


def _loaded(page: Page) -> None:
    page.locator("#reference[aria-busy=false]").wait_for()
