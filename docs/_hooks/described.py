"""A description of every page, for search engines and cards."""

import html
import re

from mkdocs.structure.pages import Page

from markup import prose
from posenc_conformance.scheme_file.scheme import Scheme
from search_index import Section

LONGEST = 200
TAG = re.compile("<[^>]*>")


def add(page: Page, found: list[Section], scheme: Scheme | None) -> None:
    """Set a page's description: its own, its scheme's, or its first sentences; escaped for HTML."""
    description = page.meta.get("description")
    if description is None:
        text = html.unescape(TAG.sub("", prose(scheme.summary))) if scheme else _first_text(found)
        description = shortened(f"{page.title}: {text}" if scheme else text)
    page.meta["description"] = html.escape(description)


def _first_text(found: list[Section]) -> str:
    return next((text for _, _, text in found if text), found[0][1])


def shortened(text: str) -> str:
    """Shorten a text to whole sentences, or else to whole words."""
    words = " ".join(text.split())
    if len(words) <= LONGEST:
        return words
    end = max(words.rfind(mark, 0, LONGEST) for mark in (". ", "? ", ": "))
    if end > LONGEST // 3:
        return words[: end + 1]
    return words[: words.rfind(" ", 0, LONGEST - 1)] + " …"
