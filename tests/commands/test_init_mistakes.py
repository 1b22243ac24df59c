"""``posenc init`` on wrong libraries: each is claimed as what it is near to, never left out."""

from pathlib import Path

import pytest

from posenc_conformance.adapters.find import load_adapter
from posenc_lab.judging import failed, judge, schemes
from tests.commands.initialised import written
from tests.libraries import mistaken

pytestmark = pytest.mark.remembered(shipped=True)
JUDGED = [scheme for scheme in schemes() if scheme.id in ("rope", "sinusoidal")]


def fails(path: Path, *kinds: str) -> bool:
    """Return whether a check of an adapter fails."""
    return bool(failed(judge(load_adapter(str(path)).adapter, kinds, examples=3, among=JUDGED)))


@pytest.mark.parametrize("mistake", mistaken.MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_is_claimed_with_its_name(folder: Path, mistake: mistaken.Mistake) -> None:
    path = written(folder, f"mistaken_{mistake.name}", mistake.source)
    text = path.read_text(encoding="utf-8")
    assert "It comes nearest to" in text
    assert mistake.says in text
    assert fails(path, "golden")


@pytest.mark.parametrize("name", mistaken.RIGHT)
def test_the_same_without_the_mistake_is_right(folder: Path, name: str) -> None:
    path = written(folder, f"unmistaken_{name}", mistaken.RIGHT[name])
    assert "It comes nearest to" not in path.read_text(encoding="utf-8")
    assert not fails(path, "golden")


def test_a_table_that_ends_without_a_word_is_no_limit(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fails(written(folder, "clamped", mistaken.CLAMPED), "golden")
    assert "so positions up to" not in capsys.readouterr().out
    assert not fails(written(folder, "unclamped", mistaken.OFFSET), "golden")
    assert "so positions up to 511 are claimed" in capsys.readouterr().out


def test_results_in_the_other_order_are_said(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(folder, "documented_order", mistaken.RIGHT["documented"])
    words = "RotaryEmbedding returns sines first"
    assert words in capsys.readouterr().out
    assert words in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["two_makers", "ntk_beside"])
def test_a_maker_of_another_scheme_is_listed(
    folder: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    written(folder, f"listed_{name}", mistaken.RIGHT[name])
    assert "RotaryEmbedding, then apply_rotary_pos_emb fits nothing" in capsys.readouterr().out
