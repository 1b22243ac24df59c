"""``posenc init`` on code of which it once missed a part: each part is claimed, right or wrong."""

import warnings
from dataclasses import dataclass
from pathlib import Path

import pytest

from posenc_conformance.adapters.find import load_adapter
from posenc_lab.judging import failed, judge, schemes
from tests.commands.initialised import written

pytestmark = pytest.mark.remembered(shipped=True)
PARTIAL = """
import numpy as np

def half_turned(x):
    n = x.shape[-1] // 2
    return np.concatenate([-x[..., n:], x[..., :n]], -1)

class NeoXRotary:
    def __init__(self, head_size, rotary_dim, base=10000):
        self.width = rotary_dim
        self.inv_freq = base ** (-np.arange(0, self.width, 2) / self.width)

    def forward(self, query, key, position_ids):
        angles = np.tile(position_ids[:, None, :, None] * self.inv_freq, 2)
        return self.turned(query, angles), self.turned(key, angles)

    def turned(self, x, angles):
        first, rest = x[..., : self.width], x[..., self.width :]
        first = first * np.cos(angles) + half_turned(first) * np.sin(angles)
        return np.concatenate([first, rest], -1).astype(x.dtype)
"""
BY_SHARE = PARTIAL.replace("head_size, rotary_dim", "head_size=64, rotary_pct=0.25").replace(
    "= rotary_dim", "= int(head_size * rotary_pct)"
)
BY_FUNCTION = """
import numpy as np

def apply_rope(x, positions, rotary_dim=None, base=10000.0):
    width = rotary_dim or x.shape[-1]
    angles = np.outer(positions, base ** (-np.arange(0, width, 2) / width))
    cos, sin = np.cos(angles), np.sin(angles)
    first, second = x[..., : width // 2], x[..., width // 2 : width]
    turned = [first * cos - second * sin, second * cos + first * sin, x[..., width:]]
    return np.concatenate(turned, -1).astype(x.dtype)
"""
MASKS = """
import numpy as np

def causal_mask(q_len, k_len):
    return np.arange(k_len - q_len, k_len)[:, None] >= np.arange(k_len)

def chunked_mask(q_len, k_len, chunk_size):
    query, key = np.arange(k_len - q_len, k_len)[:, None], np.arange(k_len)
    return (key <= query) & (query // chunk_size == key // chunk_size)
"""
DILATED = """
import numpy as np

def dilated_attention_mask(q_len, kv_len, window, dilation):
    far = np.arange(kv_len - q_len, kv_len)[:, None] - np.arange(kv_len)
    return (far >= 0) & (far <= window * dilation) & (far % dilation == 0)
"""
STRIDED = """
import numpy as np

def make_strided_mask(n, stride):
    far = np.arange(n)[:, None] - np.arange(n)
    return np.where((far >= 0) & ((far < stride) | (far % stride == 0)), 0.0, -np.inf)
"""
BUCKETS = """
import numpy as np

def relative_position_bucket(far, bidirectional=True, num_buckets=32, max_distance=128):
    first = 0
    if bidirectional:
        num_buckets //= 2
        first, far = num_buckets * (far > 0), -np.abs(far)
    far, exact = np.maximum(-far, 0), num_buckets // 2
    steps = np.log(np.maximum(far, 1) / exact) / np.log(max_distance / exact)
    large = np.minimum(exact + (steps * (num_buckets - exact)).astype(int), num_buckets - 1)
    return first + np.where(far < exact, far, large)
"""
T5_CLASS = (
    BUCKETS
    + """
class T5Attention:
    def __init__(self, n_heads, num_buckets=32, max_distance=128, is_decoder=False):
        self.sizes, self.is_decoder = (num_buckets, max_distance), is_decoder
        self.relative_attention_bias = np.zeros((num_buckets, n_heads), np.float32)

    def compute_bias(self, query_length, key_length):
        far = np.arange(key_length) - np.arange(query_length)[:, None]
        buckets = relative_position_bucket(far, not self.is_decoder, *self.sizes)
        return self.relative_attention_bias[buckets].transpose(2, 0, 1)[None]
"""
)
T5_FUNCTION = (
    BUCKETS
    + """
def compute_bias(table, q_len, k_len, bidirectional=True, num_buckets=32, max_distance=128):
    far = np.arange(k_len) - np.arange(k_len - q_len, k_len)[:, None]
    buckets = relative_position_bucket(far, bidirectional, num_buckets, max_distance)
    return table[buckets].transpose(2, 0, 1)
"""
)
SLOPES = """
import numpy as np

HEAD = 1

def get_slopes(n):
    few = 2 ** int(np.log2(n))
    first = 2.0 ** (-8 * np.arange(HEAD, few + HEAD) / few)
    rest = 2.0 ** (-4 * np.arange(HEAD, 2 * few + HEAD) / few)
    return np.concatenate([first, rest[::2][: n - few]])

def alibi_mask(n_heads, seq_len):
    far = np.arange(seq_len)[:, None] - np.arange(seq_len)
    bias = -get_slopes(n_heads)[:, None, None] * far
    return np.where(far < 0, -np.inf, bias)
"""
GRIDS = """
import numpy as np

def get_2d_sincos_pos_embed(embed_dim, grid_size, cls_token=False):
    grid = np.stack(np.meshgrid(np.arange(grid_size), np.arange(grid_size)))
    first, second = (of_axis(embed_dim // 2, grid[axis]) for axis in (0, 1))
    return np.concatenate([first, second], axis=1)

def of_axis(dim, places):
    omega = 1.0 / 10000 ** (np.arange(dim // 2) / (dim / 2.0))
    angles = np.outer(places.reshape(-1), omega)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
"""
IDS = """
import numpy as np

def create_position_ids_from_input_ids(input_ids, padding_idx):
    mask = (input_ids != padding_idx).astype(int)
    return np.cumsum(mask, axis=1) * mask + padding_idx
"""
IDS_WITH_CACHE = IDS.replace("padding_idx):", "padding_idx, past_key_values_length=0):").replace(
    "np.cumsum(mask, axis=1)", "(np.cumsum(mask, axis=1) + past_key_values_length)"
)
WRONG_PART = "partial rotation is wrong; it is claimed"


