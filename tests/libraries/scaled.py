"""Libraries that rotate by scaled frequencies: right ones, and ones with a mistake."""

from dataclasses import dataclass

START = """
import math
from dataclasses import dataclass

import numpy as np


def turned(x, angles, longer=1.0):
    a, b = np.split(x.astype(float), 2, -1)
    c, s = np.cos(angles) * longer, np.sin(angles) * longer
    return np.concatenate([a * c - b * s, b * c + a * s], -1).astype(x.dtype)


def neighbours(x, angles):
    a, b = x[..., ::2].astype(float), x[..., 1::2].astype(float)
    c, s = np.cos(angles), np.sin(angles)
    return np.stack([a * c - b * s, b * c + a * s], -1).reshape(x.shape).astype(x.dtype)


def waves(dim, base):
    return base ** (-np.arange(0, dim, 2) / dim)
"""
"""Right rotations, whose names suggest nothing to ``posenc init``."""
FUNCTION = f"""{START}

def position_interpolation(x, positions, factor, base):
    return neighbours(x, np.outer(POSITIONS, waves(x.shape[-1], base)))
"""
CLASS = f"""{START}

class RotaryEmbedding:
    def __init__(self, dim, base=10000.0, factor=4.0):
        self.omega = OMEGA

    def __call__(self, x, positions):
        return turned(x, np.outer(POSITIONS, self.omega))
"""
KEYS = f"""{START}

class LinearScaledRope:
    def __init__(self, head_dim, *, base=10000.0, scaling_factor=2.0):
        self.plain = waves(head_dim, base)
        self.omega = self.plain / scaling_factor

    def __call__(self, q, k, offset=0):
        at = offset + np.arange(q.shape[-2])
        return turned(q, np.outer(at, self.omega)), OF_KEYS
"""
TABLES = f"""{START}

class LlamaLinearScalingRotaryEmbedding:
    def __init__(self, dim, max_position_embeddings=2048, base=10000, scaling_factor=1.0):
        self.omega, self.factor = waves(dim, base), scaling_factor

    def forward(self, x, seq_len):
        angles = np.outer(ROWS, self.omega)
        emb = np.concatenate([angles, angles], -1)
        return np.cos(emb), np.sin(emb)


def rotate_half(x):
    a, b = np.split(x, 2, -1)
    return np.concatenate([-b, a], -1)


def apply_rotary_pos_emb(q, k, cos, sin, position_ids):
    cos, sin = cos[position_ids], sin[position_ids]
    both = (x * cos + rotate_half(x) * sin for x in (q, k))
    return tuple(each.astype(q.dtype) for each in both)
"""
COMPLEX = """
import torch


def precompute_freqs_cis(dim, end, theta=10000.0, scale_factor=1.0):
    freqs = 1.0 / (theta ** (torch.arange(0, dim, 2)[: dim // 2].double() / dim))
    t = torch.arange(end).double() AT
    freqs = torch.outer(t, freqs)
    return torch.polar(torch.ones_like(freqs), freqs)


def apply_rotary_emb(xq, xk, freqs_cis):
    def turn(x):
        pairs = torch.view_as_complex(x.double().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * freqs_cis[None, :, None]).flatten(3).type_as(x)

    return turn(xq), turn(xk)
"""
DICT = f"""{START}

class RotaryEmbedding:
    def __init__(self, dim, base=10000.0, rope_scaling=None):
        factor = 1.0
        if rope_scaling is not None:
            if rope_scaling["type"] != "linear":
                raise ValueError("unknown scaling")
            factor = rope_scaling["factor"]
        self.omega = OMEGA

    def forward(self, x, position_ids):
        return turned(x, np.outer(position_ids, self.omega))
"""
CONFIG = f"""{START}

@dataclass
class RopeConfig:
    head_dim: int
    rope_theta: float = 10000.0
    rope_factor: float = 4.0


class RotaryEmbedding:
    def __init__(self, config: RopeConfig):
        omega, factor = waves(config.head_dim, config.rope_theta), config.rope_factor
        self.omega = OMEGA

    def __call__(self, x, positions):
        return turned(x, np.outer(positions, self.omega))
"""
MODULE = """
import torch
from torch import nn


class LinearRotaryEmbedding(nn.Module):
    def __init__(self, dim, base=10000.0, scale=SCALE):
        super().__init__()
        self.scale = scale
        inv_freq = 1.0 / (base ** (torch.arange(0, dim, 2).double() / dim))
        self.register_buffer("inv_freq", inv_freq)

    def forward(self, x, positions):
        angles = torch.outer(positions.double() AT self.scale, self.inv_freq)
        a, b = x.double().chunk(2, -1)
        c, s = angles.cos(), angles.sin()
        return torch.cat([a * c - b * s, b * c + a * s], -1).type_as(x)
"""
NTK = f"""{START}

class NTKAwareRotary:
    def __init__(self, dim, base=10000.0, alpha=ALPHA):
        self.omega = waves(dim, GROWN)OVER

    def __call__(self, x, positions):
        return turned(x, np.outer(positions, self.omega))
"""
NTK_OF_LENGTH = f"""{START}

class NTKScalingRotaryEmbedding:
    def __init__(self, dim, max_position_embeddings=2048, base=10000, scaling_factor=DEFAULT):
        self.omega = waves(dim, base * scaling_factor ** (POWER))

    def forward(self, q, k, offset=0):
        at = offset + np.arange(q.shape[-2])
        return turned(q, np.outer(at, self.omega)), turned(k, np.outer(at, self.omega))
"""
NTK_FUNCTION = f"""{START}

def ntk_rope(x, positions, *, base=10000.0, alpha=4.0):
    dim = x.shape[-1]
    return turned(x, np.outer(positions, waves(dim, GROWN)))
"""
DYNAMIC = f"""{START}

class DynamicNTKRope:
    def __init__(self, dim, max_position_embeddings=2048, base=10000, alpha=2.0):
        self.dim, self.base, self.trained, self.alpha = dim, base, max_position_embeddings, alpha

    def forward(self, x, seq_len):
        grown = self.alpha * max(seq_len, self.trained) / self.trained - (self.alpha - 1)
        omega = waves(self.dim, self.base * GROWN)
        emb = np.tile(np.outer(np.arange(seq_len), omega), 2)
        return np.cos(emb), np.sin(emb)


def apply_rotary(x, cos, sin):
    a, b = np.split(x, 2, -1)
    return (x * cos + np.concatenate([-b, a], -1) * sin).astype(x.dtype)
"""
RAMP = f"""{START}

def slowed(dim, base, scale, trained, fast, slow):
    def place(turns):
        return dim * math.log(trained / (turns * 2 * math.pi)) / (2 * math.log(base))

    low, high = max(math.floor(place(fast)), 0), min(math.ceil(place(slow)), dim - 1)
    ramp = np.clip((np.arange(dim // 2) - low) / ((high - low) or 0.001), 0, 1)
    omega = waves(dim, base)
    return omega * (1 - ramp) + omega / scale * ramp
"""
YARN = f"""{RAMP}

class LlamaYaRNScaledRotaryEmbedding:
    def __init__(self, dim, max_position_embeddings=2048, base=10000, scale=1,
                 original_max_position_embeddings=2048, beta_fast=32, beta_slow=1):
        trained = original_max_position_embeddings
        self.omega = slowed(dim, base, scale, trained, beta_fast, beta_slow)
        self.mscale = LONGER

    def forward(self, q, k, positions):
        angles = np.outer(positions, self.omega)
        return turned(q, angles, self.mscale), OF_KEYS
"""
YARN_FUNCTION = f"""{RAMP}

def yarn_rope(x, positions, s, original_max_position_embeddings, base=10000.0,
              beta_fast=32, beta_slow=1):
    trained = original_max_position_embeddings
    omega = slowed(x.shape[-1], base, s, trained, beta_fast, beta_slow)
    return turned(x, np.outer(positions, omega), LONGER)
"""
YARN_WITHOUT_BETAS = f"""{RAMP}

class YarnRope:
    def __init__(self, dim, base=10000.0, scale=16.0, original_max_position_embeddings=4096):
        self.omega = slowed(dim, base, scale, original_max_position_embeddings, 32, 1)
        self.longer = LONGER

    def __call__(self, x, positions):
        return turned(x, np.outer(positions, self.omega), self.longer)
"""
LLAMA3 = f"""{START}

class Llama3Rope:
    def __init__(self, head_dim, rope_theta=500000.0, factor=8.0, low_freq_factor=1.0,
                 high_freq_factor=4.0, original_max_position_embeddings=8192):
        self.plain = waves(head_dim, rope_theta)
        turns = original_max_position_embeddings * self.plain / (2 * np.pi)
        kept = np.clip((turns - low_freq_factor) / (high_freq_factor - low_freq_factor), 0, 1)
        self.omega = kept * self.plain + (1 - kept) * self.plain / factor

    def __call__(self, q, k, positions):
        return turned(q, np.outer(positions, self.omega)), OF_KEYS
"""
DERIVED = f"""{START}

class LlamaRotaryEmbedding:
    def __init__(self, dim, max_position_embeddings=2048, base=10000, scaling_factor=1.0):
        self.dim, self.trained, self.base = dim, max_position_embeddings, base
        self.scaling_factor, self.omega = scaling_factor, waves(dim, base)

    def forward(self, x, position_ids):
        emb = np.tile(position_ids[..., None] * self.omega, 2)
        return np.cos(emb), np.sin(emb)


class LlamaLinearScalingRotaryEmbedding(LlamaRotaryEmbedding):
    def forward(self, x, position_ids):
        return super().forward(x, position_ids AT self.scaling_factor)


class LlamaDynamicNTKScalingRotaryEmbedding(LlamaRotaryEmbedding):
    def forward(self, x, position_ids):
        seq_len, omega, s = position_ids.max() + 1, self.omega, self.scaling_factor
        if seq_len > self.trained:
            grown = s * seq_len / self.trained - (s - 1)
            omega = waves(self.dim, self.base * grown ** (self.dim / (self.dim - 2)))
        else:
            RESET
        self.omega = omega
        return super().forward(x, position_ids)


def apply_rotary_pos_emb(q, k, cos, sin, unsqueeze_dim=1):
    cos, sin = np.expand_dims(cos, unsqueeze_dim), np.expand_dims(sin, unsqueeze_dim)
    def rotated(x):
        a, b = np.split(x, 2, -1)
        return (x * cos + np.concatenate([-b, a], -1) * sin).astype(x.dtype)
    return rotated(q), rotated(k)
"""
"""Classes like those of transformers 4.40, of which the first takes a factor for the others."""
OF_RULES = f"""{START}

class Rotary:
    def __init__(self, dim, max_position_embeddings=2048, base=10000.0, rope_scaling=None):
        self.dim, self.base, self.rule = dim, base, rope_scaling or {{}}
        self.trained = max_position_embeddings

    def frequencies(self, length):
        kind, s = self.rule.get("rope_type", "default"), self.rule.get("factor", 1.0)
        base = self.base
        if kind == "dynamic":
            trained = self.rule.get("original_max_position_embeddings", self.trained)
            base *= (s * max(length, trained) / trained - (s - 1)) ** POWER
        elif kind not in ("linear", "default"):
            raise ValueError(kind)
        return waves(self.dim, base) / (s if kind == "linear" else 1)

    def forward(self, x, seq_len):
        emb = np.tile(np.outer(np.arange(seq_len), self.frequencies(seq_len)), 2)
        return np.cos(emb), np.sin(emb)


def apply_rotary(x, cos, sin):
    a, b = np.split(x, 2, -1)
    return (x * cos + np.concatenate([-b, a], -1) * sin).astype(x.dtype)
"""
BY_CONFIG = f"""{START}

@dataclass
class ModelConfig:
    hidden_size: int
    num_attention_heads: int = 8
    rope_theta: float = 10000.0
    rope_scaling: dict | None = None


class LlamaRotaryEmbedding:
    def __init__(self, config: ModelConfig):
        dim = config.hidden_size // config.num_attention_heads
        self.plain = waves(dim, config.rope_theta)
        factor = config.rope_scaling["factor"] if config.rope_scaling else 1.0
        self.omega = self.plain / factor

    def forward(self, q, k, position_ids):
        at = position_ids
        return turned(q, np.outer(at, self.omega)), OF_KEYS
"""
TWO_METHODS = f"""{START}

class LinearRope:
    def __init__(self, dim, base=10000.0, factor=2.0):
        self.plain = waves(dim, base)
        self.omega = self.plain / factor

    def rotate_q(self, x, positions):
        return turned(x, np.outer(positions, self.omega))

    def rotate_k(self, x, positions):
        return turned(x, np.outer(positions, OF_KEYS))
"""
CACHE = f"""{START}

class ScaledRotary:
    def __init__(self, head_dim, max_seq_len=4096, theta=10000.0, scale_factor=8.0):
        angles = np.outer(np.arange(max_seq_len) / scale_factor, waves(head_dim, theta))
        self.angles = angles

    def forward(self, xq, xk, start_pos=0):
        end = start_pos + xq.shape[1]
        at = self.angles[start_pos:end][:, None]
        return neighbours(xq, at), neighbours(xk, OF_KEYS)
"""
BY_KEYWORD = f"""{START}

def apply_rotary(q, k, positions, *, theta=10000.0, scaling_factor=1.0):
    omega = waves(q.shape[-1], theta) / scaling_factor
    return turned(q, np.outer(positions, omega)), turned(k, np.outer(positions, OF_KEYS))
"""
UNNAMED = f"""{START}

def spin(x, positions, scaling_factor, theta=10000.0):
    return turned(x, np.outer(AT, waves(x.shape[-1], theta)))
"""
UNRELATED = f"""{START}

class RotaryEmbedding:
    def __init__(self, dim, base=10000.0, alpha=0.5):
        self.omega, self.alpha = waves(dim, base), alpha

    def __call__(self, x, positions):
        return turned(x, np.outer(positions, self.omega))
"""
STATIC = f"""{START}

class NTKScalingRotary:
    def __init__(self, dim, max_position_embeddings=2048, base=10000, scaling_factor=1.0):
        self.omega = waves(dim, base * (1 + 3 * (scaling_factor - 1)))

    def __call__(self, x, positions):
        return turned(x, np.outer(positions, self.omega))
"""
GROWTH = "** (dim / (dim - 2))"
LENGTHENED = "0.1 * math.log(scale) + 1"


