"""The reader in JavaScript, which runs wherever the tests do; others: test_languages.py."""

from pathlib import Path

import pytest

from tests.languages import readers
from tests.site.explorer import NODE

JAVASCRIPT = readers.Reader("rope.js", "json", (str(NODE), "rope.js"))


def test_it_passes_a_right_rotation(tmp_path: Path) -> None:
    readers.assert_right(JAVASCRIPT, tmp_path)


@pytest.mark.parametrize("mistake", readers.MISTAKES)
def test_it_reports_a_wrong_rotation(mistake: str, tmp_path: Path) -> None:
    readers.assert_wrong(JAVASCRIPT, tmp_path, mistake)


def test_a_run_that_judges_nothing_is_not_green(tmp_path: Path) -> None:
    readers.assert_nothing_judged_is_not_green(JAVASCRIPT, tmp_path)
