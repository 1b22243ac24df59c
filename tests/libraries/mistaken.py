"""Libraries as people write them, each right as it stands and wrong by one replacement."""

from collections.abc import Sequence
from dataclasses import dataclass

TABLES = """
import numpy as np

class RotaryEmbedding:
    def __init__(self, dim, base=10000.0):
        self.inv_freq = base ** (-np.arange(0, dim, 2) / dim)

    def __call__(self, positions):
        freqs = np.outer(positions, self.inv_freq)
        emb = np.concatenate([freqs, freqs], -1)
        return np.cos(emb), np.sin(emb)

def rotate_half(x):
    a, b = np.split(x, 2, -1)
    return np.concatenate([-b, a], -1)

def apply_rotary_pos_emb(q, k, cos, sin):
    q_embed = q * cos + rotate_half(q) * sin
    k_embed = k * cos + rotate_half(k) * sin
    return q_embed.astype(q.dtype), k_embed.astype(k.dtype)
"""
"""A class that makes tables, and a function that applies them."""

COMPLEX = """
import numpy as np

def precompute_freqs_cis(dim, end, theta=10000.0):
    freqs = 1.0 / theta ** (np.arange(0, dim, 2)[: dim // 2] / dim)
    t = np.arange(end)
    return np.exp(1j * np.outer(t, freqs))

def apply_rotary_emb(xq, xk, freqs_cis):
    def turned(x):
        pairs = x.astype(np.float64).reshape(*x.shape[:-1], -1, 2)
        out = (pairs[..., 0] + 1j * pairs[..., 1]) * freqs_cis[:, None, :]
        return np.stack([out.real, out.imag], -1).reshape(x.shape).astype(x.dtype)
    return turned(xq), turned(xk)
"""

OFFSET = """
import numpy as np

class RotaryEmbedding:
    def __init__(self, dim, base=10000.0, max_len=512):
        angles = np.outer(np.arange(max_len), base ** (-np.arange(0, dim, 2) / dim))
        self.cos, self.sin = np.cos(angles), np.sin(angles)

    def __call__(self, x, start_pos=0):
        rows = np.arange(start_pos, start_pos + x.shape[-2])
        cos, sin = self.cos[rows], self.sin[rows]
        a, b = x[..., ::2], x[..., 1::2]
        out = np.empty_like(x)
        out[..., ::2], out[..., 1::2] = a * cos - b * sin, a * sin + b * cos
        return out
"""

PLACES = """
import numpy as np

class RotaryPositionalEmbeddings:
    def __init__(self, dim, max_seq_len=4096, base=10_000):
        angles = np.outer(np.arange(max_seq_len), base ** (-np.arange(0, dim, 2) / dim))
        self.cache = np.stack([np.cos(angles), np.sin(angles)], -1)

    def __call__(self, x, *, input_pos=None):
        rows = self.cache[: x.shape[1]] if input_pos is None else self.cache[input_pos]
        cos, sin = rows[:, None, :, 0], rows[:, None, :, 1]
        a, b = x[..., ::2], x[..., 1::2]
        return np.stack([a * cos - b * sin, b * cos + a * sin], -1).reshape(x.shape).astype(x.dtype)
"""

FUNCTION = """
import numpy as np

def apply_rope(x, positions, base=10000.0):
    half = x.shape[-1] // 2
    freqs = base ** (-np.arange(half) / half)
    angles = np.outer(positions, freqs)
    cos, sin = np.cos(angles), np.sin(angles)
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], -1).astype(x.dtype)
"""

BOTH = f"""{FUNCTION.replace("apply_rope", "turned")}

def apply_rotary(q, k, positions=None, base=10000.0):
    positions = np.arange(q.shape[-2]) if positions is None else positions
    return turned(q, positions, base), turned(k, positions, base)
"""

SINES_FIRST = """
import numpy as np

def rope_tables(dim, max_len, base=10000.0):
    angles = np.outer(np.arange(max_len), base ** (-np.arange(0, dim, 2) / dim))
    return np.sin(angles), np.cos(angles)

def apply_rotary_emb(x, sin, cos):
    a, b = np.split(x, 2, -1)
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1).astype(x.dtype)
"""

ADDED = """
import numpy as np

class PositionalEncoding:
    def __init__(self, d_model, max_len=5000):
        angles = np.outer(np.arange(max_len), 10000.0 ** (-np.arange(0, d_model, 2) / d_model))
        pe = np.zeros((max_len, d_model), np.float32)
        pe[:, 0::2], pe[:, 1::2] = np.sin(angles), np.cos(angles)
        self.pe = pe

    def __call__(self, x, position_ids=None):
        rows = self.pe[: x.shape[1]] if position_ids is None else self.pe[position_ids]
        return x + rows
"""

DOCUMENTED = TABLES.replace("(self, positions):", '(self, positions):\n        """(sin, cos)"""')


@dataclass(frozen=True)
class Mistake:
    """A library of which one part is replaced by a wrong one."""

    name: str
    right: str
    old: str
    new: str
    says: str
    """Words for the mistake that ``posenc init`` must have."""

    @property
    def source(self) -> str:
        """The text of the wrong library."""
        assert self.old in self.right
        return self.right.replace(self.old, self.new)


