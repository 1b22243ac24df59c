"""``posenc init`` on libraries with several calls: each is claimed, or said to be unjudged."""

from pathlib import Path

import pytest

from posenc_conformance.adapters.find import load_adapter
from posenc_lab.judging import Verdict, failed, judge, schemes
from tests.commands.initialised import written
from tests.libraries import keys

pytestmark = pytest.mark.remembered(shipped=True)
HALVES = "halves(x, positions, self.base)"
ONE_BY_ONE = (
    keys.ROTATIONS
    + f"""

class Rotary:
    def __init__(self, dim, base=10000.0):
        self.base = base

    def rotate_queries(self, x, positions):
        return {HALVES}

    def rotate_keys(self, x, positions):
        return KEYS
"""
)
BESIDE = (
    keys.ROTATIONS
    + f"""

class Rotary:
    def __init__(self, dim, base=10000.0):
        self.base = base

    def rotate(self, x, positions):
        return {HALVES}

    def rotate_qk(self, q, k, positions):
        return self.rotate(q, positions), KEYS

    def spin(self, q, amount):
        return q * amount
"""
)
FUNCTIONS = (
    keys.ROTATIONS
    + """

def rope_query(q, positions, base=10000.0):
    return halves(q, positions, base)

def rope_key(k, positions, base=10000.0):
    return KEYS
"""
)
PLACES = (
    keys.ROTATIONS
    + """

def rope(x, positions, base=10000.0):
    return halves(x, positions, base)

def rope_qk(q, k, q_positions, k_positions, base=10000.0):
    return halves(q, q_positions, base), KEYS
"""
)
BATCHES = (
    keys.ROTATIONS
    + """

def apply_rope(x, positions, base=10000.0):
    assert x.ndim == 4
    turned = halves(x, positions, base)
    turned[1:] = LATER
    return turned
"""
)
LONG_NAME = (
    keys.ROTATIONS
    + """

class DecoderRope:
    def __init__(self, dim, base=10000.0, most_tokens=700):
        angles = angles_of(np.arange(most_tokens), dim, base)
        self.cos, self.sin = np.cos(angles), np.sin(angles)

    def rotate(self, x, start_pos):
        rows = slice(start_pos, start_pos + x.shape[-2])
        c, s = self.cos[rows], self.sin[rows]
        a, b = np.split(x, 2, -1)
        return joined(x, a * c - b * s, b * c + a * s)[..., : len(c), :]
"""
)
BATCHES_OF_BOTH = (
    keys.ROTATIONS
    + """

def apply_rope(q, k, positions, base=10000.0):
    assert q.ndim == 4
    keys = halves(k, positions, base)
    keys[1:] = LATER
    return halves(q, positions, base), keys
"""
)
TABLE_OF_BIAS = """
import numpy as np

class AlibiBias:
    def __init__(self, heads, most_tokens=700):
        slopes = 2.0 ** (-8.0 * np.arange(1, heads + 1) / heads)
        at = np.arange(most_tokens)
        self.bias = -slopes[:, None, None] * np.abs(at[:, None] - at[None, :])

    def __call__(self, q_len, k_len):
        return self.bias[:, k_len - q_len : k_len, :k_len]
"""
BIAS = """
import numpy as np

class AlibiBias:
    def __init__(self, heads):
        self.slopes = 2.0 ** (-8 * np.arange(1, heads + 1) / heads)

    def __call__(self, n):
        distance = np.arange(n)[None] - np.arange(n)[:, None]
        return np.where(distance > 0, -np.inf, SIGN * self.slopes[:, None, None] * distance)
"""


def judged(path: Path, among: str, *more: str) -> list[Verdict]:
    """Judge what an adapter claims of one scheme, with one example of each invariant."""
    chosen = [scheme for scheme in schemes() if scheme.id == among]
    verdicts = judge(
        load_adapter(str(path)).adapter, ("smoke", "golden", *more), examples=3, among=chosen
    )
    assert "passed" in {verdict.verdict for verdict in verdicts}
    return verdicts


@pytest.mark.parametrize(
    ("name", "source", "right", "wrong"),
    [
        ("one_by_one", ONE_BY_ONE, HALVES, "x"),
        ("beside", BESIDE, "self.rotate(k, positions)", "k"),
        ("functions", FUNCTIONS, "halves(k, positions, base)", "halves(k, -positions, base)"),
        ("places", PLACES, "halves(k, k_positions, base)", "halves(k, 0 * k_positions, base)"),
    ],
)
def test_keys_that_another_call_rotates_are_judged(
    folder: Path, name: str, source: str, right: str, wrong: str
) -> None:
    path = written(folder, f"wrong_{name}", source.replace("KEYS", wrong))
    assert failed(judged(path, "rope-kernel"))
    path = written(folder, f"right_{name}", source.replace("KEYS", right))
    assert not [verdict.text for verdict in failed(judged(path, "rope-kernel"))]


