"""``posenc init`` on calls that are told more than places: a dtype, the axes, factors of a rule."""

from pathlib import Path

import pytest

from tests.commands.initialised import written
from tests.commands.test_init_unjudged import judged
from posenc_lab.judging import failed

pytestmark = pytest.mark.remembered(shipped=True)
TABLES_OF_X = """
import numpy as np

class RotaryEmbedding:
    def __init__(self, dim, base=10000.0):
        self.inv_freq = base ** (-np.arange(0, dim, 2) / dim)

    def forward(self, x, seq_len):
        t = np.arange(seq_len)
        freqs = np.outer(TABLE)
        emb = np.concatenate([freqs, freqs], -1).astype(float)
        return np.cos(emb).astype(x.dtype), np.sin(emb).astype(x.dtype)

def apply_rotary_pos_emb(q, k, cos, sin, position_ids):
    cos, sin = cos[position_ids][:, None].astype(float), sin[position_ids][:, None].astype(float)
    def turned(x):
        a, b = np.split(x.astype(float), 2, -1)
        return (x.astype(float) * cos + np.concatenate([-b, a], -1) * sin).astype(x.dtype)
    return turned(q), turned(k)
"""


def test_tables_are_asked_in_the_dtype_of_x(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    narrow = "t.astype(x.dtype), self.inv_freq.astype(x.dtype)"
    path = written(folder, "narrow_angles", TABLES_OF_X.replace("TABLE", narrow))
    assert "it returns another dtype" not in capsys.readouterr().out
    assert any("bfloat16" in each.id for each in failed(judged(path, "rope")))
    path = written(folder, "narrow_tables", TABLES_OF_X.replace("TABLE", "t, self.inv_freq"))
    assert '"bfloat16"' in path.read_text(encoding="utf-8")
    assert not failed(judged(path, "rope", "precision"))
