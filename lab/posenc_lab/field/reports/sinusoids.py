"""Mistakes of sinusoidal encodings, embeddings of time steps and Fourier features."""

import math
from typing import Any

import numpy as np

from posenc_lab.field.pieces import Array, omega, outer
from posenc_lab.field.reports.common import Given, wrong

CHANNEL, ODD = "channel-for-pair", "odd-channel-exponent"
LIST = "jadore801120/attention-is-all-you-need-pytorch#32"
CRASHED = "NVlabs/Forecasting-Model-Search#7"
INVERTED = r"at base\^\(2t/d\)"
RAISED = "ValueError: could not broadcast"


def by_turns(turns: Array, cosines: Array | None = None) -> Array:
    """Return sine and cosine side by side, of different angles if given."""
    made = np.stack([np.sin(turns), np.cos(turns if cosines is None else cosines)], axis=-1)
    return made.reshape(len(turns), -1).astype(np.float32)


@wrong("Kyubyong/transformer#81", "sinusoidal", "paper", "every pair turns at 1;|as if it were 1")
def integer_division(positions: Array, dim: int, *, base: float = 10000.0) -> Array:
    """An integer division makes every exponent 0."""
    return by_turns(outer(positions, np.ones(dim // 2 + dim % 2)))[:, :dim]


@wrong("Kyubyong/transformer#38", "sinusoidal", "paper", CHANNEL, max_position=5000)
@wrong(LIST, "sinusoidal", "paper", CHANNEL, max_position=3000)
@wrong("BrianPulfer/PapersReimplementations#9", "sinusoidal", "paper", CHANNEL)
def channel_for_pair(positions: Array, dim: int, *, base: float = 10000.0) -> Array:
    """The exponent is 2i/d with i the channel instead of the pair."""
    turns = outer(positions, np.power(base, -2.0 * np.arange(dim) / dim))
    return np.where(np.arange(dim) % 2, np.cos(turns), np.sin(turns)).astype(np.float32)


@wrong("zju3dv/LoFTR#41", "sinusoidal", "paper", "step-rounded-down", base=1e4)
def step_rounded_down(positions: Array, dim: int) -> Array:
    """-log(10000)/d//2 is rounded down to -1: frequencies are exp(-2t)."""
    return by_turns(outer(positions, np.exp(np.arange(0, dim, 2) * (-math.log(1e4) / dim // 2))))


@wrong("maxjcohen/transformer#62", "sinusoidal", "paper", ODD, "wrong-base", base=1e4)
def base_and_odd_exponents(positions: Array, dim: int) -> Array:
    """The base is 1000, and cosines have odd exponents."""
    wave = 1000.0 ** -(np.arange(dim) / dim)
    return by_turns(outer(positions, wave[::2]), outer(positions, wave[1::2]))


@wrong("ivanvovk/WaveGrad#12", "sinusoidal", "concat", r"\*\* ?1e-4|raised to", base=1e4)
def power_exchanged(positions: Array, dim: int) -> Array:
    """Exponents are raised to 1e-4 instead of 1e-4 to the exponents."""
    turns = outer(positions, (np.arange(dim // 2) / (dim // 2)) ** 1e-4)
    return np.concatenate([np.sin(turns), np.cos(turns)], axis=-1).astype(np.float32)


@wrong("luhengshiwo/LLMForEverybody#106", "sinusoidal", "paper", ODD)
def cosine_of_its_own(positions: Array, dim: int, *, base: float = 10000.0) -> Array:
    """The cosine's exponent is (2i+1)/d."""
    wave = base ** -(np.arange(dim) / dim)
    return by_turns(outer(positions, wave[::2]), outer(positions, wave[1::2]))


@wrong("YutaroOgawa/pytorch_advanced#15", "sinusoidal", "paper", "wrong-base", base=1e4)
def thousand(positions: Array, dim: int) -> Array:
    """The base is 1000 instead of 10000."""
    return by_turns(outer(positions, omega(dim, 1000)))


@wrong("aharley/pips#30", "sinusoidal", "paper", "1000/d|multiplied|linear in", base=1e4)
def multiplied(positions: Array, dim: int) -> Array:
    """Positions are multiplied by 2t·1000/d instead of divided by powers."""
    return by_turns(outer(positions, np.arange(0, dim, 2) * (1000.0 / dim)))


@wrong("tatp22/multidim-positional-encoding#22", "sinusoidal", "paper", "layout-swapped", base=1e4)
def concatenated(positions: Array, dim: int) -> Array:
    """Sines and cosines are concatenated instead of by turns."""
    turns = outer(positions, omega(dim, 10000))
    return np.concatenate([np.sin(turns), np.cos(turns)], axis=-1).astype(np.float32)


@wrong(CRASHED, "sinusoidal", "paper", RAISED, fault="exceptions", odd_dim="cut", base=1e4)
def as_many_cosines(positions: Array, dim: int) -> Array:
    """An odd width raises: there are as many cosines as sines."""
    made, turns = np.zeros((len(positions), dim)), outer(positions, omega(dim, 10000))
    made[:, 0::2] = np.sin(turns)
    made[:, 1::2] = np.cos(turns)
    return made.astype(np.float32)


@wrong("hkproj/pytorch-transformer#2", "sinusoidal", "paper", INVERTED, base=1e4, max_position=4000)
def powers_multiplied(positions: Array, dim: int) -> Array:
    """Positions are multiplied by base^(2t/d), as a comment says, instead of divided."""
    return by_turns(outer(positions, 1 / omega(dim, 10000)))


def timestep_angles(positions: Array, dim: int, given: Given, shift: int) -> Array:
    """Return the angles of an embedding of time steps."""
    pairs = dim // 2
    wave = np.exp(-math.log(given["max_period"]) * np.arange(pairs) / (pairs - shift))
    return outer(positions, wave) * given["scale"]


def joined(dim: int, *parts: Array) -> Array:
    """Return parts side by side, padded to an odd width."""
    return np.concatenate([*parts, np.zeros((len(parts[0]), dim % 2))], axis=1).astype(np.float32)


@wrong("flashinfer-ai/flashinfer#3819", "timestep", "adm", "order-swapped")
def flipped_twice(positions: Array, dim: int, **given: Any) -> Array:
    """Cosines come first before the flip, so that halves end up exchanged."""
    turns = timestep_angles(positions, dim, given, 0)
    return joined(dim, np.sin(turns), np.cos(turns))


@wrong("kohya-ss/sd-scripts#1187", "timestep", "adm", "shift-swapped")
def shift_of_one(positions: Array, dim: int, **given: Any) -> Array:
    """downscale_freq_shift is 1 by accident."""
    turns = timestep_angles(positions, dim, given, 1)
    return joined(dim, np.cos(turns), np.sin(turns))


@wrong("hojonathanho/diffusion#15", "timestep", "ddpm", "shift-swapped")
def shift_of_none(positions: Array, dim: int, **given: Any) -> Array:
    """Exponents are over half the width instead of one less, as asked there."""
    turns = timestep_angles(positions, dim, given, 0)
    return joined(dim, np.sin(turns), np.cos(turns))


@wrong("huggingface/blog#2183", "timestep", "ddpm", r"\[interleaved", "by turns|side by side")
def sine_and_cosine_by_turns(positions: Array, dim: int, **given: Any) -> Array:
    """Sines and cosines are by turns, as asked there."""
    return joined(dim, by_turns(timestep_angles(positions, dim, given, 1)))


@wrong("huggingface/diffusers#1369", "timestep", "adm ddpm", "order-swapped")
def order_hard_coded(positions: Array, dim: int, **given: Any) -> Array:
    """Sines come first although flip_sin_to_cos is set."""
    turns = timestep_angles(positions, dim, given, int(given["frequency_shift"]))
    return joined(dim, np.sin(turns), np.cos(turns))


@wrong("KanishJebaMathewM/Truxify#12551", "nerf", "paper", "factor-wrong")
def nerf_without_pi(x: Array, num_frequencies: int) -> Array:
    """Frequencies are 2^i without pi."""
    turns = x.astype(np.float64)[..., None] * 2.0 ** np.arange(num_frequencies)
    made = np.stack([np.sin(turns), np.cos(turns)], axis=-1)
    return made.reshape(*x.shape[:-1], -1).astype(x.dtype)
