"""The page of a run in a browser: opened from a file, on a phone and a desk, light and dark."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from tests.pictures.test_page import make_run
from tests.site.browsing import DESK, Visitor, chromium

pytestmark = pytest.mark.remembered(shipped=True)


@pytest.fixture(scope="module")
def visitor() -> Iterator[Visitor]:
    with sync_playwright() as playwright, chromium(playwright) as browser:
        yield Visitor(browser)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder: Path = make_run(tmp_path_factory.mktemp("opened"))
    return (folder / "p.html").as_uri()


def test_nothing_is_wrong_in_any_appearance(visitor: Visitor, address: str) -> None:
    assert visitor.findings(address) == []


def test_the_keyboard_filters_claims(visitor: Visitor, address: str) -> None:
    with visitor.page(DESK, "light") as (page, noticed):
        page.goto(address)
        parts = page.locator("[data-part]:visible")
        count = parts.count()
        page.keyboard.press("/")
        page.keyboard.type("sinusoidal paper")
        page.get_by_text(f"of {count} shown").wait_for()
        assert 0 < parts.count() < count
        page.keyboard.press("Escape")
        assert parts.count() == count
        assert noticed == []
