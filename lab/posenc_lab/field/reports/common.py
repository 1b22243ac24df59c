"""Registering code after a report, and the arithmetic that reports share."""

import math
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, cast

import numpy as np

from posenc_conformance import claims
from posenc_lab.field.implementation import FORMULA, IMPLEMENTATIONS, RIGHT, Code, Implementation
from posenc_lab.field.pieces import Array, omega, outer

Given = Mapping[str, Any]
"""The keywords of a call."""


def wrong(
    report: str, call: str, claim: str, *words: str, fault: str = FORMULA, **limits: Any
) -> Callable[[Code], Code]:
    """Register wrong code: a function, or a class with the call as its method.

    Code of several reports is registered for each, and then has the report in its name.

    Parameters
    ----------
    report : str
        Repository and number, as ``owner/name#number``.
    call : str
        The name of the call.
    claim : str
        Claimed combinations, separated by spaces.
    *words : str
        Regular expressions, one of which a right diagnosis matches, ignoring case.
    fault : str
        FORMULA, or one of ``implementation.OTHER``.
    **limits
        Further arguments of ``claims``.
    """

    def put(code: Code) -> Code:
        method = vars(code)[call] if isinstance(code, type) else staticmethod(_copy(code))
        marked = claims(*claim.split(), **limits)(method)
        bases = (code,) if isinstance(code, type) else ()
        adapter = type("Adapter", bases, {call: marked})
        name = f"{str(code.__module__).rpartition('.')[2]}.{code.__name__}"
        if any(other.name == name for other in IMPLEMENTATIONS if other.set == "reports"):
            name += f"-{report.rpartition('/')[2].replace(' ', '-')}"
        meaning = f"{report}: {str(code.__doc__).partition(chr(10))[0]}"
        IMPLEMENTATIONS.append(Implementation("reports", name, adapter, meaning, fault, words))
        return code

    return put


def _copy(code: Code) -> Code:
    """Return a function of its own, since claims on one add up."""

    @wraps(code)
    def copy(*arguments: Any, **keywords: Any) -> Any:
        return code(*arguments, **keywords)

    return cast(Code, copy)


def right(report: str, call: str, claim: str, **limits: Any) -> Callable[[Code], Code]:
    """Register right code, as a report's fix has it or as it is commonly written."""
    return wrong(report, call, claim, fault=RIGHT, **limits)


def angles(x: Array, positions: Array, base: float) -> Array:
    """Return RoPE's angles for the rows of x."""
    return outer(positions, omega(x.shape[-1], base))


def half(x: Array, turns: Array, longer: float = 1.0) -> Array:
    """Rotate in the half layout, in float64, and multiply."""
    first, second = np.split(x.astype(np.float64), 2, axis=-1)
    cos, sin = np.cos(turns) * longer, np.sin(turns) * longer
    made = [first * cos - second * sin, first * sin + second * cos]
    return np.concatenate(made, axis=-1).astype(x.dtype)


def inter(x: Array, turns: Array, longer: float = 1.0) -> Array:
    """Rotate in the interleaved layout, in float64, and multiply."""
    even, odd = x[..., ::2].astype(np.float64), x[..., 1::2].astype(np.float64)
    cos, sin = np.cos(turns) * longer, np.sin(turns) * longer
    made = np.stack([even * cos - odd * sin, even * sin + odd * cos], axis=-1)
    return made.reshape(x.shape).astype(x.dtype)


def rotate_half(x: Array) -> Array:
    """Return the other members of pairs in the half layout, the second negated."""
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([-second, first], axis=-1)


def rotate_every_two(x: Array) -> Array:
    """Return the other members of pairs of neighbours, the second negated."""
    return np.stack([-x[..., 1::2], x[..., ::2]], axis=-1).reshape(x.shape)


def tables(x: Array, rotated: Array, wave: Array) -> Array:
    """Rotate by tables of one angle per channel."""
    return np.asarray((x * np.cos(wave) + rotated * np.sin(wave)).astype(x.dtype))


def leading(x: Array, turns: Array) -> Array:
    """Rotate the leading channels in the half layout, as many as the angles have."""
    width = 2 * turns.shape[-1]
    return np.concatenate([half(x[..., :width], turns), x[..., width:]], axis=-1)


