"""How many words the site has: a build says so at its end, so that a page that grows is seen."""

import html
import re

HIDDEN = re.compile(r"<(script|style|svg|math|template)\b.*?</\1>", re.S)
TAG = re.compile(r"<[^>]+>")
WORD = re.compile(r"\w+(?:['’.,-]\w+)*")
NAMED = 5
"""Pages that are named, those with the most words."""

_pages: dict[str, int] = {}


def clear() -> None:
    """Forget the pages of an earlier build."""
    _pages.clear()


def count(page: str) -> int:
    """Count the words of HTML as a reader sees it, code included and figures left out."""
    text = html.unescape(TAG.sub(" ", HIDDEN.sub(" ", page)))
    return len(WORD.findall(text))


def add(url: str, page: str) -> None:
    """Take the content of a page into account."""
    _pages[url] = count(page)


def said() -> str:
    """Say how many words there are, and which pages have the most."""
    most = sorted(_pages, key=lambda url: -_pages[url])[:NAMED]
    named = ", ".join(f"{url or 'the first page'} {_pages[url]:,}" for url in most)
    return f"{sum(_pages.values()):,} words on {len(_pages)} pages; most on {named}"
