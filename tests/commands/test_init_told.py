"""``posenc init`` on calls that are told more than places: a dtype, the axes, factors of a rule."""

from pathlib import Path

import pytest

from posenc_lab.judging import failed
from tests.commands.initialised import written
from tests.commands.test_init_unjudged import judged

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
ADDED = """
import numpy as np

class PositionalEncoding:
    '''Adds places. DOC'''

    def __init__(self, d_model, max_len=5000):
        angles = np.outer(np.arange(max_len), 10000.0 ** (-np.arange(0, d_model, 2) / d_model))
        pe = np.zeros((max_len, d_model))
        pe[:, 0::2], pe[:, 1::2] = np.sin(angles), np.cos(angles)
        self.pe = pe[WHERE]

    def __call__(self, x):
        return (x + self.pe[ROWS]).astype(x.dtype)
"""
BATCH_FIRST = ADDED.replace("WHERE", "None, :").replace("ROWS", ":, : x.shape[1]")
ROWS_FIRST = ADDED.replace("WHERE", ":, None").replace("ROWS", ": len(x)")
SAYS_BATCH_FIRST = "x: array of shape [batch_size, seq_len, embedding_dim]"
SAYS_ROWS_FIRST = "Args:\n\n        x: input, (T, B, C)"
WITH_CACHE = """
import numpy as np

class Rope:
    def __init__(self, dim, base=10000.0):
        self.omega = base ** (-np.arange(0, dim, 2) / dim)

    def forward(self, q, k, cache_len=0):
        '''q, k: [batch, seq, heads, head_dim]'''
        angles = np.outer(np.arange(q.shape[AXIS]) + PLACE, self.omega)AXES
        def turned(x):
            a, b = np.split(x, 2, -1)
            c, s = np.cos(angles), np.sin(angles)
            return np.concatenate([a * c - b * s, b * c + a * s], -1).astype(x.dtype)
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


@pytest.mark.parametrize(
    ("name", "doc", "wrong", "right"),
    [
        ("batches", SAYS_BATCH_FIRST, ROWS_FIRST, BATCH_FIRST),
        ("rows", SAYS_ROWS_FIRST, BATCH_FIRST, ROWS_FIRST),
    ],
)
def test_the_axes_that_a_docstring_names_are_given(
    folder: Path, name: str, doc: str, wrong: str, right: str
) -> None:
    path = written(folder, f"not_{name}_first", wrong.replace("DOC", doc))
    assert failed(judged(path, "sinusoidal"))
    path = written(folder, f"{name}_first", right.replace("DOC", doc))
    assert not failed(judged(path, "sinusoidal"))


def test_rows_before_the_batch_are_said_where_no_text_names_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(folder, "silent_rows_first", ROWS_FIRST)
    assert "x is given as [length, 1, dim], since" in capsys.readouterr().out
    written(folder, "silent_batch_first", BATCH_FIRST)
    assert "x is given as" not in capsys.readouterr().out


def test_a_wrong_rotation_is_given_the_axes_that_its_docstring_names(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of_rows = WITH_CACHE.replace("AXIS", "1").replace("AXES", "[:, None]")
    written(folder, "counted_twice", of_rows.replace("PLACE", "2 * cache_len"))
    assert "the length of the cache is counted twice" in capsys.readouterr().out
    written(folder, "counted_once", of_rows.replace("PLACE", "cache_len"))
    assert "fits nothing" not in capsys.readouterr().out
    other = WITH_CACHE.replace("AXIS", "-2").replace("AXES", "").replace("PLACE", "cache_len")
    written(folder, "heads_before_rows", other)
    assert "fits nothing" in capsys.readouterr().out
