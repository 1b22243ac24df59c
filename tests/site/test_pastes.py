"""The page's words on what people paste: prints of libraries, caches, slopes, files, and noise."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.site.explorer import EXPLORER, asked, told

FILE = Path(__file__).with_name("pastes.yaml")
PASTES: Mapping[str, Any] = {
    entry["name"]: entry for entry in yaml.safe_load(FILE.read_text(encoding="utf-8"))
}
CERTAIN, NOTHING = "These are:", "No match."

pytestmark = pytest.mark.remembered(
    shipped=True, also=(*EXPLORER, FILE.relative_to(FILE.parents[2]).as_posix())
)


@pytest.fixture(scope="session")
def said(page_schemes: list[Any], page_models: list[Any]) -> Mapping[str, str]:
    """Return the page's answer to each paste."""
    answers = asked(
        "explorer_answers.mjs",
        schemes=page_schemes,
        models=page_models,
        configs=told("config_data"),
        texts=[entry["paste"] for entry in PASTES.values()],
    )
    return dict(zip(PASTES, answers, strict=True))


def faults(name: str, answer: str) -> list[str]:
    """Return the words that an answer lacks, and those that it must not have."""
    missing = [words for words in PASTES[name]["says"] if words not in answer]
    return missing + [words for words in PASTES[name].get("never", ()) if words in answer]


@pytest.mark.parametrize("name", PASTES)
def test_a_paste_is_answered(name: str, said: Mapping[str, str]) -> None:
    assert faults(name, said[name]) == [], said[name]


def test_wrong_pages_are_caught(said: Mapping[str, str]) -> None:
    """A page that is always certain, one that never answers, and one that mixes answers up."""
    certain = [name for name in PASTES if faults(name, f"{CERTAIN} {said[name]}")]
    silent = [name for name in PASTES if faults(name, NOTHING)]
    mixed = [
        name
        for name, answer in zip(PASTES, [*said.values()][1:], strict=False)
        if faults(name, answer)
    ]
    assert len(certain) > 15
    assert len(silent) > 0.8 * len(PASTES)
    assert len(mixed) > 0.6 * len(PASTES)
