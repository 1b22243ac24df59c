"""``posenc init`` on functions that take the positions of each sequence of a batch."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posenc_conformance.adapters import in_batch, of_both
from posenc_conformance.adapters.find import load_adapter
from posenc_lab.judging import failed, judge, schemes
from tests.commands.initialised import written
from tests.libraries import keys

pytestmark = pytest.mark.remembered(shipped=True)
TURN = (
    keys.ROTATIONS
    + """

def turned(x, at, base):
    angles = at[..., None] * base ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1])
    a, b = np.split(x.astype(float), 2, -1)
    c, s = np.cos(angles), np.sin(angles)
    return joined(x, a * c - b * s, b * c + a * s)
"""
)
BOTH = """
def apply_rotary(q, k, position_ids, theta=10000.0):
    assert q.ndim == 4 and position_ids.shape == (len(q), q.shape[2])
    return turned(q, AT, theta), turned(k, KEYS, theta)
"""
ALONE = """
def apply_rope(x, positions, base=10000.0):
    assert x.ndim == 4 and positions.ndim == 2
    at = np.broadcast_to(positions, (len(x), x.shape[1]))
    return turned(x.swapaxes(1, 2), AT, base).swapaxes(1, 2)
"""
OWN = "position_ids[:, None]"
FIRST = "position_ids[:1, None]"
WRONG_KEYS = (
    "np.concatenate([position_ids[:1], np.arange(q.shape[2]) + 0 * position_ids[1:]])[:, None]"
)


def fails(path: Path) -> bool:
    among = [each for each in schemes() if each.id in ("rope", "rope-kernel")]
    adapter = load_adapter(str(path)).adapter
    return bool(failed(judge(adapter, ("smoke", "golden"), examples=1, among=among)))


@pytest.mark.parametrize(("at", "of_keys"), [(OWN, OWN), (FIRST, FIRST), (OWN, WRONG_KEYS)])
def test_queries_and_keys_of_a_batch_have_positions_of_their_own(
    folder: Path, capsys: pytest.CaptureFixture[str], at: str, of_keys: str
) -> None:
    source = TURN + BOTH.replace("AT", at).replace("KEYS", of_keys)
    path = written(folder, f"both_{len(at)}_{len(of_keys)}", source)
    assert "positions=positions)" in path.read_text(encoding="utf-8")
    assert "a batch of several sequences" not in capsys.readouterr().out
    assert fails(path) == ((at, of_keys) != (OWN, OWN))


@pytest.mark.parametrize("at", ["at[:, None]", "at[:1, None]", "at[-1:, None]"])
def test_x_of_a_batch_has_positions_of_its_own(folder: Path, at: str) -> None:
    path = written(folder, f"alone_{len(at)}", TURN + ALONE.replace("AT", at))
    assert "in_batch(" in path.read_text(encoding="utf-8")
    assert fails(path) == (at != "at[:, None]")


@pytest.mark.parametrize("at", ["at[:1, None]", "at[-1:, None]"])
def test_positions_of_another_sequence_are_named(folder: Path, at: str) -> None:
    path = written(folder, f"named_{len(at)}", TURN + ALONE.replace("AT", at))
    words = "in a batch, one sequence has the positions of another one"
    assert words in path.read_text(encoding="utf-8")


def test_one_row_of_positions_for_all_sequences_is_right_where_no_other_is_taken(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = "\ndef rope(x, positions, base=10000.0):\n    return turned(x, positions, base)\n"
    path = written(folder, "spread", TURN + plain)
    assert "in_batch(" not in path.read_text(encoding="utf-8")
    assert not fails(path)
    one = ALONE.replace("positions.ndim == 2", "len(positions) == 1").replace("AT", "at[:, None]")
    path = written(folder, "of_one_row", TURN + one)
    assert "a batch of several sequences" in capsys.readouterr().out
    assert not fails(path)


def test_each_sequence_of_a_batch_is_given_its_rows_and_positions() -> None:
    q, k, at = np.ones((3, 4, 2)), np.full((2, 4, 2), 5.0), np.array([1, 5, 2, 9])

    def shifted(x: Any, places: Any) -> Any:
        assert places.shape == (2, 4)
        return x + places[:, None, :, None]

    expected = at[:, None]
    assert np.array_equal(in_batch(shifted, q, at), q + expected)
    assert np.array_equal(in_batch(shifted, q[:1], at), q[:1] + expected)
    both = of_both(lambda q, k, at: (shifted(q, at), shifted(k, at)), q, k, positions=at)
    assert np.array_equal(both, np.concatenate([q + expected, k + expected]))
    only_first = in_batch(lambda x, at: shifted(x, at[:1].repeat(2, 0)), q, at)
    assert np.array_equal(only_first[1], q[1] + expected)
    assert not np.array_equal(only_first[0], q[0] + expected)
