"""Hooks that extend MkDocs without a plugin: see CONTRIBUTING.md, 'The site'.

Placeholders such as ``<!-- spec:goldens -->`` are filled from the spec, the kit and the reference;
formulas become MathML; claims, figures and references are resolved; the navigation lists the pages
of folders. Any inconsistency fails the build.
"""

import logging
import re
from importlib.metadata import distribution
from pathlib import Path
from textwrap import indent
from typing import Any

import material
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from posenc_lab import scheme_families

import accessible
import claims
import config_data
import described
import engine_pages
import explorer_data
import facts
import feed
import formulas
import lessons
import library_pages
import lookalikes  # noqa: F401  # imported by a claim when this folder is no longer on the path
import model_data
import moved
import notation
import notebooks
import page_foot
import pages
import references
import search_index
import vectors
import versions
import word_count
from blocks import (
    cost_blocks,
    general_blocks,
    measured_blocks,
    model_blocks,
    reference_blocks,
    scheme_blocks,
    scoreboard_blocks,
    sections,
    site_blocks,
    symptom_blocks,
    type_blocks,
)
from pictures import cards, figures, fonts
from posenc_conformance.models import file as models
from posenc_conformance.report import document
from posenc_conformance.scheme_file import read
from posenc_conformance.scheme_file.scheme import Scheme

