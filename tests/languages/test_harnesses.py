"""The harness for JavaScript, which runs wherever the tests do; others: test_languages.py."""

import os
from pathlib import Path

import pytest

from tests.languages import harnesses
from tests.site.explorer import NODE

JAVASCRIPT = harnesses.Harness(
    "js/posenc_harness.mjs", "mjs", f"{NODE} {{}}.mjs", kind="RangeError"
)


def test_a_harness_transports_all_values(tmp_path: Path) -> None:
    harnesses.assert_carries(JAVASCRIPT, tmp_path)


def test_a_harness_answers_errors(tmp_path: Path) -> None:
    harnesses.assert_answers_errors(JAVASCRIPT, tmp_path)


def test_an_adapter_is_right(tmp_path: Path) -> None:
    harnesses.assert_right(JAVASCRIPT, tmp_path)


def test_an_adapter_written_by_init_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{Path(NODE).parent}{os.pathsep}{os.environ['PATH']}")
    harnesses.assert_starts("javascript", tmp_path, monkeypatch)


@pytest.mark.parametrize("mistake", harnesses.MISTAKES)
def test_a_mistake_in_an_adapter_has_its_name(mistake: str, tmp_path: Path) -> None:
    harnesses.assert_wrong(JAVASCRIPT, tmp_path, mistake)