@dataclass(frozen=True)
class Case:
    """Right code, and what makes it wrong."""

    source: str
    before: str
    after: str
    scheme: str
    call: str
    says: str
    """What the adapter says of the wrong one."""

    @property
    def wrong(self) -> str:
        """The wrong code."""
        assert self.before in self.source
        return self.source.replace(self.before, self.after)


CASES = {
    "part_by_size": Case(PARTIAL, "2) / self.width", "2) / head_size", "rope", "rope", WRONG_PART),
    "part_by_share": Case(
        BY_SHARE, "2) / self.width", "2) / head_size", "rope", "rope", WRONG_PART
    ),
    "part_by_function": Case(
        BY_FUNCTION, "2) / width", "2) / x.shape[-1]", "rope", "rope", WRONG_PART
    ),
    "chunks": Case(
        MASKS, "(key <= query) & ", "", "chunked", "chunked_mask", "the same keys after the query"
    ),
    "chunks_of_rows": Case(
        MASKS,
        "(query // chunk",
        "((query - k_len + q_len) // chunk",
        "chunked",
        "chunked_mask",
        "chunks of the queries that are counted from the first query of the call",
    ),
    "dilated": Case(
        DILATED, "window * dilation", "window", "dilated-window", "dilated_window", "nearest to"
    ),
    "strided": Case(STRIDED, "stride == 0", "stride == 1", "strided", "strided_mask", "nearest to"),
    "t5_class": Case(
        T5_CLASS, "(far, not", "(-far, not", "t5-bias", "t5_bias", "of the opposite sign"
    ),
    "t5_function": Case(
        T5_FUNCTION,
        "(far, bidirectional, ",
        "(-far, bidirectional, ",
        "t5-bias",
        "t5_bias",
        "of the opposite sign",
    ),
    "slopes_from_zero": Case(
        SLOPES, "HEAD = 1", "HEAD = 0", "alibi", "alibi_bias", "heads counted from h = 0"
    ),
    "slopes_in_order": Case(
        SLOPES, "::2]", ":]", "alibi", "alibi_slopes", "not every second one, for those beyond"
    ),
    "grid": Case(GRIDS, "(0, 1)", "(0, 0)", "sincos-2d", "sincos_2d", "the column in both halves"),
    "ids": Case(IDS, " * mask", "", "position-ids", "fairseq_position_ids", "a running count"),
    "ids_with_cache": Case(
        IDS_WITH_CACHE, " * mask", "", "position-ids", "token_position_ids", "nearest to"
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_wrong_part_is_claimed_as_the_nearest(folder: Path, name: str) -> None:
    case = CASES[name]
    path = written(folder, f"wrong_{name}", case.wrong)
    text = path.read_text(encoding="utf-8")
    assert f"def {case.call}(" in text
    assert case.says in text


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_wrong_part_fails(folder: Path, name: str) -> None:
    assert fails(written(folder, f"failing_{name}", CASES[name].wrong), CASES[name])


@pytest.mark.parametrize("name", CASES)
def test_the_right_part_is_claimed_and_passes(folder: Path, name: str) -> None:
    case = CASES[name]
    path = written(folder, f"right_{name}", case.source)
    text = path.read_text(encoding="utf-8")
    assert f"def {case.call}(" in text
    assert case.says not in text
    assert ('rotation="partial"' in text) == (case.says == WRONG_PART)
    assert not fails(path, case)


def fails(path: Path, case: Case) -> bool:
    """Return whether a golden of the adapter fails."""
    among = [each for each in schemes() if each.id == case.scheme]
    adapter = load_adapter(str(path)).adapter
    return bool(failed(judge(adapter, ("smoke", "golden"), examples=1, among=among)))


@pytest.mark.parametrize("call", ["chunked_mask", "clipped_bias", "relative_shift"])
def test_a_function_named_like_a_call_is_listed(
    folder: Path, call: str, capsys: pytest.CaptureFixture[str]
) -> None:
    grouped = f"\ndef {call}(groups):\n    return np.eye(len(groups), dtype=bool)\n"
    written(folder, f"groups_of_{call}", MASKS.partition("def chunked")[0] + grouped)
    assert f"no way tried to call it fits a scheme: {call}" in capsys.readouterr().out


def test_a_part_that_cannot_be_asked_for_is_said(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = "self.width = rotary_dim\n        assert rotary_dim == head_size"
    written(folder, "whole_heads", PARTIAL.replace("self.width = rotary_dim", whole))
    assert "NOT JUDGED: a rotated part of each head" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["slopes_from_zero", "t5_class", "grid"])
def test_nothing_is_printed_beside_the_findings(
    folder: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        written(folder, f"quiet_{name}", CASES[name].wrong)
    assert not capsys.readouterr().err


def test_a_bias_that_cannot_be_called_is_listed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    held = (
        "    relative_position_bucket = staticmethod(relative_position_bucket)\n\n    def compute"
    )
    source = T5_CLASS.replace("    def compute", held).replace("key_length):", "key_length, grid):")
    written(folder, "bias_of_grids", source)
    said = capsys.readouterr().out
    assert "t5_bucket: " in said
    assert "T5Attention" in next(line for line in said.splitlines() if "not judged" in line)
