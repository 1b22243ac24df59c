"""``posenc init`` on biases of attention: of lengths, scores or masks, and with a learned table."""

from pathlib import Path

import pytest

from posenc_conformance.adapters.find import load_adapter
from posenc_lab.judging import failed, judge, schemes
from tests.commands.initialised import written

pytestmark = pytest.mark.remembered(shipped=True)
SLOPES = """
import numpy as np

def slopes_of(heads):
    most = 2 ** int(np.log2(heads))
    first = 2.0 ** (-8 * np.arange(1, most + 1) / most)
    rest = 2.0 ** (-4 * np.arange(1, 2 * (heads - most) + 1, 2) / most)
    return np.concatenate([first, rest])[:, None, None]
"""
OF_LENGTHS = """
class ALiBi:
    def __init__(self, heads):
        self.slopes = slopes_of(heads)

    def forward(self, q_len, kv_len):
        at = np.arange(q_len)[:, None] + START
        return -self.slopes * np.abs(np.arange(kv_len) - at)
"""
OF_SCORES = """
class Alibi:
    def __init__(self, num_heads):
        self.slopes = slopes_of(num_heads)

    def __call__(self, scores):
        q_len, k_len = scores.shape[-2:]
        at = np.arange(q_len)[:, None] + START
        return scores - self.slopes * np.abs(np.arange(k_len) - at)
"""
OF_OFFSET = """
class Alibi:
    def __call__(self, attention_scores, offset=0, mask=None):
        rows = np.arange(attention_scores.shape[-2])[:, None] + PLACE
        distance = np.abs(np.arange(attention_scores.shape[-1]) - rows)
        return attention_scores - slopes_of(attention_scores.shape[1]) * distance
"""
OWN_OFFSET = """
def alibi_bias(num_heads, q_len, k_len, offset=0):
    at = np.arange(q_len)[:, None] + k_len - q_len + PLACE
    return -slopes_of(num_heads) * np.abs(np.arange(k_len) - at)
"""
OF_MASK = """
def build_alibi_tensor(attention_mask, num_heads, dtype):
    batch, k_len = attention_mask.shape
    at = (attention_mask.cumsum(-1) - 1) * attention_mask
    bias = SIGN * slopes_of(num_heads) * at[:, None, None, :]
    return bias.reshape(batch * num_heads, 1, k_len).astype(dtype)
"""
LEARNED = """
import numpy as np

class RelativePositionBias:
    def __init__(self, num_heads, num_buckets=32, max_distance=128, bidirectional=True):
        self.num_buckets, self.max_distance = num_buckets, max_distance
        self.bidirectional = bidirectional
        self.weight = np.zeros((num_buckets, num_heads))

    @staticmethod
    def _relative_position_bucket(relative_position, bidirectional, num_buckets, max_distance):
        first, far = 0 * relative_position, -relative_position
        if bidirectional:
            num_buckets //= 2
            first, far = num_buckets * (relative_position > 0), np.abs(relative_position)
        far = np.maximum(far, 0)
        exact = num_buckets // 2
        steps = np.log(np.maximum(far, 1) / exact) / np.log(max_distance / exact)
        large = np.minimum(exact + (steps * (num_buckets - exact)).astype(int), num_buckets - 1)
        return first + np.where(far < exact, far, large)

    def forward(self, q_len, k_len):
        distance = np.arange(k_len) - np.arange(START, START + q_len)[:, None]
        buckets = self._relative_position_bucket(
            distance, self.bidirectional, self.num_buckets, self.max_distance
        )
        return np.moveaxis(self.weight[buckets], -1, 0)
"""
FORMS = {
    "of_lengths": (SLOPES + OF_LENGTHS, "START", "kv_len - q_len", "0", "alibi"),
    "of_scores": (SLOPES + OF_SCORES, "START", "k_len - q_len", "0", "alibi"),
    "of_offset": (SLOPES + OF_OFFSET, "PLACE", "offset", "0", "alibi"),
    "own_offset": (SLOPES + OWN_OFFSET, "PLACE", "offset", "1", "alibi"),
    "of_mask": (SLOPES + OF_MASK, "SIGN", "1", "-1", "alibi"),
    "learned": (LEARNED, "START", "k_len - q_len", "0", "t5-bias"),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_bias_is_found_and_judged(folder: Path, form: str) -> None:
    source, place, right, wrong, scheme = FORMS[form]
    among = [each for each in schemes() if each.id == scheme]
    for name, code in (("right", right), ("wrong", wrong)):
        path = written(folder, f"{name}_{form}", source.replace(place, code))
        assert "_bias(self" in path.read_text(encoding="utf-8")
        adapter = load_adapter(str(path)).adapter
        failures = failed(judge(adapter, ("smoke", "golden"), examples=1, among=among))
        assert bool(failures) == (name == "wrong")


def test_a_method_beside_a_judged_static_one_is_said_to_be_unjudged(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = LEARNED.replace("def forward(self, q_len, k_len):", "def forward(self, grid):")
    written(folder, "of_grids", source)
    assert "not judged: RelativePositionBias.forward" in capsys.readouterr().out
