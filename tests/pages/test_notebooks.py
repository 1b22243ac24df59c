"""Notebooks of the lessons: the page's code in its order, and nothing that needs a site."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import lessons
import notebooks
import pytest
from blocks import site_blocks

from tests.building import with_torch

LESSONS = lessons.lessons()
LEFT = re.compile(r"<!--|\\[()\[\]]|\]\(|\[@|\?\?\?|</?div|^ {4,}\S|```(?:python|text)$", re.M)


def cells(lesson: lessons.Lesson) -> list[dict[str, Any]]:
    book = json.loads(notebooks.content(lesson))
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    listed: list[dict[str, Any]] = book["cells"]
    assert len({cell["id"] for cell in listed}) == len(listed)
    return listed


@pytest.mark.parametrize(
    "lesson", with_torch(LESSONS, lambda lesson: lesson.text), ids=lambda lesson: lesson.page
)
def test_a_notebook_prints_what_it_says(
    lesson: lessons.Lesson,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Cells run in order, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    ran = [cell for cell in cells(lesson) if cell["cell_type"] == "code"]
    if notebooks.installation(lesson):
        assert ran.pop(0)["source"] == notebooks.installation(lesson)
    assert len(ran) == lesson.text.count("```python\n")
    for cell in ran:
        exec(compile(cell["source"], notebooks.address(lesson), "exec"), namespace)
        text = "".join(output["text"] for output in cell["outputs"])
        assert capsys.readouterr().out.strip() == text.strip()


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.page)
def test_words_of_a_notebook_need_no_site(lesson: lessons.Lesson) -> None:
    words = [cell["source"] for cell in cells(lesson) if cell["cell_type"] == "markdown"]
    assert [LEFT.findall(text) for text in words if LEFT.search(text)] == []
    assert "## Question" in "\n".join(words)


def test_markup_that_needs_a_site_is_found() -> None:
    for text in ("a <!-- claim:b -->", r"\(x\)", "[a](b.md)", "[@c]", '??? question "Why?"'):
        assert LEFT.search(text), text


LAST_IMPORT = "from posenc_conformance import check"


@pytest.mark.parametrize(
    ("code", "address", "wanted"),
    [
        ("import numpy as np", "", ["%pip install -q numpy"]),
        ("import torch\nimport numpy as np", "", ["%pip install -q numpy torch"]),
        ("import matplotlib.pyplot as plt", "", ["%pip install -q matplotlib"]),
        ("import math\n\nfrom torch import nn", "", ["%pip install -q torch"]),
        (LAST_IMPORT, "https://a.b/c", ["%pip install -q git+https://a.b/c"]),
        (
            "import numpy\nimport posenc",
            "",
            ["%pip install -q numpy", "# For posenc, in a clone"],
        ),
        ("tokens = 3", "", []),
    ],
    ids=["numpy", "two", "part", "from", "address", "clone", "nothing"],
)
def test_the_first_cell_installs_what_is_imported(
    code: str, address: str, wanted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(site_blocks.REPOSITORY, address)
    lesson = lessons.Lesson("learn/a.md", "A", "B.", f"```python\n{code}\n```\n")
    lines = notebooks.installation(lesson).splitlines()
    assert len(lines) == len(wanted)
    assert all(line.startswith(start) for line, start in zip(lines, wanted, strict=True))


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.page)
def test_nothing_is_imported_that_no_cell_installs(lesson: lessons.Lesson) -> None:
    known = {*notebooks.INSTALLED, *notebooks.OURS, *sys.stdlib_module_names}
    assert lesson.imports <= known


def test_a_notebook_names_its_kernel() -> None:
    book = json.loads(notebooks.content(LESSONS[0]))
    assert book["metadata"]["kernelspec"]["name"] == "python3"


def test_a_page_becomes_cells() -> None:
    text = (
        "# A\n\nSay \\(x\\). <!-- claim:b -->\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n\n"
        '??? question "Why?"\n\n    ??? success "Answer"\n\n'
        "        ```python\n        2\n        ```\n"
    )
    lesson = lessons.Lesson("learn/a.md", "A", "B.", text)
    first, second, third, fourth = cells(lesson)
    assert first["source"] == "# A\n\nSay $x$."
    assert second["source"] == "print(1)"
    assert second["outputs"] == [{"name": "stdout", "output_type": "stream", "text": "1\n"}]
    assert third["source"] == "**Why?**\n\n**Answer**"
    assert fourth["source"] == "2"
    assert fourth["outputs"] == []
