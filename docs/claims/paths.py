import re
from pathlib import Path

DOCS = Path(__file__).parents[1]
WORDS_PER_MINUTE = 200
PART = re.compile(r"^(#{2,3}) (.+)$", re.M)
QUIET = re.compile(r"```.*?```|<!--.*?-->|\\\[.*?\\\]|^\?\?\?.*?(?=^\S)", re.S | re.M)


def hurried() -> str:
    """The words of the linked parts, at 200 a minute, are 17 to 20 minutes."""
    text = (DOCS / "paths.md").read_text(encoding="utf-8")
    path = text.partition("## In a hurry")[2].partition("\n## ")[0]
    links = re.findall(r"\]\(([\w/-]+\.md)(?:#([\w-]+))?\)", path)
    assert len(links) > 8
    minutes = sum(len(_words(*link)) for link in links) / WORDS_PER_MINUTE
    assert 17 < minutes <= 20, minutes
    return "20 minutes"


def _words(page: str, anchor: str) -> list[str]:
    """The words of a page, or of one of its parts with what is below it."""
    text = (DOCS / page).read_text(encoding="utf-8")
    if anchor:
        marks = list(PART.finditer(text))
        first = next(n for n, mark in enumerate(marks) if _slug(mark[2]) == anchor)
        end = next((m.start() for m in marks[first + 1 :] if len(m[1]) <= 2), len(text))
        text = text[marks[first].start() : end]
    return QUIET.sub("", text).split()


def _slug(heading: str) -> str:
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading.lower())).strip("-")
