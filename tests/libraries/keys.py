"""Libraries that rotate queries and keys in one call: right ones, and ones with wrong keys."""

from dataclasses import dataclass

ROTATIONS = """
import numpy as np


def angles_of(at, dim, base=10000.0):
    return np.outer(at, base ** (-np.arange(0, dim, 2) / dim))


def joined(x, first, second):
    return np.concatenate([first, second], -1).astype(x.dtype)


def halves(x, at, base=10000.0):
    a, b = np.split(x.astype(float), 2, -1)
    c, s = np.cos(angles_of(at, x.shape[-1], base)), np.sin(angles_of(at, x.shape[-1], base))
    return joined(x, a * c - b * s, b * c + a * s)


def pairs(x, at, base=10000.0):
    order = np.r_[0 : x.shape[-1] : 2, 1 : x.shape[-1] : 2]
    return halves(x[..., order], at, base)[..., np.argsort(order)]
"""
"""Right rotations, whose names suggest nothing to ``posenc init``."""

MODULE = f"""{ROTATIONS}

class RotaryEmbedding:
    def __init__(self, dim, base=10000.0):
        self.base = base

    def __call__(self, q, k, offset=0):
        at = offset + np.arange(q.shape[-2])
        return halves(q, at, self.base), KEYS
"""

WITHOUT_OFFSET = f"""{ROTATIONS}

class Rope:
    def __init__(self, dim, base=10000.0):
        self.base = base

    def __call__(self, q, k):  # [batch, sequence, heads, dim]
        at = np.arange(q.shape[1])
        q, k = q.swapaxes(1, 2), k.swapaxes(1, 2)
        return [halves(q, at, self.base).swapaxes(1, 2), (KEYS).swapaxes(1, 2)]
"""

BY_TABLES = f"""{ROTATIONS}

def rope_tables(length, dim, base=10000.0):
    angles = np.tile(angles_of(np.arange(length), dim, base), 2)
    return np.cos(angles), np.sin(angles)


def rotate_half(x):
    a, b = np.split(x, 2, -1)
    return np.concatenate([-b, a], -1)


def turned(x, cos, sin):
    return (x * cos + rotate_half(x) * sin).astype(x.dtype)


def apply_rotary_pos_emb(q, k, cos, sin):
    return turned(q, cos, sin), KEYS
"""

BY_TABLES_AND_POSITIONS = BY_TABLES.replace(
    "(q, k, cos, sin):",
    "(q, k, cos, sin, position_ids):\n"
    "    first_rows = cos[: q.shape[-2]], sin[: q.shape[-2]]\n"
    "    cos, sin = cos[position_ids], sin[position_ids]",
)

BY_POSITIONS = f"""{ROTATIONS}

def apply_rope(q, k, positions, theta=10000.0):
    return {{"q_embed": pairs(q, positions, theta), "k_embed": KEYS}}
"""

IN_PLACE = f"""{ROTATIONS}

def apply_rope_(query, key, positions, base=10000.0):
    query[...] = halves(query, positions, base)
    KEYS
"""

KEYS_FIRST = MODULE.replace("(self, q, k, offset=0)", "(self, k, q, offset=0)")

STACKED = f"""{ROTATIONS}

def apply_rope(q, k, positions, base=10000.0):
    return np.stack([halves(q, positions, base), KEYS])
"""

OPTIONAL = f"""{ROTATIONS}

def rotary(q, positions, k=None, base=10000.0):
    if k is None:
        return halves(q, positions, base)
    return halves(q, positions, base), KEYS
"""

DATACLASS = f"""{ROTATIONS}
from dataclasses import dataclass


@dataclass
class Result:
    k: np.ndarray
    q: np.ndarray


def apply_rope(xq, xk, positions, base=10000.0):
    return Result(q=pairs(xq, positions, base), k=KEYS)
"""

TORCH_TABLES = """
import torch
from torch import nn


class RotaryEmbedding(nn.Module):
    def __init__(self, dim, base=10000.0):
        super().__init__()
        self.register_buffer("inv_freq", base ** (-torch.arange(0, dim, 2).double() / dim))

    def forward(self, x, position_ids):
        angles = (position_ids[..., None] * self.inv_freq).repeat(1, 1, 2)
        return angles.cos().to(x.dtype), angles.sin().to(x.dtype)


def rotate_half(x):
    a, b = x.chunk(2, -1)
    return torch.cat([-b, a], -1)


def apply_rotary_pos_emb(q, k, cos, sin, unsqueeze_dim=1):
    cos, sin = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)
    return q * cos + rotate_half(q) * sin, KEYS
"""

TORCH_IN_PLACE = """
import torch


def apply_rope_(q, k, start_pos, theta=10000.0):
    d = q.shape[-1]
    at = torch.arange(start_pos, start_pos + q.shape[-2])
    angles = at[:, None] * theta ** (-torch.arange(0, d, 2).double() / d)
    for x in TURNED:
        a, b = x[..., 0::2].double(), x[..., 1::2].double()
        c, s = angles.cos(), angles.sin()
        first, second = a * c - b * s, b * c + a * s
        x[..., 0::2], x[..., 1::2] = first.to(x.dtype), second.to(x.dtype)
"""


