"""The search index: the prose of every page, in a file that is fetched when a reader searches.

The theme's search box uses ``assets/search/worker.js`` instead of the theme's own worker. Code,
tables, formulas and folded parts are left out; headings stay, so that all can be found by name.
``keywords`` in the head of a page are words for which it is the best result.
"""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.pages import Page

from posenc_conformance.models.file import load_all

ADDRESS = "assets/search/prose.json"
THEME_INDEX = "search/search_index.json"
WORKER = re.compile(r"assets/javascripts/workers/search\.\w+\.min\.js")
HEADINGS = ("h1", "h2", "h3")
LEFT_OUT = ("pre", "table", "svg", "math", "script", "style", "details", "noscript", "textarea")
CLASSES_LEFT_OUT = {"arithmatex", "headerlink", "claim", "explorer-controls", "verdict", "to-judge"}
NAMES_ALONE = ("api/", "bibliography.md")
"""Pages of which only headings are indexed: the API reference and the bibliography."""
NEVER_CLOSED = ("br", "img", "input", "hr", "link", "meta", "wbr", "source", "path")

Section = tuple[str, str, str]

_pages: dict[str, dict[str, Any]] = {}


class Prose(HTMLParser):
    """The sections of a page: anchor, heading and text of each, the page itself first."""

    def __init__(self) -> None:
        super().__init__()
        self.sections: list[list[str]] = [["", "", ""]]
        self._silent: list[bool] = []
        self._heading = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a section, or an element that is left out."""
        attributes = {name: value or "" for name, value in attrs}
        if tag in HEADINGS and "id" in attributes:
            self._heading = tag
            if tag != "h1":
                self.sections.append([attributes["id"], "", ""])
        if tag in NEVER_CLOSED:
            self.sections[-1][2] += " "
        else:
            classes = set(attributes.get("class", "").split())
            self._silent.append(tag in LEFT_OUT or bool(classes & CLASSES_LEFT_OUT))

    def handle_endtag(self, tag: str) -> None:
        """End a heading, or an element that is left out."""
        if tag == self._heading:
            self._heading = ""
        if tag not in NEVER_CLOSED and self._silent:
            self._silent.pop()
            self.sections[-1][2] += " "

    def handle_data(self, data: str) -> None:
        """Add a text to its section."""
        if self._heading:
            self.sections[-1][1] += data if "¶" not in data else ""
        elif not any(self._silent):
            self.sections[-1][2] += data


def sections(html: str) -> list[Section]:
    """Return the sections of a page's HTML, without code, tables and formulas."""
    parser = Prose()
    parser.feed(html)
    parser.close()
    return [
        (anchor, " ".join(title.split()), " ".join(text.split()))
        for anchor, title, text in parser.sections
    ]


def clear() -> None:
    """Forget the pages of an earlier build."""
    _pages.clear()


def add(page: Page, found: list[Section]) -> None:
    """Add a page to the index.

    A page whose head says ``search: {exclude: true}`` is left out; the pages in NAMES_ALONE are
    indexed by their headings only. The page of models gets a section per model.
    """
    if page.meta.get("search", {}).get("exclude"):
        return
    if page.file.src_uri == "models.md":
        found = [*found, *((model.id, model.title, model.summary) for model in load_all())]
    if page.file.src_uri.startswith(NAMES_ALONE):
        found = [(anchor, title, "") for anchor, title, _ in found]
    (_, title, text), *others = found
    _pages[page.url] = {
        "location": page.url,
        "keywords": [str(word) for word in page.meta.get("keywords", [])],
        "sections": [("", title or str(page.title), text), *others],
    }


def attach_worker(page: str, output: str) -> str:
    """Make a finished page search with the worker of this site.

    Raises PluginError if the theme has changed, so that this cannot fail silently.
    """
    changed, count = WORKER.subn("assets/search/worker.js", output)
    if count != 1:
        raise PluginError(
            f"{page}: the theme names its search worker {count} times instead of once: see how "
            "it does so now, and change docs/_hooks/search_index.py"
        )
    return changed


def write(site: Path) -> None:
    """Write the index next to its worker, and empty the index that the theme fetches."""
    path = site / THEME_INDEX
    theirs = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**theirs, "docs": []}), encoding="utf-8")
    text = json.dumps(list(_pages.values()), ensure_ascii=False, separators=(",", ":"))
    (site / ADDRESS).write_text(text, encoding="utf-8")
