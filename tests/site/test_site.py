"""The site: built strictly, complete, and without a request to any other host."""

import gzip
import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit
from xml.etree import ElementTree

import described
import feed
import findings
import formulas
import hooks
import moved
import notation
import page_foot
import pytest
import search_index
import word_count
import yaml
from blocks import scheme_blocks, sections, site_blocks, symptom_blocks
from mkdocs.exceptions import PluginError
from mkdocs.utils.yaml import yaml_load
from references import arxiv_id, references

from pages import in_reference
from pictures import cards, figures
from posenc_conformance.commands.cures import FILE, Symptom
from posenc_conformance.registry import load_all
from posenc_conformance.scheme_file.scheme import Scheme
from scoreboard.cells import findings as board_findings
from tests.building import CHECKOUT, FIRST_VISIT, PAGE, SEARCH_INDEX

if TYPE_CHECKING:
    from mkdocs.structure.pages import Page as MkDocsPage

SCHEMES = load_all()
LOADED = {
    "audio": "src", "embed": "src", "iframe": "src", "img": "src", "input": "src", "object": "data",
    "script": "src", "source": "src", "track": "src", "video": "src",
}  # fmt: skip
LOADING_RELATIONS = {
    "stylesheet", "icon", "preload", "prefetch", "modulepreload", "preconnect", "dns-prefetch",
    "manifest", "apple-touch-icon",
}  # fmt: skip
CSS_URL = re.compile(r"""url\(\s*["']?([^"')]+)|@import\s+["']([^"']+)""")


