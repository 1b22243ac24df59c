"""Docstrings, comments and guides avoid phrases that hide what a sentence is about."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.building import CHECKOUT, tracked_files

PHRASES = {
    r"hang(s|ing)? on": "depend on",
    r"so (many|much)(?! (as|that|to)\b)": "the name of the parameter",
    r"(is|are|was|were|be|been) told(?! (apart|from)\b)": "an active verb: report, print, pass",
    r"told of": "reported",
    r"comes? of": "result from",
    r"becomes? of": "happens to",
    r"mend(s|ed|ing)?": "fix",
    r"as ever": "as before",
    r"otherwise than": "differently from",
    r"telephones?": "phone",
    r"knows? of": "detect, handle, have",
    r"which there is not": "which does not exist",
    r"whoever": "the role: the user, the caller",
}
"""Patterns, and what to write."""
PAGES = (
    *(r"hang(s|ing)?\s+on", r"becomes?\s+of", r"mend(s|ed|ing)?", r"as\s+ever"),
    *(r"otherwise\s+than", "telephones?"),
)
"""Those of the patterns that pages avoid, too."""
GUIDES = ("CHANGELOG.md", "CONTRIBUTING.md", "Makefile", "README.md")
ELSEWHERE = (
    "docs/examples/",
    "tests/libraries/",
    "conformance/posenc_conformance/implementations/",
)
"""Files of other authors, and adapters, whose reports are outdated by any changed byte."""
GIVE_AWAY = re.compile("|".join(rf"\b({pattern})\b" for pattern in PHRASES), re.IGNORECASE)


def texts_of(source: str) -> Iterator[tuple[int, str]]:
    """Yield comments and docstrings with their lines."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        text = node.value if isinstance(node, ast.Expr) else None
        if isinstance(text, ast.Constant) and isinstance(text.value, str):
            yield text.lineno, " ".join(text.value.split())


def phrases_in(text: str) -> list[str]:
    """Return the phrases in a text that should be avoided."""
    return [match[0] for match in GIVE_AWAY.finditer(text)]


@pytest.mark.always
def test_python_avoids_these_phrases() -> None:
    names = {path.relative_to(CHECKOUT).as_posix(): path for path in tracked_files("*.py")}
    sources = {
        name: path.read_text(encoding="utf-8")
        for name, path in names.items()
        if path != Path(__file__) and not name.startswith(ELSEWHERE)
    }
    hits = [
        f"{name}:{line}: {', '.join(phrases)}"
        for name, source in sources.items()
        if GIVE_AWAY.search(" ".join(source.split()))  # few have one anywhere, and parsing is slow
        for line, text in texts_of(source)
        if (phrases := phrases_in(text))
    ]
    assert not hits, f"see PHRASES in {Path(__file__).name} for what to write:\n" + "\n".join(hits)


@pytest.mark.parametrize("name", GUIDES)
def test_guides_avoid_these_phrases(name: str) -> None:
    lines = (CHECKOUT / name).read_text(encoding="utf-8").splitlines()
    phrases = [f"{number}: {line}" for number, line in enumerate(lines, 1) if phrases_in(line)]
    assert not phrases, "\n".join(phrases)


def test_pages_avoid_some_of_these_phrases() -> None:
    pattern = re.compile("|".join(rf"(?<![-#])\b({phrase})\b" for phrase in PAGES), re.IGNORECASE)
    hits = [
        f"{path.relative_to(CHECKOUT)}: {match[0]}"
        for path in tracked_files("docs/*.md")
        for match in pattern.finditer(path.read_text(encoding="utf-8"))
    ]
    assert not hits, "\n".join(hits)


@pytest.mark.parametrize(
    "text", ["The key hangs on the prompt.", "Check so many rows.", "A mistake is told of once."]
)
def test_a_phrase_is_found(text: str) -> None:
    assert phrases_in(text)


@pytest.mark.parametrize(
    "text", ["So much that it overflows.", "A hanger on the wall.", "Recommended."]
)
def test_other_words_are_left_alone(text: str) -> None:
    assert not phrases_in(text)
