"""Python modules that belong to pages, in folders that mirror the folders of pages."""

import sys
from pathlib import Path
from types import ModuleType

from mkdocs.exceptions import PluginError

from posenc_conformance.files import import_file
from posenc_conformance.scheme_file.read import paths_by_name

DOCS = Path(__file__).parents[1]


def root_of(page: str) -> str:
    """Return the way from the address of a page to that of the site, such as ``../../``."""
    *folders, name = page.removesuffix(".md").split("/")
    return "../" * (len(folders) + (name != "index"))


def in_reference(page: str, scheme: str, place: str = "") -> str:
    """Return the address of a scheme's reference, or of an entry in it, for a link on ``page``."""
    return f"{root_of(page)}reference/?scheme={scheme}" + (f"#{place}" if place else "")


def path_of(kind: str, page: str) -> Path:
    """Return the path of a page's module, which for a scheme is in the folder of its family."""
    *folders, name = page.removesuffix(".md").split("/")
    if folders == ["schemes"] and name in paths_by_name():
        folders.append(paths_by_name()[name].parent.name)
    stem = "/".join([*folders, name]).replace("-", "_")
    return DOCS / kind / f"{stem}.py"


def module_of(kind: str, page: str) -> ModuleType | None:
    """Import the module of a page; return None if it has none.

    For example, ``claims/theory/why_order.py`` belongs to ``theory/why-order.md``.
    """
    path = path_of(kind, page)
    if not path.is_file():
        return None
    name = "_".join([kind, *path.relative_to(DOCS / kind).with_suffix("").parts])
    if name not in sys.modules:
        import_file(path, name)
    return sys.modules[name]


def pages_with(kind: str) -> list[str]:
    """Return the pages with a module of this kind; raises PluginError for one without a page."""
    result = []
    for path in sorted((DOCS / kind).rglob("*.py")):
        if path.stem == "__init__":
            continue
        parts = path.relative_to(DOCS / kind).with_suffix("").parts
        stem = "/".join(parts if parts[0] != "schemes" else (parts[0], parts[-1]))
        names = [f"{stem}.md", f"{stem.replace('_', '-')}.md"]
        existing = (name for name in names if (DOCS / name).is_file())
        page = next((name for name in existing if path_of(kind, name) == path), None)
        if page is None:
            raise PluginError(f"docs/{kind}/{stem}.py belongs to no page: there is no {names[-1]}")
        result.append(page)
    return result


def figures_of(page: str) -> ModuleType:
    """Import the figures of a page, for another page that also shows one of them.

    Raises PluginError if the page has none.
    """
    module = module_of("figures", page)
    if module is None:
        raise PluginError(f"{page} has no figures that another page could show")
    return module
