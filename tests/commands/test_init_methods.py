"""``posenc init`` on functions in classes, and on masks in the words of attention's code."""

from pathlib import Path

import pytest

from posenc_conformance.adapters.find import load_adapter
from posenc_conformance.commands.main import main
from posenc_lab.judging import failed, judge, schemes
from tests.commands.initialised import written
from tests.libraries import keys

pytestmark = pytest.mark.remembered(shipped=True)
STATIC = """
class RoPE:
    @staticmethod
    def apply(x, positions, base=10000.0):
        return halves(x, AT, base)
"""
OF_CLASS = """
class Turner:
    base = 10000.0

    @classmethod
    def rope(cls, x, positions):
        return halves(x, AT, cls.base)
"""
METHOD = """
class Rotor:
    def __init__(self, dim, base=10000.0):
        self.base = base

    def turn(self, q, k, start_pos=0):
        positions = start_pos + np.arange(q.shape[-2])
        return halves(q, positions, self.base), halves(k, AT, self.base)
"""
CAUSAL = """
import numpy as np

def causal_mask(q_len, kv_len):
    return np.tril(np.ones((q_len, kv_len), dtype=bool), AT)
"""
WINDOW = """
import numpy as np

def window_mask(q_len, k_len, w):
    at = np.arange(q_len)[:, None] + k_len - q_len
    return (np.arange(k_len) <= at) & (at - np.arange(k_len) < AT)
"""
FORMS = {
    "static": (keys.ROTATIONS + STATIC, "positions", "-positions", "rope"),
    "of_class": (keys.ROTATIONS + OF_CLASS, "positions", "positions + 1", "rope"),
    "method": (keys.ROTATIONS + METHOD, "positions", "0 * positions", "rope-kernel"),
    "causal": (CAUSAL, "kv_len - q_len", "kv_len - q_len + 1", "causal-mask"),
    "window": (WINDOW, "w", "w + 2", "sliding-window"),
}


def fails(path: Path, scheme: str) -> bool:
    among = [each for each in schemes() if each.id == scheme]
    adapter = load_adapter(str(path)).adapter
    return bool(failed(judge(adapter, ("smoke", "golden"), examples=1, among=among)))


@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_found_and_judged(folder: Path, form: str) -> None:
    source, right, wrong, scheme = FORMS[form]
    assert not fails(written(folder, f"right_{form}", source.replace("AT", right)), scheme)
    assert fails(written(folder, f"wrong_{form}", source.replace("AT", wrong)), scheme)


def test_a_method_is_asked_for_by_its_name(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = keys.ROTATIONS + STATIC.replace("AT", "positions")
    Path("of_parts.py").write_text(source, encoding="utf-8")
    assert main(["init", "of_parts:RoPE.apply"]) == 0
    assert "rope: RoPE.apply behaves like half" in capsys.readouterr().out
    assert not fails(folder / "RoPE_apply_adapter.py", "rope")
    assert main(["init", "of_parts:RoPE.turn"]) == 2
    assert "of_parts has no attribute 'RoPE.turn'" in capsys.readouterr().err


def test_a_class_of_an_explained_function_is_not_said_to_be_unjudged(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(folder, "shifted", keys.ROTATIONS + STATIC.replace("AT", "positions + 1"))
    said = capsys.readouterr().out
    assert "RoPE.apply fits nothing" in said
    assert "not judged" not in said
