"""Every link inside the site works, at any address of the site."""

import json
import re
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

ERROR_PAGE = "404.html"
"""Shown in place of any missing page, so its links cannot be relative."""


class Anchors(HTMLParser):
    """The links of a page, and the ids to which others can link."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        names = ("href", "xlink:href", "src", "data", "action")
        self.links += [attributes[name] for name in names if name in attributes]
        self.ids |= {attributes["id"]} if "id" in attributes else set()


def dead_links(site: Path) -> list[str]:
    """Return links to missing targets, and links that work at one address of the site only."""
    anchors = cache(Anchors)
    dead = []
    for page in sorted(site.rglob("*.html")):
        name = page.relative_to(site).as_posix()
        for link in dict.fromkeys(anchors(page).links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            if parts.path.startswith("/") and name != ERROR_PAGE:
                dead.append(f"{name}: {link} does not hold below a folder")
                continue
            folder = site if parts.path.startswith("/") else page.parent
            target = (folder / unquote(parts.path).lstrip("/")).resolve() if parts.path else page
            target = target / "index.html" if target.is_dir() else target
            if not target.is_relative_to(site.resolve()) or not target.is_file():
                dead.append(f"{name}: {link} is not there")
            elif parts.fragment and not _has_place(target, parts.query, parts.fragment, anchors):
                dead.append(f"{name}: {link} has no such place")
            elif "scheme" in parse_qs(parts.query) and not _shown(target, parts.query).is_file():
                dead.append(f"{name}: {link} shows nothing")
    return dead


def _has_place(target: Path, query: str, fragment: str, anchors: Callable[[Path], Anchors]) -> bool:
    """Return whether a page, the scheme that it shows, or a file of code has a place."""
    place, _, words = fragment.partition(":~:text=")
    if words:
        text = re.escape(unquote(words))
        return bool(re.search(rf"\b{text}\b", target.read_text(encoding="utf-8")))
    if "scheme" in parse_qs(query):
        return unquote(place) in _ids_of(_shown(target, query))
    return unquote(place) in anchors(target).ids


def _shown(target: Path, query: str) -> Path:
    """Return the data that the page of references, or the scoreboard, shows for a query."""
    return target.parent / f"{parse_qs(query)['scheme'][0]}.json"


@cache
def _ids_of(path: Path) -> frozenset[str]:
    """Return the ids in the data of a scheme's reference."""
    if not path.is_file():
        return frozenset()
    parts = json.loads(path.read_text(encoding="utf-8"))["parts"]
    entries = [*parts, *(entry for part in parts for entry in part["entries"])]
    within = "".join(entry["text"] for entry in entries)
    return frozenset([*(entry["id"] for entry in entries), *re.findall(r'\bid="([^"]+)"', within)])


def test_links_inside_the_site_work(site: Path) -> None:
    assert dead_links(site) == []


@pytest.mark.parametrize(
    ("link", "complaint"),
    [
        ("other/#there", ""),
        ("other/index.html", ""),
        ("#here", ""),
        ("https://example.org/nowhere#none", ""),
        ("mailto:nobody@example.org", ""),
        ("nowhere/", "is not there"),
        ("other/nothing.svg", "is not there"),
        ("../outside.html", "is not there"),
        ("#there", "has no such place"),
        ("other/#here", "has no such place"),
        ("/other/", "does not hold below a folder"),
        ("other/?scheme=rope", ""),
        ("other/?scheme=rope#golden-two", ""),
        ("other/?scheme=rope#bad-input-odd", ""),
        ("other/?scheme=rope#golden-three", "has no such place"),
        ("other/?scheme=robe", "shows nothing"),
        ("other/?scheme=robe#golden-two", "has no such place"),
        ("check.txt#:~:text=def%20rises", ""),
        ("check.txt#:~:text=def%20rise", "has no such place"),
    ],
)
def test_dead_link_is_found(link: str, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "outside.html").write_text("")
    site = tmp_path / "site"
    (site / "other").mkdir(parents=True)
    (site / "index.html").write_text(f'<h1 id="here"><a href="{link}">there</a></h1>')
    golden = {"id": "golden-two", "text": ""}
    bad = {"id": "bad-input", "text": '<td id="bad-input-odd">', "entries": []}
    parts = [{"id": "goldens", "text": "", "entries": [golden]}, bad]
    (site / "other" / "rope.json").write_text(json.dumps({"parts": parts}))
    (site / "check.txt").write_text("def rises() -> None:\n")
    (site / "other" / "index.html").write_text('<h1 id="there">Other</h1>')
    assert dead_links(site) == ([f"index.html: {link} {complaint}"] if complaint else [])
