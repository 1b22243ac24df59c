"""Sections that the page of every scheme has.

A page that says nothing of its own in one of them leaves it out, and it is put where it belongs:
behind the one before it in this order. A scheme without a page gets one made of these alone.
"""

import re

from posenc_conformance.scheme_file.model import Scheme

SECTIONS = {
    "calls": ("Calls", ""),
    "conventions": ("Conventions", ""),
    "combinations": ("Combinations in the wild", ""),
    "goldens": ("Goldens", ""),
    "published": ("Published values", ""),
    "invariants": ("Invariants", ""),
    "desiderata": ("Desiderata", ""),
    "accuracy": ("Precision", "The constants of the [error model](../judging-numbers.md):\n\n"),
    "deviations": ("Deviations", ""),
    "bad-inputs": ("Bad input", ""),
    "sources": ("Sources", ""),
}
"""Heading and first words of each, by placeholder."""


def completed(markdown: str, scheme: Scheme) -> str:
    """The page of a scheme with the sections that it leaves out."""
    before = ""
    for name in SECTIONS:
        if _has(scheme, name) and f"<!-- spec:{name} -->" not in markdown:
            end = _end_of(markdown, before)
            markdown = f"{markdown[:end].rstrip()}\n\n{_section(name)}\n{markdown[end:]}"
        if f"<!-- spec:{name} -->" in markdown:
            before = name
    return markdown


def skeleton(scheme: Scheme) -> str:
    """A page for a scheme that has none."""
    return f"---\ntitle: {scheme.title}\n---\n\n# {scheme.title}\n\n<!-- spec:summary -->\n"


def _has(scheme: Scheme, name: str) -> bool:
    """Whether a section is not empty."""
    held = {"conventions": scheme.conventions, "published": scheme.published}
    return bool(held.get(name, True))


def _section(name: str) -> str:
    heading, words = SECTIONS[name]
    return f"## {heading}\n\n{words}<!-- spec:{name} -->\n"


def _end_of(markdown: str, before: str) -> int:
    """Where the section of a placeholder ends; the first one comes behind the whole text."""
    if not before:
        return len(markdown)
    start = markdown.index(f"<!-- spec:{before} -->")
    following = re.search(r"^## ", markdown[start:], re.M)
    return start + following.start() if following else len(markdown)
