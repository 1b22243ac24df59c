"""Numbers of the project have one source: the build inserts them into sentences."""

import re
from pathlib import Path

import facts
import hooks
import pytest
from mkdocs.exceptions import PluginError

from tests.building import CHECKOUT

DOCS = CHECKOUT / "docs"
WRITTEN = [*sorted(DOCS.rglob("*.md")), *sorted(CHECKOUT.glob("*.md"))]
PAGES = [path for path in WRITTEN if path.name != "CHANGELOG.md"]  # which describes the past
FACT = re.compile(r"<!--\s*fact:([\w-]+)\s*-->")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_no_number_of_the_project_is_typed(page: Path) -> None:
    numbers = list(facts.typed(page.read_text(encoding="utf-8")))
    assert not numbers, f"put a fact of docs/_hooks/facts.py in the place of {numbers}"


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("At present there are 3,149 wrong miniatures.", "3,149 wrong miniatures"),
        ("Of 4,827 mutants none survives.", "4,827 mutants"),
        ("The kit knows 67\nschemes and their names.", "67 schemes"),
        ("It rejects all 82 bugs of threads.", "82 bugs of threads"),
        ("The table has eleven conventions.", "eleven conventions"),
        ("description: Twenty-two released libraries, judged.", "Twenty-two released libraries"),
        ("RoPE keeps 37.3 ± 5.9 % of it.", "3 ± 5"),
        ("The run took 15 minutes.", "15 minutes"),
        ("Begin with Lesson 3.", "Lesson 3"),
        ("description: Ten short lessons on RoPE.", "Ten short lessons"),
    ],
)
def test_a_typed_number_is_found(sentence: str, found: str) -> None:
    assert list(facts.typed(f"Before.\n\n{sentence} After.\n")) == [found]


@pytest.mark.parametrize(
    "sentence",
    [
        "Of three schemes one has two conventions.",
        "Pair 3 of 64 channels turns by 0.001 radians.",
        "The table has 512 rows, and schemes differ.",
        "`posenc schemes` prints `12 schemes`, see [it](page.md#12-checks).",
        "```\n43 checks passed\n```",
        "There are <!-- fact:wrong-miniatures --> wrong miniatures.",
        "Version 5.24.0 of transformers has models of its own.",
        "[@su2024, section 12] checks it.",
        "Begin with lesson <!-- fact:lesson-order -->, after two lessons.",
    ],
)
def test_other_numbers_may_be_typed(sentence: str) -> None:
    assert not list(facts.typed(sentence))


def test_a_fact_is_printed_within_its_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(facts.FACTS, "schemes", lambda: 1234567)
    assert hooks._block("page.md", "fact:schemes", {}) == "1,234,567"
    monkeypatch.setitem(facts.FACTS, "schemes", lambda: "61 %")
    assert hooks._block("page.md", "fact:schemes", {}) == "61 %"


def test_an_unknown_fact_is_refused() -> None:
    with pytest.raises(PluginError, match=r"page\.md.*fact:dragons"):
        hooks._block("page.md", "fact:dragons", {})


def test_every_fact_is_used() -> None:
    """Of accuracies of schemes and numbers of lessons, pages show only some."""
    used = {name for page in PAGES for name in FACT.findall(page.read_text(encoding="utf-8"))}
    unused = facts.FACTS.keys() - used
    assert all(name.startswith(("recall-", "back-", "lesson-")) for name in unused), unused
