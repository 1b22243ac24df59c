"""Right ones in the styles that are found: name, source, and what must be claimed of each."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Library:
    name: str
    source: str
    call: str
    combination: str
    parameters: dict[str, Any] = field(default_factory=dict)
    """Restrictions that the claim must have, and no others but head_dim and dim."""
    dtypes: tuple[str, ...] = ("float32",)
    max_position: int = 131_071


EVERY_FLOAT = ("float64", "float32", "bfloat16", "float16")

NUMPY_FUNCTION = """
import numpy as np

def apply_rope(x, positions, theta=10000.0):
    half = x.shape[-1] // 2
    angles = np.outer(positions, theta ** (-np.arange(half) / half))
    a, b = x[..., :half].astype(float), x[..., half:].astype(float)
    c, s = np.cos(angles), np.sin(angles)
    return np.concatenate([a * c - b * s, b * c + a * s], -1).astype(x.dtype)
"""

TORCH_FUNCTION = """
import torch

def rotary(q, position_ids, base=10000.0):
    d = q.shape[-1]
    omega = base ** (-torch.arange(0, d, 2).float() / d)
    angles = position_ids[:, None].float() * omega
    a, b = q[..., 0::2].float(), q[..., 1::2].float()
    c, s = angles.cos(), angles.sin()
    return torch.stack([a * c - b * s, b * c + a * s], -1).flatten(-2).to(q.dtype)
"""

WITH_CACHE = """
import numpy as np

def apply_rope(q, k, start_pos=0, base=10000.0):
    half = q.shape[-1] // 2
    positions = start_pos + np.arange(q.shape[-2])
    angles = np.outer(positions, base ** (-np.arange(half) / half))
    c, s = np.cos(angles), np.sin(angles)
    def turned(x):
        a, b = x[..., :half].astype(float), x[..., half:].astype(float)
        return np.concatenate([a * c - b * s, b * c + a * s], -1).astype(x.dtype)
    return turned(q), turned(k)
"""

MODULE_WITH_CACHE = """
import torch
from torch import nn

class RotaryEmbedding(nn.Module):
    def __init__(self, dim, base=10000.0):
        super().__init__()
        self.register_buffer("inv_freq", base ** (-torch.arange(0, dim, 2).double() / dim))

    def forward(self, x, offset=0):
        positions = torch.arange(offset, offset + x.shape[-2])
        angles = positions[:, None] * self.inv_freq
        a, b = x.double().chunk(2, -1)
        c, s = angles.cos(), angles.sin()
        return torch.cat([a * c - b * s, b * c + a * s], -1).to(x.dtype)
"""

LLAMA_STYLE = """
import torch
from torch import nn

class RotaryEmbedding(nn.Module):
    def __init__(self, dim, max_position_embeddings=2048, base=10000):
        super().__init__()
        inv_freq = 1.0 / base ** (torch.arange(0, dim, 2).float() / dim)
        angles = torch.outer(torch.arange(max_position_embeddings).float(), inv_freq)
        emb = torch.cat([angles, angles], -1)
        self.register_buffer("cos_cached", emb.cos())
        self.register_buffer("sin_cached", emb.sin())

    def forward(self, x, seq_len=None):
        return self.cos_cached[:seq_len].to(x.dtype), self.sin_cached[:seq_len].to(x.dtype)

def rotate_half(x):
    a, b = x.chunk(2, -1)
    return torch.cat([-b, a], -1)

def apply_rotary_pos_emb(q, k, cos, sin, position_ids):
    cos, sin = cos[position_ids][:, None], sin[position_ids][:, None]
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
"""

COS_AND_SIN = """
import torch
from torch import nn

class RotaryEmbedding(nn.Module):
    def __init__(self, dim, theta=10000.0):
        super().__init__()
        self.register_buffer("inv_freq", theta ** (-torch.arange(0, dim, 2).float() / dim))

    def forward(self, x, position_ids):
        angles = position_ids[..., None].float() * self.inv_freq
        emb = torch.cat([angles, angles], -1)
        return emb.cos().to(x.dtype), emb.sin().to(x.dtype)

