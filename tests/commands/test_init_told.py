"""``posenc init`` on calls that are given more than places: a dtype, axes, factors of a rule."""

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
SCALED = """
import numpy as np

class Llama3Rope:
    def __init__(self, head_dim, rope_theta=500000.0, factor=8.0, low_freq_factor=1.0,
                 high_freq_factor=4.0, original_max_position_embeddings=8192):
        freqs = rope_theta ** (-np.arange(0, head_dim, 2) / head_dim)
        turns = original_max_position_embeddings * freqs / (2 * np.pi)
        smooth = (turns - low_freq_factor) / (high_freq_factor - low_freq_factor)
        kept = np.clip(KEPT, 0, 1)
        self.inv_freq = kept * freqs + (1 - kept) * freqs / factor

    def __call__(self, x, positions):
        angles = np.outer(positions, self.inv_freq)
        a, b = np.split(x, 2, -1)
        c, s = np.cos(angles), np.sin(angles)
        return np.concatenate([a * c - b * s, b * c + a * s], -1).astype(x.dtype)
"""
YARN = """
import math
import numpy as np

class YarnRotaryEmbedding:
    def __init__(self, dim, max_position_embeddings=2048, base=10000, scaling_factor=1.0,
                 original_max_position_embeddings=4096, beta_fast=32, beta_slow=1):
        def place(turns):
            turned = original_max_position_embeddings / (turns * 2 * math.pi)
            return dim * math.log(turned) / (2 * math.log(base))
        low, high = max(math.floor(place(beta_fast)), 0), min(math.ceil(place(beta_slow)), dim - 1)
        ramp = (np.arange(dim // 2) - low) / ((high - low) or 0.001)
        kept = KEPT
        freqs = base ** (-np.arange(0, dim, 2) / dim)
        self.inv_freq = kept * freqs + (1 - kept) * freqs / scaling_factor
        self.longer = 0.1 * math.log(scaling_factor) + 1

    def forward(self, x, seq_len):
        angles = np.outer(np.arange(seq_len), self.inv_freq)
        emb = np.concatenate([angles, angles], -1)
        return np.cos(emb) * self.longer, np.sin(emb) * self.longer
APPLY
"""
DYNAMIC = """
import numpy as np

class DynamicNTKRotary:
    def __init__(self, dim, max_position_embeddings=2048, base=10000, scaling_factor=2.0):
        self.dim, self.base, self.longest = dim, base, max_position_embeddings
        self.trained, self.factor = max_position_embeddings, scaling_factor
        self.build(max_position_embeddings)

    def build(self, length):
        grown = self.factor * max(length, self.trained) / self.trained - (self.factor - 1)
        base = self.base * grown ** (self.dim / (self.dim - 2))
        angles = np.outer(np.arange(length), base ** (-np.arange(0, self.dim, 2) / self.dim))
        emb = np.concatenate([angles, angles], -1)
        self.longest, self.cos, self.sin = length, np.cos(emb), np.sin(emb)

    def forward(self, x, seq_len):
        if seq_len <= self.trained < self.longest and RESETS:
            self.build(self.trained)
        if seq_len > self.longest:
            self.build(seq_len)
        return self.cos[:seq_len].astype(x.dtype), self.sin[:seq_len].astype(x.dtype)
APPLY
"""
APPLY = """
def apply_rotary(x, cos, sin):
    a, b = np.split(x, 2, -1)
    return (x * cos + np.concatenate([-b, a], -1) * sin).astype(x.dtype)
"""
OTHER_WAY = "np.where((smooth > 0) & (smooth < 1), 1 - smooth, smooth)"
RAMPS = {
    "llama3": (SCALED, "KEPT", "smooth", OTHER_WAY),
    "yarn": (YARN, "KEPT", "1 - np.clip(ramp, 0, 1)", "np.clip(ramp, 0, 1)"),
    "dynamic-ntk": (DYNAMIC, "RESETS", "True", "False"),
}


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_rows_before_the_batch_are_said_where_no_text_names_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(folder, "silent_rows_first", ROWS_FIRST)
    assert "x is given as [length, 1, dim], since" in capsys.readouterr().out
    written(folder, "silent_batch_first", BATCH_FIRST)
    assert "x is given as" not in capsys.readouterr().out


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("scheme", RAMPS)
def test_a_class_with_factors_is_judged_with_them(folder: Path, scheme: str) -> None:
    source, place, right, wrong = RAMPS[scheme]
    source = source.replace("APPLY", APPLY)
    name = scheme.replace("-", "_")
    path = written(folder, f"right_{name}", source.replace(place, right))
    assert not [each.text for each in failed(judged(path, scheme, "invariant"))]
    assert "It comes nearest to" not in path.read_text(encoding="utf-8")
    path = written(folder, f"wrong_{name}", source.replace(place, wrong))
    assert failed(judged(path, scheme, "invariant", "behaviour"))


