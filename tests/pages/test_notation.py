"""Symbols have the same meaning on every page."""

import re

import notation
import pytest
from mkdocs.exceptions import PluginError

from tests.building import CHECKOUT

DOCS = CHECKOUT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


@pytest.mark.parametrize("page", PAGES)
def test_a_page_keeps_to_the_notation(page: str) -> None:
    assert list(notation.breaches(page, (DOCS / page).read_text(encoding="utf-8"))) == []


def test_the_table_names_only_existing_pages() -> None:
    assert set(notation.read_notation()["local"]) <= set(PAGES)


@pytest.mark.parametrize(
    ("page", "text", "found"),
    [
        ("schemes/yarn.md", r"\(\theta_t = b^{-2t/d}\)", "theta_t is used for something else"),
        ("schemes/rope.md", r"turns by \(m\theta\)", "used for something else"),
        ("schemes/rope.md", r"\(\theta = b^{-2t/d}\)", "another meaning: An angle"),
        ("schemes/yarn.md", r"\[\omega_t = g_t\,\omega_t\]", r"omega_t = .* another meaning"),
        ("schemes/rope.md", r"\(\omega = \frac{\theta}{s}\)", "another meaning: The frequency"),
        ("schemes/rope.md", r"\(\omega'_t = m\)", "another meaning: The frequency that a scaling"),
        ("schemes/t5-bias.md", r"\(\delta = j - i\)", "another meaning: The distance"),
        ("theory/rotary.md", r"\(\delta = n - m\)", "another meaning: The distance"),
        ("schemes/rope.md", r"the angle \(\chi\)", "chi is in neither part"),
        ("schemes/t5-bias.md", r"\(\alpha\)", "alpha is in neither part"),
        ("schemes/shaw.md", r"\(a\)", "alpha is said to be of this page"),
    ],
)
def test_another_meaning_is_found(page: str, text: str, found: str) -> None:
    assert re.search(found, "; ".join(notation.breaches(page, text)))
    with pytest.raises(PluginError, match=f"^{page}: "):
        notation.checked(page, text)


@pytest.mark.parametrize(
    "text",
    [
        r"\(\omega_t = b^{-2t/r}\), \(\theta = p\,\omega\) and \(\delta = m - n\)",
        r"At \(\theta = 0.5\), \(\omega = 1/1000\) and \(\delta=0\)",
        r"`\(\theta_t\)` in code",
        r"\(\cos\theta_a - \sin\theta_b \le \theta\)",
    ],
)
def test_the_meanings_of_the_table_are_accepted(text: str) -> None:
    assert list(notation.breaches("questions.md", text)) == []


def test_pages_with_formulas_link_to_the_table() -> None:
    assert "(../notation.md)" in notation.checked("theory/choosing.md", r"Pair \(t\).")
    assert "notation.md" not in notation.checked("theory/choosing.md", "No formula.")
