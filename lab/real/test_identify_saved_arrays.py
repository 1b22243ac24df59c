"""``posenc identify`` on arrays that libraries cache and save."""

from pathlib import Path

import pytest

from posenc_conformance.commands.identify.answers import told_of_file
from posenc_lab.models.saved_arrays import SAVED, saved


@pytest.mark.parametrize("name", SAVED)
def test_saved_arrays_are_named(name: str, tmp_path: Path) -> None:
    told = list(told_of_file(saved(name, tmp_path), []))
    text = "\n".join(lines for lines, _ in told)
    assert any(is_known for _, is_known in told)
    assert SAVED[name][2] in text
    assert "  but " not in text


def test_frequencies_do_not_reveal_mscale(tmp_path: Path) -> None:
    """DeepSeek-V2 Lite and V3 differ in mscale, but not in their frequencies."""
    told = told_of_file(saved("transformers, DeepSeek-V3, inv_freq", tmp_path), [])
    assert "mscale" not in "\n".join(lines for lines, _ in told)