@dataclass(frozen=True)
class Library:
    """A library with scaled frequencies, and what ``posenc init`` says of it."""

    name: str
    source: str
    call: str
    """The call that is claimed of it, or several."""
    said: str = ""
    """Words on what is wrong with it; empty if it is right."""


def of(call: str, *libraries: tuple[str, str, str] | tuple[str, str]) -> list[Library]:
    """Make libraries of which one call is claimed."""
    return [Library(name, source, call, *said) for name, source, *said in libraries]


def filled(source: str, **values: str) -> str:
    """Return a source with the words in capitals replaced."""
    for name, value in values.items():
        source = source.replace(name, value)
    return source


PLAIN = "waves(dim, base)"
PI, NTK_AWARE, DYNAMIC_NTK = "position_interpolation", "ntk_aware", "dynamic_ntk"
ALL_DERIVED = f"rope rope_query_key {PI} {DYNAMIC_NTK}"
DIVIDED = filled(CLASS, OMEGA=f"{PLAIN} / factor")
TWICE = filled(
    CLASS,
    OMEGA=f"{PLAIN} / factor\n        self.factor = factor",
    POSITIONS="positions / self.factor",
)
OF_SELF = GROWTH.replace("dim", "self.dim")
FROM_0 = "turned(k, np.outer(np.arange(k.shape[-2]), self.omega))"
OF_ROW_0 = "self.angles[: end - start_pos][:, None]"
IGNORED, MULTIPLIED = "plain RoPE; factor was ignored", "frequencies multiplied by factor"
KEYS_ARE_WRONG = "keys alone are wrong: matches "
RESTARTED = f"{KEYS_ARE_WRONG}positions shifted by -3, so that they restart at 0"
SHORT = "matches temperature none, the attention factor is missing"
RIGHT = [
    *of(
        PI,
        ("function", filled(FUNCTION, POSITIONS="positions / factor")),
        ("unnamed", filled(UNNAMED, AT="positions / scaling_factor")),
        ("by_keyword", filled(BY_KEYWORD, OF_KEYS="omega")),
        ("default", filled(DIVIDED, POSITIONS="positions")),
        ("keys", filled(KEYS, OF_KEYS="turned(k, np.outer(at, self.omega))")),
        ("two_methods", filled(TWO_METHODS, OF_KEYS="self.omega")),
        ("cache", filled(CACHE, OF_KEYS="at")),
        ("tables", filled(TABLES, ROWS="np.arange(seq_len) / self.factor")),
        ("complex", filled(COMPLEX, AT="/ scale_factor")),
        ("dict", filled(DICT, OMEGA=f"{PLAIN} / factor")),
        ("config", filled(CONFIG, OMEGA="omega / factor")),
        ("by_config", filled(BY_CONFIG, OF_KEYS="turned(k, np.outer(at, self.omega))")),
        ("module", filled(MODULE, SCALE="4.0", AT="/")),
        ("multiplier", filled(MODULE, SCALE="1.0", AT="*")),
    ),
    *of(
        NTK_AWARE,
        ("alpha", filled(NTK, ALPHA="1.0", GROWN=f"base * alpha {GROWTH}", OVER="")),
        ("ntk_by_default", filled(NTK_OF_LENGTH, DEFAULT="8.0", POWER="dim / (dim - 2)")),
        ("ntk_function", filled(NTK_FUNCTION, GROWN=f"base * alpha {GROWTH}")),
    ),
    *of(DYNAMIC_NTK, ("dynamic", filled(DYNAMIC, GROWN=f"grown {OF_SELF}"))),
    Library(
        "of_rules", filled(OF_RULES, POWER="(self.dim / (self.dim - 2))"), f"{DYNAMIC_NTK} {PI}"
    ),
    Library(
        "derived",
        filled(DERIVED, AT="/", RESET="omega = waves(self.dim, self.base)"),
        ALL_DERIVED,
    ),
    *of(
        "yarn",
        ("yarn", filled(YARN, LONGER=LENGTHENED, OF_KEYS="turned(k, angles, self.mscale)")),
        ("yarn_function", filled(YARN_FUNCTION, LONGER="0.1 * math.log(s) + 1")),
        ("yarn_without_betas", filled(YARN_WITHOUT_BETAS, LONGER=LENGTHENED)),
    ),
    *of(
        "llama3",
        ("llama3", filled(LLAMA3, OF_KEYS="turned(k, np.outer(positions, self.omega))")),
    ),
    *of("rope", ("unrelated", UNRELATED), ("odd_but_static", STATIC)),
]
"""Right libraries. Of the last two, the factor is said to be not judged."""
WRONG = [
    *of(
        PI,
        ("function_ignores", filled(FUNCTION, POSITIONS="positions"), IGNORED),
        ("whole", filled(FUNCTION, POSITIONS="positions // factor"), "cut to whole numbers"),
        ("unnamed_multiplied", filled(UNNAMED, AT="positions * scaling_factor"), MULTIPLIED),
        ("multiplied", filled(CLASS, OMEGA=f"{PLAIN} * factor", POSITIONS="positions"), MULTIPLIED),
        ("twice", TWICE, "frequencies divided by factor twice"),
        (
            "exponent",
            filled(CLASS, OMEGA="waves(dim, base ** (1 / factor))", POSITIONS="positions"),
            "exponents divided by factor",
        ),
        ("shifted", filled(DIVIDED, POSITIONS="positions + 1"), "positions shifted by +1"),
        ("other_way", filled(DIVIDED, POSITIONS="-positions"), "angles of the opposite sign"),
        ("tables_multiplied", filled(TABLES, ROWS="np.arange(seq_len) * self.factor"), MULTIPLIED),
        ("complex_multiplied", filled(COMPLEX, AT="* scale_factor"), MULTIPLIED),
        ("module_multiplied", filled(MODULE, SCALE="4.0", AT="*"), MULTIPLIED),
        ("dict_ignored", filled(DICT, OMEGA=PLAIN), IGNORED),
        ("config_ignored", filled(CONFIG, OMEGA="omega"), IGNORED),
        (
            "keys_unscaled",
            filled(KEYS, OF_KEYS="turned(k, np.outer(at, self.plain))"),
            KEYS_ARE_WRONG + IGNORED,
        ),
        ("keys_from_0", filled(KEYS, OF_KEYS=FROM_0), RESTARTED),
        (
            "keys_still",
            filled(KEYS, OF_KEYS="k"),
            "keys alone are wrong: nothing is rotated",
        ),
        (
            "by_config_keys",
            filled(BY_CONFIG, OF_KEYS="turned(k, np.outer(at, self.plain))"),
            KEYS_ARE_WRONG + IGNORED,
        ),
        (
            "by_keyword_keys",
            filled(BY_KEYWORD, OF_KEYS="waves(k.shape[-1], theta)"),
            KEYS_ARE_WRONG + IGNORED,
        ),
        ("two_methods_keys", filled(TWO_METHODS, OF_KEYS="self.plain"), KEYS_ARE_WRONG + IGNORED),
        ("cache_keys", filled(CACHE, OF_KEYS=OF_ROW_0), RESTARTED),
    ),
    *of(
        NTK_AWARE,
        (
            "no_power",
            filled(NTK, ALPHA="1.0", GROWN="base * alpha", OVER=""),
            "the base times factor",
        ),
        (
            "other_power",
            filled(NTK, ALPHA="8.0", GROWN="base * alpha ** ((dim - 2) / dim)", OVER=""),
            "to the power (d-2)/d",
        ),
        (
            "divided_too",
            filled(NTK, ALPHA="8.0", GROWN=f"base * alpha {GROWTH}", OVER=" / alpha"),
            "divided by factor on top of the larger base",
        ),
        (
            "function_no_power",
            filled(NTK_FUNCTION, GROWN="base * alpha"),
            "the base times factor",
        ),
    ),
    *of(DYNAMIC_NTK, ("dynamic_no_power", filled(DYNAMIC, GROWN="grown"), "without the power")),
    Library(
        "one_of_rules", filled(OF_RULES, POWER="1"), f"{DYNAMIC_NTK} {PI}", "without the power"
    ),
    Library(
        "derived_multiplied",
        filled(DERIVED, AT="*", RESET="omega = waves(self.dim, self.base)"),
        ALL_DERIVED,
        MULTIPLIED,
    ),
    Library(
        "derived_kept",
        filled(DERIVED, AT="/", RESET="pass"),
        ALL_DERIVED,
        "the base of length 64, as left by another call",
    ),
    *of(
        "yarn",
        (
            "yarn_short",
            filled(YARN, LONGER="1.0", OF_KEYS="turned(k, angles, self.mscale)"),
            SHORT,
        ),
        ("yarn_function_short", filled(YARN_FUNCTION, LONGER="1.0"), SHORT),
        ("yarn_without_betas_short", filled(YARN_WITHOUT_BETAS, LONGER="1.0"), SHORT),
        (
            "yarn_keys_short",
            filled(YARN, LONGER=LENGTHENED, OF_KEYS="turned(k, angles)"),
            f"keys alone are wrong: {SHORT}",
        ),
        (
            "yarn_keys_from_0",
            filled(YARN, LONGER=LENGTHENED, OF_KEYS=FROM_0.replace("a))", "a), self.mscale)")),
            RESTARTED,
        ),
    ),
    *of(
        "llama3",
        (
            "llama3_keys",
            filled(LLAMA3, OF_KEYS="turned(k, np.outer(positions, self.plain))"),
            f"{KEYS_ARE_WRONG}plain RoPE; the scaling is missing",
        ),
    ),
]
