"""The number of words of the site, reported by a build so that growing pages are noticed."""

import html
import re

HIDDEN = re.compile(r"<(script|style|svg|math|template)\b.*?</\1>", re.S)
TAG = re.compile(r"<[^>]+>")
WORD = re.compile(r"\w+(?:['’.,-]\w+)*")
NAMED = 5
"""Number of pages with the most words that the report names."""

_pages: dict[str, int] = {}


def clear() -> None:
    """Forget the pages of an earlier build."""
    _pages.clear()


def count(page: str) -> int:
    """Count the visible words of HTML, including code but not figures."""
    text = html.unescape(TAG.sub(" ", HIDDEN.sub(" ", page)))
    return len(WORD.findall(text))


def add(url: str, page: str) -> None:
    """Add the words of a page."""
    _pages[url] = count(page)


def said() -> str:
    """Return the number of words and the pages with the most, as text."""
    most = sorted(_pages, key=lambda url: -_pages[url])[:NAMED]
    named = ", ".join(f"{url or 'the first page'} {_pages[url]:,}" for url in most)
    return f"{sum(_pages.values()):,} words on {len(_pages)} pages; most on {named}"
