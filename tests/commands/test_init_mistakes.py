"""``posenc init`` on wrong libraries: each is claimed as what it is near to, never left out."""

from pathlib import Path

import pytest

from posenc_conformance.adapters.find import load_adapter
from posenc_lab.judging import failed, judge, schemes
from tests.commands.initialised import written
from tests.libraries import mistaken

pytestmark = pytest.mark.remembered(shipped=True)
JUDGED = [scheme for scheme in schemes() if scheme.id in ("rope", "sinusoidal")]


def fails(path: Path) -> bool:
    """Return whether a golden of an adapter fails."""
    return bool(failed(judge(load_adapter(str(path)).adapter, ("golden",), among=JUDGED)))


@pytest.mark.parametrize("mistake", mistaken.MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_is_claimed_with_its_name(folder: Path, mistake: mistaken.Mistake) -> None:
    text = written(folder, f"mistaken_{mistake.name}", mistake.source).read_text(encoding="utf-8")
    assert "It comes nearest to" in text
    assert mistake.says in text


@pytest.mark.slow
@pytest.mark.parametrize("mistake", mistaken.MISTAKES, ids=lambda mistake: mistake.name)
def test_a_claimed_mistake_fails(folder: Path, mistake: mistaken.Mistake) -> None:
    assert fails(written(folder, f"failing_{mistake.name}", mistake.source))


@pytest.mark.parametrize("name", mistaken.RIGHT)
def test_the_same_without_the_mistake_is_right(folder: Path, name: str) -> None:
    path = written(folder, f"unmistaken_{name}", mistaken.RIGHT[name])
    assert "It comes nearest to" not in path.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", mistaken.RIGHT)
def test_the_same_without_the_mistake_passes(folder: Path, name: str) -> None:
    assert not fails(written(folder, f"passing_{name}", mistaken.RIGHT[name]))


@pytest.mark.slow
def test_a_table_that_ends_without_a_word_is_no_limit(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fails(written(folder, "clamped", mistaken.CLAMPED))
    assert "so positions up to" not in capsys.readouterr().out
    assert not fails(written(folder, "unclamped", mistaken.OFFSET))
    assert "so positions up to 511 are claimed" in capsys.readouterr().out


def test_results_in_the_other_order_are_said(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(folder, "documented_order", mistaken.RIGHT["documented"])
    words = "RotaryEmbedding returns sines first"
    assert words in capsys.readouterr().out
    assert words in path.read_text(encoding="utf-8")


def test_a_maker_of_another_scheme_is_listed_or_claimed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(folder, "listed_makers", mistaken.RIGHT["two_makers"])
    assert "RotaryEmbedding, then apply_rotary_pos_emb fits nothing" in capsys.readouterr().out
    written(folder, "claimed_makers", mistaken.RIGHT["ntk_beside"])
    said = capsys.readouterr().out
    assert "rope: RotaryEmbedding, then apply_rotary_pos_emb behaves like half" in said
    assert "ntk_aware: NTKRotaryEmbedding, then apply_rotary_pos_emb behaves like half" in said


def test_a_maker_that_nothing_explains_is_said_first(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(folder, "odd_maker", mistaken.ODD_MAKER)
    said = capsys.readouterr().out.splitlines()
    assert said[1].startswith("NOT JUDGED: RotaryEmbedding: apply_rotary_pos_emb")
    assert "NOT JUDGED: RotaryEmbedding" in Path("odd_maker_adapter.py").read_text(encoding="utf-8")


def test_a_place_that_no_call_takes_is_said(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(folder, "odd_place", mistaken.ODD_PLACE)
    assert "NOT JUDGED: input_pos: with it, no call" in capsys.readouterr().out