COMMENT = re.compile(r"(?P<indent>(?:^ +)?)<!--\s*(?P<name>.*?)\s*-->", re.S | re.M)
PLAIN = (
    general_blocks.BLOCKS
    | measured_blocks.BLOCKS
    | model_blocks.BLOCKS
    | type_blocks.BLOCKS
    | cost_blocks.BLOCKS
    | site_blocks.BLOCKS
    | symptom_blocks.BLOCKS
    | scoreboard_blocks.BLOCKS
    | notation.BLOCKS
    | lessons.BLOCKS
    | library_pages.BLOCKS
    | reference_blocks.BLOCKS
)
IN_REFERENCE = re.compile(
    r"\[(?P<words>[^\]]+)\]\(reference:(?P<scheme>[\w-]+)#(?P<place>[\w-]+)\)"
)
LOG = logging.getLogger("mkdocs.hooks.words")
EDITED = "edit/main/docs/"
"""Path at which the repository's host edits a page."""
PLAIN_CODE = re.compile(r'<span class="[nwp]">([^<]*)</span>')
"""Names, spaces and brackets in code, which need no colour: half of all elements."""
OBJECTS_STYLE = re.compile(r'<link rel="stylesheet" href="[^"]*_mkdocstrings\.css">')
ELLIPSIS = re.compile(
    r'(<(?:a|label)\b[^>]*\bmd-nav__link\b[^>]*>)\s*<span class="md-ellipsis">\s*([^<]*?)\s*</span>'
)
"""A box around each name in the navigation that truncates long names; ours wrap instead."""
ROLE = re.compile(r":(?:func|class|meth|mod|data|attr):(?=<code|<a|`)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Replace patterns in the navigation by the pages that match them."""
    search_index.clear()
    word_count.clear()
    if config.repo_url:
        config.edit_uri = EDITED
    config.nav = [_expanded(Path(config.docs_dir), entry) for entry in config.nav or []]
    return versions.on_config(config)


def _expanded(docs: Path, entry: Any) -> Any:
    if isinstance(entry, dict):
        ((title, content),) = entry.items()
        if isinstance(content, list):
            return {title: [_expanded(docs, part) for part in content]}
        if isinstance(content, str) and "*" in content:
            pages = {path.relative_to(docs).as_posix() for path in docs.glob(content)}
            pages |= {f"schemes/{name}.md" for name in scheme_blocks.schemes()}
            ordered = sorted(pages, key=lambda page: (Path(page).stem != "index", page))
            return {title: _by_family(ordered)}
    return entry


def _by_family(pages: list[str]) -> list[Any]:
    """Group the pages of schemes by family, after all other pages."""
    families = scheme_families.by_family()
    pages_of = {
        family: [page for page in (f"schemes/{scheme.id}.md" for scheme in group) if page in pages]
        for family, group in families.items()
    }
    grouped = {page for group in pages_of.values() for page in group}
    groups = [{scheme_families.FAMILIES[name]: group} for name, group in pages_of.items() if group]
    return [page for page in pages if page not in grouped] + groups


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Publish spec, data, checks and notebooks, and generated pages."""
    for path in (
        *read.spec_folder().glob("*.json"),
        *read.scheme_paths(),
        Path(document.__file__).with_name("report.schema.json"),
    ):
        if path.suffix in (".yaml", ".json"):
            files.append(File.generated(config, f"spec/{path.name}", abs_src_path=str(path)))
    for path in models.paths():
        files.append(File.generated(config, f"spec/models/{path.name}", abs_src_path=str(path)))
    explored = explorer_data.content()
    files.append(File.generated(config, explorer_data.ADDRESS, content=explored))
    files.append(File.generated(config, model_data.ADDRESS, content=model_data.content()))
    files.append(File.generated(config, config_data.ADDRESS, content=config_data.content()))
    for lesson in lessons.lessons():
        book = notebooks.content(lesson)
        files.append(File.generated(config, notebooks.address(lesson), content=book))
    for page, content in (library_pages.pages() | engine_pages.pages()).items():
        files.append(File.generated(config, page, content=content))
    for page, content in reference_blocks.pages().items():
        files.append(File.generated(config, page, content=content))
    for page, path in claims.published().items():
        files.append(File.generated(config, page, abs_src_path=str(path)))
    for scheme in scheme_blocks.schemes().values():
        page = f"schemes/{scheme.id}.md"
        if files.get_file_from_path(page) is None:
            files.append(File.generated(config, page, content=sections.skeleton(scheme)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Fill the placeholders; refuse any other comment as a misspelt placeholder."""
    name = page.file.src_uri
    if (scheme := _scheme_of(name)) is not None:
        markdown = sections.completed(markdown, scheme)
    markdown = notation.checked(name, lessons.checked(name, markdown))
    markdown = notebooks.offered(name, markdown)
    badges, appendix = claims.on_page(name, markdown)
    filled = COMMENT.sub(
        lambda match: indent(_block(name, match["name"], badges), match["indent"]), markdown
    )
    return references.cited(name, _with_reference(name, filled)) + appendix


def _with_reference(page: str, markdown: str) -> str:
    """Make links of ``[words](reference:rope#golden-…)``, which lead to an entry of a scheme."""

    def shown(match: re.Match[str]) -> str:
        place = pages.in_reference(page, match["scheme"], match["place"])
        return f'<a href="{place}">{match["words"]}</a>'

    return IN_REFERENCE.sub(shown, markdown)


def _block(page: str, name: str, badges: dict[str, str]) -> str:
    if name in PLAIN:
        return PLAIN[name]()
    kind, _, block = name.partition(":")
    if kind == "claim":
        return badges[block]
    if kind == "fact" and block in facts.FACTS:
        return facts.render_fact(block)
    if kind == "figure":
        return figures.mark(page, block)
    if kind == "used":
        return lessons.users(block)
    if kind == "spec" and block in scheme_blocks.BLOCKS:
        scheme = _scheme_of(page)
        if scheme is None:
            raise PluginError(f"{page}: <!-- {name} --> belongs on the page of a scheme")
        return sections.folded(block, scheme_blocks.BLOCKS[block](scheme))
    names = [*PLAIN, *(f"spec:{block}" for block in scheme_blocks.BLOCKS)]
    names += [
        "claim:‹name›",
        "figure:‹name›",
        "used:‹scheme›",
        *(f"fact:{name}" for name in facts.FACTS),
    ]
    raise PluginError(f"{page}: unknown placeholder <!-- {name} -->; known are {', '.join(names)}")


def _scheme_of(page: str) -> Scheme | None:
    """Return the scheme that a page is about, if any."""
    folder, _, file = page.rpartition("/")
    return scheme_blocks.schemes().get(Path(file).stem) if folder == "schemes" else None


def on_page_content(html: str, page: Page, **_: Any) -> str:
    """Convert formulas, draw the figures, and record the page for search, cards and word count."""
    name = page.file.src_uri
    page_sections = search_index.sections(html)
    search_index.add(page, page_sections)
    described.add(page, page_sections, _scheme_of(name))
    cards.add(page)
    html = PLAIN_CODE.sub(r"\1", ROLE.sub("", html))
    drawn = figures.rendered(name, formulas.rendered(name, accessible.headed(html)))
    word_count.add(page.url, drawn)
    return drawn + page_foot.foot(page)


def on_post_page(output: str, page: Page, **_: Any) -> str:
    """Add missing accessible names, and attach the site's search worker."""
    name = page.file.src_uri
    return search_index.attach_worker(name, accessible.label_navigation(name, _light(output)))


def _light(output: str) -> str:
    """Remove what a page does not need: boxes around names, and styles for objects without any."""
    plain = ELLIPSIS.sub(r"\1\2", output)
    return plain if 'class="doc ' in plain else OBJECTS_STYLE.sub("", plain)


def on_post_build(config: MkDocsConfig, **_: Any) -> None:
    """Write the files that are not pages: last, so that a failing build fails early."""
    search_index.write(Path(config.site_dir))
    LOG.info(word_count.said())
    if config.site_url:
        cards.write(Path(config.site_dir))
        feed.write(Path(config.site_dir), config.site_url)
    else:  # without an address, a sitemap is empty
        for name in ("sitemap.xml", "sitemap.xml.gz"):
            Path(config.site_dir, name).unlink(missing_ok=True)
    vectors.write(Path(config.site_dir))
    moved.write(Path(config.site_dir))
    fonts.write(Path(config.site_dir))
    write_licences(Path(config.site_dir))


def write_licences(site: Path) -> None:
    """Write the licences of the theme and of its icons next to its code, as both require."""
    icons = Path(material.__file__).parent / "templates" / ".icons" / "material" / "LICENSE"
    texts = (
        distribution("mkdocs-material").read_text("licenses/LICENSE"),
        icons.read_text("utf-8"),
    )
    folder = site / "assets" / "javascripts"
    folder.mkdir(parents=True, exist_ok=True)
    content = "\n\n".join(text for text in texts if text)
    (folder / "licences.txt").write_text(content, encoding="utf-8")


def on_post_template(output_content: str, template_name: str, **_: Any) -> str:
    """Finish the 404 page like other pages."""
    if not template_name.endswith(".html"):
        return output_content
    page = accessible.label_navigation(template_name, _light(output_content))
    return search_index.attach_worker(template_name, page)
