"""``posenc init`` and ``--impl`` on parts that only their names, or defaults, lead to."""

from pathlib import Path

import pytest

from posenc_conformance.commands.init.in_memory import load_here
from posenc_conformance.errors import UserError
from posenc_lab.judging import failed, judge

pytestmark = [pytest.mark.remembered(shipped=True), pytest.mark.slow]
TABLES = """
import numpy as np

def NAME(seq_len, dim, base=10000.0):
    freqs = np.outer(np.arange(seq_len), base ** (-np.arange(0, dim, 2) / DIVISOR))
    emb = np.concatenate([freqs, freqs], -1)
    return np.cos(emb), np.sin(emb)
"""
APPLIES = """
import numpy as np

def apply_rotary_pos_emb(q, k, cos, sin):
    def turned(x):
        a, b = np.split(x.astype(float), 2, -1)
        return (x * cos + np.concatenate([-b, a], -1) * sin).astype(x.dtype)
    return turned(q), turned(k)
"""
MASK = """
import numpy as np

def make_causal_mask(q_len, k_len=None):
    k_len = q_len if k_len is None else k_len
    rows = FIRST + np.arange(q_len)[:, None]
    return np.arange(k_len)[None] <= rows
"""
OF_SETTINGS = """
import numpy as np

SETTINGS = {"rope_theta": 10000.0, "factor": 4.0}

class NTKRope:
    def __init__(self, head_dim=64, config=SETTINGS):
        base = config["rope_theta"] * config["factor"] ** (head_dim / (head_dim - 2))
        self.inv_freq = base ** (-np.arange(0, head_dim, 2) / head_dim)

    def __call__(self, x, positions):
        turns = np.outer(positions, self.inv_freq)
        a, b = np.split(x.astype(float), 2, -1)
        both = a * np.cos(turns) - b * np.sin(turns), a * np.sin(turns) + b * np.cos(turns)
        return np.concatenate(both, -1).astype(x.dtype)
"""
SECTIONS = """
def apply_multimodal_rotary_pos_emb(q, k, cos, sin, mrope_section):
    raise NotImplementedError
"""


def judged(folder: Path, name: str, code: str) -> tuple[str, bool]:
    """Judge a file in memory; return what is said of it, and whether it is wrong."""
    path = folder / f"{name}.py"
    path.write_text(code, encoding="utf-8")
    made = load_here(str(path))
    verdicts = judge(made.adapter, ("smoke", "golden"), examples=3)
    assert "passed" in {verdict.verdict for verdict in verdicts}
    return "\n".join(made.notes), bool(failed(verdicts))


@pytest.mark.parametrize("name", ["get_cos_sin", "precompute_cos_sin", "sin_cos_table"])
@pytest.mark.parametrize(("divisor", "wrong"), [("dim", False), ("(dim // 2)", True)])
def test_makers_of_cos_and_sin_are_judged(
    tmp_path: Path, name: str, divisor: str, wrong: bool
) -> None:
    made = TABLES.replace("NAME", name).replace("DIVISOR", divisor)
    said, is_wrong = judged(tmp_path, f"of_{name}_{wrong}", made + APPLIES)
    assert f"{name}, then apply_rotary_pos_emb" in said
    assert is_wrong is wrong


def test_tables_that_no_part_makes_are_told(tmp_path: Path) -> None:
    said, is_wrong = judged(tmp_path, "only_applies", APPLIES)
    assert "not judged: what makes the tables of apply_rotary_pos_emb" in said
    assert not is_wrong


@pytest.mark.parametrize(
    ("first", "wrong"), [("k_len - q_len", False), ("k_len - q_len + 1", True)]
)
def test_as_many_keys_as_queries_is_a_default(tmp_path: Path, first: str, wrong: bool) -> None:
    _, is_wrong = judged(tmp_path, f"optional_keys_{wrong}", MASK.replace("FIRST", first))
    assert is_wrong is wrong


@pytest.mark.parametrize(
    ("code", "name", "words"),
    [
        (OF_SETTINGS, "of_settings", "NOT JUDGED: NTKRope: it is named after ntk_aware"),
        (OF_SETTINGS.replace("NTKRope", "LongRope"), "of_long", "LongRope: named after longrope"),
        (SECTIONS, "of_sections", "after m-rope"),
    ],
)
def test_a_file_in_which_nothing_fits_says_what_was_seen(
    tmp_path: Path, code: str, name: str, words: str
) -> None:
    path = tmp_path / f"{name}.py"
    path.write_text(code, encoding="utf-8")
    with pytest.raises(UserError, match=words):
        load_here(str(path))
