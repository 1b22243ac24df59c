"""The lessons: their order and length, models that use a scheme, and the explanation of terms.

A term is an entry of the glossary, except for the kit's own words, which have the class ``kit``
there. A lesson explains a term where the term is in italics with a link to its entry. A lesson that
uses a term before it or an earlier lesson has explained it fails the build.
"""

import ast
import html
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import yaml
from markdown.extensions.toc import slugify
from mkdocs.exceptions import PluginError

from markup import code, table
from pages import DOCS
from posenc_conformance.models.file import Model, load_all

CONFIGURATION = DOCS.parent / "mkdocs.yml"
FOLDER = "learn/"
ORDER = re.compile(rf"^ +- ({FOLDER}(?!index\.)[\w-]+\.md)$", re.M)
ENTRY = re.compile(r"^## (?P<title>[^{\n]+?)(?: *\{(?P<class>[^}]*)\})?$", re.M)
EXPLAINED = re.compile(r"\[\*(?P<words>[^*\]]+)\*\]\(\.\./glossary\.md#(?P<anchor>[\w-]+)\)")
HEAD = re.compile(r"\A---\n(?P<fields>.*?)\n---\n", re.S)
FENCE = re.compile(r"^(?P<indent> *)```.*?^(?P=indent)```$", re.S | re.M)
PYTHON = re.compile(r"^(?P<indent> *)```python\n(?P<code>.*?)^(?P=indent)```$", re.S | re.M)
QUIET = re.compile(r"\\\[.*?\\\]|\\\(.*?\\\)|`[^`\n]*`|<[^>]*>|\]\([^)]*\)|\[@[^\]]*\]", re.S)
WORDS_PER_MINUTE, LINES_PER_MINUTE = 130, 12
"""Reading speed for prose and for code, of a careful reader in a second language."""
LONGEST = 13
"""Most minutes that a lesson may take."""

SCALED = ("position-interpolation", "ntk-aware", "dynamic-ntk", "yarn", "llama3", "longrope")
"""Schemes that a reader of the lessons knows as RoPE with a scaling."""
ROTARY = ("rope", "p-rope", "m-rope")
NAMED = 6
"""Largest number of model types that are named for a scheme."""


@dataclass(frozen=True)
class Lesson:
    """One page of the lessons, with its title, description and text."""

    page: str
    title: str
    description: str
    text: str

    @property
    def minutes(self) -> int:
        """Estimate the time to read its words and its lines of code, including answers."""
        lines = sum(len(match[0].splitlines()) - 2 for match in FENCE.finditer(self.text))
        words = len(QUIET.sub("", FENCE.sub("", self.text)).split())
        return math.ceil(words / WORDS_PER_MINUTE + lines / LINES_PER_MINUTE)

    @property
    def imports(self) -> set[str]:
        """Find the packages that its code imports."""
        code = "\n".join(dedent(match["code"]) for match in PYTHON.finditer(self.text))
        found = set()
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.partition(".")[0])
        return found


def pages() -> list[str]:
    """List the pages of the lessons in the order of the navigation."""
    return ORDER.findall(CONFIGURATION.read_text(encoding="utf-8"))


def read_lesson(path: Path, page: str) -> Lesson:
    """Read a lesson; raises PluginError if its head lacks a title or a description."""
    text = path.read_text(encoding="utf-8")
    head = HEAD.match(text)
    fields = yaml.safe_load(head["fields"]) if head else {}
    try:
        return Lesson(
            page, fields["title"], fields["description"], text[head.end() if head else 0 :]
        )
    except KeyError as error:
        raise PluginError(f"{page}: a lesson needs the field {error} in its head") from error


def lessons() -> list[Lesson]:
    """Read all lessons in their order."""
    return [read_lesson(DOCS / page, page) for page in pages()]


def terms() -> dict[str, str]:
    """Read the terms of the field from the glossary: titles by anchor."""
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    return {
        slugify(entry["title"], "-"): entry["title"]
        for entry in ENTRY.finditer(text)
        if ".kit" not in (entry["class"] or "")
    }


