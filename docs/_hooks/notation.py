"""The meanings of letters: one table for all pages, and contradictions to it on a page."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import yaml
from mkdocs.exceptions import PluginError

from pages import DOCS

FILE = DOCS / "notation.yaml"
PAGE = "notation.md"
LESSONS = "learn/"
FORMULA = re.compile(r"\\\((.+?)\\\)|\\\[(.+?)\\\]", re.S)
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.S)
GREEK = re.compile(
    r"\\(?:var)?(?:alpha|beta|gamma|delta|epsilon|zeta|eta|theta|kappa|lambda|mu|nu|xi|pi|rho|sigma"
    r"|tau|phi|chi|psi|omega|Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|Phi|Psi|Omega)(?![A-Za-z])"
)
INDEX = r"(?:_(?:\w|\{[^{}]*\}))?"


@lru_cache(maxsize=1)
def read_notation() -> dict[str, Any]:
    """Read the file with all letters."""
    notation: dict[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return notation


def formulas(markdown: str) -> list[str]:
    """Find the formulas of a page outside code."""
    return [first or second for first, second in FORMULA.findall(CODE.sub("", markdown))]


def breaches(page: str, markdown: str) -> Iterator[str]:
    """Yield every contradiction between the letters in the formulas of a page and the table."""
    own = read_notation()["local"].get(page, {})
    rules = {letter: rule for rule in read_notation()["general"] for letter in rule["letters"]}
    text = formulas(markdown)
    used = {letter for formula in text for letter in GREEK.findall(formula)}
    for letter in sorted(used - set(own) - set(rules)):
        yield f"{letter} is in neither part of docs/notation.yaml"
    for letter in sorted(letter for letter in own if letter.startswith("\\")):
        if letter not in used:
            yield f"{letter} is said to be of this page, which does not use it"
    for letter in [other for other in rules if other not in own]:
        for formula in text:
            yield from _against(letter, rules[letter], formula)


def _against(letter: str, rule: Mapping[str, Any], formula: str) -> Iterator[str]:
    """Yield equations that give a letter another meaning, and forms that it must never have.

    An equation with a number is an example, not a meaning.
    """
    for never in rule.get("never", ()):
        if match := re.search(never, formula):
            yield f"{match[0]} is used for something else: {rule['meaning']}"
    if "is" not in rule:
        return
    start = re.compile(rf"(?<![\w}}\\^/,|-]){re.escape(letter)}{INDEX}\s*=\s*(?P<said>[^=]*)")
    for match in start.finditer(formula):
        text = re.sub(r"(?:\\[,;!]|\s)+", " ", match["said"]).strip(" .,")
        if not text[:1].isdigit() and not any(re.match(allowed, text) for allowed in rule["is"]):
            yield f"{match[0].strip()} gives {letter} another meaning: {rule['meaning']}"


def checked(page: str, markdown: str) -> str:
    """Check that a page conforms to the table, and add a line that links to it.

    Raises PluginError if it does not conform. No line is added to a page without formulas, a page
    that mentions the table's page, that page itself, or a lesson, which explains its letters.
    """
    for breach in breaches(page, markdown):
        raise PluginError(f"{page}: {breach}")
    if not formulas(markdown) or PAGE in markdown or page == PAGE or page.startswith(LESSONS):
        return markdown
    up = "../" * page.count("/")
    return f"{markdown.rstrip()}\n\nWhat letters mean: [Notation]({up}{PAGE}).\n"


def letters() -> str:
    """Tabulate the letters that mean the same everywhere."""
    rows = [f"| {rule['shown']} | {rule['meaning']} |" for rule in read_notation()["general"]]
    return "\n".join(["", "| letter | meaning |", "|---|---|", *rows, "", ""])


def local() -> str:
    """Tabulate the letters of single pages."""
    rows = []
    for page, own in read_notation()["local"].items():
        title = re.search(r"^title: (.*)$", (DOCS / page).read_text(encoding="utf-8"), re.M)
        name = title[1] if title else page
        meanings = "; ".join(f"\\({letter}\\): {meaning}" for letter, meaning in own.items())
        rows.append(f"| [{name}]({page}) | {meanings} |")
    return "\n".join(["", "| page | letters |", "|---|---|", *rows, "", ""])


BLOCKS = {"table:notation": letters, "table:notation-local": local}