def apply_rotary_pos_emb(q, k, cos, sin, unsqueeze_dim=1):
    cos, sin = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)
    def turn(x):
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat([-b, a], -1) * sin
    return turn(q), turn(k)
"""

FREQS_CIS = """
import torch

def precompute_freqs_cis(dim, end, theta=10000.0):
    freqs = 1.0 / theta ** (torch.arange(0, dim, 2).float() / dim)
    angles = torch.outer(torch.arange(end).float(), freqs)
    return torch.polar(torch.ones_like(angles), angles)

def apply_rotary_emb(xq, xk, freqs_cis):
    def turn(x):
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * freqs_cis[None, :, None]).flatten(-2).type_as(x)
    return turn(xq), turn(xk)
"""

GPT_J_STYLE = """
import torch

def fixed_pos_embedding(dim, seq_len):
    inv_freq = 1.0 / 10000 ** (torch.arange(0, dim, 2).float() / dim)
    angles = torch.outer(torch.arange(seq_len).float(), inv_freq)
    return angles.sin(), angles.cos()

def rotate_every_two(x):
    return torch.stack([-x[..., 1::2], x[..., 0::2]], -1).flatten(-2)

def apply_rotary_pos_emb(x, sin, cos):
    sin, cos = (t.repeat_interleave(2, -1)[None, :, None] for t in (sin, cos))
    return x * cos + rotate_every_two(x) * sin
"""

NO_POSITIONS = """
import torch
from torch import nn

class Rope(nn.Module):
    def __init__(self, d, base=10000):
        super().__init__()
        self.omega = base ** (-torch.arange(0, d, 2).float() / d)

    def forward(self, x):  # [batch, sequence, heads, d]
        angles = torch.outer(torch.arange(x.shape[1]).float(), self.omega)[:, None]
        angles = torch.cat([angles, angles], -1)
        a, b = x.chunk(2, -1)
        return (x * angles.cos() + torch.cat([-b, a], -1) * angles.sin()).to(x.dtype)
"""

SINUSOID_BUFFER = """
import torch
from torch import nn

class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.1, max_len=5000):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        position = torch.arange(max_len)[:, None].float()
        div = 10000 ** (-torch.arange(0, d_model, 2).float() / d_model)
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div)
        pe[:, 0, 1::2] = torch.cos(position * div)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return self.dropout(x + self.pe[: x.size(0)])
"""

SINUSOID_FIXED_LENGTH = """
import numpy as np

_ROWS = np.arange(1000)[:, None]

