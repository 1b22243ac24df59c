"""The board in a browser: filters in the address, colours, and what stays in sight."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.site.browsing import DESK, PHONE, Visitor

pytestmark = pytest.mark.remembered(site=("engines/**", "models/*", "scoreboard/*", "assets/**/*"))

COUNT = re.compile(r"^(\d+) of (\d+) (models|rows)$")
TABLES = {"engines": "engines", "models": "models-table"}


def counted(page: Page) -> tuple[int, int]:
    """Return how many models are shown, of how many."""
    said = page.get_by_text(COUNT)
    said.wait_for()
    match = COUNT.match(said.inner_text())
    assert match is not None
    return int(match[1]), int(match[2])


def test_engines_are_filtered_and_the_address_says_how(visitor: Visitor, address: str) -> None:
    with visitor.page(DESK, "light") as (page, noticed):
        page.goto(f"{address}engines/?engine=mlx-lm&verdict=wrong")
        shown, every = counted(page)
        assert 0 < shown < every
        assert page.locator("#engines thead th:visible").count() == 2
        cells = page.locator("#engines tbody td:visible")
        assert cells.count() == shown
        assert all("failed" in name or "known" in name for name in _classes(page, "td:visible"))
        page.locator("[name=spelling]").select_option("released")
        page.wait_for_url(f"{address}engines/?engine=mlx-lm&verdict=wrong&spelling=released")
        assert counted(page)[0] <= shown
        assert page.locator(".said[data-spelling=transformers-5]:visible").count() == 0
        page.locator("[name=verdict]").select_option("")
        page.locator("[name=spelling]").select_option("")
        page.locator("[name=engine]").select_option("")
        page.locator("[name=family]").select_option("gemma3_text")
        families = page.locator("#engines tbody tr:visible").evaluate_all(
            "rows => rows.map(row => row.dataset.family)"
        )
        assert set(families) == {"gemma3_text"}
        page.locator("[name=find]").fill("gemma 270m")
        assert counted(page)[0] == 1
        assert noticed == []


def test_the_table_of_models_comes_before_its_explanation(visitor: Visitor, address: str) -> None:
    with visitor.page(DESK, "light") as (page, _):
        page.goto(f"{address}models/")
        counted(page)
        assert _place(page, "[name=find]")["y"] < 800


def test_models_are_filtered_with_all_their_rows(visitor: Visitor, address: str) -> None:
    with visitor.page(DESK, "light") as (page, noticed):
        page.goto(f"{address}models/?scheme=yarn&sources=two")
        shown, every = counted(page)
        assert 0 < shown < every
        page.goto(f"{address}models/?find=gemma-3-4b")
        assert counted(page)[0] == 1
        assert page.locator("#models-table tbody tr:visible").count() == 2
        assert noticed == []


@pytest.mark.parametrize("name", TABLES)
def test_nothing_is_hidden_before_somebody_filters(
    name: str, visitor: Visitor, address: str
) -> None:
    with visitor.page(DESK, "light") as (page, _):
        page.goto(f"{address}{name}/")
        shown, every = counted(page)
        assert shown == every
        assert page.locator(f"#{TABLES[name]} [hidden]").count() == 0


@pytest.mark.parametrize("name", TABLES)
def test_head_and_first_column_stay_in_sight_on_a_phone(
    name: str, visitor: Visitor, address: str
) -> None:
    with visitor.page(PHONE, "light") as (page, _):
        page.goto(f"{address}{name}/")
        counted(page)
        box = page.locator(".wide.sticky")
        box.evaluate("box => box.scrollTo(300, 300)")
        assert box.evaluate("box => [box.scrollLeft, box.scrollTop]") == [300, 300]
        corner, within = _place(page, f"#{TABLES[name]} thead th >> nth=0"), _place(page, ".sticky")
        assert abs(corner["x"] - within["x"]) < 2
        assert abs(corner["y"] - within["y"]) < 2
        assert corner["width"] < 0.5 * within["width"]
        first = _place(page, f"#{TABLES[name]} tbody th >> nth=9")
        assert abs(first["x"] - within["x"]) < 2


def test_a_link_to_what_is_shown_can_be_copied(visitor: Visitor, address: str) -> None:
    with visitor.page(DESK, "light") as (page, _):
        page.goto(f"{address}engines/?engine=vllm")
        counted(page)
        page.get_by_role("button", name="Copy link").click()
        page.get_by_text("link to what is shown").wait_for()


def test_the_page_of_an_engine_explains_its_mistakes(visitor: Visitor, address: str) -> None:
    with visitor.page(PHONE, "dark") as (page, noticed):
        page.goto(f"{address}engines/")
        page.locator("#engines thead").get_by_role("link", name="mlx-lm").click()
        page.get_by_role("heading", name="Model by model").wait_for()
        link = page.locator("table.matrix a[href*='/mlx-lm/#finding-']").first
        place = (link.get_attribute("href") or "").partition("#")[2]
        link.click()
        assert page.locator(f"details[id='{place}']").is_visible()
        assert noticed == []


ENGINES = ("mlx-lm", "llama.cpp", "vllm-layers")
"""Engines whose pages are visited: one function writes all, and these have every part."""


def test_pages_of_engines_that_are_visited_have_every_part(site: Path) -> None:
    def parts(name: str) -> set[str]:
        page = (site / "engines" / name / "index.html").read_text(encoding="utf-8")
        return set(re.findall(r'<h2 id="([\w-]+)"|<td class="(\w+)"', page))

    every = [path.parent.name for path in (site / "engines").glob("*/index.html")]
    assert len(every) > len(ENGINES)
    assert set().union(*map(parts, ENGINES)) == set().union(*map(parts, every))


@pytest.mark.parametrize("name", ENGINES)
def test_nothing_is_wrong_on_the_page_of_an_engine(
    name: str, visitor: Visitor, address: str
) -> None:
    assert visitor.findings(f"{address}engines/{name}/") == []


def _classes(page: Page, cells: str) -> list[str]:
    found: list[str] = page.locator(f"#engines tbody {cells}").evaluate_all(
        "cells => cells.map(cell => cell.className)"
    )
    return found


def _place(page: Page, selector: str) -> dict[str, float]:
    box = page.locator(selector).bounding_box()
    assert box is not None
    return {"x": box["x"], "y": box["y"], "width": box["width"], "height": box["height"]}