def test_methods_outside_the_adapter_are_said_to_be_unjudged(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(folder, "with_spin", BESIDE.replace("KEYS", "self.rotate(k, positions)"))
    words = "not judged: Rotary.spin"
    assert words in capsys.readouterr().out
    assert words in path.read_text(encoding="utf-8")


def test_one_set_of_positions_for_queries_and_keys_is_said(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = PLACES.replace("KEYS", "halves(k, k_positions, base)")
    path = written(folder, "required_places", source)
    words = "not judged: positions of keys other than those of queries"
    assert words in capsys.readouterr().out
    assert words in path.read_text(encoding="utf-8")
    optional = PLACES.replace("k_positions, base=", "k_positions=None, base=")
    written(folder, "optional_places", optional.replace("KEYS", "halves(k, q_positions, base)"))
    assert "not judged: k_positions, which keeps its default" in capsys.readouterr().out


def test_a_function_that_fits_nothing_is_said_to_be_unjudged(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = f"{FUNCTIONS}\n\ndef rope_of_grid(x, grid):\n    return x\n"
    path = written(folder, "of_grid", source.replace("KEYS", "halves(k, positions, base)"))
    words = "not judged, since no way tried to call it fits a scheme: rope_of_grid"
    assert words in capsys.readouterr().out
    assert words in path.read_text(encoding="utf-8")


def test_parts_that_no_call_has_the_form_of_are_listed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shift = "\n\ndef rel_shift(x):\n    return x\n\n\ndef scaled(x):\n    return x\n"
    words = "since no call that is tried has their form: rel_shift\n"
    written(folder, "shift_alone", shift)
    assert words in capsys.readouterr().out
    source = FUNCTIONS.replace("KEYS", "halves(k, positions, base)")
    written(folder, "shift_beside", source + shift)
    assert words in capsys.readouterr().out
    written(folder, "no_shift", source)
    assert "has their form" not in capsys.readouterr().out


def test_a_bias_beside_right_slopes_is_judged(folder: Path) -> None:
    path = written(folder, "wrong_bias", BIAS.replace("SIGN", "-1"))
    assert failed(judged(path, "alibi"))
    path = written(folder, "right_bias", BIAS.replace("SIGN", "1"))
    assert not failed(judged(path, "alibi"))


def test_a_bias_that_fits_nothing_is_said_to_be_unjudged(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(folder, "odd_bias", BIAS.replace("SIGN", "np.sin(distance)"))
    words = "not judged: AlibiBias.__call__"
    assert words in capsys.readouterr().out
    assert words in path.read_text(encoding="utf-8")


def test_a_batch_of_sequences_is_judged_if_the_call_takes_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(folder, "first_alone", BATCHES.replace("LATER", "x[1:]"))
    assert failed(judged(path, "rope", "invariant"))
    path = written(folder, "whole_batch", BATCHES.replace("LATER", "turned[1:]"))
    assert not failed(judged(path, "rope", "invariant"))
    words = "not judged: a batch of several sequences"
    assert words not in capsys.readouterr().out
    source = BATCHES.replace("x.ndim == 4", "x.ndim == 4 and len(x) == 1")
    path = written(folder, "one_sequence", source.replace("LATER", "turned[1:]"))
    assert not failed(judged(path, "rope", "invariant"))
    assert words in capsys.readouterr().out


@pytest.mark.slow
def test_keys_of_a_batch_are_judged_if_the_call_takes_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, later in (("first_keys", "keys[:1]"), ("last_keys", "keys[1:]; keys[:-1] = k[:-1]")):
        path = written(folder, name, BATCHES_OF_BOTH.replace("LATER", later))
        assert failed(judged(path, "rope-kernel"))
    source = BATCHES_OF_BOTH.replace("LATER", "keys[1:]")
    path = written(folder, "all_keys", source)
    assert not failed(judged(path, "rope-kernel"))
    words = "not judged: a batch of several sequences"
    assert words not in capsys.readouterr().out
    one = source.replace("q.ndim == 4", "q.ndim == 4 and len(q) == 1")
    assert not failed(judged(written(folder, "keys_of_one", one), "rope-kernel"))
    assert words in capsys.readouterr().out


@pytest.mark.parametrize("low", ["-np.inf", "-1e4"])
def test_the_mask_in_a_bias_is_judged(folder: Path, low: str) -> None:
    source = BIAS.replace("SIGN", "1").replace("-np.inf", low)
    path = written(folder, f"right_mask{len(low)}", source)
    assert "masked=True" in path.read_text(encoding="utf-8")
    assert not failed(judged(path, "alibi"))
    path = written(folder, f"wrong_mask{len(low)}", source.replace("distance > 0", "distance > 1"))
    assert failed(judged(path, "alibi"))
    path = written(folder, f"no_mask{len(low)}", source.replace(low, "0.0"))
    assert "masked=True" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(("source", "scheme"), [(LONG_NAME, "rope"), (TABLE_OF_BIAS, "alibi")])
def test_a_table_of_a_fixed_length_limits_the_positions(
    folder: Path, source: str, scheme: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(folder, f"table_of_{scheme}", source)
    assert "so positions up to 699 are claimed" in capsys.readouterr().out
    assert "max_position=699" in path.read_text(encoding="utf-8")
    assert not [verdict.text for verdict in failed(judged(path, scheme, "invariant"))]
