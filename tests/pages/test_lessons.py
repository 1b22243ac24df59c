"""Lessons: terms explained before use, the same example, a question, and a limit of length."""

import re
from pathlib import Path
from textwrap import dedent
from typing import Any

import lessons
import numpy as np
import pytest
import yaml
from mkdocs.exceptions import PluginError

from tests.building import CHECKOUT, with_torch

DOCS = CHECKOUT / "docs"
LESSONS = lessons.lessons()
KNOWN = {"mask": "Mask", "causal-mask": "Causal mask", "score": "Score", "token": "Token"}
WANTED = yaml.safe_load(Path(__file__).with_name("lessons.yaml").read_text(encoding="utf-8"))
PYTHON = re.compile(r"^( *)```python\n(.*?)^\1```$", re.S | re.M)


def explains(term: str) -> str:
    return f"[*{term}*](../glossary.md#{term.lower().replace(' ', '-')})"


def found(*texts: str) -> list[tuple[str, str]]:
    written = [lessons.Lesson(f"{n}.md", "A", "B.", text) for n, text in enumerate(texts)]
    return [(page, title) for page, title, _ in lessons.unexplained(written, KNOWN)]


def test_no_lesson_uses_a_term_before_it_is_explained() -> None:
    assert list(lessons.unexplained(LESSONS, lessons.terms())) == []


@pytest.mark.parametrize(
    ("texts", "wanted"),
    [
        (["A token is short."], [("0.md", "Token")]),
        (["Tokens come first."], [("0.md", "Token")]),
        (["# What a score is\n\nA number, the " + explains("score") + "."], [("0.md", "Score")]),
        ([f"This is a {explains('token')}.", "A token, a score."], [("1.md", "Score")]),
        (["A score.", f"This is a {explains('score')}."], [("0.md", "Score")]),
        ([f"A {explains('causal mask')} hides. So does a mask."], [("0.md", "Mask")]),
        ([f"A {explains('token')}.", f"A {explains('token')}."], [("1.md", "Token")]),
        ([f"A {explains('token')}, a {explains('token')}."], [("0.md", "Token")]),
        (['??? question "Which score?"\n\n    Guess.'], [("0.md", "Score")]),
        (["Some causal\nmask."], [("0.md", "Causal mask")]),
    ],
    ids=[
        *("never", "plural", "heading", "later-lesson", "too-late", "part-of-another", "twice"),
        *("twice-on-a-page", "question", "over-two-lines"),
    ],
)
def test_a_term_too_early_is_found(texts: list[str], wanted: list[tuple[str, str]]) -> None:
    assert found(*texts) == wanted


@pytest.mark.parametrize(
    "texts",
    [
        [f"A {explains('token')} is a word. Tokens and a token."],
        [f"This is a {explains('token')}.", "Ten tokens."],
        [f"This is a {explains('causal mask')}. A causal mask hides."],
        [f"This is a {explains('mask')}, and that is a {explains('causal mask')}."],
        ["`score` in code.\n\n```python\nscore = 1\n```\n\n\\(score\\)"],
        ["See [here](../schemes/causal-mask.md#score). <!-- figure:score -->"],
        ["The scoreboard underscores."],
    ],
    ids=["behind", "later-lesson", "compound", "both", "code", "address", "other-words"],
)
def test_a_term_in_its_place_is_accepted(texts: list[str]) -> None:
    assert found(*texts) == []


def test_the_build_refuses_a_term_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    page = LESSONS[0].page
    wrong = lessons.Lesson(page, "A", "B.", "The softmax of a row.")
    monkeypatch.setattr(lessons, "lessons", lambda: [wrong])
    with pytest.raises(PluginError, match=rf"{page}.*Softmax.*softmax of a row"):
        lessons.checked(page, wrong.text)


def test_the_kits_own_words_are_no_terms() -> None:
    assert {"adapter", "call", "golden"} & lessons.terms().keys() == set()
    assert {"token", "causal-mask", "head_dim", "residual-connection"} <= lessons.terms().keys()


def test_all_lessons_are_in_the_navigation_and_short() -> None:
    on_disk = {f"learn/{path.name}" for path in (DOCS / "learn").glob("*.md")} - {"learn/index.md"}
    assert on_disk == {lesson.page for lesson in LESSONS}
    minutes = {lesson.page: lesson.minutes for lesson in LESSONS}
    assert {page: time for page, time in minutes.items() if time > lessons.LONGEST} == {}


def test_minutes_count_words_and_code() -> None:
    code = "```python\n" + 24 * "x = 1\n" + "```\n"
    assert lessons.Lesson("a.md", "A", "B.", 260 * "word ").minutes == 2
    assert lessons.Lesson("a.md", "A", "B.", 260 * "word " + "\n\n" + code).minutes == 4


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.page)
def test_a_lesson_ends_with_a_question_whose_answer_is_hidden(lesson: lessons.Lesson) -> None:
    last = lesson.text.rpartition("\n## ")[2]
    assert last.startswith("Question\n\n??? question ")
    assert last.count('\n    ??? success "Answer"\n') == 1


@pytest.mark.parametrize(
    "lesson", with_torch(LESSONS, lambda lesson: lesson.text), ids=lambda lesson: lesson.page
)
def test_the_example_is_the_same_in_every_lesson(
    lesson: lessons.Lesson, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words, rows and tables for queries have the same values on every page."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for _, text in PYTHON.findall(lesson.text):
        exec(compile(dedent(text), lesson.page, "exec"), names)
        if "rows" in names and lesson.page != "learn/sinusoid.md":
            assert names["rows"].tolist() == [[2, 0, 1, 0], [0, 2, 0, 1], [2, 0, 0, 1]]
    if "to_query" in names:
        assert np.array_equal(names["to_query"], np.eye(4)[[1, 0, 2, 3]])
    assert names.get("words", ["dog", "bites", "man"]) == ["dog", "bites", "man"]


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.page)
def test_code_is_no_wider_than_the_page(lesson: lessons.Lesson) -> None:
    lines = [line for _, text in PYTHON.findall(lesson.text) for line in dedent(text).splitlines()]
    assert [line for line in lines if len(line) > 79] == []


def test_a_lesson_without_a_description_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "short.md"
    page.write_text("---\ntitle: Short\n---\n\n# Short\n", encoding="utf-8")
    with pytest.raises(PluginError, match=r"learn/short\.md.*description"):
        lessons.read_lesson(page, "learn/short.md")


def test_users_are_those_of_the_model_files() -> None:
    assert "T5 small" in lessons.users("t5-bias")
    assert "BERT base" in lessons.users("learned")
    assert "Llama 3.1 8B" in lessons.users("scaled")
    with pytest.raises(PluginError, match="used:integer"):
        lessons.users("integer")


@pytest.mark.parametrize("thing", WANTED)
def test_topics_that_learners_look_for_are_covered(thing: str) -> None:
    page = DOCS / f"{WANTED[thing]['page']}.md"
    text = " ".join(page.read_text(encoding="utf-8").split())
    assert WANTED[thing]["has"]
    assert [topic for topic in WANTED[thing]["has"] if topic not in text] == []


def test_a_topic_is_not_on_every_page() -> None:
    (only,) = (entry for entry in WANTED.values() if "imshow" in entry["has"])
    others = [
        page for page in (DOCS / "learn").glob("*.md") if page.stem != Path(only["page"]).stem
    ]
    assert not [page for page in others if "imshow" in page.read_text(encoding="utf-8")]