def yarn_ramp(dim: int, given: Given, *, rounded: bool = True, last: int | None = None) -> Array:
    """Return how far each pair is interpolated by YaRN, from 0 to 1."""

    def pair(turns: float) -> float:
        length = given["original_max_position_embeddings"] / (turns * 2 * math.pi)
        return float(dim * math.log(length) / (2 * math.log(given["base"])))

    low, high = pair(given.get("beta_fast", 32.0)), pair(given.get("beta_slow", 1.0))
    if rounded:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, dim - 1 if last is None else last)
    high += 0.001 * (low == high)
    return np.clip((np.arange(dim // 2) - low) / (high - low), 0, 1)


def mixed(ramp: Array, fast: Array, slow: Array) -> Array:
    """Return frequencies between the kept and the interpolated ones."""
    return fast * (1 - ramp) + slow * ramp


def yarn_omega(dim: int, given: Given, ramp: Array | None = None) -> Array:
    """Return YaRN's frequencies."""
    plain = omega(dim, given["base"])
    return mixed(yarn_ramp(dim, given) if ramp is None else ramp, plain, plain / given["factor"])


def magnitude(factor: float, scale: float = 1.0) -> float:
    """Return YaRN's mscale."""
    return 0.1 * scale * math.log(factor) + 1 if factor > 1 else 1.0


def mla(
    parts: tuple[Array, Array, Array],
    frequencies: Array,
    turn: Callable[[Array, Array], Array] = inter,
    *,
    longer: float = 1.0,
    scale: float | None = None,
) -> Array:
    """Return MLA's logits of q, k_nope and k_rope."""
    q, k_nope, k_rope = (part.astype(np.float64) for part in parts)
    keys, width = k_rope.shape
    plain = k_nope.shape[-1]
    at = np.arange(keys)
    rotated = turn(q[..., plain:], outer(at[keys - q.shape[1] :], frequencies)) * longer
    shared = turn(k_rope, outer(at, frequencies)) * longer
    logits = np.einsum("hqd,hkd->hqk", q[..., :plain], k_nope)
    logits = logits + np.einsum("hqd,kd->hqk", rotated, shared)
    return (logits * ((plain + width) ** -0.5 if scale is None else scale)).astype(parts[0].dtype)


def llama3_omega(dim: int, base: float, factor: float, low: float, high: float, old: int) -> Array:
    """Return Llama 3's frequencies, with factors of low and high frequencies."""
    plain = omega(dim, base)
    turns = old * plain / (2 * math.pi)
    smooth = np.clip((turns - low) / (high - low), 0, 1) if low != high else turns >= low
    return mixed(1.0 - smooth, plain, plain / factor)


def dynamic_base(base: float, dim: int, factor: float, old: int, length: int) -> float:
    """Return the base that grows with the length."""
    return float(base * (factor * max(length, old) / old - (factor - 1)) ** (dim / (dim - 2)))


def of_segments(
    segments: Array,
    merge: int,
    time: Callable[[Array, int, int], Array] = lambda frame, start, _: start + frame,
    largest: bool = False,
) -> Array:
    """Return position ids of text and images; ``time`` takes frames, the start and their number."""
    parts, start = [np.zeros((3, 0), np.int64)], 0
    for frames, height, width in segments.tolist():
        if height == 0:
            parts.append(np.tile(np.arange(start, start + frames), (3, 1)))
            start += frames
            continue
        rows, columns = height // merge, width // merge
        frame, row, column = np.indices((frames, rows, columns)).reshape(3, -1)
        parts.append(np.stack([time(frame, start, frames), start + row, start + column]))
        start += max(frames, rows, columns) if largest else max(rows, columns)
    return np.concatenate(parts, axis=1).astype(np.int64)


def distances(q_len: int, k_len: int) -> Array:
    """Return query minus key, with queries at the last positions."""
    return np.arange(k_len - q_len, k_len)[:, None] - np.arange(k_len)


def offsets_2d(height: int, width: int) -> Array:
    """Return row and column offsets between cells, of shape [2, cells, cells]."""
    cells = np.indices((height, width)).reshape(2, -1)
    return np.asarray(cells[:, :, None] - cells[:, None, :])


def shifted(scores: Array, kept: slice) -> Array:
    """Return Transformer-XL's shift: padded, reshaped, and rows ``kept`` of it."""
    *lead, queries, columns = scores.shape
    padded = np.concatenate([np.zeros((*lead, queries, 1), scores.dtype), scores], axis=-1)
    return padded.reshape(*lead, columns + 1, queries)[..., kept, :].reshape(scores.shape)
