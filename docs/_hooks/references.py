"""References: one file, cited by key as ``[@su2021]`` or ``[@su2021, section 3.2]``."""

import html
import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

import yaml
from mkdocs.exceptions import PluginError

from blocks.scheme_blocks import schemes
from markup import link
from pages import DOCS

FILE = DOCS / "references.yaml"
PAGE = "bibliography.md"
CITED = re.compile(r"\[@(?P<key>[a-z0-9-]+)(?:,\s+(?P<where>[^\]]+))?\]")
KEY = re.compile(r"^([^\s#:]+):", re.M)
CODE = re.compile(r"(```.*?```|`[^`\n]*`)", re.S)
ARXIV = re.compile(r"arxiv\.org/abs/(\d{4}\.\d{4,5})")


@dataclass(frozen=True)
class Reference:
    """A paper, article or program."""

    key: str
    authors: str
    year: int
    title: str
    where: str
    url: str

    @property
    def short(self) -> str:
        """The citation in a text."""
        return f"{self.authors} {self.year}"

    @property
    def arxiv(self) -> str | None:
        """The arXiv number, if there is one."""
        return arxiv_id(self.url)


def arxiv_id(url: str) -> str | None:
    """Return the number of the arXiv paper at an address, without version; None for other sites."""
    match = ARXIV.search(url)
    return match[1] if match else None


@lru_cache(maxsize=1)
def references() -> dict[str, Reference]:
    """Return all references by key; raises PluginError for an invalid or repeated entry."""
    result = {}
    text = FILE.read_text(encoding="utf-8")
    twice = [key for key, count in Counter(KEY.findall(text)).items() if count > 1]
    if twice:
        raise PluginError(f"{FILE.name} has {', '.join(twice)} more than once")
    for key, raw in yaml.safe_load(text).items():
        try:
            result[key] = Reference(key, **raw)
        except TypeError as error:
            raise PluginError(f"{FILE.name}: {key}: {error}") from error
    return result


def cited(page: str, markdown: str) -> str:
    """Replace the citations of a page by links to the bibliography, except in code."""
    up = "../" * page.count("/")

    def replaced(match: re.Match[str]) -> str:
        entries = references()
        if match["key"] not in entries:
            raise PluginError(f"{page}: [@{match['key']}] is no key of {FILE.name}")
        where = f", {match['where']}" if match["where"] else ""
        return f"[{entries[match['key']].short}{where}]({up}{PAGE}#{match['key']})"

    parts = [
        part if n % 2 else CITED.sub(replaced, part) for n, part in enumerate(CODE.split(markdown))
    ]
    left = [match[0] for part in parts[::2] for match in re.finditer(r"\[@[^\]]*\]?", part)]
    if left:
        raise PluginError(f"{page}: {left[0]!r} is no citation; write [@key] or [@key, where]")
    return "".join(parts)


def citing() -> dict[str, list[str]]:
    """Return for each key the pages that cite it, or whose scheme has the paper as a source."""
    pages: dict[str, list[str]] = {}
    papers = {entry.arxiv: entry.key for entry in references().values() if entry.arxiv}
    for path in sorted(DOCS.rglob("*.md")):
        page = path.relative_to(DOCS).as_posix()
        text = CODE.sub("", path.read_text(encoding="utf-8"))
        keys = [match["key"] for match in CITED.finditer(text)]
        scheme = schemes().get(path.stem) if page.startswith("schemes/") else None
        if scheme is not None:
            urls = [source.get("url", "") for source in scheme.sources.values()]
            keys += [papers[arxiv] for arxiv in map(arxiv_id, urls) if arxiv in papers]
        for key in dict.fromkeys(keys):
            pages.setdefault(key, []).append(page)
    return pages


def bibliography() -> str:
    """List every reference with the pages that cite it; raises PluginError for one never cited."""
    where = citing()
    unused = sorted(set(references()) - set(where))
    if unused:
        raise PluginError(f"{FILE.name}: no page cites {', '.join(unused)}")
    text = ""
    for work in sorted(references().values(), key=lambda work: (work.authors.lower(), work.year)):
        title = link(work.url, html.escape(work.title, quote=False))
        pages = ", ".join(f"[{page.removesuffix('.md')}]({page})" for page in where[work.key])
        place = f" {html.escape(work.where, quote=False)}." if work.where else ""
        text += (
            f'<span id="{work.key}"></span>{html.escape(work.authors, quote=False)} ({work.year}): '
            f"{title}.{place} Cited on {pages}.\n\n"
        )
    return text