class Page(HTMLParser):
    """A page: the addresses that it loads, its ids, its text outside of code, and its formulas."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.loads: list[str] = []
        self.styles: list[str] = []
        self.ids: list[str] = []
        self.text = ""
        self.classes: list[str] = []
        self.formulas = 0
        self._inside: list[str] = []
        self.source = path.read_text(encoding="utf-8")
        self.feed(self.source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self._inside.append(tag)
        self.ids += [attributes["id"]] if "id" in attributes else []
        self.styles += [attributes["style"]] if "style" in attributes else []
        self.classes += attributes.get("class", "").split()
        self.formulas += tag == "math"
        if tag in LOADED and LOADED[tag] in attributes:
            self.loads.append(attributes[LOADED[tag]])
        for candidate in attributes.get("srcset", "").split(","):
            self.loads += candidate.split()[:1]
        if tag == "link" and LOADING_RELATIONS & set(attributes.get("rel", "").split()):
            self.loads.append(attributes["href"])

    def handle_endtag(self, tag: str) -> None:
        while tag in self._inside and self._inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "style" in self._inside:
            self.styles.append(data)
        elif not {"script", "code", "pre"} & set(self._inside):
            self.text += data

    def handle_comment(self, data: str) -> None:
        self.text += f"<!--{data}-->"


@cache
def page_at(path: Path) -> Page:
    return Page(path)


@pytest.fixture(scope="session")
def pages(site: Path) -> list[Page]:
    # A page at an old address only leads on: test_reference_page.py has its tests.
    paths = [path for path in site.rglob("*.html") if not path.parent.name.endswith(moved.OLD)]
    built = [page_at(path) for path in sorted(paths)]
    assert len(built) > len(SCHEMES), "no pages were built"
    return built


def _foreign(address: str) -> bool:
    return bool(urlsplit(address.strip()).netloc)


def _css_addresses(text: str) -> list[str]:
    return [first or second for first, second in CSS_URL.findall(text)]


def test_pages_load_nothing_from_another_host(pages: list[Page]) -> None:
    foreign = [
        f"{page.path}: {address}"
        for page in pages
        for address in [*page.loads, *_css_addresses("\n".join(page.styles))]
        if _foreign(address)
    ]
    assert not foreign, foreign


def test_style_sheets_load_nothing_from_another_host(site: Path) -> None:
    sheets = sorted(site.rglob("*.css"))
    assert sheets
    foreign = [
        f"{sheet}: {address}"
        for sheet in sheets
        for address in _css_addresses(sheet.read_text(encoding="utf-8"))
        if _foreign(address)
    ]
    assert not foreign, foreign


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.id)
def test_page_of_a_scheme_is_complete(scheme: Scheme, site: Path) -> None:
    ids = page_at(site / "schemes" / scheme.id / "index.html").ids
    anchors = [f"convention-{name}" for name in scheme.conventions]
    anchors += [f"source-{name}" for name in scheme.sources]
    anchors += [entry.id for entry in scheme.deviations]
    missing = [entry for entry in anchors if entry not in ids]
    assert not missing, missing


def test_ids_are_unique_within_a_page(pages: list[Page]) -> None:
    for page in pages:
        twice = [name for name, count in Counter(page.ids).items() if count > 1]
        assert not twice, f"{page.path}: {twice}"


def test_placeholders_and_definitions_are_rendered(pages: list[Page]) -> None:
    for page in pages:
        left = re.findall(r"<!--.*?-->", page.text)
        left += re.findall(r"<p>: .*", page.path.read_text(encoding="utf-8"))
        assert not left, f"{page.path}: {left}"


def test_every_formula_is_mathml(pages: list[Page], site: Path) -> None:
    written = 0
    for source in (CHECKOUT / "docs").rglob("*.md"):
        text = re.sub(r"```.*?```", "", source.read_text(encoding="utf-8"), flags=re.S)
        written += len(re.findall(r"\\\(|\\\[", text))
    written += sum(len(notation.formulas(block())) for block in notation.BLOCKS.values())
    assert written > 50
    assert sum(page.formulas for page in pages) == written
    for page in pages:
        assert "arithmatex" not in page.classes, page.path
        assert not re.search(r"\\[()\[\]]", page.text), page.path


def test_formula_that_cannot_be_converted_fails_the_build() -> None:
    content = r'<span class="arithmatex">\(\nosuchcommand{x}\)</span>'
    with pytest.raises(PluginError, match=r"index\.md: the formula .*nosuchcommand"):
        formulas.rendered("index.md", content)


def test_unknown_placeholder_fails_the_build() -> None:
    page = cast("MkDocsPage", SimpleNamespace(file=SimpleNamespace(src_uri="index.md")))
    with pytest.raises(PluginError, match=r"index\.md: unknown placeholder <!-- spec:nothing -->"):
        hooks.on_page_markdown("<!-- spec:nothing -->", page)


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.id)
def test_a_page_may_leave_out_sections(scheme: Scheme) -> None:
    """The build adds missing sections in order; a scheme without a page gets a page of them."""
    page = CHECKOUT / "docs" / "schemes" / f"{scheme.id}.md"
    for text in (page.read_text(encoding="utf-8"), sections.skeleton(scheme)):
        names = re.findall(r"<!-- spec:([a-z-]+) -->", sections.completed(text, scheme))
        remaining = [name for name in names if name in sections.SECTIONS]
        assert remaining == [name for name in sections.SECTIONS if name in remaining]
        assert not set(remaining) & set(sections.MOVED)
        left_out = set(sections.SECTIONS) - set(remaining) - set(sections.MOVED)
        assert left_out <= {"conventions"}


def test_a_pages_own_words_in_a_moved_section_stay() -> None:
    scheme = SCHEMES[0]
    told = "# T\n\n## Goldens\n\nOwn words.\n\n<!-- spec:goldens -->\n\n## Calls\n\n"
    told += "<!-- spec:calls -->\n"
    page = sections.completed(told, scheme)
    assert "Own words." in page
    assert in_reference(scheme_blocks.PAGE, scheme.id, "goldens") in page
    assert "## Calls" not in page


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.id)
def test_provenance_is_hashed_as_the_page_on_the_format_says(scheme: Scheme) -> None:
    raw = yaml.safe_load(scheme.path.read_text(encoding="utf-8"))
    for golden in raw["goldens"]:
        content = {key: golden[key] for key in ("arguments", "call", "combination", "expect")}
        content["options"] = golden.get("options", {})
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        digest = hashlib.sha256(text.encode()).hexdigest()
        assert golden["sha256"] == digest, golden["id"]


PAPERS = [
    (scheme, source, arxiv)
    for scheme in SCHEMES
    for source in scheme.sources.values()
    if (arxiv := arxiv_id(source.get("url", "")))
]


def _mistold(title: str, arxiv: str) -> str:
    """Return how a source's title contradicts the bibliography; empty if it does not."""
    entry = next((work for work in references().values() if work.arxiv == arxiv), None)
    if entry is None:
        return f"arXiv {arxiv} has no entry in references.yaml"
    match = re.match(r"([\w-]+).*? (\d{4}), ", title)
    expected = (re.split(r"[ ,]", entry.authors)[0], str(entry.year))
    return "" if match is None or match.groups() == expected else f"{title!r} is not of {expected}"


