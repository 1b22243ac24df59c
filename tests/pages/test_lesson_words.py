"""The lessons read in their order, with what their pictures say: no word before its explanation."""

import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import lessons
import matplotlib as mpl
import pytest
import yaml
from pictures.animations import Moving
from pictures.picture import SETTINGS

from pages import module_of

FIGURE = re.compile(r"<!-- figure:(?P<name>[\w-]+) -->")
SECTION = re.compile(r"^## ", re.M)
ADDRESS = re.compile(r"\]\([^)]*\)|<!--.*?-->|\[@\w+\d[^\]]*\]", re.S)


@dataclass(frozen=True)
class Word:
    """A name or a piece of code, the page that explains it, and words of the explanation."""

    name: str
    page: str
    says: str

    @property
    def explanation(self) -> re.Pattern[str]:
        """Match the words of the explanation, on any lines."""
        return re.compile(r"\s+".join(map(re.escape, self.says.split())))

    @property
    def form(self) -> re.Pattern[str]:
        """Match the word and its plural, but not within a longer word."""
        before = r"(?<![\w/-])" if self.name[0].isalnum() else ""
        after = r"s?(?!\w)" if self.name[-1].isalnum() else ""
        return re.compile(before + re.escape(self.name) + after)


def read_words() -> list[Word]:
    text = Path(__file__).with_name("words.yaml").read_text(encoding="utf-8")
    return [
        Word(name, f"learn/{entry['lesson']}.md", entry["says"])
        for name, entry in yaml.safe_load(text).items()
    ]


def early(some: Sequence[lessons.Lesson], word: Word) -> Iterator[str]:
    """Yield the pages that use a word before the section that explains it.

    A section may show the word in code first and explain it below. Addresses do not count.
    """
    for lesson in some:
        text = ADDRESS.sub(lambda match: " " * len(match[0]), lesson.text)
        end = len(text)
        if lesson.page == word.page:
            explained = word.explanation.search(lesson.text)
            assert explained, f"{lesson.page} no longer says {word.says!r}"
            starts = (match.start() for match in SECTION.finditer(text, 0, explained.start()))
            end = max(starts, default=0)
        if word.form.search(text, 0, end):
            yield lesson.page
        if lesson.page == word.page:
            return
    raise AssertionError(f"no lesson is {word.page}, which should explain {word.name!r}")


def with_captions(lesson: lessons.Lesson) -> lessons.Lesson:
    """Put what the figures of a lesson say where the figures are."""
    module = module_of("figures", lesson.page)

    def said(match: re.Match[str]) -> str:
        draw = vars(module)[match["name"].replace("-", "_")]
        with mpl.rc_context(SETTINGS):
            picture = draw()
        words = [inspect.getdoc(draw) or "", picture.caption, picture.description]
        if isinstance(picture, Moving):
            words += [slider.words for slider in picture.sliders]
            words += [series.words for series in picture.series]
            words += [picture.x.words, picture.y.words, picture.start().said]
        return "\n\n".join(words)

    return replace(lesson, text=FIGURE.sub(said, lesson.text))


@pytest.fixture(scope="module")
def shown() -> list[lessons.Lesson]:
    return [with_captions(lesson) for lesson in lessons.lessons()]


WORDS = read_words()


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.name)
def test_no_word_comes_before_its_explanation(word: Word, shown: list[lessons.Lesson]) -> None:
    assert list(early(shown, word)) == []


def test_captions_use_no_term_before_it_is_explained(shown: list[lessons.Lesson]) -> None:
    assert list(lessons.unexplained(shown, lessons.terms())) == []


def test_captions_are_read(shown: list[lessons.Lesson]) -> None:
    (distance,) = (lesson for lesson in shown if lesson.page == "learn/distance.md")
    assert "Half of the buckets of bidirectional attention" in distance.text
    assert "loses 1 with every 8.0 tokens" in distance.text


def find(word: str, says: str, *texts: str) -> list[str]:
    written = [lessons.Lesson(f"learn/{n}.md", "A", "B.", text) for n, text in enumerate(texts)]
    return list(early(written, Word(word, f"learn/{len(texts) - 1}.md", says)))


@pytest.mark.parametrize(
    ("word", "says", "texts"),
    [
        ("@", "`@` is", ["```python\na @ b\n```", "`@` is a product."]),
        ("keepdims", "`keepdims` keeps", ["Use `keepdims`.", "`keepdims` keeps the axis."]),
        ("NTK", "NTK is", ["NTK-aware frequencies.", "NTK is a theory."]),
        ("NTK", "NTK is", ["# A\n\nThe NTK.\n\n## B\n\nNTK is a theory."]),
        ("logit", "A logit is", ["Two logits.", "A logit is a score."]),
    ],
    ids=["code", "inline", "compound", "an-earlier-section", "plural"],
)
def test_a_word_too_early_is_found(word: str, says: str, texts: list[str]) -> None:
    assert find(word, says, *texts) == ["learn/0.md"]


@pytest.mark.parametrize(
    ("word", "says", "texts"),
    [
        ("@", "`@` is", ["A source [@vaswani2017].", "```python\na @ b\n```\n\n`@` is a product."]),
        ("NTK", "NTK is", ["See [this](../schemes/ntk-aware.md#NTK).", "NTK is a theory."]),
        ("T5", "T5 is", ["GPT5 and T5x.", "T5 is a model."]),
        ("T5", "T5 is", ["# A\n\nWords.\n\n## B\n\n`T5` in code. T5 is a model."]),
    ],
    ids=["a-source", "an-address", "another-word", "its-section"],
)
def test_a_word_in_its_place_is_accepted(word: str, says: str, texts: list[str]) -> None:
    assert find(word, says, *texts) == []