def unexplained(some: Sequence[Lesson], known: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield each use of a term before its explanation: page, title and sentence.

    ``known`` has the titles of terms by anchor. Code, formulas and addresses do not count. A second
    explanation of a term is reported too, since the first must suffice.
    """
    explained: set[str] = set()
    for lesson in some:
        text = _readable(lesson.text)
        places = {anchor: place for place, anchor in _explanations(text)}
        for place, anchor in _explanations(text):
            if anchor in explained or place != places[anchor]:
                yield lesson.page, known.get(anchor, anchor), "it is explained a second time"
        for anchor, title in known.items():
            end = places.get(anchor, len(text))
            before = "" if anchor in explained else EXPLAINED.sub(_silence, text[:end])
            for longer in known.values():
                if len(longer) > len(title) and _forms(title).search(longer):
                    before = _forms(longer).sub(_silence, before)
            for match in _forms(title).finditer(before):
                yield lesson.page, title, _around(text, match.start())
        explained |= places.keys()


def _readable(text: str) -> str:
    """Remove everything that is not prose, except the links of explanations."""
    text = re.sub(r"<!--.*?-->", "", FENCE.sub("", text), flags=re.S)
    return QUIET.sub(lambda match: match[0] if "glossary.md#" in match[0] else " ", text)


def _explanations(text: str) -> list[tuple[int, str]]:
    return [(match.start(), match["anchor"]) for match in EXPLAINED.finditer(text)]


def _silence(found: re.Match[str]) -> str:
    """Replace an explanation or a compound by spaces of the same length."""
    return " " * len(found[0])


def _forms(title: str) -> re.Pattern[str]:
    """Match a term and its plural, but not within a longer word or a compound."""
    words = r"\s+".join(map(re.escape, title.split()))
    return re.compile(rf"(?<![\w-]){words}(?:s|es)?(?![\w-])", re.I)


def _around(text: str, place: int) -> str:
    start = max(text.rfind(mark, 0, place) for mark in (". ", "\n\n", "? ")) + 1
    return " ".join(text[start : place + 40].split())


def checked(page: str, markdown: str) -> str:
    """Check that a lesson uses no term before it is explained.

    Raises PluginError with the term and the sentence if it does.
    """
    if page in pages():
        for where, title, sentence in unexplained(lessons(), terms()):
            if where == page:
                raise PluginError(
                    f"{page}: {title!r} is used before it is explained, in {sentence!r}: set it in "
                    "italics with a link to the glossary where a sentence says what it is, "
                    "or use another word"
                )
    return markdown


def overview() -> str:
    """List all lessons with their descriptions and reading times."""
    items = "".join(
        f"{number}.  **[{lesson.title}]({lesson.page.removeprefix(FOLDER)})**, {lesson.minutes} "
        f"minutes.<br>{lesson.description}\n\n"
        for number, lesson in enumerate(lessons(), 1)
    )
    return f"\n{items}\n"


def _models_of(some: Sequence[str]) -> list[Model]:
    """Find the models that use one of these schemes in some layers."""
    return [
        model for model in load_all() if any(group.scheme in some for group in model.meaning.groups)
    ]


def users(name: str) -> str:
    """Name some models that use a scheme, and say how many more there are.

    ``scaled`` stands for every scaling of RoPE. Each ``model_type`` is shown by its model with the
    shortest name, the types with most models first. Raises PluginError if no model has the scheme.
    """
    using = _models_of(SCALED if name == "scaled" else (name,))
    if not using:
        raise PluginError(f"used:{name}: no model file has this scheme")
    by_type: dict[str, list[Model]] = {}
    for model in sorted(using, key=lambda entry: len(entry.title)):
        by_type.setdefault(model.configuration.type, []).append(model)
    kinds = sorted(by_type.values(), key=len, reverse=True)[:NAMED]
    links = ", ".join(
        f'<a href="../../models/#{entry.id}">{html.escape(entry.title)}</a>' for entry, *_ in kinds
    )
    more = len(using) - len(kinds)
    return f"{links} and {more} more" if more else links


def types() -> str:
    """Tabulate each ``model_type`` by its encoding, for all models of the site."""
    rows = {
        "learned table": ("learned",),
        "sinusoid": ("sinusoidal",),
        "T5's bias": ("t5-bias",),
        "ALiBi": ("alibi",),
        "RoPE": (*ROTARY, *SCALED),
    }
    types_of = {
        name: sorted({model.configuration.type for model in _models_of(names)})
        for name, names in rows.items()
    }
    shown = [[name, ", ".join(map(code, names))] for name, names in types_of.items()]
    return table(["encoding", code("model_type")], shown)


BLOCKS: dict[str, Callable[[], str]] = {"list:lessons": overview, "table:types": types}