@pytest.mark.parametrize(
    ("scheme", "source", "arxiv"), PAPERS, ids=[f"{s.id}-{arxiv}" for s, _, arxiv in PAPERS]
)
def test_papers_of_schemes_are_in_the_bibliography(
    scheme: Scheme, source: dict[str, str], arxiv: str
) -> None:
    assert not _mistold(source["title"], arxiv), scheme.path.name


@pytest.mark.parametrize(
    ("title", "arxiv", "found"),
    [
        ("Nobody 2017, A paper", "1706.00000", "no entry"),
        ("Vaswani et al. 2018, Attention Is All You Need", "1706.03762", "2017"),
        ("Shazeer 2017, Attention Is All You Need", "1706.03762", "Vaswani"),
    ],
)
def test_a_mistold_paper_is_found(title: str, arxiv: str, found: str) -> None:
    assert found in _mistold(title, arxiv)


def test_bibliography_links_to_pages_of_schemes(site: Path) -> None:
    text = (site / "bibliography" / "index.html").read_text(encoding="utf-8")
    for scheme, _, arxiv in PAPERS:
        entry = next(candidate for candidate in references().values() if candidate.arxiv == arxiv)
        block = text.partition(f'<span id="{entry.key}">')[2].partition("</p>")[0]
        assert f"schemes/{scheme.id}/" in block, (scheme.id, arxiv)


def test_a_scheme_without_a_judged_library_says_so(site: Path) -> None:
    """The pieces of the scoreboard's strips decide which schemes have a judged library."""
    board = (site / "scoreboard" / "index.html").read_text(encoding="utf-8")
    pieces = re.findall(r'class="piece \w+" href="([\w.-]+)/#([\w-]+)"', board)
    judged = {scheme for library, scheme in pieces if not library.startswith("example-")}
    assert judged
    says_so = {
        scheme.id
        for scheme in SCHEMES
        if 'href="../../scoreboard/"' in _before_sections(site / "schemes" / scheme.id)
    }
    assert says_so == {scheme.id for scheme in SCHEMES} - judged


def _before_sections(folder: Path) -> str:
    """Return the beginning of a page's article, before its first section."""
    article = (folder / "index.html").read_text(encoding="utf-8").partition("<article")[2]
    return article.partition("<h2")[0]


def test_every_known_failure_is_a_finding(site: Path) -> None:
    pages = sorted((site / "scoreboard").rglob("*.html"))
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    for path in sorted((CHECKOUT / "tests" / "known").glob("*.yaml")):
        for entry in yaml.safe_load(path.read_text(encoding="utf-8"))["failures"]:
            for id in entry.get("ids", [entry.get("id")]):
                assert id in text, (path.name, id)


