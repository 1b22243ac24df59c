"""``posenc init`` on sizes that have a default, or names other than the usual ones."""

from pathlib import Path

import pytest

from posenc_conformance.adapters.find import load_adapter
from posenc_conformance.adapters.resolve import subjects
from posenc_lab.judging import failed, judge, schemes
from tests.commands.initialised import written

pytestmark = pytest.mark.remembered(shipped=True)
GRID = """
import numpy as np

def of_axis(dim, places):
    angles = np.outer(places, 10000.0 ** (-np.arange(dim // 2) / (dim // 2)))
    return np.concatenate([np.sin(angles), np.cos(angles)], 1)

def get_2d_sincos_pos_embed(grid_size_h, grid_size_w, embed_dim=256):
    columns, rows = np.meshgrid(np.arange(grid_size_w), np.arange(grid_size_h))
    halves = [of_axis(embed_dim // 2, each.ravel()) for each in (FIRST, SECOND)]
    return np.concatenate(halves, 1)[None]
"""
SINUSOIDS = """
import numpy as np

def sinusoidal_encoding(length=128, d_model=512):
    places = np.arange(length)[:, None]
    omega = 10000.0 ** (-np.arange(0, d_model, 2) / d_model)
    out = np.zeros((length, d_model))
    out[:, 0::2], out[:, 1::2] = SINE(places * omega), COSINE(places * omega)
    return out
"""
OF_TIMES = """
import numpy as np

class PositionalEmbedding:
    def __init__(self, demb):
        self.demb = demb
        self.inv_freq = 10000 ** (-np.arange(0.0, demb, 2.0) / demb)

    def forward(self, pos_seq, BATCH):
        angles = np.outer(PLACES, self.inv_freq)
        rows = np.concatenate([np.sin(angles), np.cos(angles)], -1)[:, None, :]
        return np.broadcast_to(rows, (len(rows), bsz or 1, self.demb))
"""
ROTATION = """
import numpy as np

class RotaryEmbedding:
    def __init__(self, dim=64, base=10000.0):
        self.omega = base ** (-np.arange(0, dim, 2) / dim)

    def __call__(self, x, positions):
        angles = np.outer(positions, self.omega)
        a, b = np.split(x, 2, -1)
        c, s = np.cos(angles), SIGNnp.sin(angles)
        return np.concatenate([a * c - b * s, b * c + a * s], -1).astype(x.dtype)
"""
MASK = """
import numpy as np

def causal_mask(Q, K):
    first = FIRST
    return np.arange(K)[None] <= first + np.arange(Q)[:, None]
"""
WINDOW = """
import numpy as np

def get_relative_position_index(SIZES):
    UNPACK
    places = np.stack(np.meshgrid(np.arange(win_h), np.arange(win_w), indexing="ij"))
    flat = places.reshape(2, -1)
    apart = flat[:, :, None] - flat[:, None, :]
    return (apart[0] + win_h - 1) * (2 * STEP - 1) + apart[1] + win_w - 1
"""
PAIR = {"SIZES": "window_size", "UNPACK": "win_h, win_w = window_size"}
TWO = {"SIZES": "win_h, win_w", "UNPACK": "pass"}
ABBREVIATED = """
import numpy as np

def generate_original_PE(length, d_model):
    places = np.arange(length)[:, None]
    table = np.zeros((length, d_model))
    table[:, 0::2] = np.sin(places * BASE ** (-np.arange(0, d_model, 2) / d_model))
    table[:, 1::2] = np.cos(places * BASE ** (-np.arange(0, d_model, 2) / d_model))
    return table
"""
RIGHT = {
    "a pair": (WINDOW, {**PAIR, "STEP": "win_w"}, "swin"),
    "two sizes": (WINDOW, {**TWO, "STEP": "win_w"}, "swin"),
    "abbreviated": (ABBREVIATED, {"BASE": "10000.0"}, "paper"),
    "grid": (GRID, {"FIRST": "columns", "SECOND": "rows"}, "mae"),
    "sinusoids": (SINUSOIDS, {"COSINE": "np.cos", "SINE": "np.sin"}, "paper"),
    "times": (OF_TIMES, {"PLACES": "pos_seq", "BATCH": "bsz=None"}, "concat"),
    "times of a batch": (OF_TIMES, {"PLACES": "pos_seq", "BATCH": "bsz"}, "concat"),
    "rotation": (ROTATION, {"SIGN": ""}, "half"),
    "sequence lengths": (
        MASK,
        {"FIRST": "K - Q", "Q": "q_sequence_length", "K": "k_sequence_length"},
        "end",
    ),
    "lengths": (MASK, {"FIRST": "K - Q", "Q": "tgt_len", "K": "src_len"}, "end"),
}
WRONG = {
    "a pair": (WINDOW, {**PAIR, "STEP": "win_h"}, "rows between offsets one apart in height"),
    "two sizes": (WINDOW, {**TWO, "STEP": "win_h"}, "rows between offsets one apart in height"),
    "abbreviated": (ABBREVIATED, {"BASE": "1000.0"}, "matches base 1000; 10000 was asked for"),
    "grid": (GRID, {"FIRST": "columns", "SECOND": "columns"}, ""),
    "sinusoids": (SINUSOIDS, {"COSINE": "np.sin", "SINE": "np.cos"}, "sine and cosine swapped"),
    "times": (OF_TIMES, {"PLACES": "pos_seq + 1", "BATCH": "bsz=None"}, "was claimed"),
    "times of a batch": (OF_TIMES, {"PLACES": "pos_seq + 1", "BATCH": "bsz"}, "was claimed"),
    "rotation": (ROTATION, {"SIGN": "-"}, "opposite sign"),
    "sequence lengths": (
        MASK,
        {"FIRST": "1 + K - Q", "Q": "q_sequence_length", "K": "k_sequence_length"},
        "",
    ),
}


def _source(text: str, changes: dict[str, str]) -> str:
    for place, code in changes.items():
        text = text.replace(place, code)
    return text


def _failures(path: Path) -> list[str]:
    adapter = load_adapter(str(path)).adapter
    claimed = {each.scheme.id for each in subjects(adapter, schemes())}
    among = [each for each in schemes() if each.id in claimed]
    return [str(each) for each in failed(judge(adapter, ("smoke", "golden"), 1, among=among))]


@pytest.mark.parametrize("name", RIGHT)
def test_right_code_is_found_and_passes(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    text, changes, convention = RIGHT[name]
    path = written(folder, f"own_sizes_{name.replace(' ', '_')}", _source(text, changes))
    assert f"behaves like {convention} " in capsys.readouterr().out
    assert not _failures(path)


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_claimed_and_fails(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    text, changes, says = WRONG[name]
    path = written(folder, f"wrong_sizes_{name.replace(' ', '_')}", _source(text, changes))
    said = capsys.readouterr().out
    assert "fits nothing" in said
    assert says in said
    assert _failures(path)
