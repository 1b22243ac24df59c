"""Sections of the page of every scheme, and their order.

First come the sections that explain the scheme, as written by hand, with code after the definition;
then those for readers who implement or test it. Calls, goldens, invariants and the like are shown
by the page "Reference" from data; the page of a scheme keeps only text written by hand about them,
and drops a section without any. A scheme without a page gets one of generated sections only.
"""

import re

from blocks.code_blocks import has_code
from blocks.scoreboard_blocks import judged_schemes
from markup import link
from pages import in_reference
from posenc_conformance.scheme_file.scheme import Scheme

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
"""Heading and first words of each section, by placeholder."""

FOLDED = {
    "conventions": "The conventions, value by value",
    "deviations": "The known mistakes",
}
"""Sections that are folded, and the summaries to unfold them."""

MOVED = {
    "calls": "How each call is made",
    "combinations": "All combinations, and who uses them",
    "goldens": "All goldens",
    "published": "The published values",
    "invariants": "The invariants, with proofs",
    "bad-inputs": "What must be refused",
}
"""Sections that only the page "Reference" shows, and the words of the link to each."""

SECTION = re.compile(r"^(?=## )", re.M)
CODE = "## In code\n\n<!-- spec:code -->\n"
"""The section after the definition."""
WHO = "## Who computes it right\n\n<!-- spec:who -->\n"
PLACEHOLDER = re.compile(r"<!-- spec:([a-z-]+) -->")
BEGINS = (
    '\n<p class="reference-begins">For those who implement or test: '
    '<a href="{place}">calls, goldens and invariants</a></p>\n\n'
)


def completed(markdown: str, scheme: Scheme) -> str:
    """Add the missing sections to the page of a scheme, and order all sections."""
    missing = [
        _section(name)
        for name in SECTIONS
        if name not in MOVED and _has(scheme, name) and f"<!-- spec:{name} -->" not in markdown
    ]
    head, *parts = _parts("\n\n".join([markdown.rstrip(), *missing]) + "\n")
    told = [part for part in parts if _place(part) < 0]
    if has_code(scheme.id):
        names = [part.partition("\n")[0] for part in told]
        behind = names.index("## Definition") + 1 if "## Definition" in names else len(names)
        told.insert(behind, CODE)
    ordered = sorted((part for part in parts if _place(part) >= 0), key=_place)
    remaining = [left for part in ordered if (left := _without_moved(part, scheme))]
    if scheme.id in judged_schemes():
        told.append(WHO)
    begins = BEGINS.format(place=in_reference(f"schemes/{scheme.id}.md", scheme.id))
    return "\n\n".join(part.strip() for part in (head, *told, begins, *remaining)) + "\n"


def _without_moved(part: str, scheme: Scheme) -> str:
    """Replace moved blocks by links; return "" for a section without text of its own."""
    moved = [name for name in PLACEHOLDER.findall(part) if name in MOVED]
    if not moved:
        return part
    own = PLACEHOLDER.sub("", part).partition("\n")[2].strip()
    for name in moved:
        place = in_reference(f"schemes/{scheme.id}.md", scheme.id, anchor(name))
        pointer = link(place, MOVED[name]) if _has(scheme, name) else ""
        part = part.replace(f"<!-- spec:{name} -->", pointer)
    return part if own else ""


def anchor(name: str) -> str:
    """Return the id of a section in the reference."""
    return {"bad-inputs": "bad-input"}.get(name, name)


def _parts(markdown: str) -> list[str]:
    """Split a page into the text before the first section, and each section.

    Lines of code that look like the heading of a section are ignored.
    """
    parts = [""]
    for piece in SECTION.split(markdown):
        inside_code = parts[-1].count("```") % 2
        if inside_code or (len(parts) == 1 and not parts[0]):
            parts[-1] += piece
        else:
            parts.append(piece)
    return parts


def _place(part: str) -> int:
    """Return the index of a section in SECTIONS; -1 if it explains the scheme."""
    indices = [list(SECTIONS).index(name) for name in PLACEHOLDER.findall(part) if name in SECTIONS]
    return min(indices, default=-1)


def folded(name: str, text: str) -> str:
    """Fold a block that is listed in FOLDED."""
    if name not in FOLDED or not text.strip():
        return text
    return (
        f'\n<details class="golden reference" markdown>\n<summary>{FOLDED[name]}</summary>\n\n'
        f"{text}\n\n</details>\n\n"
    )


def skeleton(scheme: Scheme) -> str:
    """Make a page for a scheme that has none."""
    return f"---\ntitle: {scheme.title}\n---\n\n# {scheme.title}\n\n<!-- spec:summary -->\n"


def _has(scheme: Scheme, name: str) -> bool:
    """Return whether a section has content."""
    held = {"conventions": scheme.conventions, "published": scheme.published}
    return bool(held.get(name, True))


def _section(name: str) -> str:
    heading, words = SECTIONS[name]
    return f"## {heading}\n\n{words}<!-- spec:{name} -->\n"