def test_a_finding_needs_its_library_and_version(tmp_path: Path) -> None:
    path = tmp_path / "someone.yaml"
    path.write_text("# Somebody found this.\nfailures: []\n", encoding="utf-8")
    with pytest.raises(PluginError, match=r"someone\.yaml must begin with a comment"):
        findings.read_known(path)


SYMPTOMS = symptom_blocks.symptoms()
LINK = re.compile(r'href="\.\./schemes/([\w-]+)/#([\w-]+)"')


def _sections_of(page: str) -> dict[str, str]:
    """Return the HTML of each symptom on the page, by its id."""
    parts = re.split(r'<h[23] id="([\w-]+)"', page)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.id)
def test_every_known_mistake_is_reached_from_each_of_its_symptoms(
    scheme: Scheme, site: Path
) -> None:
    """A mistake has its own link or, if it is rare, the link to the mistakes of its scheme."""
    parts = _sections_of(page_at(site / "which-mistake" / "index.html").source)
    for deviation in scheme.deviations:
        symptoms = [candidate for candidate in SYMPTOMS if candidate.fits(scheme, deviation)]
        assert symptoms, deviation.id
        for symptom in symptoms:
            links = LINK.findall(parts[symptom.id])
            others = {name for name, id in links if id == deviation.id}
            assert (scheme.id, "deviations") in links or others, (symptom.id, deviation.id)


@pytest.mark.parametrize("symptom", SYMPTOMS, ids=lambda symptom: symptom.id)
def test_a_symptom_shows_few_candidates_of_a_group_and_the_commonest_first(
    symptom: Symptom, site: Path
) -> None:
    parts = _sections_of(page_at(site / "which-mistake" / "index.html").source)
    lists = re.findall(r'<ol class="candidates">(.*?)</ol>', parts[symptom.id], re.S)
    groups = [symptom_blocks.candidates(symptom, entry) for entry in symptom_blocks.GROUPS.values()]
    assert len(lists) == sum(map(bool, groups)) > 0
    assert all(text.count("<li") <= symptom_blocks.SHOWN <= 7 for text in lists)
    for candidates in groups:
        threads = [len(entry.threads) for entry in candidates]
        assert threads == sorted(threads, reverse=True)


def test_families_of_all_schemes_are_among_the_groups() -> None:
    families = [family for members in symptom_blocks.GROUPS.values() for family in members]
    assert len(families) == len(set(families))
    assert {scheme.family for scheme in SCHEMES} <= set(families)


