"""``posenc init`` on objects that keep their place between calls, and on calls that take values."""

from pathlib import Path

import pytest

from posenc_conformance.adapters.find import load_adapter
from posenc_lab.judging import failed, judge, schemes
from tests.commands.initialised import written

pytestmark = pytest.mark.remembered(shipped=True)
TURNS = """
import numpy as np

def turned(x, first):
    omega = 10000.0 ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1])
    angles = np.outer(np.arange(first, first + x.shape[-2]), omega)
    a, b = np.split(x, 2, -1)
    c, s = np.cos(angles), np.sin(angles)
    return np.concatenate([a * c - b * s, b * c + a * s], -1).astype(x.dtype)
"""
OF_X = """
class StreamingRoPE:
    def __init__(self, head_dim):
        self.place = 0

    def __call__(self, x):
        out = turned(x, self.place)
        self.place += STEP
        return out
"""
OF_LENGTH = OF_X.replace("head_dim)", "head_dim, max_seq_len)")
OF_CACHE = """
class CachedRoPE:
    def __init__(self, head_dim):
        self.keys, self.values, self.place = [], [], 0

    def forward(self, q, kVALUES):
        q, k = turned(q, self.place), KEYS
        self.place += STEP
        self.keys.append(k)
        return q, np.concatenate(self.keys, -2)
"""
ATTENTION = """
class RotaryAttention:
    def __init__(self, head_dim):
        self.head_dim = head_dim

    def forward(self, q, k, v):
        scores = turned(q, 0) @ turned(k, 0).swapaxes(-1, -2)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return weights / weights.sum(-1, keepdims=True) @ v
"""
ROWS = {"STEP": "q.shape[-2]", "KEYS": "turned(k, self.place)"}
RIGHT = {
    "rows": (OF_X, {"STEP": "x.shape[-2]"}),
    "rows of a length": (OF_LENGTH, {"STEP": "x.shape[-2]"}),
    "keys": (OF_CACHE, {**ROWS, "VALUES": ""}),
    "values": (OF_CACHE, {**ROWS, "VALUES": ", v"}),
}
WRONG = {
    "rows": (OF_X, {"STEP": "1"}, {"rope"}),
    "place": (OF_CACHE, {**ROWS, "STEP": "1", "VALUES": ", v"}, {"rope"}),
    "keys": (OF_CACHE, {**ROWS, "KEYS": "k", "VALUES": ", v"}, {"rope-kernel"}),
}


CHANGING = """
class RotaryEmbedding:
    def __init__(self, head_dim):
        self.scale = 1.0

    def __call__(self, x):
        out = turned(x, 0) * self.scale
        self.scale /= 2
        return out
"""


def _source(text: str, changes: dict[str, str]) -> str:
    for place, code in changes.items():
        text = text.replace(place, code)
    return TURNS + text


def _judged(path: Path) -> tuple[set[str], set[str]]:
    """Return the schemes of an adapter's checks that ran, and those that failed."""
    among = [each for each in schemes() if each.id in ("rope", "rope-kernel")]
    verdicts = judge(load_adapter(str(path)).adapter, ("smoke", "golden"), 1, among=among)
    ran = {each.check.subject.scheme.id for each in verdicts}
    return ran, {each.check.subject.scheme.id for each in failed(verdicts)}


@pytest.mark.slow
@pytest.mark.parametrize("name", RIGHT)
def test_an_object_that_keeps_its_place_is_judged_anew(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    path = written(folder, f"kept_{name.replace(' ', '_')}", _source(*RIGHT[name]))
    said = capsys.readouterr().out
    assert "it keeps its place between calls" in said
    assert "although it is wrong" not in said
    expected = {"rope"} if "rows" in name else {"rope", "rope-kernel"}
    assert _judged(path) == (expected, set())


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_a_place_that_is_kept_wrongly_fails(folder: Path, name: str) -> None:
    text, changes, expected = WRONG[name]
    _, wrong = _judged(written(folder, f"kept_wrong_{name}", _source(text, changes)))
    assert wrong == expected


@pytest.mark.slow
def test_an_object_that_changes_with_each_call_is_kept_and_fails(folder: Path) -> None:
    """A new object for each call would hide the mistake."""
    path = written(folder, "changes", _source(CHANGING, {}))
    assert "lru_cache(" in path.read_text("utf-8")
    assert _judged(path) == ({"rope"}, {"rope"})


def test_attention_is_not_taken_for_a_rotation(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(folder, "attends", _source(ATTENTION, {}))
    assert "nothing in attends behaves like a scheme" in capsys.readouterr().out
