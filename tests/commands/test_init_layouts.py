"""``posenc init`` on classes that take the layout of channels, and rows with all heads in one."""

from pathlib import Path

import pytest

from posenc_conformance.adapters.find import load_adapter
from posenc_lab.judging import Verdict, judge, schemes
from posenc_lab.judging import failed as failing
from tests.commands.initialised import written

pytestmark = pytest.mark.remembered(shipped=True)
FLAT = """
import numpy as np


class RotaryEmbedding:
    def __init__(self, head_size, rotary_dim, max_position_embeddings, base, is_neox_style, dtype):
        self.head_size, self.rotary_dim = head_size, rotary_dim
        self.neox = is_neox_style
        omega = base ** (-np.arange(0, rotary_dim, 2) / rotary_dim)
        angles = np.outer(np.arange(max_position_embeddings), omega)
        self.table = np.concatenate([np.cos(angles), np.sin(angles)], -1)

    def turned(self, positions, x):
        c, s = np.split(self.table[positions][:, None], 2, -1)
        rows = x.astype(float).reshape(len(positions), -1, self.head_size)
        part, rest = rows[..., : self.rotary_dim], rows[..., self.rotary_dim :]
        a, b = np.split(part, 2, -1) if self.neox else (part[..., ::2], part[..., 1::2])
        first, second = FIRST, b * c + a * s
        if self.neox:
            out = np.concatenate([first, second], -1)
        else:
            out = np.stack([first, second], -1).reshape(part.shape)
        return np.concatenate([out, rest], -1).reshape(x.shape).astype(x.dtype)

    def forward(self, positions, query, key=None, offsets=None):
        CHECK
        return self.turned(positions, query), KEYS

    def __call__(self, *arguments, **keywords):
        return self.forward(*arguments, **keywords)
"""
RIGHT = {
    "FIRST": "a * c - b * s",
    "CHECK": "assert query.ndim == 2 and len(query) == len(positions)",
    "KEYS": "self.turned(positions, key)",
}
WRONG = {
    "sign_of_pairs": {"FIRST": "a * c - (b * s if self.neox else -b * s)"},
    "keys": {"KEYS": "key"},
    "heads": {"KEYS": "np.roll(self.turned(positions, key), self.head_size, -1)"},
}


def source(**changes: str) -> str:
    text = FLAT
    for place, code in {**RIGHT, **changes}.items():
        text = text.replace(place, code)
    return text


def judged(path: Path) -> list[Verdict]:
    among = [each for each in schemes() if each.id in ("rope", "rope-kernel")]
    return judge(load_adapter(str(path)).adapter, ("smoke", "golden"), examples=1, among=among)


@pytest.mark.slow
def test_a_class_of_rows_with_all_heads_is_judged_in_both_layouts(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(folder, "flat", source())
    assert "behaves like interleaved and half" in capsys.readouterr().out
    text = path.read_text(encoding="utf-8")
    assert 'rotation="partial"' in text
    assert 'shape="s(hd)"' in text
    verdicts = judged(path)
    assert not failing(verdicts)
    labels = {each.check.subject.label for each in verdicts if each.verdict == "passed"}
    assert {"half", "interleaved", "query-key-half", "query-key-interleaved"} <= labels


@pytest.mark.slow
@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_class_of_rows_with_all_heads_fails(folder: Path, wrong: str) -> None:
    path = written(folder, f"flat_{wrong}", source(**WRONG[wrong]))
    assert failing(judged(path))


@pytest.mark.slow
def test_rows_of_heads_are_tried_where_rows_of_all_are_not_taken(folder: Path) -> None:
    check = "assert query.ndim == 3 and len(query) == len(positions)"
    path = written(folder, "by_heads", source(CHECK=check))
    assert 'shape="shd"' in path.read_text(encoding="utf-8")
    assert not failing(judged(path))


def test_a_layout_that_raises_is_not_claimed(folder: Path) -> None:
    check = "\n        if not self.neox:\n            raise NotImplementedError('halves alone')"
    path = written(folder, "halves_alone", source(CHECK=check))
    text = path.read_text(encoding="utf-8")
    assert '@claims("half"' in text
    assert "query-key-interleaved" not in text
    assert not failing(judged(path))