RIGHT = {
    "tables": TABLES,
    "complex": COMPLEX,
    "offset": OFFSET,
    "places": PLACES,
    "function": FUNCTION,
    "both": BOTH,
    "sines_first": SINES_FIRST,
    "added": ADDED,
    "documented": DOCUMENTED.replace("np.cos(emb), np.sin(emb)", "np.sin(emb), np.cos(emb)"),
    "returns_float64": FUNCTION.replace(".astype(x.dtype)", ""),
    "two_makers": TABLES
    + """
class LinearScalingRotaryEmbedding(RotaryEmbedding):
    def __call__(self, positions, scaling_factor=4.0):
        return super().__call__(np.asarray(positions) / scaling_factor)
""",
    "ntk_beside": TABLES
    + """
class NTKRotaryEmbedding(RotaryEmbedding):
    def __init__(self, dim, base=10000.0, alpha=8.0):
        super().__init__(dim, base * alpha ** (dim / (dim - 2)))
""",
    "backward_beside": FUNCTION
    + """
def apply_rope_backward(x, positions, base=10000.0):
    return apply_rope(x, -np.asarray(positions), base)
""",
}
ANGLES = "angles = np.outer(positions, freqs)"
PAIR = "a * sin + b * cos]"
MISTAKES: Sequence[Mistake] = (
    Mistake("tables_base", TABLES, "= base **", "= 500000.0 **", "base 500000"),
    Mistake("tables_exponent", TABLES, "np.arange(0, dim, 2)", "np.arange(dim // 2)", "t/d"),
    Mistake(
        "tables_degrees",
        TABLES,
        "np.cos(emb), np.sin(emb)",
        "np.cos(np.rad2deg(emb)), np.sin(np.rad2deg(emb))",
        "degrees",
    ),
    Mistake(
        "tables_from_1",
        TABLES,
        "np.outer(positions,",
        "np.outer(np.asarray(positions) + 1,",
        "shifted by +1",
    ),
    Mistake(
        "tables_mixed",
        TABLES,
        "np.concatenate([freqs, freqs], -1)",
        "np.repeat(freqs, 2, -1)",
        "repeated for neighbours",
    ),
    Mistake(
        "tables_exchanged",
        TABLES,
        "np.cos(emb), np.sin(emb)",
        "np.sin(emb), np.cos(emb)",
        "cos and sin are exchanged",
    ),
    Mistake(
        "tables_of_sines",
        SINES_FIRST,
        "np.sin(angles), np.cos(angles)",
        "np.cos(angles), np.sin(angles)",
        "cos and sin are exchanged",
    ),
    Mistake("complex_base", COMPLEX, "/ theta **", "/ 500000.0 **", "base 500000"),
    Mistake("complex_exponent", COMPLEX, "np.arange(0, dim, 2)", "np.arange(dim // 2)", "t/d"),
    Mistake("complex_from_1", COMPLEX, "np.arange(end)", "np.arange(1, end + 1)", "shifted by +1"),
    Mistake("complex_conjugate", COMPLEX, "exp(1j *", "exp(-1j *", "opposite sign"),
    Mistake(
        "offset_ignored",
        OFFSET,
        "np.arange(start_pos, start_pos + x.shape[-2])",
        "np.arange(x.shape[-2])",
        "restart at 0",
    ),
    Mistake("offset_moved", OFFSET, "rows = np", "rows = 1 + np", "shifted by +1"),
    Mistake(
        "place_ignored",
        PLACES,
        "if input_pos is None else self.cache[input_pos]",
        "",
        "rows stand at 0, 1, 2",
    ),
    Mistake(
        "place_moved", PLACES, "self.cache[input_pos]", "self.cache[input_pos + 1]", "shifted by +1"
    ),
    Mistake(
        "added_place_ignored",
        ADDED,
        " if position_ids is None else self.pe[position_ids]",
        "",
        "rows stand at 0, 1, 2",
    ),
    Mistake("added_place_moved", ADDED, "self.pe[position_ids]", "self.pe[1:][position_ids]", "+1"),
    Mistake("later", FUNCTION, ANGLES, "angles = np.outer(positions + 1, freqs)", "shifted by +1"),
    Mistake(
        "squared",
        FUNCTION,
        ANGLES,
        "angles = np.outer(positions**2, freqs)",
        "square of its position",
    ),
    Mistake("one_sign", FUNCTION, PAIR, "b * cos - a * sin]", "minus sign stands twice"),
    Mistake(
        "reversed", FUNCTION, ANGLES, "angles = np.outer(positions, freqs[::-1])", "2(d/2-1-t)/d"
    ),
    Mistake("exchanged", FUNCTION, "cos, sin =", "sin, cos =", "cos and sin are exchanged"),
    Mistake(
        "faster", FUNCTION, ANGLES, "angles = np.outer(positions, 2 * freqs)", "2·base^(-2t/d)"
    ),
    Mistake(
        "shorter", FUNCTION, f"{PAIR}, -1)", f"{PAIR}, -1) / np.sqrt(2)", "0.707107 times as long"
    ),
    Mistake(
        "both_ignored", BOTH, " if positions is None else positions", "", "rows stand at 0, 1, 2"
    ),
    Mistake("both_later", BOTH, ANGLES, "angles = np.outer(positions + 1, freqs)", "shifted by +1"),
    Mistake(
        "both_reversed", BOTH, ANGLES, "angles = np.outer(positions, freqs[::-1])", "2(d/2-1-t)/d"
    ),
)
"""Mistakes that are to be claimed with their names, or with what is read."""

CLAMPED = OFFSET.replace(
    "rows = np.arange(start_pos, start_pos + x.shape[-2])",
    "rows = np.minimum(np.arange(start_pos, start_pos + x.shape[-2]), len(self.cos) - 1)",
)
"""A table that ends without a word."""

ODD_MAKER = TABLES.replace("np.cos(emb), np.sin(emb)", "np.exp(-emb), np.tanh(emb) ** 2")
"""A maker of tables whose mistake nothing explains, beside a right applying function."""
ODD_PLACE = PLACES.replace("self.cache[input_pos]", "self.cache[input_pos.row]")
"""A rotation whose place is of a type of the library's own."""