def sinusoidal_encoding(positions, dim):
    omega = 10000.0 ** (-np.arange(dim // 2) / (dim // 2))
    table = np.concatenate([np.sin(_ROWS * omega), np.cos(_ROWS * omega)], -1)
    return table[positions].astype(np.float32)
"""

SINUSOID_WHISPER = """
import numpy as np

def sinusoids(length, channels, max_timescale=10000):
    assert channels % 2 == 0
    step = np.log(max_timescale) / (channels // 2 - 1)
    angles = np.arange(length)[:, None] * np.exp(-step * np.arange(channels // 2))
    return np.concatenate([np.sin(angles), np.cos(angles)], 1)
"""

TIMESTEPS = """
import torch

def timestep_embedding(timesteps, dim, max_period=10000):
    half = dim // 2
    freqs = max_period ** (-torch.arange(half).float() / half)
    args = timesteps[:, None].float() * freqs[None]
    out = torch.cat([args.cos(), args.sin()], -1)
    return torch.cat([out, torch.zeros_like(out[:, :1])], -1) if dim % 2 else out
"""

ALIBI_SLOPES = """
import math

def get_alibi_slopes(n_heads):
    def power_of_2(n):
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start ** (i + 1) for i in range(n)]
    below = 2 ** math.floor(math.log2(n_heads))
    return power_of_2(below) + power_of_2(2 * below)[0::2][: n_heads - below]
"""

ALIBI_BIAS = """
import numpy as np

def build_alibi_bias(num_heads, seq_len):
    below = 2 ** int(np.log2(num_heads))
    slopes = [2.0 ** (-8 * (h + 1) / below) for h in range(below)]
    slopes += [2.0 ** (-4 * (2 * h + 1) / below) for h in range(num_heads - below)]
    place = np.arange(seq_len)
    return -np.array(slopes)[:, None, None] * np.abs(place - place[:, None])
"""

SINUSOID_WITH_OFFSET = """
import math
import torch

class SinusoidalPositionalEncoding(torch.nn.Module):
    def __init__(self, dim, max_len=5000):
        super().__init__()
        omega = torch.exp(torch.arange(0, dim, 2).float() * -(math.log(10000.0) / dim))
        angles = torch.arange(max_len).float()[:, None] * omega
        pe = torch.zeros(max_len, dim)
        pe[:, 0::2], pe[:, 1::2] = angles.sin(), angles.cos()
        self.register_buffer("pe", pe)

    def forward(self, x, offset=0):
        return x + self.pe[offset : offset + x.shape[1]]
"""

T5_BIAS = """
import math
import torch

def t5_bias(table, q_len, k_len, max_distance=128):
    half = table.shape[0] // 2
    exact = half // 2
    place = torch.arange(k_len)[None] - torch.arange(k_len - q_len, k_len)[:, None]
    distance = place.abs()
    log = torch.log(distance.clamp(min=1).float() / exact) / math.log(max_distance / exact)
    far = (exact + (log * (half - exact)).long()).clamp(max=half - 1)
    bucket = (place > 0) * half + torch.where(distance < exact, distance, far)
    return table[bucket].permute(2, 0, 1)
"""

T5_BUCKET = """
import math
import torch

def relative_position_bucket(relative_position, bidirectional=True, num_buckets=32,
                             max_distance=128):
    buckets = torch.zeros_like(relative_position)
    if bidirectional:
        num_buckets //= 2
        buckets += (relative_position > 0) * num_buckets
        distance = relative_position.abs()
    else:
        distance = -torch.clamp(relative_position, max=0)
    exact = num_buckets // 2
    log = torch.log(distance.clamp(min=1).float() / exact) / math.log(max_distance / exact)
    far = (exact + (log * (num_buckets - exact)).long()).clamp(max=num_buckets - 1)
    return buckets + torch.where(distance < exact, distance, far)
"""

GRID = """
import numpy as np

def posemb_sincos_2d(h, w, dim, temperature=10000.0):
    y, x = np.mgrid[:h, :w]
    omega = temperature ** -(np.arange(dim // 4) / (dim // 4 - 1))
    y, x = y.reshape(-1, 1) * omega, x.reshape(-1, 1) * omega
    return np.concatenate([np.sin(x), np.cos(x), np.sin(y), np.cos(y)], 1)
"""

SLOPES_OF_N = (
    ALIBI_SLOPES.replace("n_heads", "n")
    .replace("power_of_2(n)", "power_of_2(m)")
    .replace("log2(n) - 3))", "log2(m) - 3))")
    .replace("in range(n)]", "in range(m)]")
)

WINDOW_MASK = """
import numpy as np

def make_window_mask(q_len, k_len, window):
    at, key = np.arange(k_len - q_len, k_len)[:, None], np.arange(k_len)
    return (key <= at) & (key > at - window)
"""

ADDITIVE_MASK = """
import numpy as np

def sliding_window_mask(seq_len, window):
    distance = np.arange(seq_len)[:, None] - np.arange(seq_len)
    return np.where((distance >= 0) & (distance <= window), 0.0, -np.inf)
"""

CAUSAL_MASK = """
import numpy as np

def causal_mask(size):
    return np.triu(np.ones((1, 1, size, size), bool), 1)
"""

STORED_TABLE = """
import numpy as np

class PositionalEncoding:
    def __init__(self, d_model, max_len=5000):
        angles = np.arange(max_len)[:, None] * 10000.0 ** (-np.arange(0, d_model, 2) / d_model)
        self.sines_and_cosines = np.empty((1, max_len, d_model), np.float32)
        self.sines_and_cosines[0, :, 0::2] = np.sin(angles)
        self.sines_and_cosines[0, :, 1::2] = np.cos(angles)[:, : d_model // 2]
"""

STORED_TABLE_OF_FIXED_LENGTH = STORED_TABLE.replace("d_model, max_len=5000", "d_model").replace(
    "max_len", "3000"
)

SQUARES = 2047
HALVES = ("float32", "bfloat16", "float16")
LIBRARIES = (
    Library("numpy_rope", NUMPY_FUNCTION, "rope", "half", {}, EVERY_FLOAT),
    Library("torch_rope", TORCH_FUNCTION, "rope", "interleaved", {}, HALVES),
    Library("llama_style", LLAMA_STYLE, "rope", "half", {}, max_position=2047),
    Library("cos_and_sin", COS_AND_SIN, "rope", "half", {}),
    Library("freqs_cis", FREQS_CIS, "rope", "interleaved", {}, HALVES),
    Library("gpt_j_style", GPT_J_STYLE, "rope", "interleaved", {"base": (10000.0,)}),
    Library("with_cache", WITH_CACHE, "rope", "half", {}, EVERY_FLOAT),
    Library("module_with_cache", MODULE_WITH_CACHE, "rope", "half", {}, HALVES),
    Library("no_positions", NO_POSITIONS, "rope", "half", {}, HALVES, 4095),
    Library(
        "sinusoid_buffer",
        SINUSOID_BUFFER,
        "sinusoidal",
        "paper",
        {"base": (10000.0,)},
        max_position=4999,
    ),
    Library(
        "sinusoid_fixed_length",
        SINUSOID_FIXED_LENGTH,
        "sinusoidal",
        "concat",
        {"base": (10000.0,)},
        max_position=999,
    ),
    Library("sinusoid_whisper", SINUSOID_WHISPER, "sinusoidal", "whisper", {}, ("float64",)),
    Library("timesteps", TIMESTEPS, "timestep", "adm", {"scale": (1.0,)}),
    Library("slopes", ALIBI_SLOPES, "alibi_slopes", "interpolated", {}, ("float64",)),
    Library("alibi", ALIBI_BIAS, "alibi_bias", "symmetric", {}, ("float64",), SQUARES),
    Library(
        "sinusoid_with_offset",
        SINUSOID_WITH_OFFSET,
        "sinusoidal",
        "paper",
        {"base": (10000.0,)},
        max_position=4999,
    ),
    Library("t5_of_table", T5_BIAS, "t5_bias", "bidirectional", {}, ("float32", "bfloat16")),
    Library("t5", T5_BUCKET, "t5_bucket", "bidirectional", {}, ("integer",)),
    Library("slopes_of_n", SLOPES_OF_N, "alibi_slopes", "interpolated", {}, ("float64",)),
    Library("window_mask", WINDOW_MASK, "sliding_window", "window-keys", {}, ("boolean",)),
    Library(
        "additive_mask",
        ADDITIVE_MASK,
        "sliding_window",
        "window-before",
        {},
        ("boolean",),
        SQUARES,
    ),
    Library("causal_mask", CAUSAL_MASK, "causal_mask", "end", {}, ("boolean",), SQUARES),
    Library(
        "stored_table",
        STORED_TABLE,
        "sinusoidal",
        "paper",
        {"base": (10000.0,)},
        max_position=4999,
    ),
    Library(
        "stored_table_of_fixed_length",
        STORED_TABLE_OF_FIXED_LENGTH,
        "sinusoidal",
        "paper",
        {"base": (10000.0,)},
        max_position=2999,
    ),
    Library("grid", GRID, "sincos_2d", "big-vision", {}, ("float64",)),
)
