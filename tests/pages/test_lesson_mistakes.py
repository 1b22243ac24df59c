"""The checks in the code of lessons reject wrong variants by name and accept right ones."""

import re
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import yaml

from tests.building import CHECKOUT, with_torch

FENCE = re.compile(r"^( *)```(.*?)\n(.*?)^\1```$", re.S | re.M)
VARIANTS: list[tuple[str, dict[str, str]]] = [
    (page, variant)
    for page, listed in yaml.safe_load(
        Path(__file__).with_name("mistakes.yaml").read_text(encoding="utf-8")
    ).items()
    for variant in listed
]
RIGHT, OTHER = "right", "other output"


def text_of(page: str) -> str:
    return (CHECKOUT / "docs" / "learn" / f"{page}.md").read_text(encoding="utf-8")


def run(text: str, printed: pytest.CaptureFixture[str]) -> str:
    """Run a lesson; return what its first failing check says, or whether its output is as shown."""
    names: dict[str, Any] = {}
    outcome, got = RIGHT, None
    for _, kind, block in FENCE.findall(text):
        if kind == "python":
            try:
                exec(compile(dedent(block), "lesson", "exec"), names)
            except AssertionError as error:
                return str(error)
            got = printed.readouterr().out
        elif kind == "text" and got is not None and got.strip() != dedent(block).strip():
            outcome = OTHER
    return outcome


@pytest.mark.parametrize(
    ("page", "variant"),
    [
        pytest.param(*item.values[0], marks=item.marks, id=f"{item.values[0][0]}-{number}")
        for number, item in enumerate(with_torch(VARIANTS, lambda each: text_of(each[0])))
    ],
)
def test_a_variant_is_judged(
    page: str, variant: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    text = text_of(page)
    assert variant["code"] in text, "the lesson no longer has this code"
    said = run(text.replace(variant["code"], variant["by"]), capsys)
    assert said.startswith(variant.get("says", RIGHT))


def test_each_lesson_has_right_and_wrong_variants() -> None:
    for page in {page for page, _ in VARIANTS}:
        kinds = {"says" in variant for other, variant in VARIANTS if other == page}
        assert kinds == {True, False}, page