def test_a_ramp_that_runs_the_other_way_is_named(folder: Path) -> None:
    path = written(folder, "ramp_of_llama3", SCALED.replace("KEPT", OTHER_WAY))
    assert "smooth factor of 1 where it is 0" in path.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_factor_that_no_scheme_explains_is_said_to_be_unjudged(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = YARN.replace("APPLY", APPLY).replace("KEPT", "np.sin(ramp) / 2")
    written(folder, "odd_ramp", odd)
    assert "NOT JUDGED: scaling_factor: rope fits" in capsys.readouterr().out


def test_a_base_that_grows_in_an_unknown_way_limits_the_positions(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = DYNAMIC.replace("APPLY", APPLY).replace("grown **", "grown ** 3 *").replace("RESETS", "1")
    written(folder, "odd_growth", odd.replace("3 *", "3 + 0 *"))
    assert "NOT JUDGED beyond position 2047: its base grows" in capsys.readouterr().out


NEOX = """
import numpy as np

class RotaryEmbedding:
    def __init__(self, head_size, rotary_dim, max_position_embeddings, base, is_neox_style):
        self.base, self.is_neox_style = base, is_neox_style

    def forward(self, positions, query, key):
        return self.turned(positions, query), self.turned(positions, key)

    def turned(self, positions, x):
        half = x.shape[-1] // 2
        angles = np.outer(positions, self.base ** (-np.arange(half) / half))[:, None]
        a, b = np.split(x, 2, -1) if self.is_neox_style else (x[..., ::2], x[..., 1::2])
        c, s = np.cos(angles), np.sin(angles)
        both = [a * c - b * s, b * c + a * s]
        out = np.concatenate(both, -1) if WHERE else np.stack(both, -1).reshape(x.shape)
        return out.astype(x.dtype)
"""


@pytest.mark.slow
def test_one_of_two_conventions_that_is_wrong_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(folder, "one_of_two", NEOX.replace("WHERE", "True"))
    said = capsys.readouterr().out
    assert "behaves like half (worst" in said
    assert "interleaved, which it takes too, is wrong" in said
    assert failed(judged(path, "rope"))
    written(folder, "two_of_two", NEOX.replace("WHERE", "self.is_neox_style"))
    assert "behaves like interleaved and half (worst" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("omega", "is_said"),
    [
        ("10000.0 ** (-np.arange(0, d, 2) / (2 * d))", True),
        ("10000.0 ** (-np.arange(0, d, 2) / d)", False),
        ("base ** (-np.arange(0, d, 2) / d)", False),
    ],
    ids=["halved", "usual", "named"],
)
def test_a_base_that_the_code_does_not_name_is_told(
    omega: str, is_said: bool, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = (
        "import numpy as np\n\ndef rope(x, positions, base=100.0):\n"
        f"    d = x.shape[-1]\n    a = np.outer(positions, {omega})\n"
        "    u, v = np.split(x, 2, -1)\n    cos, sin = np.cos(a), np.sin(a)\n"
        "    return np.concatenate([u * cos - v * sin, v * cos + u * sin], -1).astype(x.dtype)\n"
    )
    source = source if "base **" in omega else source.replace(", base=100.0", "")
    written(folder, f"hidden_base_{len(omega)}", source)
    assert ("with the base 100; the usual one is 10000" in capsys.readouterr().out) == is_said
