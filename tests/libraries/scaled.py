"""Libraries that rotate by scaled frequencies: right ones, and ones with a mistake in the scaling."""

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
        angles = torch.outer(AT, self.inv_freq)
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
GROWTH = "** (dim / (dim - 2))"
LENGTHENED = "0.1 * math.log(scale) + 1"


@dataclass(frozen=True)
class Library:
    """A library with scaled frequencies, and what ``posenc init`` says of it."""

    name: str
    source: str
    scheme: str
    said: str = ""
    """What is wrong with it; empty if it is right."""


def filled(source: str, **values: str) -> str:
    """Return a source with words in capitals replaced."""
    for name, value in values.items():
        source = source.replace(name, value)
    return source


INTERPOLATION, NTK_AWARE = "position-interpolation", "ntk-aware"
OMEGA = "waves(dim, base)"
TURNED_KEYS = "turned(k, np.outer(at, self.omega))"
FROM_0 = "turned(k, np.outer(np.arange(k.shape[-2]), self.OMEGA), LONGER)"
RIGHT = (
    Library("function", filled(FUNCTION, POSITIONS="positions / factor"), INTERPOLATION),
    Library(
        "default", filled(CLASS, OMEGA=f"{OMEGA} / factor", POSITIONS="positions"), INTERPOLATION
    ),
    Library("keys", filled(KEYS, OF_KEYS=TURNED_KEYS), INTERPOLATION),
    Library("tables", filled(TABLES, ROWS="np.arange(seq_len) / self.factor"), INTERPOLATION),
    Library("complex", filled(COMPLEX, AT="/ scale_factor"), INTERPOLATION),
    Library("dict", filled(DICT, OMEGA=f"{OMEGA} / factor"), INTERPOLATION),
    Library("config", filled(CONFIG, OMEGA="omega / factor"), INTERPOLATION),
    Library("module", filled(MODULE, SCALE="4.0", AT="positions / self.scale"), INTERPOLATION),
    Library("multiplier", filled(MODULE, SCALE="1.0", AT="positions * self.scale"), INTERPOLATION),
    Library("alpha", filled(NTK, ALPHA="1.0", GROWN=f"base * alpha {GROWTH}", OVER=""), NTK_AWARE),
    Library("grown", filled(NTK_OF_LENGTH, DEFAULT="8.0", POWER="dim / (dim - 2)"), NTK_AWARE),
    Library("ntk_function", filled(NTK_FUNCTION, GROWN=f"base * alpha {GROWTH}"), NTK_AWARE),
    Library("dynamic", filled(DYNAMIC, GROWN=f"grown {GROWTH.replace('dim', 'self.dim')}"), "dynamic-ntk"),
    Library(
        "yarn",
        filled(YARN, LONGER=LENGTHENED, OF_KEYS="turned(k, angles, self.mscale)"),
        "yarn",
    ),
    Library("yarn_function", filled(YARN_FUNCTION, LONGER="0.1 * math.log(s) + 1"), "yarn"),
    Library("llama3", filled(LLAMA3, OF_KEYS="turned(k, np.outer(positions, self.omega))"), "llama3"),
)
WRONG = (
    Library("function_ignores", filled(FUNCTION, POSITIONS="positions"), INTERPOLATION, "unscaled"),
    Library("function_whole", filled(FUNCTION, POSITIONS="positions // factor"), INTERPOLATION, "whole"),
    Library("multiplied", filled(CLASS, OMEGA=f"{OMEGA} * factor", POSITIONS="positions"), INTERPOLATION, "multiplied"),
    Library("twice", filled(CLASS, OMEGA=f"{OMEGA} / factor", POSITIONS="positions / factor").replace("self.omega =", "factor_ = 1;  self.omega =") .replace("positions / factor", "positions / self.factor").replace("factor_ = 1;", "self.factor = factor;"), INTERPOLATION, "twice"),
    Library("exponent", filled(CLASS, OMEGA="waves(dim, base ** (1 / factor))", POSITIONS="positions"), INTERPOLATION, "exponent"),
    Library("shifted", filled(CLASS, OMEGA=f"{OMEGA} / factor", POSITIONS="positions + 1"), INTERPOLATION, "shifted"),
    Library("other_way", filled(CLASS, OMEGA=f"{OMEGA} / factor", POSITIONS="-positions"), INTERPOLATION, "sign"),
    Library("tables_multiplied", filled(TABLES, ROWS="np.arange(seq_len) * self.factor"), INTERPOLATION, "multiplied"),
    Library("complex_multiplied", filled(COMPLEX, AT="* scale_factor"), INTERPOLATION, "multiplied"),
    Library("dict_ignored", filled(DICT, OMEGA=OMEGA), INTERPOLATION, "unscaled"),
    Library("config_ignored", filled(CONFIG, OMEGA="omega"), INTERPOLATION, "unscaled"),
    Library("keys_unscaled", filled(KEYS, OF_KEYS="turned(k, np.outer(at, self.plain))"), INTERPOLATION, "keys"),
    Library("keys_from_0", filled(KEYS, OF_KEYS="turned(k, np.outer(np.arange(k.shape[-2]), self.omega))"), INTERPOLATION, "keys"),
    Library("keys_still", filled(KEYS, OF_KEYS="k"), INTERPOLATION, "keys"),
    Library("no_power", filled(NTK, ALPHA="1.0", GROWN="base * alpha", OVER=""), NTK_AWARE, "without"),
    Library("other_power", filled(NTK, ALPHA="8.0", GROWN="base * alpha ** ((dim - 2) / dim)", OVER=""), NTK_AWARE, "power"),
    Library("both", filled(NTK, ALPHA="8.0", GROWN=f"base * alpha {GROWTH}", OVER=" / alpha"), NTK_AWARE, "divided"),
    Library("ntk_function_no_power", filled(NTK_FUNCTION, GROWN="base * alpha"), NTK_AWARE, "without"),
    Library("dynamic_no_power", filled(DYNAMIC, GROWN="grown"), "dynamic-ntk", "power"),
    Library("yarn_short", filled(YARN, LONGER="1.0", OF_KEYS="turned(k, angles, self.mscale)"), "yarn", "attention factor"),
    Library("yarn_function_short", filled(YARN_FUNCTION, LONGER="1.0"), "yarn", "attention factor"),
    Library("yarn_short_keys", filled(YARN, LONGER=LENGTHENED, OF_KEYS="turned(k, angles)"), "yarn", "attention factor"),
    Library("yarn_keys_from_0", filled(YARN, LONGER=LENGTHENED, OF_KEYS="turned(k, np.outer(np.arange(k.shape[-2]), self.omega), self.mscale)"), "yarn", "restart"),
    Library("llama3_keys", filled(LLAMA3, OF_KEYS="turned(k, np.outer(positions, self.plain))"), "llama3", "keys"),
)
