"""Accessible names for parts of the theme that have none, for readers with screen readers."""

import re

from mkdocs.exceptions import PluginError

SECTION = re.compile(
    r'(<nav class="md-nav"[^>]*) aria-labelledby="[^"]*"'
    r'([^>]*>\s*<label class="md-nav__title"[^>]*>\s*<span[^>]*></span>\s*)([^<]+?)(\s*</label>)'
)
"""A section of the navigation with its title; the element that aria-labelledby names may be empty.

A heading of the page, and so a section of the table of contents, may have the same title.
"""
NAVIGATION = re.compile(r"<nav\b[^>]*>")
EMPTY_HEADER = re.compile(r"<th([^>]*)></th>")
SEARCH = '<div class="md-search" data-md-component="search" role="dialog"'
RESULTS = '<div class="md-search__scrollwrap" tabindex="0"'
"""The box of results: a stop for the tab key before there are any; each result is one."""


def label_navigation(page: str, output: str) -> str:
    """Give the search dialog and each section of the navigation of a finished page a name.

    Raises PluginError if the theme has changed, so that this cannot fail silently.
    """
    if output.count(SEARCH) != 1:
        raise PluginError(
            f"{page}: the theme's search dialog is no longer {SEARCH}…: see whether it has a name "
            "of its own now, and change or remove docs/_hooks/accessible.py"
        )
    named_sections = SECTION.sub(r'\1 aria-label="Pages: \3"\2\3\4', output)
    if output.count(RESULTS) != 1:
        raise PluginError(
            f"{page}: the theme's box of search results is no longer {RESULTS}…: see if the tab "
            "key still stops at it without results, and change or remove docs/_hooks/accessible.py"
        )
    nameless = [item for item in NAVIGATION.findall(named_sections) if "aria-label=" not in item]
    if nameless:
        raise PluginError(
            f"{page}: {nameless[0]} is a part of the theme's navigation without a name: see how it "
            "is made now, and name it in docs/_hooks/accessible.py"
        )
    quiet = named_sections.replace(RESULTS, RESULTS.removesuffix(' tabindex="0"'))
    return quiet.replace(SEARCH, f'{SEARCH} aria-label="Search"')


def headed(content: str) -> str:
    """Replace empty header cells, such as the corner of a table, by plain cells."""
    return EMPTY_HEADER.sub(r"<td\1></td>", content)
