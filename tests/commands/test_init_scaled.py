"""``posenc init`` on scaled rotations: judged with their factor, and with their keys."""

from pathlib import Path

import numpy as np
import pytest

from posenc_conformance.adapters import of_each, of_keys, of_queries
from posenc_conformance.adapters.find import load_adapter
from posenc_conformance.adapters.resolve import subjects
from posenc_conformance.commands.main import main
from posenc_lab.judging import Verdict, failed, judge, schemes
from tests.building import with_torch
from tests.commands.initialised import written
from tests.libraries import scaled

pytestmark = pytest.mark.remembered(shipped=True)


def judged(path: Path, *levels: str) -> list[Verdict]:
    return judge(load_adapter(str(path)).adapter, ("smoke", "golden", *levels), examples=1)


def calls(path: Path) -> set[str]:
    return {each.call.name for each in subjects(load_adapter(str(path)).adapter, schemes())}


@pytest.mark.draws
@pytest.mark.parametrize(
    "library",
    with_torch(scaled.RIGHT, lambda library: library.source),
    ids=lambda library: library.name,
)
def test_right_scaling_passes(
    folder: Path, library: scaled.Library, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(folder, f"scaled_{library.name}", library.source)
    said = capsys.readouterr().out
    assert calls(path) == {*library.call.split()}
    assert "nothing" not in said
    assert ("NOT JUDGED" in said) == ("rope" in library.call.split())
    assert "its base grows" not in said
    assert not [verdict.text for verdict in failed(judged(path))]


@pytest.mark.draws
@pytest.mark.parametrize(
    "library",
    with_torch(scaled.WRONG, lambda library: library.source),
    ids=lambda library: library.name,
)
def test_wrong_scaling_fails_and_is_named(
    folder: Path, library: scaled.Library, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(folder, f"misscaled_{library.name}", library.source)
    assert library.said in capsys.readouterr().out
    assert calls(path) == {*library.call.split()}
    assert library.said in path.read_text(encoding="utf-8")
    of_state = "left by another call" in library.said
    assert failed(judged(path, *["behaviour"] * of_state))


def test_a_scaled_scheme_can_be_asked_for(folder: Path) -> None:
    source = scaled.filled(scaled.DIVIDED, POSITIONS="positions")
    (folder / "asked_scaling.py").write_text(source, encoding="utf-8")
    assert main(["init", "asked_scaling.py", "position-interpolation"]) == 0
    assert calls(folder / "asked_scaling_adapter.py") == {"position_interpolation"}


def test_rows_of_queries_and_keys_come_in_turn() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)

    def turned(q: np.ndarray, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return q + 100, k - 200

    assert np.array_equal(of_queries(turned, x, "hsd"), x + 100)
    assert np.array_equal(of_keys(turned, x, "hsd"), x - 200)
    by = of_each(turned, x, "hsd") - x
    assert np.array_equal(by[..., 0], [[100, 200, 100], [200, 100, 200]])
    assert of_each(turned, x[0, :1], "hsd").shape == (1, 4)