@dataclass(frozen=True)
class Library:
    name: str
    style: str
    keys: str
    """The expression for the keys."""
    said: str = ""
    """Words of the kit for what is wrong with the keys."""

    @property
    def source(self) -> str:
        return self.style.replace("KEYS", self.keys).replace("TURNED", self.keys)


OF_HALVES = "halves(k, at, self.base)"
OF_TABLES = "turned(k, cos, sin)"
LAST_ROW = "np.concatenate([halves(k, at, self.base)[..., :-1, :], k[..., -1:, :]], -2)"
FIRST_HEAD = "np.concatenate([halves(k[..., :1, :, :], at, self.base), k[..., 1:, :, :]], -3)"
QUERIES = "halves(q, at, self.base)[..., : k.shape[-3], :, :]"
UNTURNED = "keys left as they were"
RIGHT = (
    Library("offset", MODULE, OF_HALVES),
    Library("without_offset", WITHOUT_OFFSET, OF_HALVES),
    Library("by_tables", BY_TABLES, OF_TABLES),
    Library("by_tables_and_positions", BY_TABLES_AND_POSITIONS, OF_TABLES),
    Library("in_a_dict", BY_POSITIONS, "pairs(k, positions, theta)"),
    Library("in_place", IN_PLACE, "key[...] = halves(key, positions, base)"),
    Library("keys_before_queries", KEYS_FIRST, OF_HALVES),
    Library("stacked", STACKED, "halves(k, positions, base)"),
    Library("optional_keys", OPTIONAL, "halves(k, positions, base)"),
    Library("dataclass", DATACLASS, "pairs(xk, positions, base)"),
    Library("torch_tables", TORCH_TABLES, "k * cos + rotate_half(k) * sin"),
    Library("torch_in_place", TORCH_IN_PLACE, "(q, k)"),
)
ALONE = "keys alone are wrong: matches "
SHIFTED = f"{ALONE}positions shifted by "
WRONG = (
    Library("never_turned", MODULE, "k", UNTURNED),
    Library("turned_from_0_on", MODULE, "halves(k, at - offset, self.base)", f"{SHIFTED}-"),
    Library(
        "another_base", MODULE, "halves(k, at, 5e5)", "keys alone are wrong: matches base 500000"
    ),
    Library("another_layout", MODULE, "pairs(k, at, self.base)", "the interleaved layout"),
    Library("a_position_on", MODULE, "halves(k, at + 1, self.base)", f"{SHIFTED}+1"),
    Library("doubled", MODULE, f"2 * {OF_HALVES}", "pairs are 2 times as long"),
    Library(
        "heads_exchanged", MODULE, f"{OF_HALVES}[..., ::-1, :, :]", "has the values of the next"
    ),
    Library("other_sense", MODULE, "halves(k, -at, self.base)", "[sign-flipped"),
    Library("queries_again", MODULE, QUERIES, "leading index i % 4"),
    Library("last_row_left", MODULE, LAST_ROW, "keys are not turned in row"),
    Library("another_dtype", MODULE, f"{OF_HALVES}.astype(float)", "float64; expected float32"),
    Library("turned_twice", MODULE, f"halves({OF_HALVES}, at, self.base)", "keys stand at 42, 44"),
    Library("first_head_alone", MODULE, FIRST_HEAD, "keys are not turned in head 1"),
    Library("whole_sequence_unturned", WITHOUT_OFFSET, "k", UNTURNED),
    Library("tables_unused", BY_TABLES, "k", UNTURNED),
    Library("sine_negated", BY_TABLES, "turned(k, cos, -sin)", "[sign-flipped"),
    Library("tables_exchanged", BY_TABLES, "turned(k, sin, cos)", "cos and sin are exchanged"),
    Library("first_rows", BY_TABLES_AND_POSITIONS, "turned(k, *first_rows)", f"{SHIFTED}-"),
    Library("dict_unturned", BY_POSITIONS, "k", UNTURNED),
    Library("dict_of_halves", BY_POSITIONS, "halves(k, positions, theta)", "the half layout"),
    Library("place_unwritten", IN_PLACE, "key = halves(key, positions, base)", UNTURNED),
    Library("optional_keys_unturned", OPTIONAL, "k", UNTURNED),
    Library("stacked_half", STACKED, "halves(k, positions, base) / 2", "pairs are 0.5 times"),
    Library("dataclass_unturned", DATACLASS, "xk", UNTURNED),
    Library("torch_unturned", TORCH_TABLES, "k", UNTURNED),
    Library("torch_place_unwritten", TORCH_IN_PLACE, "(q,)", UNTURNED),
)