@pytest.mark.parametrize(
    ("symptom", "scheme", "mistake", "fits"),
    [
        ("trained-length", "yarn", "factor-ignored", True),
        ("trained-length", "llama3", "scaling-missing", True),
        ("trained-length", "rope", "layout-swapped", False),
        ("edge", "sliding-window", "window-dropped", True),
        ("edge", "integer", "positions-wrapped", True),
        ("long-texts", "rope", "wrong-base", True),
        ("long-texts", "random-walk", "degree-floored", False),
        ("long-texts", "layout-2d", "sizes-without-sign", False),
        ("scaling-worse", "dynamic-ntk", "always-full", True),
        ("scaling-worse", "dynamic-ntk", "never-scaled", False),
        ("exception", "sliding-window", "itself-hidden", True),
        ("saved", "rope", "wrong-base", True),
        ("saved", "sinusoidal", "wrong-base", False),
        ("loss", "laplacian", "not-normalized", True),
    ],
)
def test_where_a_long_text_breaks_tells_mistakes_apart(
    symptom: str, scheme: str, mistake: str, fits: bool
) -> None:
    (entry,) = (candidate for candidate in SYMPTOMS if candidate.id == symptom)
    (home,) = (candidate for candidate in SCHEMES if candidate.id == scheme)
    (deviation,) = (candidate for candidate in home.deviations if candidate.id == mistake)
    assert entry.fits(home, deviation) is fits


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda raw: raw.pop("gradients"), "no symptom fits .*backward-is-forward"),
        (lambda raw: raw["cache"]["match"]["ids"].append("nothing"), "cache: nothing"),
        (lambda raw: raw["cache"].pop("cure"), "cache: .*cure"),
        (lambda raw: raw["cache"].update(begins="late"), "cache.begins: 'late'"),
        (lambda raw: raw["edge"]["match"][1].update(families=["bias"]), "edge: positions-wrapped"),
    ],
    ids=["left-out", "idle", "incomplete", "nowhere", "of-another-family"],
)
def test_a_wrong_index_of_symptoms_is_refused(
    change: Callable[[Any], object], found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    for entry in raw.values():
        if found.startswith("no symptom") and isinstance(entry["match"], dict):
            entry["match"].pop("classes", None)
    change(raw)
    path = tmp_path / "symptoms.yaml"
    path.write_text(yaml.safe_dump(raw, sort_keys=False), encoding="utf-8")
    monkeypatch.setattr(symptom_blocks, "FILE", path)
    symptom_blocks.symptoms.cache_clear()
    try:
        with pytest.raises(PluginError, match=found):
            symptom_blocks.symptoms()
    finally:
        symptom_blocks.symptoms.cache_clear()


DESCRIPTION = re.compile(r'<meta name="description" content="([^"]*)">')


def test_every_page_describes_itself(pages: list[Page]) -> None:
    page_of: dict[str, Path] = {}
    for page in pages:
        text = page.path.read_text(encoding="utf-8")
        (description,) = DESCRIPTION.findall(text)
        assert 20 < len(description) <= 2 * described.LONGEST, (page.path, description)
        assert f'<meta property="og:description" content="{description}">' in text, page.path
        assert page_of.setdefault(description, page.path) == page.path, (description, page.path)


def test_descriptions_are_whole_sentences_where_there_is_room() -> None:
    long = "word " * 100
    assert described.shortened("Short.") == "Short."
    assert described.shortened(
        f"A first sentence of a hundred letters, {'x' * 60}. {long}"
    ).endswith("x.")
    assert described.shortened(long).endswith("word …")
    assert len(described.shortened(long)) <= described.LONGEST


def test_no_page_is_heavy(site: Path) -> None:
    weights = {path: len(gzip.compress(path.read_bytes())) for path in site.rglob("*.html")}
    assert {path: weight for path, weight in weights.items() if weight > PAGE} == {}


def test_search_index_is_light_and_the_themes_is_empty(site: Path) -> None:
    index = (site / search_index.ADDRESS).read_bytes()
    assert len(gzip.compress(index)) <= SEARCH_INDEX
    assert json.loads((site / search_index.THEME_INDEX).read_text(encoding="utf-8"))["docs"] == []


def test_first_visit_is_light(site: Path) -> None:
    """The page and all files that it names; files that scripts fetch are counted in the browser."""
    home = page_at(site / "index.html")
    files = [site / "index.html", *(site / name for name in home.loads)]
    assert any(path.suffix == ".js" for path in files)
    assert sum(len(gzip.compress(path.read_bytes())) for path in files) <= FIRST_VISIT


def test_only_prose_is_searched() -> None:
    html = (
        '<h1 id="top">Top<a class="headerlink">¶</a></h1><p>Said <code>here</code>.</p>'
        "<pre>code</pre><table><tr><td>cell</td></tr></table>"
        '<details><summary>More</summary><h3 id="deep">Deep</h3><p>folded</p></details>'
        '<h2 id="next">Next</h2><p>Then <span class="arithmatex">\\(x\\)</span>.<br>End</p>'
    )
    assert search_index.sections(html) == [
        ("", "Top", "Said here ."),
        ("deep", "Deep", ""),
        ("next", "Next", "Then . End"),
    ]


def test_developers_pages_and_no_others_are_left_out_of_the_search(site: Path) -> None:
    nav = yaml_load((CHECKOUT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    (developers,) = (part["Developers"] for part in nav if "Developers" in part)
    index = json.loads((site / search_index.ADDRESS).read_text(encoding="utf-8"))
    found = {entry["location"].strip("/") or "." for entry in index}
    built = {
        path.parent.relative_to(site).as_posix()
        for path in site.rglob("index.html")
        if not path.parent.name.endswith(moved.OLD)
    }
    assert built - found == {page.removesuffix(".md") for page in developers}


def test_themes_worker_is_replaced_or_the_build_fails() -> None:
    theirs = '{"search": "../assets/javascripts/workers/search.a1b2.min.js"}'
    assert (
        search_index.attach_worker("page.md", theirs) == '{"search": "../assets/search/worker.js"}'
    )
    with pytest.raises(PluginError, match="0 times"):
        search_index.attach_worker("page.md", "{}")


def test_parts_for_implementers_come_last(site: Path) -> None:
    for scheme in SCHEMES:
        text = (site / "schemes" / scheme.id / "index.html").read_text(encoding="utf-8")
        before, mark, after = text.partition('<p class="reference-begins">')
        assert mark, scheme.id
        for deviation in scheme.deviations:
            assert f'id="{deviation.id}"' in after, (scheme.id, deviation.id)
        assert "golden reference" not in before, scheme.id
        assert f'href="{in_reference(scheme_blocks.PAGE, scheme.id)}"' in after, scheme.id


ELEMENT = re.compile(r"<[a-zA-Z]")


def test_the_page_of_the_sinusoid_is_light_enough_for_a_phone(site: Path) -> None:
    text = (site / "schemes" / "sinusoidal" / "index.html").read_text(encoding="utf-8")
    assert len(ELEMENT.findall(text)) < 2600


def test_the_strip_of_a_scheme_has_the_libraries_of_the_scoreboard(site: Path) -> None:
    board = (site / "scoreboard" / "index.html").read_text(encoding="utf-8")
    pieces = re.findall(r'class="piece (\w+)" href="([\w.-]+)/#([\w-]+)"', board)
    expected = {(state, lib) for state, lib, id in pieces if id == "rope" and lib[:8] != "example-"}
    page = (site / "schemes" / "rope" / "index.html").read_text(encoding="utf-8")
    shown = re.findall(r'class="piece (\w+)" href="../../scoreboard/([\w.-]+)/#rope"', page)
    assert len(shown) == len(expected)
    assert set(shown) == expected


def test_pages_link_to_the_previous_and_the_next(site: Path) -> None:
    text = (site / "schemes" / "alibi" / "index.html").read_text(encoding="utf-8")
    assert re.search(r'<link rel="prev" href="[^"]*t5-bias/"', text)
    assert re.search(r'href="[^"]*clipped-bias/"[^>]*aria-label="Next: ', text)


def test_a_card_shows_the_title() -> None:
    short, long = cards.draw("RoPE"), cards.draw("A title of many words " * 9)
    assert short.size == long.size == cards.SIZE
    assert short.tobytes() != long.tobytes() != cards.draw("").tobytes()


def test_every_page_ends_with_how_to_cite_it(pages: list[Page], site: Path) -> None:
    for page in pages:
        if page.path.name == "404.html":
            continue
        (foot,) = re.findall(r'<p class="page-foot">.*?</p>', page.source)
        (cite,) = re.findall(r'<a href="([^"]*)">Cite', foot)
        assert (page.path.parent / cite).resolve() == (site / "cite").resolve(), page.path


def test_the_day_of_a_page_is_that_of_its_newest_commit() -> None:
    log = "\x002026-11-03\n\na.md\nb.md\n\x002026-11-02\n\nb.md\nc.md\n"
    assert page_foot.newest(log) == {
        "a.md": "2026-11-03",
        "b.md": "2026-11-03",
        "c.md": "2026-11-02",
    }


def test_the_feed_has_every_finding_under_its_own_address() -> None:
    tree = ElementTree.fromstring(feed.content("https://example.org/posenc/"))
    name = f"{{{feed.ATOM}}}"
    entries = tree.findall(f"{name}entry")
    ids = [entry.findtext(f"{name}id") or "" for entry in entries]
    expected = {f"finding-{item.id}" for item in board_findings() if feed.judged(item)}
    assert {item.partition("#")[2] for item in ids} == expected
    assert len(ids) == len(set(ids)) > 0
    days = [entry.findtext(f"{name}updated") or "" for entry in entries]
    assert days == sorted(days, reverse=True)
    assert tree.findtext(f"{name}updated") == days[0]


def test_groups_that_only_name_are_dropped_and_others_stay() -> None:
    svg = '<svg><g id="a"><g style="x"><g id="b"><path/></g></g></g><g id="c"/><g>t</g></svg>'
    assert figures.without_groups(svg) == '<svg><g style="x"><path/></g>t</svg>'


def test_ticks_become_one_path_and_other_marks_stay() -> None:
    mark = '<defs>\n<path id="m" d="M 0 0 \nL 0 3.5 \n" style="s"/>\n</defs>'
    ticks = '<use xlink:href="#m" x="1" y="2" style="s"/>\n<use xlink:href="#m" x="5" y="2"/>'
    other = '<defs><path id="o" d="M 0 0 C 1 1 2 2"/></defs><use xlink:href="#o" x="1" y="2"/>'
    drawn = figures.with_one_path_of_ticks(f"<svg>{mark}{ticks}{other}</svg>")
    assert drawn.replace("\n", "") == (
        f'<svg><path d="M1,2l0 3.5M5,2l0 3.5" style="s"/>{other}</svg>'
    )


def test_the_colours_are_ours_without_a_script(pages: list[Page]) -> None:
    for page in pages:
        (body,) = re.findall(r"<body[^>]*>", page.source)
        assert 'data-md-color-primary="custom"' in body, page.path


FACE = re.compile(r"@font-face \{([^}]*)\}")


def faces(style: str) -> set[tuple[str, str, str]]:
    """Return family, weight and style of each face in a style sheet."""
    found = (dict(re.findall(r"([\w-]+): ([^;]+);", face)) for face in FACE.findall(style))
    return {
        (one["font-family"], one.get("font-weight", "400"), one.get("font-style", "normal"))
        for one in found
    }


def without_a_face(style: str) -> set[tuple[str, str]]:
    """Return the weights and styles of the site's font that a first visit would show faked."""
    there = faces(style)
    own = {(weight, slant) for family, weight, slant in there if family == "Inter"}
    before = {(weight, slant) for family, weight, slant in there if family == '"Inter before"'}
    return own - before


def test_a_first_visit_has_fonts_of_its_own(pages: list[Page], site: Path) -> None:
    for page in pages:
        loaded = re.findall(r'<link rel="preload" href="([^"]+\.woff2)" as="font"', page.source)
        names = [address.rpartition("/")[2] for address in loaded]
        assert names == ["text.woff2", "text-bold.woff2"], page.path
        where = site if page.path.name == "404.html" else page.path.parent
        assert all((where / address.lstrip("/")).exists() for address in loaded), page.path
    style = (site / "assets" / "site.css").read_text("utf-8")
    assert not without_a_face(style)
    assert without_a_face(style.replace("font-weight: 700;\n  src: local", "src: local"))


HELD_BACK = re.compile(r'<script src="(?![^>]*(?:defer|async|type="module"))[^>]*>')
"""A script that the drawing of the page waits for."""


def test_no_script_holds_back_the_first_drawing(pages: list[Page]) -> None:
    assert HELD_BACK.search('<script src="bundle.js"></script>')
    assert not HELD_BACK.search('<script src="bundle.js" defer></script>')
    for page in pages:
        assert not HELD_BACK.search(page.source), page.path


@pytest.mark.parametrize("address", ["", "https://code.example/posenc"])
def test_the_first_command_works_when_pasted(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPO_URL", address)
    (command,) = re.findall(r"^pip .*$", site_blocks.install(), re.MULTILINE)
    assert command in ("pip install .", f"pip install git+{address}")
    assert address in command
    assert "$" not in site_blocks.install()


def test_a_sitemap_exists_if_the_address_is_known(site: Path) -> None:
    has_address = bool(os.environ.get("SITE_URL"))
    for name in ("sitemap.xml", "findings.xml", "robots.txt"):
        assert (site / name).exists() == has_address, name


def test_the_page_from_symptoms_to_causes_is_short(site: Path) -> None:
    article = page_at(site / "which-mistake" / "index.html").source.partition("<article")[2]
    assert 1_000 < word_count.count(article.partition("</article>")[0]) < 6_400


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("<p>One, two: 3.5 and <b>bold</b> words.</p>", 6),
        ("<p>it's well-known</p>", 2),
        ("<p>seen</p><script>let a = 1</script><svg><text>drawn</text></svg>", 1),
        ("<p>4 &lt; 5</p>", 2),
        ("", 0),
    ],
    ids=["tags", "within-words", "hidden", "entities", "empty"],
)
def test_words_are_counted_as_they_are_read(page: str, words: int) -> None:
    assert word_count.count(page) == words


def test_a_build_reports_the_number_of_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_count, "_pages", {})
    word_count.add("short/", "<p>One word</p>")
    word_count.add("long/", "<p>Some more words</p>")
    assert word_count.said() == "5 words on 2 pages; most on long/ 3, short/ 2"


def test_fonts_of_the_site_are_part_of_it(site: Path) -> None:
    style = (site / "assets" / "site.css").read_text(encoding="utf-8")
    faces = re.findall(r"@font-face \{(.*?)\}", style, re.S)
    fetched = {url for face in faces for url in re.findall(r'url\("(.*?)"\)', face)}
    assert fetched == {f"fonts/{path.name}" for path in (site / "assets/fonts").glob("*.woff2")}
    shown = re.compile("font-display: (swap|optional);")  # a page never waits for its fonts
    assert all(shown.search(face) for face in faces if "url(" in face)
    for path in (site / "assets" / "fonts").glob("*.woff2"):
        assert path.read_bytes()[:4] == b"wOF2"
        assert path.stat().st_size < 40_000
    licences = [path.read_text("utf-8") for path in (site / "assets/fonts").glob("*-licence.txt")]
    assert len(licences) == 2
    assert all("SIL Open Font License" in text for text in licences)


def test_code_of_the_theme_has_its_licences(site: Path) -> None:
    (bundle,) = (site / "assets/javascripts").glob("bundle.*.js")
    text = bundle.with_name("licences.txt").read_text("utf-8")
    assert "Permission is hereby granted, free of charge" in text  # MIT, the theme
    assert "Apache" in text  # the icons


@pytest.mark.parametrize("scheme", SCHEMES[:3], ids=lambda scheme: scheme.id)
def test_a_known_mistake_has_a_link_to_itself(scheme: Scheme, site: Path) -> None:
    source = page_at(site / "schemes" / scheme.id / "index.html").source
    for deviation in scheme.deviations:
        assert source.count(f'class="headerlink" href="#{deviation.id}"') == 1


def test_a_table_of_contents_has_no_marks_of_links(site: Path) -> None:
    entry = re.compile(r'class="md-nav__link">([^<]*)')
    entries = entry.findall(page_at(site / "schemes" / "rope" / "index.html").source)
    assert any("layout-swapped" in text for text in entries)
    assert [text.strip() for text in entries if "¶" in text] == []
