"""A notebook of each lesson, generated from the page, for readers who want to change the numbers.

Moving pictures and links stay on the site; all code is in it, with its output. The first cell
installs the packages that it imports.
"""

import html
import json
import re
from collections.abc import Iterator
from textwrap import dedent
from typing import Any

import facts
import lessons
import references
from blocks import site_blocks

FENCE = re.compile(
    r"^(?P<indent> *)```(?P<kind>.*?)\n(?P<text>.*?)^(?P=indent)```$\n?", re.S | re.M
)
USED = re.compile(r"<!-- used:(?P<name>[\w-]+) -->")
FACT = re.compile(r"<!-- fact:(?P<name>[\w-]+) -->")
TYPES = "<!-- table:types -->"
ADMONITION = re.compile(r'^ *\?\?\? \w+ "(?P<title>[^"]*)"$', re.M)
LINK = re.compile(r"\[(?P<words>[^\]@]+)\]\((?!https?:)[^)]*\)")
TAG = re.compile(r"</?[a-z][^>]*>")
INSTALLED = ("numpy", "matplotlib", "torch")
"""Packages of lessons that have the same name in the package index."""
OURS = ("posenc", "posenc_conformance")
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def address(lesson: lessons.Lesson) -> str:
    """Return the address of the notebook of a lesson."""
    return lesson.page.removesuffix(".md") + ".ipynb"


def content(lesson: lessons.Lesson) -> str:
    """Write the notebook of a lesson, in nbformat 4."""
    install = installation(lesson)
    cells = [*([_code(install)] if install else []), *_cells(lesson)]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    book = {
        "cells": cells,
        "metadata": {"kernelspec": KERNEL, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(book, ensure_ascii=False, indent=1) + "\n"


def installation(lesson: lessons.Lesson) -> str:
    """Write the cell that installs what a lesson imports.

    posenc comes from its repository. If its address is not known, a comment says that a clone is
    needed, as the home page does.
    """
    packages = [name for name in INSTALLED if name in lesson.imports]
    ours, address = lesson.imports & {*OURS}, site_blocks.repository()
    if ours and address:
        packages.append(f"git+{address}")
    lines = [f"%pip install -q {' '.join(packages)}"] if packages else []
    if ours and not address:
        lines.append("# For posenc, in a clone of its repository: %pip install .")
    return "\n".join(lines)


def offered(page: str, markdown: str) -> str:
    """Add a line to a lesson that links to its notebook."""
    if page not in lessons.pages():
        return markdown
    name = page.removeprefix(lessons.FOLDER).removesuffix(".md")
    line = f"To change the numbers, take [this lesson as a notebook]({name}.ipynb){{ download }}."
    return f"{markdown.rstrip()}\n\n{line}\n"


def _cells(lesson: lessons.Lesson) -> Iterator[dict[str, Any]]:
    """Cut a lesson into cells of text and of code, code with its output."""
    end, code = 0, None
    for match in FENCE.finditer(lesson.text):
        kind, text = match["kind"], dedent(match["text"]).rstrip("\n")
        if kind not in ("python", "text"):
            continue
        words = lesson.text[end : match.start()]
        end = match.end()
        if kind == "text" and code is not None and not words.strip():
            code["outputs"] = [{"name": "stdout", "output_type": "stream", "text": f"{text}\n"}]
            continue
        yield from _words(lesson, words)
        code = _code(text)
        yield code
    yield from _words(lesson, lesson.text[end:])


def _code(text: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": text,
    }


def _words(lesson: lessons.Lesson, markdown: str) -> Iterator[dict[str, Any]]:
    text = _plain(lesson, markdown)
    if text:
        yield {"cell_type": "markdown", "metadata": {}, "source": text}


def _plain(lesson: lessons.Lesson, markdown: str) -> str:
    """Convert a part of a page to Markdown that any notebook renders."""
    text = references.cited(lesson.page, markdown)
    text = USED.sub(lambda match: TAG.sub("", lessons.users(match["name"])), text)
    text = FACT.sub(lambda match: facts.render_fact(match["name"]), text)
    text = text.replace(TYPES, "The table of types is on the site.")
    text = re.sub(r" ?<!--.*?-->", "", text, flags=re.S)
    text = ADMONITION.sub(lambda match: f"**{match['title']}**", text)
    text = re.sub(r"</?div[^>]*>", "", text)
    text = LINK.sub(lambda match: match["words"], text)
    text = re.sub(r"\\[()]", "$", re.sub(r"\\[\[\]]", "$$$$", text))
    lines = [re.sub(r"^ {4,8}(?! )", "", line) for line in text.splitlines()]
    return html.unescape(re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip())
